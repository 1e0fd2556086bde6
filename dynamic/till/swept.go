package till

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// Where the reading of what arrives begins, and how far it is (M13). Money may arrive from the
// moment that terms ask for it, so the beginning is noted before: no network is offered until it
// is, by whichever process is first. What arrived earlier, at an address that somebody has used for
// years, is none of the store's. An address that the keeper configures anew has a beginning of its
// own; one that is no longer configured is not read, and goes on where it was if it comes back.
//
//	budget/uncredited/swept/<network>/<pay_to>   Swept

// Swept is how far what arrives at one address was read.
type Swept struct {
	// Since is the time of the newest block before there were terms: what is in it, or in an
	// earlier one, counts for nothing. Zero, after a restore of a ledger that noted none, is no
	// bound.
	Since time.Time `json:"since,omitzero"`
	Head  uint64    `json:"head,omitzero"` // the number of that block
	First uint64    `json:"first"`         // the final block at that time
	Block uint64    `json:"block"`         // up to which it was read
	// of the final block by which Block and Rest were chosen, and no later than the reading
	At time.Time `json:"at"`
	// Rest is what is left of blocks after Block that are being read. What of them is not in it was
	// judged. Somebody may write so much to the address that they take many readings.
	Rest rail.Span `json:"rest,omitzero"`
}

func sweptKey(info rail.Info) []byte { return uncreditedKey("swept", info.Network, info.PayTo) }

// sweptOf is how far an address was read; the error is errNotFound for one of which nothing is
// noted.
func sweptOf(tx ledger.Tx, info rail.Info) (Swept, error) {
	return ledger.GetJSON[Swept](tx, sweptKey(info))
}

// beginning is what one process knows of a network's beginning.
type beginning struct {
	noted  atomic.Bool
	turn   chan struct{} // has one while it is read and noted
	failed time.Time     // when noting it failed last; guarded by turn
	err    error         // how; guarded by turn
}

const (
	// beginPause is how long nobody tries again after a failure to note a beginning.
	beginPause = time.Second
	// beginPatience is how long reading one may take.
	beginPatience = 3 * time.Second
)

// beginReading notes where the reading of what arrives on a network begins, unless that is noted.
// Terms that ask for money on a network are made only after it returned nil.
func (t *Till) beginReading(ctx context.Context, r rail.Rail) error {
	b := t.begun[r.Info().Network]
	if b.noted.Load() {
		return nil
	}
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.noted.Load() {
		return nil
	}
	if b.err != nil && time.Since(b.failed) < beginPause {
		return b.err
	}
	if b.err = t.noteBeginning(ctx, r); b.err == nil {
		b.noted.Store(true)
		return nil
	}
	b.failed = time.Now()
	if !errors.Is(b.err, settle.ErrGasUnchecked) { // of that the guard tells
		t.cfg.Log.Warn("where to begin reading what arrives is not noted, and nothing is sold there until it is",
			"network", r.Info().Network, "err", b.err)
	}
	return b.err
}

func (t *Till) noteBeginning(ctx context.Context, r rail.Rail) error {
	info := r.Info()
	err := t.view(ctx, func(tx ledger.Tx) error {
		_, err := sweptOf(tx, info)
		return err
	})
	if !errors.Is(err, errNotFound) {
		return err
	}
	if err := t.cfg.Gas.Ready(ctx, info.Network); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, beginPatience)
	defer cancel()
	head, err := r.Head(ctx)
	if err != nil {
		return err
	}
	final, err := r.Final(ctx)
	if err != nil {
		return err
	}
	return t.update(ctx, func(tx ledger.Tx) error {
		s, err := sweptOf(tx, info) // another process may have been first
		if errors.Is(err, errNotFound) {
			now := tx.Now()
			s, err = Swept{Since: sooner(head.Time, now.Add(sweptAhead)), Head: head.Block, First: final.Block,
				Block: final.Block, At: sooner(final.Time, now)}, nil
		}
		if err != nil {
			return err
		}
		return noteSwept(tx, info, s)
	})
}

