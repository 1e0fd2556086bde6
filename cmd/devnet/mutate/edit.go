package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
)

// mutant is one small fault that can be planted in a file.
type mutant struct {
	file     string // as it was named to mutants
	line     int
	in       string // the function that it is in
	from, to int    // bytes of the file that are replaced
	with     string
	what     string // the change, for people
}

// id names a mutant in the list of those that are explained: it has no line, so that it outlives edits elsewhere.
func (m mutant) id(pkg string) string { return pkg + " " + m.in + " " + m.what }

// swapped are operators and what each is taken for by mistake.
var swapped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD,
}

// mutants lists the faults that can be planted in a file's functions.
func mutants(name string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []mutant
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	text := func(n ast.Node) string { return string(src[at(n.Pos()):at(n.End())]) }
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		add := func(from, to token.Pos, with, what string) {
			out = append(out, mutant{name, fset.Position(from).Line, fn.Name.Name, at(from), at(to), with, what})
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit, *ast.BlockStmt, *ast.CaseClause: // what they hold is looked at
			case ast.Expr, ast.Stmt:
				if passesOn.MatchString(text(n)) {
					return false
				}
			}
			switch n := n.(type) {
			case *ast.BinaryExpr:
				to, ok := swapped[n.Op]
				if _, str := n.Y.(*ast.BasicLit); ok && !(n.Op == token.ADD && str && n.Y.(*ast.BasicLit).Kind == token.STRING) {
					add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String(), fmt.Sprintf("%s: %s for %s", short(text(n)), to, n.Op))
				}
			case *ast.IfStmt:
				if leaves(n.Body) && n.Else == nil {
					add(n.Cond.Pos(), n.Cond.End(), "false && ("+text(n.Cond)+")", fmt.Sprintf("if %s: never", short(text(n.Cond))))
				}
			case *ast.ExprStmt:
				if _, call := n.X.(*ast.CallExpr); call {
					add(n.Pos(), n.End(), "{ }", fmt.Sprintf("%s: left out", short(text(n))))
				}
			case *ast.AssignStmt:
				if n.Tok == token.ASSIGN && len(n.Lhs) == 1 {
					add(n.Pos(), n.End(), "{ }", fmt.Sprintf("%s: left out", short(text(n))))
				}
			case *ast.BasicLit:
				if v, err := strconv.ParseInt(n.Value, 0, 62); n.Kind == token.INT && err == nil {
					add(n.Pos(), n.End(), strconv.FormatInt(v+1, 10), fmt.Sprintf("%s: one more", n.Value))
				}
			}
			return true
		})
	}
	return out, nil
}

// passesOn is code that hands on a fault or tells of one: each would need a fault of its own to be seen.
var passesOn = regexp.MustCompile(`^(if [^{]*)?err != nil|^[\w.]*[lL]og\.(Debug|Info|Warn|Error)\(`)

// leaves reports whether a block ends by leaving its function or its loop: it is a guard.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// short is a piece of code on one line of bounded length.
func short(s string) string {
	r := []rune{}
	space := false
	for _, c := range s {
		if c == '\n' || c == '\t' || c == ' ' {
			space = true
			continue
		}
		if space && len(r) > 0 {
			r = append(r, ' ')
		}
		space = false
		r = append(r, c)
	}
	if len(r) > 70 {
		return string(r[:67]) + "..."
	}
	return string(r)
}
