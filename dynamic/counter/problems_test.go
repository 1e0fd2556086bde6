package counter

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/till"
)

// Every code of the till is said in words, by a row or by a function of its own, and every row by a
// problem that exists.
func TestEveryCodeHasARow(t *testing.T) {
	said := map[till.Code]bool{till.CodeInputs: true, till.CodeUnderWay: true, till.CodeEnded: true}
	for _, r := range problems {
		if said[r.code] {
			t.Errorf("%s is said twice", r.code)
		}
		said[r.code] = true
		if _, ok := problem.Lookup(cmp.Or(r.problem, goods.CodeOptedOut)); !ok || r.detail == nil ||
			r.problem == "" && r.code != till.CodeUnread {
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
	spent := (&Counter{}).Problem(&till.Error{Code: till.CodeProvingBudget, OfClient: true})
	if e, ok := spent.(*problem.Error); !ok || !e.OfClient {
		t.Errorf("the client's own part of a budget is said as %+v", spent)
	}
}

// Whatever keeps a target from being read is a problem of its own.
func TestWhatIsNotReadIsAProblem(t *testing.T) {
	for _, code := range []string{goods.CodeTargetRefused, goods.CodeOwnHost, goods.CodeOptedOut, goods.CodeTargetHeld,
		goods.CodeBudget, goods.CodeNotRead} {
		if _, ok := problem.Lookup(code); !ok {
			t.Errorf("%s is no problem", code)
		}
		e := notMade((&goods.Unread{Code: code, Detail: "Nothing: nothing."}).Error())
		if e == nil || e.Code != code ||
			e.Detail != "Nothing: nothing. Your payment was not settled, and nothing was charged." {
			t.Errorf("%s: %+v", code, e)
		}
	}
	if e := notMade("goods_not_made"); e != nil {
		t.Errorf("%+v", e)
	}
}
