package fetch

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
)

// signatureLife is for how long a request's signature is good.
const signatureLife = 5 * time.Minute

// signatureLabel names our signature and our member of Signature-Agent.
const signatureLabel = "sig1"

// botSignature is what a Web Bot Auth signature of a request covers
// (draft-meunier-webbotauth-httpsig-protocol-02 over RFC 9421): the authority, the agent unless it
// is "", and the digest of a body unless it is "".
type botSignature struct {
	label, authority   string
	agentKey, agent    string // member of the Signature-Agent dictionary and its origin
	digest             string // value of Content-Digest
	created, expires   time.Time
	kid, nonce         string
	base, input, value string // set by sign: the signature base, and the values of Signature-Input and Signature
}

func (s *botSignature) sign(key *attest.Key) {
	components := []string{`"@authority"`}
	s.base = `"@authority": ` + s.authority + "\n"
	if s.agent != "" {
		name := fmt.Sprintf(`"signature-agent";key=%q`, s.agentKey)
		components = append(components, name)
		s.base += fmt.Sprintf("%s: %q\n", name, s.agent)
	}
	if s.digest != "" {
		components = append(components, `"content-digest"`)
		s.base += `"content-digest": ` + s.digest + "\n"
	}
	params := fmt.Sprintf(`(%s);created=%d;keyid=%q;alg="ed25519";expires=%d;nonce=%q;tag="web-bot-auth"`,
		strings.Join(components, " "), s.created.Unix(), s.kid, s.expires.Unix(), s.nonce)
	s.base += `"@signature-params": ` + params
	s.input = s.label + "=" + params
	s.value = s.label + "=:" + base64.StdEncoding.EncodeToString(key.Sign([]byte(s.base))) + ":"
}

// ours are headers that the client sets or that no request of ours carries.
var ours = []string{"User-Agent", "Signature-Agent", "Signature-Input", "Signature", "Content-Digest",
	"Accept-Encoding", "Host", "Cookie",
	"Content-Length", "Transfer-Encoding", "Connection", "Te", "Trailer", "Upgrade", "Keep-Alive", "Proxy-Connection",
	"Proxy-Authorization", "Forwarded", "X-Forwarded-For", "X-Real-Ip", "Referer", "Origin", "Expect"}

// header is what goes out with a request.
func (c *Client) header(req exchange.Request, t target, rule Rule, at time.Time) (http.Header, error) {
	h := http.Header{}
	for _, name := range append([]string{"Accept", "Content-Type"}, rule.Headers...) {
		name = http.CanonicalHeaderKey(name)
		if slices.Contains(ours, name) {
			continue
		}
		for k, values := range req.Header {
			if http.CanonicalHeaderKey(k) != name || len(h[name]) > 0 {
				continue
			}
			for _, v := range values {
				if plainText(v) {
					h[name] = append(h[name], v)
				}
			}
		}
	}
	if h.Get("Accept") == "" {
		h.Set("Accept", "*/*")
	}
	h.Set("Accept-Encoding", "gzip")
	h.Set("User-Agent", c.cfg.UserAgent)
	if c.cfg.Unsigned {
		return h, nil
	}
	var nonce [64]byte
	if _, err := io.ReadFull(c.cfg.Random, nonce[:]); err != nil {
		return nil, fmt.Errorf("making a nonce: %w", err)
	}
	s := botSignature{label: signatureLabel, authority: t.authority(), agentKey: signatureLabel, agent: c.cfg.Agent,
		created: at, expires: at.Add(signatureLife), kid: c.cfg.Key.KID(),
		nonce: base64.StdEncoding.EncodeToString(nonce[:])}
	if len(req.Body) > 0 {
		sum := sha256.Sum256(req.Body)
		s.digest = "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
		h.Set("Content-Digest", s.digest)
	}
	s.sign(c.cfg.Key)
	h.Set("Signature-Agent", fmt.Sprintf("%s=%q", signatureLabel, c.cfg.Agent))
	h.Set("Signature-Input", s.input)
	h.Set("Signature", s.value)
	return h, nil
}
