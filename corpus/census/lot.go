package census

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
)

// The order of a week is drawn once, by whoever holds the lease of its roster, and kept in the
// store before anybody walks by it: whoever takes the lease over goes on with the roster that was
// closed and with the lot that was drawn. What the lot is and how it is recomputed stands in
// package record (Lot).

// Headers tell of Bitcoin's blocks. They are asked by one process at a time, each time under a
// deadline, and may fail for any reason: then they are asked again, until HeaderTime is over.
type Headers interface {
	// Tip is the height of the newest block.
	Tip(ctx context.Context) (int64, error)
	// Header is the header of the block at a height, an error as long as there is none.
	Header(ctx context.Context, height int64) (ots.Header, error)
}

const (
	// lotAhead is how many blocks beyond the newest the one is that decides: the next may be known
	// to who is about to publish it.
	lotAhead = 2
	// headerPoll is how long is waited between two questions for a header, and headerPatience for
	// an answer.
	headerPoll     = time.Minute
	headerPatience = 30 * time.Second
	// tipTries is how often the newest height is asked for.
	tipTries = 3
	// ownBytes is the length of a value that stands in for a block.
	ownBytes = 32
)

// asked bounds one question to Headers, also where the answer ignores its context.
func asked[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, headerPatience)
	defer cancel()
	type answer struct {
		v   T
		err error
	}
	got := make(chan answer, 1)
	go func() {
		v, err := ask(ctx)
		got <- answer{v, err}
	}()
	select {
	case a := <-got:
		return a.v, a.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("no answer: %w", ctx.Err())
	}
}

