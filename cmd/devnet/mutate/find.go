package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
)

// swapped are operators and what each is taken for by mistake, and the helper that does so.
var swapped = map[token.Token]struct {
	to     token.Token
	helper string
}{
	token.LSS: {token.LEQ, "mutLss"}, token.LEQ: {token.LSS, "mutLeq"}, token.GTR: {token.GEQ, "mutGtr"},
	token.GEQ: {token.GTR, "mutGeq"}, token.ADD: {token.SUB, "mutAdd"}, token.SUB: {token.ADD, "mutSub"},
	token.LAND: {token.LOR, "mutAnd"}, token.LOR: {token.LAND, "mutOr"}, token.EQL: {token.NEQ, ""},
	token.NEQ: {token.EQL, ""},
}

// edges are methods of time.Time that leave the edge out, and what takes it in.
var edges = map[string]string{"Before": "mutBefore", "After": "mutAfter"}

// source is a package's code, parsed and checked.
type source struct {
	fset *token.FileSet
	pkg  *types.Package
	info *types.Info
}

// finder collects the faults that can be planted in one file.
type finder struct {
	source
	name    string
	src     []byte
	imports map[string]string // of the file: path to name
	in      string
	result  *types.Tuple // of the function looked at
	out     []mutant
}

func (f *finder) at(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) text(n ast.Node) string { return plain(f.src[f.at(n.Pos()):f.at(n.End())]) }

func (f *finder) add(n ast.Node, what string, edits ...edit) {
	f.out = append(f.out, mutant{file: f.name, line: f.fset.Position(n.Pos()).Line, in: f.in, what: what, edits: edits})
}

// around puts text before and after a node. The wider of two nodes opens first and closes last.
func (f *finder) around(n ast.Node, before, after string) []edit {
	from, to := f.at(n.Pos()), f.at(n.End())
	return []edit{{from, from, before, 1<<30 - (to - from)}, {to, to, after, to - from - 1<<30}}
}

// mutants lists the faults that can be planted in a file. Faults of one text in one function are
// numbered.
func (s source) mutants(name string, file *ast.File, src []byte) []mutant {
	f := &finder{source: s, name: name, src: src, imports: make(map[string]string)}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if spec.Name != nil {
			f.imports[path] = spec.Name.Name
		} else if p := s.imported(path); p != nil {
			f.imports[path] = p.Name()
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			f.constants(d)
		case *ast.FuncDecl:
			if d.Body != nil {
				f.in, f.result = d.Name.Name, f.info.Defs[d.Name].Type().(*types.Signature).Results()
				if d.Recv != nil {
					f.in = typeName(d.Recv.List[0].Type) + "." + f.in
				}
				f.function(d)
			}
		}
	}
	seen := make(map[string]int)
	for i, m := range f.out {
		if seen[m.id("")]++; seen[m.id("")] > 1 {
			f.out[i].what += fmt.Sprint(" #", seen[m.id("")])
		}
	}
	return f.out
}

func (s source) imported(path string) *types.Package {
	for _, p := range s.pkg.Imports() {
		if p.Path() == path {
			return p
		}
	}
	return nil
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// constants finds the whole numbers in a package's constants.
func (f *finder) constants(d *ast.GenDecl) {
	if d.Tok != token.CONST {
		return
	}
	for _, spec := range d.Specs {
		spec := spec.(*ast.ValueSpec)
		for i, value := range spec.Values {
			f.in = spec.Names[i].Name
			for lit := range literals(value) {
				if v, ok := whole(lit); ok {
					from, to := f.at(lit.Pos()), f.at(lit.End())
					f.add(lit, fmt.Sprintf("%s in %s: one more", lit.Value, f.text(value)),
						edit{from, to, strconv.FormatInt(v+1, 10), 0})
					f.out[len(f.out)-1].fixed = true
				}
			}
		}
	}
}

func literals(e ast.Expr) func(func(*ast.BasicLit) bool) {
	return func(yield func(*ast.BasicLit) bool) {
		ast.Inspect(e, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok {
				return yield(lit)
			}
			return true
		})
	}
}

func whole(lit *ast.BasicLit) (int64, bool) {
	v, err := strconv.ParseInt(lit.Value, 0, 62)
	return v, lit.Kind == token.INT && err == nil
}

