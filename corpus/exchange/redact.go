package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// RedactedFormat names the published form of an exchange.
const RedactedFormat = "store-probe-evidence/v1"

// Bounds of the published form.
const (
	maxShownValue = 1024      // bytes of one header value
	maxShownLines = 64        // header lines, and names of others
	maxChallenge  = 256 << 10 // bytes of one challenge as sent
	maxShownDepth = 64        // nesting of a challenge
	longHead      = 16 << 10  // where fetch in Node gives up
)

// Redacted is the published form of an exchange: the input of a judgement
// without the addresses that a door wants to be paid at. Checks run on it, and
// its digest is the evidence digest of a row.
type Redacted struct {
	Format       string       `json:"format"` // RedactedFormat
	Method       string       `json:"method"`
	URL          string       `json:"url"`
	StartedAt    string       `json:"started_at"` // RFC 3339 UTC, whole seconds
	DurationMS   int64        `json:"duration_ms"`
	Status       int          `json:"status"` // 0: no response
	Proto        string       `json:"proto"`
	Headers      []HeaderLine `json:"headers"`       // those a check may read, sorted by name
	OtherHeaders []string     `json:"other_headers"` // names of the others
	Body         BodyFacts    `json:"body"`
	Challenges   []Challenge  `json:"challenges"`
	StandIns     []StandIn    `json:"stand_ins,omitempty"` // sorted by address and network, each once
	Error        Error        `json:"error"`
	// HeadBytes are those of the answer's header names and values, where they are more than some
	// clients read.
	HeadBytes int `json:"head_bytes,omitzero"`
	// HeadFault says how the head was written, where some clients refuse that: Head….
	HeadFault string `json:"head_fault,omitzero"`
}

// HeaderLine is one header value. A long one is cut after 1,024 bytes.
type HeaderLine struct {
	Name  string `json:"name"` // canonical form
	Value string `json:"value"`
	Cut   bool   `json:"cut,omitzero"`
}