// fix is the height of the block that will decide, 0 where none can be fixed.
func (r *run) fix(ctx context.Context) (int64, error) {
	if r.Headers == nil {
		return 0, nil
	}
	var err error
	for range tipTries {
		var tip int64
		tip, err = asked(ctx, r.Headers.Tip)
		if err == nil && tip > 0 && tip < 1<<40 {
			return tip + lotAhead, nil
		}
		if err == nil {
			err = fmt.Errorf("no block has height %d", tip)
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	r.Log.Error("no block can be fixed for the lot, which is the census's own", "week", r.Week, "err", err)
	return 0, nil
}

// ownValue draws the value that stands in for a block.
func (r *run) ownValue() ([]byte, error) {
	value := make([]byte, ownBytes)
	if _, err := io.ReadFull(r.Random, value); err != nil {
		return nil, fmt.Errorf("drawing a value for the lot: %w", err)
	}
	return value, nil
}

// draw returns the lot of a week whose roster was closed then, on the record, waiting for its
// block. It is the own value where that cannot be had in time.
func (r *run) draw(ctx context.Context, w Week, closed time.Time) (record.Lot, error) {
	lot := record.Lot{RosterDigest: w.Closed.Digest, Height: w.Closed.Height}
	own := lot
	own.Own = w.Own
	if r.Headers == nil || lot.Height == 0 {
		return own, nil
	}
	var last string
	// Two clocks bound the waiting: one that says how long ago the roster was closed, also by a
	// process that died since, and the number of questions.
	for tries := r.HeaderTime/headerPoll + 1; tries > 0; tries-- {
		header, err := asked(ctx,
			func(ctx context.Context) (ots.Header, error) { return r.Headers.Header(ctx, lot.Height) })
		if ctx.Err() != nil {
			return lot, ctx.Err()
		}
		if err == nil {
			lot.Header = header[:]
			// What would not pass for whoever checks the record is no header.
			if err = lot.Of(w.Closed, closed, r.Difficulty); err == nil {
				return lot, nil
			}
			lot.Header = nil
		}
		if err.Error() != last {
			last = err.Error()
			r.Log.Info("waiting for the block of the lot", "week", r.Week, "height", lot.Height, "err", err)
		}
		if !r.Now().Before(w.OpenedAt.Add(r.HeaderTime)) || tries == 1 {
			break
		}
		if err := r.Sleep(ctx, headerPoll); err != nil {
			return lot, err
		}
	}
	r.Log.Error("the block of the lot was not to be had in time: the lot is the census's own", "week", r.Week, "height",
		lot.Height, "waited", r.HeaderTime, "err", last)
	return own, nil
}

// deal opens a week whose roster is closed: its closing goes on the record, the lot is drawn and
// gives the order.
func (r *run) deal(ctx context.Context, lease Lease) error {
	w, err := r.Store.Week(ctx, r.Week)
	if err != nil || w.Phase != PhaseListed {
		return err // whoever had the lease before may have finished
	}
	closed, err := r.publish(ctx, w)
	if err != nil {
		return err
	}
	if w.Lot == nil {
		lot, err := r.draw(ctx, w, closed)
		if err != nil {
			return err
		}
		// The first that is drawn stands.
		if lot, err = r.Store.Draw(ctx, lease, lot); err != nil {
			return err
		}
		w.Lot = &lot
	}
	var all []Known
	for k, err := range r.Store.Closed(ctx, r.Week) {
		if err != nil {
			return err
		}
		all = append(all, k)
	}
	if err := r.handOut(w, all); err != nil {
		return err
	}
	r.Log.Info("lot drawn", "week", r.Week, "hosts", len(all), "block", w.Lot.Block(), "own", w.Lot.IsOwn())
	return r.Store.Deal(ctx, lease, ordered(all, w.Lot.Seed(), w.Most), r.Shard, r.Lease)
}

// publish puts the closing of a roster on the record, if the process has one to put it on, and says
// when it is dated.
func (r *run) publish(ctx context.Context, w Week) (time.Time, error) {
	if r.Publish == nil || w.Closed.Week == "" {
		return w.OpenedAt, nil
	}
	at, err := r.Publish(ctx, w.Closed)
	if err != nil {
		return at, fmt.Errorf("putting the closed roster of %s on the record: %w", r.Week, err)
	}
	return at, nil
}

// lot is what a round says of its lot; nil where its roster's closing is on no record.
func (r *run) lot(w Week) *record.Lot {
	if r.Publish == nil {
		return nil
	}
	return w.Lot
}

// ordered yields hosts in the order of their turns. At most so many are walked, all if that is
// negative; the others have rows that say so.
func ordered(all []Known, seed [sha256.Size]byte, most int) iter.Seq[Known] {
	type turn struct {
		at [sha256.Size]byte
		k  Known
	}
	turns := make([]turn, len(all))
	for i, k := range all {
		turns[i] = turn{record.Turn(seed, k.Host), k}
	}
	slices.SortFunc(turns, func(a, b turn) int { return bytes.Compare(a.at[:], b.at[:]) })
	return func(yield func(Known) bool) {
		for i, t := range turns {
			if k := t.k; most >= 0 && i >= most {
				row := notProbed(*k.Entry, ReasonBeyondCap)
				k.Row, k.Reason = &row, ReasonBeyondCap
				t.k = k
			}
			if !yield(t.k) {
				return
			}
		}
	}
}

// close is what closes a roster of these hosts: its digest, the height of a block that nobody knows
// yet, and the digest of the value that stands in for it.
func (r *run) close(ctx context.Context, hosts []string) (closed record.ClosedRoster, own []byte, err error) {
	sum := record.NewRosterHash(r.Week)
	slices.SortFunc(hosts, cmp.Compare[string])
	for _, host := range hosts {
		if err := sum.Add(host); err != nil {
			return closed, nil, err
		}
	}
	closed.Week = r.Week
	closed.Hosts, closed.Digest = sum.Sum()
	if own, err = r.ownValue(); err != nil {
		return closed, nil, err
	}
	closed.Own = sha256.Sum256(own)
	closed.Height, err = r.fix(ctx)
	return closed, own, err
}
