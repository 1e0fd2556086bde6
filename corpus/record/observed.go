package record

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/networks"
)

// Refresh is what a walk of one door between rounds saw, in the words of a Row.
type Refresh struct {
	Host           string   `json:"host"`
	URL            string   `json:"url"`
	Verdict        string   `json:"verdict"` // ready, not_ready or unreachable
	ReachedLevel   string   `json:"reached_level"`
	Failed         []string `json:"failed"`
	Battery        string   `json:"battery"`
	Fault          string   `json:"fault"`
	EvidenceDigest string   `json:"evidence_digest"`
}

// Erratum corrects a row, which stays as it is signed.
type Erratum struct {
	Leaf           int64  `json:"leaf"` // of the row
	Reason         string `json:"reason"`
	VerdictNow     string `json:"verdict_now"`              // ready, not_ready, unreachable or not_probed
	EvidenceDigest string `json:"evidence_digest,omitzero"` // of the judgement that gives it; absent for not_probed
	// Kind is ErratumError where the verdict was false by a fault of our own, and what the erratum
	// rests on shows it; then Cause says why, and a not_probed has a judgement too.
	Kind  string `json:"kind,omitzero"`
	Cause string `json:"cause,omitzero"` // of Causes
	// Checks are those that the row told falsely, in the battery's order (FalseChecks).
	Checks []string `json:"checks,omitempty"`
}

// PaidWalk is a purchase at a door: the settlement was verified on its network by us; what the door
// answered is the walker's claim.
type PaidWalk struct {
	Host        string     `json:"host"`
	URL         string     `json:"url"`
	Network     string     `json:"network"` // CAIP-2
	Transaction string     `json:"transaction"`
	USDC        string     `json:"usdc"` // decimal
	Claim       *WalkClaim `json:"claim,omitzero"`
	By          string     `json:"by,omitzero"` // BoughtBy…, a walker's own word; empty before it was told
	// ChargedTwice is ChargedYes or ChargedNo where the order was made again, as after a loss.
	ChargedTwice string `json:"charged_twice,omitzero"`
	Second       string `json:"second_transaction,omitzero"`
}

// UnpaidWalk is a purchase by the store's own wallet in which no money moved, and can move no more.
type UnpaidWalk struct {
	Host    string     `json:"host"`
	URL     string     `json:"url"`
	Network string     `json:"network"`
	USDC    string     `json:"usdc"`           // what was signed for
	Claim   *WalkClaim `json:"claim,omitzero"` // absent: no answer came
}

// WalkClaim is what the walker says the door answered.
type WalkClaim struct {
	Status      int64  `json:"status"`
	BodySHA256  string `json:"body_sha256"`
	Bytes       int64  `json:"bytes"`
	LatencyMS   int64  `json:"latency_ms"`
	ContentType string `json:"content_type"`
}

// Who bought at a door, and whether an order that was made again was charged again.
const (
	BoughtByStore         = "store"    // its own wallet
	BoughtBySeller        = "seller"   // who says that the door is theirs
	BoughtByStranger      = "stranger" // anybody else
	ChargedYes, ChargedNo = "yes", "no"
)

// Delivers reports whether a door answered with a status from 200 to 299.
func (c *WalkClaim) Delivers() bool { return c != nil && c.Status/100 == 2 }

// Declaration is a host's own list of its doors.
type Declaration struct {
	Host  string `json:"host"`
	Shape string `json:"shape"` // which known shape its file had
	// URLs at the host: the first, at most MaxDoors of at most MaxDoorBytes together
	Doors        []string `json:"doors"`
	DoorsLeftOut int64    `json:"doors_left_out,omitzero"` // further ones
	Foreign      int64    `json:"foreign"`
}

// The bounds of what a declaration lists.
const (
	MaxDoors     = 20
	MaxDoorBytes = 12 << 10
)

