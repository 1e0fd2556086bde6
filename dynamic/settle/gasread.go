package settle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// errLedger says that the ledger did not answer, which is no word about the network.
var errLedger = errors.New("gas: reading the ledger")

// read reads a network, unless another has done so within since. Where the chain was not seen to be
// the configured one, or stopped answering meanwhile, that comes first: a node may have been
// replaced by another.
func (g *GasGuard) read(ctx context.Context, id string, n *network, since time.Duration) {
	n.reading.Lock()
	defer n.reading.Unlock()
	old := n.view.Load()
	now := time.Now()
	if old != nil && now.Sub(old.at) < since {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gasPatience)
	defer cancel()
	v := &view{at: now}
	if old != nil {
		v.checked, v.good = old.checked, old.good
	}
	again := !v.checked
	err := g.fill(ctx, id, n, v)
	passed := again && v.checked // just now
	unready, isUnready := errors.AsType[*rail.Unready](err)
	switch {
	case err == nil:
		v.good = now
	case old != nil && old.checked && !errors.Is(err, rail.ErrWrongChain) && now.Sub(old.good) < g.believed():
		g.cfg.Log.Debug("network not readable", "network", id, "err", err)
		*v = *old
		v.at = now
	case errors.Is(err, errLedger):
		v.out = "the store cannot count what it may spend"
	case errors.Is(err, rail.ErrWrongChain):
		v.checked, v.out = false, "its node is not on the chain that this store is configured for"
	case isUnready:
		v.checked, v.out = false, unready.Out
	default:
		v.checked, v.out = passed || !again && n.rail.Check(ctx) == nil, "its node does not answer"
	}
	g.tell(id, n, old, v, err)
	n.view.Store(v)
}

// fill fills in what the network and the ledger say.
func (g *GasGuard) fill(ctx context.Context, id string, n *network, v *view) error {
	if !v.checked {
		if err := n.rail.Check(ctx); err != nil {
			return err
		}
		v.checked = true
	}
	var err error
	if v.stand, err = n.rail.Standing(ctx); err != nil {
		return err
	}
	var a alike
	err = g.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		if a, err = alikeOf(tx, id); err != nil {
			return err
		}
		used, err := count(tx, nameSubsidy, id, day(tx.Now()))
		v.left = max(0, n.subsidy-used)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errLedger, err)
	}
	switch {
	case v.stand.Out != "":
		v.out = v.stand.Out
	case v.at.Sub(v.stand.Head) > oldest:
		v.out = "its newest block is more than a minute old"
	case !v.stand.Priced:
		v.out = "what settling there costs is not known: the store has no price of its coin"
	case v.at.Before(a.Until):
		v.out = "settlements of several payers failed there in the same way; it is tried again at " +
			a.Until.UTC().Format("15:04") + " UTC"
	}
	return nil
}

// tell logs what changed for the keeper.
func (g *GasGuard) tell(id string, n *network, old, v *view, err error) {
	switch {
	case v.out != "" && (old == nil || old.out != v.out):
		args := []any{"network", id, "why", v.out}
		if err != nil {
			args = append(args, "err", err)
		}
		if s := v.stand; s.Balance != nil && s.Balance.Cmp(s.Need) < 0 {
			// Ten settlements' worth is enough to begin with.
			info := n.rail.Info()
			args = append(args, "fund", strings.Join(info.Accounts, ", "), info.Unit+"_held", s.Balance.String(),
				info.Unit+"_needed", tenfold(s).String())
		}
		g.cfg.Log.Error("network takes no payments", args...)
	case v.out == "" && old != nil && old.out != "":
		g.cfg.Log.Info("network takes payments again", "network", id)
	}
}
