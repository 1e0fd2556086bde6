package ledger

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A Snapshot is what an engine must provide to have transactions: the state
// that one of them reads, unchanging while its function runs. Entries and
// values are copies that the receiver owns. It is used by one goroutine at a
// time, but Get and further scans may be called while a scan runs.
type Snapshot interface {
	// Get returns the value of key or ErrNotFound.
	Get(key []byte) ([]byte, error)
	// Scan and ScanDown obey the contract of [Tx], short of its writes.
	Scan(from, to []byte) iter.Seq2[Entry, error]
	ScanDown(from, to []byte) iter.Seq2[Entry, error]
	// Now returns the ledger's time in UTC.
	Now() time.Time
}

// An Overlay is the Tx of every engine: writes wait in memory, sorted, over a
// Snapshot, until the engine applies them all or drops them.
type Overlay struct {
	base     Snapshot
	writes   []Write // sorted by key, one for a key
	reads    []Range // what was asked of base, in an Update
	readOnly bool
	done     bool
}

var _ Tx = (*Overlay)(nil)

// A Range is the keys with From <= key < To; an empty To is the end.
type Range struct{ From, To []byte }

// At is the range of one key.
func At(key []byte) Range {
	end := after(key)
	return Range{end[:len(key)], end}
}

// In is the range of a scan, for the result of Prefix.
func In(from, to []byte) Range { return Range{from, to} }

// Ahead says what a function of an Update is about to read, keys by Get and
// ranges by a scan. It changes nothing but the time that it takes: an engine that
// asks a server asks for all of it together.
func Ahead(tx Tx, reads ...Range) {
	if o, ok := tx.(*Overlay); ok {
		o.Ahead(reads)
	}
}

// Ahead is the function Ahead for a Snapshot that has it.
func (o *Overlay) Ahead(reads []Range) {
	if s, ok := o.base.(interface{ Ahead([]Range) }); ok {
		s.Ahead(reads)
	}
}

// absent is ErrNotFound of one key. Most claims begin with reading keys that are not there, and
// nobody looks at the text, which costs more than a read.
type absent struct{ key []byte }

// Absent returns ErrNotFound of a key.
func Absent(key []byte) error { return &absent{bytes.Clone(key)} }

// Error implements error.
func (e *absent) Error() string { return ErrNotFound.Error() + ": " + KeyText(e.key) }

// Unwrap makes it ErrNotFound.
func (e *absent) Unwrap() error { return ErrNotFound }

// A Write is what is to happen to one key.
type Write struct {
	Key    []byte
	Value  []byte // not nil, unless Delete
	Delete bool
}

// NewView returns the Tx of a View on s.
func NewView(s Snapshot) *Overlay { return &Overlay{base: s, readOnly: true} }

// NewUpdate returns the Tx of one call of an Update's function on s.
func NewUpdate(s Snapshot) *Overlay { return &Overlay{base: s} }

// End makes every later use of the Tx fail with ErrDone, so that one that has
// escaped its function does no harm.
func (o *Overlay) End() { o.done = true }

// Writes returns what the transaction wrote, in increasing order of keys. The
// slice belongs to the Overlay.
func (o *Overlay) Writes() []Write { return o.writes }

// Reads reports whether the transaction asked its Snapshot, in a Get or a scan,
// for any key that other wrote: whether it would have seen something else after
// other.
func (o *Overlay) Reads(other *Overlay) bool {
	for _, r := range o.reads {
		i, _ := other.find(r.From)
		if i < len(other.writes) && (len(r.To) == 0 || bytes.Compare(other.writes[i].Key, r.To) < 0) {
			return true
		}
	}
	return false
}

// Apply writes what another transaction wrote.
func (o *Overlay) Apply(writes []Write) {
	for _, w := range writes {
		o.put(w)
	}
}

// asks notes what the Snapshot is asked for.
func (o *Overlay) asks(r Range) {
	if !o.readOnly {
		o.reads = append(o.reads, r)
	}
}

// Get implements [Tx].
func (o *Overlay) Get(key []byte) ([]byte, error) {
	if err := o.usable(key); err != nil {
		return nil, err
	}
	if i, ok := o.find(key); ok {
		if o.writes[i].Delete {
			return nil, Absent(key)
		}
		return bytes.Clone(o.writes[i].Value), nil
	}
	o.asks(At(key))
	return o.base.Get(key)
}

// Set implements [Tx].
func (o *Overlay) Set(key, value []byte) error {
	if len(value) > MaxValue {
		return fmt.Errorf("%w: value of %d bytes at %s", ErrTooLong, len(value), KeyText(key))
	}
	return o.write(Write{Key: key, Value: append([]byte{}, value...)})
}

