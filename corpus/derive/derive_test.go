package derive

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// world is a record in memory: rows by round and host.
type world struct {
	rounds []record.Round
	rows   []map[string]record.Row
	feed   []record.Observation
}

func at(n int) time.Time { return time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*n) }

const second = "2006-01-02T15:04:05Z"

// randomWorld lets everything happen that can happen to a host.
func randomWorld(r *rand.Rand) *world {
	w := &world{}
	n := 1 + r.IntN(14)
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for i := range n {
		round := record.Round{Sequence: int64(i + 1), Week: record.ISOWeek(at(i)), TakenAt: at(i + 1).Format(second),
			Digest: sha256.Sum256([]byte{byte(i)})}
		round.Roster.Capped, round.Coverage.Dropped = r.IntN(6) == 0, r.IntN(6) == 0
		round.Coverage.Suspect = round.Roster.Capped || round.Coverage.Dropped
		rows := map[string]record.Row{}
		for h := range 12 {
			// Some hosts do well, some badly.
			luck := 4 + h*h
			if r.IntN(luck) == 0 {
				continue
			}
			row := record.Row{Sequence: round.Sequence, Week: round.Week, Host: fmt.Sprintf("h%02d.example", h),
				Listed: r.IntN(5) > 0, Battery: "v2", Fault: record.FaultNone,
				Source: record.SourceDiscovery, Catalog: pick("", "bazaar", "other"), Verdict: record.VerdictReady,
				ObservedAt: at(i).Add(time.Duration(1+r.IntN(100)) * time.Hour).Format(second)}
			if r.IntN(9) == 0 {
				row.Source = record.SourceRevisit
			}
			if r.IntN(9) == 0 {
				row.Battery = "v1"
			}
			switch r.IntN(luck) {
			case 0:
				row.Verdict, row.Failed, row.Fault = record.VerdictNotReady,
					[]string{pick("accepts", "status-402"), "accepts"}, record.FaultDoor
			case 1:
				row.Verdict, row.Fault = record.VerdictUnreachable, pick(record.FaultInstrument, record.FaultDoor,
					record.FaultPath)
			case 2, 3:
				row.Verdict, row.Reason, row.ObservedAt = record.VerdictNotProbed,
					pick("interrupted", "challenged", "method_unresolved"), ""
			}
			if row.Verdict != record.VerdictNotProbed && r.IntN(3) > 0 {
				row.Offer = &record.RowOffer{Networks: []string{pick("a", "b"), "c"}, Schemes: []string{"exact"},
					MinUSDC: pick("1", "2", ""), MaxUSDC: "3"}
				for range r.IntN(3) {
					row.Offer.PayTo = append(row.Offer.PayTo,
						record.PayTo{Network: pick("a", "b"), Digest: pick("1", "2", "3", "4")})
				}
			}
			rows[row.Host] = row
		}
		round.Rows = int64(len(rows))
		round.Roster.Listed = round.Rows + 3
		w.rounds, w.rows = append(w.rounds, round), append(w.rows, rows)
	}
	for i := range r.IntN(5) {
		w.feed = append(w.feed, record.Observation{Number: int64(i + 1), Kind: record.ObservationPaidRefresh,
			At: at(i * 4).Add(time.Duration(r.IntN(400)) * time.Hour).Format(second),
			Refresh: &record.Refresh{Host: fmt.Sprintf("h%02d.example", r.IntN(12)),
				Verdict: pick(record.VerdictReady, record.VerdictNotReady, record.VerdictUnreachable),
				Fault:   pick(record.FaultNone, record.FaultInstrument)}})
	}
	return w
}

func (w *world) history(host string) record.History {
	h := record.History{Host: host}
	for _, rows := range w.rows {
		if r, ok := rows[host]; ok {
			h.Rows = append(h.Rows, record.StoredRow{Row: r})
		}
	}
	return h
}

func (w *world) stream(i int) iter.Seq2[record.StoredRow, error] {
	return func(yield func(record.StoredRow, error) bool) {
		for _, host := range slices.Sorted(maps.Keys(w.rows[i])) {
			if !yield(record.StoredRow{Row: w.rows[i][host]}, nil) {
				return
			}
		}
	}
}

// The slow recomputation: written from the rules alone, a question at a time, each over the whole
// world.

func (w *world) first(host string) int {
	for i := range w.rounds {
		if _, ok := w.rows[i][host]; ok {
			return i
		}
	}
	return len(w.rounds)
}

// saw is the verdict observed of a host in round i, "" for none.
func (w *world) saw(i int, host string) string {
	r, ok := w.rows[i][host]
	if !ok || r.Verdict == "not_probed" || r.Verdict == "unreachable" && r.Fault == "instrument" {
		return ""
	}
	return r.Verdict
}

