package roster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// Week implements census.Store.
func (s *Store) Week(ctx context.Context, week string) (census.Week, error) {
	var w census.Week
	err := s.view(ctx, func(tx ledger.Tx) error {
		w = census.Week{Week: week}
		r, ok, err := ledger.FindJSON[weekRecord](tx, weekKey(week))
		if err != nil || !ok || r.Phase == phaseWriting {
			return err
		}
		w.Phase, w.OpenedAt, w.Listed, w.Capped, w.Sources, w.Sequence = r.Phase, r.OpenedAt, r.Listed, r.Capped,
			r.Sources, r.Sequence
		if r.Phase == phaseDropping {
			w.Phase = census.PhaseDropped
		}
		w.Late = r.Late
		w.Closed, w.Own, w.Most, w.Lot = r.Closed, r.Own, r.Most, r.Lot
		w.Due, w.Done = r.Settled, r.Settled
		return eachShard(tx, week, func(_ int, c shardRecord) error {
			w.Due += c.Hosts
			w.Done += c.Done
			w.Control.Walks += c.Walks
			w.Control.Failed += c.Failed
			return nil
		})
	})
	return w, err
}

func eachShard(tx ledger.Tx, week string, do func(n int, c shardRecord) error) error {
	for e, err := range tx.Scan(ledger.Prefix(ledger.CensusKey("shard", week))) {
		if err != nil {
			return err
		}
		number, c, err := hostOf[shardRecord](e)
		if err != nil {
			return err
		}
		n, err := ledger.ParseNumber(number)
		if err != nil {
			return err
		}
		if err := do(int(n), c); err != nil {
			return err
		}
	}
	return nil
}

// writing returns what does transactions of a long work on a week that is in a phase, under a lease
// that each renews.
func (s *Store) writing(ctx context.Context, l census.Lease, ttl time.Duration,
	may func(head weekRecord, begun bool) bool) func(func(ledger.Tx) error) error {
	return func(f func(ledger.Tx) error) error {
		return said(s.update(ctx, func(tx ledger.Tx) error {
			if _, err := ledger.Renew(tx, lease(l), ttl); err != nil {
				return err
			}
			head, begun, err := ledger.FindJSON[weekRecord](tx, weekKey(l.Week))
			if err != nil {
				return err
			}
			if !may(head, begun) {
				return fmt.Errorf("roster: the roster of %s stands", l.Week)
			}
			return f(tx)
		}))
	}
}

