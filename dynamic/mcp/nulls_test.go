package mcp

import "testing"

// null is what is left out, in the arguments of what is bought as in those of every free tool.
func TestNullIsLeftOut(t *testing.T) {
	for args, want := range map[string]string{`null`: "", `{}`: "", `{"a":null}`: "", `{"b":null, "a": 1}`: `{"a":1}`,
		`{"b": "x", "a":"null"}`: `{"a":"null","b":"x"}`} {
		if got, err := inputs([]byte(args)); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", args, got, err, want)
		}
	}
	if _, err := inputs([]byte(`[]`)); err == nil {
		t.Error("a list is taken for an object")
	}
}
