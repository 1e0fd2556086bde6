package shop

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/generator/pages"
)

// Annotated writes a configuration with every key's documentation above it.
func Annotated(c Config) string {
	var b strings.Builder
	(&annotator{out: &b, all: true}).table(reflect.ValueOf(c), reflect.ValueOf(c))
	return b.String()
}

// Settings are the tables of the example as Annotated writes them, each by itself.
func Settings() []pages.Setting {
	example := reflect.ValueOf(Example())
	out := []pages.Setting{{}}
	for _, f := range keysOf(example.Type()) {
		var b strings.Builder
		(&annotator{out: &b, all: true}).field(example, example, f)
		switch {
		case isTable(f.Type):
			out = append(out, pages.Setting{Name: f.Tag.Get("toml"), Text: b.String()})
		default:
			out[0].Text += b.String()
		}
	}
	return out
}

// keysOf are the keys of a table, in their order: its fields and those of its parts.
func keysOf(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

// isTable reports whether a key has keys of its own.
func isTable(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// Used writes a configuration of which only what is set is in force. The other keys stand behind a
// mark of comment, as the example has them.
func Used(c Config) string {
	var b strings.Builder
	(&annotator{out: &b}).table(reflect.ValueOf(c), reflect.ValueOf(Example()))
	return b.String()
}

// annotator writes tables with the documentation of their keys.
type annotator struct {
	out *strings.Builder
	all bool // keys that are not set are written too
}

// table writes the keys of v; like has the values of what is not set.
func (a *annotator) table(v, like reflect.Value) {
	for _, f := range keysOf(v.Type()) {
		a.field(v, like, f)
	}
}

// field writes one key of v.
func (a *annotator) field(v, like reflect.Value, f reflect.StructField) {
	fv, lv := v.FieldByIndex(f.Index), like.FieldByIndex(f.Index)
	name, doc := f.Tag.Get("toml"), f.Tag.Get("doc")
	switch {
	case fv.Kind() == reflect.Slice && isTable(fv.Type()):
		a.tables(name, doc, fv, lv)
	case isTable(fv.Type()):
		comment(a.out, doc)
		fmt.Fprintf(a.out, "%s[%s]\n", a.mark(fv), name)
		a.table(fv, lv)
	case a.all || !fv.IsZero():
		comment(a.out, doc)
		fmt.Fprintf(a.out, "%s = %s\n\n", name, literal(fv))
	default:
		comment(a.out, doc)
		fmt.Fprintf(a.out, "# %s = %s\n\n", name, literal(lv))
	}
}

// mark is what a line of a table begins with: a table in which nothing is set is a comment.
func (a *annotator) mark(v reflect.Value) string {
	if a.all || !v.IsZero() {
		return ""
	}
	return "# "
}

// tables writes the tables of one name: the first with its documentation, the others plain.
func (a *annotator) tables(name, doc string, v, like reflect.Value) {
	first := like
	if v.Len() > 0 {
		first = v
	} else if a.all || like.Len() == 0 {
		return
	}
	comment(a.out, doc)
	fmt.Fprintf(a.out, "%s[[%s]]\n", a.mark(v), name)
	of, as := first.Index(0), first.Index(0)
	if v.Len() == 0 {
		of = reflect.Zero(of.Type())
	} else if like.Len() > 0 {
		as = like.Index(0)
	}
	a.table(of, as)
	for i := 1; i < v.Len(); i++ {
		fmt.Fprintf(a.out, "[[%s]]\n", name)
		plain(a.out, v.Index(i))
	}
}

// plain writes the keys of a table that are set, without their documentation.
func plain(b *strings.Builder, v reflect.Value) {
	for _, f := range keysOf(v.Type()) {
		if key := v.FieldByIndex(f.Index); !key.IsZero() {
			fmt.Fprintf(b, "%s = %s\n", f.Tag.Get("toml"), literal(key))
		}
	}
	b.WriteByte('\n')
}

func comment(b *strings.Builder, doc string) {
	line := "#"
	for word := range strings.FieldsSeq(doc) {
		if len(line)+1+len(word) > 100 {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

func literal(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case Duration:
		return fmt.Sprintf("%q", time.Duration(x).String())
	case []uint16:
		return strings.ReplaceAll(fmt.Sprint(x), " ", ", ")
	case []string:
		parts := make([]string, len(x))
		for i, s := range x {
			parts[i] = fmt.Sprintf("%q", s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return fmt.Sprintf("%q", x)
	default:
		return fmt.Sprint(x)
	}
}
