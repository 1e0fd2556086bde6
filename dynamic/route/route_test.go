package route

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/problem"
)

func testRoute() *api.Route {
	low := 0.5
	return &api.Route{Name: "test", Method: "GET", Pattern: "/test/{id}", Params: []api.Param{
		{Name: "id", In: api.Path, Type: "string", Required: true, MaxLength: 5, Description: "x"},
		{Name: "text", In: api.QueryP, Type: "string", MinLength: 2, MaxLength: 4, Description: "x"},
		{Name: "lines", In: api.QueryP, Type: "string", MaxLength: 9, Multiline: true, Description: "x"},
		{Name: "usd", In: api.QueryP, Type: "number", Minimum: &low, Description: "x"},
		{Name: "n", In: api.QueryP, Type: "integer", Description: "x"},
		{Name: "yes", In: api.QueryP, Type: "boolean", Description: "x"},
		{Name: "Idempotency-Key", In: api.Header, Type: "string", MinLength: 3, MaxLength: 5, Description: "x"},
	}}
}

func request(query string, fields ...string) *http.Request {
	r := httptest.NewRequest("GET", "/test/a", nil)
	r.URL.RawQuery = query
	r.SetPathValue("id", "a")
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	return r
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		query  string
		fields []string
		want   string // the refusal's fields and problems; empty: none
	}{
		{"", nil, ""},
		{"text=abcd&usd=0.5&n=-3&yes=true", nil, ""},
		{"text=%C3%A9%C3%A9%C3%A9%C3%A9", nil, ""}, // four code points, eight bytes
		{"text=abcde", nil, "text is longer than 4 characters"},
		{"text=a", nil, "text is shorter than 2 characters"},
		{"text=a%00b", nil, "text holds a control character"},
		{"text=a%C2%85b", nil, "text holds a control character"},
		{"text=a%0Ab", nil, "text holds a control character"},
		{"lines=a%0Ab%09c", nil, ""},
		{"lines=a%1Bb", nil, "lines holds a control character"},
		{"text=%C3%28", nil, "text is not valid UTF-8"},
		{"text=ab&text=ab", nil, "text is given more than once"},
		{"other=1&text=a", nil, "other is not a parameter of this route; text is shorter than 2 characters"},
		{"usd=0.4", nil, "usd is less than 0.5"},
		{"usd=1e2", nil, ""},
		{"usd=0x1p4", nil, "usd is not a number"},
		{"usd=1_0", nil, "usd is not a number"},
		{"usd=Inf", nil, "usd is not a number"},
		{"usd=NaN", nil, "usd is not a number"},
		{"usd=", nil, "usd is not a number"},
		{"n=1.0", nil, "n is not a whole number"},
		{"n=%2B1", nil, "n is not a whole number"},
		{"n=99999999999999999999", nil, "n is not a whole number"},
		{"yes=1", nil, "yes is neither true nor false"},
		{"text=%zz", nil, "query is not well-formed"},
		{"text=ab;n=1", nil, "query is not well-formed"},
		{"text=" + strings.Repeat("a", maxQuery), nil, "query is longer than 65536 bytes"},
		{"", []string{"idempotency-key", "abc"}, ""},
		{"", []string{"Idempotency-Key", "ab"}, "Idempotency-Key is shorter than 3 characters"},
		{"", []string{"Idempotency-Key", "abc", "Idempotency-Key", "abc"}, "Idempotency-Key is given more than once"},
		{"a%22%0Ab=1", nil, `a\"\nb is not a parameter of this route`},
	} {
		bad := Validate(request(c.query, c.fields...), testRoute())
		got := ""
		if bad != nil {
			if bad.Code != "invalid_input" {
				t.Errorf("%q: code %s", c.query, bad.Code)
			}
			var parts []string
			for _, f := range bad.Fields {
				parts = append(parts, f.Field+" "+f.Problem)
			}
			got = strings.Join(parts, "; ")
		}
		if len(c.query) > 100 {
			c.query = c.query[:100]
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.query, got, c.want)
		}
	}
}