// function finds what can be planted in a function's body.
func (f *finder) function(fn *ast.FuncDecl) {
	var up []ast.Node
	results := []*types.Tuple{f.result}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if n == nil {
			if _, ok := up[len(up)-1].(*ast.FuncLit); ok {
				results = results[:len(results)-1]
			}
			up = up[:len(up)-1]
			return true
		}
		if f.skipped(n, up) {
			return false
		}
		if lit, ok := n.(*ast.FuncLit); ok {
			results = append(results, f.info.TypeOf(lit).(*types.Signature).Results())
		}
		f.result = results[len(results)-1]
		switch n := n.(type) {
		case ast.Expr:
			f.expression(n, up)
		case *ast.IfStmt:
			f.guard(n)
		case *ast.ReturnStmt:
			if f.returned(n) {
				return false
			}
		case ast.Stmt:
			f.statement(n, up)
		}
		up = append(up, n)
		return true
	})
}

// passesOn is code that hands on a fault or tells of one, and what takes room before it is needed:
// the first would need a fault of its own to be seen, the second has no effect.
var passesOn = regexp.MustCompile(
	`^[\w.]*[lL]og\.(Debug|Info|Warn|Error)\(|^[\w.]+\.(Grow|Lock|Unlock|RLock|RUnlock|Close)\(`)

func (f *finder) skipped(n ast.Node, up []ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl, *ast.ArrayType, *ast.StructType, *ast.InterfaceType, *ast.FuncType:
		return true
	case *ast.KeyValueExpr:
		return false
	case *ast.ReturnStmt:
		return f.handsOn(n)
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "make" || id.Name == "panic") {
			return true
		}
		return passesOn.MatchString(f.text(n))
	case ast.Expr:
		return f.info.Types[n].Value != nil && !arithmetic(n) || f.text(n) == "err != nil"
	}
	return false
}

// handsOn reports whether a return hands on what failed elsewhere.
func (f *finder) handsOn(n *ast.ReturnStmt) bool {
	if len(n.Results) == 0 {
		return false
	}
	switch last := n.Results[len(n.Results)-1].(type) {
	case *ast.Ident:
		return last.Name == "err"
	case *ast.CallExpr:
		return wraps.MatchString(f.text(last))
	}
	return false
}

var wraps = regexp.MustCompile(`%w.*\berr\)$`)

// arithmetic reports whether a constant may hold whole numbers.
func arithmetic(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return true
	case *ast.BasicLit:
		return e.Kind == token.INT
	case *ast.ParenExpr:
		return true
	}
	return false
}

func (f *finder) expression(n ast.Expr, up []ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.operator(n)
	case *ast.BasicLit:
		f.number(n, up)
	case *ast.CallExpr:
		f.call(n)
	}
}

func (f *finder) operator(n *ast.BinaryExpr) {
	to, ok := swapped[n.Op]
	if !ok || f.info.Types[n].Value != nil {
		return
	}
	what := fmt.Sprintf("%s: %s for %s", short(f.text(n)), to.to, n.Op)
	x := f.info.TypeOf(n.X).Underlying()
	basic, isBasic := x.(*types.Basic)
	switch n.Op {
	case token.EQL, token.NEQ:
		f.add(n, what, f.around(n, "((", ") != mut(%d))")...)
	case token.LAND, token.LOR:
		f.add(n, what, append(f.around(n, to.helper+"(%d, ", " })"), f.instead(n, ", func() bool { return "))...)
	default:
		if isBasic && basic.Info()&types.IsNumeric != 0 {
			f.add(n, what, append(f.around(n, to.helper+"(%d, ", ")"), f.instead(n, ", "))...)
		}
	}
}

// instead replaces an operator.
func (f *finder) instead(n *ast.BinaryExpr, with string) edit {
	from := f.at(n.OpPos)
	return edit{from, from + len(n.Op.String()), with, 0}
}

func (f *finder) number(n *ast.BasicLit, up []ast.Node) {
	v, ok := whole(n)
	typ := f.info.TypeOf(n)
	if !ok || typ == nil {
		return
	}
	switch in := up[len(up)-1].(type) {
	case *ast.KeyValueExpr:
		if in.Key == n {
			return
		}
	case *ast.CallExpr: // a base or a count of bits
		if strings.HasPrefix(f.text(in), "strconv.") {
			return
		}
	}
	name, ok := f.named(types.Default(typ))
	if !ok || !fits(v+1, typ) {
		return
	}
	f.add(n, fmt.Sprintf("%s in %s: one more", n.Value, short(f.text(up[len(up)-1]))),
		f.around(n, "mutNum["+name+"](%d, ", ")")...)
}

func fits(v int64, t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0 && (b.Kind() != types.Uint8 || v < 256) && constant.MakeInt64(v) != nil
}

// named is how the file would write a type.
func (f *finder) named(t types.Type) (string, bool) {
	ok := true
	name := types.TypeString(t, func(p *types.Package) string {
		if p == f.pkg {
			return ""
		}
		if f.imports[p.Path()] == "" {
			ok = false
		}
		return f.imports[p.Path()]
	})
	_, param := t.(*types.TypeParam)
	return name, ok && !param
}

