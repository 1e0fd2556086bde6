package till_test

import (
	"context"
	"math"
	"slices"
	"time"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"

	"github.com/anishathalye/porcupine"
)

// call is one request that presented a payment, and what came of it.
type call struct {
	from, to time.Time
	answered bool // an answer came
	purchase string
	fresh    bool // the answer says that it is the first
}

// refusal is an answer that a week's places are all taken.
type refusal struct {
	item     string
	from, to time.Time
}

// act is what was asked of one object: the places of a good in a week, a slot of an idempotency
// key, or an authorization.
type act struct {
	about string
	does  string
	of    int // places that there are
}

// What acts do.
const (
	takes = "takes a place"
	full  = "is told that all are taken"
	gives = "gives a place back"
	reads = "claims, or finds the claim of"
	frees = "frees the slot of"
)

// got is what came of it.
type got struct {
	purchase string
	fresh    bool
}

// held is the state of one object.
type held struct {
	taken    int
	purchase string
}

// counterModel is what the store says its ledger does: there are so many places a week; the first
// claim of a slot or of an authorization is everybody's; one answer alone says that it is the
// first.
var counterModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		var names []string
		parts := map[string][]porcupine.Operation{}
		for _, o := range history {
			about := o.Input.(act).about
			if parts[about] == nil {
				names = append(names, about)
			}
			parts[about] = append(parts[about], o)
		}
		var out [][]porcupine.Operation
		for _, n := range names {
			out = append(out, parts[n])
		}
		return out
	},
	Init: func() any { return held{} },
	Step: func(state, input, output any) (bool, any) {
		s, a, g := state.(held), input.(act), output.(got)
		switch a.does {
		case takes:
			return s.taken < a.of, held{taken: s.taken + 1}
		case full:
			return s.taken >= a.of, s
		case gives:
			return s.taken > 0, held{taken: s.taken - 1}
		case frees:
			return s.purchase == g.purchase, held{}
		}
		if s.purchase == "" {
			return true, held{purchase: g.purchase}
		}
		return s.purchase == g.purchase && !g.fresh, s
	},
}

// history is everything that was asked of slots, stock and claims. What became of a request whose
// answer was lost the ledger says; it may have come to that at any time.
func (w *world) history() (ops []porcupine.Operation) {
	const never = math.MaxInt64
	add := func(about, does string, of int, g got, from time.Time, to int64) {
		ops = append(ops, porcupine.Operation{Input: act{about, does, of}, Output: g, Call: from.UnixNano(),
			Return: to})
	}
	claims := map[string]till.Claim{}
	w.view(func(tx ledger.Tx) error {
		for _, s := range w.sales {
			method := "fake"
			if s.hold != nil {
				method = rail.MethodHold
			}
			if c, err := ledger.GetJSON[till.Claim](tx, ledger.AuthKey(fakeNetwork, fakeAsset, method, s.payload.Payer,
				s.payload.Nonce)); err == nil {
				claims[s.payload.key()] = c
			}
		}
		return nil
	})
	first, last := map[string]time.Time{}, map[string]int64{}
	for _, s := range w.sales {
		c, known := claims[s.payload.key()]
		for _, k := range s.calls {
			id, to := k.purchase, k.to.UnixNano()
			if !k.answered {
				id, to = c.Purchase, never
			}
			if !known || id == "" {
				continue
			}
			add("authorization "+s.payload.key(), reads, 0, got{id, k.fresh}, k.from, to)
			if s.key != "" {
				add("slot "+s.payload.Payer+" "+s.key, reads, 0, got{id, k.fresh}, k.from, to)
			}
			if at, ok := first[id]; !ok || k.from.Before(at) {
				first[id] = k.from
			}
			if at, ok := last[id]; !ok || to < at {
				last[id] = to
			}
		}
	}
	w.refusals(add)
	for _, p := range tilltest.Purchases(w.t, w.db) {
		freed := slices.Contains([]till.State{till.Refused, till.Failed, till.NotSettled, till.Released}, p.State)
		if g, ok := w.site.Good(p.Item); ok && g.WeeklyInventory > 0 {
			about := p.Item + " " + goods.ISOWeek(p.Created)
			add(about, takes, g.WeeklyInventory, got{}, first[p.ID], last[p.ID])
			if freed {
				add(about, gives, 0, got{}, p.Created, never)
			}
		}
		if freed && p.Slot != "" {
			for _, s := range w.sales {
				if s.key != "" && claims[s.payload.key()].Purchase == p.ID {
					add("slot "+s.payload.Payer+" "+s.key, frees, 0, got{purchase: p.ID}, p.Created, never)
					break
				}
			}
		}
	}
	return ops
}

// refusals adds the answers that a week is full.
func (w *world) refusals(add func(about, does string, of int, g got, from time.Time, to int64)) {
	for _, r := range w.refused {
		if week := goods.ISOWeek(r.from); week == goods.ISOWeek(r.to) {
			g, _ := w.site.Good(r.item)
			add(r.item+" "+week, full, g.WeeklyInventory, got{}, r.from, r.to.UnixNano())
		}
	}
}

// view reads the ledger.
func (w *world) view(f func(ledger.Tx) error) {
	w.t.Helper()
	if err := w.db.View(context.Background(), f); err != nil {
		w.t.Error(err)
	}
}