// Cut returns the declaration with as many doors as it may list, and counts the others.
func (d Declaration) Cut() Declaration {
	bytes := 0
	for i, door := range d.Doors {
		if bytes += TextBytes(door); i == MaxDoors || bytes > MaxDoorBytes || TextBytes(door) > MaxRowURL {
			d.DoorsLeftOut += int64(len(d.Doors) - i)
			d.Doors = d.Doors[:i:i]
			break
		}
	}
	return d
}

// MaxStatement is how many characters a host's statement has at most.
const MaxStatement = 500

// StandingNote is what a host wishes to be said beside its history.
type StandingNote struct {
	Host      string `json:"host"`
	Lane      string `json:"lane"` // wallet or host: how control was shown
	Statement Said   `json:"statement"`
	SignedAt  string `json:"signed_at"`
	PayTo     *PayTo `json:"pay_to,omitzero"` // the address that signed, by digest; wallet lane
}

// Tip is a tip that was published. Its text is sold: it stands in no record, and its digest shows
// that what a buyer was given is what was published.
type Tip struct {
	ID    string `json:"id"`
	Title Said   `json:"title"`
	Text  Said   `json:"text"`
	By    *Said  `json:"by,omitzero"` // the contributor's name
}

// Issued counts the artifacts issued since the store opened.
type Issued struct {
	Total   int64         `json:"total"`
	Classes []IssuedClass `json:"classes"` // sorted by class, which add up to Total
	// Certificates commits to those that were delivered since the count that committed last; absent
	// where there are none.
	Certificates *IssuedTree `json:"certificates,omitzero"`
}

// IssuedTree is a Merkle tree (RFC 6962) of certificates: each leaf is the SHA-256 of the payload
// that one was signed as, 32 bytes. What stands in no tree of its time was made later.
type IssuedTree struct {
	Through string `json:"through"` // the ISO week of the last deliveries: over when the tree was made
	Size    int64  `json:"size"`    // leaves, at least 1
	Root    string `json:"root"`    // hex
}

// IssuedClass counts one class of artifacts.
type IssuedClass struct {
	Class string `json:"class"`
	Total int64  `json:"total"`
}

// The bounds of further members.
const (
	maxEpitaph = 1000
	maxTx      = 128 // a transaction
	maxClasses = 64
)

// mediaType is type and subtype (RFC 9110, section 8.3.1), in lower case.
var mediaType = regexp.MustCompile(`^[a-z0-9!#$&^_.+-]{1,40}/[a-z0-9!#$&^_.+-]{1,80}$`)

// ContentType is what a record says of a Content-Type: type and subtype without parameters, "other"
// for what is neither, "" for nothing.
func ContentType(header string) string {
	t, _, _ := strings.Cut(header, ";")
	t = strings.ToLower(strings.TrimSpace(t))
	switch {
	case header == "":
		return ""
	case mediaType.MatchString(t):
		return t
	}
	return OtherWord
}

// checkMembers demands the members of the observation's kind, and no others.
func (o Observation) checkMembers() error {
	missing := fmt.Errorf("not the members of kind %q", o.Kind)
	members := []struct {
		kind  string
		there bool
		check func() error
	}{
		{ObservationRetiredWord, o.Word != nil || o.Epitaph != "", func() error {
			if o.Word == nil || TextBytes(o.Epitaph) > maxEpitaph {
				return missing
			}
			return nil
		}},
		{ObservationPaidRefresh, o.Refresh != nil, func() error { return o.Refresh.check(o.At) }},
		{ObservationPaidWalk, o.Walk != nil, o.Walk.check},
		{ObservationUnpaidWalk, o.Unpaid != nil, o.Unpaid.check},
		{ObservationDeclaration, o.Declaration != nil, o.Declaration.check},
		{ObservationStandingNote, o.Note != nil, o.Note.check},
		{ObservationPublishedTip, o.Tip != nil, func() error {
			if o.Tip.ID == "" || TextBytes(o.Tip.ID) > maxWord {
				return missing
			}
			return nil
		}},
		{ObservationArtifactsIssued, o.Issued != nil, func() error { return o.Issued.check(o.At) }},
		{ObservationKeyEvent, o.Handover != nil, func() error { return o.Handover.Verify() }},
		{ObservationWithdrawn, o.Withdrawn != nil, o.Withdrawn.check},
		{ObservationRoster, o.Roster != nil, o.Roster.check},
		{ObservationErratum, o.Erratum != nil, o.Erratum.check},
	}
	present, mine := 0, -1
	for i, m := range members {
		if m.there {
			present++
		}
		if m.kind == o.Kind {
			mine = i
		}
	}
	if present != 1 {
		return fmt.Errorf("%d members of kinds where one belongs", present)
	}
	for _, s := range o.said() {
		if err := s.check(); err != nil {
			return err
		}
	}
	switch {
	case mine < 0:
		return fmt.Errorf("unknown kind %q", o.Kind)
	case !members[mine].there:
		return missing
	}
	return members[mine].check()
}