func TestPathValuesThatCannotExistAreNotFound(t *testing.T) {
	r := request("")
	r.SetPathValue("id", "abcdef")
	if bad := Validate(r, testRoute()); bad == nil || bad.Code != "not_found" {
		t.Errorf("got %v, want not_found", bad)
	}
}

func TestInputs(t *testing.T) {
	row := testRoute()
	v, err := NewValidator(row)
	if err != nil {
		t.Fatal(err)
	}
	r := request("text=abc&usd=1.5&n=-3&yes=true&lines=")
	r = r.WithContext(With(r.Context(), &Request{Validator: v}))
	if bad := Validate(r, row); bad != nil {
		t.Fatal(bad)
	}
	in := Inputs(r)
	if in.String("text") != "abc" || in.Float("usd") != 1.5 || in.Int("n") != -3 || !in.Bool("yes") ||
		in.String("id") != "a" {
		t.Errorf("inputs %v", in)
	}
	if !in.Has("lines") || in.Has("Idempotency-Key") {
		t.Errorf("an empty input is given, an absent one is not: %v", in)
	}
}

// FuzzRead: whatever is sent, what is let through obeys the row, and a refusal is one of ours and
// repeats no value.
func FuzzRead(f *testing.F) {
	for _, q := range []string{"text=abcd&n=1", "text=%ff", "&&==&", "usd=1e309", "text=a&text=b", "%=%",
		"lines=a%0Ab"} {
		f.Add(q)
	}
	row := testRoute()
	v, err := NewValidator(row)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, bad := v.Read(request(query))
		if bad != nil {
			if bad.Code != "invalid_input" || len(bad.Fields) == 0 || !utf8.ValidString(bad.Detail) {
				t.Errorf("%q: refusal %+v", query, bad)
			}
			return
		}
		for name, value := range values {
			if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
				t.Errorf("%q: %s = %q let through", query, name, value)
			}
		}
		if n := utf8.RuneCountInString(values["text"]); n > 4 {
			t.Errorf("%q: text of %d let through", query, n)
		}
		if all, err := url.ParseQuery(query); err != nil || len(all["text"]) > 1 {
			t.Errorf("%q let through (%v)", query, err)
		}
	})
}

type message struct {
	URL   string `json:"url"`
	Count int    `json:"count,omitempty"`
}

func TestReadJSON(t *testing.T) {
	for _, c := range []struct {
		body, want string
		optional   bool
	}{
		{`{"url":"a"}`, "", false},
		{``, "", true},
		{``, "body is not valid JSON", false},
		{`{"url":"a"} {}`, "body is not valid JSON", false},
		{`[]`, "body has the wrong type", false},
		{`{"url":1}`, "url has the wrong type", false},
		{`{"URL":"a"}`, "URL is not a member of this body", false},
		{`{"url":"a","url":"b"}`, "url is given more than once", false},
		{`{"url":"a","x":1}`, "x is not a member of this body", false},
		{"{\"url\":\"\xff\"}", "url is not valid JSON", false},
		{`nope`, "body is not valid JSON", false},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(c.body))
		_, err := ReadJSON[message](r, c.optional)
		got := ""
		if e, ok := errors.AsType[*problem.Error](err); ok && e.Code == "invalid_input" {
			got = e.Fields[0].Field + " " + e.Fields[0].Problem
		} else if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.body, got, c.want)
		}
	}
	r := httptest.NewRequest("POST", "/", nil)
	r.Body = http.MaxBytesReader(nil, io.NopCloser(bytes.NewReader(make([]byte, 9))), 8)
	if e, ok := errors.AsType[*problem.Error](func() error { _, err := ReadBody(r); return err }()); !ok ||
		e.Code != "body_too_large" {
		t.Errorf("a body over its limit: %v", e)
	}
}

func TestClient(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64",
		"fe80::1%eth0": "fe80::/64",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r = r.WithContext(With(r.Context(), &Request{Client: netip.MustParseAddr(addr)}))
		if got := Client(r); got != want {
			t.Errorf("Client of %s = %q, want %q", addr, got, want)
		}
	}
	if got := Client(httptest.NewRequest("GET", "/", nil)); got != "" {
		t.Errorf("Client without a server = %q", got)
	}
}
