package main

import (
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

const sample = `package p

func f(a, b int) (int, error) {
	if a < b && b > 0 {
		return 0, nil
	}
	x, err := g(a)
	if err != nil {
		return 0, err
	}
	log.Warn("said")
	h(x)
	n = x + 1
	return n, nil
}
`

// What is planted is Go, and each fault is where it says; what only hands on an error is left alone.
func TestMutants(t *testing.T) {
	list, err := mutants("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, m.what)
		src := sample[:m.from] + m.with + sample[m.to:]
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0); err != nil {
			t.Errorf("%s: %v", m.what, err)
		}
	}
	want := []string{"if a < b && b > 0: never", "a < b && b > 0: || for &&", "a < b: <= for <", "b > 0: >= for >", "0: one more",
		"0: one more", "h(x): left out", "n = x + 1: left out", "x + 1: - for +", "1: one more"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestExplained(t *testing.T) {
	got := explained("dynamic/till f a < b: <= for < # both are refused before\nno reason\n")
	if len(got) != 1 || got["dynamic/till f a < b: <= for <"] != "both are refused before" {
		t.Errorf("explained = %q", got)
	}
}
