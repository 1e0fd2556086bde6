package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"store.example/agentstore/corpus/screen"
)

// What a verb gives is written as JSON, a line for each of a list, or for people: a list as a table
// whose columns are the fields that have a doc, a single one with a line for each of them. A field
// that is wide stands below its row. An answer that reads otherwise says so by its Plain:
// sentences, lists and single ones, in their order.

// asIs is an answer that is written as it is.
type asIs func(w io.Writer) error

// inParts is an answer that is more than one list.
type inParts interface{ Plain() []any }

// writeAnswer writes an answer as JSON or for people.
func writeAnswer(w io.Writer, answer any, asJSON bool) error {
	if write, ok := answer.(asIs); ok {
		return write(w)
	}
	if asJSON {
		enc := json.NewEncoder(w)
		for v, err := range each(answer) {
			if err == nil {
				err = enc.Encode(v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	parts := []any{answer}
	if p, ok := answer.(inParts); ok {
		parts = p.Plain()
	}
	for _, part := range parts {
		if err := writePart(w, part); err != nil {
			return err
		}
	}
	return nil
}

// each is what an answer holds: each of a list, or the one.
func each(answer any) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		switch v := reflect.ValueOf(answer); v.Kind() {
		case reflect.Invalid:
		case reflect.Slice:
			for i := range v.Len() {
				if !yield(v.Index(i).Interface(), nil) {
					return
				}
			}
		case reflect.Func: // a sequence, which says how it ended
			for item, failed := range v.Seq2() {
				err, _ := failed.Interface().(error)
				if !yield(item.Interface(), err) || err != nil {
					return
				}
			}
		case reflect.Pointer:
			if !v.IsNil() {
				yield(v.Elem().Interface(), nil)
			}
		default:
			yield(answer, nil)
		}
	}
}

// rowsAtOnce is how many rows of a long list are laid out together.
const rowsAtOnce = 200

// writePart writes a sentence, a table, or the fields of a single one.
func writePart(w io.Writer, part any) error {
	kind := reflect.ValueOf(part).Kind()
	if s, ok := part.(string); ok {
		for line := range strings.SplitSeq(s, "\n") {
			if _, err := fmt.Fprintln(w, screen.Text(line)); err != nil {
				return err
			}
		}
		return nil
	}
	var rows []reflect.Value
	written := 0
	flush := func() error {
		defer func() { rows, written = rows[:0], written+len(rows) }()
		if len(rows) == 0 {
			return nil
		}
		if kind == reflect.Struct || kind == reflect.Pointer {
			return writeFields(w, rows[0])
		}
		return writeTable(w, rows)
	}
	for v, err := range each(part) {
		if err != nil {
			return errors.Join(flush(), err)
		}
		row := reflect.ValueOf(v)
		if len(rows) == rowsAtOnce || len(rows) > 0 && rows[0].Type() != row.Type() {
			if err := flush(); err != nil {
				return err
			}
		}
		rows = append(rows, row)
	}
	if err := flush(); err != nil || written > 0 {
		return err
	}
	_, err := fmt.Fprintln(w, "Nothing.")
	return err
}

// column is a field that people read.
type column struct {
	reflect.StructField
	head string
}

// Tells writes what the fields of the verb's answer are.
func (v Verb) Tells(w io.Writer) {
	t := v.out
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		t = t.Elem()
	case reflect.Func:
		if t.NumIn() == 1 && t.In(0).Kind() == reflect.Func {
			t = t.In(0).In(0)
		}
	}
	if t.Kind() != reflect.Struct || len(columns(t)) == 0 {
		return
	}
	fmt.Fprintln(w, "It prints, and -json more:")
	for _, c := range columns(t) {
		fmt.Fprintf(w, "  %s\n    \t%s\n", c.head, c.Tag.Get("doc"))
	}
}

// columns are those of a type.
func columns(t reflect.Type) (all []column) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("doc") != "" {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			all = append(all, column{f, strings.ReplaceAll(name, "_", " ")})
		}
	}
	return all
}

func (c column) wide() bool { return c.Tag.Get("wide") != "" }

// of is what stands in the column of a row; what JSON leaves out is left out here.
func (c column) of(row reflect.Value) string {
	v := row.FieldByIndex(c.Index)
	if v.IsZero() && strings.Contains(c.Tag.Get("json"), ",omit") {
		return ""
	}
	return cell(v)
}

// writeTable writes rows of one type. A column in which nothing stands is left out.
func writeTable(w io.Writer, rows []reflect.Value) error {
	var heads []string
	lines, below := make([][]string, len(rows)), make([][]string, len(rows))
	for _, c := range columns(rows[0].Type()) {
		cells, any := make([]string, len(rows)), false
		for i, row := range rows {
			cells[i] = c.of(row)
			any = any || cells[i] != ""
		}
		if !any {
			continue
		}
		if !c.wide() {
			heads = append(heads, c.head)
		}
		for i := range rows {
			if !c.wide() {
				lines[i] = append(lines[i], short(cells[i]))
			} else if cells[i] != "" {
				below[i] = append(below[i], cells[i])
			}
		}
	}
	var laid strings.Builder
	t := tabwriter.NewWriter(&laid, 0, 0, 2, ' ', 0)
	for _, line := range append([][]string{heads}, lines...) {
		if _, err := fmt.Fprintln(t, strings.Join(line, "\t")); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSuffix(laid.String(), "\n"), "\n") {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		for _, text := range below[i-1] {
			if err := indented(w, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFields writes a single one, with a line for each field in which something stands.
func writeFields(w io.Writer, v reflect.Value) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var below []string
	for _, c := range columns(v.Type()) {
		text := c.of(v)
		if c.wide() && text != "" {
			below = append(below, c.head+":", text)
		} else if text != "" {
			fmt.Fprintf(t, "%s\t%s\n", c.head, screen.Text(text))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, text := range below {
		if i%2 == 0 {
			fmt.Fprintln(w, text)
		} else if err := indented(w, text); err != nil {
			return err
		}
	}
	return nil
}

func indented(w io.Writer, text string) error {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if _, err := fmt.Fprintln(w, "    "+screen.Text(line)); err != nil {
			return err
		}
	}
	return nil
}

// longest is how many characters of a text stand in a table. What has no space, such as an address,
// stands whole: it is there to be copied.
const longest = 59

func short(s string) string {
	s = screen.Text(s)
	if strings.Contains(s, " ") {
		return screen.Clip(s, longest)
	}
	return s
}

// cell is a value as people read it, "" for nothing.
func cell(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return x.UTC().Format("2006-01-02 15:04")
	case bool:
		return map[bool]string{true: "yes"}[x]
	}
	switch v.Kind() {
	case reflect.String:
		if at, err := time.Parse(time.RFC3339, v.String()); err == nil {
			return at.UTC().Format("2006-01-02 15:04")
		}
		return v.String()
	case reflect.Float64:
		return strconv.FormatFloat(math.Round(v.Float()*100)/100, 'f', -1, 64)
	case reflect.Slice:
		all := make([]string, v.Len())
		for i := range all {
			all[i] = cell(v.Index(i))
		}
		return strings.Join(all, ", ")
	}
	return fmt.Sprint(v.Interface())
}
