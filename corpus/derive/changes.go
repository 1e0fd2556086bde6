package derive

import (
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// RowChange is a round whose observation of a host differs from the one before it.
type RowChange struct {
	Sequence int64
	Week     string
	TakenAt  string // of the round, RFC 3339
	Leaf     int64  // log index of the row
	Title    string // the change that matters most, in words
	What     []string
}

// RowChanges derives what changed in the rows of a host, oldest first: its first observation, and
// every later one of which verdict, failed checks, address, price, networks, schemes or URL is
// another. A round that did not observe it is no change.
func RowChanges(h tier.History) []RowChange {
	var out []RowChange
	var before *record.StoredRow
	for _, e := range h.Entries {
		if e.Probed != tier.Probed {
			continue
		}
		what := []string{"first observed: " + words(e.Row.Verdict)}
		if before != nil {
			what = differing(&before.Row, &e.Row.Row)
		}
		before = e.Row
		if len(what) > 0 {
			out = append(out, RowChange{Sequence: e.Sequence, Week: e.Week, TakenAt: e.TakenAt, Leaf: e.Row.Leaf,
				Title: what[0], What: what})
		}
	}
	return out
}

func words(verdict string) string { return strings.ReplaceAll(verdict, "_", " ") }

// differing says what differs between two observations of a host, what a buyer should know first
// in front.
func differing(a, b *record.Row) (out []string) {
	say := func(what, from, to string) {
		if from != to {
			out = append(out, fmt.Sprintf("%s: %s → %s", what, orNone(from), orNone(to)))
		}
	}
	x, y := offerOf(a), offerOf(b)
	if a.Offer != nil && b.Offer != nil && !slices.Equal(x.PayTo, y.PayTo) {
		say("pay-to address", digestsOf(x.PayTo), digestsOf(y.PayTo))
	}
	verdict := "verdict"
	if a.Battery != b.Battery {
		verdict = "verdict (" + a.Battery + ", then " + b.Battery + ")"
	}
	say(verdict, words(a.Verdict), words(b.Verdict))
	say("failed checks", strings.Join(a.Failed, ", "), strings.Join(b.Failed, ", "))
	if a.Offer != nil && b.Offer != nil {
		say("least price in USDC", x.MinUSDC, y.MinUSDC)
		say("greatest price in USDC", x.MaxUSDC, y.MaxUSDC)
		say("networks", strings.Join(x.Networks, ", "), strings.Join(y.Networks, ", "))
		say("schemes", strings.Join(x.Schemes, ", "), strings.Join(y.Schemes, ", "))
	}
	say("door", a.URL, b.URL)
	return out
}

func offerOf(r *record.Row) record.RowOffer {
	if r.Offer == nil {
		return record.RowOffer{}
	}
	return *r.Offer
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// digestsOf names addresses by the first characters of their digests.
func digestsOf(all []record.PayTo) string {
	var out []string
	for _, p := range all {
		out = append(out, p.Network+" "+p.Digest[:min(12, len(p.Digest))])
	}
	return strings.Join(out, ", ")
}
