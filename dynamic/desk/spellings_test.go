package desk_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// hostSpellings are hosts as a stranger may write them: names that are not public, addresses in
// every spelling, names that are none, and names that lead inwards.
var hostSpellings = []string{
	"router.local", "a.onion", "a.internal", "printer.lan", "x.home.arpa", "localhost", "localhost.localdomain",
	"a.invalid", "a.alt", "intranet", "127.1", "127.0.0.1", "0x7f.1", "0177.0.0.1", "2130706433", "0x7f000001",
	"127.0.0.1.", "1.2.3", "1.2.3.4.5", "256.256.256.256", "10.0.0.7", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]",
	"[fe80::1%25eth0]", "::1", "[::1", "::1]", "[]", "a..com", ".a.com", "a.com.", "a.com..", ".", "..", "-a.com",
	"a-.com", "_.com", "a_b.example.com", "a b.com", "a\tb.com", "a\x00.com", "a\x7f.com", "a%2elocal",
	"router%2Elocal", "%61.onion", "127%2e1", "a%00.com", "a%20b.com", "a%2f.com", "a%40b.com", "a%5b.com", "a%zz.com",
	"a%", "%", "%25", "a%25b.com", "a.com%3A8443", "a.com%3A443", "a.com:443", "a.com:8443", "a.com:0", "a.com:99999",
	"a.com:-1", "a.com:", "a.com:443:443", "user@a.com", "user:pw@a.com", "@a.com", `a\b.com`, "a.com/", "a.com?x",
	"a.com#x", "a,b.com", "a;b.com", `a".com`, "a<b>.com", "a|b.com", "a^.com", "a`.com", "a{b}.com", "ⓐ.com", "ａ.com",
	"router。local", "bücher.local", "xn--a.com", "xn--.com", "xn--zz--zz.com", "\u202ea.com", "a\u200b.com",
	"a\ufe0f.com", "\xff.com", "a\u00ad.com", "١٢٧.1", "store.test", "STORE.TEST", "store.test.", "ſtore.test",
	"st%6fre.test", "inside.example.com", "nowhere.example.com", strings.Repeat("a", 64) + ".com",
	strings.Repeat("a.", 126) + "com", strings.Repeat("a.", 2000) + "com",
}

// callHostile makes a request and demands that whatever was wrong was the request's own or is told
// in an answer.
func callHostile(t *testing.T, h http.Handler, r *http.Request, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code >= 500 {
		t.Errorf("%s with %.200q: %d %.300s", r.URL.Path, body, w.Code, w.Body)
	}
	return w.Code, w.Body.String()
}

