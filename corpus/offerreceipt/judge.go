package offerreceipt

import (
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/did"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/wallet"
)

// RequestError is returned for a request that cannot be judged at all, before anything is looked
// at.
type RequestError struct {
	Field   string // of the request, as a caller names it: artifact, kind, public_key_hex or signer_address
	Problem string // the rest of a sentence that begins with it
}

func (e *RequestError) Error() string {
	return "not a request for a conformance check: " + e.Field + " " + e.Problem
}

// Checker judges one artifact. At is the time of judgement while nothing was fetched; a fetched DID
// document brings the recorded time of its exchange.
type Checker struct {
	Request Request
	At      time.Time
	// Known are did:web documents that need no request, by DID: those of a service that does not
	// fetch from itself.
	Known map[string][]byte
}

var _ probe.Checker[Report] = Checker{}

// Name is conformance/v1.
func (Checker) Name() string { return "conformance/v1" }

// MaxRequests is 1: the did:web document of the kid.
func (Checker) MaxRequests() int { return 1 }

// A judge is one judgement under way.
type judge struct {
	Report
	states map[string]Check
	req    Request
	known  map[string][]byte
	raw    envelope
	jws    attest.JWS
	body   []byte // the payload
}

// envelope is the artifact taken apart.
type envelope struct {
	Format    string         `json:"format"`
	Signature string         `json:"signature"`
	Payload   jsontext.Value `json:"payload"`
	Index     jsontext.Value `json:"acceptIndex"` // an unsigned hint
}

// Step implements probe.Checker. The error is a *RequestError.
func (c Checker) Step(recorded []exchange.Exchange) (Report, *probe.Next, error) {
	if err := c.Request.check(); err != nil {
		return Report{}, nil, err
	}
	at := c.At
	if len(recorded) > 0 {
		at = recorded[0].StartedAt.Add(recorded[0].Duration)
	}
	j := &judge{req: c.Request, known: c.Known, states: map[string]Check{}}
	j.Report = Report{Version: Version, KeyResolution: ResolvedNot, JudgedAt: at.UTC().Truncate(time.Second),
		CannotTell: cannotTell}
	next := j.run(recorded)
	if next != nil {
		return Report{}, next, nil
	}
	j.conclude()
	return j.Report, nil, nil
}

func (r Request) check() error {
	switch {
	case r.Artifact == "":
		return &RequestError{"artifact", "is required"}
	case utf8.RuneCountInString(r.Artifact) > MaxArtifact:
		return &RequestError{"artifact", fmt.Sprintf("is longer than %d characters", MaxArtifact)}
	case r.Kind != "" && r.Kind != KindOffer && r.Kind != KindReceipt:
		return &RequestError{"kind", "is neither offer nor receipt"}
	}
	if r.PublicKeyHex != "" {
		if b, err := hex.DecodeString(r.PublicKeyHex); err != nil || len(b) != 32 {
			return &RequestError{"public_key_hex", fmt.Sprintf("is not %d hexadecimal characters", MaxHex)}
		}
	}
	if r.SignerAddress != "" {
		if _, err := wallet.ParseAddressAnyCase(r.SignerAddress); err != nil {
			return &RequestError{"signer_address", "is not 0x and 40 hex digits"}
		}
	}
	return nil
}

func (j *judge) set(name string, s State, format string, args ...any) {
	j.states[name] = Check{Name: name, State: s, Detail: fmt.Sprintf(format, args...)}
}

func (j *judge) failed(names ...string) bool {
	for _, n := range names {
		if j.states[n].State == Fail {
			return true
		}
	}
	return false
}

// run sets the checks, and returns the request that it needs before it can go on.
func (j *judge) run(recorded []exchange.Exchange) *probe.Next {
	j.open()
	if j.failed("artifact-form") {
		return nil
	}
	if j.Format == FormJWS {
		j.openJWS()
		if j.failed("jws-form") {
			return nil
		}
	} else {
		j.body = j.raw.Payload
	}
	fields := j.readPayload()
	if j.Format == FormEIP712 {
		j.recover(fields)
		j.time(fields)
		return nil
	}
	key, next := j.key(recorded)
	if next != nil {
		return next
	}
	j.verify(key)
	j.time(fields)
	j.asserted()
	return nil
}

