package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

// block makes a header at home that says it was made then. Those of other nonces are other blocks.
func block(at time.Time, nonce byte) attest.Hex {
	h := make([]byte, ots.HeaderSize)
	h[0], h[40] = 4, nonce
	binary.LittleEndian.PutUint32(h[68:], uint32(at.Unix()))
	binary.LittleEndian.PutUint32(h[72:], 0x207fffff)
	for n := uint32(0); ; n++ {
		if binary.LittleEndian.PutUint32(h[76:], n); ots.Header(h).Work(record.LeastWork) == nil {
			return h
		}
	}
}

// aLot is a week whose lot a test makes and bends.
type aLot struct {
	hosts  []string // of the closed roster
	closed record.ClosedRoster
	at     time.Time // of the closing
	lot    record.Lot
	late   []string
	most   int
	after  bool // the closing comes behind the round
	twice  bool // the roster is closed a second time
	never  bool // it is not closed
	rows   func([]record.Row) []record.Row
}

// sealLot closes a roster of hosts, draws, and seals the round, after bend.
func sealLot(t *testing.T, w *seal.Writer, sequence int64, bend func(*aLot)) record.Round {
	t.Helper()
	d := recordtest.Draft(sequence)
	own := bytes.Repeat([]byte{7}, 32)
	l := &aLot{hosts: []string{"a.example", "b.example", "c.example", "d.example", "e.example"},
		at: d.TakenAt.Add(-24 * time.Hour), most: 3, late: []string{"late.example"}}
	sum := record.NewRosterHash(d.Week)
	for _, h := range l.hosts {
		if err := sum.Add(h); err != nil {
			t.Fatal(err)
		}
	}
	l.closed = record.ClosedRoster{Week: d.Week, Height: 900_002, Own: sha256.Sum256(own)}
	l.closed.Hosts, l.closed.Digest = sum.Sum()
	l.lot = record.Lot{RosterDigest: l.closed.Digest, Height: l.closed.Height,
		Header: block(l.at.Add(20*time.Minute), 1)}
	bend(l)
	if l.lot.Own != nil && len(l.lot.Own) == 0 {
		l.lot.Own = own
	}
	order := slices.Clone(l.hosts)
	seed := l.lot.Seed()
	slices.SortFunc(order, func(a, b string) int {
		x, y := record.Turn(seed, a), record.Turn(seed, b)
		return bytes.Compare(x[:], y[:])
	})
	var rows []record.Row
	for i, h := range order {
		row := recordtest.Walked(h, record.VerdictReady)
		if i >= l.most {
			row = recordtest.Walked(h, record.VerdictNotProbed)
			row.Reason = record.ReasonBeyondCap
		}
		rows = append(rows, row)
	}
	for _, h := range l.late {
		row := recordtest.Walked(h, record.VerdictReady)
		row.Late = true
		rows = append(rows, row)
	}
	if l.rows != nil {
		rows = l.rows(rows)
	}
	slices.SortFunc(rows, func(a, b record.Row) int { return strings.Compare(a.Host, b.Host) })
	recordtest.Date(d.TakenAt, rows)
	d.Rows, d.Lot = recordtest.Each(rows...), &l.lot
	shut := func() {
		if _, err := w.Observe(t.Context(), record.Observation{At: l.at.Format(time.RFC3339),
			Kind: record.ObservationRoster, Roster: &l.closed}); err != nil {
			t.Fatal(err)
		}
	}
	if !l.after && !l.never {
		shut()
	}
	if l.twice {
		l.closed.Height++
		shut()
	}
	round := recordtest.Seal(t, w, d)
	if l.after {
		shut()
	}
	return round
}

