package corpus

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentstore/corpus/attest"
)

// RowFormat names the format of a Row.
const RowFormat = "store-row/v1"

// MaxRow is the most bytes a signed row may have; it is what fits into one
// entry of a C2SP tlog-tiles bundle.
const MaxRow = 65535

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
	SourceDeclared  = "declared"
	SourceWellKnown = "well-known"
	SourceRevisit   = "revisit"
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
	Verdict        string       `json:"verdict"`                // Verdict…
	Reason         string       `json:"reason,omitzero"`        // why it was not probed or not reached
	ReachedLevel   string       `json:"reached_level,omitzero"` // L0 to L6
	Failed         []string     `json:"failed"`                 // names of checks, in the battery's order
	Advisories     []string     `json:"advisories"`
	AlsoUnder      *AlsoUnder   `json:"also_under,omitzero"`
	Protocols      []string     `json:"protocols"` // such as x402, mpp-v1
	ProbeMethod    *ProbeMethod `json:"probe_method,omitzero"`
	Offer          *RowOffer    `json:"offer,omitzero"`
	Battery        string       `json:"battery"`
	Fault          string       `json:"fault"`                    // Fault…
	ObservedAt     string       `json:"observed_at,omitzero"`     // RFC 3339 UTC, whole seconds
	EvidenceDigest string       `json:"evidence_digest,omitzero"` // SHA-256 of the redacted judgement input
	PreviousLeaf   *int64       `json:"previous_leaf,omitzero"`   // log index of this host's row before this one
	KID            string       `json:"kid"`
	Signature      attest.Hex   `json:"signature,omitzero"`
}

// AlsoUnder is the other battery's verdict on the same recording.
type AlsoUnder struct {
	Version    string `json:"version"`
	Verdict    string `json:"verdict"`
	Difference string `json:"difference,omitzero"` // in words, empty when they agree
}

// ProbeMethod says with which HTTP method the door was judged.
type ProbeMethod struct {
	Used       string   `json:"used"`
	Attempted  []string `json:"attempted"`
	DeclaredBy string   `json:"declared_by,omitzero"` // where the door itself named the method
}

// RowOffer is what the door asks for, without addresses.
type RowOffer struct {
	Networks          []string `json:"networks"` // CAIP-2
	Schemes           []string `json:"schemes"`
	MinUSDC           string   `json:"min_usdc,omitzero"` // decimal
	MaxUSDC           string   `json:"max_usdc,omitzero"` // decimal
	PayTo             []PayTo  `json:"pay_to"`
	NotCapturedReason string   `json:"not_captured_reason,omitzero"`
}

// PayTo is an advertised address as the record shows it: by digest only (see
// exchange.PayToDigest).
type PayTo struct {
	Network string `json:"network"`
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
	r.Format, r.KID = RowFormat, k.KID()
	if err := r.Check(); err != nil {
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

// ParseRow reads the exact bytes of a row. It checks the shape, not the
// signature; any other spelling of the same row is refused.
func ParseRow(raw []byte) (Row, error) {
	if len(raw) > MaxRow {
		return Row{}, fmt.Errorf("parsing row: larger than %d bytes", MaxRow)
	}
	var r Row
	if scanRow(string(raw), &r, new(rowRoom)) {
		return r, r.Check()
	}
	r = Row{}
	if err := attest.ParseCanonical(raw, &r); err != nil {
		return Row{}, fmt.Errorf("parsing row: %w", err)
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
		return Row{}, fmt.Errorf("verifying row of %s: signed by key %s", r.Host, r.KID)
	}
	// The signature stands last, so that the signed bytes are those before it, closed.
	body, ok := bytes.CutSuffix(raw, fmt.Appendf(nil, `,"signature":"%s"}`, r.Signature))
	if !ok || !attest.Verify(pub, append(body[:len(body):len(body)], '}'), r.Signature) {
		return Row{}, fmt.Errorf("verifying row of %s: the signature does not fit", r.Host)
	}
	return r, nil
}

// Check demands the shape that SignRow signs and ParseRow accepts.
func (r Row) Check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("checking row of %q: %s", r.Host, fmt.Sprintf(format, args...))
	}
	switch {
	case r.Format != RowFormat:
		return fail("format is %q", r.Format)
	case r.Origin == "" || r.KID == "" || r.Battery == "":
		return fail("origin, battery and kid must be present")
	case r.Sequence < 1:
		return fail("sequence %d", r.Sequence)
	case !isWeek(r.Week):
		return fail("week %q", r.Week)
	case !isHost(r.Host):
		return fail("not a host name")
	case !slices.Contains([]string{SourceDiscovery, SourceDeclared, SourceWellKnown, SourceRevisit}, r.Source):
		return fail("source %q", r.Source)
	case !slices.Contains([]string{FaultNone, FaultDoor, FaultPath, FaultInstrument}, r.Fault):
		return fail("fault %q", r.Fault)
	case r.PreviousLeaf != nil && *r.PreviousLeaf < 0:
		return fail("previous leaf %d", *r.PreviousLeaf)
	}
	var err error
	switch r.Verdict {
	case VerdictNotProbed:
		if r.Reason == "" {
			err = errors.New("not probed, and no reason")
		}
		if r.ReachedLevel != "" || r.ObservedAt != "" || r.EvidenceDigest != "" || r.Offer != nil || r.ProbeMethod != nil || r.AlsoUnder != nil || len(r.Failed) > 0 {
			err = errors.New("not probed, but observed")
		}
	case VerdictReady, VerdictNotReady, VerdictUnreachable:
		err = r.checkObserved()
	default:
		err = fmt.Errorf("verdict %q", r.Verdict)
	}
	if err != nil {
		return fail("%v", err)
	}
	return nil
}