func (r *Refresh) check(at string) error {
	switch {
	case r.Verdict == VerdictNotProbed:
		return errors.New("a refresh that saw nothing")
	case at < citesFirstBefore && r.Battery != firstBattery:
		return fmt.Errorf("a refresh of %s by battery %s: what was signed before %s cites %s", at, r.Battery,
			citesFirstBefore, firstBattery)
	}
	// A refresh holds to what a row holds to.
	return Row{Format: RowFormat, Origin: "-", Sequence: 1, Week: "2026-W01", KID: "-", Host: r.Host, URL: r.URL,
		Source:  SourceWellKnown,
		Verdict: r.Verdict, ReachedLevel: r.ReachedLevel, Failed: r.Failed, Battery: r.Battery, Fault: r.Fault,
		ObservedAt: at, EvidenceDigest: r.EvidenceDigest}.Check()
}

func (e *Erratum) check() error {
	switch {
	case e.Leaf < 0 || e.Leaf > attest.MaxInteger || e.Reason == "" || TextBytes(e.Reason) > maxReason:
		return fmt.Errorf("an erratum of leaf %d without a reason, or with one of more than %d bytes", e.Leaf,
			maxReason)
	case e.Kind != "" && (e.Kind != ErratumError || !slices.ContainsFunc(causes, e.hasCause)):
		return fmt.Errorf("an erratum of kind %.40q with cause %.40q; hint: %w", e.Kind, e.Cause, ErrNewer)
	case e.Kind == "" && (e.Cause != "" || len(e.Checks) > 0):
		return errors.New("an erratum of no kind with a cause or with checks")
	case e.Kind == ErratumError && e.EvidenceDigest == "":
		return errors.New("an instrument_error that rests on nothing")
	case e.checkNames() != nil:
		return e.checkNames()
	case e.VerdictNow == VerdictNotProbed && (e.EvidenceDigest == "" || e.Kind != "" && IsDigest(e.EvidenceDigest)):
	case e.VerdictNow == VerdictReady || e.VerdictNow == VerdictNotReady || e.VerdictNow == VerdictUnreachable:
		if !IsDigest(e.EvidenceDigest) {
			return fmt.Errorf("an erratum whose verdict rests on %.80q", e.EvidenceDigest)
		}
	default:
		return fmt.Errorf("an erratum with verdict %.40q, by %.80q", e.VerdictNow, e.EvidenceDigest)
	}
	return nil
}

func (w *PaidWalk) check() error {
	told := slices.Contains([]string{BoughtByStore, BoughtBySeller, BoughtByStranger}, w.By)
	switch {
	case !isTransaction(w.Transaction):
		return fmt.Errorf("transaction %.200q", w.Transaction)
	case !told && w.By+w.ChargedTwice != "" || !slices.Contains([]string{"", ChargedYes, ChargedNo}, w.ChargedTwice):
		return fmt.Errorf("a purchase by %.40q, charged twice %.40q; hint: %w", w.By, w.ChargedTwice, ErrNewer)
	case (w.ChargedTwice == ChargedYes) != (isTransaction(w.Second) && w.Second != w.Transaction),
		w.ChargedTwice != ChargedYes && w.Second != "":
		return fmt.Errorf("charged twice %q, in %.200q and %.200q", w.ChargedTwice, w.Transaction, w.Second)
	}
	return checkBought(w.Host, w.URL, w.Network, w.USDC, w.Claim)
}

