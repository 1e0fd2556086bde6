package botauth

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	wire "encoding/json/v2"
	"errors"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/oracles"
	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/did"
	"store.example/agentstore/corpus/exchange"
)

var judged = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const at = "https://store.example" + Path

func read[T any](t *testing.T, name string) T {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// key makes a key from one byte.
func key(t testing.TB, seed byte) *attest.Key {
	t.Helper()
	k, err := attest.Generate(bytes.NewReader(bytes.Repeat([]byte{seed}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// served is our own directory as its host serves it.
func served(t testing.TB) exchange.Exchange {
	t.Helper()
	body, header, err := Directory("store.example", judged.Add(-time.Hour), judged.Add(720*time.Hour), key(t, 1),
		key(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	return exchange.Exchange{Request: exchange.Request{Method: "GET", URL: at}, StartedAt: judged,
		Response: exchange.Response{Status: 200, Header: header, Body: body}}
}

func judgeOne(t testing.TB, x exchange.Exchange, more ...exchange.Exchange) Report {
	t.Helper()
	r, next, err := Checker{URL: x.Request.URL}.Step(append([]exchange.Exchange{x}, more...))
	if err != nil || next != nil {
		t.Fatalf("asked for %+v, %v", next, err)
	}
	return r
}

func check(r Report, name string) Check {
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	return Check{}
}

func TestOurOwnDirectory(t *testing.T) {
	r := judgeOne(t, served(t))
	if r.Verdict != Pass || r.Kind != KindDirectory || len(r.Keys) != 2 || len(r.Fixes) != 0 ||
		r.Keys[0].Proved != Pass || !r.Keys[1].Usable {
		t.Errorf("%+v", r)
	}
	if again := served(t); !bytes.Equal(again.Response.Body, served(t).Response.Body) ||
		again.Response.Header.Get("Signature") != served(t).Response.Header.Get("Signature") {
		t.Error("the same directory was made in two ways")
	}
	if _, _, err := Directory("store.example", judged, judged, key(t, 1)); err == nil {
		t.Error("a directory without a time was made")
	}
}

func TestHTTPMessageSigAcceptsOurDirectory(t *testing.T) {
	type question struct {
		Status int                        `json:"status"`
		Fields [][2]string                `json:"fields"`
		URL    string                     `json:"url"`
		Label  string                     `json:"label"`
		Now    int64                      `json:"now"`
		Keys   map[string]json.RawMessage `json:"keys"`
	}
	x := served(t)
	keys := map[string]json.RawMessage{}
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(x.Response.Body, &set); err != nil {
		t.Fatal(err)
	}
	for _, raw := range set.Keys {
		var k map[string]any
		if err := json.Unmarshal(raw, &k); err != nil {
			t.Fatal(err)
		}
		keys[k["kid"].(string)] = json.RawMessage(`{"kty":"OKP","crv":"Ed25519","x":"` + k["x"].(string) + `"}`)
	}
	var fields [][2]string
	for name, values := range x.Response.Header {
		fields = append(fields, [2]string{strings.ToLower(name), values[0]})
	}
	draft := draftVector(t)
	var draftFields [][2]string
	for name, values := range draft.Response.Header {
		draftFields = append(draftFields, [2]string{strings.ToLower(name), values[0]})
	}
	questions := []question{
		{200, fields, at, "binding0", judged.Unix(), keys},
		{200, fields, at, "binding1", judged.Unix(), keys},
		{200, fields, "https://other.example" + Path, "binding0", judged.Unix(), keys},
		{200, draftFields, draft.Request.URL, "binding", judged.Unix(),
			map[string]json.RawMessage{testKey: json.RawMessage(
				`{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}`)}},
	}
	var answers []struct {
		OK    bool
		Value string
	}
	oracles.Ask(t, "directory.mjs", questions, &answers)
	for i, want := range []bool{true, true, false, true} {
		if answers[i].OK != want {
			t.Errorf("question %d: %+v", i, answers[i])
		}
	}
}

// draftVector is the signed directory of the draft.
func draftVector(t *testing.T) exchange.Exchange {
	v := read[map[string]string](t, "signed_directory_response_draft02.json")
	return exchange.Exchange{Request: exchange.Request{Method: "GET", URL: "https://" + v["authority"] + Path},
		StartedAt: judged,
		Response: exchange.Response{Status: 200, Body: []byte(v["body"]),
			Header: http.Header{"Content-Type": {mediaType}, "Content-Digest": {v["content_digest"]},
				"Signature": {v["signature"]}, "Signature-Input": {v["signature_input"]}}}}
}

func TestTheDraftsDirectory(t *testing.T) {
	r := judgeOne(t, draftVector(t))
	if check(r, "proof-of-possession").State != Pass || check(r, "no-test-keys").Code != "TEST_KEY" ||
		r.Verdict != Fail || r.Keys[0].Usable {
		t.Errorf("%+v", r)
	}
}

// TestTheDraftsRequests verifies the drafts' signed requests with the same signature base.
func TestTheDraftsRequests(t *testing.T) {
	type vector struct {
		Key            json.RawMessage
		TargetURL      string `json:"target_url"`
		Signature      string
		SignatureInput string `json:"signature_input"`
		SignatureAgent string `json:"signature_agent"`
	}
	verified := 0
	for _, file := range []string{"web_bot_auth_architecture_v1.json", "web_bot_auth_architecture_v2.json"} {
		for i, v := range read[[]vector](t, file) {
			j, err := did.ParseJWK(v.Key)
			if err != nil {
				t.Fatal(err)
			}
			all, err := signatures(v.SignatureInput, v.Signature)
			if err != nil || len(all) != 1 {
				t.Fatalf("%s %d: %v", file, i, err)
			}
			if got := thumbprint(v.Key); got != all[0].text("keyid") {
				t.Errorf("%s %d: thumbprint %s, want %s", file, i, got, all[0].text("keyid"))
			}
			if !j.Private {
				t.Errorf("%s %d: the private key was not seen", file, i)
			}
			var public map[string]any
			if err := json.Unmarshal(v.Key, &public); err != nil {
				t.Fatal(err)
			}
			if public["kty"] != "OKP" {
				continue // RSA is not verified here
			}
			x, err := attest.DecodeBase64URL(public["x"].(string))
			if err != nil {
				t.Fatal(err)
			}
			base, err := all[0].base(func(id string) (string, bool) {
				u, err := url.Parse(v.TargetURL)
				if err != nil {
					t.Fatal(err)
				}
				switch id {
				case `"@authority"`:
					return authority(u), true
				case `"signature-agent"`:
					return v.SignatureAgent, true
				case `"signature-agent";key="agent2"`:
					m, err := dictionary(v.SignatureAgent)
					if err != nil || m[0].key != "agent2" {
						t.Fatalf("%s %d: %+v, %v", file, i, m, err)
					}
					return m[0].raw, true
				}
				return "", false
			})
			k := did.Key{Curve: did.Ed25519, Bytes: x}
			if err != nil || k.Verify("Ed25519", []byte(base), all[0].bytes) != nil {
				t.Errorf("%s %d: the signature does not verify (%v) over\n%s", file, i, err, base)
			}
			if err := k.Verify("Ed25519", []byte(base+" "), all[0].bytes); !errors.Is(err, did.ErrSignature) {
				t.Errorf("%s %d: another base: %v", file, i, err)
			}
			verified++
		}
	}
	if verified != 4 {
		t.Errorf("%d vectors were verified, want 4", verified)
	}
	for _, v := range read[[]struct {
		Name, Header string
		Entries      []struct{ Label, URI, Type string }
	}](t, "web_bot_auth_signature_agent_v1.json") {
		got, err := dictionary(v.Header)
		if err != nil || len(got) != len(v.Entries) {
			t.Fatalf("%s: %+v, %v", v.Name, got, err)
		}
		for i, e := range v.Entries {
			kind, _ := got[i].param("type").(token)
			if got[i].key != e.Label || got[i].value != e.URI || kind != token(e.Type) &&
				!(kind == "" && e.Type == "directory") {
				t.Errorf("%s: %+v", v.Name, got[i])
			}
		}
	}
	for _, v := range read[[]struct{ Name, JWK, Thumbprint string }](t, "vectors.json") {
		if got := thumbprint([]byte(v.JWK)); got != v.Thumbprint {
			t.Errorf("%s: thumbprint %s, want %s", v.Name, got, v.Thumbprint)
		}
	}
}

func TestTheDraftsCards(t *testing.T) {
	for _, v := range read[[]struct {
		Name, URL string
		Valid     bool
		Card      json.RawMessage
	}](t, "web_bot_auth_signature_agent_card_v1.json") {
		x := exchange.Exchange{Request: exchange.Request{Method: "GET", URL: v.URL}, StartedAt: judged,
			Response: exchange.Response{Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
				Body: v.Card}}
		recorded := []exchange.Exchange{x}
		r, next, err := Checker{URL: v.URL}.Step(recorded)
		if err == nil && next != nil {
			if next.Kind != "key" {
				t.Errorf("%s: asked for %+v", v.Name, next)
			}
			r = judgeOne(t, x, served(t))
		}
		if err != nil || r.Kind != KindCard || (r.Verdict == Pass) != v.Valid || (r.Verdict == Fail) == v.Valid {
			t.Errorf("%s: %+v, %v", v.Name, r, err)
		}
		if next != nil {
			gone := served(t)
			gone.Response = exchange.Response{Status: 404}
			if r := judgeOne(t, x, gone); v.Valid && r.Verdict != Unreachable {
				t.Errorf("%s without its keys: %+v", v.Name, r)
			}
		}
	}
}

func TestBrokenDirectories(t *testing.T) {
	mine := key(t, 1)
	sign := func(x *exchange.Exchange, components, rest, base string) {
		params := components + rest
		x.Response.Header.Set("Signature-Input", "s="+params)
		x.Response.Header.Set("Signature",
			"s=:"+base64.StdEncoding.EncodeToString(mine.Sign([]byte(base+"\n\"@signature-params\": "+params)))+":")
	}
	until := judged.Add(time.Hour).Unix()
	rest := func(created, expires int64, tag string) string {
		return `;created=` + itoa(created) + `;expires=` + itoa(expires) + `;keyid="` + mine.KID() + `";tag="` + tag +
			`"`
	}
	one := func(x *exchange.Exchange) { // the first key alone
		x.Response.Body = []byte(strings.Replace(string(x.Response.Body),
			string(x.Response.Body[strings.Index(string(x.Response.Body), "},")+1:len(x.Response.Body)-2]), "", 1))
		x.Response.Header.Del("Content-Digest")
	}
	for _, c := range []struct {
		name, check, code string
		state             State
		change            func(x *exchange.Exchange)
	}{
		{"charset", "content-type", "CONTENT_TYPE_PARAMETERS", Warn,
			func(x *exchange.Exchange) { x.Response.Header.Set("Content-Type", mediaType+"; charset=utf-8") }},
		{"JSON", "content-type", "CONTENT_TYPE", Fail,
			func(x *exchange.Exchange) { x.Response.Header.Set("Content-Type", "application/json") }},
		{"404", "status-200", "NOT_PUBLISHED", Absent, func(x *exchange.Exchange) { x.Response.Status = 404 }},
		{"301", "status-200", "STATUS", Fail, func(x *exchange.Exchange) { x.Response.Status = 301 }},
		{"down", "reachable", "", Unreachable, func(x *exchange.Exchange) { x.Response = exchange.Response{} }},
		{"HTML", "jwks-parses", "JWKS", Fail, func(x *exchange.Exchange) { x.Response.Body = []byte("<html>") }},
		{"no keys", "jwks-parses", "NO_KEYS", Fail,
			func(x *exchange.Exchange) { x.Response.Body = []byte(`{"keys":[]}`) }},
		{"other body", "content-digest", "DIGEST", Fail,
			func(x *exchange.Exchange) { x.Response.Body = append(x.Response.Body, ' ') }},
		{"no digest", "content-digest", "NO_DIGEST", Warn,
			func(x *exchange.Exchange) { x.Response.Header.Del("Content-Digest") }},
		{"private", "no-private-keys", "PRIVATE_KEY", Fail, replace(`"use":"sig"`, `"d":"AAAA"`)},
		{"kid", "key-ids", "KID", Fail, replace(`"kid":"`, `"kid":"x`)},
		{"alg", "key-ids", "ALG", Warn, replace(`"use":"sig"`, `"alg":"EdDSA"`)},
		{"short x", "keys-ed25519", "BAD_KEY", Fail, replace(`"x":"`, `"x":"AAAA`)},
		{"other curve", "keys-ed25519", "UNKNOWN_KIND", Unverifiable, replace(`"Ed25519"`, `"Ed448"`)},
		{"expired", "key-validity", "EXPIRED", Warn, func(x *exchange.Exchange) {
			replace(`"nbf":`, `"before":`)(x)
			replace(`"exp":1`, `"exp":1,"x2":1`)(x)
		}},
		{"backwards", "key-validity", "VALIDITY", Fail, replace(`"exp":1`, `"exp":1,"x2":1`)},
		{"all expired", "key-validity", "NO_USABLE_KEY", Fail,
			func(x *exchange.Exchange) { x.StartedAt = judged.Add(9000 * time.Hour) }},
		{"unsigned", "proof-of-possession", "NO_POSSESSION_PROOF", Warn,
			func(x *exchange.Exchange) { x.Response.Header.Del("Signature-Input") }},
		{"without bytes", "proof-of-possession", "BAD_SIGNATURE", Fail,
			func(x *exchange.Exchange) { x.Response.Header.Del("Signature") }},
		{"one of two", "proof-of-possession", "NO_POSSESSION_PROOF", Warn, func(x *exchange.Exchange) {
			sign(x, `("@authority";req)`, rest(judged.Unix(), until, directoryTag), `"@authority";req: store.example`)
		}},
		{"older form", "proof-of-possession", "OLDER_FORM", Warn, func(x *exchange.Exchange) {
			one(x)
			sign(x, `("@authority";req)`, rest(judged.Unix(), until, directoryTag), `"@authority";req: store.example`)
		}},
		{"bare authority", "proof-of-possession", "BAD_SIGNATURE", Fail, func(x *exchange.Exchange) {
			sign(x, `("@authority")`, rest(judged.Unix(), until, directoryTag), `"@authority": store.example`)
		}},
		{"another host", "proof-of-possession", "BAD_SIGNATURE", Fail, func(x *exchange.Exchange) {
			sign(x, `("@authority";req)`, rest(judged.Unix(), until, directoryTag), `"@authority";req: other.example`)
		}},
		{"from the future", "proof-of-possession", "BAD_SIGNATURE", Fail, func(x *exchange.Exchange) {
			sign(x, `("@authority";req)`, rest(until, until+1, directoryTag), `"@authority";req: store.example`)
		}},
		{"past its end", "proof-of-possession", "BAD_SIGNATURE", Fail, func(x *exchange.Exchange) {
			sign(x, `("@authority";req)`, rest(1, 2, directoryTag), `"@authority";req: store.example`)
		}},
		{"another tag", "proof-of-possession", "NO_POSSESSION_PROOF", Warn, func(x *exchange.Exchange) {
			sign(x, `("@authority";req)`, rest(judged.Unix(), until, "web-bot-auth"), `"@authority";req: store.example`)
		}},
	} {
		x := served(t)
		c.change(&x)
		r := judgeOne(t, x)
		if got := check(r, c.check); got.State != c.state || got.Code != c.code || r.Verdict == Pass {
			t.Errorf("%s: %+v, verdict %s", c.name, got, r.Verdict)
		}
	}
}

func itoa(n int64) string { b, _ := json.Marshal(n); return string(b) }

func replace(old, new string) func(x *exchange.Exchange) {
	return func(x *exchange.Exchange) {
		x.Response.Body = []byte(strings.Replace(string(x.Response.Body), old, new, 1))
	}
}

func FuzzStep(f *testing.F) {
	x := served(f)
	h := x.Response.Header
	f.Add(x.Response.Body, h.Get("Signature-Input"), h.Get("Signature"), h.Get("Content-Digest"))
	f.Add([]byte(`{"client_id":"x","jwks":{"keys":[{}]},"web_bot_auth":{}}`), `a=("b";req;c="d" "@status");e=1`,
		`a=:AAAA:`, `sha-256=?1`)
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"`+hex.EncodeToString(make([]byte, 9))+`","e":"AQAB"}]}`), "*=-1", "", "")
	f.Fuzz(func(t *testing.T, body []byte, input, signature, digest string) {
		x := served(t)
		x.Response.Body = body
		x.Response.Header = http.Header{"Content-Type": {mediaType}, "Signature-Input": {input},
			"Signature": {signature}, "Content-Digest": {digest}}
		r, next, err := Checker{URL: at}.Step([]exchange.Exchange{x})
		if err != nil {
			t.Fatal(err)
		}
		if next != nil {
			if r, next, err = (Checker{URL: at}).Step([]exchange.Exchange{x, x}); next != nil || err != nil {
				t.Fatalf("asked for %+v, %v", next, err)
			}
		}
		if _, err := wire.Marshal(r); err != nil || r.Verdict == "" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// FuzzReadCaller: whatever a request's fields hold, it is read as nobody's, refused as an *Invalid,
// or a claim within the limits, which no other key than its own and no other request fits.
func FuzzReadCaller(f *testing.F) {
	k := key(f, 1)
	now := judged.Unix()
	params := `("@authority" "@path" "signature-agent";key="a");created=` + itoa(now) + `;expires=` + itoa(now+60) +
		`;keyid="` + k.KID() + `";tag="web-bot-auth";nonce="n"`
	base := "\"@authority\": store.example\n\"@path\": /menu.json\n\"signature-agent\";key=\"a\": " +
		"\"https://agent.example\"\n\"@signature-params\": " + params
	f.Add("a="+params, "a=:"+base64.StdEncoding.EncodeToString(k.Sign([]byte(base)))+":", `a="https://agent.example"`,
		"/menu.json", "")
	f.Add(`s=("@target-uri" "signature-agent" "x";sf);created=1;expires=2;keyid="`+testKey+`";tag="agent-payer-auth"`,
		`s=:AAAA:`, `"https://agent.example"`, "/%2e", "a=b&a")
	f.Add(`a=();b=(`, ``, `a=?1;type=jwks_uri`, "", "?")
	f.Fuzz(func(t *testing.T, input, signature, agent, path, query string) {
		m := Message{Method: "GET", Scheme: "https", Authority: "store.example", Path: path, RawQuery: query,
			Header: http.Header{"Signature-Input": {input}, "Signature": {signature}, "Signature-Agent": {agent}}}
		c, err := ReadCaller(m, judged)
		if _, told := errors.AsType[*Invalid](err); err != nil && (!told || c != nil) {
			t.Fatalf("%+v, %v", c, err)
		}
		if c == nil {
			return
		}
		u, err := url.Parse(c.Directory)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(c.KeyID) != 43 ||
			len(c.Nonce) > maxNonce || !judged.Before(c.Expires) || !slices.Contains(callerTags, c.Tag) {
			t.Errorf("%+v", c)
		}
		if c.Verify(key(t, 2).Public()) == nil {
			t.Errorf("another key signed %q", c.base)
		}
		if c.Verify(k.Public()) != nil {
			return
		}
		m.Authority = "other.example" // every claim covers the authority
		if other, err := ReadCaller(m, judged); err == nil && other != nil && other.Verify(k.Public()) == nil {
			t.Errorf("what was signed for store.example fits other.example: %q", other.base)
		}
	})
}
