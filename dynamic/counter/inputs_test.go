package counter

import (
	"maps"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/till"
)

// An order's inputs are those of its offer, each once, within bounds and in one spelling;
// everything else has a fault of its own, so that nobody pays for what was not asked.
func TestInputsAreJudged(t *testing.T) {
	o := &till.Offer{ID: "thing", Inputs: []content.Input{
		{Name: "name", Type: "string", Required: true, Max: 3}, {Name: "size", Type: "number"},
		{Name: "gift", Type: "boolean"}, {Name: "lines", Type: "string", Multiline: true},
		{Name: "code", Type: "string", Pattern: "^[a-z]+$"},
	}}
	for _, c := range []struct {
		query, body string
		want        map[string]string
		bad         string // the faults, joined
	}{
		{"name=abc", "", map[string]string{"name": "abc"}, ""},
		{"name=%C3%A9%C3%A9%C3%A9", "", map[string]string{"name": "ééé"}, ""},
		{"name=abcd", "", nil, "name is longer than 3 characters"},
		{"name=a&name=b", "", nil, "name may be given once"},
		{"", "", nil, "name is required"},
		{"name=", "", nil, "name is required"},
		{"name=a&other=1", "", nil, "other is not an input of thing"},
		{"name=a%00", "", nil, "name holds control characters"},
		{"name=%ff", "", nil, "name is not UTF-8"},
		{"name=a;b", "", nil, "query cannot be read: it is not a form-encoded query"},
		{"name=a&lines=x%0Ay", "", map[string]string{"name": "a", "lines": "x\ny"}, ""},
		{"name=a&code=X", "", nil, "code must match ^[a-z]+$"},
		{"name=a&size=%2B1.50", "", map[string]string{"name": "a", "size": "1.5"}, ""},
		{"name=a&size=1e999", "", nil, "size must be a number"},
		{"name=a&size=0x10", "", nil, "size must be a number"},
		{"name=a&gift=yes", "", nil, "gift must be a boolean"},
		{"", `{"name":"abc","size":1.50,"gift":true,"code":null}`, map[string]string{"name": "abc", "size": "1.5",
			"gift": "true"}, ""},
		{"", `{"name":7}`, nil, "name must be a string"},
		{"", `{"name":"abcd","other":1}`, nil, "name is longer than 3 characters; other is not an input of thing"},
		{"", `{"name":"a","name":"b"}`, nil, "body must be one JSON object in which no member stands twice"},
		{"", `null`, nil, "body must be one JSON object in which no member stands twice"},
		{"name=a", `{"size":1}`, nil, "body has inputs, and so has the query: send them all in one of the two"},
		{"name=a", `{}`, map[string]string{"name": "a"}, ""},
		{"", `{"name":"a"` + strings.Repeat(" ", maxInputs-len(`{"name":"a"}`)) + `}`, map[string]string{"name": "a"},
			""},
	} {
		got, fields, err := judge(o, &Inputs{Query: c.query, Body: []byte(c.body)})
		if err != nil {
			t.Fatal(err)
		}
		if bad := joinFields(fields); bad != c.bad || c.bad == "" && !maps.Equal(got, c.want) {
			t.Errorf("%s %.60s: %v, %q; want %v, %q", c.query, c.body, got, bad, c.want, c.bad)
		}
	}
	_, fields, err := judge(o,
		&Inputs{Body: []byte(`{"name":"a"` + strings.Repeat(" ", maxInputs+1-len(`{"name":"a"}`)) + `}`)})
	if err != nil || len(fields) != 1 || fields[0].Field != "body" {
		t.Errorf("a body that is too long: %v, %v", fields, err)
	}
}

// The answer to what cannot be ordered says where the inputs are listed, if they are.
func TestAFaultSaysWhereInputsAreListed(t *testing.T) {
	c := &Counter{BaseURL: "https://store.example"}
	for about, want := range map[string]bool{"/menu/thing": true, "": false} {
		_, err := c.readInputs(t.Context(), &till.Offer{ID: "thing", About: about}, &Inputs{Query: "other=1"})
		p, ok := err.(*problem.Error)
		if !ok || strings.Contains(p.Detail, "listed at https://store.example"+about) != want ||
			strings.Contains(p.Detail, "listed at") != want {
			t.Errorf("about %q: %v", about, err)
		}
	}
}

// The name of the service is of 1 to 32 printable ASCII characters, whatever the site is called.
func TestServiceName(t *testing.T) {
	for title, want := range map[string]string{
		"A Store": "A Store", " ~": " ~", "Ünïcode": "ncode", "": "store", "店": "store", "a\x1fb\x7f": "ab",
		strings.Repeat("x", 40): strings.Repeat("x", 32),
	} {
		site := &content.Site{}
		site.Config.Title = title
		if got := serviceName(site); got != want {
			t.Errorf("serviceName(%q) = %q, want %q", title, got, want)
		}
	}
}
