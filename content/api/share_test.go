package api

import (
	"encoding/json/jsontext"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestSharingLosesNothing: a description in which every reference to what is shared is followed is
// the one in which nothing was.
func TestSharingLosesNothing(t *testing.T) {
	routes := testRoutes()
	for i, r := range []Route{routes[0], routes[0], routes[2]} {
		r.Name += strings.Repeat("_again", i+1)
		r.Pattern += "/again/" + r.Name
		r.Responses = append(slices.Clone(r.Responses), Response{Status: 201, ContentType: JSON,
			Schema: &jsonschema.Schema{Type: "array", Items: SchemaFor[struct {
				Reading probeAnswer   `json:"reading"`
				More    []probeAnswer `json:"more"`
			}]()}})
		routes = append(routes, r)
	}
	paths := object{}
	for _, r := range Published(routes, Documents) {
		paths = append(paths, member{r.Pattern + " " + r.Name, object{{"get", operation(testInfo, r)}}})
	}
	plain, err := tree(paths)
	if err != nil {
		t.Fatal(err)
	}
	common, err := share(paths)
	if err != nil {
		t.Fatal(err)
	}
	all, err := tree(object{{"paths", paths}, {"components", common}})
	if err != nil {
		t.Fatal(err)
	}
	whole := all.(object)
	was, is := compact(plain.(object)), compact(whole[0].value.(object))
	if got := compact(follow(t, whole, whole[0].value.(object), 0)); got != strings.ReplaceAll(was,
		`{"$ref":"#/components/schemas/Problem"}`, compact(mustTree(t, problemSchema()))) {
		t.Errorf("what was shared reads differently:\n%s\nwas\n%s", got, was)
	}
	if len(is) > len(was)*4/5 {
		t.Errorf("shared it has %d bytes of %d", len(is), len(was))
	}
	for _, kind := range whole[1].value.(object) {
		for _, m := range kind.value.(object) {
			ref := `"#/components/` + kind.name + "/" + m.name + `"`
			if n := strings.Count(compact(whole), ref); n < 2 {
				t.Errorf("%s is referred to %d times", ref, n)
			}
		}
	}
}

func mustTree(t *testing.T, v any) object {
	t.Helper()
	o, err := tree(v)
	if err != nil {
		t.Fatal(err)
	}
	return o.(object)
}

// follow is o with what its references name in their place.
func follow(t *testing.T, whole, o object, depth int) object {
	t.Helper()
	if depth > 40 {
		t.Fatal("references go in a circle")
	}
	if len(o) == 1 && o[0].name == "$ref" {
		ref := strings.Trim(string(o[0].value.(jsontext.Value)), `"`)
		at := whole
		for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			i := slices.IndexFunc(at, func(m member) bool { return m.name == name })
			if i < 0 {
				t.Fatalf("%s is nowhere", ref)
			}
			at = at[i].value.(object)
		}
		return follow(t, whole, at, depth+1)
	}
	done := slices.Clone(o)
	for i, m := range done {
		if below, ok := m.value.(object); ok {
			done[i].value = follow(t, whole, below, depth+1)
		}
	}
	return done
}