// open finds out in which form the artifact is.
func (j *judge) open() {
	text := strings.TrimSpace(j.req.Artifact)
	if !strings.HasPrefix(text, "{") {
		j.Format, j.raw = FormJWS, envelope{Format: FormJWS, Signature: j.req.Artifact}
		j.set("artifact-form", Pass, "a compact JWS")
		return
	}
	if err := json.Unmarshal([]byte(text), &j.raw, json.RejectUnknownMembers(true)); err != nil {
		j.set("artifact-form", Fail, "neither a compact JWS nor a signed offer or receipt as JSON: %v", err)
		return
	}
	switch {
	case j.raw.Format == FormJWS && j.raw.Payload == nil:
		j.Format = FormJWS
		j.set("artifact-form", Pass, "an object around a compact JWS")
	case j.raw.Format == FormEIP712 && j.raw.Payload.Kind() == '{':
		j.Format = FormEIP712
		j.set("artifact-form", Pass, "a payload with an EIP-712 signature")
	default:
		j.set("artifact-form", Fail, "format %.20q: jws has no payload beside it, eip712 has one, and there is no "+
			"third", j.raw.Format)
	}
}

func (j *judge) openJWS() {
	parsed, err := attest.ParseJWS(j.raw.Signature)
	if err != nil {
		j.set("jws-form", Fail, "%v", err)
		return
	}
	j.jws, j.body = parsed, parsed.Payload
	j.set("jws-form", Pass, "three parts in unpadded base64url, the header strict JSON with alg and kid")
	if err := json.Unmarshal(parsed.Header, &j.Header); err != nil {
		j.set("jws-form", Fail, "%v", err)
		return
	}
	j.Signer.KID, j.Signer.Algorithm = parsed.KID, parsed.Alg
	switch parsed.Alg {
	case "EdDSA", "Ed25519", "ES256", "ES256K":
		j.set("jws-algorithm", Pass, "%s", parsed.Alg)
	default:
		j.set("jws-algorithm", Fail, "%.40q: the extension signs with EdDSA (Ed25519), ES256K or ES256", parsed.Alg)
	}
	id, fragment, ok := strings.Cut(parsed.KID, "#")
	if !ok || fragment == "" || !strings.HasPrefix(id, "did:") || len(parsed.KID) > 1000 {
		j.set("jws-kid", Fail, "the kid is not a DID URL with a fragment that names the key")
		return
	}
	j.set("jws-kid", Pass, "a DID URL that names one key")
}

// key finds the key of a JWS. The zero Key is no key; the check says why.
func (j *judge) key(recorded []exchange.Exchange) (did.Key, *probe.Next) {
	if j.req.PublicKeyHex != "" {
		b, _ := hex.DecodeString(j.req.PublicKeyHex)
		j.KeyResolution = ResolvedOffline
		j.set("key", Pass, "the key of the request")
		return did.Key{Curve: did.Ed25519, Bytes: b}, nil
	}
	if j.failed("jws-algorithm", "jws-kid") {
		j.set("key", NotChecked, "the header names no key that could be looked for")
		return did.Key{}, nil
	}
	k, method, embedded, err := did.Embedded(j.jws.KID)
	switch {
	case embedded && err != nil:
		j.set("key", j.reason(err), "%v", err)
		return did.Key{}, nil
	case embedded:
		j.KeyResolution = method
		j.set("key", Pass, "the kid carries its key; whose it is, it does not say")
		return k, nil
	}
	id, _, _ := strings.Cut(j.jws.KID, "#")
	if doc, ok := j.known[id]; ok {
		return j.document(doc, "this service's own document"), nil
	}
	at, err := did.WebURL(j.jws.KID)
	if err != nil {
		j.set("key", Unverifiable, "%v", err)
		return did.Key{}, nil
	}
	if len(recorded) == 0 {
		return did.Key{}, &probe.Next{Kind: "did", Request: exchange.Request{Method: http.MethodGet, URL: at,
			Header: http.Header{"Accept": {"application/did+json, application/did, application/json"}}}}
	}
	return j.web(recorded[0]), nil
}

