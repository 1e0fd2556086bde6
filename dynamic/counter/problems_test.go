package counter

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"agentstore/dynamic/problem"
	"agentstore/dynamic/till"
)

// Every code of the till is said in words, by a row or by a function of its own, and every row by a problem that exists.
func TestEveryCodeHasARow(t *testing.T) {
	said := map[till.Code]bool{till.CodeInputs: true, till.CodeUnderWay: true, till.CodeEnded: true}
	for _, r := range problems {
		if said[r.code] {
			t.Errorf("%s is said twice", r.code)
		}
		said[r.code] = true
		if _, ok := problem.Lookup(r.problem); !ok || r.detail == nil {
			t.Errorf("%s: problem %q, detail %t", r.code, r.problem, r.detail != nil)
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "../till/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range f.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		for _, spec := range decl.Specs {
			text, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if n++; !said[till.Code(text)] {
				t.Errorf("%s is not said", text)
			}
		}
	}
	if n < 30 {
		t.Errorf("%d codes found", n)
	}
}
