package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
)

// signAs signs a request to the stall as that of the agent at agent.example.com, with further
// fields of its head covered.
func (s *stall) signAs(key *attest.Key, r *http.Request, fields ...string) {
	now := time.Now().Unix()
	covered := []string{`"@authority"`, `"signature-agent";key="sig1"`}
	lines := []string{`"@authority": ` + strings.TrimPrefix(s.url, "http://"),
		`"signature-agent";key="sig1": "https://agent.example.com"`}
	for _, f := range fields {
		covered = append(covered, fmt.Sprintf("%q", f))
		lines = append(lines, fmt.Sprintf("%q: %s", f, r.Header.Get(f)))
	}
	params := fmt.Sprintf(`(%s);created=%d;expires=%d;keyid=%q;nonce=%q;tag="agent-payer-auth"`,
		strings.Join(covered, " "), now, now+60, key.KID(), rand.Text())
	text := strings.Join(append(lines, `"@signature-params": `+params), "\n")
	r.Header.Set("Signature-Agent", `sig1="https://agent.example.com"`)
	r.Header.Set("Signature-Input", "sig1="+params)
	r.Header.Set("Signature", "sig1=:"+
		base64.StdEncoding.EncodeToString(key.Sign([]byte(text)))+":")
}

// agentBuys: a certificate names the agent that signed the payment, over HTTP and over MCP, and no
// agent that signed a request alone, or another body.
func (s *stall) agentBuys(t *testing.T, key *attest.Key) {
	named := ", signed by agent.example.com " + key.KID()
	send := func(r *http.Request) []byte {
		t.Helper()
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	request := func(method, path string, body []byte) *http.Request {
		t.Helper()
		r, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/json")
		return r
	}
	via := func(body []byte) string {
		t.Helper()
		_, after, found := strings.Cut(string(body), `"settled_via":"`)
		if !found {
			t.Fatalf("nothing was bought: %.500s", body)
		}
		said, _, _ := strings.Cut(after, `"`)
		return said
	}
	for i, c := range []struct {
		covered []string
		want    string
	}{{[]string{"payment-signature"}, "x402 self" + named}, {[]string{"accept"}, "x402 self"}} {
		path := fmt.Sprintf("/api/buy/small_blessing?agent_name=signed-%d", i)
		payment, err := json.Marshal(s.pay(t, s.net.Buyers[0], send(request("GET", path, nil))))
		if err != nil {
			t.Fatal(err)
		}
		r := request("GET", path, nil)
		r.Header.Set("Payment-Signature", base64.StdEncoding.EncodeToString(payment))
		s.signAs(key, r, c.covered...)
		if got := via(send(r)); got != c.want {
			t.Errorf("with %q covered: settled via %q, want %q", c.covered, got, c.want)
		}
	}
	for i, c := range []struct{ digested, want string }{{"", "x402 self" + named}, {"other", "x402 self"}} {
		call := func(meta string) []byte {
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy_small_blessing",`+
				`"arguments":{"agent_name":"signed-by-%d"}%s}}`, i, meta)
		}
		var unpaid struct {
			Error struct{ Data json.RawMessage }
		}
		if err := json.Unmarshal(send(request("POST", "/mcp", call(""))), &unpaid); err != nil {
			t.Fatal(err)
		}
		payment, err := json.Marshal(s.pay(t, s.net.Buyers[0], unpaid.Error.Data))
		if err != nil {
			t.Fatal(err)
		}
		body := call(`,"_meta":{"x402/payment":` + string(payment) + `}`)
		r := request("POST", "/mcp", body)
		sum := sha256.Sum256(append(body, c.digested...))
		r.Header.Set("Content-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":")
		s.signAs(key, r, "content-digest")
		if got := via(send(r)); got != c.want {
			t.Errorf("over MCP, with %q behind the body that was signed: settled via %q, want %q", c.digested, got,
				c.want)
		}
	}
}
