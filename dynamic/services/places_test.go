package services

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// stand sells what is done at hosts.
type stand struct {
	*Services
	t  *testing.T
	db ledger.DB
	r  *street
}

func newStand(t *testing.T, daily int64) *stand {
	s := &stand{t: t, db: ledger.NewMem(ledger.MemOptions{}),
		r: openStreet(t, func(int) (string, error) { return "ready", nil })}
	s.Services = New(Config{DB: s.db, Readings: s.r, Log: quiet, Launches: LaunchConfig{
		Purse: &Purse{Rails: []rail.Rail{&chain{balance: LaunchCap}}}, Daily: daily * LaunchCap}})
	return s
}

func (s *stand) in(f func(tx ledger.Tx) error) error {
	s.t.Helper()
	return s.db.Update(s.t.Context(), f)
}

// order claims something of a kind at a host.
func (s *stand) order(k goods.Kind, id, host string) (*goods.Order, error) {
	s.t.Helper()
	o := &goods.Order{ID: id, Good: content.Good{ID: "good", Kind: k.Name}, At: time.Now(),
		Inputs: map[string]string{"url": "https://" + host + "/"}, Until: time.Now().Add(2 * time.Minute)}
	return o, s.in(func(tx ledger.Tx) error { return k.Reserve(goods.Maker{}, tx, o) })
}

// refusedAs demands that an order was refused with a code.
func refusedAs(t *testing.T, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*goods.Unread](err); !ok || e.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}

// A term that comes to nothing is dropped where it was promised. Its place at the host is free
// again in any case.
func TestATermThatComesToNothing(t *testing.T) {
	t.Parallel()
	for _, promised := range []string{"", "order_1"} {
		s := newStand(t, 0)
		k := s.watch(content.KindDays, 24, 7, 60)
		var first *goods.Order
		for _, id := range []string{"3", "2", "1", "0"} { // as many as a host may be under
			var err error
			if first, err = s.order(k, id, "door.example"); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.order(k, "4", "door.example")
		refusedAs(t, err, goods.CodeTargetHeld)
		first.Artifact = promised
		if err := s.in(func(tx ledger.Tx) error {
			return errors.Join(watches.put(tx, "order_1", Watch{}, time.Now()), k.Release(goods.Maker{}, tx, first))
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.in(func(tx ledger.Tx) error {
			_, err := ReadWatch(tx, "order_1")
			return err
		}); errors.Is(err, ledger.ErrNotFound) != (promised != "") {
			t.Errorf("promised as %q, and read %v", promised, err)
		}
		if _, err := s.order(k, "4", "door.example"); err != nil {
			t.Errorf("promised as %q its place is not free: %v", promised, err)
		}
	}
}

// One purchase a host and 24 hours, and a limit over all, which what waits counts against for as
// long as it waits: at no time is more spent within 24 hours.
func TestPlacesOfLaunchChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, 3)
		k := s.launch()
		begin := func(o *goods.Order, host string) error {
			return s.in(func(tx ledger.Tx) error { return launchBegins(tx, Launch{Purchase: o.ID, Host: host}) })
		}
		a, err := s.order(k, "a", "a.example")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.order(k, "a2", "a.example")
		refusedAs(t, err, goods.CodeTargetHeld)
		b, err := s.order(k, "b", "b.example")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.order(k, "c", "c.example"); err != nil {
			t.Fatal(err)
		}
		_, err = s.order(k, "d", "d.example")
		refusedAs(t, err, goods.CodeBudget)
		time.Sleep(30 * time.Hour) // all three still wait: none has lapsed
		_, err = s.order(k, "d", "d.example")
		refusedAs(t, err, goods.CodeBudget)
		if err := begin(a, "a.example"); err != nil {
			t.Fatal(err)
		}
		if err := begin(b, "a.example"); err == nil {
			t.Error("one buys on the place of another")
		}
		time.Sleep(24 * time.Hour) // it may have been signed five minutes after that
		_, err = s.order(k, "d", "d.example")
		refusedAs(t, err, goods.CodeBudget)
		time.Sleep(5 * time.Minute)
		if _, err := s.order(k, "d", "d.example"); err != nil {
			t.Errorf("a day later: %v", err)
		}
		_, err = s.order(k, "e", "e.example")
		refusedAs(t, err, goods.CodeBudget)
		// A payment that fails gives its place back; one on which was bought keeps it.
		release := func(o *goods.Order) {
			if err := s.in(func(tx ledger.Tx) error { return k.Release(goods.Maker{}, tx, o) }); err != nil {
				t.Fatal(err)
			}
		}
		release(b)
		e, err := s.order(k, "e", "e.example")
		if err != nil {
			t.Errorf("after one was given back: %v", err)
		}
		if err := begin(e, "e.example"); err != nil {
			t.Fatal(err)
		}
		release(e)
		_, err = s.order(k, "f", "f.example")
		refusedAs(t, err, goods.CodeBudget)
	})
}

// What is wanted is what was read before, once; a wallet that is empty sells nothing.
func TestALaunchCheckIsPromised(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t, 3)
		k, m := s.launch(), goods.Maker{}
		wallet := s.cfg.Launches.Purse.Rails[0].(*chain)
		for _, wallet.balance = range []int64{0, LaunchCap} {
			if _, err := s.cfg.Launches.Purse.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := k.Available(m, nil, content.Good{}, nil); (err == nil) != (wallet.balance > 0) {
				t.Errorf("with %d it is offered: %v", wallet.balance, err)
			}
		}
		o, err := s.order(k, "a", "door.example.com")
		if err != nil {
			t.Fatal(err)
		}
		g, err := k.Make(t.Context(), m, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Settled, o.Artifact = time.Now(), "order_1"
		var rec LaunchRecord
		if err := s.in(func(tx ledger.Tx) error {
			err := errors.Join(k.Settle(m, tx, o, g), k.Promise(m, tx, o, g))
			if err == nil {
				rec, err = ReadLaunch(tx, "order_1")
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if rec.Order != "order_1" || rec.Reading == nil || rec.Host != "door.example.com" || len(s.r.visits) != 1 {
			t.Errorf("wanted %+v after %v", rec, s.r.visits)
		}
		if err := s.in(func(tx ledger.Tx) error {
			_, _, _, err := s.reader.Free(tx, content.KindSpot, o.Inputs)
			return err
		}); err != nil {
			t.Errorf("the host is held still: %v", err)
		}
		done, err := launchOver(g, goods.LaunchOutcome{NotWalked: "it is shut"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if d, err := goods.ReadLaunched(done); err != nil || d.NotWalked == "" || d.Answer == "" ||
			d.CompletedAt == "" || d.DueAt != stamp(o.Settled.Add(24*time.Hour)) {
			t.Errorf("closed as %+v, %v", d, err)
		}
	})
}

// What time completes after the purchase is nowhere said to come at once, in the answer.
func TestWhatComesLaterSaysWhen(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	later, kinds := 0, New(Config{}).Kinds()
	for _, g := range site.Goods {
		i := slices.IndexFunc(kinds, func(k goods.Kind) bool { return k.Name == g.Kind })
		if i < 0 {
			t.Fatalf("%s: no kind makes it", g.ID)
		}
		if !kinds[i].Later || g.Fulfilment != content.Instant {
			continue
		}
		if later++; g.Arrives() == "" {
			t.Errorf("%s says that it comes at once", g.ID)
		}
	}
	if later == 0 {
		t.Error("nothing comes later")
	}
}
