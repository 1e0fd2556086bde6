package record

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
)

// RowFormat names the format of a Row.
const RowFormat = "store-row/v1"

// MaxRow is the most bytes a signed row may have. Every member has a bound of
// its own, and a row in which all of them are at it is no longer than this.
const MaxRow = 16 << 10

// The bounds of a row's members: of lists in entries, of texts in bytes as JSON
// writes them.
const (
	maxHost       = 253 // RFC 1035, section 2.3.4
	maxOrigin     = 320 // a host and a path
	maxWord       = 64  // a name of ours: a catalogue, a reason, a battery, a scheme
	maxCheck      = 44  // the name of a check or an advisory
	maxNetwork    = 41  // a name in CAIP-2
	maxFailed     = 24
	maxAdvisories = 44
	maxProtocols  = 8
	maxAttempted  = 4
	maxVersion    = 16 // the name of a battery
	maxAlsoUnder  = 4
	maxDifference = 160
	maxVantages   = 4
	kidLength     = 43 // the thumbprint of RFC 7638, unpadded
	// MaxRowURL is the longest URL of a row. A roster takes no door whose own is longer than
	// MaxDoorURL: publishing may lengthen it, where a stand-in is longer than its address.
	MaxRowURL  = 2560
	MaxDoorURL = 2048
	// MaxNetworks and MaxPayTo are how many networks and addresses an offer lists; the others are
	// counted.
	MaxNetworks = 32
	MaxPayTo    = 32
	maxSchemes  = 8
	maxAmount   = 80 // digits of 256 bits and a point
)

// The verdicts of a row.
const (
	VerdictReady       = "ready"
	VerdictNotReady    = "not_ready"
	VerdictUnreachable = "unreachable"
	VerdictNotProbed   = "not_probed"
)

// The ways by which a host comes onto the roster.
const (
	SourceDiscovery = "discovery"
	SourceWellKnown = "well-known" // its own file, also where it declared itself
	SourceList      = "list"       // the keeper's
	SourceRevisit   = "revisit"
	// SourceDeclared is the kind of a source of a roster; rows that come by it say SourceWellKnown.
	SourceDeclared = "declared"
)

// Whose fault a failed walk was.
const (
	FaultNone       = "none"
	FaultDoor       = "door"
	FaultPath       = "path"
	FaultInstrument = "instrument"
)

// Row is what one round saw of one host. What was not observed is absent:
// a row that was not probed has no level, method, time or evidence.
type Row struct {
	Format         string       `json:"format"` // RowFormat
	Origin         string       `json:"origin"` // of the log, as in its checkpoints
	Sequence       int64        `json:"sequence"`
	Week           string       `json:"week"` // ISO week, 2026-W47
	Host           string       `json:"host"` // lower case
	URL            string       `json:"url"`  // the door that was walked
	Listed         bool         `json:"listed"`
	Source         string       `json:"source"`                 // Source…
	Catalog        string       `json:"catalog"`                // the catalogue that listed it, "" for none
	Late           bool         `json:"late,omitzero"`          // it came onto the roster after that was closed
	Verdict        string       `json:"verdict"`                // Verdict…
	Reason         string       `json:"reason,omitzero"`        // why it was not probed or not reached
	ReachedLevel   string       `json:"reached_level,omitzero"` // L0 to L6
	Failed         []string     `json:"failed"`                 // names of checks, in the battery's order
	Advisories     []string     `json:"advisories"`
	AlsoUnder      []AlsoUnder  `json:"also_under,omitempty"` // what other batteries say, sorted by version; at most 4
	Protocols      []string     `json:"protocols"`            // such as x402, mpp-v1
	ProbeMethod    *ProbeMethod `json:"probe_method,omitzero"`
	Offer          *RowOffer    `json:"offer,omitzero"`
	Battery        string       `json:"battery"`
	Fault          string       `json:"fault"`                    // Fault…
	ObservedAt     string       `json:"observed_at,omitzero"`     // RFC 3339 UTC, whole seconds
	EvidenceDigest string       `json:"evidence_digest,omitzero"` // SHA-256 of the judgement
	// where it was walked from as well, sorted by id; at most 4
	Vantages     []Vantage  `json:"vantages,omitempty"`
	PreviousLeaf *int64     `json:"previous_leaf,omitzero"` // log index of this host's row before this one
	KID          string     `json:"kid"`
	Signature    attest.Hex `json:"signature,omitzero"`
}

