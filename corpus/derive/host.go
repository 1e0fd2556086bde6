package derive

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"

	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/corpus/tlog"
)

// HostFormat names the format of a Host.
const HostFormat = "store-host-history/v1"

// License is that of the record and of everything derived from it.
const License = "CC-BY-4.0"

// NoDeclaration stands where a host has not declared its doors.
const NoDeclaration = "no_declaration"

// Host is what the record shows of one host, as it is published: its page, the page's twin and its
// JSON are three spellings of it. It is not signed; it cites what is.
type Host struct {
	Format  string `json:"format"`
	Host    string `json:"host"`
	URL     string `json:"url"`     // of the page
	Signed  string `json:"signed"`  // in words: what is signed and what is not
	Listing string `json:"listing"` // listed or not_listed, in the newest round

	RoundsInChain int64       `json:"rounds_in_chain"`
	Rounds        int64       `json:"rounds_since_first_sighting"` // RoundsProbed and RoundsMissed add up to it
	RoundsProbed  int64       `json:"rounds_probed"`
	RoundsMissed  int64       `json:"rounds_gapped"`
	TurnedAway    int64       `json:"rounds_turned_away"`   // beside them
	NotExercised  int64       `json:"rounds_not_exercised"` // the same
	Coverage      int64       `json:"observation_coverage_pct"`
	FirstObserved string      `json:"first_observed,omitzero"`
	LastObserved  string      `json:"last_observed,omitzero"`
	Gaps          tier.Counts `json:"gaps_by_reason"`

	Tier        HostTier      `json:"tier"`
	Changes     []tier.Change `json:"verdict_changes"`
	Timeline    []HostWeek    `json:"timeline"` // every round, oldest first
	Payment     *Payment      `json:"payment_address"`
	Citation    Citation      `json:"citation"`
	PaidWalks   []Walked      `json:"paid_walks"`
	Unpaid      []Unpaid      `json:"unpaid_walks,omitzero"`
	Refreshes   []Refreshed   `json:"paid_refreshes"`
	Declaration Declared      `json:"declaration"`
	Note        *NoteHeld     `json:"standing_note"`
	Earlier     []NoteHeld    `json:"earlier_notes,omitzero"` // that stood before, the newest first
	LeftOut     int64         `json:"earlier_notes_left_out,omitzero"`
	Cannot      []string      `json:"what_this_cannot_see"`
}

// HostTier is a Standing with the rule it follows.
type HostTier struct {
	Tier          string       `json:"tier"`
	Line          string       `json:"line"`
	Fraction      Fraction     `json:"fraction"`
	Rule          string       `json:"rule"`
	Latest        *tier.Latest `json:"latest"` // null if nothing in the window observed it
	WindowSuspect bool         `json:"window_suspect"`
	Window        Window       `json:"window"`
	CriteriaURL   string       `json:"criteria_url"`
}

// Fraction is a count of count: Ready of Rounds, with the weeks it spans.
type Fraction struct {
	Ready     int64  `json:"ready"`
	Rounds    int64  `json:"rounds"`
	FirstWeek string `json:"first_week,omitzero"`
	LastWeek  string `json:"last_week,omitzero"`
}

// Window is how far the rules of tiers look.
type Window struct {
	Rounds           int64 `json:"rounds"`
	EstablishedNeeds int64 `json:"established_needs"`
	StandingNeeds    int64 `json:"standing_needs"`
}

var window = Window{Rounds: tier.WindowRounds, EstablishedNeeds: tier.EstablishedRounds,
	StandingNeeds: tier.WindowRounds}

// HostWeek is one round in a host's timeline. What was not observed is absent.
type HostWeek struct {
	Sequence   int64            `json:"sequence"`
	Week       string           `json:"week"`
	TakenAt    string           `json:"taken_at"`
	Digest     attest.Digest    `json:"digest"` // of the round
	EntryURL   string           `json:"entry_url"`
	Listed     bool             `json:"listed"`
	Probed     string           `json:"probed"` // Probed, NotWalked, TurnedAway, NotExercised or BeforeFirst
	Gap        string           `json:"gap,omitzero"`
	Suspect    bool             `json:"window_suspect"` // of the round, whether it observed the host or not
	URL        string           `json:"url,omitzero"`
	Verdict    string           `json:"verdict,omitzero"`
	Level      string           `json:"reached_level,omitzero"`
	Failed     []string         `json:"failed"`
	Advisories []string         `json:"advisories"`
	Protocols  []string         `json:"protocols,omitzero"` // null where they were not measured
	Offer      *record.RowOffer `json:"offer,omitzero"`
	Source     string           `json:"source,omitzero"`
	Catalog    string           `json:"catalog,omitzero"`
	Battery    string           `json:"battery,omitzero"`
	Fault      string           `json:"fault,omitzero"`
	ObservedAt string           `json:"observed_at,omitzero"`
	Evidence   string           `json:"evidence_digest,omitzero"`
	Leaf       *int64           `json:"leaf,omitzero"`       // log index of the signed row
	RowSHA256  attest.Digest    `json:"row_sha256,omitzero"` // of the row's exact bytes
	// Corrected is the erratum that this week follows in place of the signed row.
	Corrected *record.Correction `json:"corrected,omitzero"`
}

