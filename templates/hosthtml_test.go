package templates

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestNoTextOfAHostIsMarkup plants a script, a tag of its own, in each text of a view: all are
// escaped, and all but those that a page has no place for are there.
func TestNoTextOfAHostIsMarkup(t *testing.T) {
	var fields []string
	var plant func(v reflect.Value, name string)
	plant = func(v reflect.Value, name string) {
		switch v.Kind() {
		case reflect.String:
			v.SetString(fmt.Sprintf(`"'><script>%d</script>`, len(fields)))
			fields = append(fields, name)
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			plant(v.Elem(), name)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			plant(v.Index(0), name+"[]")
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && f.Type != reflect.TypeFor[*Chrome]() &&
					f.Type != reflect.TypeFor[Markup]() {
					plant(v.Field(i), name+"."+f.Name)
				}
			}
		}
	}
	v := &HostView{Chrome: &Chrome{}}
	plant(reflect.ValueOf(v).Elem(), "")
	page, err := AppendHost(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range regexp.MustCompile(`<script>(\d+)`).FindAllStringSubmatch(string(page), -1) {
		var n int
		fmt.Sscan(at[1], &n)
		t.Errorf("%s is written as it is", fields[n])
	}
	if n := strings.Count(string(page), "&lt;script&gt;"); n < 40 {
		t.Errorf("%d texts of %d fields stand on the page: too few to tell", n, len(fields))
	}
}

// TestStyleLiteralsStandInTheProgram finds whoever makes markup of a text: only a constant may
// become a literal.
func TestStyleLiteralsStandInTheProgram(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	literals := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if to, ok := call.Fun.(*ast.Ident); ok && to.Name == "literal" {
				if _, ok := call.Args[0].(*ast.BasicLit); !ok {
					t.Errorf("%s: a text becomes markup", files.Position(call.Pos()))
				}
				literals++
			}
			return true
		})
	}
	if literals == 0 {
		t.Error("no conversion was found: the one of facts was not looked at")
	}
}

// TestTextIsWhatATemplateWrites holds the escapes against those of html/template, byte by byte.
func TestTextIsWhatATemplateWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 2000 {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		list := []Fact{{Name: string(b), Value: string(b), Mono: r.IntN(2) == 0}}
		var want strings.Builder
		if err := htmlPages.ExecuteTemplate(&want, "facts", list); err != nil {
			t.Fatal(err)
		}
		var w htmlWriter
		if w.facts(list); string(w.b) != want.String() {
			t.Fatalf("%q: %q, want %q", b, w.b, want.String())
		}
	}
}