func (w *world) slowTier(host string) string {
	first, last := w.first(host), len(w.rounds)-1
	from := max(first, last-7)
	newest, verdict := "", ""
	seen, all8, all4, suspect := 0, last-from == 7, last-first >= 3, false
	for i := from; i <= last; i++ {
		v := w.saw(i, host)
		if v != "" {
			seen++
			if t := w.rows[i][host].ObservedAt; t >= newest {
				newest, verdict = t, v
			}
		} else if i > last-4 && (w.rounds[i].Roster.Capped || w.rounds[i].Coverage.Dropped) {
			suspect = true
		}
		all8 = all8 && v == "ready"
		all4 = all4 && (v == "ready" || i <= last-4)
	}
	for _, o := range w.feed {
		old := from > first && o.At < w.rounds[from-1].TakenAt
		if o.Refresh.Host == host && !old && o.At >= newest &&
			!(o.Refresh.Verdict == "unreachable" && o.Refresh.Fault == "instrument") {
			newest, verdict = o.At, o.Refresh.Verdict
		}
	}
	away := 0
	for i := max(from, last-1); i <= last; i++ {
		if r := w.rows[i][host]; r.Verdict == "not_probed" && (r.Reason == "challenged" ||
			r.Reason == "method_unresolved") {
			away++
		}
	}
	n, span, tier := 0, 4, "observed"
	switch {
	case verdict == "not_ready" || verdict == "unreachable":
		tier = "broken"
	case seen < 4 || suspect || away == 2:
		tier = "indeterminate"
	case all8:
		tier, span = "standing", 8
	case all4:
		tier = "established"
	}
	from = max(first, last-span+1)
	if from > last {
		return tier + " — no rounds"
	}
	for i := from; i <= last; i++ {
		if w.saw(i, host) == "ready" {
			n++
		}
	}
	return fmt.Sprintf("%s — %d of %d, %s–%s", tier, n, last-from+1, strings.TrimPrefix(w.rounds[from].Week, "2026-"),
		strings.TrimPrefix(w.rounds[last].Week, "2026-"))
}

func TestAgainstASlowRecomputation(t *testing.T) {
	tiers := map[string]int{}
	for seed := range uint64(400) {
		w := randomWorld(rand.New(rand.NewPCG(seed, 1)))
		for h := range 12 {
			host := fmt.Sprintf("h%02d.example", h)
			history := tier.HistoryOf(w.rounds, w.history(host), w.feed)
			standing := tier.StandingOf(history)
			tiers[standing.Tier]++
			if got, want := standing.Label, w.slowTier(host); strings.ReplaceAll(got, "2026-", "") != want {
				t.Fatalf("seed %d, %s: %q, recomputed %q", seed, host, got, want)
			}
			w.checkHistory(t, host, history)
		}
		for i := range w.rounds {
			w.checkWeek(t, i)
			for j := range i {
				w.checkDiff(t, j, i)
			}
		}
	}
	for _, tier := range tier.TierNames() {
		if tiers[tier] < 50 {
			t.Errorf("only %d hosts were %s", tiers[tier], tier)
		}
	}
}

func (w *world) checkHistory(t *testing.T, host string, got tier.History) {
	t.Helper()
	var since, probed, beyond, absent, degraded, said, away int64
	for i := w.first(host); i < len(w.rounds); i++ {
		since++
		r, ok := w.rows[i][host]
		switch {
		case w.saw(i, host) != "":
			probed++
		case !ok && w.rounds[i].Roster.Capped:
			beyond++
		case !ok:
			absent++
		case r.Verdict == "unreachable":
			degraded++
		case r.Reason != "interrupted":
			since-- // it was walked, and is no gap of the store
			away++
		default:
			said++
		}
	}
	if got.Rounds != since || got.ProbedRounds != probed || got.Missed != since-probed ||
		got.TurnedAway+got.NotExercised != away || since > 0 &&
		got.Percent != 100*probed/since {
		t.Fatalf("%s: %d probed of %d, %d missed, %d %%; recomputed %d of %d", host, got.ProbedRounds, got.Rounds,
			got.Missed, got.Percent, probed, since)
	}
	gaps := map[string]int64{}
	for _, c := range got.Gaps {
		gaps[c.Name] = c.Count
	}
	if gaps["possibly_beyond_cap"] != beyond || gaps["not_listed"] != absent ||
		gaps["instrument_degraded"] != degraded ||
		gaps["interrupted"] != said || gaps["challenged"]+gaps["method_unresolved"] != away ||
		gaps["before_first_sighting"] != int64(w.first(host)) {
		t.Fatalf("%s: gaps %v", host, got.Gaps)
	}
	var verdicts []string
	for i := range w.rounds {
		if v := w.saw(i, host); v != "" {
			verdicts = append(verdicts, v)
		}
	}
	if n := len(slices.Compact(verdicts)); len(got.Changes) != max(0, n-1) {
		t.Fatalf("%s: %d changes, recomputed %d", host, len(got.Changes), n-1)
	}
}

