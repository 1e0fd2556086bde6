package verify

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// year writes twelve rounds in which door.example and two others stand, and an observation after
// every third.
func year(t testing.TB) (*record.Record, []byte) {
	t.Helper()
	return rounds(t, 12, 0, func(int64) []string { return []string{"a.example", "door.example", "z.example"} })
}

// rounds writes so many rounds over the hosts that each has, an observation after every third, and
// more at the end.
func rounds(t testing.TB, n int64, after int, hosts func(sequence int64) []string) (*record.Record, []byte) {
	t.Helper()
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	for sequence := range n {
		sealed(t, w, sequence+1, hosts(sequence+1)...)
		if sequence%3 == 2 {
			observe(t, w, "synergy")
		}
	}
	for range after {
		observe(t, w, "seamless")
	}
	return open(t, w)
}

func observe(t testing.TB, w *seal.Writer, word string) {
	t.Helper()
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-12-01T00:00:00Z",
		Kind: record.ObservationRetiredWord, Word: &record.Said{Text: word}}); err != nil {
		t.Fatal(err)
	}
}

// cut takes rounds out of a bundle, with all that is about them, as one without any key can who has
// the record: what is said of the hosts is then what the index of the newest round does that is
// left.
func cut(t testing.TB, r *record.Record, b Bundle, out ...int64) Bundle {
	t.Helper()
	gone := func(n int64) bool { return slices.Contains(out, n) }
	newest := int64(0)
	b.Rounds = slices.DeleteFunc(slices.Clone(b.Rounds), func(r BundleRound) bool {
		parsed, err := record.ParseRound([]byte(r.Header))
		if err == nil && !gone(parsed.Sequence) {
			newest = max(newest, parsed.Sequence)
		}
		return err == nil && gone(parsed.Sequence)
	})
	b.Rows = slices.DeleteFunc(slices.Clone(b.Rows), func(r BundleRow) bool {
		parsed, err := record.ParseRow([]byte(r.Row))
		return err == nil && gone(parsed.Sequence)
	})
	left := make(map[int64]bool) // leaves of rows
	for _, row := range b.Rows {
		proof, err := tlog.ParseProof([]byte(row.Proof))
		if err != nil {
			t.Fatal(err)
		}
		left[proof.Index] = true
	}
	b.Errata = slices.DeleteFunc(slices.Clone(b.Errata), func(l BundleLeaf) bool {
		o, err := record.VerifyObservation([]byte(l.Leaf), r.Ring())
		if err != nil {
			t.Fatal(err)
		}
		return !left[o.Erratum.Leaf]
	})
	b.Hosts = slices.Clone(b.Hosts)
	if newest == 0 {
		b.Hosts = b.Hosts[:0]
	}
	for i, h := range b.Hosts {
		if h.Sequence == newest {
			continue
		}
		var err error
		if b.Hosts[i], err = r.ProveHost(newest, h.Host); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// TestABundleWithItsBadWeeksCutOut takes rounds 1 to 5 and 11 out of a bundle of twelve and puts
// its digest right.
func TestABundleWithItsBadWeeksCutOut(t *testing.T) {
	r, keys := year(t)
	b, err := Export(r, keys, []Want{{Host: "door.example"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string][]int64{"rounds 1 to 5 and 11": {1, 2, 3, 4, 5, 11}, "the newest": {12},
		"all": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}} {
		report, err := VerifyBundle(encoded(t, cut(t, r, b, out...)), bundleJudging)
		if err != nil {
			t.Fatal(err)
		}
		if report.Sound() {
			var said bytes.Buffer
			report.Print(&said, "bundle.json")
			t.Errorf("without %s it verifies: %s", name, said.String())
		}
	}
}

// TestEverySubsetOfTheWeeksOfABundle takes every set of weeks out of bundles of every host of small
// histories, and of all hosts at once, and puts the digest right: whatever is left but the whole is
// refused, or unproven with the weeks named that are not there. Hosts begin late, have weeks in
// which they are missing, are gone, and were never seen; histories end in rounds and in
// observations. Weeks go with their rounds, or, where only rows do, leave their rounds behind.
func TestEverySubsetOfTheWeeksOfABundle(t *testing.T) {
	const rounded = 6
	hosts := map[string][]int64{
		"always.example": {1, 2, 3, 4, 5, 6}, "comes.example": {1, 3, 6}, "first.example": {1}, "gone.example": {1, 2},
		"last.example": {6}, "late.example": {3, 5}, "never.example": nil,
	}
	for _, after := range []int{0, 4} {
		r, keys := rounds(t, rounded, after, func(n int64) (in []string) {
			for host, weeks := range hosts {
				if slices.Contains(weeks, n) {
					in = append(in, host)
				}
			}
			slices.Sort(in)
			return in
		})
		wants := [][]string{slices.Sorted(maps.Keys(hosts))}
		for host := range hosts {
			wants = append(wants, []string{host})
		}
		for _, of := range wants {
			var w []Want
			for _, host := range of {
				w = append(w, Want{Host: host})
			}
			b, err := Export(r, keys, w)
			if err != nil {
				t.Fatal(err)
			}
			var held []int64 // rounds: those with rows, and the newest
			for n := range int64(rounded) {
				if n+1 == rounded || slices.ContainsFunc(of,
					func(host string) bool { return slices.Contains(hosts[host], n+1) }) {
					held = append(held, n+1)
				}
			}
			if len(b.Rounds) != len(held) || len(b.Hosts) != len(of) || len(b.After) > 2 {
				t.Errorf("%v: %d rounds, %d hosts and %d observations in the bundle, want rounds %v", of, len(b.Rounds),
					len(b.Hosts), len(b.After), held)
			}
			everySubset(t, r, b, held, hosts)
		}
	}
}

// everySubset takes every set of the rounds that a bundle holds out of it. hosts are those that are
// asked for, with the rounds in which they have a row; the newest round is the last one held.
func everySubset(t *testing.T, r *record.Record, b Bundle, held []int64, hosts map[string][]int64) {
	t.Helper()
	for subset := range 1 << len(held) {
		var gone []int64
		for i, n := range held {
			if subset&(1<<i) != 0 {
				gone = append(gone, n)
			}
		}
		rounds, rowsAlone := cut(t, r, b, gone...), b
		rowsAlone.Rows, rowsAlone.Errata = rounds.Rows, rounds.Errata
		for what, left := range map[string]Bundle{"rounds": rounds, "rows": rowsAlone} {
			whole := subset == 0 || what == "rows" && len(left.Rows) == len(b.Rows)
			wantLacking(t, left, what, gone, whole, held[len(held)-1], hosts)
		}
	}
}

// wantLacking demands that a bundle from which rounds are gone is refused, or unproven with those
// rounds named in which its hosts have rows.
func wantLacking(t *testing.T, left Bundle, what string, gone []int64, whole bool, newest int64,
	hosts map[string][]int64) {
	t.Helper()
	report, err := VerifyBundle(encoded(t, left), BundleOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Sound() != whole || whole && report.CompleteTo != newest {
		t.Errorf("without %s %v: %v %v", what, gone, report.Problems, report.Unproven)
	}
	if report.Refused() && len(left.Rounds) > 0 {
		t.Errorf("without %s %v: refused, and all that is left is good: %v", what, gone, report.Problems)
	}
	for _, h := range report.Hosts {
		for _, n := range hosts[h.Host] {
			named := slices.ContainsFunc(report.Unproven, func(u Unproven) bool {
				return u.Host == h.Host &&
					slices.ContainsFunc(u.Rounds, func(s BundleSpan) bool { return s.From <= n && n <= s.To })
			})
			if missing := slices.Contains(gone, n) && n <= report.CompleteTo; missing && !named ||
				!missing && named && slices.Contains(h.Present, n) {
				t.Errorf("without %s %v: of %s, round %d is named: %v: %v", what, gone, h.Host, n, named,
					report.Unproven)
			}
		}
		if n := int64(len(h.Present)); h.Whole != (n == h.Rows) {
			t.Errorf("without %s %v: %s is whole: %v, with %d of %d rows", what, gone, h.Host, h.Whole, n, h.Rows)
		}
	}
}

// TestWhatACutBundleLacksIsNamed in the words that people read and in the members that programs do.
func TestWhatACutBundleLacksIsNamed(t *testing.T) {
	r, keys := year(t)
	b, err := Export(r, keys, []Want{{Host: "door.example"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		out    []int64
		change func(*Bundle)
		spans  []BundleSpan
		text   string
	}{
		{[]int64{1, 2, 3, 4, 5, 11}, nil, []BundleSpan{{1, 5}, {11, 11}},
			"UNPROVEN: door.example: its history: 6 of its 12 rows not here, of rounds 1 to 5 and 11"},
		{[]int64{7}, nil, []BundleSpan{{7, 7}},
			"UNPROVEN: door.example: its history: 1 of its 12 rows not here, of round 7"},
		{[]int64{12}, nil, nil, "UNPROVEN: that round 11 is the newest: of the leaves behind it, 58 to 63, it does " +
			"not show that all are observations"},
		{nil, func(b *Bundle) { b.Rows = b.Rows[:11] }, []BundleSpan{{12, 12}},
			"UNPROVEN: door.example: its history: 1 of its 12 rows not here, of round 12"},
		{nil, func(b *Bundle) { b.Rows = b.Rows[:0] }, []BundleSpan{{1, 12}},
			"UNPROVEN: door.example: its history: 12 of its 12 rows not here, of rounds 1 to 12"},
		{nil, func(b *Bundle) { b.After = b.After[:0] }, nil, "UNPROVEN: that round 12 is the newest"},
		{nil, func(b *Bundle) {
			b.Rounds, b.Rows, b.Hosts, b.After = b.Rounds[:0], b.Rows[:0], b.Hosts[:0], b.After[:0]
		}, nil, "UNPROVEN: anything: it holds no round"},
		{nil, func(b *Bundle) {
			b.Checkpoint, b.Rounds, b.Rows, b.Hosts, b.After = "", b.Rounds[:0], b.Rows[:0], b.Hosts[:0], b.After[:0]
		}, nil, "UNPROVEN: anything: it holds no round"},
		{nil, func(b *Bundle) { b.Rows, b.Hosts = b.Rows[:0], b.Hosts[:0] }, nil,
			"UNPROVEN: anything: it holds rounds and says of no host"},
	} {
		spoilt := cut(t, r, b, c.out...)
		if c.change != nil {
			c.change(&spoilt)
		}
		report, err := VerifyBundle(encoded(t, spoilt), bundleJudging)
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		report.Print(&said, "bundle.json")
		if report.Sound() || report.Refused() || !strings.Contains(said.String(), c.text) ||
			strings.Contains(said.String(), ": verified") {
			t.Errorf("without %v: %v %s", c.out, report.Problems, said.String())
		}
		if len(c.spans) > 0 && !slices.Equal(report.Unproven[0].Rounds, c.spans) {
			t.Errorf("without %v: it names %v", c.out, report.Unproven)
		}
	}
}

// TestAnOlderBundle is what a bundle becomes when its newest rounds are cut out and a head of
// before is put in, which anybody can who has the log: the bundle that was made then. It says up to
// where it goes, and a checkpoint that was seen or a week that is demanded tells that it is old.
func TestAnOlderBundle(t *testing.T) {
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	for n := range int64(3) {
		sealed(t, w, n+1, "door.example")
	}
	r, keys := open(t, w)
	b, err := Export(r, keys, []Want{{Host: "door.example"}})
	if err != nil {
		t.Fatal(err)
	}
	old := encoded(t, b)
	sealed(t, w, 4, "door.example")
	r, _ = open(t, w)
	four := r.Log.Head()
	observe(t, w, "word")
	r, keys = open(t, w)
	if b, err = Export(r, keys, []Want{{Host: "door.example"}}); err != nil {
		t.Fatal(err)
	}
	fresh := encoded(t, b)
	for _, c := range []struct {
		what    string
		raw     []byte
		o       BundleOptions
		sound   bool
		through int64
		lacks   string
	}{
		{"an old one", old, bundleJudging, true, 3, ""},
		{"an old one, and its head was seen", old,
			BundleOptions{Judge: rejudge.Batteries{}, Remembered: []byte(mustParse(t, old).Checkpoint)}, true, 3,
			""},
		{"an old one, and a newer head was seen", old,
			BundleOptions{Judge: rejudge.Batteries{}, Remembered: four.Raw}, false, 3,
			"anything behind round 3: the log was seen at 12 leaves before, and this bundle knows 9 of them"},
		{"an old one, as of its week", old, BundleOptions{Judge: rejudge.Batteries{}, AsOf: "2026-W39"}, true, 3, ""},
		{"an old one, as of a later week", old, BundleOptions{Judge: rejudge.Batteries{}, AsOf: "2026-W40"}, false, 3,
			"anything as of 2026-W40: its newest round, 3, is of 2026-W39"},
		{"a fresh one, and an older head was seen", fresh,
			BundleOptions{Judge: rejudge.Batteries{}, Remembered: four.Raw, AsOf: "2026-W40"}, true, 4,
			""},
		{"a fresh one, and its own was", fresh,
			BundleOptions{Judge: rejudge.Batteries{}, Remembered: r.Log.Head().Raw}, true, 4, ""},
	} {
		report, err := VerifyBundle(c.raw, c.o)
		if err != nil || report.Sound() != c.sound || report.Refused() || report.CompleteTo != c.through {
			t.Errorf("%s: complete to %d: %v %v %v", c.what, report.CompleteTo, report.Problems, report.Unproven, err)
		}
		if c.lacks != "" && (len(report.Unproven) != 1 || report.Unproven[0].Detail != c.lacks) {
			t.Errorf("%s: it lacks %v", c.what, report.Unproven)
		}
	}
	if _, err := VerifyBundle(old, BundleOptions{Judge: rejudge.Batteries{}, AsOf: "yesterday"}); err == nil {
		t.Error("no week is a week")
	}
}

func mustParse(t testing.TB, raw []byte) Bundle {
	t.Helper()
	b, err := ParseBundle(raw)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestAHiddenRoundBehindObservations replaces what shows that nothing stands behind the newest
// round by other leaves of the same log, all proved and signed, so as to hide a round between
// observations.
func TestAHiddenRoundBehindObservations(t *testing.T) {
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	sealed(t, w, 1, "door.example")
	for _, word := range []string{"one", "two"} {
		observe(t, w, word)
	}
	sealed(t, w, 2, "door.example")
	for _, word := range []string{"three", "four"} {
		observe(t, w, word)
	}
	r, keys := open(t, w)
	b, err := Export(r, keys, []Want{{Host: "door.example"}})
	if err != nil {
		t.Fatal(err)
	}
	size := r.Log.Head().Size
	leaf := func(index int64) BundleLeaf {
		t.Helper()
		raw, err := r.Log.Entry(index)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := r.Log.Prove(index, size, r.Ring())
		if err != nil {
			t.Fatal(err)
		}
		return BundleLeaf{Leaf: string(raw), Proof: string(proof.Text())}
	}
	short := cut(t, r, b, 2)
	for first := range size {
		for last := range size {
			spoilt := short
			spoilt.After = []BundleLeaf{leaf(first), leaf(last)}
			if report, err := VerifyBundle(encoded(t, spoilt), BundleOptions{}); err != nil || report.Sound() {
				t.Errorf("leaves %d and %d hide round 2: %v", first, last, err)
			}
		}
	}
	// Under another head than the bundle's.
	proof, err := r.Log.Prove(3, 4, r.Ring())
	if err != nil {
		t.Fatal(err)
	}
	spoilt := b
	spoilt.After = []BundleLeaf{{Leaf: b.After[0].Leaf, Proof: string(proof.Text())}, b.After[1]}
	if report, err := VerifyBundle(encoded(t, spoilt), bundleJudging); err != nil || !report.Refused() {
		t.Errorf("a proof under another head: %v %v", report.Unproven, err)
	}
}

// TestTheIndexOfAnOlderRound hides the newest rows of a host behind what the index of an older
// round says of it, in a bundle that goes on to a newer one.
func TestTheIndexOfAnOlderRound(t *testing.T) {
	r, keys := year(t)
	b, err := Export(r, keys, []Want{{Host: "a.example"}, {Host: "door.example"}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(11) {
		old, err := r.ProveHost(n+1, "door.example")
		if err != nil {
			t.Fatal(err)
		}
		spoilt := b
		spoilt.Hosts = []record.HostProof{b.Hosts[0], old}
		spoilt.Rows = b.Rows[:12+n+1]
		if report, err := VerifyBundle(encoded(t, spoilt), BundleOptions{}); err != nil ||
			len(report.Problems) == 0 || report.Problems[0].Path != "hosts[1]" {
			t.Errorf("the index of round %d: %v %v %v", n+1, report.Problems, report.Unproven, err)
		}
	}
}

// TestTwoLogsInOneBundle has whoever holds the log key prove rows and hosts under another root of
// the round's own size.
func TestTwoLogsInOneBundle(t *testing.T) {
	other := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	sealed(t, other, 1, "a.example", "b.example", "d.example")
	lie, err := record.Open(os.DirFS(other.Dir), other.Ring)
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := lie.ProveHost(1, "c.example")
	if err != nil {
		t.Fatal(err)
	}
	b := exported(t, Want{Host: "c.example", Sequence: 1})
	if _, seen := hidden.Entry(); seen || b.Hosts[0].Sequence != 1 {
		t.Fatalf("%+v %+v", hidden, b.Hosts[0])
	}
	b.Hosts[0], b.Rows = hidden, b.Rows[:0]
	if report, err := VerifyBundle(encoded(t, b), bundleJudging); err != nil || len(report.Problems) != 1 ||
		report.Problems[0].Path != "hosts[0]" {
		t.Errorf("an index of another log: %v %v", report.Problems, err)
	}
}
