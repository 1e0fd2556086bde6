package botauth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/did"
)

// Tags by which agents sign what they ask: for reading, and for browsing and paying on behalf of
// somebody. Signatures with other tags are none of a caller.
var callerTags = []string{"web-bot-auth", "agent-browser-auth", "agent-payer-auth"}

// How long a caller's signature may hold, and how far its clock may be ahead of ours.
const (
	callerLife = 24 * time.Hour
	callerSkew = time.Minute
)

// Message is what of a request a signature may cover. Authority is the one under which it is
// served, from configuration; RawQuery has no question mark.
type Message struct {
	Method, Scheme, Authority, Path, RawQuery string
	Header                                    http.Header
}

// A Caller is what a request claims of who sent it: one signature, whose key is not known yet.
type Caller struct {
	KeyID, Tag, Nonce string
	Directory         string // https URL of the key directory
	Expires           time.Time

	covered   signed
	base      []byte
	signature []byte
}

// agentHost fits hosts that are named to others.
var agentHost = regexp.MustCompile(`^[a-z0-9.-]{1,253}(:[0-9]{1,5})?$`)

// Agent names who signs: the host of the key directory and the thumbprint of the key; "" for a host
// that is not named to others.
func (c *Caller) Agent() string {
	u, err := url.Parse(c.Directory)
	if host := strings.ToLower(u.Host); err == nil && agentHost.MatchString(host) {
		return host + " " + c.KeyID
	}
	return ""
}

// Covers reports whether the signature covers a field of the head, the whole of it, by its name in
// lower case.
func (c *Caller) Covers(field string) bool { return c.covered.covers(`"` + field + `"`) }

// Invalid is a signature that no key makes right, and why.
type Invalid struct {
	Reason string // a word for programs
	Says   string // a sentence
}

// Error implements error.
func (e *Invalid) Error() string { return e.Reason + ": " + e.Says }

func invalid(reason, format string, args ...any) error {
	return &Invalid{reason, fmt.Sprintf(format, args...)}
}

// keyID is a thumbprint of RFC 7638 by SHA-256.
var keyID = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// ReadCaller takes the signature of a caller out of a request (RFC 9421;
// draft-meunier-webbotauth-httpsig-protocol-02, section 4). It returns nil and no error for a
// request that has none, and for one whose keys lie where they are not looked for. Its error is an
// *Invalid.
func ReadCaller(m Message, now time.Time) (*Caller, error) {
	input, value := m.Header["Signature-Input"], m.Header["Signature"]
	if len(input) == 0 {
		return nil, nil
	}
	all, err := signatures(strings.Join(input, ", "), strings.Join(value, ", "))
	if err != nil {
		return nil, invalid("malformed", "%v", err)
	}
	at := slices.IndexFunc(all, func(s signed) bool { return slices.Contains(callerTags, s.text("tag")) })
	if at < 0 {
		return nil, nil
	}
	s := all[at]
	c := &Caller{KeyID: s.text("keyid"), Tag: s.text("tag"), Nonce: s.text("nonce"),
		Expires: time.Unix(s.number("expires"), 0), signature: s.bytes, covered: s}
	created := time.Unix(s.number("created"), 0)
	switch alg := s.text("alg"); {
	case !keyID.MatchString(c.KeyID):
		return nil, invalid("malformed", "keyid is not the thumbprint of a key (RFC 7638)")
	case c.KeyID == testKey:
		return nil, invalid("test_key", "the key is that of RFC 9421, whose private half is public")
	case alg != "" && alg != "ed25519":
		return nil, nil
	case s.params.param("created") == nil || s.params.param("expires") == nil:
		return nil, invalid("malformed", "created and expires are required")
	case len(c.Nonce) > maxNonce:
		return nil, invalid("malformed", "the nonce is longer than %d characters", maxNonce)
	case !now.Before(c.Expires):
		return nil, invalid("stale", "the signature expired at %s", c.Expires.UTC().Format(time.RFC3339))
	case created.After(now.Add(callerSkew)):
		return nil, invalid("not_yet", "created lies in the future: %s", created.UTC().Format(time.RFC3339))
	case c.Expires.Sub(created) > callerLife:
		return nil, invalid("too_long", "it holds for longer than 24 hours")
	case !s.covers(`"@authority"`) && !s.covers(`"@target-uri"`):
		return nil, invalid("uncovered", "neither @authority nor @target-uri is covered")
	}
	known, err := c.agent(m.Header, s)
	if err != nil || !known {
		return nil, err
	}
	base, err := s.base(m.component)
	if errors.Is(err, errComponent) {
		return nil, invalid("unknown_component", "%v", err)
	} else if err != nil {
		return nil, invalid("malformed", "%v", err)
	}
	c.base = []byte(base)
	return c, nil
}

