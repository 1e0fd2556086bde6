package record

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
)

// RoundFormat names the format of a Round.
const RoundFormat = "store-round/v1"

// MaxPartRows is the most rows one part of a round holds.
const MaxPartRows = 4096

// MaxHeader bounds the bytes of a round header.
const MaxHeader = 4 << 20

// Round is the signed header of one weekly census. Digest and Signature are
// both taken over the same bytes: the canonical header without these two.
type Round struct {
	Format         string        `json:"format"` // RoundFormat
	Origin         string        `json:"origin"`
	Sequence       int64         `json:"sequence"` // from 1, without gaps
	Week           string        `json:"week"`
	TakenAt        string        `json:"taken_at"`        // RFC 3339 UTC, whole seconds
	PreviousDigest attest.Digest `json:"previous_digest"` // all zero in the first round
	Battery        string        `json:"battery"`
	BatteryDigest  attest.Digest `json:"battery_digest"` // of the battery's document: what it asks
	Roster         Roster        `json:"roster"`
	Lot            *Lot          `json:"lot,omitzero"` // by what the order of the roster was drawn
	Coverage       Coverage      `json:"coverage"`
	Control        Control       `json:"control"`
	Inflows        Inflows       `json:"inflows"`
	FirstLeaf      int64         `json:"first_leaf"` // log index of the first row
	Rows           int64         `json:"rows"`
	Parts          []Part        `json:"parts"`
	KID            string        `json:"kid"`
	Digest         attest.Digest `json:"digest,omitzero"`
	Signature      attest.Hex    `json:"signature,omitzero"`
}

// Roster says which hosts were to be walked and where their names came from.
type Roster struct {
	Listed  int64          `json:"listed"` // hosts known by name
	Walked  int64          `json:"walked"` // hosts that were probed
	Capped  bool           `json:"capped"` // a cap stopped the roster or the walk
	Sources []RosterSource `json:"sources"`
}