// inChunks hands hosts to do, so many at a time, and once more at the end.
func inChunks(known iter.Seq[census.Known], do func([]census.Known) error) error {
	some := make([]census.Known, 0, chunk)
	for k := range known {
		if some = append(some, k); len(some) == chunk {
			if err := do(some); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	return do(some)
}

// List implements census.Store.
func (s *Store) List(ctx context.Context, l census.Lease, w census.Week, known iter.Seq[census.Known],
	ttl time.Duration) error {
	head := weekRecord{Phase: phaseWriting, OpenedAt: w.OpenedAt, Listed: w.Listed, Capped: w.Capped,
		Sources: w.Sources,
		Closed:  w.Closed, Own: w.Own, Most: w.Most}
	under := s.writing(ctx, l, ttl, func(r weekRecord, begun bool) bool { return !begun || r.Phase == phaseWriting })
	if err := under(func(tx ledger.Tx) error { return ledger.SetJSON(tx, weekKey(l.Week), head) }); err != nil {
		return err
	}
	if err := clearWeek(l.Week, under, "closed", "shard", "entry", "intent", "row"); err != nil {
		return err
	}
	if err := s.dropOld(ctx, l.Week, under); err != nil {
		return err
	}
	err := inChunks(known, func(some []census.Known) error {
		return under(func(tx ledger.Tx) error {
			for _, k := range some {
				if k.Entry == nil {
					if err := ledger.SetJSON(tx, namedKey(k.Host), named(l.Week, -1, k)); err != nil {
						return err
					}
					continue
				}
				if err := ledger.SetJSON(tx, closedKey(l.Week, k.Host),
					closedRecord{Entry: recordOf(*k.Entry), Named: named(l.Week, -1, k).Named}); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return under(func(tx ledger.Tx) error {
		head.Phase = census.PhaseListed
		return ledger.SetJSON(tx, weekKey(l.Week), head)
	})
}

// Closed implements census.Store.
func (s *Store) Closed(ctx context.Context, week string) iter.Seq2[census.Known, error] {
	return paged(ctx, s, closedKey(week), func(e ledger.Entry) (k census.Known, err error) {
		name, r, err := hostOf[closedRecord](e)
		entry := r.Entry.entry(name)
		k = census.Known{Host: name, Entry: &entry}
		for _, n := range r.Named {
			k.Named = append(k.Named, census.Naming(n))
		}
		return k, err
	})
}

// paged yields what stands below a prefix, in transactions of a few hundred: nothing changes it
// meanwhile.
func paged[T any](ctx context.Context, s *Store, prefix []byte, read func(ledger.Entry) (T, error)) iter.Seq2[T,
	error] {
	return func(yield func(T, error) bool) {
		from, to := ledger.Prefix(prefix)
		for {
			var some []T
			var last []byte
			err := s.view(ctx, func(tx ledger.Tx) error {
				some = nil
				for e, err := range tx.Scan(from, to) {
					if err != nil {
						return err
					}
					v, err := read(e)
					if err != nil {
						return err
					}
					last = append(last[:0], e.Key...)
					if some = append(some, v); len(some) == chunk {
						break
					}
				}
				return nil
			})
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, v := range some {
				if !yield(v, nil) {
					return
				}
			}
			if len(some) < chunk {
				return
			}
			from = append(last, 0)
		}
	}
}

// Draw implements census.Store.
func (s *Store) Draw(ctx context.Context, l census.Lease, lot record.Lot) (record.Lot, error) {
	err := said(s.update(ctx, func(tx ledger.Tx) error {
		if err := ledger.Check(tx, lease(l)); err != nil {
			return err
		}
		head, err := ledger.GetJSON[weekRecord](tx, weekKey(l.Week))
		if err != nil {
			return err
		}
		if head.Lot != nil {
			lot = *head.Lot
			return nil
		}
		if head.Phase != census.PhaseListed {
			return fmt.Errorf("roster: no lot is drawn for %s, which is %s", l.Week, head.Phase)
		}
		head.Lot = &lot
		return ledger.SetJSON(tx, weekKey(l.Week), head)
	}))
	return lot, err
}

// Deal implements census.Store.
func (s *Store) Deal(ctx context.Context, l census.Lease, known iter.Seq[census.Known], size int,
	ttl time.Duration) error {
	if size < 1 {
		return fmt.Errorf("roster: shards of %d hosts", size)
	}
	under := s.writing(ctx, l, ttl, func(r weekRecord, _ bool) bool {
		return r.Phase == census.PhaseListed &&
			r.Lot != nil
	})
	if err := clearWeek(l.Week, under, "shard", "entry", "intent", "row"); err != nil {
		return err
	}
	var p placing
	err := inChunks(known, func(some []census.Known) error {
		var next placing
		err := under(func(tx ledger.Tx) error {
			next = p
			for _, k := range some {
				if err := next.place(tx, l.Week, k, size); err != nil {
					return err
				}
			}
			return next.close(tx, l.Week)
		})
		p = next
		return err
	})
	if err != nil {
		return err
	}
	err = under(func(tx ledger.Tx) error {
		head, err := ledger.GetJSON[weekRecord](tx, weekKey(l.Week))
		if err != nil {
			return err
		}
		head.Phase, head.Settled, head.Shards = census.PhaseOpen, p.settled, p.shards()
		return ledger.SetJSON(tx, weekKey(l.Week), head)
	})
	if err != nil {
		return err
	}
	// What a crash leaves of it goes when the week is sealed or dropped.
	return clearWeek(l.Week, s.updating(ctx), "closed")
}

// placing puts hosts into shards, one after another.
type placing struct {
	first   int   // number of the first shard
	placed  int64 // hosts in shards
	settled int64
	open    int64 // hosts in the last shard
	size    int64
}

func (p *placing) shards() int {
	if p.placed == 0 {
		return p.first
	}
	return p.first + int((p.placed-1)/p.size) + 1
}

func (p *placing) place(tx ledger.Tx, week string, k census.Known, size int) error {
	p.size = int64(size)
	shard := -1
	switch {
	case k.Row != nil:
		if err := setRow(tx, week, *k.Row); err != nil {
			return err
		}
		p.settled++
	case k.Entry != nil:
		if p.open == p.size {
			if err := p.close(tx, week); err != nil {
				return err
			}
			p.open = 0
		}
		p.placed++
		p.open++
		shard = p.shards() - 1
		if err := ledger.SetJSON(tx, entryKey(week, shard, k.Host), recordOf(*k.Entry)); err != nil {
			return err
		}
	}
	return ledger.SetJSON(tx, namedKey(k.Host), named(week, shard, k))
}

// close writes the count of the last shard as it stands.
func (p *placing) close(tx ledger.Tx, week string) error {
	if p.open == 0 {
		return nil
	}
	return ledger.SetJSON(tx, shardKey(week, p.shards()-1), shardRecord{Hosts: p.open})
}

// clearWeek deletes what is kept of a week of some kinds, in transactions of its own.
func clearWeek(week string, update func(func(ledger.Tx) error) error, kinds ...string) error {
	for _, kind := range kinds {
		if err := clear(ledger.CensusKey(kind, week), update); err != nil {
			return err
		}
	}
	return nil
}

// clear deletes everything below a prefix, in transactions of its own.
func clear(prefix []byte, update func(func(ledger.Tx) error) error) error {
	for {
		n := 0
		err := update(func(tx ledger.Tx) error {
			n = 0
			for e, err := range tx.Scan(ledger.Prefix(prefix)) {
				if err != nil {
					return err
				}
				if n++; n > 4*chunk {
					break
				}
				if err := tx.Delete(e.Key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || n <= 4*chunk {
			return err
		}
	}
}

// late places a host that comes after its week was opened, if it stands in no shard and has no row
// yet. added is whether it is to be walked, listed whether it is new to the week.
func (p *placing) late(tx ledger.Tx, week string, k census.Known, size int) (listed, added bool, err error) {
	held, named, err := ledger.FindJSON[namedRecord](tx, namedKey(k.Host))
	if err != nil {
		return false, false, err
	}
	_, settled, err := ledger.FindJSON[record.Row](tx, rowKey(week, k.Host))
	if err != nil {
		return false, false, err
	}
	known := named && held.Week == week
	switch {
	case settled, known && held.Shard >= 0:
		return false, false, nil
	case k.Entry == nil:
		if k.Reason == census.ReasonOverQuota && !(known && held.Reason == k.Reason) {
			err = p.place(tx, week, k, size)
		}
		return false, false, err
	case known:
		for _, n := range held.Named {
			k.Named = append(k.Named, census.Naming(n))
		}
	}
	return !known, true, p.place(tx, week, k, size)
}

// Append implements census.Store.
func (s *Store) Append(ctx context.Context, l census.Lease, w census.Week, known []census.Known, size int) (added int,
	err error) {
	if size < 1 {
		return 0, fmt.Errorf("roster: shards of %d hosts", size)
	}
	for chunk := range slices.Chunk(known, chunk) {
		fresh := 0
		err := s.update(ctx, func(tx ledger.Tx) error {
			fresh = 0
			if err := ledger.Check(tx, lease(l)); err != nil {
				return err
			}
			head, ok, err := ledger.FindJSON[weekRecord](tx, weekKey(l.Week))
			if err != nil {
				return err
			}
			if !ok || head.Phase != census.PhaseOpen {
				return census.ErrNotOpen
			}
			p := placing{first: head.Shards}
			for _, k := range chunk {
				listed, added, err := p.late(tx, l.Week, k, size)
				if err != nil {
					return err
				}
				if listed {
					head.Listed++
				}
				if added {
					fresh++
				}
			}
			if fresh == 0 {
				return nil
			}
			head.Settled += p.settled
			head.Late += int64(fresh)
			head.Capped = head.Capped || w.Capped
			head.Shards = p.shards()
			for i := range head.Sources {
				if slices.ContainsFunc(w.Sources,
					func(o record.RosterSource) bool { return o.Name == head.Sources[i].Name }) {
					head.Sources[i].Hosts += int64(fresh)
					break
				}
			}
			return errors.Join(p.close(tx, l.Week), ledger.SetJSON(tx, weekKey(l.Week), head))
		})
		if err != nil {
			return added, said(err)
		}
		added += fresh
	}
	return added, nil
}
