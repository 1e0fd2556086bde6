package ledger

import (
	"context"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// MemOptions say how a [Mem] misbehaves. The zero value is right for most tests.
type MemOptions struct {
	// Fault, if set, is asked at every operation: op is "view" before the
	// function of a View runs, "update" before that of an Update runs, and
	// "commit" before its writes are stored. An error is returned to the
	// caller in place of the operation, except that a "commit" with apply true
	// stores the writes and then reports the error all the same. It may be
	// called by many goroutines at once.
	Fault func(op string) (apply bool, err error)
	// Calm turns off the needless reruns of Update's function.
	Calm bool
}

// Mem is a ledger in memory: durable against nothing, for tests. One time in ten
// it throws away what Update's function did and runs it again, which the
// contract allows, so that callers who cannot bear it are found out. It blocks
// on channels only and reads the process clock, so it works in a synctest
// bubble.
type Mem struct {
	options MemOptions
	turn    chan struct{} // holds one token while an Update runs
	root    atomic.Pointer[node]

	life   sync.RWMutex // read-held by every call, so that Close can wait
	closed bool         // guarded by life
}

var _ DB = (*Mem)(nil)

// NewMem returns an empty ledger in memory.
func NewMem(options MemOptions) *Mem {
	return &Mem{options: options, turn: make(chan struct{}, 1)}
}

// View implements [DB].
func (m *Mem) View(ctx context.Context, f func(Tx) error) error {
	m.life.RLock()
	defer m.life.RUnlock()
	if err := m.start(ctx, "view"); err != nil {
		return err
	}
	tx := NewView(memSnapshot{m.root.Load()})
	defer tx.End()
	return f(tx)
}

// Update implements [DB].
func (m *Mem) Update(ctx context.Context, f func(Tx) error) error {
	m.life.RLock()
	defer m.life.RUnlock()
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := m.start(ctx, "update"); err != nil {
		return err
	}
	for !m.options.Calm && rand.IntN(10) == 0 {
		// As after a conflict: whatever it did or returned is forgotten.
		_, _ = m.try(f)
	}
	root, err := m.try(f)
	if err != nil {
		return err
	}
	apply, err := m.fault("commit")
	if err == nil || apply {
		m.root.Store(root)
	}
	return err
}

// try runs f once and returns the state after its writes.
func (m *Mem) try(f func(Tx) error) (*node, error) {
	root := m.root.Load()
	tx := NewUpdate(memSnapshot{root})
	defer tx.End()
	if err := f(tx); err != nil {
		return nil, err
	}
	for _, w := range tx.Writes() {
		if w.Delete {
			root = root.remove(string(w.Key))
		} else {
			root = root.insert(newNode(string(w.Key), string(w.Value)))
		}
	}
	return root, nil
}

// Close implements [DB].
func (m *Mem) Close() error {
	m.life.Lock()
	defer m.life.Unlock()
	m.closed = true
	m.root.Store(nil)
	return nil
}

func (m *Mem) start(ctx context.Context, op string) error {
	if m.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := m.fault(op)
	return err
}

func (m *Mem) fault(op string) (apply bool, err error) {
	if m.options.Fault == nil {
		return true, nil
	}
	return m.options.Fault(op)
}

// A memSnapshot is a state of a Mem: a tree that never changes.
type memSnapshot struct{ root *node }

func (s memSnapshot) Now() time.Time { return time.Now().UTC() }

func (s memSnapshot) Get(key []byte) ([]byte, error) {
	for n := s.root; n != nil; {
		switch k := string(key); {
		case k < n.key:
			n = n.left
		case k > n.key:
			n = n.right
		default:
			return []byte(n.value), nil
		}
	}
	return nil, Absent(key)
}

func (s memSnapshot) Scan(from, to []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s.root.ascend(string(from), string(to), yield)
	}
}

func (s memSnapshot) ScanDown(from, to []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		s.root.descend(string(from), string(to), yield)
	}
}
