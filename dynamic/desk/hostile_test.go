package desk_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// hostile answers hold what JSON, UTF-8 or a number type cannot: a report that repeats any of it as
// it came cannot be written.
var hostile = []struct {
	name   string
	header http.Header
	status int
	body   string
}{
	{"huge-terms", http.Header{"Payment-Required": {b64(
		`{"x402Version":1e400,"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"1","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x000000000000000000000000000000000000dEaD","maxTimeoutSeconds":-1e999,"extra":{"name":1e999,"version":-1e999}}],"extensions":{"bazaar":{"info":{"input":{"n":1e999}},"schema":{"maximum":1e999,"minLength":-1e999,"enum":[1e999]}},"offer-receipt":{"info":{"offers":[{"format":"eip712","acceptIndex":1e999,"payload":{"amount":1e999},"signature":"0x"}]}}}}`)}}, 402, "{}"},
	{"huge-body", nil, 402, `{"x402Version":1e400,"accepts":[{"maxTimeoutSeconds":1e999,"maxAmountRequired":1e999}]}`},
	{"huge-mpp", http.Header{"Www-Authenticate": {`Payment id="1", realm="x", method="evm", intent="charge", request="` + strings.TrimRight(b64(`{"amount":1e999}`), "=") + `"`}}, 402, "{}"},
	{"huge-card", nil, 200, `{"protocolVersion":1e999,"name":"\u0000","url":"https://\ufffd/","version":1e999,"capabilities":{"streaming":1e999},"skills":[{"id":1e999}],"signatures":[{"protected":"` + strings.TrimRight(b64(`{"alg":1e999,"kid":1e999}`), "=") + `","signature":"AA","header":{"x":1e999}}]}`},
	{"huge-keys", http.Header{"Content-Type": {"application/http-message-signatures-directory+json"},
		"Signature-Input": {`sig1=();created=999999999999999;expires=-999999999999999`}, "Signature": {"sig1=:AA==:"}},
		200, `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","nbf":1e999,"exp":-1e999,"use":1e999}]}`},
	{"no-text-type", http.Header{"Content-Type": {"text/html; charset=\xff\xfe"}, "Location": {"https://\xff/"},
		"Server": {"\xff"}, "Www-Authenticate": {"Payment realm=\"\xff\""}}, 402, "\xff\xfe"},
	{"no-text-page", http.Header{"Content-Type": {"text/html"}}, 200,
		"<html lang=\"\xff\"><title>\xff\xfe a title that is long enough</title><meta name=description " +
			"content=\"\xff\"><link rel=canonical href=\"\xff://\xff\"><meta name=robots " +
			"content=\"\xff\"><h1>\xff</h1><a href=\"#\xff\">x</a><script " +
			"type=application/ld+json>{\"a\":1e999}</script>"},
	{"no-text-card", http.Header{"Content-Type": {"application/\xff"}, "Etag": {"\xff"}}, 200, "{\"name\":\"\xff\"}"},
	{"no-text-redirect", http.Header{"Location": {"https://elsewhere.example.com/\xff"}}, 302, ""},
	{"no-text-keys", http.Header{"Content-Type": {"\xff"}, "Signature-Input": {"\xff=()"}, "Signature": {"\xff"},
		"Content-Digest": {"\xff"}}, 200, "{\"keys\":[{\"kty\":\"\xff\"}]}"},
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// TestNoDoorMakesOurFault: whatever a stranger's door answers, every instrument has a report.
func TestNoDoorMakesOurFault(t *testing.T) {
	o := street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, d := range hostile {
			if strings.TrimPrefix(r.URL.Path, "/") == d.name {
				maps.Copy(w.Header(), d.header)
				w.WriteHeader(d.status)
				fmt.Fprint(w, d.body)
			}
		}
	}))
	o.Limits = map[string][2]int{"preflight": {1 << 20, 1 << 20}, "readings": {1 << 20, 1 << 20},
		"a2a_check": {1 << 20, 1 << 20}}
	h := openTest(t, o)
	for _, d := range hostile {
		url := "https://a.example.com/" + d.name
		for path, body := range map[string]any{
			"/api/preflight/v1": asked{url}, "/api/preflight/v2": asked{url}, "/api/look/v1": asked{url},
			"/api/before-you-pay/v1": asked{url},
			"/api/a2a/check":         map[string]any{"url": url, "live": true}, "/api/bot-auth/check": asked{url},
			"/api/onpage/v1": asked{url},
		} {
			answersWell(t, h, path, body)
		}
	}
}

// TestNoArtifactIsOurFault: numbers that no float64 holds are repeated as they are written.
func TestNoArtifactIsOurFault(t *testing.T) {
	h := openTest(t, street(t, http.NotFoundHandler()))
	payload := `{"amount":1e999,"payTo":[-1e999],"validUntil":12345678901234567890}`
	header := strings.TrimRight(b64(`{"alg":"EdDSA","kid":"did:web:a.example#1","x":1e999}`), "=")
	for _, artifact := range []string{
		header + "." + strings.TrimRight(b64(payload), "=") + ".AA",
		`{"format":"eip712","payload":` + payload + `,"signature":"0x00"}`,
		`{"format":"eip712","acceptIndex":1e999,"payload":` + payload + `,"signature":"0x00"}`,
	} {
		b := answersWell(t, h, "/api/conformance/v1",
			map[string]string{"artifact": artifact, "public_key_hex": strings.Repeat("0", 64)})
		if !strings.Contains(b, `"verdict":"does_not_conform"`) ||
			!strings.Contains(b, `"validUntil":12345678901234567890`) {
			t.Errorf("%.80s: %s", artifact, b)
		}
	}
}

// answersWell posts and demands a 200 whose body is JSON.
func answersWell(t *testing.T, h http.Handler, path string, body any) string {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", base+path, bytes.NewReader(raw))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 200 || !json.Valid(w.Body.Bytes()) {
		t.Errorf("%s with %.80s: %d %.300s", path, raw, w.Code, w.Body)
	}
	return w.Body.String()
}