func (r Row) checkObserved() error {
	switch {
	case !isLevel(r.ReachedLevel):
		return fmt.Errorf("reached level %q", r.ReachedLevel)
	case !isSecond(r.ObservedAt):
		return fmt.Errorf("observed at %q", r.ObservedAt)
	case !isDigest(r.EvidenceDigest):
		return fmt.Errorf("evidence digest %q", r.EvidenceDigest)
	case r.Verdict == VerdictReady && len(r.Failed) > 0:
		return fmt.Errorf("ready, but failed %v", r.Failed)
	}
	if r.Offer == nil {
		return nil
	}
	for _, usdc := range []string{r.Offer.MinUSDC, r.Offer.MaxUSDC} {
		if usdc != "" && !isAmount(usdc) {
			return fmt.Errorf("amount %q", usdc)
		}
	}
	for _, p := range r.Offer.PayTo {
		if p.Network == "" || !isDigest(p.Digest) {
			return fmt.Errorf("address digest %q on %q", p.Digest, p.Network)
		}
	}
	return nil
}

// isHost accepts names in lower case without anything that would need care in a URL, a path or JSON.
func isHost(s string) bool {
	return s != "" && strings.ToLower(s) == s && !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`/"\`, c) })
}

// isSecond accepts an RFC 3339 time in UTC in whole seconds.
func isSecond(s string) bool {
	t, err := time.Parse(secondLayout, s)
	return err == nil && t.Format(secondLayout) == s
}

const secondLayout = "2006-01-02T15:04:05Z"

// ISOWeek returns the week of a moment in the form 2026-W47, in UTC.
func ISOWeek(t time.Time) string {
	year, week := t.UTC().ISOWeek()
	return fmt.Sprintf("%04d-W%02d", year, week)
}

// The forms below are looked at once for every row, so that they are spelt out rather than matched.

// isWeek accepts 2026-W47.
func isWeek(s string) bool {
	return len(s) == 8 && areDigits(s[:4]) && s[4:6] == "-W" && areDigits(s[6:]) && "01" <= s[6:] && s[6:] <= "53"
}

// isDigest accepts a SHA-256 in lower-case hexadecimal.
func isDigest(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}

// isLevel accepts L0 to L6.
func isLevel(s string) bool { return len(s) == 2 && s[0] == 'L' && '0' <= s[1] && s[1] <= '6' }

// isAmount accepts a decimal of at most six places, without a sign and without leading zeros.
func isAmount(s string) bool {
	whole, part, point := strings.Cut(s, ".")
	return areDigits(whole) && (whole == "0" || whole[0] != '0') && (!point || areDigits(part) && len(part) <= 6)
}

// areDigits accepts one digit or more.
func areDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
