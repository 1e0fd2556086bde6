package botauth

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/did"
)

// testKey is the thumbprint of the public test key of RFC 9421, appendix B.1.4, which the draft
// says to reject.
const testKey = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"

// directoryTag is the tag of a directory's own signatures.
const directoryTag = "http-message-signatures-directory"

// maxKeys bounds a directory.
const maxKeys = 50

// algorithms are the names of the HTTP signature algorithms registry (RFC 9421, section 6.2).
var algorithms = []string{"ed25519", "ecdsa-p256-sha256", "ecdsa-p384-sha384", "rsa-pss-sha512", "rsa-v1_5-sha256",
	"hmac-sha256"}

// thumbprint is that of RFC 7638, for the kinds of keys that have one.
func thumbprint(raw []byte) string {
	var m map[string]jsontext.Value
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	text := func(name string) string {
		var s string
		if json.Unmarshal(m[name], &s) != nil {
			return ""
		}
		return s
	}
	key := map[string]string{}
	members := map[string][]string{"OKP": {"kty", "crv", "x"}, "EC": {"kty", "crv", "x", "y"}, "RSA": {"kty", "e", "n"}}
	for _, n := range members[text("kty")] {
		if key[n] = text(n); key[n] == "" {
			return ""
		}
	}
	b, err := json.Marshal(key, json.Deterministic(true))
	if err != nil || len(key) == 0 {
		return ""
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// directory judges a key directory. The error is of its JSON.
func (j *judge) directory(parse error) {
	keys, err := did.ParseJWKS(j.x.Response.Body)
	var list struct {
		Keys []jsontext.Value `json:"keys"`
	}
	switch {
	case j.x.Response.Truncated:
		err = fmt.Errorf("longer than %d bytes", len(j.x.Response.Body))
	case parse != nil:
		err = parse
	case err == nil && len(keys) > maxKeys:
		err = fmt.Errorf("more than %d keys", maxKeys)
	case err == nil:
		err = json.Unmarshal(j.x.Response.Body, &list)
	}
	if err != nil {
		j.set("jwks-parses", Fail, "JWKS", "%v", err)
		return
	}
	if len(keys) == 0 {
		j.set("jwks-parses", Fail, "NO_KEYS", "the list of keys is empty")
		return
	}
	j.set("jwks-parses", Pass, "", "%d keys", len(keys))
	prints := make([]string, len(keys))
	for i, v := range list.Keys {
		prints[i] = thumbprint(v)
	}
	j.keys(keys, prints)
	j.digest()
	j.possession(keys)
}

// keys judges the keys one by one.
func (j *judge) keys(keys []did.JWK, prints []string) {
	for _, name := range []string{"keys-ed25519", "key-ids", "no-private-keys", "no-test-keys", "key-validity"} {
		j.set(name, Pass, "", "so it is with each key")
	}
	now := j.at.Unix()
	for i, k := range keys {
		r := Key{Thumbprint: prints[i], Curve: k.Key.Curve, Proved: NotChecked}
		usable := k.Err == nil && k.Key.Curve == did.Ed25519
		switch {
		case k.Private:
			j.set("no-private-keys", Fail, "PRIVATE_KEY", "key %d holds a private or symmetric member", i)
		case errors.Is(k.Err, did.ErrUnsupported) || k.Err == nil && k.Key.Curve != did.Ed25519:
			r.Detail = "of a kind that is not verified here"
			j.unlessFailed("keys-ed25519", Unverifiable, "UNKNOWN_KIND", "key %d is of another kind", i)
		case k.Err != nil:
			r.Detail = bounded(k.Err.Error(), 200)
			j.set("keys-ed25519", Fail, "BAD_KEY", "key %d: %v", i, k.Err)
		}
		if k.KID != "" && k.KID != prints[i] {
			j.set("key-ids", Fail, "KID", "key %d: kid is not the thumbprint %s", i, prints[i])
		} else if k.Alg != "" && !slices.Contains(algorithms, k.Alg) {
			j.unlessFailed("key-ids", Warn, "ALG",
				"key %d: alg %.40q is no name of the registry of HTTP signature algorithms", i, k.Alg)
		}
		if prints[i] == testKey {
			usable = false
			j.set("no-test-keys", Fail, "TEST_KEY", "key %d is the public test key of RFC 9421", i)
		}
		switch {
		case k.NotBefore != 0 && k.Expires != 0 && k.NotBefore >= k.Expires:
			usable = false
			j.set("key-validity", Fail, "VALIDITY", "key %d ends before it begins", i)
		case k.Expires != 0 && k.Expires <= now:
			usable = false
			j.unlessFailed("key-validity", Warn, "EXPIRED", "key %d has expired", i)
		case k.NotBefore > now:
			usable = false
			j.unlessFailed("key-validity", Warn, "NOT_YET", "key %d is not valid yet", i)
		}
		r.Usable = usable
		j.Keys = append(j.Keys, r)
	}
	if !slices.ContainsFunc(j.Keys, func(k Key) bool { return k.Usable }) {
		j.unlessFailed("key-validity", Fail, "NO_USABLE_KEY", "no key can be used now")
	}
}

// unlessFailed sets a check that has not failed already.
func (j *judge) unlessFailed(name string, s State, code, format string, args ...any) {
	if !slices.ContainsFunc(j.Checks, func(c Check) bool { return c.Name == name && c.State == Fail }) {
		j.set(name, s, code, format, args...)
	}
}

func (j *judge) digest() {
	header := strings.Join(j.x.Response.Header.Values("Content-Digest"), ", ")
	if header == "" {
		j.set("content-digest", Warn, "NO_DIGEST", "there is no Content-Digest")
		return
	}
	members, err := dictionary(header)
	if err != nil {
		j.set("content-digest", Fail, "DIGEST", "%v", err)
		return
	}
	for _, m := range members {
		if b, ok := m.value.([]byte); ok && m.key == "sha-256" {
			sum := sha256.Sum256(j.x.Response.Body)
			if !bytes.Equal(b, sum[:]) {
				j.set("content-digest", Fail, "DIGEST", "it is not the digest of the body")
				return
			}
			j.set("content-digest", Pass, "", "sha-256 of the body")
			return
		}
	}
	j.set("content-digest", Unverifiable, "", "no sha-256 among the digests")
}

// possession judges the directory's own signatures, one for each key.
func (j *judge) possession(keys []did.JWK) {
	const check = "proof-of-possession"
	h := j.x.Response.Header
	input := strings.Join(h.Values("Signature-Input"), ", ")
	if input == "" {
		j.set(check, Warn, "NO_POSSESSION_PROOF", "the directory is not signed")
		return
	}
	all, err := signatures(input, strings.Join(h.Values("Signature"), ", "))
	if err != nil {
		j.set(check, Fail, "BAD_SIGNATURE", "%v", err)
		return
	}
	count, why := map[State]int{}, map[State]string{}
	for i, k := range keys {
		r := &j.Keys[i]
		r.Proved, r.Detail = Unverifiable, "the key cannot be used here"
		if k.Err == nil {
			r.Proved, r.Detail = j.proof(all, k.Key, r.Thumbprint)
		}
		count[r.Proved]++
		why[r.Proved] = r.Detail
	}
	switch proved := count[Pass] + count[Warn]; {
	case count[Fail] > 0:
		j.set(check, Fail, "BAD_SIGNATURE", "%s", why[Fail])
	case proved == 0 && count[Unverifiable] > 0:
		j.set(check, Unverifiable, "", "%s", why[Unverifiable])
	case proved < len(keys):
		j.set(check, Warn, "NO_POSSESSION_PROOF", "%d of %d keys signed the directory", proved, len(keys))
	case count[Warn] > 0:
		j.set(check, Warn, "OLDER_FORM", "%s", why[Warn])
	default:
		j.set(check, Pass, "", "every key signed the directory")
	}
}

// proof judges the signature of one key, if there is one.
func (j *judge) proof(all []signed, k did.Key, print string) (State, string) {
	for _, s := range all {
		if s.text("keyid") != print || s.text("tag") != directoryTag {
			continue
		}
		if !s.covers(`"@authority";req`) {
			return Fail, `the signature does not cover "@authority";req, which alone ties it to the host`
		}
		for _, name := range []string{"created", "expires"} {
			if _, ok := s.params.param(name).(int64); !ok {
				return Fail, "the signature has no " + name
			}
		}
		now := j.at.Unix()
		switch {
		case s.number("created") > now+60:
			return Fail, "the signature was created in the future"
		case s.number("expires") <= now:
			return Fail, "the signature has expired"
		}
		base, err := s.base(j.component)
		if errors.Is(err, errComponent) {
			return Unverifiable, err.Error()
		}
		if err != nil {
			return Fail, err.Error()
		}
		if alg := s.text("alg"); alg != "" && alg != "ed25519" {
			return Fail, "the signature names another algorithm than its key's"
		}
		if err := k.Verify("Ed25519", []byte(base), s.bytes); err != nil {
			return Fail, err.Error()
		}
		if !s.covers(`"content-digest"`) {
			return Warn, "the signature covers no content-digest, which is the form before draft 02"
		}
		return Pass, "signed by this key"
	}
	return NotChecked, "no signature of this key"
}

// component is the value of a component of the response (RFC 9421, section 2).
func (j *judge) component(identifier string) (string, bool) {
	u, err := url.Parse(j.x.Request.URL)
	if err != nil {
		return "", false
	}
	switch identifier {
	case `"@authority";req`:
		return authority(u), true
	case `"@method";req`:
		return j.x.Request.Method, true
	case `"@scheme";req`:
		return u.Scheme, true
	case `"@path";req`:
		return u.EscapedPath(), true
	case `"@target-uri";req`:
		return u.String(), true
	case `"@status"`:
		return strconv.Itoa(j.x.Response.Status), true
	}
	name := strings.Trim(identifier, `"`)
	if `"`+name+`"` != identifier || strings.HasPrefix(name, "@") {
		return "", false
	}
	values := j.x.Response.Header.Values(http.CanonicalHeaderKey(name))
	if len(values) == 0 {
		return "", false
	}
	trimmed := make([]string, len(values))
	for i, v := range values {
		trimmed[i] = strings.Trim(v, " \t")
	}
	return strings.Join(trimmed, ", "), true
}

// authority is the host in lower case, with its port unless that is the default one.
func authority(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	return host
}
