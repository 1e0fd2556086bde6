package desk_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
)

// TestRefusalWords: what is wrong with a body has the word of the specification, spends nothing and
// names the field.
func TestRefusalWords(t *testing.T) {
	h := openTest(t, street(t, http.NotFoundHandler()))
	for _, c := range []struct{ at, body, code, field, kind string }{
		{"/api/preflight/v1", ``, "url_missing", "body", ""},
		{"/api/preflight/v1", `{"url":`, "url_missing", "url", ""},
		{"/api/preflight/v1", `{"URL":"https://a.example.com/"}`, "url_missing", "URL", ""},
		{"/api/preflight/v1", `{"x":1,"url":7}`, "url_missing", "x", ""},
		{"/api/preflight/v1", `{"url":"https://a.example.com/","x":1}`, "invalid_input", "x", ""},
		{"/api/preflight/v1", `{"url":"https://a.example.com/","x":}`, "url_missing", "x", ""},
		{"/api/preflight/v1", `{"url":"https://a.example.com/","url":"https://a.example.com/"}`, "url_missing", "url", ""},
		{"/api/look/v1", `{"url":"https://a.example.com/","since":34}`, "bad_since", "since", ""},
		{"/api/look/v1", `{"url":"https://a.example.com/","since":"2026-W54"}`, "bad_since", "since", ""},
		{"/api/look/v1", `{"since":34}`, "url_missing", "since", ""},
		{"/api/conformance/v1", `{}`, "invalid_input", "artifact", ""},
		{"/api/conformance/v1", `{"artifact":"x","kind":"invoice"}`, "invalid_input", "kind", ""},
		{"/api/conformance/v1", `{"artifact":"x","public_key_hex":"ab"}`, "invalid_input", "public_key_hex", ""},
		{"/api/before-you-pay/v1", `{"url":"https://a.example.com/","clients":["curl"]}`, "invalid_input", "clients", ""},
		{"/api/preflight/v1", `url=https%3A%2F%2Fa.example.com%2F`, "url_missing", "", "application/x-www-form-urlencoded"},
		{"/api/before-you-pay/v1", `https://a.example.com/`, "url_missing", "", "text/plain; charset=utf-8"},
	} {
		r := httptest.NewRequest("POST", base+c.at, strings.NewReader(c.body))
		r.Header.Set("Content-Type", cmp.Or(c.kind, "application/json"))
		status, header, doc := exchangeWith(t, h, r)
		field := ""
		if list, ok := doc["errors"].([]any); ok && len(list) == 1 {
			field = list[0].(map[string]any)["field"].(string)
		}
		if status != 400 || path.Base(doc["type"].(string)) != c.code || field != c.field ||
			header.Get("RateLimit") != "" {
			t.Errorf("%s %s: %d %v", c.at, c.body, status, doc)
		}
	}
}