// Accept is an Accept-Signature field that asks for the signature of a caller (RFC 9421, section
// 5.1). It covers method and path beside the authority: one that covers the authority alone could
// be sent by whoever saw it, to every path, until it expires. nonce holds no quotation mark and no
// backslash.
func Accept(nonce string) string {
	return `sig1=("@authority" "@method" "@path" "signature-agent";key="sig1");created;expires;tag="web-bot-auth";` +
		`nonce="` + nonce + `"`
}

// maxNonce bounds a nonce in characters.
const maxNonce = 128

// agent finds the key directory of a signature in Signature-Agent: a dictionary whose member has
// the signature's label, or, as it was before, one text. It reports false where keys lie elsewhere.
func (c *Caller) agent(h http.Header, s signed) (known bool, err error) {
	field := strings.Join(h["Signature-Agent"], ", ")
	if field == "" {
		return false, nil
	}
	var at item
	covered := `"signature-agent"`
	if strings.HasPrefix(strings.TrimSpace(field), `"`) {
		all, err := dictionary("agent=" + strings.TrimSpace(field))
		if err != nil || len(all) != 1 {
			return false, invalid("malformed", "Signature-Agent is not one text")
		}
		at = all[0].item
	} else {
		all, err := dictionary(field)
		i := slices.IndexFunc(all, func(m member) bool { return s.covers(`"signature-agent";key="` + m.key + `"`) })
		if err != nil {
			return false, invalid("malformed", "Signature-Agent: %v", err)
		}
		if i < 0 {
			return false, invalid("uncovered", "no member of Signature-Agent is covered")
		}
		at, covered = all[i].item, `"signature-agent";key="`+all[i].key+`"`
	}
	if !s.covers(covered) {
		return false, invalid("uncovered", "Signature-Agent is not covered")
	}
	text, _ := at.value.(string)
	kind, _ := at.param("type").(token)
	u, err := url.Parse(text)
	if err != nil || len(text) > 500 || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false, invalid("malformed", "Signature-Agent is not an https address")
	}
	switch {
	case kind == "jwks_uri":
		c.Directory = u.String()
	case kind != "" && kind != "directory":
		return false, nil // a card: its keys are not looked for
	case u.Path != "" && u.Path != "/" || u.RawQuery != "":
		return false, invalid("malformed", "Signature-Agent is not an origin")
	default:
		c.Directory = "https://" + strings.ToLower(u.Host) + Path
	}
	return true, nil
}

// component is the value of a component (RFC 9421, section 2).
func (m Message) component(id string) (string, bool) {
	name := strings.Trim(id, `"`)
	query := ""
	if m.RawQuery != "" {
		query = "?" + m.RawQuery
	}
	switch name {
	case "@method":
		return m.Method, true
	case "@authority":
		return m.Authority, true
	case "@scheme":
		return m.Scheme, true
	case "@path":
		return m.Path, true
	case "@query":
		return "?" + m.RawQuery, true
	case "@target-uri":
		return m.Scheme + "://" + m.Authority + m.Path + query, true
	case "@request-target":
		return m.Path + query, true
	}
	if field, key, of := strings.Cut(id, ";key="); of {
		all, err := dictionary(strings.Join(m.Header.Values(strings.Trim(field, `"`)), ", "))
		i := slices.IndexFunc(all, func(x member) bool { return `"`+x.key+`"` == key })
		if err != nil || i < 0 {
			return "", false
		}
		return all[i].raw, true
	}
	values := m.Header.Values(name)
	if strings.HasPrefix(name, "@") || strings.Contains(id, ";") || len(values) == 0 {
		return "", false
	}
	trimmed := make([]string, len(values))
	for i, v := range values {
		trimmed[i] = strings.TrimSpace(v)
	}
	return strings.Join(trimmed, ", "), true
}

// Verify checks the signature by a key. The error is an *Invalid.
func (c *Caller) Verify(key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, c.base, c.signature) {
		return invalid("forged", "the signature is not made by the key %s over this request", c.KeyID)
	}
	return nil
}

// CallerKeys are the keys of a directory that may sign requests at a time, by their thumbprints.
// Others in it are left out.
func CallerKeys(body []byte, now time.Time) (map[string]ed25519.PublicKey, error) {
	all, err := did.ParseJWKS(body)
	if err != nil {
		return nil, err
	}
	if len(all) > maxKeys {
		return nil, fmt.Errorf("more than %d keys", maxKeys)
	}
	keys := make(map[string]ed25519.PublicKey)
	for _, k := range all {
		if k.Err != nil || k.Private || k.Key.Curve != did.Ed25519 || len(k.Key.Bytes) != ed25519.PublicKeySize ||
			k.NotBefore > now.Unix() || k.Expires != 0 && k.Expires <= now.Unix() {
			continue
		}
		print := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` +
			base64.RawURLEncoding.EncodeToString(k.Key.Bytes) + `"}`))
		keys[base64.RawURLEncoding.EncodeToString(print[:])] = k.Key.Bytes
	}
	return keys, nil
}
