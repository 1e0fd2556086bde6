// Package cmd holds the commands, each in a folder of its own, and this test of the layout: which
// package may import which, which one is a module's only door, and what every package and file owes
// its reader. The two tables in tables_test.go are the policy; what they do not allow, the test
// refuses by name. Tests of the text, named TestStyle, are run by make check.
package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is our import paths' first element.
const module = "store.example/agentstore"

// maxLines is how long a file that is no test may be: a longer one holds two ideas.
const maxLines = 500

// maxBody is how many lines a function's body may have; one function of a hundred may have more,
// such as a table of rows.
const maxBody = 60

// maxParameters is how many parameters a function may have.
const maxParameters = 5

// A listing is what go list says of one package.
type listing struct {
	ImportPath, Dir, Name, Doc         string
	Imports, TestImports, XTestImports []string
	GoFiles, IgnoredGoFiles            []string
	TestGoFiles, XTestGoFiles          []string
}

// name is the package's path inside the module.
func (l listing) name() string { return strings.TrimPrefix(l.ImportPath, module+"/") }

// list returns every package of the module in the order of their paths. It is asked once.
func list(t *testing.T) []listing {
	t.Helper()
	all, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var listed = sync.OnceValues(func() ([]listing, error) {
	c := exec.Command("go", "list",
		"-json=ImportPath,Dir,Name,Doc,Imports,TestImports,XTestImports,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles",
		"./...")
	c.Dir, c.Stderr = "..", os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listing
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listing
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading go list: %w", err)
		}
		all = append(all, l)
	}
})

// under reports whether name is one of the patterns: a path, a path and "/..." for it and all below
// it, or "*".
func under(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		tree, deep := strings.CutSuffix(p, "/...")
		return p == "*" || name == p || deep && (name == tree || strings.HasPrefix(name, tree+"/"))
	})
}

// doorOf returns the row that speaks for an imported path: the one with the longest module path, or
// nil.
func doorOf(doors []door, imported string) *door {
	var best *door
	for i, d := range doors {
		if under(imported, []string{d.module + "/..."}) && (best == nil || len(d.module) > len(best.module)) {
			best = &doors[i]
		}
	}
	return best
}

// judge returns what the tables do not allow about the packages, one sentence each.
func judge(arrows []arrow, doors []door, all []listing) []string {
	var bad []string
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	rows := map[string]arrow{}
	for _, a := range arrows {
		rows[a.from] = a
	}
	passed := map[string]bool{}
	for _, l := range all {
		name := l.name()
		if len(l.GoFiles) == 0 {
			continue // nothing but tests, such as this package
		}
		row, ok := rows[name]
		if !ok {
			say("package %s has no row in the table of arrows (cmd/tables_test.go): say there what it may import", name)
			continue
		}
		check := func(imports []string, what string, ours []string, doorkeepers func(door) []string) {
			for _, imported := range imports {
				if mine, ok := strings.CutPrefix(imported, module+"/"); ok {
					if mine != name && !under(mine, ours) {
						say("%s%s imports %s, which the layout does not allow", name, what, mine)
					}
					continue
				}
				d := doorOf(doors, imported)
				if d == nil {
					if strings.Contains(strings.Split(imported, "/")[0], ".") {
						say("%s%s imports %s, which has no row in the table of doors (cmd/tables_test.go)", name, what,
							imported)
					}
					continue
				}
				passed[d.module] = true
				if keepers := doorkeepers(*d); len(keepers) == 0 {
					say("%s imports %s, which only tests may", name, imported)
				} else if !under(name, keepers) {
					say("%s%s imports %s, which only %s may", name, what, imported, strings.Join(keepers, ", "))
				}
			}
		}
		check(l.Imports, "", row.may, func(d door) []string { return d.only })
		check(append(slices.Clone(l.TestImports), l.XTestImports...), " in its tests",
			slices.Concat(row.may, row.tests, testKits),
			func(d door) []string { return slices.Concat(d.only, d.tests) })
	}
	exists := func(pattern string) bool {
		return slices.ContainsFunc(all, func(l listing) bool {
			return len(l.GoFiles) > 0 &&
				under(l.name(), []string{pattern})
		})
	}
	for _, a := range arrows {
		if !exists(a.from) {
			say("the table of arrows has a row for %s, which is no package", a.from)
		}
		for _, to := range slices.Concat(a.may, a.tests) {
			if !exists(to) {
				say("the row of %s allows %s, which is no package", a.from, to)
			}
		}
	}
	for _, d := range doors {
		if !passed[d.module] {
			say("the table of doors has a row for %s, which nobody imports", d.module)
		}
		for _, keeper := range slices.Concat(d.only, d.tests) {
			if !exists(keeper) {
				say("the row of %s names %s, which is no package", d.module, keeper)
			}
		}
	}
	return bad
}