func (w *UnpaidWalk) check() error { return checkBought(w.Host, w.URL, w.Network, w.USDC, w.Claim) }

func checkBought(host, url, network, usdc string, claim *WalkClaim) error {
	switch {
	case !isHost(host) || !isDoorOf(url, host) || TextBytes(url) > MaxRowURL || networks.CAIP2Name(network) != network:
		return errors.New("a purchase without host or network, or whose URL is too long or not of the host over https")
	case !isAmount(usdc):
		return fmt.Errorf("amount %q", usdc)
	case claim != nil && (claim.BodySHA256 != "" && !IsDigest(claim.BodySHA256) || claim.Status < 0 ||
		claim.Bytes < 0 || claim.LatencyMS < 0):
		return errors.New("a claim that cannot be")
	case claim != nil && claim.ContentType != ContentType(claim.ContentType):
		return fmt.Errorf("content type %.200q, where a media type belongs, or %s", claim.ContentType, OtherWord)
	}
	return nil
}

func isTransaction(tx string) bool {
	return tx != "" && len(tx) <= maxTx && !strings.Contains(tx, " ") && printable(tx) && TextBytes(tx) == len(tx)
}

func (d *Declaration) check() error {
	cut := d.Cut()
	switch {
	case !isHost(d.Host) || d.Shape == "" || TextBytes(d.Shape) > maxWord || d.Foreign < 0 || d.DoorsLeftOut < 0:
		return errors.New("a declaration without host or shape")
	case len(cut.Doors) != len(d.Doors):
		return fmt.Errorf("a declaration of more than %d doors, or of %d bytes", MaxDoors, MaxDoorBytes)
	}
	return nil
}

func (n *StandingNote) check() error {
	switch {
	case !isHost(n.Host) || utf8.RuneCountInString(n.Statement.Text) > MaxStatement || !IsSecond(n.SignedAt):
		return errors.New("a note without host or time, or of more than 500 characters")
	case n.Lane == "host" && n.PayTo == nil:
		return nil
	case n.Lane == "wallet" && n.PayTo != nil && networks.CAIP2Name(n.PayTo.Network) == n.PayTo.Network &&
		IsDigest(n.PayTo.Digest):
		return nil
	}
	return fmt.Errorf("a note by lane %q, with the address of another or none", n.Lane)
}

func (i *Issued) check(at string) error {
	var sum int64
	for _, c := range i.Classes {
		if c.Class == "" || TextBytes(c.Class) > maxWord || c.Total < 0 {
			return fmt.Errorf("class %q of %d", c.Class, c.Total)
		}
		sum += c.Total
	}
	sorted := slices.IsSortedFunc(i.Classes, func(a, b IssuedClass) int { return strings.Compare(a.Class, b.Class) })
	if len(i.Classes) > maxClasses || sum != i.Total || i.Total > attest.MaxInteger || !sorted {
		return errors.New("classes that are not sorted or do not add up")
	}
	if i.Certificates == nil {
		return nil
	}
	t := *i.Certificates
	now, err := time.Parse(time.RFC3339, at)
	switch {
	case err != nil:
		return err
	case !IsWeek(t.Through) || t.Through >= ISOWeek(now):
		return fmt.Errorf("certificates through %.20q, which is no week before %s", t.Through, ISOWeek(now))
	case t.Size < 1 || t.Size > attest.MaxInteger || !IsDigest(t.Root):
		return fmt.Errorf("a tree of %d certificates with root %.80q", t.Size, t.Root)
	}
	return nil
}
