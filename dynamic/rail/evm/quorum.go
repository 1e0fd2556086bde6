package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// Where two nodes are configured, no single one is believed about what cannot be taken back: that a
// payment is dead, and that one of a whole unit of the asset or more is paid. Both of the first two
// must say so by themselves. What only one says is open: paid is seen, dead is waiting, and the
// next look asks again. When one has been silent for long, the other's word decides once it is
// final, with an alarm in the log.

// witness is one node asked by itself.
type witness struct {
	*Rail
	silent time.Time // since when it does not answer; zero while it does; guarded by Rail.mu of the asking rail
}

// witnesses are the first two nodes of a configuration, none where there is one.
func witnesses(cfg Config) (out []*witness, err error) {
	if len(cfg.RPC) < 2 {
		return nil, nil
	}
	for _, url := range cfg.RPC[:2] {
		one := cfg
		one.RPC = []string{url}
		r, err := New(one)
		if err != nil {
			return nil, err
		}
		out = append(out, &witness{Rail: r})
	}
	return out, nil
}

// confirm holds a finding against what each of two nodes says by itself.
func (r *Rail) confirm(ctx context.Context, s sought, now time.Time, f rail.Finding) rail.Finding {
	if len(r.witnesses) == 0 || !r.weighty(s.payment, f) {
		return f
	}
	for i, w := range r.witnesses {
		own, err := w.status(ctx, s.payment, s.signed, s.since, now)
		switch silent := r.heard(w, err, now); {
		case err == nil && !same(f, own):
			if now.Sub(s.since.Time) > r.cfg.Silence {
				r.log.Error("two nodes tell of different ends of a payment", "network", r.cfg.Network, "payment",
					s.payment.Nonce,
					"state", f.State, "node", w.rpc.First(), "its_state", own.State)
			}
			return open(f)
		case err == nil:
			f.Final = f.Final && own.Final
		case err != nil && ctx.Err() != nil, err != nil && now.Sub(silent) < r.cfg.Silence:
			return open(f)
		case err != nil && !f.Final:
			return open(f)
		case err != nil:
			r.log.Error("a node is silent: the other's word decides alone", "network", r.cfg.Network, "node",
				w.rpc.First(), "silent_since", silent.UTC().Format(time.RFC3339), "payment", s.payment.Nonce, "state",
				f.State, "other", r.witnesses[1-i].rpc.First())
		}
	}
	return f
}

// weighty reports a finding that takes two nodes.
func (r *Rail) weighty(p *rail.Payment, f rail.Finding) bool {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(r.cfg.Decimals)), nil)
	return f.State == rail.Dead || f.State == rail.Paid && p.Amount.Cmp(unit) >= 0
}

// heard notes whether a node answered, and returns since when it does not.
func (r *Rail) heard(w *witness, err error, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		w.silent = time.Time{}
	} else if w.silent.IsZero() {
		w.silent = now
	}
	return w.silent
}

// checkWitnesses compares each of two nodes with the configuration; one that is silent is not
// judged.
func (r *Rail) checkWitnesses(ctx context.Context) error {
	for _, w := range r.witnesses {
		if err := w.Check(ctx); errors.Is(err, rail.ErrWrongChain) {
			return fmt.Errorf("node %s: %w", w.rpc.First(), err)
		}
	}
	return nil
}

// same reports whether two nodes tell of the same end.
func same(a, b rail.Finding) bool {
	if a.State != b.State || a.Reason != b.Reason || (a.Proof == nil) != (b.Proof == nil) {
		return false
	}
	return a.Proof == nil || a.Proof.Tx == b.Proof.Tx && a.Proof.LogIndex == b.Proof.LogIndex &&
		a.Proof.BlockHash == b.Proof.BlockHash
}

// open is a finding as long as only one node says it.
func open(f rail.Finding) rail.Finding {
	f.Final = false
	switch f.State {
	case rail.Paid:
		f.State = rail.Seen
	case rail.Dead:
		f.State, f.Reason, f.Payer = rail.Waiting, "", false
		f.Advice, f.Unfilled = rail.Wait, nil
	}
	return f
}
