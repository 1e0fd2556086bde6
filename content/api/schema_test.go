package api

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"testing"
)

// hexed writes itself as text, as keys and signatures do.
type hexed []byte

func (h hexed) MarshalText() ([]byte, error) { return []byte("00ff"), nil }

// TestSchemasDescribeWhatIsWritten: bytes stand in JSON as text or as the JSON that they are, and
// are described so.
func TestSchemasDescribeWhatIsWritten(t *testing.T) {
	type Apart struct {
		Apart string `json:"apart"`
	}
	type inner struct {
		Ready  jsontext.Value `json:"ready" jsonschema:"its own words"`
		*Apart                // left out where it is nil
	}
	type answer struct {
		Signature hexed                     `json:"signature"`
		Raw       []byte                    `json:"raw"`
		Digest    [4]byte                   `json:"digest"`
		Ready     jsontext.Value            `json:"ready"`
		Members   map[string]jsontext.Value `json:"members"`
		List      []*inner                  `json:"list"`
	}
	for _, ready := range []string{`{"a":[1]}`, `"text"`, `null`} {
		s, err := SchemaFor[answer]().Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		v := jsontext.Value(ready)
		b, err := json.Marshal(answer{Signature: hexed{1}, Raw: []byte{1, 2}, Ready: v,
			Members: map[string]jsontext.Value{"x": v}, List: []*inner{{v, nil}, {v, &Apart{}}}})
		if err != nil {
			t.Fatal(err)
		}
		var instance any
		if err := json.Unmarshal(b, &instance); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(instance); err != nil {
			t.Errorf("%s: %v", b, err)
		}
	}
	if d := SchemaFor[answer]().Properties["list"].Items.Properties["ready"].Description; d != "its own words" {
		t.Errorf("the description is %q", d)
	}
}

// TestNoListIsNull: what is described as a list is written as one by every encoder that answers
// are written by, and what may be left out is never null instead.
func TestNoListIsNull(t *testing.T) {
	type inner struct {
		Names []string `json:"names"`
	}
	type answer struct {
		List   []inner  `json:"list"`
		Left   []inner  `json:"left,omitempty"`
		Beside *inner   `json:"beside,omitempty"`
		Inner  inner    `json:"inner"`
		Known  *bool    `json:"known"` // which is null where nobody knows
		Unsure *bool    `json:"unsure,omitzero"`
		Of     []*inner `json:"of"`
	}
	s := SchemaFor[answer]()
	described, err := json.Marshal(s.Properties, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]struct {
		Type jsontext.Value `json:"type"`
	}
	if err := json.Unmarshal(described, &members); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"list": `"array"`, "left": `"array"`, "beside": `"object"`,
		"inner": `"object"`, "known": `["null","boolean"]`, "unsure": `"boolean"`, "of": `"array"`} {
		if got := string(members[name].Type); got != want {
			t.Errorf("%s is of type %s, want %s", name, got, want)
		}
	}
	if sent := StrictSchemaFor[inner]().Properties["names"]; sent.Type != "array" || sent.Types != nil {
		t.Errorf("what is sent has one type, and is of %q %q", sent.Type, sent.Types)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []answer{{}, {List: []inner{{}}, Of: []*inner{{}}}} {
		one, err := Marshal(v)
		two, err2 := json.Marshal(v)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for _, b := range [][]byte{one, two} {
			var instance any
			if err := json.Unmarshal(b, &instance); err != nil {
				t.Fatal(err)
			}
			if err := r.Validate(instance); err != nil {
				t.Errorf("%s: %v", b, err)
			}
		}
	}
	// In all else it is encoding/json.
	type old struct {
		Text string `json:"text"`
		None int    `json:"none,omitempty"`
		M    map[string]int
	}
	if b, err := Marshal(old{Text: "<&>", M: map[string]int{"b": 1, "a": 2}}); err != nil ||
		string(b) != `{"text":"\u003c\u0026\u003e","M":{"a":2,"b":1}}` {
		t.Errorf("%s, %v", b, err)
	}
}
