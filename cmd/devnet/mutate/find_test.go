package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

const sample = `package p

import (
	"errors"
	"fmt"
)

const most = 60

func f(a, b int) (int, error) {
	if a < b && b > 1 {
		return 0, nil
	}
	x, err := g(a, b)
	if err != nil {
		return 0, fmt.Errorf("f: %w", err)
	}
	if err := check(x); err != nil {
		return 0, err
	}
	h(x,
		b, // wrapped
	)
	n = x + 2
	return n, errors.New("none")
}

var n int

func g(a, b int) (int, error) { return a*b + 3, nil }
func check(int) error         { return nil }
func h(int, int)              {}
func same(a string) bool      { return a == "" }
`

// find parses a text and lists what can be planted in it.
func find(t *testing.T, text string) []mutant {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Defs: make(map[*ast.Ident]types.Object),
		Uses: make(map[*ast.Ident]types.Object)}
	pkg, err := (&types.Config{Importer: importer.ForCompiler(fset, "source", nil)}).Check("p", fset, []*ast.File{file},
		info)
	if err != nil {
		t.Fatal(err)
	}
	return source{fset, pkg, info}.mutants("p.go", file, []byte(text))
}

func ids(list []mutant) (out []string) {
	for _, m := range list {
		out = append(out, m.id("p"))
	}
	return out
}

// What is planted is what this says, and what only hands on an error is left alone.
func TestMutants(t *testing.T) {
	got := ids(find(t, sample))
	want := []string{
		"p most 60 in 60: one more",
		"p f if a < b && b > 1: never", "p f a < b && b > 1: || for &&", "p f a < b: <= for <", "p f b > 1: >= for >",
		"p f 1 in b > 1: one more", "p f 0 in return 0, nil: one more", "p f g(a, b): a and b swapped",
		"p f if err := check(x); err != nil: never", "p f h(x, b): left out", "p f h(x, b): x and b swapped",
		"p f n = x + 2: left out", "p f x + 2: - for +", "p f 2 in x + 2: one more",
		`p f return n, errors.New("none"): no error`, "p g a * b + 3: - for +", "p g 3 in a * b + 3: one more",
		`p same a == "": != for ==`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A fault keeps its name when the code is laid out otherwise, commented or moved.
func TestNamesOutliveFormatting(t *testing.T) {
	other := strings.Replace(sample, "h(x,\n\t\tb, // wrapped\n\t)", "h(x, b)", 1)
	other = strings.Replace(other, "a < b && b > 1", "a < b &&\n\t\tb > 1", 1)
	other = strings.Replace(other, "const most", "// most is the most.\nconst most", 1)
	if other == sample {
		t.Fatal("nothing laid out otherwise")
	}
	if got, want := ids(find(t, other)), ids(find(t, sample)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Two faults of one text in one function are told apart.
func TestSameText(t *testing.T) {
	got := ids(find(t, "package p\nfunc f(a int) bool { g(a > 0); return a > 0 }\nfunc g(bool) {}\n"))
	want := []string{"p f g(a > 0): left out", "p f a > 0: >= for >", "p f 0 in a > 0: one more",
		"p f a > 0: >= for > #2", "p f 0 in a > 0: one more #2"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// All faults stand in one text that compiles, nested as they are.
func TestPlanted(t *testing.T) {
	list := make(map[int]mutant)
	for i, m := range find(t, sample) {
		if !m.fixed {
			list[i] = m
		}
	}
	text := string(planted([]byte(sample), list))
	if want := "if !mut(1) && (mutAnd(2, mutLss(3, a ,  b) , func() bool { return  mutGtr(4, b ,  mutNum[int](5, 1)) " +
		"})) {"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	helpers := strings.Replace(string(switches), "package p\n", "package p\n\n", 1)
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range map[string]string{"p.go": text, "mutant_switch.go": helpers} {
		f, err := parser.ParseFile(fset, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if _, err := (&types.Config{Importer: importer.ForCompiler(fset, "source", nil)}).Check("p", fset, files,
		nil); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
}

func TestExplained(t *testing.T) {
	got := explained("dynamic/till f a < b: <= for < # both are refused before\nno reason\n")
	if len(got) != 1 || got["dynamic/till f a < b: <= for <"] != "both are refused before" {
		t.Errorf("explained = %q", got)
	}
}
