package settle

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"agentstore/dynamic/rail"
)

const (
	// maxAtOnce is how many transactions are handed to a node in one round trip.
	maxAtOnce = 16
	// patience is how long a broadcast may take.
	patience = 30 * time.Second
)

// outbox broadcasts the transactions of one account in the order of their numbers, one round trip
// at a time: a number that reaches a node before the one below it only waits there, and of those a
// node keeps few. A transaction that is being signed has its place before it is stored, so that
// those behind wait for it; but no longer than a pause, because whoever signs it may die.
type outbox struct {
	mu      sync.Mutex
	letters []*letter     // by number; guarded by mu
	posting bool          // a goroutine posts; guarded by mu
	wake    chan struct{} // has one when the letters changed
}

// letter is one transaction's place in an outbox.
type letter struct {
	number uint64
	until  time.Time   // how long others wait for it, while it is not there
	signed rail.Signed // what is posted; nothing while it is signed
	ready  bool
	done   chan struct{} // closed when it was broadcast
	err    error         // of the broadcast
}

// outboxOf is the outbox of an account.
func (d *Driver) outboxOf(network, account string) *outbox {
	box, _ := d.boxes.LoadOrStore([2]string{network, account}, &outbox{wake: make(chan struct{}, 1)})
	return box.(*outbox)
}

// hold keeps a place for a number that is given out.
func (b *outbox) hold(number uint64, pause time.Duration) *letter {
	l := &letter{number: number, until: time.Now().Add(pause)}
	b.put(l)
	return l
}

// drop gives up a place.
func (b *outbox) drop(l *letter) {
	b.mu.Lock()
	b.letters = slices.DeleteFunc(b.letters, func(x *letter) bool { return x == l })
	b.mu.Unlock()
	b.stir()
}

func (b *outbox) put(l *letter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, _ := slices.BinarySearchFunc(b.letters, l, func(a, b *letter) int { return cmp.Compare(a.number, b.number) })
	b.letters = slices.Insert(b.letters, i, l)
}

func (b *outbox) stir() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// post broadcasts a transaction in its turn and waits until that is done or ctx ends.
func (b *outbox) post(ctx context.Context, r rail.Rail, s rail.Signed) error {
	l := &letter{number: s.Sequence, signed: s, ready: true, done: make(chan struct{})}
	b.put(l)
	b.mu.Lock()
	// The place that was held for it is taken.
	b.letters = slices.DeleteFunc(b.letters, func(x *letter) bool { return !x.ready && x.number == l.number })
	if !b.posting {
		b.posting = true
		go b.run(r)
	}
	b.mu.Unlock()
	b.stir()
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run posts until nothing is ready.
func (b *outbox) run(r rail.Rail) {
	for {
		batch, wait, over := b.next()
		if over {
			return
		}
		if len(batch) == 0 {
			timer := time.NewTimer(wait)
			select {
			case <-b.wake:
			case <-timer.C:
			}
			timer.Stop()
			continue
		}
		all := make([]rail.Signed, len(batch))
		for i, l := range batch {
			all[i] = l.signed
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := r.Send(ctx, all...)
		cancel()
		for _, l := range batch {
			l.err = err
			close(l.done)
		}
	}
}

// next takes what is to be posted now, or says how long to wait for what comes before.
func (b *outbox) next() (batch []*letter, wait time.Duration, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.letters = slices.DeleteFunc(b.letters, func(l *letter) bool { return !l.ready && !now.Before(l.until) })
	for i, l := range b.letters {
		if !l.ready || i == maxAtOnce {
			break
		}
		batch = append(batch, l)
	}
	if len(batch) > 0 {
		b.letters = slices.Delete(b.letters, 0, len(batch))
		return batch, 0, false
	}
	if !slices.ContainsFunc(b.letters, func(l *letter) bool { return l.ready }) {
		b.posting = false
		return nil, 0, true
	}
	return nil, b.letters[0].until.Sub(now), false
}