func noteSwept(tx ledger.Tx, info rail.Info, s Swept) error {
	return ledger.SetJSON(tx, sweptKey(info), s)
}

// Earlier reports a transfer from before there were terms. Several blocks may be of one second.
func (s Swept) Earlier(tr rail.Transfer) bool {
	return tr.Time.Before(s.Since) || tr.Time.Equal(s.Since) && tr.Block <= s.Head
}

// sweptAhead is how far ahead of ours a chain's clock is believed to be.
const sweptAhead = time.Minute

// sooner is the earlier of two times.
func sooner(a, b time.Time) time.Time {
	if a.After(b) {
		return b.UTC()
	}
	return a.UTC()
}

// sweptDoubt is how much later than the note a final block must be, to show by a lower number that
// one of the two was not true. One that is not is of a node that lags.
const sweptDoubt = 10 * time.Minute

// untrue reports whether a final block shows that the note was not true: some node named a block
// that did not exist.
func (s Swept) untrue(final rail.Head) bool {
	return final.Block < max(s.Block, s.Rest.To) && final.Time.After(s.At.Add(sweptDoubt)) && !s.Since.IsZero()
}

// readAgain goes back to where the reading began, because a note was not true. What is owed is owed
// once; the totals of days are counted anew.
func readAgain(tx ledger.Tx, info rail.Info, s Swept, final rail.Head) (Swept, error) {
	s.Rest = rail.Span{}
	if s.Block = s.First; final.Block < s.First {
		s.First, s.Block = 0, 0 // from the first block on; what is too early is known by its time
	}
	s.At = sooner(final.Time, tx.Now())
	from := uncreditedKey("small", info.Network, s.Since.Format(time.DateOnly))
	_, to := ledger.Prefix(uncreditedKey("small", info.Network))
	if _, err := ledger.Forget(tx, from, to, 0); err != nil {
		return s, err
	}
	return s, noteSwept(tx, info, s)
}

// restoreMargin is how many blocks before those that were read when the backup was made the chain
// is read again: a reorganisation may have moved what stood there.
const restoreMargin = 1000

// ReadFrom is from where what arrives is read again after a loss: a margin below the block up to
// which it was read. A ledger from before an address was configured has no note of it, but was
// noted in elsewhere before that: what is older than its newest note is none of the store's, and
// what this network's other addresses were read up to is older. One without any note reads
// everything.
func ReadFrom(ctx context.Context, db ledger.DB, info rail.Info) (s Swept, err error) {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	err = db.View(ctx, func(tx ledger.Tx) (err error) {
		if s, err = sweptOf(tx, info); !errors.Is(err, errNotFound) {
			return err
		}
		s = Swept{}
		for e, err := range tx.Scan(ledger.Prefix(uncreditedKey("swept"))) {
			if err != nil {
				return err
			}
			other, err := ledger.DecodeJSON[Swept](e)
			if err != nil {
				return err
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return err
			}
			if s.Since.Before(other.At) {
				s.Since, s.At = other.At, other.At
			}
			if parts[3] == info.Network {
				s.Block = max(s.Block, other.Block)
			}
		}
		s.First = s.Block
		return nil
	})
	if err != nil {
		return Swept{}, fmt.Errorf("reading how far it was read: %w", err)
	}
	s.Block -= min(s.Block, restoreMargin)
	return s, nil
}

// NoteRead notes from where an address was read after a loss, where nothing was noted of it: what
// was not final then is read again in the ordinary way.
func NoteRead(ctx context.Context, db ledger.DB, info rail.Info, s Swept) error {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	return db.Update(ctx, func(tx ledger.Tx) error {
		if _, err := sweptOf(tx, info); !errors.Is(err, errNotFound) {
			return err
		}
		return noteSwept(tx, info, s)
	})
}
