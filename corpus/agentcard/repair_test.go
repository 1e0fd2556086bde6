package agentcard

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// official is the official schema of a card.
func official(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	raw, err := os.ReadFile("testdata/a2a-0.3.0.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	s.Ref = "#/definitions/AgentCard"
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Whatever a host serves, what comes of it is a card that the official schema accepts, that needs
// no second repair, and that holds no secret.
func TestARepairedCardPassesTheOfficialSchema(t *testing.T) {
	schema := official(t)
	sample, err := os.ReadFile("testdata/sample-card-0.3.0.json")
	if err != nil {
		t.Fatal(err)
	}
	var broken map[string]any
	if err := json.Unmarshal([]byte(`{"name":5}`), &broken); err != nil || schema.Validate(broken) == nil {
		t.Fatal("the schema takes anything")
	}
	cards := map[string]string{"sample": string(sample), "nothing": "", "a page": "<html>", "a list": "[]",
		"empty": "{}", "twice": `{"name":"a","name":"b"}`, "not UTF-8": "{\"name\":\"\xff\"}",
		"1.0": `{"name":"A","description":"d","version":"1","supportedInterfaces":[{"url":"https://a.example/rpc",` +
			`"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{},"skills":[]}`,
		"secrets": `{"name":"A","key":"-----BEGIN PRIVATE KEY-----","k":[{"kty":"OKP","d":"x","x":"y"}]}`,
		"wrong all over": `{"name":null,"description":7,"url":[],"version":1,"protocolVersion":"1.0","capabilities":[],` +
			`"defaultInputModes":"text/plain","defaultOutputModes":[1,"a/b"],"skills":[{"name":"n"},5,{"tags":"x"},{}],` +
			`"provider":{"url":"u"},"security":[{"a":"b"}],"securitySchemes":{"a":{"type":"x"}},"iconUrl":5,` +
			`"supportsAuthenticatedExtendedCard":"yes","signatures":[{}],"additionalInterfaces":[{"url":"u"}],` +
			`"capabilities2":1e400,"x":"\u202e</script>"}`,
	}
	// Each member of the sample in each wrong form.
	var members map[string]json.RawMessage
	if err := json.Unmarshal(sample, &members); err != nil {
		t.Fatal(err)
	}
	for name, was := range members {
		for _, wrong := range []string{`null`, `5`, `"x"`, `[]`, `{}`, `[{}]`, `[null]`, `true`, `{"a":{}}`, `[{"a":1}]`} {
			members[name] = json.RawMessage(wrong)
			b, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			cards[name+" as "+wrong] = string(b)
		}
		members[name] = was
	}
	for name, served := range cards {
		r, ok := NewRepair([]byte(served), "door.example")
		var card map[string]any
		if err := json.Unmarshal([]byte(r.Card), &card); !ok || err != nil && !strings.Contains(served, "1e400") {
			t.Errorf("%s: %v, %v %s", name, ok, err, r.Card)
			continue
		} else if err == nil {
			if err := schema.Validate(card); err != nil {
				t.Errorf("%s: %v\n%s", name, err, r.Card)
			}
		}
		if strings.Contains(r.Card, "PRIVATE KEY") || strings.Contains(r.Card, `"d":"x"`) || strings.Contains(r.Card, "\u202e") {
			t.Errorf("%s holds %s", name, r.Card)
		}
		again, ok := NewRepair([]byte(r.Card), "door.example")
		if !ok || again.Card != r.Card || len(again.Changed) > 0 {
			t.Errorf("%s needs a second repair: %v\n%s\n%s", name, again.Changed, r.Card, again.Card)
		}
	}
	good := strings.Replace(string(sample), `"protocolVersion": "0.2.9"`, `"protocolVersion": "0.3.0"`, 1)
	if r, ok := NewRepair([]byte(good), "x"); !ok || len(r.Changed) != 0 || !strings.Contains(r.Card, `"signatures"`) {
		t.Errorf("a good card was changed: %v", r.Changed)
	}
	if _, ok := NewRepair([]byte(`{"x":"`+strings.Repeat("x", MaxRepaired)+`"}`), "x"); ok {
		t.Error("a card is longer than the most")
	}
}