// RosterSource is one feed of host names, as it was read for this round.
type RosterSource struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`     // Source…
	Hosts    int64  `json:"hosts"`    // distinct hosts it named
	Complete bool   `json:"complete"` // read to its end
	Problem  string `json:"problem,omitzero"`
}

// Coverage counts what the round could not see against itself.
type Coverage struct {
	Due            int64 `json:"due"` // hosts on the roster
	Probed         int64 `json:"probed"`
	NotProbed      int64 `json:"not_probed"`
	PreviousProbed int64 `json:"previous_probed"` // in the round before, 0 in the first
	Dropped        bool  `json:"dropped"`         // probed under 60 % of the round before
	// dropped, capped, a source not read to its end, or own lots twice in a row
	Suspect bool `json:"suspect"`
}

// Control tells how the walks to our own control door went: while they fail,
// nothing is called unreachable. They are published as others are: what each was
// judged by stands in the round's evidence, and is named here.
type Control struct {
	Walks           int64    `json:"walks"`
	Failed          int64    `json:"failed"`                     // walks that did not find the door ready
	Evidence        []string `json:"evidence,omitempty"`         // SHA-256 of judgements, sorted; at most MaxControl
	EvidenceLeftOut int64    `json:"evidence_left_out,omitzero"` // further walks
}

// MaxControl is how many control walks a round names.
const MaxControl = 4096

func (c Control) check() error {
	if c.Failed < 0 || c.Walks < c.Failed || c.EvidenceLeftOut < 0 || c.Walks != int64(len(c.Evidence))+
		c.EvidenceLeftOut {
		return fmt.Errorf("%d walks, %d of them failed, %d named and %d not", c.Walks, c.Failed, len(c.Evidence),
			c.EvidenceLeftOut)
	}
	if len(c.Evidence) > MaxControl {
		return fmt.Errorf("%d walks named, more than %d", len(c.Evidence), MaxControl)
	}
	last := ""
	for _, digest := range c.Evidence {
		if !IsDigest(digest) || digest <= last {
			return fmt.Errorf("%q is no digest, or not in its place", digest)
		}
		last = digest
	}
	return nil
}

// Inflows counts USDC transfers seen arriving in the week at advertised
// addresses: counts only, no names and no addresses.
type Inflows struct {
	From     string          `json:"from"` // RFC 3339 UTC; the span is [from, to), both empty where nobody looked
	To       string          `json:"to"`
	Networks []NetworkInflow `json:"networks"`
}

// NetworkInflow is one network's part of Inflows.
type NetworkInflow struct {
	Network   string `json:"network"` // CAIP-2
	Read      bool   `json:"read"`
	Transfers int64  `json:"transfers"`
	Addresses int64  `json:"addresses"` // advertised addresses that received
	// AddressesLeftOut are advertised addresses with more transactions than could be read, which
	// count in no other figure.
	AddressesLeftOut int64  `json:"addresses_left_out,omitzero"`
	USDC             string `json:"usdc"`            // decimal sum
	Reason           string `json:"reason,omitzero"` // why the network could not be read
}

// Part commits to one immutable file of rows.
type Part struct {
	Rows   int64         `json:"rows"`
	SHA256 attest.Digest `json:"sha256"` // of the part's exact bytes: each row's and a newline
}

// SplitPart checks the bytes of a part against its commitment and returns the
// exact bytes of its rows, which share raw's memory.
func SplitPart(raw []byte, p Part) ([][]byte, error) {
	if sha256.Sum256(raw) != p.SHA256 {
		return nil, rule.PartDigest.By(errPartDigest)
	}
	if len(raw) == 0 || raw[len(raw)-1] != '\n' {
		return nil, rule.PartRows.By(errPartNewline)
	}
	rows := bytes.Split(raw[:len(raw)-1], []byte{'\n'})
	if int64(len(rows)) != p.Rows {
		return nil, rule.PartRows.Errorf("reading part: %d rows instead of %d", len(rows), p.Rows)
	}
	return rows, nil
}

var (
	errPartDigest  = errors.New("reading part: its digest is not the one the round commits to")
	errPartNewline = errors.New("reading part: no final newline")
)

// payload returns the bytes that are hashed and signed.
func (r Round) payload() ([]byte, error) {
	r.Digest, r.Signature = attest.Digest{}, nil
	return attest.Canonical(r)
}

// SignRound sets format, kid, digests and signature and returns the header's
// exact bytes beside the completed header.
func SignRound(r Round, k *attest.Key) (Round, []byte, error) {
	r.Format, r.KID = RoundFormat, k.KID()
	var err error
	if r.BatteryDigest, err = batteryDigest(r.Battery); err != nil {
		return Round{}, nil, fmt.Errorf("signing round %d: %w", r.Sequence, err)
	}
	if err := r.Check(); err != nil {
		return Round{}, nil, err
	}
	payload, err := r.payload()
	if err != nil {
		return Round{}, nil, fmt.Errorf("signing round %d: %w", r.Sequence, err)
	}
	r.Digest, r.Signature = sha256.Sum256(payload), k.Sign(payload)
	b, err := attest.Canonical(r)
	if err != nil {
		return Round{}, nil, fmt.Errorf("signing round %d: %w", r.Sequence, err)
	}
	if len(b) > MaxHeader {
		return Round{}, nil, fmt.Errorf("signing round %d: %d bytes, more than %d", r.Sequence, len(b), MaxHeader)
	}
	return r, b, nil
}

// ParseRound reads the exact bytes of a header and checks its shape and its
// digest, not its signature.
func ParseRound(raw []byte) (Round, error) {
	if len(raw) > MaxHeader {
		return Round{}, rule.FileSize.Errorf("parsing round: larger than %d bytes", MaxHeader)
	}
	var r Round
	if err := attest.ParseCanonical(raw, &r); err != nil {
		return Round{}, rule.RoundForm.Errorf("parsing round: %w", err)
	}
	if err := r.Check(); err != nil {
		return Round{}, err
	}
	payload, err := r.payload()
	if err != nil {
		return Round{}, err
	}
	if sha256.Sum256(payload) != r.Digest {
		return Round{}, rule.RoundDigest.Errorf("parsing round %d: the digest is not that of the header", r.Sequence)
	}
	return r, nil
}

// VerifyRound reads the exact bytes of a header and checks that pub signed it.
func VerifyRound(raw []byte, pub ed25519.PublicKey) (Round, error) {
	r, err := ParseRound(raw)
	if err != nil {
		return Round{}, err
	}
	if r.KID != attest.KID(pub) {
		return Round{}, rule.RoundKey.Errorf("verifying round %d: signed by key %s", r.Sequence, r.KID)
	}
	payload, err := r.payload()
	if err != nil {
		return Round{}, err
	}
	if !attest.Verify(pub, payload, r.Signature) {
		return Round{}, rule.RoundSignature.Errorf("verifying round %d: the signature does not fit", r.Sequence)
	}
	return r, nil
}

// Check demands the shape that SignRound signs and ParseRound accepts.
func (r Round) Check() error {
	broken := rule.RoundForm
	fail := func(format string, args ...any) error {
		return broken.Errorf("checking round %d: %w", r.Sequence, fmt.Errorf(format, args...))
	}
	switch {
	case r.Format != RoundFormat:
		return fail("format is %q, not %q; hint: %w", r.Format, RoundFormat, ErrNewer)
	case r.Origin == "" || r.KID == "" || r.Battery == "":
		return fail("origin, battery and kid must be present")
	case TextBytes(r.Origin) > maxOrigin:
		return fail("an origin of more than %d bytes", maxOrigin)
	case r.Sequence < 1:
		return fail("a sequence starts at 1")
	case (r.Sequence == 1) != (r.PreviousDigest == attest.Digest{}):
		return fail("previous digest %s", r.PreviousDigest)
	case !IsWeek(r.Week):
		return fail("week %q", r.Week)
	case !IsSecond(r.TakenAt):
		return fail("taken at %q", r.TakenAt)
	case r.FirstLeaf < 0 || r.Rows < 0:
		return fail("first leaf %d, %d rows", r.FirstLeaf, r.Rows)
	}
	if wrong := r.malformed(); wrong != "" {
		return fail("%s", wrong)
	}
	if r.Lot != nil {
		if err := r.Lot.check(); err != nil {
			return fail("its lot: %v", err)
		}
	}
	broken = rule.RoundBattery
	if known, err := batteryDigest(r.Battery); err != nil || known != r.BatteryDigest {
		return fail("by a battery %s of digest %s, which is not known here", r.Battery, r.BatteryDigest)
	}
	broken = rule.RoundParts
	var rows int64
	for i, p := range r.Parts {
		// Only the last part may be short, so that a row's position tells its part.
		if p.Rows < 1 || p.Rows > MaxPartRows || i < len(r.Parts)-1 && p.Rows != MaxPartRows {
			return fail("part %d holds %d rows", i+1, p.Rows)
		}
		rows += p.Rows
	}
	if rows != r.Rows {
		return fail("%d rows, but its parts hold %d", r.Rows, rows)
	}
	broken = rule.RoundControl
	if err := r.Control.check(); err != nil {
		return fail("its control: %v", err)
	}
	broken = rule.RoundInflows
	if in := r.Inflows; in.From != "" || in.To != "" || len(in.Networks) > 0 {
		if !IsSecond(in.From) || !IsSecond(in.To) || in.From > in.To {
			return fail("inflows from %q to %q", in.From, in.To)
		}
	}
	for _, n := range r.Inflows.Networks {
		if n.Read != (n.Reason == "") || n.AddressesLeftOut > 0 && !n.Read {
			return fail("inflow of %s", n.Network)
		}
	}
	return nil
}

// malformed says which of the counts, networks and amounts of a header is none, "" for all well.
func (r Round) malformed() string {
	for name, n := range map[string]int64{"listed": r.Roster.Listed, "walked": r.Roster.Walked, "due": r.Coverage.Due,
		"probed": r.Coverage.Probed, "not_probed": r.Coverage.NotProbed, "previous_probed": r.Coverage.PreviousProbed} {
		if n < 0 {
			return fmt.Sprintf("%s is %d", name, n)
		}
	}
	for _, s := range r.Roster.Sources {
		if s.Hosts < 0 {
			return fmt.Sprintf("source %.80q named %d hosts", s.Name, s.Hosts)
		}
	}
	for _, n := range r.Inflows.Networks {
		if !isNetwork(n.Network) || !isAmount(n.USDC) || n.Transfers < 0 || n.Addresses < 0 || n.AddressesLeftOut < 0 {
			return fmt.Sprintf("inflow of %.80q of %.80q", n.Network, n.USDC)
		}
	}
	return ""
}

// Follows checks that r is the round directly after previous in the same chain: next number, its
// digest, a later week and moment, rows that come later in the log, and a lot where the previous
// has one.
func (r Round) Follows(previous Round) error {
	fail := func(broken rule.Rule, what string) error {
		return broken.Errorf("checking chain: round %d does not follow round %d: %s", r.Sequence,
			previous.Sequence, what)
	}
	switch {
	case r.Sequence != previous.Sequence+1:
		return fail(rule.RoundSequence, "the number")
	case r.PreviousDigest != previous.Digest:
		return fail(rule.RoundPrevious, "previous_digest")
	case r.Origin != previous.Origin:
		return fail(rule.RoundOrigin, "another origin")
	case r.Week <= previous.Week || r.TakenAt <= previous.TakenAt:
		return fail(rule.RoundLater, "not later")
	case r.FirstLeaf < previous.FirstLeaf+previous.Rows:
		return fail(rule.RoundPlace, "its rows overlap in the log")
	case r.Lot == nil && previous.Lot != nil:
		return fail(rule.RoundLot, "it does not say by what lot its order was drawn")
	}
	return nil
}

// OpenRow verifies a row by the key of the round: it is of this round and dated in it, and its
// vantages are of walkers whose keys were in force.
func (r *Round) OpenRow(raw []byte, ring attest.Ring) (Row, error) {
	signer, ok := ring.ByKID(r.KID)
	if !ok {
		return Row{}, rule.RoundKey.By(attest.ErrUnknownKey)
	}
	row, err := VerifyRow(raw, ed25519.PublicKey(signer.Public))
	if err == nil {
		err = r.belongsTo(ring, &row)
	}
	return row, err
}

// Belongs checks that a row, whose signature was verified, is of this round, its log and its week.
func (r *Round) Belongs(row *Row) error {
	if row.Origin != r.Origin || row.Sequence != r.Sequence || row.Week != r.Week {
		return rule.RowRound.Errorf("checking row of %s: it says %s round %d of %s, found in %s round %d of %s",
			row.Host, row.Origin, row.Sequence, row.Week, r.Origin, r.Sequence, r.Week)
	}
	return nil
}

func (r *Round) belongsTo(ring attest.Ring, row *Row) error {
	if err := r.Belongs(row); err != nil {
		return err
	}
	if err := r.Dates(row); err != nil {
		return err
	}
	for _, v := range row.Vantages {
		if err := ring.WalkerInForce(v.ID, r.TakenAt); err != nil {
			return rule.RowVantage.Errorf("checking row of %s: vantage: %w", row.Host, err)
		}
	}
	// Every judgement has a salt of its own, so that one that stands twice was not looked at twice.
	if n := len(row.Vantages); n > 0 && len(row.JudgedBy()) != n+1 {
		return rule.RowVantage.Errorf("checking row of %s: two looks rest on one judgement", row.Host)
	}
	return nil
}

// Continues demands that a round follows the one before it, nil for the first, and counts what was
// probed in that.
func (r *Round) Continues(previous *Round) error {
	var probed int64
	if previous != nil {
		if err := r.Follows(*previous); err != nil {
			return err
		}
		probed = previous.Coverage.Probed
	}
	if r.Coverage.PreviousProbed != probed {
		return rule.RoundProbed.Errorf("checking coverage: it says %d were probed in the round before, which were %d",
			r.Coverage.PreviousProbed, probed)
	}
	return nil
}

// Counted demands that the figures of a round, whose rows hold so many hosts that were probed, are
// those that follow from its rows and the round before, nil for the first.
func (r *Round) Counted(probed int64, previous *Round) error {
	again := *r
	again.Coverage.Probed = probed
	again.Count(previous)
	if again.Coverage != r.Coverage || again.Roster.Walked != r.Roster.Walked {
		return rule.RoundCoverage.Errorf("its coverage is not that of its rows")
	}
	return nil
}

// Count completes what follows from the rows and the round before, nil for the first.
func (r *Round) Count(previous *Round) {
	c := &r.Coverage
	c.Due, c.NotProbed = r.Rows, r.Rows-c.Probed
	r.Roster.Walked = c.Probed
	c.Dropped = c.Probed*100 < c.PreviousProbed*60
	c.Suspect = c.Dropped || r.Roster.Capped
	// Twice in a row the keeper alone decided who came first.
	c.Suspect = c.Suspect || r.Lot.IsOwn() && previous != nil && previous.Lot.IsOwn()
	for _, s := range r.Roster.Sources {
		c.Suspect = c.Suspect || !s.Complete
	}
}
