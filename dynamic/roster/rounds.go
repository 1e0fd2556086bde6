package roster

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
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

// Rows implements census.Store.
func (s *Store) Rows(ctx context.Context, week string) iter.Seq2[record.Row, error] {
	return paged(ctx, s, rowKey(week), func(e ledger.Entry) (row record.Row, err error) {
		if err = json.Unmarshal(e.Value, &row, json.RejectUnknownMembers(true)); err != nil {
			err = fmt.Errorf("roster: %s: %w", ledger.KeyText(e.Key), err)
		}
		return row, err
	})
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
	return paged(ctx, s, controlKey(week), func(e ledger.Entry) ([]byte, error) {
		raw, err := expand(e.Value)
		if err != nil {
			err = fmt.Errorf("roster: %s: %w", ledger.KeyText(e.Key), err)
		}
		return raw, err
	})
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
	update := s.updating(ctx)
	// Nothing may be added or sealed from here on, and the addresses go at once.
	err := update(func(tx ledger.Tx) error {
		head, ok, err := ledger.FindJSON[weekRecord](tx, weekKey(week))
		if err != nil {
			return err
		}
		if !ok {
			head = weekRecord{OpenedAt: tx.Now().UTC(), Listed: round.Roster.Listed, Sources: round.Roster.Sources,
				Capped: round.Roster.Capped}
		}
		if head.Phase != census.PhaseSealed {
			head.Phase = census.PhaseClosed
		}
		head.Sequence = round.Sequence
		return ledger.SetJSON(tx, weekKey(week), head)
	})
	if err == nil {
		err = clearWeek(week, update, "address")
	}
	if err != nil {
		return err
	}
	if err := s.remember(ctx, round); err != nil {
		return err
	}
	// Rows stay until the next round is sealed: they say why and when in the week's answers. The
	// bytes that the record now has go, and so do the rows of the round before.
	if err := clearWeek(week, update, "closed", "judged", "control", "entry", "intent"); err != nil {
		return err
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
		if err := clearWeek(old, s.updating(ctx), "row"); err != nil {
			return err
		}
	}
}
