package ledgertest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// A toy is a small engine of its own, right unless a bug is planted in it.
type toy struct {
	bug  string
	made time.Time
	turn chan struct{} // holds one token while an Update runs

	broken atomic.Bool // the last function has failed

	mu      sync.Mutex // guards the fields below
	state   map[string][]byte
	changed map[string]int // the number of the commit that last changed a key
	commits int
	before  map[string][]byte // the state before the last commit
	closed  bool
}

func newToy(bug string) *toy {
	return &toy{bug: bug, made: time.Now().UTC(), turn: make(chan struct{}, 1), state: map[string][]byte{},
		changed: map[string]int{}}
}

func (d *toy) has(bug string) bool { return d.bug == bug }

func (d *toy) current() (map[string][]byte, int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed && !d.has("works after Close") {
		return nil, 0, ledger.ErrClosed
	}
	return maps.Clone(d.state), d.commits, nil
}

func (d *toy) View(ctx context.Context, f func(ledger.Tx) error) error {
	state, _, err := d.current()
	if err != nil {
		return err
	}
	if ctx.Err() != nil && !d.has("View ignores its context") {
		return ctx.Err()
	}
	if d.has("View sees the state before the last commit") {
		d.mu.Lock()
		if d.before != nil {
			state = maps.Clone(d.before)
		}
		d.mu.Unlock()
	}
	s := &toyState{toy: d, entries: state}
	if d.has("View reads what is there now") {
		s.live = true
	}
	view := ledger.NewView(s)
	defer view.End()
	tx := &toyTx{Tx: view, toy: d, base: s}
	err = f(tx)
	if d.has("View turns errors into its own") && err != nil {
		return fmt.Errorf("viewing: %w", err)
	}
	return err
}

