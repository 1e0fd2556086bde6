package till

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/settle"
)

// The till's due work (package schedule): purchases that lie, by their ids, which save keeps in the
// queue, and the readings of what arrived, by network.
const (
	jobPurchase = "purchase"
	jobArrivals = "arrivals"
)

// jobs are the till's rows in the table of due work. A look at a purchase may end in any of several
// Updates, and each of them names the state that it starts from, so that one who slept through his
// time changes nothing.
func (t *Till) jobs() []schedule.Job {
	return []schedule.Job{
		{Name: jobPurchase, Workers: 16, Timeout: 8 * time.Second, Pause: t.cfg.Patience, Skip: t.skipPurchase,
			Do: t.recheck},
		{Name: jobArrivals, Workers: len(t.byNet), Pause: t.cfg.Sweep, Skip: t.skipNetwork, Do: t.sweep},
	}
}

// Run recovers: it drives every purchase that lies longer than its time, watches ended ones to
// finality, and reads what arrives; and it does what else is due, which others give. It returns
// when ctx ends. Any number of replicas may run it; each task is one's at a time.
func (t *Till) Run(ctx context.Context, others ...schedule.Job) error {
	due, err := schedule.New(schedule.Config{DB: t.cfg.DB, Jobs: slices.Concat(t.jobs(), others), Log: t.cfg.Log,
		Exclusive: t.cfg.Exclusive, Started: t.cfg.Late, Poll: t.cfg.Poll})
	if err != nil {
		return fmt.Errorf("till: %w", err)
	}
	if t.cfg.Exclusive {
		if err := t.resume(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	err = t.update(ctx, func(tx ledger.Tx) (err error) {
		for n := range t.byNet {
			err = errors.Join(err, schedule.Put(tx, jobArrivals, n, tx.Now()))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("till: beginning to read what arrives: %w", err)
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	beside.Go(func() { _ = t.cfg.Gas.Run(ctx) }) // it ends with ctx and has no other error
	beside.Go(func() { _ = schedule.Every(ctx, t.cfg.Poll, t.watchShut) })
	return due.Run(ctx)
}

// watchShut keeps what is known of closed networks up to date.
func (t *Till) watchShut(ctx context.Context) {
	if err := t.noteShut(ctx); err != nil && ctx.Err() == nil {
		t.cfg.Log.Error("whether the store is closed could not be read", "err", err)
	}
}

// noteShut remembers which networks are closed after a restore, and up to when withdrawals from
// channels were seen.
func (t *Till) noteShut(ctx context.Context) error {
	shut := map[string]bool{}
	var seen channels.Watch
	err := t.view(ctx, func(tx ledger.Tx) error {
		clear(shut)
		for n := range t.byNet {
			is, err := ledger.IsClosed(tx, n)
			if err != nil {
				return err
			}
			if is {
				shut[n] = true
			}
		}
		if t.cfg.Vouchers == nil {
			return nil
		}
		var err error
		seen, err = channels.ReadWatch(tx, t.cfg.Rails[0].Info().Network)
		return err
	})
	if err != nil {
		return err
	}
	t.shut.Store(&shut)
	t.seen.Store(&seen.Time)
	return nil
}

// Closed are the networks of a restored ledger that were not opened yet, and when it was restored.
func (t *Till) Closed(ctx context.Context) (networks []string, since time.Time, err error) {
	err = t.view(ctx, func(tx ledger.Tx) (err error) {
		networks = nil
		for _, r := range t.cfg.Rails {
			shut, err := ledger.IsClosed(tx, r.Info().Network)
			if err != nil {
				return err
			}
			if shut {
				networks = append(networks, r.Info().Network)
			}
		}
		if len(networks) > 0 {
			since, err = ledger.ClosedSince(tx)
		}
		return err
	})
	return networks, since, err
}

// shutOn reports whether a network is closed after a restore.
func (t *Till) shutOn(network string) bool {
	if network == NetworkAccount {
		return t.anyShut()
	}
	shut := t.shut.Load()
	return shut != nil && (*shut)[network]
}

// anyShut reports whether some network is closed.
func (t *Till) anyShut() bool {
	shut := t.shut.Load()
	return shut != nil && len(*shut) > 0
}

// allShut reports whether every network is closed.
func (t *Till) allShut() bool {
	shut := t.shut.Load()
	return shut != nil && len(*shut) == len(t.byNet)
}

// skipPurchase leaves alone what is driven here already, and keeps purchases on closed networks
// where they are: counters and pools may lie behind what was given (M13).
func (t *Till) skipPurchase(tx ledger.Tx, id string) (bool, error) {
	if t.running(id) || !t.anyShut() {
		return t.running(id), nil
	}
	p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(id))
	return t.shutOn(p.Payment.Network), err
}

// skipNetwork leaves alone what arrives where the store is closed, and where it sells no more.
func (t *Till) skipNetwork(_ ledger.Tx, network string) (bool, error) {
	return t.byNet[network] == nil || t.shutOn(network), nil
}

// resume drives at once what a process of ours left behind: nobody else uses this ledger.
func (t *Till) resume(ctx context.Context) error {
	var ids []string
	err := t.view(ctx, func(tx ledger.Tx) error {
		ids = nil
		tasks, err := schedule.Tasks(tx, jobPurchase)
		if err != nil {
			return err
		}
		for _, task := range tasks {
			p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(task.ID))
			if err != nil {
				return err
			}
			if p.Open() && !t.shutOn(p.Payment.Network) {
				ids = append(ids, p.ID)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading what was left behind: %w", err)
	}
	if len(ids) > 0 {
		t.cfg.Log.Info("taking up purchases left on their way", "count", len(ids))
	}
	for _, id := range ids {
		t.start(id, nil)
	}
	return nil
}

// recheck drives a purchase whose time has come. What waits in vain, here or for its node, lies on.
func (t *Till) recheck(ctx context.Context, task schedule.Task) error {
	_, err := t.drive(ctx, task.ID, nil)
	// of the last the guard tells
	for _, waits := range []error{errMoved, errRunning, context.DeadlineExceeded, settle.ErrGasUnchecked} {
		if errors.Is(err, waits) {
			return nil
		}
	}
	return err
}

func (t *Till) running(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs[id] != nil
}

// What a buyer is told while a network, or every network, takes no payment.

// enter counts a payment that was verified, so that nobody fills the count with worthless ones,
// among those that the relayer of its network has to pay for, unless it cannot pay for one more;
// left is to be called when nobody here drives its settlement any more, or it was not begun, and
// not when the client is gone.
func (t *Till) enter(ctx context.Context, o *matched) (left func(), err error) {
	network := o.p.payment.Network
	t.mu.Lock()
	under := t.settling[network]
	t.settling[network]++
	t.mu.Unlock()
	left = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.settling[network]--
	}
	_, amount := o.settles()
	if err := t.cfg.Gas.Take(ctx, network, amount, under); err != nil {
		left()
		return nil, err
	}
	return left, nil
}

// outRetry is how soon to ask a store again that can settle nowhere.
const outRetry = 30 * time.Second

// whileOut answers a payment whose network takes none at present. Nothing is claimed, but a buyer
// who comes back with the key of an earlier purchase gets that.
func (t *Till) whileOut(ctx context.Context, o *matched, err error) (*Sale, error) {
	outage, ok := errors.AsType[*settle.GasOutage](err)
	if !ok {
		return nil, err
	}
	e := &Error{Code: CodeOutage, Retry: outage.Retry, Network: outage.Name, Reason: outage.Reason,
		Elsewhere: len(t.leftOut(o.offer)) < len(t.cfg.Rails)}
	return t.otherwise(ctx, o, e.paid("no", "same_payment"))
}

// refuseOrOut answers a payment that the chain refuses: with fresh terms where that is this
// payment's trouble, as an outage where it turns out to be everybody's.
func (t *Till) refuseOrOut(ctx context.Context, o *matched, refusal *rail.Refusal) (*Sale, error) {
	if strings.HasSuffix(refusal.Reason, "simulation_failed") {
		t.cfg.Gas.Suspect(ctx, o.p.payment.Network)
		if err := t.cfg.Gas.Take(ctx, o.p.payment.Network, o.amount(), 0); err != nil {
			return t.whileOut(ctx, o, err)
		}
	}
	return nil, t.refuse(o.asked, refusal)
}

// spent turns the guard's refusal of a payer into an answer.
func spent(err error) error {
	s, ok := errors.AsType[*settle.GasSpent](err)
	if !ok {
		return err
	}
	return (&Error{Code: CodeGasSpent, Retry: s.Retry, Network: s.Network}).paid("no", "after")
}
