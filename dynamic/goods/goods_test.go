package goods_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// world is orders on their way, taken from the shelf in random interleavings, and what must be true
// of them.
type world struct {
	t      *testing.T
	rnd    *rand.Rand
	db     ledger.DB
	makers []goods.Maker // the same site in several arrangements
	now    time.Time
	n      int
	open   []*order

	last      map[string]string // item and payer → entry completed last
	fortunes  map[string]string // day and payer → entry
	held      map[string]string // item and entry or word → order that holds or got it
	completed map[string]bool   // the same, given for good
	jars      int64
	words     int
	soldOut   int
}

type order struct {
	goods.Order
	kind    goods.Kind
	made    *goods.Made
	settled bool
}

func newWorld(t *testing.T, seed uint64, pools map[string]int) *world {
	w := &world{
		t: t, rnd: rand.New(rand.NewPCG(seed, seed)), db: ledger.NewMem(ledger.MemOptions{}),
		now: time.Date(2026, 8, 1, 22, 0, 0, 0, time.UTC), last: map[string]string{}, fortunes: map[string]string{},
		held: map[string]string{}, completed: map[string]bool{},
	}
	for i := range 3 {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range site.Pools {
			p.Entries = slices.Clone(p.Entries)
			if n, ok := pools[name]; ok {
				p.Entries = p.Entries[:n]
			}
			switch i {
			case 1:
				slices.Reverse(p.Entries)
			case 2:
				w.rnd.Shuffle(len(p.Entries), func(i, j int) {
					p.Entries[i], p.Entries[j] = p.Entries[j],
						p.Entries[i]
				})
			}
			site.Pools[name] = p
		}
		w.makers = append(w.makers, goods.Maker{Pools: site, Observe: feed.Observe})
	}
	return w
}

func (w *world) maker() goods.Maker { return w.makers[w.rnd.IntN(len(w.makers))] }

func (w *world) update(f func(ledger.Tx) error) error {
	return w.db.Update(context.Background(), f)
}

// thing names what an order holds once and for all; "" for goods that may be given again.
func (o *order) thing() string {
	switch {
	case o.Word != "":
		return o.Good.ID + " " + o.Word
	case o.Good.Stock:
		return o.Good.ID + " " + o.Entry
	}
	return ""
}

func (w *world) claim(item string, inputs map[string]string) {
	w.n++
	m := w.maker()
	g, ok := m.Pools.(*content.Site).Good(item)
	if !ok {
		w.t.Fatalf("no %s on the shelf", item)
	}
	k, err := goods.Of(goods.Kinds(goods.Reader{}, nil), g)
	if err != nil {
		w.t.Fatal(err)
	}
	o := &order{kind: k,
		ID: fmt.Sprintf("order-%d", w.n), Good: g, Inputs: inputs, Payer: fmt.Sprintf("payer-%d", w.rnd.IntN(3)),
		Paid: g.Price, At: w.now, Until: w.now.Add(2 * time.Minute)}
	var taken goods.Order
	err = w.update(func(tx ledger.Tx) error {
		if k.Available != nil {
			if err := k.Available(m, tx, g, inputs); err != nil {
				return err
			}
		}
		taken = o.Order // the function may run more than once
		return k.Reserve(m, tx, &taken)
	})
	if err != nil {
		out, gone := errors.AsType[*goods.SoldOut](err)
		word, retired := errors.AsType[*goods.Taken](err)
		var said time.Time
		if gone {
			said = out.HeldUntil
		} else if retired {
			said = word.HeldUntil
		}
		if until := w.heldUntil(item, inputs["folded"]); !said.Equal(until) {
			w.t.Errorf("%s %s is said to be held until %v, and is until %v", item, inputs["detail"], said, until)
		}
		if !gone && !retired {
			w.t.Fatalf("%s: %v", item, err)
		}
		w.soldOut++
		if retired && w.held[o.Good.ID+" "+inputs["folded"]] == "" {
			w.t.Errorf("%s says that %q is taken, and nobody has it", item, inputs["detail"])
		}
		return
	}
	o.Order = taken
	if thing := o.thing(); thing != "" {
		if other := w.held[thing]; other != "" {
			w.t.Errorf("%s was reserved for %s and %s", thing, other, o.ID)
		}
		w.held[thing] = o.ID
	}
	w.open = append(w.open, o)
}

