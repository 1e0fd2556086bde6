package signable

import (
	"encoding/json/jsontext"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
)

func TestWhatADoorSendsBecomesSignable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"z":1,"a":[1.5,-2,1e3,"1.5",9007199254740993]}`: `{"z":1,"a":["1.5",-2,"1e3","1.5","9007199254740993"]}`,
		`{"b":"\u003c","a":{}}`:                           `{"b":"<","a":{}}`,
		`{"b\u202e":"x\u202ey"}`:                          `{"b!":"x!y"}`,
		`{"b\u202e":1,"b!":2}`: `{"report":"left out: 17 bytes, sha256 ` +
			`43d0db46b74094af4fa70132d02e86addfb8bc7dea9b111f017b5bc8f593d2d9"}`,
	} {
		got, err := Of(jsontext.Value(in), 1<<10, spellOut)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
		if _, err := attest.Canonical(got); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
	if got, err := Of(jsontext.Value(`{"a":1,"a":2}`), 1<<10, spellOut); err == nil {
		t.Errorf("a name twice: %s", got)
	}
}

// A door that sends much does not keep a report from being signed, and what it sent beside is kept.
func TestWhatIsTooLongIsLeftOut(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", 5000) + `"`
	many := `[` + strings.Repeat(`{"a":"bb"},`, 3000) + `1]`
	for name, in := range map[string]string{
		"a text":        `{"verdict":"ready","evidence":{"status":402,"challenge":` + long + `}}`,
		"many":          `{"verdict":"ready","evidence":{"status":402,"challenge":` + many + `}}`,
		"several texts": `{"verdict":"ready","evidence":{"status":402},"b":[` + long + `,` + long + `,` + long + `]}`,
		"deep down": `{"verdict":"ready","evidence":{"status":402},"deep":` + strings.Repeat(`[`, 900) + long +
			strings.Repeat(`]`, 900) + `}`,
		"a tree": `{"verdict":"ready","evidence":{"status":402},"tree":` + tree(5) + `}`,
	} {
		got, err := Of(jsontext.Value(in), 1<<10, spellOut)
		if err != nil || len(got) > 1<<10 || !strings.Contains(string(got), `"verdict":"ready"`) ||
			!strings.Contains(string(got), `"status":402`) || !strings.Contains(string(got), `left out: `) {
			t.Errorf("%s: %d bytes %.300s, %v", name, len(got), got, err)
		}
	}
}

// tree is eight of eight of eight.
func tree(depth int) string {
	if depth == 0 {
		return `"` + strings.Repeat("y", 20) + `"`
	}
	return `[` + strings.TrimSuffix(strings.Repeat(tree(depth-1)+`,`, 8), `,`) + `]`
}

func spellOut(s string) string { return strings.ReplaceAll(s, "\u202e", "!") }
