package desk

import (
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"

	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/dynamic/archive"
)

// Rounds is the Record that an archive holds open. Each question is answered from one state of it;
// without an archive, and before the first round, it has met nobody.
type Rounds struct {
	Archive *archive.Archive
	BaseURL string
}

// The words of Passport.Freshness: how old the newest signed observation of a host is. Rounds are
// weekly.
const (
	FreshnessFresh   = "fresh"   // up to FreshFor
	FreshnessAging   = "aging"   // up to AgingFor
	FreshnessExpired = "expired" // older
)

// The ages at which an observation ceases to be fresh, and to be worth a decision: a round and a
// day, four rounds.
const (
	FreshFor = 8 * 24 * time.Hour
	AgingFor = 28 * 24 * time.Hour
)

// The words of Passport.Decision, which follow from verdict, tier and age alone.
const (
	// the newest observation is ready, not expired, and no rule says that too little is known
	DecisionReady  = "ready_on_record"
	DecisionBroken = "not_ready_on_record" // the newest observation is not_ready or unreachable, and not expired
	DecisionLook   = "look_again"          // the record cannot carry a decision
)

// Host derives what is held of a host.
func (r Rounds) Host(_ context.Context, host string) (HostHistory, error) {
	s := r.Archive.Now()
	if s == nil {
		return HostHistory{NeverMet: true, PaymentAddress: unseenAddress(), GapsByReason: map[string]int{},
			VerdictChanges: []VerdictChange{},
			WhatThisCannotSee: []string{"There is no round in the chain yet, so the record has met nobody. That is a " +
				"fact about the store, not about the door."}}, nil
	}
	now := time.Now().UTC()
	held := HostHistory{NeverMet: true, RoundsInChain: len(s.Rounds), GapsByReason: map[string]int{},
		VerdictChanges: []VerdictChange{},
		PaymentAddress: unseenAddress(), WhatThisCannotSee: derive.CannotSee(), DerivedAt: now.Format(time.RFC3339)}
	h, ok, err := s.History(host)
	if err != nil || !ok {
		return held, err
	}
	held.NeverMet = false
	if n := len(h.Entries); n > 0 {
		held.PaymentAddress.Week, held.PaymentAddress.Sequence = h.Entries[n-1].Week, h.Entries[n-1].Sequence
	}
	held.RowsURL = r.BaseURL + derive.HostPath(host) + ".json"
	held.RoundsTurnedAway, held.NotExercised = int(h.TurnedAway), int(h.NotExercised)
	held.RoundsSinceFirst, held.RoundsProbed, held.RoundsGapped = int(h.Rounds), int(h.ProbedRounds), int(h.Missed)
	held.FirstObserved, held.LastObserved = h.First, h.Last
	for _, g := range h.Gaps {
		held.GapsByReason[g.Name] = int(g.Count)
	}
	for _, c := range h.Changes {
		held.VerdictChanges = append(held.VerdictChanges,
			VerdictChange{Week: c.Week, At: s.Rounds[c.Sequence-1].TakenAt,
				From: probe.Verdict(c.From), To: probe.Verdict(c.To), Battery: c.Battery})
	}
	t := tier.StandingOf(h)
	held.Tier = &Tier{Name: t.Tier, Line: t.Label, Fraction: Fraction{Ready: int(t.Ready), Rounds: int(t.Rounds),
		FirstWeek: t.From, LastWeek: t.To}}
	held.Passport = r.passport(t, now)
	for _, e := range slices.Backward(h.Entries) {
		if e.Probed == tier.Probed {
			held.LastProbed = r.cite(s, *e.Row)
			held.PaymentAddress, err = paymentAddress(s, *e.Row)
			break
		}
	}
	for _, o := range s.About(host) {
		if o.Note != nil {
			held.StandingNote = archive.NoteOf(o)
		}
	}
	return held, err
}

// passport says what the newest signed observation is worth now; nil if nothing in the window
// observed the host.
func (r Rounds) passport(t tier.Standing, now time.Time) *Passport {
	l := t.Latest
	if l == nil {
		return nil
	}
	p := &Passport{ObservedAt: l.ObservedAt, Verdict: probe.Verdict(l.Verdict), Source: l.Source, URL: r.BaseURL +
		derive.HostPath(t.Host)}
	at, err := time.Parse(time.RFC3339, l.ObservedAt)
	switch age := now.Sub(at); {
	case err != nil || age > AgingFor:
		p.Freshness = FreshnessExpired
	case age > FreshFor:
		p.Freshness = FreshnessAging
	default:
		p.Freshness = FreshnessFresh
	}
	switch {
	case p.Freshness == FreshnessExpired:
		p.Decision = DecisionLook
	case l.Verdict != record.VerdictReady:
		p.Decision = DecisionBroken
	case t.Tier == tier.TierIndeterminate:
		p.Decision = DecisionLook
	default:
		p.Decision = DecisionReady
	}
	return p
}