// TestALotIsDrawnAgain lets a stranger draw what a keeper says was drawn: nothing but the draw that
// was fixed before the walks passes.
func TestALotIsDrawnAgain(t *testing.T) {
	swap := func(rows []record.Row) []record.Row {
		// The last who has a place gives it to the first who has none.
		in, out := rows[2], rows[3]
		rows[2], rows[3] = recordtest.Walked(out.Host, record.VerdictReady),
			recordtest.Walked(in.Host, record.VerdictNotProbed)
		rows[3].Reason = record.ReasonBeyondCap
		return rows
	}
	for name, c := range map[string]struct {
		bend func(*aLot)
		want string // of the problem, "" for none
	}{
		"by a block":    {func(*aLot) {}, ""},
		"its own":       {func(l *aLot) { l.lot.Header, l.lot.Own = nil, attest.Hex{} }, ""},
		"another block": {func(l *aLot) { l.rows = swap }, "whose turn came before"},
		"a favoured host": {func(l *aLot) { l.rows = swap; l.lot.Header, l.lot.Own = nil, attest.Hex{} },
			"whose turn came before"},
		"a block of another height": {func(l *aLot) { l.lot.Height++ }, "and block 900002 was fixed"},
		"a block known before": {func(l *aLot) { l.lot.Header = block(l.at.Add(-3*time.Hour), 1) },
			"it was known by then"},
		"no work": {func(l *aLot) { l.lot.Header[75] = 0x03 }, "difficulty it states"},
		"redrawn until it pleased": {func(l *aLot) { l.lot.Header, l.lot.Own = nil, bytes.Repeat([]byte{8}, 32) },
			"is not the one that was fixed"},
		"a host taken off": {func(l *aLot) { l.rows = func(r []record.Row) []record.Row { return r[1:] } },
			"its rows give a roster"},
		"a host put on": {func(
			l *aLot) {
			l.rows = func(r []record.Row) []record.Row { r[5].Late = false; return r }
		}, "its rows give a roster"},
		"a host called late": {func(
			l *aLot) {
			l.rows = func(r []record.Row) []record.Row { r[0].Late = true; return r }
		}, "its rows give a roster"},
		"closed after walking":       {func(l *aLot) { l.after = true }, "stands in the log behind its rows"},
		"never closed":               {func(l *aLot) { l.never = true }, "no observation closes"},
		"closed twice":               {func(l *aLot) { l.twice = true }, "a lot is drawn once"},
		"a digest of another roster": {func(l *aLot) { l.lot.RosterDigest[0] ^= 1 }, "its rows give a roster"},
		"another roster was closed":  {func(l *aLot) { l.closed.Digest[0] ^= 1 }, "and the one that was closed is"},
		"another count was closed":   {func(l *aLot) { l.closed.Hosts++ }, "closed with 6"},
	} {
		t.Run(name, func(t *testing.T) {
			w := recordtest.Writer(t)
			sealLot(t, w, 1, c.bend)
			report, err := Record(t.Context(), os.DirFS(w.Dir), w.Ring, RecordOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range report.Problems {
				got = append(got, p.Detail)
			}
			if text := strings.Join(got, "; "); (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
				t.Errorf("problems %q, want %q", text, c.want)
			}
			if sum := report.Lots.Block + report.Lots.Own; c.want == "" &&
				(sum != 1 || report.Lots.Weak != report.Lots.Block) {
				t.Errorf("lots %+v", report.Lots)
			}
		})
	}
}

// TestATurnFollowsFromItsBlock takes a block and its hash from any explorer, and a turn from
// sha256sum: whoever draws a lot again by what is written takes the same bytes in the same order.
func TestATurnFollowsFromItsBlock(t *testing.T) {
	header, err := hex.DecodeString("01000000" + strings.Repeat("00", 32) +
		"3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a" + "29ab5f49ffff001d1dac2b7c")
	if err != nil {
		t.Fatal(err)
	}
	l := &record.Lot{Header: header}
	if got := l.Block(); got != "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f" {
		t.Errorf("the first block of all is %s", got)
	}
	// (printf 000000000019d6… | xxd -r -p; printf a.example) | sha256sum
	const turn = "caf63b4558a444d39655b1cbfc7d45acd57e114e0fed6dc536ec66520610a96f"
	if got := record.Turn(l.Seed(), "a.example"); hex.EncodeToString(got[:]) != turn {
		t.Errorf("the turn of a.example is %x", got)
	}
}

// TestOwnLotsInARowAreSuspect: one round may have to draw its own lot, and the next one is told.
func TestOwnLotsInARowAreSuspect(t *testing.T) {
	w := recordtest.Writer(t)
	own := func(l *aLot) { l.lot.Header, l.lot.Own = nil, attest.Hex{} }
	for i, c := range []struct {
		bend    func(*aLot)
		suspect bool
	}{{own, false}, {func(*aLot) {}, false}, {own, false}, {own, true}, {own, true}, {func(*aLot) {}, false}} {
		if r := sealLot(t, w, int64(i+1), c.bend); r.Coverage.Suspect != c.suspect {
			t.Errorf("round %d: suspect %v", r.Sequence, r.Coverage.Suspect)
		}
	}
	report, err := Record(t.Context(), os.DirFS(w.Dir), w.Ring, RecordOptions{})
	if err != nil || len(report.Problems) > 0 || report.Lots != (LotReport{Block: 2, Weak: 2, Own: 4}) {
		t.Errorf("%+v, %v, %v", report.Lots, report.Problems, err)
	}
	var said strings.Builder
	report.print(&said)
	for _, want := range []string{"of 2 rounds drawn again by a Bitcoin block", "of 4 by a value of the census's own",
		"2 of the blocks show too little work"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &said)
		}
	}
	// Nor can a record that says by what it draws stop saying it.
	if _, err := w.Seal(t.Context(),
		recordtest.Draft(7, recordtest.Walked("a.example", record.VerdictReady))); err == nil ||
		!strings.Contains(err.Error(), "by what lot") {
		t.Errorf("a round without a lot: %v", err)
	}
}