// reason is Unverifiable for what is merely unknown here, and Fail for what is broken.
func (j *judge) reason(err error) State {
	if errors.Is(err, did.ErrUnsupported) {
		return Unverifiable
	}
	return Fail
}

// web reads the key from the document that was fetched.
func (j *judge) web(x exchange.Exchange) did.Key {
	switch {
	case x.Response.Status == 0 || x.Error.Stage != "":
		j.set("key", Unverifiable, "%s could not be read: %s", x.Request.URL, x.Error.Text)
		return did.Key{}
	case x.Response.Status != http.StatusOK || x.Response.Truncated:
		j.set("key", Unverifiable, "%s answered %d", x.Request.URL, x.Response.Status)
		return did.Key{}
	}
	return j.document(x.Response.Body, x.Request.URL)
}

// document reads the key from a DID document that was found at a place.
func (j *judge) document(raw []byte, place string) did.Key {
	id, _, _ := strings.Cut(j.jws.KID, "#")
	doc, err := did.ParseDocument(raw, id)
	if err != nil {
		j.set("key", Fail, "%v", err)
		return did.Key{}
	}
	m, err := doc.Method(j.jws.KID)
	if err != nil {
		j.set("key", Fail, "%v", err)
		return did.Key{}
	}
	if m.Err != nil {
		j.set("key", j.reason(m.Err), "%v", m.Err)
		return did.Key{}
	}
	if m.Controller != "" && m.Controller != id {
		j.set("key", Fail, "the method's controller is %.100q", m.Controller)
		return did.Key{}
	}
	j.KeyResolution = ResolvedWeb
	j.set("key", Pass, "found under the kid in %s", place)
	if m.Asserted {
		j.set("key-asserted", Pass, "assertionMethod names the key")
	} else {
		j.set("key-asserted", Fail, "assertionMethod does not name the key")
	}
	return m.Key
}

func (j *judge) verify(k did.Key) {
	if k.Curve == "" {
		j.set("signature", Unverifiable, "there is no key to verify it with")
		return
	}
	if k.Curve == did.Ed25519 {
		j.Signer.KeyHex = hex.EncodeToString(k.Bytes)
	}
	if j.failed("jws-algorithm") {
		j.set("signature", NotChecked, "the algorithm is refused")
		return
	}
	switch err := k.Verify(j.jws.Alg, []byte(j.jws.SigningInput), j.jws.Signature); {
	case err == nil:
		j.set("signature", Pass, "verifies over the exact bytes that were signed")
	default:
		j.set("signature", Fail, "%v", err)
	}
}

// asserted lets a key that was retired keep what no longer is, or never was, a live promise.
func (j *judge) asserted() {
	if j.failed("key-asserted") && (j.Kind == KindReceipt || j.states["time"].State == Warn) {
		j.set("key-asserted", Warn, "the document lists the key but no longer lets it sign: retired, as it seems")
	}
}

// conclude derives the verdict from the checks.
func (j *judge) conclude() {
	j.Verdict = Conforms
	for _, n := range names {
		c, ok := j.states[n.name]
		if !ok {
			c = Check{State: NotChecked, Detail: "nothing to check, or not reached"}
		}
		c.Name, c.Source = n.name, n.source
		j.Checks = append(j.Checks, c)
		if c.State == Fail || c.State == Unverifiable {
			j.Verdict = DoesNotConform
		}
	}
	if j.states["signature"].State != Pass || j.states["payload-values"].State == NotChecked {
		j.Verdict = DoesNotConform
	}
	if j.Verdict != Conforms {
		j.Live = nil
	}
}
