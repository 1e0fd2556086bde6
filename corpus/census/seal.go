package census

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// seal closes the week and seals its round, or finds that another did. again says that hosts came
// onto the roster meanwhile and are to be walked first.
func (r *run) seal(ctx context.Context) (again bool, err error) {
	for {
		lease, err := r.Store.Take(ctx, r.Week, JobSeal, r.Owner, r.Lease)
		if err == nil {
			err = r.under(ctx, lease, func(ctx context.Context) error { return r.sealUnder(ctx, lease) })
		}
		switch {
		case errors.Is(err, ErrUnfinished):
			return true, nil
		case errors.Is(err, ErrHeld), errors.Is(err, ErrLost):
			if err := r.Sleep(ctx, r.pause()); err != nil {
				return false, err
			}
			if stood, err := r.stands(ctx); stood || err != nil {
				return false, err
			}
		case err != nil:
			return false, fmt.Errorf("sealing the round of %s: %w", r.Week, err)
		default:
			return false, nil
		}
	}
}

func (r *run) sealUnder(ctx context.Context, lease Lease) error {
	if stood, err := r.stands(ctx); stood || err != nil {
		return err
	}
	if err := r.Store.Close(ctx, lease); err != nil {
		return err
	}
	rec, err := r.record()
	if err != nil {
		return err
	}
	if rec == nil {
		return errors.New("a round cannot be sealed without the record")
	}
	rounds := rec.Rounds()
	w, err := r.Store.Week(ctx, r.Week)
	if err != nil {
		return err
	}
	// Its closing stands in the log before its rows, whoever closed it.
	if _, err := r.publish(ctx, w); err != nil {
		return err
	}
	taken := r.Now().UTC().Truncate(time.Second)
	in, err := r.inflows(ctx, rounds, taken)
	if err != nil {
		return err
	}
	elsewhere := r.takeIn(ctx, w, taken)
	defer elsewhere.close()
	round, err := r.Writer.Seal(ctx, seal.Draft{
		Sequence: int64(len(rounds)) + 1, Week: r.Week, TakenAt: taken, Battery: probe.Current(),
		Roster: record.Roster{Listed: w.Listed, Capped: w.Capped, Sources: w.Sources},
		Lot:    r.lot(w), Control: w.Control, Inflows: in, Rows: elsewhere.rows(ctx, r.Store.Rows(ctx, r.Week)),
		ControlWalks: r.Store.ControlWalks(ctx, r.Week), Evidence: elsewhere.evidence(ctx),
	})
	if errors.Is(err, seal.ErrSealed) {
		// Another was faster under a lease that had run out for one of us: its round stands.
		stood, err := r.stands(ctx)
		if err == nil && !stood {
			err = fmt.Errorf("round %d is sealed for another week", round.Sequence)
		}
		return err
	}
	if err != nil {
		return err
	}
	r.report.Vantages = elsewhere.reports()
	return r.sealed(ctx, round, OutcomeSealed)
}

// inflows counts what arrived at the week's addresses. What cannot be read is named and stops
// nothing.
func (r *run) inflows(ctx context.Context, rounds []record.Round, taken time.Time) (record.Inflows, error) {
	from, err := Monday(r.Week)
	if err != nil {
		return record.Inflows{}, err
	}
	if n := len(rounds); n > 0 {
		// Spans meet, so that no transfer is counted twice or not at all, unless a week was left
		// out.
		if to, err := time.Parse(time.RFC3339, rounds[n-1].Inflows.To); err == nil && from.Sub(to) < 7*24*time.Hour &&
			to.Before(taken) {
			from = to.UTC()
		}
	}
	out := record.Inflows{From: from.Format(time.RFC3339), To: taken.Format(time.RFC3339),
		Networks: []record.NetworkInflow{}}
	addresses, err := r.Store.Addresses(ctx, r.Week)
	if err != nil || len(addresses) == 0 {
		return out, err
	}
	reason := "no RPC is configured for it"
	if r.Inflows != nil {
		reason = "it was not read"
		if out.Networks, err = r.Inflows.Count(ctx, from, taken, addresses); err != nil {
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			r.Log.Error("inflows not counted", "week", r.Week, "err", err)
			out.Networks, reason = []record.NetworkInflow{}, "the counting failed"
		}
	}
	for i := range out.Networks {
		if n := &out.Networks[i]; n.Reason != "" {
			n.Reason = plainText(n.Reason) // what an endpoint answered may stand in it
		}
	}
	for _, network := range slices.Sorted(maps.Keys(addresses)) {
		if !slices.ContainsFunc(out.Networks, func(n record.NetworkInflow) bool { return n.Network == network }) {
			out.Networks = append(out.Networks, record.NetworkInflow{Network: network, USDC: "0", Reason: reason})
		}
	}
	slices.SortFunc(out.Networks, func(a, b record.NetworkInflow) int { return strings.Compare(a.Network, b.Network) })
	return out, nil
}
