package declarations

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
)

const at = "https://shop.example/.well-known/x402"

func parse(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.Port() != "" || u.User != nil {
		return "", errors.New("never contacted")
	}
	u.Host = strings.ToLower(u.Host)
	return u.String(), nil
}

// A file asks not to be walked by one word, with or without doors beside it; what cannot be read,
// was cut, or stood elsewhere asks for nothing.
func TestOptsOut(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		cut    bool
		file   string
		want   bool
	}{
		"alone":         {200, false, `{"census":"no"}`, true},
		"beside doors":  {200, false, `{"version":1,"resources":["/a"],"census":"no"}`, true},
		"another word":  {200, false, `{"census":"yes"}`, false},
		"in capitals":   {200, false, `{"census":"NO"}`, false},
		"a boolean":     {200, false, `{"census":false}`, false},
		"another name":  {200, false, `{"Census":"no"}`, false},
		"said twice":    {200, false, `{"census":"no","census":"yes"}`, false},
		"deeper":        {200, false, `{"a":{"census":"no"}}`, false},
		"no JSON":       {200, false, `census: no`, false},
		"not found":     {404, false, `{"census":"no"}`, false},
		"cut":           {200, true, `{"census":"no"}`, false},
		"too large":     {200, false, `{"census":"no","a":"` + strings.Repeat("x", MaxFile) + `"}`, false},
		"of no version": {200, false, `{"version":2,"census":"no"}`, true},
	} {
		x := exchange.Exchange{Request: exchange.Request{Method: http.MethodGet, URL: at},
			Response: exchange.Response{Status: c.status, Truncated: c.cut, Body: []byte(c.file)}}
		if got := OptsOut(x); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if f, err := Parse([]byte(`{"census":"no"}`), at); err != nil || !f.OptOut || len(f.Entries) != 0 {
		t.Errorf("a file of that alone is %+v, %v", f, err)
	}
}