// call finds the edges of times, and arguments that can be taken for one another.
func (f *finder) call(n *ast.CallExpr) {
	if sel, ok := n.Fun.(*ast.SelectorExpr); ok && edges[sel.Sel.Name] != "" && len(n.Args) == 1 {
		if t := f.info.TypeOf(sel.X); t != nil && t.String() == "time.Time" {
			from, to := f.at(n.Pos()), f.at(n.End())
			f.add(n, short(f.text(n))+": the edge too", edit{from, from, edges[sel.Sel.Name] + "(%d, ",
				1<<30 - (to - from)},
				edit{f.at(sel.X.End()), f.at(n.Lparen) + 1, ", ", 0})
		}
		return
	}
	if tv := f.info.Types[n.Fun]; strings.HasPrefix(f.text(n.Fun), "fmt.") || tv.IsType() || tv.IsBuiltin() ||
		n.Ellipsis != token.NoPos {
		return
	}
	for i := range len(n.Args) - 1 {
		a, b := n.Args[i], n.Args[i+1]
		if !simple(a) || !simple(b) || f.text(a) == f.text(b) || !types.Identical(f.info.TypeOf(a), f.info.TypeOf(b)) ||
			f.info.Types[a].Value != nil || f.info.Types[b].Value != nil {
			continue
		}
		f.add(n, fmt.Sprintf("%s: %s and %s swapped", short(f.text(n)), f.text(a), f.text(b)),
			append(f.around(a, "mutPick(%d, ", ", "+f.text(b)+")"),
				f.around(b, "mutPick(%d, ", ", "+f.text(a)+")")...)...)
	}
}

func simple(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name != "nil"
	case *ast.SelectorExpr:
		return simple(e.X)
	}
	return false
}

// guard finds a condition that leaves the function or the loop, and what is checked by a function
// of the same package.
func (f *finder) guard(n *ast.IfStmt) {
	if !leaves(n.Body) || n.Else != nil {
		return
	}
	cond := f.text(n.Cond)
	if cond == "err != nil" {
		as, ok := n.Init.(*ast.AssignStmt)
		if !ok || len(as.Lhs) != 1 || !f.ours(as.Rhs[0]) {
			return
		}
		cond = f.text(as) + "; " + cond
	}
	f.add(n, "if "+short(cond)+": never", f.around(n.Cond, "!mut(%d) && (", ")")...)
}

// ours reports whether an expression is a call of a function of the same package.
func (f *finder) ours(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	var id *ast.Ident
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return false
	}
	fn, ok := f.info.Uses[id].(*types.Func)
	return ok && fn.Pkg() == f.pkg
}

// returned finds errors that could be dropped and answers that could be the other, and reports
// whether the rest is of no account: what stands beside an error.
func (f *finder) returned(n *ast.ReturnStmt) (done bool) {
	if len(n.Results) == 0 || len(n.Results) != f.result.Len() {
		return false
	}
	last, typ := n.Results[len(n.Results)-1], f.result.At(f.result.Len()-1).Type()
	id, _ := last.(*ast.Ident)
	failed := typ.String() == "error" && (id == nil || id.Name != "nil")
	switch {
	case failed && (id != nil || f.begins(last)):
		f.add(n, short(f.text(n))+": no error", f.around(last, "mutErr(%d, ", ")")...)
	case id != nil && (id.Name == "true" || id.Name == "false"):
		f.add(n, f.text(n)+": the other", f.around(last, "(", " != mut(%d))")...)
	}
	return failed && len(n.Results) > 1
}

// begins reports whether an error is made or found in this package: another's would need a fault of
// its own.
func (f *finder) begins(e ast.Expr) bool {
	text := f.text(e)
	return strings.HasPrefix(text, "fmt.Errorf(") || strings.HasPrefix(text, "errors.") || f.ours(e)
}

// statement finds what can be left out.
func (f *finder) statement(n ast.Stmt, up []ast.Node) {
	if len(up) == 0 {
		return
	}
	switch in := up[len(up)-1].(type) {
	case *ast.BlockStmt, *ast.CaseClause:
	case *ast.CommClause:
		if in.Comm == n {
			return
		}
	default:
		return
	}
	switch n := n.(type) {
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); !ok || f.skipped(call, up) {
			return
		}
	case *ast.AssignStmt:
		if id, ok := n.Lhs[0].(*ast.Ident); n.Tok == token.DEFINE || ok && id.Name == "_" {
			return
		}
	case *ast.IncDecStmt:
	default:
		return
	}
	f.add(n, short(f.text(n))+": left out", f.around(n, "if !mut(%d) { ", " }")...)
}

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