func TestStyleArrowsAndDoors(t *testing.T) {
	for _, s := range judge(arrows, doors, list(t)) {
		t.Error(s)
	}
}

// What a package is linked with counts too, not only what it names.
func TestStyleWhatIsNeverReached(t *testing.T) {
	imports := map[string][]string{}
	for _, l := range list(t) {
		imports[l.ImportPath] = l.Imports
	}
	for _, a := range apart {
		via := map[string]string{module + "/" + a.from: ""}
		for queue := []string{module + "/" + a.from}; len(queue) > 0; queue = queue[1:] {
			for _, to := range imports[queue[0]] {
				if _, ok := via[to]; ok {
					continue
				}
				via[to] = queue[0]
				queue = append(queue, to)
				if !under(strings.TrimPrefix(to, module+"/"), a.never) {
					continue
				}
				way := []string{to}
				for p := queue[0]; p != ""; p = via[p] {
					way = append([]string{p}, way...)
				}
				t.Errorf("%s must never reach %s, but does: %s", a.from, to, strings.Join(way, " -> "))
			}
		}
	}
}

func TestStylePackagesAndFiles(t *testing.T) {
	grabBags := []string{"util", "utils", "common", "helper", "helpers", "model", "models", "types"}
	for _, l := range list(t) {
		if l.Doc == "" && len(l.GoFiles) > 0 {
			t.Errorf("package %s has no doc comment", l.name())
		}
		if base := path.Base(l.ImportPath); slices.Contains(grabBags, base) || slices.Contains(grabBags, l.Name) {
			t.Errorf("package %s is named for nothing it provides", l.name())
		}
		for _, name := range slices.Concat(l.GoFiles, l.IgnoredGoFiles, l.TestGoFiles, l.XTestGoFiles) {
			file := filepath.Join(l.Dir, name)
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(src, []byte("\n")); n > maxLines && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s/%s has %d lines, want at most %d: it holds two ideas", l.name(), name, n, maxLines)
			}
			if hasInit(t, file, src) {
				t.Errorf("%s/%s has a func init: tables are explicit here", l.name(), name)
			}
		}
	}
}

// functions returns the functions and methods of a file, with the positions of all that is in it.
// src is as in parser.ParseFile.
func functions(t *testing.T, file string, src any) (*token.FileSet, []*ast.FuncDecl) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []*ast.FuncDecl
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			all = append(all, fn)
		}
	}
	return set, all
}

func hasInit(t *testing.T, file string, src []byte) bool {
	t.Helper()
	_, all := functions(t, file, src)
	return slices.ContainsFunc(all, func(fn *ast.FuncDecl) bool { return fn.Recv == nil && fn.Name.Name == "init" })
}

// bodyLines is how many lines stand between the braces of a function.
func bodyLines(set *token.FileSet, fn *ast.FuncDecl) int {
	if fn.Body == nil {
		return 0 // written in assembly
	}
	return max(0, set.Position(fn.Body.Rbrace).Line-set.Position(fn.Body.Lbrace).Line-1)
}