func (d *toy) Update(ctx context.Context, f func(ledger.Tx) error) (err error) {
	if ctx.Err() != nil && !d.has("Update ignores its context") {
		return ctx.Err()
	}
	if !d.has("snapshot isolation") && !d.has("read committed") {
		if d.has("waits without its context") || d.has("Update ignores its context") {
			d.turn <- struct{}{}
		} else {
			select {
			case d.turn <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		returned := false
		defer func() {
			if returned || !d.has("a panic keeps the turn") {
				<-d.turn
			}
		}()
		err = d.try(ctx, f)
		returned = true
		return err
	}
	for {
		err = d.try(ctx, f)
		if err != errToyConflict {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

var errToyConflict = fmt.Errorf("conflict")

func (d *toy) try(ctx context.Context, f func(ledger.Tx) error) (err error) {
	state, began, err := d.current()
	if err != nil {
		return err
	}
	s := &toyState{toy: d, entries: state}
	overlay := ledger.NewUpdate(s)
	tx := &toyTx{Tx: overlay, toy: d, base: s}
	defer overlay.End()
	if d.has("a panic commits") || d.has("a panic is swallowed") {
		defer func() {
			if r := recover(); r != nil {
				if d.has("a panic is swallowed") {
					err = nil
					return
				}
				_ = d.commit(overlay.Writes(), began)
				panic(r)
			}
		}()
	}
	if d.has("writes of an earlier call stay") && began%3 == 1 {
		_ = f(tx)
	}
	if d.has("a failure is the next one's, too") && d.broken.Swap(false) {
		return fmt.Errorf("the one before failed")
	}
	err = f(tx)
	d.broken.Store(err != nil)
	if err != nil && !d.has("an error commits") {
		if d.has("Update turns errors into its own") {
			return fmt.Errorf("updating: %w", err)
		}
		return err
	}
	if d.has("snapshot isolation") || d.has("read committed") {
		for range 200 {
			runtime.Gosched()
		}
	}
	if cerr := d.commit(overlay.Writes(), began); cerr != nil {
		return cerr
	}
	return err
}

func (d *toy) commit(writes []ledger.Write, began int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.has("snapshot isolation") {
		for _, w := range writes {
			if d.changed[string(w.Key)] > began {
				return errToyConflict
			}
		}
	}
	d.commits++
	d.before = maps.Clone(d.state)
	for i, w := range writes {
		if d.has("a commit is seen in halves") && i > 0 {
			d.mu.Unlock()
			for range 5000 {
				runtime.Gosched()
			}
			d.mu.Lock()
		}
		if d.has("loses a write") && d.commits%50 == 49 && i == len(writes)-1 {
			break
		}
		d.changed[string(w.Key)] = d.commits
		if w.Delete {
			delete(d.state, string(w.Key))
		} else {
			d.state[string(w.Key)] = w.Value
		}
	}
	return nil
}

func (d *toy) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed && d.has("closing twice fails") {
		return ledger.ErrClosed
	}
	d.closed = true
	return nil
}

// A toyState is the snapshot of a toy.
type toyState struct {
	toy     *toy
	entries map[string][]byte
	live    bool
}

func (s *toyState) now() map[string][]byte {
	if !s.live {
		return s.entries
	}
	state, _, _ := s.toy.current()
	return state
}

func (s *toyState) Now() time.Time {
	switch {
	case s.toy.has("local time"):
		return time.Now().In(time.FixedZone("here", 3600))
	case s.toy.has("clock an hour off"):
		return time.Now().UTC().Add(time.Hour)
	case s.toy.has("clock stands still"):
		return s.toy.made
	}
	return time.Now().UTC()
}

func (s *toyState) Get(key []byte) ([]byte, error) {
	value, ok := s.now()[string(key)]
	if !ok || s.toy.has("empty is absent") && len(value) == 0 {
		return nil, fmt.Errorf("%w: %q", ledger.ErrNotFound, key)
	}
	if s.toy.has("Get lends values") {
		return value, nil
	}
	return append([]byte{}, value...), nil
}

func (s *toyState) Scan(from, to []byte) iter.Seq2[ledger.Entry, error] {
	return s.scan(from, to, false)
}

func (s *toyState) ScanDown(from, to []byte) iter.Seq2[ledger.Entry, error] {
	return s.scan(from, to, !s.toy.has("ScanDown goes up"))
}

func (s *toyState) scan(from, to []byte, down bool) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		state := s.now()
		var keys []string
		for k := range state {
			above := k >= string(from)
			if s.toy.has("from is left out") && len(from) > 0 {
				above = k > string(from)
			}
			below := len(to) == 0 || k < string(to)
			switch {
			case s.toy.has("to is included"):
				below = below || k == string(to)
			case s.toy.has("no upper bound"):
				below = true
			case s.toy.has("0xFF prefix ends early") && len(to) == 0 && len(from) > 0:
				below = k < "\xff\xff"
			}
			if above && below {
				keys = append(keys, k)
			}
		}
		slices.SortFunc(keys, func(a, b string) int {
			if s.toy.has("order of a dictionary") {
				return strings.Compare(strings.ToLower(a), strings.ToLower(b))
			}
			return strings.Compare(a, b)
		})
		if down {
			slices.Reverse(keys)
		}
		for i, k := range keys {
			if s.toy.has("a scan stops after a page") && i == 64 {
				return
			}
			e := ledger.Entry{Key: []byte(k), Value: append([]byte{}, state[k]...)}
			if s.toy.has("a scan lends values") {
				e.Value = state[k]
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// A toyTx stands before the Overlay, to break what an Overlay does right.
type toyTx struct {
	ledger.Tx
	toy  *toy
	base *toyState
	busy bool // a scan was left in the middle
}

func (t *toyTx) Get(key []byte) ([]byte, error) {
	switch {
	case t.toy.has("Get misses own writes"):
		return t.base.Get(key)
	case t.toy.has("no limits") && len(key) == 0:
		return nil, ledger.ErrNotFound
	case t.toy.has("lives on"):
		if value, err := t.Tx.Get(key); err == nil {
			return value, nil
		}
		return t.base.Get(key)
	case t.toy.has("nil for empty"):
		value, err := t.Tx.Get(key)
		if len(value) == 0 {
			value = nil
		}
		return value, err
	case t.toy.has("read committed"):
		if value, err := t.Tx.Get(key); err == nil {
			return value, nil
		}
		runtime.Gosched()
	}
	return t.Tx.Get(key)
}

func (t *toyTx) Set(key, value []byte) error {
	switch {
	case t.toy.has("View swallows writes"):
		if err := t.Tx.Set(key, value); err != nil && len(key) > 0 && len(key) <= ledger.MaxKey {
			return nil
		}
	case t.toy.has("no limits") && (len(key) == 0 || len(key) > ledger.MaxKey):
		return nil
	case t.toy.has("first value stays"):
		if _, err := t.Tx.Get(key); err == nil {
			return nil
		}
	case t.toy.has("fails after a scan was left") && t.busy:
		return fmt.Errorf("busy")
	case t.toy.has("keeps values"):
		// An Overlay copies, so its copy is exchanged for the caller's slice.
		err := t.Tx.Set(key, value)
		writes := t.Tx.(*ledger.Overlay).Writes()
		for i := range writes {
			if bytes.Equal(writes[i].Key, key) {
				writes[i].Value = value
			}
		}
		return err
	case t.toy.has("keeps keys"):
		err := t.Tx.Set(key, value)
		writes := t.Tx.(*ledger.Overlay).Writes()
		for i := range writes {
			if bytes.Equal(writes[i].Key, key) {
				writes[i].Key = key
			}
		}
		return err
	}
	return t.Tx.Set(key, value)
}

func (t *toyTx) Delete(key []byte) error {
	if t.toy.has("deleting an absent key fails") {
		if _, err := t.Get(key); err != nil {
			return err
		}
	}
	if t.toy.has("does not delete") {
		return nil
	}
	return t.Tx.Delete(key)
}

func (t *toyTx) Scan(from, to []byte) iter.Seq2[ledger.Entry, error] {
	switch {
	case t.toy.has("Scan misses own writes"):
		return t.base.Scan(from, to)
	case t.toy.has("Scan is prepared"):
		var all []ledger.Entry
		for e, err := range t.Tx.Scan(from, to) {
			if err != nil {
				return t.Tx.Scan(from, to)
			}
			all = append(all, e)
		}
		return func(yield func(ledger.Entry, error) bool) {
			for _, e := range all {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	return func(yield func(ledger.Entry, error) bool) {
		for e, err := range t.Tx.Scan(from, to) {
			if !yield(e, err) {
				t.busy = true
				return
			}
		}
	}
}
