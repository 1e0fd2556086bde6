package keeper

import (
	"context"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// waits reads today and returns a kind of what waits.
func (w *world) waits(name string) Waiting {
	w.t.Helper()
	today, err := w.desk.Today(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, x := range today.Waiting {
		if x.Name == name {
			return x
		}
	}
	w.t.Fatalf("nothing is called %s", name)
	return Waiting{}
}

// Each kind of what waits is seen when it does, and only then.
func TestTodaySaysWhatWaits(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Second)
	for name, c := range map[string]struct {
		plant       func(*world)
		count, late int
		says        string
	}{
		"orders": {func(w *world) {
			w.order("Shall I\u202e rewrite it? <script>", now.Add(-time.Hour))
			w.order("Later.", now.Add(time.Hour))
		}, 2, 1, `Shall I\u202e rewrite it? <script>`},
		"notes": {func(w *world) {
			w.pass(now.Add(-time.Hour), now.Add(time.Hour))
			w.pass(now.Add(-2*time.Hour), now.Add(-time.Hour))
		}, 1, 0, "1 current pass period"},
		"debts": {func(w *world) {
			w.sold("", till.Uncredited, 500_000, began)
			w.order("", now.Add(-time.Hour))
			w.order("", now.Add(time.Hour))
		}, 2, 2, "owed"},
		"unknown": {func(w *world) {
			p := w.sold("hello", till.Unknown, 500_000, now.Add(-time.Hour))
			w.set(ledger.TaskKey("purchase", p.ID), map[string]any{"job": "purchase", "id": p.ID, "due": now})
		}, 1, 1, "hello: unknown"},
		"gas":    {func(w *world) { w.net.fuel, w.net.low = big.NewInt(12), true }, 1, 0, "12 wei"},
		"closed": {func(w *world) { w.write(ledger.Shut) }, 1, 1, "restored"},
		"findings": {func(w *world) {
			w.sold("", till.Uncredited, 500_000, began)
			w.desk.cfg.Refusals.Add("insufficient_funds\u202e")
		}, 2, 0, `insufficient_funds\u202e: 1 payment refused`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if got := w.waits(name); got.Count != 0 || got.Error != "" {
				t.Fatalf("in an empty store %+v", got)
			}
			c.plant(w)
			got := w.waits(name)
			said := false
			for _, e := range got.Entries {
				said = said || strings.Contains(e.Says, c.says)
			}
			if got.Count != c.count || got.Late != c.late || !said || got.Error != "" {
				t.Errorf("%+v, want %d, late %d, with %q", got, c.count, c.late, c.says)
			}
		})
	}
}

// pass puts a period of a pass into the ledger.
func (w *world) pass(from, to time.Time) {
	w.t.Helper()
	p := w.sold("recurring_patronage", till.Delivered, 3_000_000, from)
	id := w.id("pass_")
	proof, err := attest.SignPayload(attest.SpecimenKey(), attest.Pass{PassID: id, Class: attest.ClassPass,
		PatronNumber: p.Number, Date: p.Date, Starts: from.Format(time.RFC3339), Ends: to.Format(time.RFC3339)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.set(ledger.ArtifactKey(id, p.ID), till.SignedArtifact{ID: id, Class: attest.ClassPass, Purchase: p.ID,
		Item: p.Item, Proof: proof})
}

// Once its note is signed a month asks for none.
func TestANoteIsDueOnce(t *testing.T) {
	t.Parallel()
	w, now := newWorld(t), time.Now().UTC()
	w.pass(now.Add(-time.Hour), now.Add(time.Hour))
	if _, err := w.till.WriteNote(t.Context(), now.Format("2006-01"), "Quiet.", false); err != nil {
		t.Fatal(err)
	}
	if got := w.waits("notes"); got.Count != 0 {
		t.Errorf("%+v", got)
	}
}

// What cannot be read is said in its place and hides nothing else.
func TestOneRowThatFailsHidesNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.order("Waits.", time.Now().Add(time.Hour))
	w.net.fails = errAway
	if got := w.waits("gas"); !strings.Contains(got.Error, errAway.Error()) {
		t.Errorf("gas: %+v", got)
	}
	if got := w.waits("orders"); got.Count != 1 || got.Error != "" {
		t.Errorf("orders: %+v", got)
	}
}

// Who is refused on purpose with ever new reasons fills no memory.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	r := NewRefusals()
	for i := range 10 * refusalsKept {
		r.Add(strings.Repeat("x", i))
	}
	if len(r.count) > refusalsKept+1 || r.count["other"] != 9*refusalsKept {
		t.Errorf("%d reasons, %d of them other", len(r.count), r.count["other"])
	}
}

// What recurs is told with its last time, as far as it is known.
func TestTodayTellsWhatWasLast(t *testing.T) {
	t.Parallel()
	w, at := newWorld(t), began.Add(time.Hour)
	w.desk.cfg.Past = func() []Past { return []Past{{"census", at}, {"nothing", time.Time{}}} }
	w.sold("hello", till.Delivered, 500_000, began)
	w.sold("hello", till.Delivered, 500_000, at)
	w.set(ledger.BackupKey(), at)
	today, err := w.desk.Today(t.Context())
	if want := []Past{{"sale", at}, {"backup", at}, {"census", at}}; err != nil || !slices.Equal(today.Last, want) {
		t.Errorf("%v, %v, want %v", today.Last, err, want)
	}
}