func TestStyleFunctionsAreShort(t *testing.T) {
	all := 0
	var long []string // each behind its number of lines
	for _, l := range list(t) {
		for _, name := range slices.Concat(l.GoFiles, l.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue // ignored on this system
			}
			set, fns := functions(t, filepath.Join(l.Dir, name), nil)
			all += len(fns)
			for _, fn := range fns {
				if n := parameters(fn); n > maxParameters {
					t.Errorf("%s in %s/%s has %d parameters, want at most %d: what belongs together is a type",
						fn.Name.Name, l.name(), name, n, maxParameters)
				}
				if n := bodyLines(set, fn); n > maxBody {
					long = append(long, fmt.Sprintf("%4d lines: %s in %s/%s", n, fn.Name.Name, l.name(), name))
				}
			}
		}
	}
	t.Logf("%d of %d functions have more than %d lines", len(long), all, maxBody)
	if 100*len(long) > all {
		slices.Sort(long)
		slices.Reverse(long)
		t.Errorf("%d of %d functions have more than %d lines, want at most one of a hundred; the longest:\n%s",
			len(long), all, maxBody, strings.Join(long[:min(len(long), 20)], "\n"))
	}
}

// parameters counts those of a function, without its receiver.
func parameters(fn *ast.FuncDecl) (n int) {
	for _, f := range fn.Type.Params.List {
		n += max(1, len(f.Names))
	}
	return n
}

func TestBodyLines(t *testing.T) {
	set, fns := functions(t, "x.go", "package x\nfunc a() {}\nfunc b() {\n}\nfunc (T) c() {\n\tx()\n\n\ty()\n}\nfunc "+
		"d()\n")
	for i, want := range []int{0, 0, 3, 0} {
		if got := bodyLines(set, fns[i]); got != want {
			t.Errorf("%s has %d lines, want %d", fns[i].Name.Name, got, want)
		}
	}
}

func TestStyleTopLevel(t *testing.T) {
	c := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	c.Dir, c.Stderr = "..", os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	fixed := strings.Fields("content corpus generator dynamic templates public cmd go.mod go.sum Makefile README.md " +
		"LICENSE")
	told := map[string]bool{}
	for file := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		top, _, _ := strings.Cut(file, "/")
		if !strings.HasPrefix(top, ".") && !slices.Contains(fixed, top) && !told[top] {
			told[top] = true
			t.Errorf("%s is at the top level, which is fixed: %s and hidden files", top, strings.Join(fixed, ", "))
		}
	}
}

// The judge itself is tried on packages that break each rule once.
func TestTheJudge(t *testing.T) {
	arrows := []arrow{
		{from: "shelf"},
		{from: "maker", may: []string{"shelf"}},
		{from: "till", may: []string{"shelf"}, tests: []string{"maker"}},
		{from: "gone"},
	}
	doors := []door{
		{module: "x.org/db", only: []string{"till"}},
		{module: "x.org/db/small", only: []string{"till", "shelf"}},
		{module: "x.org/cmp", tests: []string{"*"}},
		{module: "x.org/unused", only: []string{"*"}},
		{module: "testing", tests: []string{"*"}},
	}
	pkg := func(name string, imports ...string) listing {
		return listing{ImportPath: module + "/" + name, GoFiles: []string{"x.go"}, Imports: imports}
	}
	till := pkg("till", module+"/maker", "x.org/db/deep", "fmt")
	till.XTestImports = []string{module + "/maker", module + "/till", "x.org/cmp", "testing"}
	got := judge(arrows, doors, []listing{
		pkg("shelf", "x.org/db", "x.org/db/small", "x.org/dbx"),
		pkg("maker", module+"/shelf", "x.org/cmp", "testing"),
		till,
		pkg("stray"),
	})
	got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "cmd/devnet") })
	want := []string{
		"shelf imports x.org/db, which only till may",
		"shelf imports x.org/dbx, which has no row in the table of doors (cmd/tables_test.go)",
		"maker imports x.org/cmp, which only tests may",
		"maker imports testing, which only tests may",
		"till imports maker, which the layout does not allow",
		"package stray has no row in the table of arrows (cmd/tables_test.go): say there what it may import",
		"the table of arrows has a row for gone, which is no package",
		"the table of doors has a row for x.org/unused, which nobody imports",
	}
	if !slices.Equal(got, want) {
		t.Errorf("judged\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