// unseenAddress is the block of a host that no round observed.
func unseenAddress() *PaymentAddress {
	return &PaymentAddress{WhyNot: derive.NotCapturedUnseen, Caveat: derive.SharedWalletCaveat}
}

// paymentAddress describes the address of a row, which is that of the newest observation.
func paymentAddress(s *archive.State, row record.StoredRow) (*PaymentAddress, error) {
	out := &PaymentAddress{Week: row.Week, Sequence: row.Sequence, Caveat: derive.SharedWalletCaveat}
	switch offer := row.Offer; {
	case offer == nil:
		out.WhyNot = derive.NotCapturedNoOffer
	case len(offer.PayTo) == 0:
		if out.WhyNot = offer.NotCapturedReason; out.WhyNot == "" {
			out.WhyNot = "no_address_in_the_offer"
		}
	default:
		others, err := s.Others(row.Sequence, offer.PayTo[0])
		if err != nil {
			return nil, err
		}
		out.Captured, out.Digest, out.AtOtherDoors = true, &offer.PayTo[0].Digest, &others
	}
	return out, nil
}

// cite describes one signed row.
func (r Rounds) cite(s *archive.State, row record.StoredRow) *Cited {
	round := s.Rounds[row.Sequence-1]
	return &Cited{Week: row.Week, Sequence: row.Sequence, TakenAt: round.TakenAt, ObservedAt: row.ObservedAt,
		URL:      row.URL,
		EntryURL: r.BaseURL + derive.RoundPath(row.Sequence), Digest: round.Digest.String(),
		RowSHA256: attest.Digest(sha256.Sum256(row.Raw)).String(), Leaf: row.Leaf, Verdict: probe.Verdict(row.Verdict),
		Failed: row.Failed, Advisories: row.Advisories, Catalog: row.Catalog, Battery: row.Battery,
		Corrected: row.Corrected, License: derive.License}
}

// Row finds the signed row of a host in a week, or the last in which the host was probed, with its
// proof.
func (r Rounds) Row(_ context.Context, host, week string) (*Cited, []string, error) {
	s := r.Archive.Now()
	if s == nil {
		return nil, []string{}, nil
	}
	h, _, err := s.Rows(host)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range slices.Backward(h.Rows) {

		if week == "" && !tier.Observed(&row.Row) || week != "" && row.Week != week {
			continue
		}
		c := r.cite(s, row)
		proof, err := s.Prove(row.Leaf, s.Rounds[row.Sequence-1].LeavesEnd())
		if err != nil {
			return nil, nil, err
		}
		c.Inclusion = string(proof.Text())
		return c, s.Weeks(), nil
	}
	return nil, s.Weeks(), nil
}

// Lists are the sources of the newest round.
func (r Rounds) Lists(context.Context) (string, []record.RosterSource, error) {
	s := r.Archive.Now()
	if s == nil || len(s.Rounds) == 0 {
		return "", nil, nil
	}
	newest := s.Rounds[len(s.Rounds)-1]
	return newest.Week, newest.Roster.Sources, nil
}

// Address reads where an address was advertised.
func (r Rounds) Address(_ context.Context, address string) (archive.AddressReading, error) {
	s := r.Archive.Now()
	if s == nil {
		return archive.NoReading(address), nil
	}
	return s.Address(r.BaseURL, address)
}

// Reading is the newest signed observation of a host, from a round or a paid refresh.
func (r Rounds) Reading(_ context.Context, host string) (*LastReading, error) {
	s := r.Archive.Now()
	if s == nil {
		return nil, nil
	}
	h, ok, err := s.History(host)
	if err != nil || !ok {
		return nil, err
	}
	l := tier.StandingOf(h).Latest
	if l == nil {
		return nil, nil
	}
	out := &LastReading{Verdict: probe.Verdict(l.Verdict), ObservedAt: l.ObservedAt, Source: l.Source}
	for _, e := range h.Entries {
		if e.Sequence == l.Sequence && e.Row != nil {
			out.Battery = e.Row.Battery
		}
	}
	for _, o := range h.Refreshes {
		if o.Number == l.Number {
			out.Battery = o.Refresh.Battery
		}
	}
	return out, nil
}

// Declared finds the method by which a door was observed last, where it was not a plain GET. An
// Allow header is no reason: it is there for whoever asks.
func (r Rounds) Declared(_ context.Context, host, url string) (probe.Declaration, error) {
	s := r.Archive.Now()
	if s == nil {
		return probe.Declaration{}, nil
	}
	h, _, err := s.Rows(host)
	if err != nil {
		return probe.Declaration{}, err
	}
	for _, row := range slices.Backward(h.Rows) {
		if row.URL != url || row.ProbeMethod == nil || !tier.Observed(&row.Row) {
			continue
		}
		if m := row.ProbeMethod; m.Used == http.MethodPost && m.DeclaredBy != probe.DeclaredByAllow {
			return probe.Declaration{Method: http.MethodPost, By: m.DeclaredBy}, nil
		}
		break
	}
	return probe.Declaration{}, nil
}