func (w *world) checkWeek(t *testing.T, i int) {
	t.Helper()
	got, err := Trajectory(w.rounds[i], w.stream(i))
	if err != nil {
		t.Fatal(err)
	}
	number := func(is func(record.Row) bool) (n int64) {
		for _, r := range w.rows[i] {
			if is(r) {
				n++
			}
		}
		return n
	}
	degraded := func(r record.Row) bool { return r.Verdict == "unreachable" && r.Fault == "instrument" }
	want := got
	want.HostsDue = int64(len(w.rows[i]))
	want.HostsListed = number(func(r record.Row) bool { return r.Listed })
	want.Ready = number(func(r record.Row) bool { return r.Verdict == "ready" })
	want.NotReady = number(func(r record.Row) bool { return r.Verdict == "not_ready" })
	want.Unreachable = number(func(r record.Row) bool { return r.Verdict == "unreachable" && !degraded(r) })
	want.NotProbed = number(func(r record.Row) bool { return r.Verdict == "not_probed" })
	want.Degraded = number(degraded)
	want.HostsProbed = number(func(r record.Row) bool { return r.Verdict != "not_probed" })
	want.OffersSeen = number(func(r record.Row) bool { return r.Offer != nil && !degraded(r) })
	none := tier.Counts{}
	want.FailureClasses, want.Networks, want.Gaps, want.Catalogs = none, none, none, none
	add := func(to *tier.Counts, name string, n int64) {
		if n > 0 {
			*to = append(*to, tier.Count{Name: name, Count: n})
		}
	}
	for _, name := range []string{"accepts", "status-402"} {
		add(&want.FailureClasses, name, number(func(r record.Row) bool { return slices.Contains(r.Failed, name) }))
	}
	for _, name := range []string{"a", "b", "c"} {
		add(&want.Networks, name, number(func(r record.Row) bool {
			return r.Offer != nil && !degraded(r) && slices.Contains(r.Offer.Networks, name)
		}))
	}
	because := func(name string) {
		add(&want.Gaps, name, number(func(r record.Row) bool { return r.Reason == name }))
	}
	because("challenged")
	add(&want.Gaps, "instrument_degraded", number(degraded))
	because("interrupted")
	because("method_unresolved")
	for _, name := range []string{"bazaar", "other"} {
		add(&want.Catalogs, name, number(func(r record.Row) bool { return r.Catalog == name }))
	}
	batteries := map[string]bool{}
	for _, r := range w.rows[i] {
		batteries[r.Battery] = true
	}
	want.Battery = strings.Join(slices.Sorted(maps.Keys(batteries)), "")
	if len(batteries) > 1 {
		want.Battery = "mixed"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("round %d (-recomputed +got):\n%s", i+1, diff)
	}
	facts, err := WalletFacts(w.rounds[i], w.stream(i))
	if err != nil {
		t.Fatal(err)
	}
	var addresses, shared, largest int64
	for _, network := range []string{"a", "b"} {
		for _, digest := range []string{"1", "2", "3", "4"} {
			n := number(func(r record.Row) bool {
				return r.Offer != nil && slices.Contains(r.Offer.PayTo, record.PayTo{Network: network, Digest: digest})
			})
			addresses += min(n, 1)
			shared += min(n/2, 1)
			largest = max(largest, n)
		}
	}
	with := number(func(r record.Row) bool { return r.Offer != nil && len(r.Offer.PayTo) > 0 })
	if facts.Addresses != addresses || facts.Shared != shared || facts.LargestCluster != largest ||
		facts.WithPayTo != with || facts.WithOffer < with || facts.HostsProbed != want.HostsProbed {
		t.Fatalf("round %d: %+v, recomputed %d, %d, %d, %d", i+1, facts, addresses, shared, largest, with)
	}
}

