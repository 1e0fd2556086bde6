package goods

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"store.example/agentstore/corpus/fetch"
)

// Only what lies below an allowed prefix is asked, in one reading of its address.
func TestAllows(t *testing.T) {
	u, err := NewUpstreams([]AllowedUpstream{{Prefix: "https://api.example/v1/"}, {Prefix: "http://127.0.0.1:9000/one"},
		{Prefix: "https://all.example"}})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]bool{
		"https://api.example/v1/":              true,
		"https://api.example/v1/forecast?a=b":  true,
		"https://API.example/v1/forecast":      true,
		"https://all.example/any":              true,
		"http://127.0.0.1:9000/one":            true,
		"http://127.0.0.1:9000/one/more":       false,
		"http://127.0.0.1:9000/oneself":        false,
		"http://127.0.0.1:9001/one":            false,
		"https://127.0.0.1:9000/one":           false,
		"http://api.example/v1/":               false,
		"https://api.example/v1":               false,
		"https://api.example/v1/../admin":      false,
		"https://api.example/v1/%2e%2e/admin":  false,
		"https://api.example/v1//admin":        false,
		"https://api.example.evil.example/v1/": false,
		"https://u:p@api.example/v1/x":         false,
		"https://all.example@evil.example/":    false,
		"https://all.example.evil.example/":    false,
	} {
		if u.Allows(at) != want {
			t.Errorf("%s is allowed: %v", at, !want)
		}
	}
	for _, bad := range []string{"", "api.example", "ftp://api.example/", "https://api.example/v1/?x=1",
		"https://u@api.example/", "https://api.example/v1/../", "https://api.example/#x"} {
		if _, err := NewUpstreams([]AllowedUpstream{{Prefix: bad}}); err == nil {
			t.Errorf("%q is a prefix", bad)
		}
	}
}

// A secret file has fields of its own and none of the store's.
func TestParseHeader(t *testing.T) {
	h, err := ParseUpstreamHeader("# a key\nAuthorization: Bearer k:1\n\nX-Api-Key: a\n")
	if err != nil || h.Get("Authorization") != "Bearer k:1" || len(h) != 2 {
		t.Errorf("%v, %v", h, err)
	}
	for _, bad := range []string{"Authorization", "A b: c", "Idempotency-Key: mine", "host: x", ": x", "X: \x01",
		"X-A:"} {
		if _, err := ParseUpstreamHeader(bad); err == nil {
			t.Errorf("%q is a field", bad)
		}
	}
}

// What is asked says the inputs by their types, the key and the secret; a GET says them in its
// query. A loopback address is refused by a client that allows none.
func TestAsk(t *testing.T) {
	var got *http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Content-Type", "application/problem+json")
		w.Write([]byte("{}"))
	}))
	defer s.Close()
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseUint(at.Port(), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []bool{true, false} {
		allow := &fetch.Allow{Ports: []uint16{uint16(port)}}
		if open {
			allow.Networks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		}
		c, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example)", Unsigned: true, Allow: allow})
		if err != nil {
			t.Fatal(err)
		}
		u, err := NewUpstreams([]AllowedUpstream{{Prefix: s.URL, Client: c,
			Header: http.Header{"Authorization": {"Bearer k"}}}})
		if err != nil {
			t.Fatal(err)
		}
		q := Question{URL: s.URL + "/x?fixed=1", Method: "GET", Seconds: 5,
			MediaType: "application/json", Inputs: map[string]any{"url": "https://a.example/?b", "max_usd": 5},
			Key: "key"}
		got = nil
		body, err := u.Ask(t.Context(), q)
		if !open {
			if err == nil || got != nil || !strings.Contains(err.Error(), fetch.CodeTarget) {
				t.Errorf("a loopback address that is not allowed: %v", err)
			}
			continue
		}
		if err != nil || string(body) != "{}" || got.Header.Get("Authorization") != "Bearer k" ||
			got.Header.Get("Idempotency-Key") != "key" || got.URL.RawQuery != "fixed=1&max_usd=5&url=https%3A%2F%2Fa."+
			"example%2F%3Fb" {
			t.Errorf("%s, %v, asked %v %v", body, err, got.URL, got.Header)
		}
	}
}
