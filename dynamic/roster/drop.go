package roster

import (
	"context"
	"slices"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// dropOld drops the weeks that nobody went on with for so long that nobody will. One that is closed
// is being sealed, or was when its process died, and holds a whole round: it stays until a later
// one is sealed.
func (s *Store) dropOld(ctx context.Context, week string, update func(func(ledger.Tx) error) error) error {
	monday, err := census.Monday(week)
	if err != nil {
		return err
	}
	return s.drop(ctx, record.ISOWeek(monday.AddDate(0, 0, -7*census.KeepWeeks)), update, census.PhaseListed,
		census.PhaseOpen)
}

// drop removes what is kept of the weeks before one that are in one of the phases. The phase is
// changed first, in a transaction, so that nobody closes and seals a week of which something is
// gone.
func (s *Store) drop(ctx context.Context, before string, update func(func(ledger.Tx) error) error,
	phases ...string) error {
	phases = append(phases, phaseWriting, phaseDropping)
	var old []string
	err := s.view(ctx, func(tx ledger.Tx) error {
		old = old[:0]
		for e, err := range tx.Scan(ledger.Prefix(ledger.CensusKey("week"))) {
			if err != nil {
				return err
			}
			week, head, err := hostOf[weekRecord](e)
			if err != nil {
				return err
			}
			if week < before && slices.Contains(phases, head.Phase) {
				old = append(old, week)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, week := range old {
		turn := func(phase string, from ...string) (turned bool, err error) {
			err = update(func(tx ledger.Tx) error {
				head, err := ledger.GetJSON[weekRecord](tx, weekKey(week))
				if turned = err == nil && slices.Contains(from, head.Phase); !turned {
					return err
				}
				head.Phase = phase
				return ledger.SetJSON(tx, weekKey(week), head)
			})
			return turned, err
		}
		if turned, err := turn(phaseDropping, phases...); err != nil {
			return err
		} else if !turned {
			continue // somebody has just gone on with it
		}
		err := clearWeek(week, update, "address", "judged", "control", "closed", "entry", "intent", "row", "shard")
		if err != nil {
			return err
		}
		if _, err := turn(census.PhaseDropped, phaseDropping); err != nil {
			return err
		}
	}
	return nil
}
