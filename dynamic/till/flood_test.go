package till_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// newestFirst is a rail whose network lists the newest transfers first, a few in a piece.
type newestFirst struct {
	unsteady
	// meanwhile is called between two pieces, if there is one.
	meanwhile *atomic.Pointer[func()]
	most      *atomic.Int64 // pieces that were taken at once
}

const newestPiece = 3 // transfers

func (r newestFirst) Incoming(_ context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	return func(yield func(rail.Piece, error) bool) {
		r.chain.mu.Lock()
		head := r.chain.head().number + r.mood.ahead.Load()
		r.chain.mu.Unlock()
		if s.To > head {
			yield(rail.Piece{}, errors.New("the chain is shorter"))
			return
		}
		for n := int64(1); !s.Read(); n++ {
			r.most.Store(max(n, r.most.Load()))
			p, err := r.piece(s)
			if !yield(p, err) || err != nil {
				return
			}
			s = p.Rest
			if f := r.meanwhile.Load(); f != nil {
				(*f)()
			}
		}
	}
}

func (r newestFirst) piece(s rail.Span) (rail.Piece, error) {
	var all []rail.Transfer
	for tr, err := range r.chain.incoming(r.payTo(), 0, 0) {
		if err != nil {
			return rail.Piece{}, err
		}
		all = append(all, tr)
	}
	slices.Reverse(all)
	if s.Before != "" {
		i := slices.IndexFunc(all, func(tr rail.Transfer) bool { return name(tr) == s.Before })
		if i < 0 {
			return rail.Piece{}, errors.New("nothing is known of " + s.Before)
		}
		all = all[i+1:]
	}
	p := rail.Piece{Rest: s}
	for _, tr := range all {
		if tr.Block > s.To {
			continue
		}
		if tr.Block < s.From {
			break
		}
		if len(p.Transfers) == newestPiece {
			return p, nil
		}
		p.Transfers, p.Rest.Before = append(p.Transfers, tr), name(tr)
	}
	p.Rest = rail.Span{From: s.To + 1, To: s.To}
	return p, nil
}

func name(tr rail.Transfer) string { return fmt.Sprint(tr.Tx, " ", tr.LogIndex) }

// Somebody writes more to the address than is read meanwhile, all the time. What was paid before
// and between is found, once, though the store is stopped in the middle of a reading; and of what
// is too little each is counted once.
func TestMoneyInAFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, mood, site := unsteadyModel(t)
		var meanwhile atomic.Pointer[func()]
		var most atomic.Int64
		m.wrap = func(r rail.Rail) rail.Rail { return newestFirst{unsteady{r, m.chain, mood}, &meanwhile, &most} }
		defer func() { m.stop() }()
		crumbs := 0
		dust := func(n int) {
			var ps []fakePayload
			for range n {
				ps = append(ps, crumb(fmt.Sprint("crumb ", crumbs)))
				crumbs++
			}
			m.strangersLand(ps...)
		}
		m.start(site)
		m.offered("/api/buy/hello", "nobody", "unused", 0)
		m.pass(time.Minute)
		m.stop()
		dust(20)
		m.strangersLand(paysTo(fakePayTo, "eager", "under the dust"))
		dust(20)
		m.pass(time.Minute) // what is there is final
		more := func() { dust(newestPiece + 1) }
		meanwhile.Store(&more)
		m.start(site)
		time.Sleep(1500 * time.Millisecond)
		m.stop()
		var s till.Swept
		for _, v := range tilltest.Noted(t, m.db) {
			if err := json.Unmarshal([]byte(v), &s); err != nil {
				t.Fatal(err)
			}
		}
		if s.Rest.Before == "" || s.Block >= s.Rest.From {
			t.Fatalf("the store was stopped with %+v read, want a reading under way", s)
		}
		m.start(site)
		m.pass(2 * time.Minute)
		m.strangersLand(paysTo(fakePayTo, "late", "while the dust falls"))
		m.pass(3 * time.Minute)
		m.wantOwed("while the dust falls", "eager", "late", "")
		meanwhile.Store(nil)
		m.pass(time.Hour)
		m.wantOwed("after the dust", "eager", "late", "")
		if o := m.owed(); o[len(o)-1].Transfers != crumbs {
			t.Errorf("%d small transfers are counted, want %d", o[len(o)-1].Transfers, crumbs)
		}
		if n := most.Load(); n < 2 || n > 5 {
			t.Errorf("one reading takes %d pieces, want 2 to 5", n)
		}
	})
}

// A reading that was begun up to a final block that does not exist holds nothing up for ever.
func TestFloodBelowAFinalBlockThatDoesNotExist(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, mood, site := unsteadyModel(t)
		var meanwhile atomic.Pointer[func()]
		m.wrap = func(r rail.Rail) rail.Rail {
			return newestFirst{unsteady{r, m.chain, mood}, &meanwhile, new(atomic.Int64)}
		}
		defer func() { m.stop() }()
		m.start(site)
		m.offered("/api/buy/hello", "nobody", "unused", 0)
		m.pass(time.Minute)
		m.stop()
		m.strangersLand(paysTo(fakePayTo, "eager", "under the dust"))
		for i := range 30 {
			m.strangersLand(crumb(fmt.Sprint("crumb ", i)))
		}
		m.pass(time.Minute)
		mood.ahead.Store(1 << 40)
		m.start(site)
		time.Sleep(1500 * time.Millisecond)
		mood.ahead.Store(0)
		m.pass(time.Second)
		m.wantOwed("in the middle", "")
		m.pass(time.Hour)
		m.wantOwed("after the lie", "eager", "")
		if o := m.owed(); o[len(o)-1].Transfers != 30 {
			t.Errorf("%d small transfers are counted, want 30", o[len(o)-1].Transfers)
		}
	})
}
