package api

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// hexed writes itself as text, as keys and signatures do.
type hexed []byte

func (h hexed) MarshalText() ([]byte, error) { return []byte("00ff"), nil }

// TestSchemasDescribeWhatIsWritten: bytes stand in JSON as text or as the JSON that they are, and are described so.
func TestSchemasDescribeWhatIsWritten(t *testing.T) {
	type inner struct {
		Ready jsontext.Value `json:"ready" jsonschema:"its own words"`
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
		b, err := json.Marshal(answer{Signature: hexed{1}, Raw: []byte{1, 2}, Ready: v, Members: map[string]jsontext.Value{"x": v}, List: []*inner{{v}}})
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
