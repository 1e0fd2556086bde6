package goods

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
)

// bought is who buys at doors: what was wanted of it, and what was dropped.
type bought struct {
	daily   int64
	ready   error
	wanted  []Launch
	dropped []string
}

func (b *bought) Ready() error { return b.ready }
func (b *bought) Daily() int64 { return b.daily }
func (b *bought) Want(_ ledger.Tx, l Launch) error {
	b.wanted = append(b.wanted, l)
	return nil
}
func (b *bought) Drop(_ ledger.Tx, order string) error {
	b.dropped = append(b.dropped, order)
	return nil
}

// launchStand is a stand that sells purchases at doors, for so many a day.
func launchStand(t *testing.T, daily int64) (*stand, *bought) {
	s := newStand(t)
	b := &bought{daily: daily * LaunchCap}
	s.m.Launches = b
	return s, b
}

// aim claims a purchase at a host.
func (s *stand) aim(id, host string) (*Order, error) {
	s.t.Helper()
	o := &Order{ID: id, Good: content.Good{ID: "launch_check", Kind: content.KindLaunch}, At: time.Now(),
		Inputs: map[string]string{"url": "https://" + host + "/"}, Until: time.Now().Add(2 * time.Minute)}
	return o, s.in(func(tx ledger.Tx) error { return launch.Reserve(s.m, tx, o) })
}

// One purchase a host and 24 hours, and a limit over all, which what waits counts against for as
// long as it waits: at no time is more spent within 24 hours.
func TestPlacesOfLaunchChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := launchStand(t, 3)
		begin := func(o *Order, host string) error {
			return s.in(func(tx ledger.Tx) error { return LaunchBegins(tx, Launch{Purchase: o.ID, Host: host}) })
		}
		a, err := s.aim("a", "a.example")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.aim("a2", "a.example")
		refusedAs(t, err, CodeTargetHeld)
		b, err := s.aim("b", "b.example")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.aim("c", "c.example"); err != nil {
			t.Fatal(err)
		}
		_, err = s.aim("d", "d.example")
		refusedAs(t, err, CodeBudget)
		time.Sleep(30 * time.Hour) // all three still wait: none has lapsed
		_, err = s.aim("d", "d.example")
		refusedAs(t, err, CodeBudget)
		if err := begin(a, "a.example"); err != nil {
			t.Fatal(err)
		}
		if err := begin(b, "a.example"); err == nil {
			t.Error("one buys on the place of another")
		}
		time.Sleep(24 * time.Hour) // it may have been signed five minutes after that
		_, err = s.aim("d", "d.example")
		refusedAs(t, err, CodeBudget)
		time.Sleep(5 * time.Minute)
		if _, err := s.aim("d", "d.example"); err != nil {
			t.Errorf("a day later: %v", err)
		}
		_, err = s.aim("e", "e.example")
		refusedAs(t, err, CodeBudget)
		// A payment that fails gives its place back; one on which was bought keeps it.
		release := func(o *Order) {
			if err := s.in(func(tx ledger.Tx) error { return launch.Release(s.m, tx, o) }); err != nil {
				t.Fatal(err)
			}
		}
		release(b)
		e, err := s.aim("e", "e.example")
		if err != nil {
			t.Errorf("after one was given back: %v", err)
		}
		if err := begin(e, "e.example"); err != nil {
			t.Fatal(err)
		}
		release(e)
		_, err = s.aim("f", "f.example")
		refusedAs(t, err, CodeBudget)
	})
}

// What is wanted is what was read before, once; a wallet that is empty sells nothing.
func TestALaunchCheckIsPromised(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, b := launchStand(t, 3)
		b.ready = fmt.Errorf("empty")
		if err := s.in(func(tx ledger.Tx) error {
			return launch.Available(s.m, tx, content.Good{}, nil)
		}); err == nil {
			t.Error("it is offered by an empty wallet")
		}
		b.ready = nil
		o, err := s.aim("a", "a.example")
		if err != nil {
			t.Fatal(err)
		}
		g, err := launch.Make(t.Context(), s.m, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Settled, o.Artifact = time.Now(), "order_1"
		if err := s.in(func(tx ledger.Tx) error {
			b.wanted = nil // a transaction may run more than once
			if err := launch.Settle(s.m, tx, o, g); err != nil {
				return err
			}
			return launch.Promise(s.m, tx, o, g)
		}); err != nil {
			t.Fatal(err)
		}
		if len(b.wanted) != 1 || b.wanted[0].Order != "order_1" || b.wanted[0].Reading == nil ||
			b.wanted[0].Host != "a.example" || s.r.visits["https://a.example/"] != 1 {
			t.Errorf("wanted %+v after %v", b.wanted, s.r.visits)
		}
		if _, err := s.order("b", "https://a.example/"); err != nil {
			t.Errorf("the host is held still: %v", err)
		}
		done, err := LaunchClosed(g, LaunchOutcome{NotWalked: "it is shut"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if d, err := ReadLaunched(done); err != nil || d.NotWalked == "" || d.Answer == "" || d.CompletedAt == "" ||
			d.DueAt != moment(o.Settled.Add(24*time.Hour)) {
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
	later := 0
	for _, g := range site.Goods {
		i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == g.Kind })
		if i < 0 {
			t.Fatalf("%s: no kind makes it", g.ID)
		}
		if !Kinds[i].Later || g.Fulfilment != content.Instant {
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