// heldUntil is the earliest end of the holds on a good, or on one word of it: what is settled is
// held no more.
func (w *world) heldUntil(item, word string) (until time.Time) {
	for _, o := range w.open {
		if o.Good.ID != item || o.settled || word != "" && o.Word != word || item == "retired_word" && word == "" &&
			o.Entry == "" {
			continue
		}
		if end := o.Until.Truncate(time.Second); until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return until
}

// push moves one open order a step, or gives it up.
func (w *world) push(i int) {
	o := w.open[i]
	m := w.maker()
	drop := func() { w.open = slices.Delete(w.open, i, i+1) }
	switch {
	case o.made == nil:
		made, err := o.kind.Make(context.Background(), m, &o.Order)
		if err != nil {
			w.t.Fatalf("%s: %v", o.Good.ID, err)
		}
		o.made = made
	case !o.settled && w.rnd.IntN(4) == 0: // no money came
		if o.kind.Release != nil {
			if err := w.update(func(tx ledger.Tx) error { return o.kind.Release(m, tx, &o.Order) }); err != nil {
				w.t.Fatal(err)
			}
			delete(w.held, o.thing())
		}
		drop()
	case !o.settled:
		if o.kind.Settle != nil {
			made := *o.made
			if err := w.update(func(tx ledger.Tx) error { return o.kind.Settle(m, tx, &o.Order, &made) }); err != nil {
				w.t.Fatal(err)
			}
			if o.Good.ID == "jar_of_tuesday" {
				if w.jars++; made.Number != w.jars {
					w.t.Errorf("jar %d was numbered %d", w.jars, made.Number)
				}
			}
			o.made = &made
		}
		o.settled = true
	default:
		if o.kind.Complete != nil {
			if err := w.update(func(tx ledger.Tx) error {
				return o.kind.Complete(m, tx, &o.Order,
					o.made)
			}); err != nil {
				w.t.Fatal(err)
			}
		}
		w.given(o)
		drop()
	}
}

// given holds a delivered good against the rules.
func (w *world) given(o *order) {
	switch o.Good.ID {
	case "small_blessing", "pet_rock":
		key := o.Good.ID + o.Payer
		if w.last[key] == o.Entry {
			w.t.Errorf("%s got the same %s twice running", o.Payer, o.Good.ID)
		}
		w.last[key] = o.Entry
	case "daily_fortune":
		key := o.At.Format(time.DateOnly) + o.Payer
		if got := w.fortunes[key]; got != "" && got != o.Entry || day(o.made) != o.At.Format(time.DateOnly) {
			w.t.Errorf("%s has two fortunes on %s", o.Payer, o.At.Format(time.DateOnly))
		}
		w.fortunes[key] = o.Entry
	case "retired_word":
		w.words++
	}
	if thing := o.thing(); thing != "" {
		if w.completed[thing] {
			w.t.Errorf("%s was given twice", thing)
		}
		w.completed[thing] = true
	}
}

var spellings = []struct{ typed, folded string }{
	{"Synergy", "synergy"}, {"SYNERGY", "synergy"}, {"  synergy ", "synergy"}, {"ｓｙｎｅｒｇｙ", "synergy"},
	{"syn\u200bergy", "synergy"}, {"caf\u00e9", "café"}, {"cafe\u0301", "café"}, {"deep  dive", "deep dive"},
	{"Deep Dive", "deep dive"}, {"ﬁnal", "final"}, {"FINAL", "final"},
}

// TestGoodsRules takes orders through every interleaving that chance finds: concurrent, given up,
// over midnight, with the pools rearranged between two steps.
func TestGoodsRules(t *testing.T) {
	items := []string{"small_blessing", "pet_rock", "daily_fortune", "jar_of_tuesday", "a_secret", "the_drawer",
		"retired_word", "hello", "luckies"}
	for seed := range uint64(20) {
		w := newWorld(t, seed, map[string]int{"secrets": 12, "drawer": 5, "tuesdays": 30, "words": 8})
		for range 1500 {
			switch n := w.rnd.IntN(10); {
			case n == 0:
				w.now = w.now.Add(time.Duration(w.rnd.IntN(60)) * time.Minute)
			case n < 4 && len(w.open) < 25:
				item := items[w.rnd.IntN(len(items))]
				inputs := map[string]string{}
				if item == "retired_word" && w.rnd.IntN(2) == 0 {
					s := spellings[w.rnd.IntN(len(spellings))]
					inputs["detail"], inputs["folded"] = s.typed, s.folded
				}
				w.claim(item, inputs)
			case len(w.open) > 0:
				w.push(w.rnd.IntN(len(w.open)))
			}
		}
		for len(w.open) > 0 {
			w.push(0)
		}
		if w.soldOut == 0 || w.jars == 0 || w.words == 0 {
			t.Errorf("seed %d tried too little: %d refusals, %d jars, %d words", seed, w.soldOut, w.jars, w.words)
		}
		w.ended()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// ended compares what the ledger remembers with what happened.
func (w *world) ended() {
	err := w.db.View(context.Background(), func(tx ledger.Tx) error {
		seen, err := feed.Since(tx, 1, 1<<20)
		if err != nil {
			return err
		}
		if len(seen) != w.words {
			w.t.Errorf("%d words stand on the register, %d were retired", len(seen), w.words)
		}
		words := map[string]bool{}
		for i, o := range seen {
			if o.Number != int64(i+1) || words[o.Word.Text] {
				w.t.Errorf("observation %d is %+v", i+1, o)
			}
			words[o.Word.Text] = true
		}
		for _, item := range []string{"a_secret", "the_drawer", "jar_of_tuesday"} {
			m := w.maker()
			g, _ := m.Pools.(*content.Site).Good(item)
			left, err := m.Left(tx, g)
			if err != nil {
				return err
			}
			gone := 0
			for thing := range w.completed {
				if len(thing) > len(item) && thing[:len(item)+1] == item+" " {
					gone++
				}
			}
			if want := len(m.Pools.Pool(g.Pool).Entries) - gone; left != want {
				w.t.Errorf("%d of %s are left, want %d", left, item, want)
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestMarksOfARestoredLedger(t *testing.T) {
	w := newWorld(t, 1, map[string]int{"secrets": 3})
	m := w.maker()
	g, _ := m.Pools.(*content.Site).Good("a_secret")
	ds := m.Pools.Pool(g.Pool).Digests()
	err := w.update(func(tx ledger.Tx) error {
		return errors.Join(goods.MarkTaken(tx, g.Pool, ds[0]), goods.MarkTaken(tx, g.Pool, ds[0]),
			goods.MarkRetired(tx, "synergy"), goods.MarkRetired(tx, "synergy"))
	})
	if err != nil {
		t.Fatal(err)
	}
	w.held["retired_word synergy"] = "before the restore"
	for range 20 {
		w.claim("a_secret", nil)
		w.claim("retired_word", map[string]string{"detail": "Synergy", "folded": "synergy"})
		for _, o := range w.open {
			if o.Entry == ds[0] || o.Word == "synergy" {
				t.Fatalf("what was given before the restore was given again: %+v", o.Order)
			}
		}
	}
	if len(w.open) != 2 {
		t.Errorf("%d secrets were reserved, want the two that are left", len(w.open))
	}
}

// day is the day that a fortune is for.
func day(m *goods.Made) string {
	var d struct{ Day string }
	if err := json.Unmarshal(m.Deliverable, &d); err != nil {
		panic(err)
	}
	return d.Day
}