func TestShapes(t *testing.T) {
	for name, c := range map[string]struct {
		file, shape, problem string
		want                 Own
	}{
		"objects of the specification": {file: `{"version":1,"resources":[{"resource":"https://shop.example/a","type":"http"},{"resource":"https://shop.example/b","type":"mcp"},{"url":"https://other.example/c"}]}`,
			shape: ShapeObjects, want: Own{Doors: []probe.DeclaredDoor{{URL: "https://shop.example/a"}}, Foreign: 1,
				Refused: 1}},
		"texts": {file: `{"version":1,"resources":["https://shop.example/a","POST /b","GET https://SHOP.example/c","/d","e","ftp://shop.example/f","//shop.example/g","http://shop.example/h","https://shop.example:8443/i"],"ownershipProofs":["0x"]}`,
			shape: ShapeStrings, want: Own{Doors: []probe.DeclaredDoor{{URL: "https://shop.example/a"},
				{URL: "https://shop.example/b", Method: "POST"}, {URL: "https://shop.example/c", Method: "GET"},
				{URL: "https://shop.example/d"}}, Refused: 5}},
		"both": {file: `{"resources":["/a",{"resource":{"url":"https://shop.example/b"},"method":"post"}]}`,
			shape: ShapeMixed, want: Own{Doors: []probe.DeclaredDoor{{URL: "https://shop.example/a"},
				{URL: "https://shop.example/b", Method: "POST"}}}},
		"a door named twice": {file: `{"version":1,"resources":["POST /a","GET /a","/a"]}`,
			shape: ShapeStrings, want: Own{Doors: []probe.DeclaredDoor{{URL: "https://shop.example/a",
				Method: "GET"}}}},
		"nothing": {file: `{"version":1,"resources":[]}`, shape: ShapeEmpty, want: Own{Doors: []probe.DeclaredDoor{}}},
		"a facilitator's items": {file: `{"x402Version":2,"items":[{"resource":"https://shop.example/a","type":"http","accepts":[{}]}],"pagination":{}}`,
			shape: ShapeFacilitator, want: Own{Doors: []probe.DeclaredDoor{{URL: "https://shop.example/a"}}}},
		"a facilitator's resources": {file: `{"x402Version":1,"resources":[{"resource":"https://shop.example/a","type":"http","accepts":[]}]}`,
			shape: ShapeFacilitator, want: Own{Doors: []probe.DeclaredDoor{{URL: "https://shop.example/a"}}}},
		"the proposal with resources": {file: `{"x402Version":1,"kind":"merchant","resources":["/a"]}`,
			shape: ShapeProposal, want: Own{Doors: []probe.DeclaredDoor{{URL: "https://shop.example/a"}}}},
		"the proposal": {file: `{"x402Version":1,"kind":"facilitator","facilitator":{"baseUrl":"https://f.example"}}`,
			shape: ShapeProposal, problem: "without a list"},
		"no resources": {file: `{"version":1}`, shape: ShapeUnknown, problem: "without a list"},
		"resources that are no list": {file: `{"version":1,"resources":{}}`, shape: ShapeUnknown,
			problem: "without a list"},
		"another version": {file: `{"version":2,"resources":["/a"]}`, shape: ShapeStrings,
			problem: "not the number 1"},
		"a version in quotes": {file: `{"version":"1","resources":["/a"]}`, shape: ShapeStrings,
			problem: "not the number 1"},
		"a list": {file: `["https://shop.example/a"]`, shape: ShapeUnknown,
			problem: "not a JSON object"},
		"a page": {file: `<!doctype html>`, shape: ShapeUnknown, problem: "not JSON"},
		"a name twice": {file: `{"version":1,"resources":[],"resources":["/a"]}`, shape: ShapeUnknown,
			problem: "twice"},
		"bad text": {file: "{\"version\":1,\"resources\":[\"/\xff\"]}", shape: ShapeUnknown,
			problem: "UTF-8"},
		"too large": {file: `{"version":1,"resources":["/` + strings.Repeat("a", MaxFile) + `"]}`,
			shape: ShapeUnknown, problem: "256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Parse([]byte(c.file), at)
			if f.Shape != c.shape {
				t.Errorf("shape %s, want %s", f.Shape, c.shape)
			}
			if c.problem != "" {
				if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("error %v, want one with %q", err, c.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, f.On("shop.example", parse)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestNamesAsPeopleSpellThem reads a host's own doors in every spelling of its name that the client
// requests as that.
func TestNamesAsPeopleSpellThem(t *testing.T) {
	client, err := fetch.New(fetch.Config{UserAgent: "test (+https://store.example)", Key: attest.SpecimenKey(),
		Agent: "https://store.example"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse([]byte(`{"version":1,"resources":["https://bücher.example/a","GET https://BÜCHER.example./b","https://xn--bcher-kva.example/ü?q=ü",{"resource":"https://Bücher.example/a b"},"https://bucher.example/x"]}`), Start("xn--bcher-kva.example"))
	if err != nil {
		t.Fatal(err)
	}
	want := Own{Foreign: 1, Doors: []probe.DeclaredDoor{{URL: "https://xn--bcher-kva.example/a"},
		{URL: "https://xn--bcher-kva.example/b", Method: "GET"},
		{URL: "https://xn--bcher-kva.example/%C3%BC?q=%C3%BC"}, {URL: "https://xn--bcher-kva.example/a%20b"}}}
	if d := cmp.Diff(want, f.On("xn--bcher-kva.example",
		func(raw string) (string, error) { return client.Parse(raw, fetch.Rule{}) })); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTwentyDoorsAreRead(t *testing.T) {
	var list []string
	for i := range 23 {
		list = append(list, fmt.Sprintf(`"/%d","https://other.example/%d"`, i, i))
	}
	f, err := Parse([]byte(`{"version":1,"resources":[`+strings.Join(list, ",")+`,"/0"]}`), at)
	if err != nil {
		t.Fatal(err)
	}
	got := f.On("shop.example", parse)
	if len(got.Doors) != MaxOwn || got.Capped != 3 || got.Foreign != 23 ||
		got.Doors[19].URL != "https://shop.example/19" {
		t.Errorf("%d doors, %d capped, %d foreign", len(got.Doors), got.Capped, got.Foreign)
	}
}

// host answers requests by URL.
type host map[string]exchange.Response

func (h host) replay(t *testing.T) (Report, []string) {
	t.Helper()
	var recorded []exchange.Exchange
	var asked []string
	c := Checker{Host: "shop.example"}
	for {
		r, next, err := c.Step(recorded)
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			return r, asked
		}
		if len(recorded) == c.MaxRequests() {
			t.Fatal("it asks for more than it said")
		}
		x := exchange.Exchange{Request: next.Request}
		if a, ok := h[next.Request.URL]; ok {
			x.Response = a
		} else {
			x.Response.Status = http.StatusNotFound
		}
		if x.Response.Status == 0 {
			x.Error = exchange.Error{Stage: exchange.StageConnect, Text: "refused"}
		}
		recorded, asked = append(recorded, x), append(asked, next.Request.URL)
	}
}

func answer(status int, body string) exchange.Response {
	return exchange.Response{Status: status, Body: []byte(body)}
}

func to(location string) exchange.Response {
	return exchange.Response{Status: http.StatusFound, Header: http.Header{"Location": {location}}}
}

func TestChecker(t *testing.T) {
	const card, file, good = "https://shop.example/.well-known/agent.json", "https://shop.example/x402.json",
		`{"version":1,"resources":["/a"]}`
	large := answer(200, good)
	large.Truncated = true
	for name, c := range map[string]struct {
		host             host
		kind, via, about string
		asked            int
	}{
		"the file":            {host{at: answer(200, good)}, Doors, ViaFile, "", 1},
		"no file and no card": {host{}, None, "", "no agent card", 2},
		"a file that is gone": {host{at: answer(410, "")}, None, "", "no agent card", 2},
		"a card without":      {host{card: answer(200, `{"name":"x"}`)}, None, "", "no x402Discovery", 2},
		"a card with": {host{card: answer(200, `{"x402Discovery":"/x402.json"}`), file: answer(200, good)},
			Doors, ViaCard, "", 3},
		"a card with an object": {host{card: answer(200, `{"x402Discovery":{"url":"https://shop.example/x402.json"}}`),
			file: answer(200, good)}, Doors, ViaCard, "", 3},
		"a card for elsewhere": {host{card: answer(200, `{"x402Discovery":"https://other.example/x402.json"}`)},
			Unreadable, ViaCard, "on the host itself", 2},
		"a card for nowhere": {host{card: answer(200, `{"x402Discovery":"/x402.json"}`)}, Unreadable, ViaCard,
			"not there", 3},
		"a card with a number":  {host{card: answer(200, `{"x402Discovery":7}`)}, Unreadable, ViaCard, "no address", 2},
		"a card that is a page": {host{card: answer(200, `<html>`)}, Unreadable, ViaCard, "not a JSON object", 2},
		"a redirect within":     {host{at: to("/x402.json"), file: answer(200, good)}, Doors, ViaFile, "", 2},
		"two redirects":         {host{at: to("/x402.json"), file: to("/y")}, Unreadable, ViaFile, "more than once", 2},
		"a redirect away":       {host{at: to("https://other.example/x402")}, Unreadable, ViaFile, "another host", 1},
		"a redirect to nowhere": {host{at: answer(302, "")}, Unreadable, ViaFile, "nowhere", 1},
		"a host that is down":   {host{at: answer(0, "")}, Unreadable, ViaFile, "connect", 1},
		"a host that fails":     {host{at: answer(503, "")}, Unreadable, ViaFile, "status 503", 1},
		"a file too large":      {host{at: large}, Unreadable, ViaFile, "256 KiB", 1},
		"a bad file": {host{at: answer(200, "{}"), card: answer(200, `{"x402Discovery":"/x402.json"}`)},
			Unreadable, ViaFile, "without a list", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, asked := c.host.replay(t)
			if r.Kind != c.kind || r.Via != c.via || !strings.Contains(r.Reason, c.about) || len(asked) != c.asked {
				t.Errorf("%+v after %v", r, asked)
			}
			if (r.Kind == Unreadable) != (r.Reason != "" && r.Kind != None) {
				t.Errorf("kind %s with reason %q", r.Kind, r.Reason)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"resources":["POST /a",{"resource":"https://shop.example/b","type":"http"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := Parse(raw, at)
		if err != nil && !errors.Is(err, ErrUnreadable) {
			t.Error(err)
		}
		own := file.On("shop.example", parse)
		for _, d := range own.Doors {
			if u, err := url.Parse(d.URL); err != nil || u.Host != "shop.example" {
				t.Errorf("a door of the host is %q", d.URL)
			}
		}
		if len(own.Doors) > MaxOwn {
			t.Errorf("%d doors", len(own.Doors))
		}
	})
}