// Delete implements [Tx].
func (o *Overlay) Delete(key []byte) error {
	return o.write(Write{Key: key, Delete: true})
}

// Now implements [Tx].
func (o *Overlay) Now() time.Time { return o.base.Now() }

// Scan implements [Tx].
func (o *Overlay) Scan(from, to []byte) iter.Seq2[Entry, error] {
	from, to = bytes.Clone(from), bytes.Clone(to)
	return func(yield func(Entry, error) bool) {
		if o.done {
			yield(Entry{}, ErrDone)
			return
		}
		o.asks(Range{from, to})
		next := from // everything below is dealt with
		for e, err := range o.base.Scan(from, to) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if next = o.ascend(next, e.Key, yield); next == nil {
				return
			}
			// The write at e.Key is looked up only now: the loop body may
			// have made it a moment ago.
			if i, ok := o.find(e.Key); ok {
				if o.writes[i].Delete {
					next = after(e.Key)
					continue
				}
				e.Value = bytes.Clone(o.writes[i].Value)
			}
			next = after(e.Key)
			if !yield(e, nil) {
				return
			}
		}
		o.ascend(next, to, yield)
	}
}

// ascend yields the written entries with from <= key < to and returns where to
// go on, or nil if the loop was left.
func (o *Overlay) ascend(from, to []byte, yield func(Entry, error) bool) []byte {
	next := append([]byte{}, from...)
	for {
		i, _ := o.find(next)
		if i == len(o.writes) || len(to) > 0 && bytes.Compare(o.writes[i].Key, to) >= 0 {
			return next
		}
		w := o.writes[i]
		next = after(w.Key)
		if !w.Delete && !yield(w.entry(), nil) {
			return nil
		}
	}
}

// ScanDown implements [Tx].
func (o *Overlay) ScanDown(from, to []byte) iter.Seq2[Entry, error] {
	from, to = bytes.Clone(from), bytes.Clone(to)
	return func(yield func(Entry, error) bool) {
		if o.done {
			yield(Entry{}, ErrDone)
			return
		}
		o.asks(Range{from, to})
		limit := to // everything from here on is dealt with; empty: nothing
		for e, err := range o.base.ScanDown(from, to) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !o.descend(after(e.Key), limit, yield) {
				return
			}
			limit = bytes.Clone(e.Key)
			if i, ok := o.find(e.Key); ok {
				if o.writes[i].Delete {
					continue
				}
				e.Value = bytes.Clone(o.writes[i].Value)
			}
			if !yield(e, nil) {
				return
			}
		}
		o.descend(from, limit, yield)
	}
}

// descend yields the written entries with from <= key < limit, greatest first,
// and reports whether to go on. An empty limit is the end.
func (o *Overlay) descend(from, limit []byte, yield func(Entry, error) bool) bool {
	for {
		i := len(o.writes)
		if len(limit) > 0 {
			i, _ = o.find(limit)
		}
		if i == 0 || bytes.Compare(o.writes[i-1].Key, from) < 0 {
			return true
		}
		w := o.writes[i-1]
		limit = w.Key
		if !w.Delete && !yield(w.entry(), nil) {
			return false
		}
	}
}

func (o *Overlay) write(w Write) error {
	if err := o.usable(w.Key); err != nil {
		return err
	}
	if o.readOnly {
		return fmt.Errorf("%w: writing %s", ErrReadOnly, KeyText(w.Key))
	}
	w.Key = bytes.Clone(w.Key)
	o.put(w)
	return nil
}

func (o *Overlay) put(w Write) {
	i, ok := o.find(w.Key)
	if ok {
		o.writes[i] = w
	} else {
		o.writes = slices.Insert(o.writes, i, w)
	}
}

func (o *Overlay) usable(key []byte) error {
	if o.done {
		return ErrDone
	}
	if len(key) == 0 || len(key) > MaxKey {
		return fmt.Errorf("%w: key of %d bytes", ErrTooLong, len(key))
	}
	return nil
}

// find returns where the write to key is, or where it would be inserted.
func (o *Overlay) find(key []byte) (int, bool) {
	return slices.BinarySearchFunc(o.writes, key, func(w Write, key []byte) int {
		return bytes.Compare(w.Key, key)
	})
}

func (w Write) entry() Entry {
	return Entry{Key: bytes.Clone(w.Key), Value: append([]byte{}, w.Value...)}
}

// after returns the least key above key.
func after(key []byte) []byte {
	return append(append(make([]byte, 0, len(key)+1), key...), 0)
}
