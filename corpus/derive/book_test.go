package derive

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/record"
)

// bookOf is a book of rounds in which no host was named.
func bookOf(t *testing.T, feed []record.Observation, rounds ...record.Round) *Book {
	t.Helper()
	roll, figures, err := CallRoll("https://store.example", rounds, nil, func(func(record.History, error) bool) {})
	if err != nil {
		t.Fatal(err)
	}
	return &Book{BaseURL: "https://store.example", Rounds: rounds, Figures: figures, Roll: roll, Feed: feed,
		Proofs: make([]string, len(rounds))}
}

// The brief counts walks and names notes from the moment of the round before, or from the beginning
// where there is none.
func TestTheBriefIsOfWhatCameSinceTheRoundBefore(t *testing.T) {
	first := record.Round{Sequence: 1, Week: "2026-W36", TakenAt: "2026-09-06T00:00:00Z"}
	second := record.Round{Sequence: 2, Week: "2026-W37", TakenAt: "2026-09-13T00:00:00Z"}
	var feed []record.Observation
	for _, at := range []string{"2026-09-05T23:59:59Z", first.TakenAt, "2026-09-13T00:00:01Z"} {
		feed = append(feed, record.Observation{At: at, Walk: &record.PaidWalk{Host: "a.example"}},
			record.Observation{At: at, Note: &record.StandingNote{Host: "a.example",
				Statement: record.Said{Text: "of " + at}}},
			record.Observation{At: at, Note: &record.StandingNote{Host: "a.example"}}) // withdrawn
	}
	for _, c := range []struct {
		rounds []record.Round
		walks  int64
		notes  []string
	}{
		{[]record.Round{first}, 3, []string{"of 2026-09-05T23:59:59Z", "of 2026-09-06T00:00:00Z",
			"of 2026-09-13T00:00:01Z"}},
		{[]record.Round{first, second}, 2, []string{"of 2026-09-06T00:00:00Z", "of 2026-09-13T00:00:01Z"}},
	} {
		v := bookOf(t, feed, c.rounds...).Brief()
		var notes []string
		for _, n := range v.Notes {
			notes = append(notes, n.Statement)
		}
		if v.Walks != c.walks || !slices.Equal(notes, c.notes) {
			t.Errorf("%d rounds: %d walks, notes %q, want %d and %q", len(c.rounds), v.Walks, notes, c.walks, c.notes)
		}
	}
}

// What an erratum says counts in everything that is derived, beside the row that stays as signed.
func TestHistoriesAreCorrected(t *testing.T) {
	signed := []record.History{
		{Host: "a.example", Rows: []record.StoredRow{{Verdict: record.VerdictReady, Leaf: 7,
			Raw: []byte("signed")}}},
		{Host: "b.example", Rows: []record.StoredRow{{Verdict: record.VerdictReady, Leaf: 8,
			Raw: []byte("signed")}}},
	}
	errata := record.ErrataOf([]record.Observation{{Number: 1, Erratum: &record.Erratum{Leaf: 7,
		VerdictNow: record.VerdictNotReady}}})
	var verdicts []string
	for h, err := range Corrected(func(yield func(record.History, error) bool) {
		for _, h := range signed {
			if !yield(h, nil) {
				return
			}
		}
	}, errata) {
		if err != nil {
			t.Fatal(err)
		}
		verdicts = append(verdicts, h.Rows[0].Verdict)
	}
	if diff := cmp.Diff([]string{record.VerdictNotReady, record.VerdictReady}, verdicts); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

// What changed at a door is told in words, what a buyer should know first in front, and what was
// not captured is not told as a change.
func TestWhatDiffersIsTold(t *testing.T) {
	a := record.Row{URL: "https://a.example/1", Verdict: record.VerdictReady, Battery: "x402/v1",
		Offer: &record.RowOffer{Networks: []string{"base"}, Schemes: []string{"exact"}, MinUSDC: "0.01", MaxUSDC: "1",
			PayTo: []record.PayTo{{Network: "base", Digest: "0123456789abcdef"}}}}
	b := record.Row{URL: "https://a.example/2", Verdict: record.VerdictNotReady, Battery: "x402/v2",
		Failed: []string{"status", "terms"}, Offer: &record.RowOffer{Networks: []string{"base", "solana"},
			MinUSDC: "0.02", MaxUSDC: "2", PayTo: []record.PayTo{{Network: "base", Digest: "fedcba9876543210"}}}}
	want := []string{
		"pay-to address: base 0123456789ab → base fedcba987654",
		"verdict (x402/v1, then x402/v2): ready → not ready",
		"failed checks: none → status, terms",
		"least price in USDC: 0.01 → 0.02",
		"greatest price in USDC: 1 → 2",
		"networks: base → base, solana",
		"schemes: exact → none",
		"door: https://a.example/1 → https://a.example/2",
	}
	if diff := cmp.Diff(want, differing(&a, &b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := differing(&a, &a); got != nil {
		t.Errorf("of one and the same: %q", got)
	}
	b.Offer = nil
	if got := differing(&a, &b); !slices.Equal(got, []string{want[1], want[2], want[7]}) {
		t.Errorf("of one whose terms were not captured: %q", got)
	}
}

// Of the cheapest asks of a round a quarter is the smallest that a quarter of the doors do not
// exceed, and so on.
func TestPricesAreOfTheNearestRank(t *testing.T) {
	for _, c := range []struct {
		asks []string
		want Price
	}{
		{nil, Price{}},
		{[]string{"0.01"}, Price{P25: "0.01", Median: "0.01", P75: "0.01", Sample: 1}},
		{[]string{"4", "2", "1", "3"}, Price{P25: "1", Median: "2", P75: "3", Sample: 4}},
		{[]string{"1", "1", "1", "2", "3"}, Price{P25: "1", Median: "1", P75: "2", Sample: 5}},
	} {
		m := newMarket(record.Round{})
		for _, ask := range c.asks {
			m.add(&record.Row{Verdict: record.VerdictReady, Offer: &record.RowOffer{MinUSDC: ask}})
		}
		if diff := cmp.Diff(c.want, m.done(0, nil).Price); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.asks, diff)
		}
	}
}
