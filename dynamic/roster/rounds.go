package roster

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"

	"agentstore/corpus/census"
	"agentstore/corpus/record"
	"agentstore/dynamic/ledger"
)

// Close implements census.Store.
func (s *Store) Close(ctx context.Context, l census.Lease) error {
	return said(s.update(ctx, func(tx ledger.Tx) error {
		if err := ledger.Check(tx, lease(l)); err != nil {
			return err
		}
		head, err := ledger.GetJSON[weekRecord](tx, weekKey(l.Week))
		if err != nil {
			return err
		}
		if head.Phase == census.PhaseClosed {
			return nil
		}
		if head.Phase != census.PhaseOpen {
			return fmt.Errorf("roster: the week %s is %s", l.Week, head.Phase)
		}
		err = eachShard(tx, l.Week, func(n int, c shardRecord) error {
			if c.Done < c.Hosts {
				return fmt.Errorf("%w: %d of shard %d", census.ErrUnfinished, c.Hosts-c.Done, n)
			}
			return nil
		})
		if err != nil {
			return err
		}
		head.Phase = census.PhaseClosed
		return ledger.SetJSON(tx, weekKey(l.Week), head)
	}))
}

// Rows implements census.Store. They are read in transactions of a few hundred, because nothing changes a closed week.
func (s *Store) Rows(ctx context.Context, week string) iter.Seq2[record.Row, error] {
	return func(yield func(record.Row, error) bool) {
		from, to := ledger.Prefix(rowKey(week))
		for {
			var rows []record.Row
			err := s.view(ctx, func(tx ledger.Tx) error {
				rows = rows[:0]
				for e, err := range tx.Scan(from, to) {
					if err != nil {
						return err
					}
					var row record.Row
					if err := json.Unmarshal(e.Value, &row, json.RejectUnknownMembers(true)); err != nil {
						return fmt.Errorf("roster: %s: %w", ledger.KeyText(e.Key), err)
					}
					if rows = append(rows, row); len(rows) == chunk {
						break
					}
				}
				return nil
			})
			if err != nil {
				yield(record.Row{}, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			if len(rows) < chunk {
				return
			}
			from = append(rowKey(week, rows[len(rows)-1].Host), 0)
		}
	}
}

// Evidence implements census.Store.
func (s *Store) Evidence(ctx context.Context, week, host string) (raw []byte, err error) {
	var b []byte
	err = s.view(ctx, func(tx ledger.Tx) (err error) {
		b, err = tx.Get(judgedKey(week, host))
		return err
	})
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return expand(b)
}

// ControlWalks implements census.Store.
func (s *Store) ControlWalks(ctx context.Context, week string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		from, to := ledger.Prefix(controlKey(week))
		for {
			var some [][]byte
			var last []byte
			err := s.view(ctx, func(tx ledger.Tx) error {
				some = nil
				for e, err := range tx.Scan(from, to) {
					if err != nil {
						return err
					}
					raw, err := expand(e.Value)
					if err != nil {
						return fmt.Errorf("roster: %s: %w", ledger.KeyText(e.Key), err)
					}
					last = append(last[:0], e.Key...)
					if some = append(some, raw); len(some) == chunk {
						break
					}
				}
				return nil
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, raw := range some {
				if !yield(raw, nil) {
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

// Addresses implements census.Store.
func (s *Store) Addresses(ctx context.Context, week string) (map[string][]string, error) {
	var out map[string][]string
	err := s.view(ctx, func(tx ledger.Tx) error {
		out = map[string][]string{}
		for e, err := range tx.Scan(ledger.Prefix(addressKey(week))) {
			if err != nil {
				return err
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil || len(parts) != 5 {
				return fmt.Errorf("roster: %s is no address", ledger.KeyText(e.Key))
			}
			out[parts[3]] = append(out[parts[3]], parts[4])
		}
		return nil
	})
	return out, err
}

// Sealed implements census.Store.
func (s *Store) Sealed(ctx context.Context, round record.Round) error {
	week := round.Week
	update := func(f func(ledger.Tx) error) error { return s.update(ctx, f) }
	// Nothing may be added or sealed from here on, and the addresses go at once.
	err := update(func(tx ledger.Tx) error {
		head, ok, err := get[weekRecord](tx, weekKey(week))
		if err != nil {
			return err
		}
		if !ok {
			head = weekRecord{OpenedAt: tx.Now().UTC(), Listed: round.Roster.Listed, Sources: round.Roster.Sources, Capped: round.Roster.Capped, Private: round.Private}
		}
		if head.Phase != census.PhaseSealed {
			head.Phase = census.PhaseClosed
		}
		head.Sequence = round.Sequence
		return ledger.SetJSON(tx, weekKey(week), head)
	})
	if err == nil {
		err = clear(addressKey(week), update)
	}
	if err != nil {
		return err
	}
	if err := s.remember(ctx, round); err != nil {
		return err
	}
	// Rows stay until the next round is sealed: they say why and when in the week's answers. The bytes that the record
	// now has go, and so do the rows of the round before.
	for _, kind := range []string{"closed", "judged", "control", "entry", "intent"} {
		if err := clear(ledger.CensusKey(kind, week), update); err != nil {
			return err
		}
	}
	if err := s.forget(ctx, week); err != nil {
		return err
	}
	if err := s.drop(ctx, week, update, census.PhaseListed, census.PhaseOpen, census.PhaseClosed); err != nil {
		return err
	}
	return update(func(tx ledger.Tx) error {
		head, err := ledger.GetJSON[weekRecord](tx, weekKey(week))
		if err != nil {
			return err
		}
		head.Phase = census.PhaseSealed
		return ledger.SetJSON(tx, weekKey(week), head)
	})
}

// remember keeps of every host what a round said of it.
func (s *Store) remember(ctx context.Context, round record.Round) error {
	var some []record.Row
	write := func() error {
		return s.update(ctx, func(tx ledger.Tx) error {
			for _, row := range some {
				last := lastRecord{Sequence: round.Sequence, Week: round.Week, Verdict: row.Verdict, Reason: row.Reason}
				if err := ledger.SetJSON(tx, lastKey(row.Host), last); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for row, err := range s.Rows(ctx, round.Week) {
		if err != nil {
			return err
		}
		if some = append(some, row); len(some) == chunk {
			if err := write(); err != nil {
				return err
			}
			some = some[:0]
		}
	}
	return write()
}

// forget drops the rows of the weeks before one, which are sealed.
func (s *Store) forget(ctx context.Context, week string) error {
	for {
		var old string
		err := s.view(ctx, func(tx ledger.Tx) error {
			old = ""
			for e, err := range tx.Scan(ledger.Prefix(ledger.CensusKey("row"))) {
				if err != nil {
					return err
				}
				parts, err := ledger.Parts(e.Key)
				if err != nil || len(parts) != 4 {
					return fmt.Errorf("roster: %s is no row", ledger.KeyText(e.Key))
				}
				old = parts[2]
				return nil
			}
			return nil
		})
		if err != nil || old == "" || old >= week {
			return err
		}
		if err := clear(rowKey(old), func(f func(ledger.Tx) error) error { return s.update(ctx, f) }); err != nil {
			return err
		}
	}
}