func (w *world) checkDiff(t *testing.T, from, to int) {
	t.Helper()
	got, err := Compare(w.rounds[from], w.rounds[to], w.stream(from), w.stream(to))
	if err != nil {
		t.Fatal(err)
	}
	in := func(i int, host string) (record.Row, bool) {
		r, ok := w.rows[i][host]
		return r, ok && r.Source != "revisit" && !(r.Verdict == "unreachable" && r.Fault == "instrument")
	}
	var appeared, disappeared, moved, drifted []string
	for h := range 12 {
		host := fmt.Sprintf("h%02d.example", h)
		a, inA := in(from, host)
		b, inB := in(to, host)
		switch {
		case inA && !inB:
			disappeared = append(disappeared, host)
		case inB && !inA:
			appeared = append(appeared, host)
		case inA && inB && w.saw(from, host) != "" && w.saw(to, host) != "":
			if a.Verdict != b.Verdict {
				moved = append(moved, host+" "+a.Verdict+" "+b.Verdict)
			}
			if a.Offer != nil && b.Offer != nil && a.Offer.MinUSDC != "" && b.Offer.MinUSDC != "" &&
				a.Offer.MinUSDC != b.Offer.MinUSDC {
				drifted = append(drifted, host+" "+a.Offer.MinUSDC+" "+b.Offer.MinUSDC)
			}
		}
	}
	var transitions, prices []string
	for _, c := range got.Transitions {
		transitions = append(transitions, c.Host+" "+c.From+" "+c.To)
	}
	for _, d := range got.Drift {
		if d.Field == "min_usdc" {
			prices = append(prices, d.Host+" "+d.From+" "+d.To)
		}
	}
	for _, c := range []struct{ got, want []string }{{got.Appeared, appeared}, {got.Disappeared, disappeared},
		{transitions, moved}, {prices, drifted}} {
		if !slices.Equal(c.got, c.want) {
			t.Fatalf("from round %d to %d: %v, recomputed %v", from+1, to+1, c.got, c.want)
		}
	}
	if got.HostsInFrom != got.HostsInBoth+int64(len(disappeared)) || got.HostsInTo != got.HostsInBoth+
		int64(len(appeared)) {
		t.Fatalf("%d and %d hosts, %d in both", got.HostsInFrom, got.HostsInTo, got.HostsInBoth)
	}
}

// TestADiffCountsWhatItsSentenceSays: of each kind of row the sentence beside the counts says
// whether it is among them.
func TestADiffCountsWhatItsSentenceSays(t *testing.T) {
	for _, c := range []struct {
		row  record.Row
		in   int64
		says string
	}{
		{record.Row{Source: record.SourceRevisit, Verdict: record.VerdictReady}, 0, "Rows of revisits, and of doors"},
		{record.Row{Verdict: record.VerdictUnreachable, Fault: record.FaultInstrument}, 0,
			"walked and not reached through the store's own fault, are left out on both sides."},
		{record.Row{Verdict: record.VerdictNotProbed, Fault: record.FaultInstrument}, 1,
			"not probed, for whatever reason, counts among the hosts and has no verdict"},
	} {
		w := &world{rounds: []record.Round{{Sequence: 1}}, rows: []map[string]record.Row{{"": c.row}}}
		d, err := Compare(w.rounds[0], w.rounds[0], w.stream(0), w.stream(0))
		if err != nil || d.HostsInFrom != c.in || d.HostsInTo != c.in || d.HostsInBoth != c.in {
			t.Errorf("%+v, %v, want %d hosts", d, err, c.in)
		}
		if !strings.Contains(diffExplained, c.says) {
			t.Errorf("the sentence lacks %q", c.says)
		}
	}
}

