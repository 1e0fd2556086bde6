// Package manager looks after channels on their chains: it sees payers who withdraw, claims
// vouchers, moves what was claimed to payTo, and gives back what payers ask for. Package channels
// says what may be done and what is known; this package does it.
//
// It is one recurring task for each network (package schedule), so one process does it at a time
// and another goes on where that one died. A round does, in this order:
//
//  1. what an earlier round began and did not see to its end is driven on, by the settlement's
//     record: a crash at any step sends the same bytes again;
//  2. the chain is looked at: payers' withdrawals since the last look, by the contract's events,
//     and every channel in which something is unclaimed, newest and final. Only then is the look
//     noted, without which no voucher is taken for longer than an eighth of the delay
//     (channels.Blind);
//  3. refunds that were asked for are made;
//  4. what is worth it is claimed: the newest voucher of each channel, many in one transaction;
//  5. what was claimed is moved to payTo.
//
// A channel is claimed when it has Config.Sum unclaimed, or for Config.Age; at once where its payer
// withdraws, which is long before half of the delay is over, or where half of what it may owe is
// reached. A claim costs at most a twentieth of what it brings, but for a payer who withdraws. A
// newest voucher that was taken a moment ago is left alone, unless it is urgent: once it is claimed
// its answer is not given again to who lost it.
//
// One row that reverts would undo a whole claim. So every row is tried alone before, those that
// fail are left out and told, and vouchers that a contract signs go each by itself: what a contract
// accepts while it is tried it may refuse in the block. A channel whose claim reverted goes by
// itself too, and after a pause that grows with each that does.
package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/settle"
)

// Config is what a Manager stands on. What has a default may be left out.
type Config struct {
	DB      ledger.DB
	Rails   []rail.Rail // those that take vouchers are looked after
	Settles *settle.Driver
	Log     *slog.Logger
	Limits  channels.Limits
	// Sum is what a channel has unclaimed when it is claimed, in atomic units; default a fifth of
	// Limits.Channel. Age is for how long less stays unclaimed; default a day.
	Sum int64
	Age time.Duration
	// Fresh is how long a voucher is left alone; default 10 min.
	Fresh time.Duration
	// Sweep is what is moved to payTo at least, in atomic units; default 1 USDC.
	Sweep int64
	// Every is the time between two rounds; default 1 min.
	Every time.Duration
}

// Manager looks after channels.
type Manager struct {
	cfg  Config
	nets map[string]network
}

// network is one that takes vouchers.
type network interface {
	rail.Rail
	rail.Channels
}

// share is the part of what a claim brings that it may cost.
const share = 20

// New checks the configuration.
func New(cfg Config) (*Manager, error) {
	if cfg.DB == nil || cfg.Settles == nil || cfg.Log == nil {
		return nil, errors.New("manager: a ledger, a driver of settlements and a log are required")
	}
	if cfg.Sum == 0 {
		cfg.Sum = max(cfg.Limits.Channel, 1)
		if cfg.Limits.Channel == 0 {
			cfg.Sum = channels.DefaultChannel
		}
		cfg.Sum = max(cfg.Sum/5, 1)
	}
	if cfg.Sweep == 0 {
		cfg.Sweep = 1_000_000
	}
	for _, d := range []struct {
		of  *time.Duration
		def time.Duration
	}{{&cfg.Age, 24 * time.Hour}, {&cfg.Fresh, 10 * time.Minute}, {&cfg.Every, time.Minute}} {
		if *d.of == 0 {
			*d.of = d.def
		}
	}
	m := &Manager{cfg: cfg, nets: make(map[string]network)}
	for _, r := range cfg.Rails {
		if n, ok := r.(network); ok {
			m.nets[r.Info().Network] = n
		}
	}
	return m, nil
}

// jobName is part of ledger keys.
const jobName = "channels"

// Soon makes the task of a network due: its next round is for somebody who waits.
func Soon(tx ledger.Tx, network string) error { return schedule.Put(tx, jobName, network, tx.Now()) }

// Job is the recurring task of each network.
func (m *Manager) Job() schedule.Job {
	return schedule.Job{Name: jobName, Workers: max(1, len(m.nets)), Timeout: 2 * time.Minute, Pause: m.cfg.Every,
		Do: func(ctx context.Context, t schedule.Task) error {
			if err := m.Round(ctx, t.ID, t.Check); err != nil {
				return err
			}
			return m.update(ctx, func(tx ledger.Tx) error {
				next := m.cfg.Every
				asked, err := channels.Refunding(tx, t.ID)
				if len(asked) > 0 {
					next = min(next, time.Second) // its payer waits
				}
				return errors.Join(err, t.Check(tx), schedule.Put(tx, jobName, t.ID, tx.Now().Add(next)))
			})
		}}
}

// Start makes the task of each network due, if it is not there yet.
func (m *Manager) Start(ctx context.Context) error {
	return m.update(ctx, func(tx ledger.Tx) error {
		tasks, err := schedule.Tasks(tx, jobName)
		if err != nil {
			return err
		}
		there := make(map[string]bool)
		for _, t := range tasks {
			there[t.ID] = true
		}
		for id := range m.nets {
			if !there[id] {
				if err := schedule.Put(tx, jobName, id, tx.Now()); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Round does all that is to be done on a network at present. check stands at the head of what it
// writes: an error of it ends the round, because another process has the task.
func (m *Manager) Round(ctx context.Context, id string, check func(ledger.Tx) error) error {
	n, ok := m.nets[id]
	if !ok {
		return fmt.Errorf("manager: network %s takes no vouchers here, but channels of it are known: configure it "+
			"until they are claimed", id)
	}
	r := &round{Manager: m, net: n, id: id, check: check, busy: map[string]bool{}}
	for _, step := range []func(context.Context) error{r.goOn, r.withdrawals, r.refunds, r.claims, r.sweep} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("channels of %s: %w", id, err)
		}
	}
	return nil
}

// round is one round on one network.
type round struct {
	*Manager
	net    network
	id     string
	check  func(ledger.Tx) error
	busy   map[string]bool // channels of what is under way
	sweeps bool            // a sweep is under way
}

func (m *Manager) update(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	return m.cfg.DB.Update(ctx, f)
}

func (m *Manager) view(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return m.cfg.DB.View(ctx, f)
}

// write is update while this process has the task.
func (r *round) write(ctx context.Context, f func(ledger.Tx) error) error {
	return r.update(ctx, func(tx ledger.Tx) error {
		if err := r.check(tx); err != nil {
			return err
		}
		return f(tx)
	})
}
