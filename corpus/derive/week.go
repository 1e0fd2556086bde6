package derive

import (
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// Week is one point of the trajectory: counts only, no ratios, each with its denominator beside it.
type Week struct {
	Week            string        `json:"week"`
	Sequence        int64         `json:"sequence"`
	Digest          attest.Digest `json:"digest"`
	TakenAt         string        `json:"taken_at"`
	HostsKnown      int64         `json:"hosts_known"`  // by name
	HostsListed     int64         `json:"hosts_listed"` // rows whose host a source listed
	HostsDue        int64         `json:"hosts_due"`    // rows
	HostsProbed     int64         `json:"hosts_probed"`
	Battery         string        `json:"battery"` // or mixed
	Ready           int64         `json:"ready"`
	NotReady        int64         `json:"not_ready"`
	Unreachable     int64         `json:"unreachable"`
	NotProbed       int64         `json:"not_probed"`
	NotExercised    int64         `json:"not_exercised"`     // of NotProbed: not asked as the door wants it
	Degraded        int64         `json:"observer_degraded"` // unreachable through our own fault; not among Unreachable
	OffersSeen      int64         `json:"offers_seen"`
	Networks        tier.Counts   `json:"networks"`        // offers that take each
	FailureClasses  tier.Counts   `json:"failure_classes"` // observations that failed each check
	Gaps            tier.Counts   `json:"gaps_by_reason"`  // rows that are no observation
	Catalogs        tier.Counts   `json:"catalogs"`        // rows listed by each
	CoverageSuspect bool          `json:"coverage_suspect"`
	// Errors are of the round's verdicts as they were signed; every other count follows errata.
	Errors Errors `json:"errors"`
}

func newWeek(r record.Round) Week {
	return Week{Week: r.Week, Sequence: r.Sequence, Digest: r.Digest, TakenAt: r.TakenAt, HostsKnown: r.Roster.Listed,
		HostsDue: r.Rows,
		Networks: tier.Counts{}, FailureClasses: tier.Counts{}, Gaps: tier.Counts{}, Catalogs: tier.Counts{},
		CoverageSuspect: r.Coverage.Suspect, Errors: newErrors()}
}

func (w *Week) add(r *record.Round, row *record.Row) {
	if row.Listed {
		w.HostsListed++
	}
	if row.Catalog != "" {
		w.Catalogs = w.Catalogs.Add(row.Catalog)
	}
	switch {
	case w.Battery == "":
		w.Battery = row.Battery
	case w.Battery != row.Battery:
		w.Battery = "mixed"
	}
	if !tier.Observed(row) {
		w.Gaps = w.Gaps.Add(tier.GapOf(r, row))
	}
	switch {
	case row.Verdict == record.VerdictNotProbed:
		w.NotProbed++
		if row.NotExercised() {
			w.NotExercised++
		}
		return
	case !tier.Observed(row):
		w.Degraded++
		w.HostsProbed++
		return
	case row.Verdict == record.VerdictReady:
		w.Ready++
	case row.Verdict == record.VerdictNotReady:
		w.NotReady++
	default:
		w.Unreachable++
	}
	w.HostsProbed++
	for i, name := range row.Failed {
		if !slices.Contains(row.Failed[:i], name) {
			w.FailureClasses = w.FailureClasses.Add(name)
		}
	}
	if row.Offer != nil {
		w.OffersSeen++
		for i, n := range row.Offer.Networks {
			if !slices.Contains(row.Offer.Networks[:i], n) {
				w.Networks = w.Networks.Add(n)
			}
		}
	}
}

// Gap counts the rows that are no observation for a reason.
func (w *Week) Gap(reason string) (n int64) {
	for _, c := range w.Gaps {
		if c.Name == reason {
			n = c.Count
		}
	}
	return n
}

// Missed counts the hosts that were not probed and might have been: no bot wall answered, the
// host's own file did not ask to be left alone, and the door was not asked in a way that is not its
// own.
func (w *Week) Missed() int64 {
	return w.NotProbed - w.NotExercised - w.Gap(record.ReasonChallenged) - w.Gap(record.ReasonOptedOut)
}

func distinct(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return slices.Compact(out)
}

// Cited is a round by its place in the chain.
type Cited struct {
	Week     string        `json:"week"`
	Sequence int64         `json:"sequence"`
	Digest   attest.Digest `json:"digest"`
}

func cite(r record.Round) Cited { return Cited{Week: r.Week, Sequence: r.Sequence, Digest: r.Digest} }

// Transition is a verdict that differs between two rounds.
type Transition struct {
	Host    string `json:"host"`
	From    string `json:"from"`
	To      string `json:"to"`
	Battery bool   `json:"battery_changed,omitzero"`
}

// Drift is a term that differs between two rounds. Lists are sorted and joined by commas.
type Drift struct {
	Host  string `json:"host"`
	Field string `json:"field"` // min_usdc, max_usdc, networks, schemes or pay_to
	From  string `json:"from"`
	To    string `json:"to"`
}

// Diff is what changed from one round to a later one, by hosts in order. Rows of revisits, and of
// doors that were walked and not reached through our own fault, are left out on both sides; a host
// that was not probed is there, and has no verdict to compare.
type Diff struct {
	From        Cited        `json:"from"`
	To          Cited        `json:"to"`
	Appeared    []string     `json:"appeared"`
	Disappeared []string     `json:"disappeared"`
	Transitions []Transition `json:"transitions"`
	Drift       []Drift      `json:"drift"`
	HostsInFrom int64        `json:"hosts_in_from"`
	HostsInTo   int64        `json:"hosts_in_to"`
	HostsInBoth int64        `json:"hosts_in_both"`
}

func newDiff(from, to record.Round) Diff {
	return Diff{From: cite(from), To: cite(to), Appeared: []string{}, Disappeared: []string{},
		Transitions: []Transition{}, Drift: []Drift{}}
}

// pair is what the rows of one host in two rounds say of a change.
type pair struct {
	inFrom, inTo int64 // 1 for a row that says something
	compares     bool  // both were probed
}

func pairOf(x, y *record.Row) (p pair) {
	x, y = movable(x), movable(y)
	if x != nil {
		p.inFrom = 1
	}
	if y != nil {
		p.inTo = 1
	}
	p.compares = x != nil && y != nil && x.Verdict != record.VerdictNotProbed && y.Verdict != record.VerdictNotProbed
	return p
}

// movable leaves out a row that says nothing about a change of the door.
func movable(r *record.Row) *record.Row {
	if r == nil || r.Source == record.SourceRevisit || r.Verdict != record.VerdictNotProbed && !tier.Observed(r) {
		return nil
	}
	return r
}

// Drifts lists the terms of a host that differ between two rows of it, the older one first. What
// either did not capture did not drift.
func Drifts(x, y *record.Row) (out []Drift) {
	if x.Offer == nil || y.Offer == nil || sameTerms(x.Offer, y.Offer) {
		return nil
	}
	for _, f := range []struct{ name, from, to string }{
		{"min_usdc", x.Offer.MinUSDC, y.Offer.MinUSDC},
		{"max_usdc", x.Offer.MaxUSDC, y.Offer.MaxUSDC},
		{"networks", networks(x), networks(y)},
		{"schemes", strings.Join(distinct(x.Offer.Schemes), ","), strings.Join(distinct(y.Offer.Schemes), ",")},
		{"pay_to", payTo(x), payTo(y)},
	} {
		if f.from != f.to && f.from != "" && f.to != "" {
			out = append(out, Drift{Host: x.Host, Field: f.name, From: f.from, To: f.to})
		}
	}
	return out
}

// networks is "" where not all are there to be compared.
func networks(r *record.Row) string {
	if r.Offer.NetworksLeftOut > 0 {
		return ""
	}
	return strings.Join(distinct(r.Offer.Networks), ",")
}

// payTo is "" where not all are there to be compared.
func payTo(r *record.Row) string {
	if r.Offer.PayToLeftOut > 0 {
		return ""
	}
	var all []string
	for _, p := range r.Offer.PayTo {
		all = append(all, p.Network+" "+p.Digest)
	}
	return strings.Join(distinct(all), ",")
}

// sameTerms reports whether two offers are spelled alike, as most are from week to week.
func sameTerms(a, b *record.RowOffer) bool {
	return a.NetworksLeftOut == b.NetworksLeftOut && a.PayToLeftOut == b.PayToLeftOut && a.MinUSDC == b.MinUSDC &&
		a.MaxUSDC == b.MaxUSDC && slices.Equal(a.Networks, b.Networks) &&
		slices.Equal(a.Schemes, b.Schemes) && slices.Equal(a.PayTo, b.PayTo)
}