// TestTierRules fixes each rule by one example, R ready, N not ready, - not probed, O opted out,
// . no row.
func TestTierRules(t *testing.T) {
	for _, test := range []struct{ weeks, suspect, want string }{
		{"RRRRRRRR", "", "standing — 8 of 8, W36–W43"},
		{"RRRRRRRRRR", "", "standing — 8 of 8, W38–W45"},
		{"NRRRRRRRR", "", "standing — 8 of 8, W37–W44"},
		{"RRR-RRRR", "", "established — 4 of 4, W40–W43"},
		{"RRRR", "", "established — 4 of 4, W36–W39"},
		{"..RRRR", "", "established — 4 of 4, W38–W41"},
		{"RRR", "", "indeterminate — 3 of 3, W36–W38"},
		{"RRRR-", "", "observed — 3 of 4, W37–W40"},
		{"RRRR-", "....x", "indeterminate — 3 of 4, W37–W40"},
		{"RRRRR", "....x", "established — 4 of 4, W37–W40"},
		{"RRRNR", "", "observed — 3 of 4, W37–W40"},
		{"RRRRRRRN", "", "broken — 3 of 4, W40–W43"},
		{"N", "", "broken — 0 of 1, W36–W36"},
		{"N--------", "", "indeterminate — 0 of 4, W41–W44"},
		{"...", "", "indeterminate — no rounds"},
		{"NOOOOOOOOO", "", "broken — 0 of 4, W42–W45"},
		{"RNOOO", "", "broken — 0 of 4, W37–W40"},
		{"NROOOOOOOO", "", "indeterminate — 0 of 4, W42–W45"},
		{"NOOOOOOOO-", "", "indeterminate — 0 of 4, W42–W45"},
		{"NOOOOOOOOR", "", "indeterminate — 1 of 4, W42–W45"},
	} {
		w := &world{}
		for i, c := range test.weeks {
			round := record.Round{Sequence: int64(i + 1), Week: record.ISOWeek(at(i)),
				TakenAt: at(i + 1).Format(second)}
			round.Roster.Capped = i < len(test.suspect) && test.suspect[i] == 'x'
			rows := map[string]record.Row{}
			verdict := map[rune]string{'R': record.VerdictReady, 'N': record.VerdictNotReady,
				'-': record.VerdictNotProbed, 'O': record.VerdictNotProbed}[c]
			reason := "cap"
			if c == 'O' {
				reason = record.ReasonOptedOut
			}
			if verdict != "" {
				rows["a"] = record.Row{Sequence: round.Sequence, Host: "a", Verdict: verdict, Reason: reason,
					ObservedAt: at(i).Format(second)}
			}
			w.rounds, w.rows = append(w.rounds, round), append(w.rows, rows)
		}
		if got := tier.StandingOf(tier.HistoryOf(w.rounds, w.history("a"), nil)).Label; got != test.want {
			t.Errorf("%s %s: %q, want %q", test.weeks, test.suspect, got, test.want)
		}
	}
}

// TestWhatWasNotCapturedDidNotDrift compares terms with those of an offer that could not be read,
// or only in part.
func TestWhatWasNotCapturedDidNotDrift(t *testing.T) {
	full := &record.RowOffer{Networks: []string{"a"}, Schemes: []string{"exact"}, MinUSDC: "1", MaxUSDC: "1",
		PayTo: []record.PayTo{{Network: "a", Digest: "1"}}}
	none := &record.RowOffer{NotCapturedReason: record.NotCapturedUnreadable}
	others := &record.RowOffer{Networks: []string{"b"}, NetworksLeftOut: 1, Schemes: []string{"exact"},
		PayTo: []record.PayTo{{Network: "a", Digest: "2"}}, PayToLeftOut: 1}
	part := &record.RowOffer{Networks: []string{"b"}, Schemes: []string{"exact"},
		PayTo: []record.PayTo{{Network: "a", Digest: "1"}}}
	for _, c := range []struct {
		from, to *record.RowOffer
		want     []Drift
	}{
		{full, none, nil}, {none, full, nil}, {full, full, nil}, {full, others, nil}, {others, full, nil},
		{full, part, []Drift{{Host: "a.example", Field: "networks", From: "a", To: "b"}}},
	} {
		got := Drifts(&record.Row{Host: "a.example", Offer: c.from}, &record.Row{Host: "a.example", Offer: c.to})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("from %+v to %+v: - want + got\n%s", c.from, c.to, diff)
		}
	}
}

// TestEveryFigureNamesItsDenominator: a view that counts says of each of its members of how many it
// is.
func TestEveryFigureNamesItsDenominator(t *testing.T) {
	b := &Book{BaseURL: "https://store.example", Rounds: []record.Round{{Sequence: 1}}, Figures: []Figures{{}},
		Proofs: []string{""}}
	for _, v := range []struct {
		name, text string
		view       any
		plain      []string // members that are no counts
	}{
		{"trajectory", b.Trajectory().Explanation, Week{}, []string{"week", "sequence", "digest", "taken_at", "battery",
			"coverage_suspect"}},
		{"wallet-facts", b.WalletsNow().Explanation, Wallets{},
			[]string{"week", "sequence", "digest", "shared_wallet_caveat"}},
		{"registry", b.Registry().Explanation, Market{}, []string{"week", "sequence", "digest", "taken_at", "rot",
			"signed_offers"}},
		// they say it themselves
		{"rails", b.Registry().Explanation, Rails{}, []string{"both", "base_only", "solana_only", "other", "of"}},
		{"fresh-set", b.Fresh().Explanation, Rails{}, []string{"both", "base_only", "solana_only", "other", "of"}},
	} {
		raw, err := json.Marshal(v.view)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		for name := range members {
			if !slices.Contains(v.plain, name) && !strings.Contains(v.text, name) {
				t.Errorf("%s: nothing says of what %s is a part", v.name, name)
			}
		}
	}
}