// Payment is the payment-address block, of the newest observation of the host, or of the newest
// round where none observed it. An address stands there by digest only.
type Payment struct {
	Week      string  `json:"week"`
	Sequence  int64   `json:"sequence"`
	Digest    *string `json:"digest"` // of the first address the offer named, null for none
	Captured  bool    `json:"captured"`
	WhyNot    string  `json:"not_captured_reason,omitzero"`
	Others    *int64  `json:"also_receives_at_other_doors,omitzero"` // in the same round, of the first address
	Addresses []Paid  `json:"addresses"`
	LeftOut   int64   `json:"addresses_left_out,omitzero"` // further ones, which the row counts and does not list
	Caveat    string  `json:"shared_wallet_caveat"`
}

// Paid is one advertised address and at how many other hosts the same round saw it.
type Paid struct {
	record.PayTo
	Others int64 `json:"also_receives_at_other_doors"`
}

// Citation is what to write down in order to cite the host's newest row, and how it is checked.
type Citation struct {
	Cites      string        `json:"cites"`
	Host       string        `json:"host"`
	Week       string        `json:"week"`
	Sequence   int64         `json:"sequence"`
	ObservedAt string        `json:"observed_at,omitzero"`
	Digest     attest.Digest `json:"digest"` // of the round
	RowSHA256  attest.Digest `json:"row_sha256"`
	Leaf       int64         `json:"leaf"`
	Rows       string        `json:"rows"`
	Index      string        `json:"index"`
	License    string        `json:"license"`
	How        string        `json:"how"`
	Inclusion  string        `json:"inclusion_proof,omitzero"` // the text of c2sp.org/tlog-proof
	Row        string        `json:"row"`                      // its exact bytes
}

// Walked is a purchase at a door of the host.
type Walked struct {
	Observation int64  `json:"observation"`
	At          string `json:"at"`
	record.PaidWalk
}

// Unpaid is a purchase at a door of the host in which no money moved.
type Unpaid struct {
	Observation int64  `json:"observation"`
	At          string `json:"at"`
	record.UnpaidWalk
}

// Refreshed is a walk between rounds that a buyer paid for.
type Refreshed struct {
	Observation int64  `json:"observation"`
	At          string `json:"at"`
	record.Refresh
}

// Declared is the host's own list of its doors, or the word that there is none.
type Declared struct {
	Value       string   `json:"value"` // NoDeclaration or declared
	Observation int64    `json:"observation,omitzero"`
	At          string   `json:"at,omitzero"`
	Shape       string   `json:"shape,omitzero"`
	Doors       []string `json:"doors"`
	Foreign     int64    `json:"foreign,omitzero"`
}

// MaxEarlier is how many notes of a host are told beside the one that stands.
const MaxEarlier = 20

// NoteHeld is a standing note of the host. Of one whose text was withdrawn the statement is empty.
type NoteHeld struct {
	Observation int64  `json:"observation"`
	Statement   string `json:"statement"`
	Lane        string `json:"lane"`
	By          string `json:"by"`
	At          string `json:"at"`
}

// HostParts is what a Host is made from besides its history.
type HostParts struct {
	// BaseURL is the site's address without a slash at its end.
	BaseURL string
	// Feed holds the observations of this host, in order; those of others are passed over.
	Feed []record.Observation
	// Others tells at how many other hosts a round saw an address.
	Others func(sequence int64, address record.PayTo) int64
	// Prove proves a row of a round under that round's own checkpoint; nil leaves the proof out.
	Prove func(leaf, size int64) (tlog.Proof, error)
}

