package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Name, Export string
	GoFiles                       []string
	DepOnly                       bool
}

// load reads a package and the faults that can be planted in it.
func load(ctx context.Context, s subject) (p listed, all []mutant, err error) {
	out, err := command(ctx, "", nil, "go", "list", "-export", "-deps",
		"-json=ImportPath,Dir,Name,Export,GoFiles,DepOnly", "./"+s.dir)
	if err != nil {
		return p, nil, err
	}
	exports := make(map[string]string)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return p, nil, err
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			p = l
		}
	}
	fset := token.NewFileSet()
	files, texts := make([]*ast.File, len(p.GoFiles)), make([][]byte, len(p.GoFiles))
	for i, name := range p.GoFiles {
		if texts[i], err = os.ReadFile(filepath.Join(p.Dir, name)); err != nil {
			return p, nil, err
		}
		if files[i], err = parser.ParseFile(fset, name, texts[i], parser.SkipObjectResolution); err != nil {
			return p, nil, err
		}
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Defs: make(map[*ast.Ident]types.Object),
		Uses: make(map[*ast.Ident]types.Object)}
	pkg, err := conf.Check(p.ImportPath, fset, files, info)
	if err != nil {
		return p, nil, err
	}
	for i, name := range p.GoFiles {
		if s.files == nil || slices.Contains(s.files, name) {
			all = append(all, source{fset, pkg, info}.mutants(name, files[i], texts[i])...)
		}
	}
	if len(all) == 0 {
		err = fmt.Errorf("%s holds nothing to plant a fault in", s.dir)
	}
	return p, all, err
}

// drawn puts faults in an order that a seed gives, and that edits elsewhere leave as it is.
func drawn(all []mutant, pkg string, seed uint64) {
	place := func(m mutant) uint64 {
		h := fnv.New64a()
		fmt.Fprint(h, seed, m.id(pkg))
		return h.Sum64()
	}
	slices.SortFunc(all, func(a, b mutant) int { return cmp.Compare(place(a), place(b)) })
}

// command runs a program and has in its error what it said.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	var said bytes.Buffer
	c.Dir, c.Env, c.Stderr = dir, append(os.Environ(), env...), &said
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", args, err, said.Bytes())
	}
	return out, err
}