// BodyFacts stands for a body.
type BodyFacts struct {
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`     // as recorded
	Truncated bool   `json:"truncated"` // it went on
}

// The places where a challenge may stand.
const (
	FromHeader       = "payment-required" // the x402 v2 header, base64 of JSON
	FromBody         = "body"             // JSON with accepts or x402Version
	FromAuthenticate = "www-authenticate" // an MPP challenge
	FromL402         = "l402"             // WWW-Authenticate of the scheme L402 or LSAT, by digests
)

// Challenge is the terms a door named, at one place. In Value each payTo,
// pay_to and recipient is replaced by a stand-in, and so is every other mention
// of such an address, in what is written in base64 too: there the signature of an
// offer stays that of the door, over the address itself. All else is as a client
// reads it: order, other values and the spelling of numbers are the door's own.
type Challenge struct {
	From     string `json:"from"`              // From…
	Bytes    int    `json:"bytes"`             // as sent
	Encoding string `json:"encoding,omitzero"` // base64, base64-unpadded, base64url, base64url-unpadded
	Problem  string `json:"problem,omitzero"`  // why there is no value
	// Lenient says that readers which take a repeated name or bytes that are no UTF-8 find a value.
	Lenient bool `json:"lenient,omitzero"`
	// Marked says that a byte order mark stood before it, which some readers pass over.
	Marked bool           `json:"marked,omitzero"`
	Params []HeaderLine   `json:"params,omitempty"` // of an MPP challenge, without request
	Value  jsontext.Value `json:"value,omitzero"`
}

// Encode returns the canonical bytes of the published form.
func (r Redacted) Encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding evidence: %w", err)
	}
	return b, nil
}

// Digest returns the SHA-256 of Encode in lower-case hexadecimal: the evidence
// digest. It is empty only for a value that cannot be encoded.
func (r Redacted) Digest() string {
	b, err := r.Encode()
	if err != nil {
		return ""
	}
	return digestOf(b)
}

// DecodeRedacted reads the exact bytes that Encode gave.
func DecodeRedacted(raw []byte) (Redacted, error) {
	if len(raw) > MaxFile {
		return Redacted{}, fmt.Errorf("decoding evidence: %w", ErrTooLarge)
	}
	var r Redacted
	if err := json.Unmarshal(raw, &r, json.RejectUnknownMembers(true)); err != nil {
		return Redacted{}, fmt.Errorf("decoding evidence: %w", err)
	}
	if r.Format != RedactedFormat {
		return Redacted{}, fmt.Errorf("decoding evidence: format is %q, want %q", r.Format, RedactedFormat)
	}
	if !slices.Contains(headFaults, r.HeadFault) {
		return Redacted{}, fmt.Errorf("decoding evidence: head fault %q", r.HeadFault)
	}
	for i, s := range r.StandIns {
		if !s.wellFormed() || i > 0 && r.StandIns[i-1].compare(s) >= 0 {
			return Redacted{}, fmt.Errorf("decoding evidence: stand-in %d is %.80q on %.80q", i, s.Address, s.Network)
		}
	}
	again, err := r.Encode()
	if err != nil {
		return Redacted{}, err
	}
	if !bytes.Equal(raw, again) {
		return Redacted{}, errors.New("decoding evidence: not in the form in which it is written")
	}
	return r, nil
}

// Header returns the first shown value of a header, or "".
func (r Redacted) Header(name string) string {
	name = http.CanonicalHeaderKey(name)
	for _, h := range r.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// List returns the shown values of a header whose value is a list, as a proxy would fold them.
func (r Redacted) List(name string) string {
	name = http.CanonicalHeaderKey(name)
	var values []string
	for _, h := range r.Headers {
		if h.Name == name {
			values = append(values, h.Value)
		}
	}
	return strings.Join(values, ", ")
}

// shownHeaders are the response headers whose values a check may read.
var shownHeaders = []string{
	"Accept-Payment", "Access-Control-Allow-Headers", "Access-Control-Allow-Origin",
	"Access-Control-Expose-Headers", "Allow", "Cache-Control", "Cf-Mitigated", "Content-Encoding",
	"Content-Language",
	"Content-Length", "Content-Type", "Deprecation", "Link", "Location", "Ratelimit", "Ratelimit-Policy",
	"Retry-After", "Server", "Strict-Transport-Security", "Sunset", "Vary",
	"X-Amzn-Waf-Action", "X-Robots-Tag", "X-Vercel-Mitigated",
}

// Redact returns the published form. The exchange is not changed. It depends on
// nothing but the exchange, so the same recording has the same digest for ever.
func (x Exchange) Redact() (Redacted, error) {
	if err := x.check(); err != nil {
		return Redacted{}, err
	}
	r := Redacted{
		Format: RedactedFormat, Method: x.Request.Method,
		StartedAt:  x.StartedAt.UTC().Format("2006-01-02T15:04:05Z"),
		DurationMS: x.Duration.Round(time.Millisecond).Milliseconds(),
		Status:     x.Response.Status, Proto: x.Response.Proto,
		Headers: []HeaderLine{}, OtherHeaders: []string{}, Challenges: []Challenge{},
		Body: BodyFacts{SHA256: digestOf(x.Response.Body), Bytes: int64(len(x.Response.Body)),
			Truncated: x.Response.Truncated},
		Error: Error{Stage: x.Error.Stage}, HeadFault: x.Response.HeadFault,
	}
	if n := HeadBytes(x.Response.Header); n >= longHead {
		r.HeadBytes = n
	}
	s := newSweeper()
	for _, c := range x.challenges(s) {
		r.Challenges = append(r.Challenges, c.redacted(s))
	}
	r.URL = strings.ToValidUTF8(x.Request.URL, "�")
	host := hostEnd(r.URL) // what is before stands in the row, whatever the door calls an address
	r.URL = r.URL[:host] + s.sweep(r.URL[host:])
	r.Error.Text = s.sweep(strings.ToValidUTF8(x.Error.Text, "�"))
	for _, h := range encodeHeader(x.Response.Header) {
		name := http.CanonicalHeaderKey(h.Name)
		if !slices.Contains(shownHeaders, name) {
			if name = s.sweep(name); !slices.Contains(r.OtherHeaders, name) && len(r.OtherHeaders) < maxShownLines {
				r.OtherHeaders = append(r.OtherHeaders, name)
			}
			continue
		}
		for _, v := range h.Values {
			if len(r.Headers) < maxShownLines {
				r.Headers = append(r.Headers, cut(name, s.sweep(v)))
			}
		}
	}
	slices.SortStableFunc(r.Headers, func(a, b HeaderLine) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(r.OtherHeaders)
	slices.SortFunc(s.standIns, StandIn.compare)
	r.StandIns = slices.Compact(s.standIns)
	return r, nil
}

// hostEnd is where the host of a URL ends.
func hostEnd(url string) int {
	scheme := strings.Index(url, "://")
	if scheme < 0 {
		return 0
	}
	begin := scheme + len("://")
	if end := strings.IndexAny(url[begin:], "/?#"); end >= 0 {
		return begin + end
	}
	return len(url)
}

// lenient reports whether a text is one JSON value to readers that are not strict.
func lenient(text []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.SkipValue() != nil {
		return false
	}
	_, err := d.ReadToken()
	return err == io.EOF
}

// HeadBytes is how long the names and values of a head are.
func HeadBytes(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	return n
}

func cut(name, value string) HeaderLine {
	if len(value) <= maxShownValue {
		return HeaderLine{Name: name, Value: value}
	}
	n := maxShownValue
	for !utf8.RuneStart(value[n]) {
		n--
	}
	return HeaderLine{Name: name, Value: value[:n], Cut: true}
}

// mark is the byte order mark of UTF-8.
var mark = []byte("\ufeff")

// found is a challenge before it is redacted.
type found struct {
	Challenge
	text    []byte // of its value, nil where it has none
	network string // for addresses beside which no network stands
}

// challenges finds the terms in a response and tells s all their addresses.
func (x Exchange) challenges(s *sweeper) []found {
	var out []found
	add := func(f found, text []byte) {
		text, f.Marked = bytes.CutPrefix(text, mark)
		if v, err := parseWithin(maxShownDepth, text); err != nil {
			f.Problem, f.Lenient = "not strict JSON", lenient(text)
		} else {
			f.text = text
			s.learn(v, f.network, false)
		}
		out = append(out, f)
	}
	for _, v := range headerValues(x.Response.Header, "Payment-Required") {
		f := found{From: FromHeader, Bytes: len(v)}
		text, encoding, ok := decodeBase64(v, standardFirst)
		if !ok || len(v) > maxChallenge {
			f.Problem = "not base64"
			out = append(out, f)
			continue
		}
		f.Encoding = encoding
		add(f, text)
	}
	if b := x.Response.Body; len(b) <= maxChallenge && !x.Response.Truncated {
		v, _ := parseWithin(maxShownDepth, bytes.TrimPrefix(b, mark))
		o, _ := v.(*Object)
		_, accepts := o.Get("accepts")
		if _, version := o.Get("x402Version"); accepts || version {
			add(found{From: FromBody, Bytes: len(b)}, b)
		}
	}
	for _, c := range x.asked() {
		f, text, ok := payment(c)
		switch {
		case ok && len(text) > 0:
			add(f, text)
		case ok:
			out = append(out, f)
		default:
			if c, ok := l402(c); ok {
				out = append(out, found{Challenge: c})
			}
		}
	}
	return out
}

// asked are the challenges of WWW-Authenticate, no more of them than there may be fields.
func (x Exchange) asked() []AuthChallenge {
	var all []AuthChallenge
	for _, v := range headerValues(x.Response.Header, "Www-Authenticate") {
		all = append(all, AuthChallenges(v)...)
	}
	return all[:min(len(all), MaxHeaders)]
}

// payment reads a challenge of MPP, and from it the text of its request.
func payment(c AuthChallenge) (f found, text []byte, ok bool) {
	if !strings.EqualFold(c.Scheme, "Payment") {
		return found{}, nil, false
	}
	f = found{From: FromAuthenticate, Bytes: c.Bytes}
	var request string
	for _, p := range c.Params {
		p.Value = strings.ToValidUTF8(p.Value, "�")
		if p.Name == "request" {
			request = p.Value
			continue
		}
		if p.Name == "method" {
			f.network = "mpp:" + p.Value
		}
		f.Params = append(f.Params, p)
	}
	text, encoding, decoded := decodeBase64(request, urlFirst)
	switch {
	case c.Malformed:
		f.Problem, text = "the parameters cannot be read", nil
	case !decoded || c.Bytes > maxChallenge:
		f.Problem, text = "request is not base64", nil
	default:
		f.Encoding = encoding
	}
	return f, text, true
}

// redacted brings the challenge into its published form.
func (f found) redacted(s *sweeper) Challenge {
	c := f.Challenge
	c.Params = nil
	for _, p := range f.Params {
		c.Params = append(c.Params, cut(s.sweep(p.Name), s.sweep(p.Value)))
	}
	if f.text == nil {
		return c
	}
	var err error
	if c.Value, err = jsontext.AppendFormat(nil, s.rewrite(f.text)); err != nil {
		c.Value, c.Problem = nil, "two names in it differ in the spelling of an address alone"
	}
	return c
}

// headerValues finds a header whatever the case in which it was recorded.
func headerValues(h http.Header, name string) []string {
	var names, out []string
	for n := range h {
		if http.CanonicalHeaderKey(n) == name {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		for _, v := range h[n] {
			out = append(out, widen(v))
		}
	}
	return out
}

// spelling is one of the four ways in which base64 is written.
type spelling struct {
	name string
	*base64.Encoding
}

// standardFirst is for x402, whose header is standard base64; urlFirst for MPP and JWS, which use
// base64url without padding.
var (
	standardFirst = []spelling{
		{"base64", base64.StdEncoding}, {"base64-unpadded", base64.RawStdEncoding},
		{"base64url", base64.URLEncoding}, {"base64url-unpadded", base64.RawURLEncoding},
	}
	urlFirst = []spelling{standardFirst[3], standardFirst[2], standardFirst[1], standardFirst[0]}
)

// DecodeBase64 decodes base64 of either alphabet, with padding or without.
func DecodeBase64(s string) (text []byte, ok bool) {
	text, _, ok = decodeBase64(s, urlFirst)
	return text, ok
}

// decodeBase64 decodes s and names the first spelling that it fits.
func decodeBase64(s string, spellings []spelling) (text []byte, encoding string, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, "", false
	}
	for _, e := range spellings {
		if b, err := e.DecodeString(s); err == nil {
			return b, e.name, true
		}
	}
	return nil, "", false
}

// l402 reads a challenge of L402 (the protocol specification of Lightning Labs) or of its older
// name LSAT. What it asks for is a credential, so macaroon and invoice are shown by digest alone.
func l402(asked AuthChallenge) (Challenge, bool) {
	if !strings.EqualFold(asked.Scheme, "L402") && !strings.EqualFold(asked.Scheme, "LSAT") {
		return Challenge{}, false
	}
	c := Challenge{From: FromL402, Bytes: asked.Bytes}
	for _, name := range []string{"macaroon", "invoice"} {
		i := slices.IndexFunc(asked.Params, func(p HeaderLine) bool { return p.Name == name && p.Value != "" })
		if i < 0 {
			c.Problem = "no " + name
			continue
		}
		value := strings.ToValidUTF8(asked.Params[i].Value, "�")
		c.Params = append(c.Params, HeaderLine{Name: name + "_sha256", Value: digestOf([]byte(value))})
	}
	return c, true
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