// DescribeHost puts together what is published of a host. The record must hold a row of it.
func DescribeHost(rounds []record.Round, h tier.History, standing tier.Standing, parts HostParts) (Host, error) {
	base := parts.BaseURL
	out := Host{
		Format: HostFormat, Host: h.Host, URL: base + HostPath(h.Host), Listing: "not_listed",
		Signed: "This summary is not signed. Every row it was derived from is, with ed25519, and the digest " +
			"of each round is committed to by the chain at " + base + "/corpus.json.",
		RoundsInChain: int64(len(rounds)), Rounds: h.Rounds, RoundsProbed: h.ProbedRounds, RoundsMissed: h.Missed,
		TurnedAway: h.TurnedAway, NotExercised: h.NotExercised,
		Coverage: h.Percent, FirstObserved: h.First, LastObserved: h.Last, Gaps: h.Gaps, Tier: tierOf(standing, base),
		Changes: h.Changes, Declaration: Declared{Value: NoDeclaration}, Cannot: CannotSee(),
	}
	if n := len(h.Entries); n > 0 && h.Entries[n-1].Listed {
		out.Listing = "listed"
	}
	cited := -1
	out.Timeline = make([]HostWeek, 0, len(h.Entries))
	for i := range h.Entries {
		e := &h.Entries[i]
		out.Timeline = append(out.Timeline, hostWeek(e, base))
		if e.Row != nil && (cited < 0 || e.Probed == tier.Probed || h.Entries[cited].Probed != tier.Probed) {
			cited = i
		}
	}
	for _, o := range parts.Feed {
		out.note(o)
	}
	out.Payment = payment(h, parts.Others)
	if cited < 0 {
		return out, nil
	}
	return out, out.cite(base, rounds, &h.Entries[cited], &out.Timeline[cited], parts.Prove)
}

func tierOf(s tier.Standing, base string) HostTier {
	return HostTier{
		Tier: s.Tier, Line: s.Label, Fraction: Fraction{Ready: s.Ready, Rounds: s.Rounds, FirstWeek: s.From,
			LastWeek: s.To},
		Rule: tier.TierRule(s.Tier), Latest: s.Latest, WindowSuspect: s.WindowSuspect, CriteriaURL: base + "/criteria",
		Window: window,
	}
}

func hostWeek(e *tier.Entry, base string) HostWeek {
	w := HostWeek{
		Sequence: e.Sequence, Week: e.Week, TakenAt: e.TakenAt, Digest: e.Digest,
		EntryURL: base + RoundPath(e.Sequence), Listed: e.Listed, Probed: e.Probed, Gap: e.Gap, Suspect: e.Suspect,
	}
	if e.Row == nil {
		return w
	}
	r := e.Row
	w.URL, w.Source, w.Catalog, w.Battery, w.Fault = r.URL, r.Source, r.Catalog, r.Battery, r.Fault
	w.Leaf, w.RowSHA256, w.Corrected = &r.Leaf, sha256.Sum256(r.Raw), r.Corrected
	if e.Probed != tier.Probed {
		return w
	}
	w.Verdict, w.Level, w.Failed, w.Advisories, w.Protocols = r.Verdict, r.ReachedLevel, r.Failed, r.Advisories,
		r.Protocols
	w.Offer, w.ObservedAt, w.Evidence = r.Offer, r.ObservedAt, r.EvidenceDigest
	return w
}

// note adds an observation, if it is of this host.
func (h *Host) note(o record.Observation) {
	switch {
	case o.Walk != nil && o.Walk.Host == h.Host:
		h.PaidWalks = append(h.PaidWalks, Walked{Observation: o.Number, At: o.At, PaidWalk: *o.Walk})
	case o.Unpaid != nil && o.Unpaid.Host == h.Host:
		h.Unpaid = append(h.Unpaid, Unpaid{Observation: o.Number, At: o.At, UnpaidWalk: *o.Unpaid})
	case o.Refresh != nil && o.Refresh.Host == h.Host:
		h.Refreshes = append(h.Refreshes, Refreshed{Observation: o.Number, At: o.At, Refresh: *o.Refresh})
	case o.Declaration != nil && o.Declaration.Host == h.Host:
		h.Declaration = Declared{Value: "declared", Observation: o.Number, At: o.At, Shape: o.Declaration.Shape,
			Doors: o.Declaration.Doors, Foreign: o.Declaration.Foreign}
	case o.Note != nil && o.Note.Host == h.Host:
		by := h.Host
		if o.Note.PayTo != nil {
			by = o.Note.PayTo.Digest
		}
		h.stand(&NoteHeld{Observation: o.Number, Statement: o.Note.Statement.Text, Lane: o.Note.Lane, By: by,
			At: o.Note.SignedAt})
	}
}

// stand puts a note in the place of the one before. Where its text is withdrawn none stands.
func (h *Host) stand(n *NoteHeld) {
	if h.Note != nil {
		h.earlier(*h.Note)
	}
	if h.Note = n; n.Statement == "" {
		h.Note = nil
		h.earlier(*n)
	}
}

func (h *Host) earlier(n NoteHeld) {
	h.Earlier = slices.Insert(h.Earlier, 0, n)
	if len(h.Earlier) > MaxEarlier {
		h.Earlier = h.Earlier[:MaxEarlier]
		h.LeftOut++
	}
}