// AlsoUnder is another battery's verdict on the same recording.
type AlsoUnder struct {
	Version    string `json:"version"`
	Verdict    string `json:"verdict"`             // of probe's words, such as method_unresolved
	Difference string `json:"difference,omitzero"` // in words, empty when they agree
}

// alsoVerdicts are what a battery may say of a door that was walked.
var alsoVerdicts = []string{VerdictReady, VerdictNotReady, VerdictUnreachable, "method_unresolved"}

// Vantage is what a walker at another place saw of the door in the same week.
type Vantage struct {
	ID             string `json:"id"`      // of the walker's key
	Verdict        string `json:"verdict"` // ready, not_ready or unreachable
	EvidenceDigest string `json:"evidence_digest"`
}

// JudgedBy are the digests of what the row and its vantages were judged by, sorted.
func (r Row) JudgedBy() (all []string) {
	if r.EvidenceDigest != "" {
		all = append(all, r.EvidenceDigest)
	}
	for _, v := range r.Vantages {
		all = append(all, v.EvidenceDigest)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ProbeMethod says with which HTTP method the door was judged.
type ProbeMethod struct {
	Used       string   `json:"used"`
	Attempted  []string `json:"attempted"`
	DeclaredBy string   `json:"declared_by,omitzero"` // where the door itself named the method
}

// RowOffer is what the door asks for, without addresses. What a door wrote is
// repeated only where it is a well-formed or known name; the rest is "other".
// Lists hold the first of the offer and count those that they leave out; amounts
// are of all its entries.
type RowOffer struct {
	// CAIP-2 or a known short name, sorted; at most MaxNetworks
	Networks          []string `json:"networks"`
	NetworksLeftOut   int64    `json:"networks_left_out,omitzero"` // further ones
	Schemes           []string `json:"schemes"`                    // known names, sorted
	MinUSDC           string   `json:"min_usdc,omitzero"`          // decimal
	MaxUSDC           string   `json:"max_usdc,omitzero"`          // decimal
	PayTo             []PayTo  `json:"pay_to"`                     // at most MaxPayTo
	PayToLeftOut      int64    `json:"pay_to_left_out,omitzero"`   // further addresses
	NotCapturedReason string   `json:"not_captured_reason,omitzero"`
}

// PayTo is an advertised address as the record shows it: by digest only (see
// exchange.PayToDigest).
type PayTo struct {
	Network string `json:"network"` // networks.CAIP2Name: CAIP-2, or "other"
	Digest  string `json:"digest"`
}

// payload returns the bytes that are signed: the canonical row without its
// signature.
func (r Row) payload() ([]byte, error) {
	r.Signature = nil
	return attest.Canonical(r)
}

// SignRow sets format, kid and signature and returns the row's exact bytes,
// which are its log leaf and its line in a part.
func SignRow(r Row, k *attest.Key) ([]byte, error) {
	if err := r.Complete(k); err != nil {
		return nil, err
	}
	payload, err := r.payload()
	if err != nil {
		return nil, fmt.Errorf("signing row of %s: %w", r.Host, err)
	}
	r.Signature = k.Sign(payload)
	b, err := attest.Canonical(r)
	if err != nil {
		return nil, fmt.Errorf("signing row of %s: %w", r.Host, err)
	}
	if len(b) > MaxRow {
		return nil, fmt.Errorf("signing row of %s: %d bytes, more than %d", r.Host, len(b), MaxRow)
	}
	return b, nil
}

// Complete sets what SignRow sets but the signature, and demands the shape of a row.
func (r *Row) Complete(k *attest.Key) error {
	r.Format, r.KID = RowFormat, k.KID()
	return r.Check()
}

// ParseRow reads the exact bytes of a row. It checks the shape, not the
// signature; any other spelling of the same row is refused.
func ParseRow(raw []byte) (Row, error) {
	if len(raw) > MaxRow {
		return Row{}, rule.RowForm.Errorf("parsing row: larger than %d bytes", MaxRow)
	}
	var r Row
	if err := attest.ParseCanonical(raw, &r); err != nil {
		return Row{}, rule.RowForm.Errorf("parsing row: %w", err)
	}
	return r, r.Check()
}

// VerifyRow reads the exact bytes of a row and checks that pub signed them.
func VerifyRow(raw []byte, pub ed25519.PublicKey) (Row, error) {
	r, err := ParseRow(raw)
	if err != nil {
		return Row{}, err
	}
	if r.KID != attest.KID(pub) {
		return Row{}, rule.RowKey.Errorf("verifying row of %s: signed by key %s", r.Host, r.KID)
	}
	// The signature stands last, so that the signed bytes are those before it, closed.
	body, ok := bytes.CutSuffix(raw, fmt.Appendf(nil, `,"signature":"%s"}`, r.Signature))
	if !ok || !attest.Verify(pub, append(body[:len(body):len(body)], '}'), r.Signature) {
		return Row{}, rule.RowSignature.Errorf("verifying row of %s: the signature does not fit", r.Host)
	}
	return r, nil
}

// Check demands the shape that SignRow signs and ParseRow accepts.
func (r Row) Check() error {
	broken := rule.RowForm
	fail := func(format string, args ...any) error {
		return broken.Errorf("checking row of %q: %w", r.Host, fmt.Errorf(format, args...))
	}
	switch {
	case r.Format != RowFormat:
		return fail("format is %.80q, not %q; hint: %w", r.Format, RowFormat, ErrNewer)
	case r.Origin == "" || r.KID == "":
		return fail("origin and kid must be present")
	case Batteries[r.Battery] == "":
		return fail("battery %.80q; hint: %w", r.Battery, ErrNewer)
	case r.Sequence < 1:
		return fail("sequence %d", r.Sequence)
	case !IsWeek(r.Week):
		return fail("week %q", r.Week)
	case !isHost(r.Host):
		return fail("not a host name")
	case !slices.Contains([]string{SourceDiscovery, SourceWellKnown, SourceList, SourceRevisit}, r.Source):
		return fail("source %q", r.Source)
	case !slices.Contains([]string{FaultNone, FaultDoor, FaultPath, FaultInstrument}, r.Fault):
		return fail("fault %q", r.Fault)
	case r.PreviousLeaf != nil && *r.PreviousLeaf < 0:
		return fail("previous leaf %d", *r.PreviousLeaf)
	}
	err := r.checkBounds()
	if err != nil {
		return fail("%v", err)
	}
	if !isDoorOf(r.URL, r.Host) {
		broken = rule.RowURL
		return fail("url %.200q is no address of it over https", r.URL)
	}
	switch r.Verdict {
	case VerdictNotProbed:
		broken = rule.RowWalk
		if r.Reason == "" {
			err = errors.New("not probed, and no reason")
		}
		if (r.EvidenceDigest != "") != (r.Reason == ReasonOptedOut) ||
			r.EvidenceDigest != "" && !IsDigest(r.EvidenceDigest) {
			err = fmt.Errorf("not probed for %.40q, by evidence %.80q", r.Reason, r.EvidenceDigest)
		}
		if r.ReachedLevel != "" || r.ObservedAt != "" || r.Offer != nil ||
			r.ProbeMethod != nil || len(r.AlsoUnder) > 0 || len(r.Vantages) > 0 || len(r.Failed) > 0 {
			err = errors.New("not probed, but observed")
		}
	case VerdictReady, VerdictNotReady, VerdictUnreachable:
		err = r.checkObserved()
	default:
		err = fmt.Errorf("verdict %q", r.Verdict)
	}
	if err != nil {
		broken = rule.Or(err, broken)
		return fail("%v", err)
	}
	return nil
}

func (r Row) checkObserved() error {
	switch {
	case r.ReachedLevel == "" || r.ObservedAt == "" || r.EvidenceDigest == "":
		return rule.RowWalk.Errorf("no reached_level, no observed_at or no evidence_digest")
	case !isLevel(r.ReachedLevel):
		return fmt.Errorf("reached level %q", r.ReachedLevel)
	case !IsSecond(r.ObservedAt):
		return fmt.Errorf("observed at %q", r.ObservedAt)
	case !IsDigest(r.EvidenceDigest):
		return fmt.Errorf("evidence digest %q", r.EvidenceDigest)
	case r.Verdict == VerdictReady && r.ReachedLevel < readyFrom[r.Battery]:
		return rule.RowWalk.Errorf("ready by battery %s at %s, and ready begins at %s", r.Battery, r.ReachedLevel,
			readyFrom[r.Battery])
	case r.Verdict == VerdictReady && len(r.Failed) > 0:
		return rule.RowWalk.Errorf("ready, but failed %v", r.Failed)
	}
	last := ""
	for _, u := range r.AlsoUnder {
		if u.Version <= last || u.Version == r.Battery || !slices.Contains(alsoVerdicts, u.Verdict) {
			return fmt.Errorf("%s under %q, where other batteries stand in order", u.Verdict, u.Version)
		}
		last = u.Version
	}
	last = ""
	for _, v := range r.Vantages {
		switch {
		case len(v.ID) != kidLength || !printable(v.ID) || v.ID <= last:
			return fmt.Errorf("vantage %.80q is no key's, or not in its place", v.ID)
		case v.Verdict != VerdictReady && v.Verdict != VerdictNotReady && v.Verdict != VerdictUnreachable,
			!IsDigest(v.EvidenceDigest):
			return fmt.Errorf("vantage %s saw %.40q, by %.80q", v.ID, v.Verdict, v.EvidenceDigest)
		case v.Verdict != r.Verdict && (r.Verdict != VerdictNotReady || r.Fault != FaultPath):
			return fmt.Errorf("vantage %s saw %s: where vantages disagree the door is not ready and the path at fault",
				v.ID, v.Verdict)
		}
		last = v.ID
	}
	if r.Offer == nil {
		return nil
	}
	for _, usdc := range []string{r.Offer.MinUSDC, r.Offer.MaxUSDC} {
		if usdc != "" && !isAmount(usdc) {
			return fmt.Errorf("amount %q", usdc)
		}
	}
	for _, n := range r.Offer.Networks {
		if !isOffered(n) {
			return fmt.Errorf("network %.80q", n)
		}
	}
	for _, p := range r.Offer.PayTo {
		if !isNetwork(p.Network) || !IsDigest(p.Digest) {
			return fmt.Errorf("address digest %q on %q", p.Digest, p.Network)
		}
	}
	return nil
}

// checkBounds demands of every member that it is within its bound, so that a row of this shape can
// always be signed.
func (r Row) checkBounds() error {
	text := func(name, s string, most int) error {
		if n := TextBytes(s); n > most {
			return fmt.Errorf("%s of %d bytes, more than %d", name, n, most)
		}
		if !utf8.ValidString(s) {
			return fmt.Errorf("%s is not UTF-8", name)
		}
		return nil
	}
	names := func(name string, list []string, most, each int) error {
		if len(list) > most {
			return fmt.Errorf("%d %s, more than %d", len(list), name, most)
		}
		for _, s := range list {
			if err := text(name, s, each); err != nil {
				return err
			}
		}
		return nil
	}
	err := cmp.Or(text("origin", r.Origin, maxOrigin), text("url", r.URL, MaxRowURL),
		text("catalog", r.Catalog, maxWord),
		text("reason", r.Reason, maxWord), text("battery", r.Battery, maxVersion), text("kid", r.KID, maxWord),
		names("failed", r.Failed, maxFailed, maxCheck), names("advisories", r.Advisories, maxAdvisories, maxCheck),
		names("protocols", r.Protocols, maxProtocols, maxWord))
	if len(r.AlsoUnder) > maxAlsoUnder {
		return fmt.Errorf("%d other batteries, more than %d", len(r.AlsoUnder), maxAlsoUnder)
	}
	if len(r.Vantages) > maxVantages {
		return fmt.Errorf("%d vantages, more than %d", len(r.Vantages), maxVantages)
	}
	for _, u := range r.AlsoUnder {
		err = cmp.Or(err, text("version", u.Version, maxVersion), text("difference", u.Difference, maxDifference))
	}
	if m := r.ProbeMethod; m != nil {
		err = cmp.Or(err, text("method", m.Used, maxWord), text("declared_by", m.DeclaredBy, maxWord),
			names("attempted", m.Attempted, maxAttempted, maxWord))
	}
	o := r.Offer
	if o == nil {
		return err
	}
	err = cmp.Or(err, names("networks", o.Networks, MaxNetworks, maxNetwork),
		names("schemes", o.Schemes, maxSchemes, maxWord), text("min_usdc", o.MinUSDC, maxAmount),
		text("max_usdc", o.MaxUSDC, maxAmount), text("not_captured_reason", o.NotCapturedReason, maxWord))
	switch {
	case err != nil:
		return err
	case len(o.PayTo) > MaxPayTo:
		return fmt.Errorf("%d addresses, more than %d", len(o.PayTo), MaxPayTo)
	case o.NetworksLeftOut < 0 || o.PayToLeftOut < 0:
		return errors.New("fewer than none left out")
	case o.NetworksLeftOut > 0 && len(o.Networks) < MaxNetworks || o.PayToLeftOut > 0 && len(o.PayTo) < MaxPayTo:
		return errors.New("something is left out that fits")
	}
	return nil
}