// TestNoHostIsOurFault writes every host wherever a stranger may name one: a refusal is an answer
// and never a fault of ours.
func TestNoHostIsOurFault(t *testing.T) {
	// A card leads on to further hosts: its keys, and the agent itself.
	o := street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil || n >= len(hostSpellings) {
			http.NotFound(w, r)
			return
		}
		at := "https://" + hostSpellings[n] + "/keys.json"
		protected := strings.TrimRight(b64(`{"alg":"EdDSA","kid":"did:web:`+url.PathEscape(hostSpellings[n])+
			`#k","jku":`+strconv.QuoteToASCII(at)+`}`), "=")
		card, err := json.Marshal(map[string]any{"client_id": "https://a.example.com" + r.URL.Path, "jwks_uri": at,
			"protocolVersion": "0.3.0", "name": "n", "description": "d", "url": at,
			"version": "1", "capabilities": map[string]bool{"streaming": true},
			"signatures": []any{map[string]string{"protected": protected, "signature": "AA"}}})
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(card)
	}))
	o.Limits = map[string][2]int{"preflight": {1 << 20, 1 << 20}, "readings": {1 << 20, 1 << 20},
		"a2a_check": {1 << 20, 1 << 20}, "declare_door": {1 << 20, 1 << 20}}
	h := openTest(t, o)
	post := func(path string, body any) (int, string) {
		t.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", base+path, strings.NewReader(string(raw)))
		r.Header.Set("Content-Type", "application/json")
		return callHostile(t, h, r, string(raw))
	}
	for n, host := range hostSpellings {
		card := fmt.Sprintf("https://a.example.com/%d", n)
		for path, body := range map[string]any{"/api/bot-auth/check": asked{card},
			"/api/a2a/check": map[string]any{"url": card, "live": true}} {
			if code, doc := post(path, body); code != 200 {
				t.Errorf("%s with a card that names %.100q: %d %.200s", path, host, code, doc)
			}
		}
		door := "https://" + host + "/paid"
		for _, path := range []string{"/api/preflight/v1", "/api/preflight/v2", "/api/look/v1",
			"/api/before-you-pay/v1", "/api/a2a/check", "/api/bot-auth/check", "/api/onpage/v1"} {
			post(path, asked{door})
		}
		post("/api/declare-door", map[string]string{"host": host})
		form := url.Values{"url": {door}}.Encode()
		r := httptest.NewRequest("POST", base+"/try", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		callHostile(t, h, r, form)
		for _, path := range []string{"/badge/check.svg?url=", "/api/why/", "/api/declare-door?host="} {
			r := httptest.NewRequest("GET", base, nil)
			at := path + url.QueryEscape(door)
			if path == "/api/why/" {
				at = path + url.PathEscape(host)
			}
			var err error
			if r.URL, err = url.Parse(base + at); err != nil {
				t.Fatal(err)
			}
			callHostile(t, h, r, at)
		}
		for _, kid := range []string{host, host + ":shop:one", "a.example.com:" + host, url.PathEscape(host)} {
			header, err := json.Marshal(map[string]string{"alg": "EdDSA", "kid": "did:web:" + kid + "#key-1"})
			if err != nil {
				t.Fatal(err)
			}
			artifact := strings.TrimRight(b64(string(header)), "=") + "." + strings.TrimRight(b64(`{"version":1}`),
				"=") + ".AA"
			artifact = strings.NewReplacer("+", "-", "/", "_").Replace(artifact)
			code, doc := post("/api/conformance/v1", map[string]string{"artifact": artifact})
			var got struct {
				Verdict    string `json:"verdict"`
				Resolution string `json:"key_resolution"`
				JudgedAt   string `json:"judged_at"`
				Checks     []struct{ Name, State, Detail string }
			}
			if code != 200 || json.Unmarshal([]byte(doc), &got) != nil || got.Verdict != "does_not_conform" ||
				got.Resolution != "unresolved" || !strings.HasPrefix(got.JudgedAt, "2") {
				t.Errorf("kid of %.200q: %d %.300s", kid, code, doc)
				continue
			}
			for _, c := range got.Checks {
				if c.Name == "key" && !strings.HasPrefix(strings.ToLower(host), "store.test") &&
					(c.State == "pass" || c.State == "fail" || c.Detail == "") {
					t.Errorf("kid of %.200q: the key is %+v, which says something of the artifact", kid, c)
				}
			}
		}
	}
}

// TestRefusedKeySpendsNothing: a key whose host is never contacted is told as not to be found,
// names the reason and leaves the budget whole.
func TestRefusedKeySpendsNothing(t *testing.T) {
	o := street(t, http.NotFoundHandler())
	o.Limits = map[string][2]int{"readings": {1, 1}}
	h := openTest(t, o)
	for _, host := range []string{"router.local", "127.1", "a.onion", "inside.example.com", "a..com",
		"router%2elocal"} {
		header := strings.TrimRight(b64(`{"alg":"EdDSA","kid":"did:web:`+host+`#k"}`), "=")
		code, _, doc := post(t, h, "/api/conformance/v1", map[string]string{"artifact": header + ".e30.AA"})
		if code != 200 || doc["rate_limit"] != nil || !strings.Contains(fmt.Sprint(doc["checks"]), "target_refused") &&
			!strings.Contains(fmt.Sprint(doc["checks"]), "not a public name") {
			t.Errorf("%s: %d %v", host, code, doc)
		}
	}
	if code, _, doc := post(t, h, "/api/bot-auth/check", asked{"https://a.example.com/"}); code != 200 {
		t.Errorf("the one use was spent by what was never fetched: %d %v", code, doc)
	}
}

// TestARefusedForm: who asks for a page has the refusal as one, everybody else as a problem.
func TestARefusedForm(t *testing.T) {
	h := openTest(t, street(t, door(nil)))
	for accept, want := range map[string]string{"": "application/problem+json", "*/*": "application/problem+json",
		"application/problem+json": "application/problem+json", "text/html,*/*;q=0.8": "text/html",
		"text/markdown": "text/markdown"} {
		r := httptest.NewRequest("POST", base+"/try", strings.NewReader("url=https%3A%2F%2F10.0.0.1%2F"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Type"); w.Code != 400 && w.Code != 422 || !strings.HasPrefix(got, want) {
			t.Errorf("Accept %q: %d %s", accept, w.Code, got)
		}
	}
}
