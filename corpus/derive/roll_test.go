package derive_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

func open(t *testing.T, plain int) (*record.Record, []record.Observation) {
	t.Helper()
	r, err := record.Open(corpustest.Write(t, plain), attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	feed, err := r.Observations()
	if err != nil {
		t.Fatal(err)
	}
	return r, feed
}

// TestRollIsTheHistories compares the roll, which packs what it holds, with tiers and differences
// worked out one by one.
func TestRollIsTheHistories(t *testing.T) {
	r, feed := open(t, 40)
	rounds := r.Rounds()
	about := func(host string) (of []record.Observation) {
		for _, o := range feed {
			if o.Subject() == host {
				of = append(of, o)
			}
		}
		return of
	}
	roll, _, err := derive.CallRoll("https://store.example", rounds, about, r.Histories())
	if err != nil {
		t.Fatal(err)
	}
	i, byTier := 0, map[string]int64{}
	for h, err := range r.Histories() {
		if err != nil {
			t.Fatal(err)
		}
		want := tier.StandingOf(tier.HistoryOf(rounds, h, feed))
		if diff := cmp.Diff(want, roll.Standing(i)); diff != "" || roll.Host(i) != h.Host {
			t.Errorf("%s, place %d (-derived +on the roll):\n%s", h.Host, i, diff)
		}
		byTier[want.Tier]++
		i++
	}
	if roll.Len() != i || !cmp.Equal(byTier, roll.ByTier) || len(byTier) < 4 {
		t.Errorf("%d hosts on the roll of %d; by tier %v, want %v", roll.Len(), i, roll.ByTier, byTier)
	}
	changes := 0
	for i := range rounds[:len(rounds)-1] {
		for _, c := range []struct {
			to  int
			got derive.Diff
		}{{len(rounds) - 1, roll.Since(i)}, {i + 1, roll.Weekly(i)}} {
			want, err := derive.Compare(rounds[i], rounds[c.to], r.Rows(rounds[i].Sequence),
				r.Rows(rounds[c.to].Sequence))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, c.got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s to %s (-compared +on the roll):\n%s", rounds[i].Week, rounds[c.to].Week, diff)
			}
			changes += len(want.Transitions) + len(want.Appeared) + len(want.Disappeared) + len(want.Drift)
		}
	}
	last := len(rounds) - 1
	want, err := derive.Compare(rounds[last], rounds[last], r.Rows(rounds[last].Sequence),
		r.Rows(rounds[last].Sequence))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, roll.Since(last), cmpopts.EquateEmpty()); diff != "" || want.HostsInBoth == 0 {
		t.Errorf("the newest to itself (-compared +on the roll):\n%s", diff)
	}
	if changes < 50 {
		t.Errorf("only %d changes were compared", changes)
	}
}

// TestMarketCounts counts a round's market by hand.
func TestMarketCounts(t *testing.T) {
	r, _ := open(t, 25)
	rounds := r.Rounds()
	_, figures, err := derive.CallRoll("https://store.example", rounds,
		func(string) []record.Observation { return nil }, r.Histories())
	if err != nil {
		t.Fatal(err)
	}
	for i, round := range rounds {
		f := figures[i]
		var asks []float64
		addresses := map[string]int{}
		var base, both, ready, dead, probed, signing int64
		for row, err := range r.Rows(round.Sequence) {
			if err != nil {
				t.Fatal(err)
			}
			if row.Verdict == "not_probed" || row.Fault == "instrument" {
				continue
			}
			probed++
			switch row.Verdict {
			case "unreachable":
				dead++
				continue
			case "not_ready":
				continue
			}
			ready++
			if !slices.Contains(row.Advisories, "no-signed-offers") {
				signing++
			}
			if len(row.Offer.Networks) == 2 {
				both++
			} else {
				base++
			}
			ask, err := strconv.ParseFloat(row.Offer.MinUSDC, 64)
			if err != nil {
				t.Fatal(err)
			}
			asks = append(asks, ask)
			addresses[row.Offer.PayTo[0].Digest]++
		}
		slices.Sort(asks)
		m := f.Market
		if m.Probed != probed || m.Ready != ready || m.Rot.Dead != dead || m.SignedOffers.Serving != signing ||
			m.Rails.Both != both || m.Rails.BaseOnly != base || m.Rails.Of != ready ||
			m.Price.Sample != ready || m.Addresses != int64(len(addresses)) || f.FreshReady != ready {
			t.Errorf("%s: %+v, counted %d probed, %d ready, %d dead, %d signing, %d both, %d Base, %d addresses",
				round.Week, m, probed, ready, dead, signing, both, base, len(addresses))
		}
		if i == len(rounds)-1 && int64(len(f.Fresh)) != ready || i < len(rounds)-1 && len(f.Fresh) > 0 {
			t.Errorf("%s: %d fresh hosts, %d ready; only the newest round has a set", round.Week, len(f.Fresh), ready)
		}
		// The nearest rank: of n, the ceiling of half of n.
		if want := strconv.FormatFloat(asks[(len(asks)+1)/2-1], 'f', -1, 64); m.Price.Median != want {
			t.Errorf("%s: median %s of %v, want %s", round.Week, m.Price.Median, asks, want)
		}
		var named []int
		for _, n := range addresses {
			named = append(named, n)
		}
		slices.SortFunc(named, func(a, b int) int { return b - a })
		top, all := 0, 0
		for i, n := range named {
			if i < 5 {
				top += n
			}
			all += n
		}
		if m.Top.Named != int64(top) || m.Top.Of != int64(all) {
			t.Errorf("%s: top five %+v, counted %d of %d", round.Week, m.Top, top, all)
		}
		for address, n := range addresses {
			if got := f.Sharing.Others(record.PayTo{Network: derive.Base, Digest: address}); got != int64(n-1) &&
				n > 1 || n == 1 && got != 0 {
				t.Errorf("%s: %s is at %d others, want %d", round.Week, address[:8], got, n-1)
			}
		}
	}
}

func TestHostNames(t *testing.T) {
	for host, plain := range map[string]bool{
		"a.example": true, "xn--bcher-kva.example": true, "1.2.3.4": true, "h-1.example": true, "..": false,
		".hidden": false, "_dmarc.example": false, "a.json": false, "": false, "-a": false, "A.example": false,
		"a\n": false, "a_b-c.": true, "[::1]": false, "a?b": false, "ü.example": false,
		"h-" + string(make([]byte, 64)):                                      false,
		"h-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef": false,
	} {
		name := derive.HostName(host)
		if (name == host) != plain || !plain && len(name) != 66 {
			t.Errorf("HostName(%q) = %q", host, name)
		}
	}
}