// Why no address is captured, where no offer says why.
const (
	NotCapturedUnseen  = "not_observed"  // no round observed the host
	NotCapturedNoOffer = "no_offer_seen" // it was observed, and made no offer
)

// payment describes the addresses of the newest observation.
func payment(h tier.History, others func(int64, record.PayTo) int64) *Payment {
	for _, e := range slices.Backward(h.Entries) {
		if e.Probed != tier.Probed {
			continue
		}
		out := &Payment{Week: e.Week, Sequence: e.Sequence, Caveat: SharedWalletCaveat}
		switch offer := e.Row.Offer; {
		case offer == nil:
			out.WhyNot = NotCapturedNoOffer
		case len(offer.PayTo) == 0:
			out.WhyNot = cmp.Or(offer.NotCapturedReason, "no_address_in_the_offer")
		default:
			out.Captured, out.LeftOut = true, offer.PayToLeftOut
			for i, p := range offer.PayTo {
				if !slices.Contains(offer.PayTo[:i], p) {
					out.Addresses = append(out.Addresses, Paid{p, others(e.Sequence, p)})
				}
			}
			out.Digest, out.Others = &out.Addresses[0].Digest, &out.Addresses[0].Others
		}
		return out
	}
	out := &Payment{WhyNot: NotCapturedUnseen, Caveat: SharedWalletCaveat}
	if n := len(h.Entries); n > 0 {
		out.Week, out.Sequence = h.Entries[n-1].Week, h.Entries[n-1].Sequence
	}
	return out
}

// cite fills the citation with the newest row that observed the host, or its newest row if none
// did.
func (h *Host) cite(base string, rounds []record.Round, e *tier.Entry, week *HostWeek,
	prove func(leaf, size int64) (tlog.Proof, error)) error {
	h.Citation = Citation{
		Cites: "One row of a signed weekly census: what the store saw of " + h.Host + " in " + e.Week + ".",
		Host:  h.Host, Week: e.Week, Sequence: e.Sequence, Digest: e.Digest, RowSHA256: week.RowSHA256,
		Leaf: e.Row.Leaf, ObservedAt: e.Row.ObservedAt, Rows: week.EntryURL, Index: base + "/corpus.json",
		License: License, Row: string(e.Row.Raw),
		How: "The row's bytes hash to row_sha256 and carry its signature. It stands at its leaf in the log, which " +
			"the proof shows under a signed checkpoint. The round's header hashes to digest and names the digest of " +
			"the round before it.",
	}
	if prove == nil {
		return nil
	}
	i := slices.IndexFunc(rounds, func(r record.Round) bool { return r.Sequence == e.Sequence })
	p, err := prove(e.Row.Leaf, rounds[i].LeavesEnd())
	if err != nil {
		return err
	}
	h.Citation.Inclusion = string(p.Text())
	return nil
}

// CannotSee lists what the record cannot see of any host.
func CannotSee() []string { return cannotSee[:len(cannotSee):len(cannotSee)] }

var cannotSee = []string{
	"What happens after a payment. The census sends no money; only the paid walks do, and there the report is the " +
		"walker's claim.",
	"Doors of the host beyond the one that is walked in a week.",
	"What the door answered between two rounds, or to a client from another place, region or network.",
	"Weeks in which the store missed the host. They are holes in the record and say nothing about the door.",
	"Who operates the door, or why an address is shared. Addresses are kept as digests only.",
	"Intent. A verdict is about one answer of one door at one moment, and never about an actor.",
}

// isPlainHost reports whether a host may stand in names of files as it is: ^[a-z0-9][a-z0-9._-]*$.
func isPlainHost(host string) bool {
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return host != ""
}

// maxHostName is the longest host, in bytes, that names a file itself.
const maxHostName = 200

// HostName is a host as it stands in addresses and names of files: the host itself, or h- and its
// SHA-256 in hex if it is too long, could be taken for something else in a path, or looks like such
// a hash.
func HostName(host string) string {
	hashed := len(host) == len("h-")+2*sha256.Size && strings.HasPrefix(host, "h-")
	if len(host) <= maxHostName && isPlainHost(host) && !strings.HasSuffix(host, ".json") && !hashed {
		return host
	}
	return "h-" + attest.Digest(sha256.Sum256([]byte(host))).String()
}

// HostPath is the address of a host's page below the base URL.
func HostPath(host string) string { return "/corpus/host/" + HostName(host) }

// TimelineWeeks is how many rounds the table on the page of a host shows, half a year. Those before
// stand folded below it.
const TimelineWeeks = 26

// RoundPath is the address of a round below the base URL.
func RoundPath(sequence int64) string { return "/corpus/" + strconv.FormatInt(sequence, 10) + ".json" }
