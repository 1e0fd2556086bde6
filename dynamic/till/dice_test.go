package till_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// dice decide what happens in a model. Each actor has its own: the n-th throw of one depends on the
// seed, its name and n, and not on who else throws when. An actor is a client, the weather, a call
// of a node about one payment, or a place in the code that asks the ledger for something.
type dice struct {
	seed   uint64
	mu     sync.Mutex
	thrown map[string]uint64 // by actor; guarded by mu
}

func newDice(seed uint64) *dice { return &dice{seed: seed, thrown: map[string]uint64{}} }

// intN is an actor's next throw, in [0, n).
func (d *dice) intN(actor string, n int) int {
	d.mu.Lock()
	count := d.thrown[actor]
	d.thrown[actor] = count + 1
	d.mu.Unlock()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", d.seed, count, actor))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:]))).IntN(n)
}

func (d *dice) chance(actor string, percent int) bool { return d.intN(actor, 100) < percent }

// wait lets some time pass. Its nanoseconds are drawn too: hardly ever are two actors due in the
// same one, so that the clock of the bubble, and not the runtime's scheduler, says whose turn it
// is.
func (d *dice) wait(actor string, most time.Duration) {
	time.Sleep(time.Duration(1 + d.intN(actor, int(most))))
}

// asker names the place in the store's code that calls the ledger: a few frames, the nearest first.
func asker() string {
	var pcs [48]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var names []string
	for len(names) < 5 {
		f, more := frames.Next()
		if name, ours := strings.CutPrefix(f.Function, "store.example/agentstore/dynamic/"); ours &&
			!strings.HasPrefix(name, "ledger.") && !strings.HasPrefix(name, "till_test.") {
			names = append(names, name)
		}
		if !more {
			break
		}
	}
	return strings.Join(names, " < ")
}

// moodyLedger is a ledger that takes its time to store something, fails now and then, stores and
// says that it failed, and runs every function of an Update twice, as after a conflict. What it
// does depends on who asks and on what is asked for, so that it does not matter who of several
// comes first.
type moodyLedger struct {
	ledger.DB
	m *model
}

var errAgain, errDisk = errors.New("once more"), errors.New("the disk does not answer")

// asked is a transaction that remembers the first thing that is read in it.
type asked struct {
	ledger.Tx
	first *string
}

func (tx asked) Get(key []byte) ([]byte, error) {
	if *tx.first == "" {
		*tx.first = " of " + ledger.KeyText(key)
	}
	return tx.Tx.Get(key)
}

// View implements [ledger.DB].
func (l moodyLedger) View(ctx context.Context, f func(ledger.Tx) error) error {
	var what string
	err := l.DB.View(ctx, func(tx ledger.Tx) error { return f(asked{tx, &what}) })
	if !l.m.calm.Load() && l.m.dice.chance("reads "+asker()+what, 3) {
		return errDisk
	}
	return err
}

// Update implements [ledger.DB].
func (l moodyLedger) Update(ctx context.Context, f func(ledger.Tx) error) error {
	var what string
	_ = l.DB.Update(ctx, func(tx ledger.Tx) error { _ = f(asked{tx, &what}); return errAgain })
	who := asker() + what
	l.m.dice.wait("stores "+who, 5*time.Millisecond)
	err := l.update(ctx, who, f)
	l.m.note("stored %s: %v", who, err)
	return err
}

func (l moodyLedger) update(ctx context.Context, who string, f func(ledger.Tx) error) error {
	fails := func(how string, percent int) bool { return !l.m.calm.Load() && l.m.dice.chance(how+" "+who, percent) }
	if fails("reaches", 3) {
		return errDisk
	}
	unknown := fails("knows", 3)
	if unknown && fails("keeps", 50) {
		_ = l.DB.Update(ctx, func(tx ledger.Tx) error { _ = f(tx); return errAgain })
		return ledger.ErrUnknown
	}
	if err := l.DB.Update(ctx, f); err != nil || !unknown {
		return err
	}
	return ledger.ErrUnknown
}

// note writes something into the history of a model.
func (m *model) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history = append(m.history, time.Now().Format("05.000000000 ")+fmt.Sprintf(format, args...))
}

// played runs a model of a seed in a bubble, so that it can be run again: on one processor, with a
// source of random bytes that begins anew. It returns the history.
func played(t *testing.T, seed uint64, run func(*model)) (history []string) {
	cryptotest.SetGlobalRandom(t, seed)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		m := &model{t: t, dice: newDice(seed), payers: 8}
		if seed%4 == 3 {
			m.payers = 2 // who have more open at once
		}
		run(m)
		history = m.history
	})
	return history
}
