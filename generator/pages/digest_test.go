package pages

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
)

// TestEveryFieldOfAGoodIsInItsDigest changes each value that a good holds, one at a time, and looks
// whether its page would be made anew. A field that is added to a good is tested from then on.
func TestEveryFieldOfAGoodIsInItsDigest(t *testing.T) {
	rows, err := Prepare(Table())
	if err != nil {
		t.Fatal(err)
	}
	row := &rows[slices.IndexFunc(rows, func(o Output) bool { return o.Name == "menu_item" })]
	var g content.Good
	leaves := fill(t, reflect.ValueOf(&g).Elem(), "Good")
	made := func(g *content.Good) attest.Digest {
		s := &Source{Input: &Input{Workers: 1, Site: &content.Site{Goods: []content.Good{*g}}}}
		s.sortGoods()
		s.digestGoods()
		return row.Digest(s, Unit{Key: g.ID, at: slices.Index(s.ids, g.ID)}, NewDigester())
	}
	if len(leaves) < 30 {
		t.Fatalf("a good holds %d values: %v", len(leaves), leaves)
	}
	seen := map[attest.Digest]string{made(&g): "unchanged"}
	for name, leaf := range leaves {
		was := reflect.New(leaf.Type()).Elem()
		was.Set(leaf)
		alter(leaf)
		if other, twice := seen[made(&g)]; twice {
			t.Errorf("a good with another %s has the digest of one that is %s", name, other)
		}
		seen[made(&g)] = "of another " + name
		leaf.Set(was)
	}
	// Nor does a text pass for part of its neighbour.
	a := content.Good{Name: "ab", Subtitle: "c", Constraints: []string{"d", "e"}, Body: "f"}
	for _, b := range []content.Good{
		{Name: "a", Subtitle: "bc", Constraints: []string{"d", "e"}, Body: "f"},
		{Name: "ab", Subtitle: "c", Constraints: []string{"de"}, Body: "f"},
		{Name: "ab", Subtitle: "c", Constraints: []string{"d"}, Body: "ef"},
	} {
		if made(&a) == made(&b) {
			t.Errorf("%+v and %+v have one digest", a, b)
		}
	}
}

// fill gives every value below v one of its own and lists them by name.
func fill(t *testing.T, v reflect.Value, name string) map[string]reflect.Value {
	t.Helper()
	leaves := make(map[string]reflect.Value)
	add := func(v reflect.Value, name string) {
		maps.Copy(leaves, fill(t, v, name))
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			add(v.Field(i), name+"."+v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		add(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			add(v.Index(i), fmt.Sprintf("%s[%d]", name, i))
		}
	case reflect.String:
		v.SetString("the " + name)
		leaves[name] = v
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(100 + len(name)))
		leaves[name] = v
	case reflect.Bool:
		leaves[name] = v
	default:
		t.Fatalf("%s is a %s, which this test cannot change", name, v.Kind())
	}
	return leaves
}

func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "!")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		v.SetInt(v.Int() + 1)
	}
}

// TestDigestOfMuch: what is hashed piece by piece has the digest of all of it, and the next one has
// nothing of it.
func TestDigestOfMuch(t *testing.T) {
	d := NewDigester()
	for _, n := range []int{0, 1, gathered - 3, gathered, 3*gathered + 5} {
		var whole []byte
		for i := range 4 {
			text := strings.Repeat(string(rune('a'+i)), n)
			d.text(text)
			whole = append(binary.AppendUvarint(whole, uint64(n)), text...)
		}
		d.number(7)
		whole = binary.AppendVarint(whole, 7)
		if got := d.sum(); got != sha256.Sum256(whole) {
			t.Errorf("of four texts of %d bytes: %s", n, got)
		}
		if len(d.buf) != 0 || d.long != nil || cap(d.buf) > 8*gathered {
			t.Errorf("after four texts of %d bytes, %d of %d are kept", n, len(d.buf), cap(d.buf))
		}
	}
}
