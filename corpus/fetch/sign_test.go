package fetch

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
)

type vector struct {
	Key       struct{ Kty, Crv, D string }
	TargetURL string `json:"target_url"`
	CreatedMS int64  `json:"created_ms"`
	ExpiresMS int64  `json:"expires_ms"`
	Nonce     string
	Label     string
	Signature string
	Input     string `json:"signature_input"`
	Agent     string `json:"signature_agent"`
	AgentKey  string `json:"signature_agent_key"`
}

func TestSignatureVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/web_bot_auth_architecture_v2.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(raw, &all, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, v := range all {
		if v.Key.Crv != "Ed25519" {
			continue
		}
		tried++
		seed, err := base64.RawURLEncoding.DecodeString(v.Key.D)
		if err != nil {
			t.Fatal(err)
		}
		key, err := attest.Generate(bytes.NewReader(seed))
		if err != nil {
			t.Fatal(err)
		}
		_, agent, _ := strings.Cut(v.Agent, "=")
		s := botSignature{label: v.Label, authority: "example.com", agentKey: v.AgentKey,
			agent:   strings.Trim(agent, `"`),
			created: time.UnixMilli(v.CreatedMS), expires: time.UnixMilli(v.ExpiresMS), kid: key.KID(), nonce: v.Nonce}
		s.sign(key)
		if s.input != v.Input || s.value != v.Signature {
			t.Errorf("signed\n%s\n%s\nwant\n%s\n%s", s.input, s.value, v.Input, v.Signature)
		}
	}
	if tried != 2 {
		t.Errorf("%d vectors tried, want 2", tried)
	}
}

// TestSignedRequest builds the signature base from what a server sees, by RFC 9421 and not by our
// code.
func TestSignedRequest(t *testing.T) {
	var seen *http.Request
	c, _ := door(t, func(w http.ResponseWriter, r *http.Request) { seen = r }, nil)
	nonces := map[string]bool{}
	for range 3 {
		x, err := c.Do(t.Context(), exchange.Request{Method: "POST", URL: "https://example.com/a?b", Body: []byte("{}"),
			Header: http.Header{"Content-Type": {"application/json"}}}, Rule{})
		if err != nil || x.Error.Stage != "" {
			t.Fatal(err, x.Error)
		}
		input, ok := strings.CutPrefix(seen.Header.Get("Signature-Input"), "sig1=")
		if !ok || !strings.HasPrefix(input, `("@authority" "signature-agent";key="sig1" "content-digest");created=`) ||
			!strings.HasSuffix(input, `;tag="web-bot-auth"`) {
			t.Fatalf("Signature-Input is %s", input)
		}
		// printf '{}' | openssl dgst -sha256 -binary | base64
		const digest = "sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:"
		if seen.Header.Get("Content-Digest") != digest ||
			seen.Header.Get("Signature-Agent") != `sig1="https://store.test"` {
			t.Errorf("headers are %v", seen.Header)
		}
		base := "\"@authority\": " + seen.Host +
			"\n\"signature-agent\";key=\"sig1\": \"https://store.test\"\n\"content-digest\": " + digest +
			"\n\"@signature-params\": " + input
		sig, err := base64.StdEncoding.DecodeString(strings.Trim(strings.TrimPrefix(seen.Header.Get("Signature"),
			"sig1="), ":"))
		if err != nil || !ed25519.Verify(attest.SpecimenKey().Public(), []byte(base), sig) {
			t.Errorf("the signature %q does not verify over\n%s", seen.Header.Get("Signature"), base)
		}
		nonces[input[strings.Index(input, "nonce="):]] = true
		at := x.StartedAt.Unix()
		if !strings.Contains(input, fmt.Sprintf(";created=%d;", at)) ||
			!strings.Contains(input, fmt.Sprintf(";expires=%d;", at+300)) {
			t.Errorf("times in %s, want %d and 300 s more", input, at)
		}
	}
	if len(nonces) != 3 {
		t.Errorf("%d nonces in 3 requests", len(nonces))
	}
}
