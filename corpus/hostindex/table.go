package hostindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"runtime"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"store.example/agentstore/corpus/record"
)

// A table is a bucket of sorted entries that is written once, front to back. Before each value
// stand a checksum over the entry and the key that comes next: a damaged byte is therefore an error
// wherever it is, also where it would hide an entry.

// begin is the key of the entry before the first one.
const begin = "\x00"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is one key with its value.
type entry struct {
	key   string
	value []byte
}

// encode returns an entry as it stands in a table behind its key.
func (e entry) encode(table, next string) []byte {
	rest := append(binary.AppendUvarint(nil, uint64(len(next))), next...)
	rest = append(rest, e.value...)
	return append(binary.BigEndian.AppendUint32(nil, e.checksum(table, rest)), rest...)
}

func (e entry) checksum(table string, rest []byte) uint32 {
	head := crc32.Checksum(fmt.Appendf(nil, "%s %d %s ", table, len(e.key), e.key), castagnoli)
	return crc32.Update(head, castagnoli, rest)
}

// decode reads what encode wrote. The value is lent.
func decode(table string, key, stored []byte) (e entry, next string, err error) {
	if len(key) > bbolt.MaxKeySize {
		return e, "", errDamaged
	}
	e.key = string(key)
	c := cursor{rest: stored}
	sum := c.take(crc32.Size)
	if c.bad || binary.BigEndian.Uint32(sum) != e.checksum(table, c.rest) {
		return e, "", errDamaged
	}
	next = string(c.take(c.number()))
	e.value = c.rest
	return e, next, nil
}

// cursor reads what was written with uvarints; a read beyond the end makes all that follows empty.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) number() uint64 {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 {
		c.bad, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.rest)) {
		c.bad, c.rest = true, nil
		return nil
	}
	out := c.rest[:n:n]
	c.rest = c.rest[n:]
	return out
}

func (c *cursor) end() error {
	if c.bad || len(c.rest) > 0 {
		return errors.New("it is not in the form of an index")
	}
	return nil
}

// file is the file of an index while it is written, in transactions that hold about so many bytes.
type file struct {
	db   *bbolt.DB
	tx   *bbolt.Tx
	most int
	held int
}

func create(path string, most int) (*file, error) {
	// It is synced once, when it is whole.
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{NoSync: true, NoGrowSync: true, NoFreelistSync: true,
		FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	tx, err := db.Begin(true)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &file{db: db, tx: tx, most: most}, nil
}

func (f *file) put(table string, e entry, next string) error {
	if f.held > f.most {
		if err := f.tx.Commit(); err != nil {
			return err
		}
		tx, err := f.db.Begin(true)
		if err != nil {
			return err
		}
		f.tx, f.held = tx, 0
	}
	b, err := f.tx.CreateBucketIfNotExists([]byte(table))
	if err != nil {
		return err
	}
	b.FillPercent = 1 // nothing comes between
	stored := e.encode(table, next)
	f.held += len(e.key) + len(stored)
	return b.Put([]byte(e.key), stored)
}

// close gives up the file; one that is whole is on the disk then.
func (f *file) close(whole bool) error {
	if !whole {
		return errors.Join(f.tx.Rollback(), f.db.Close())
	}
	return errors.Join(f.tx.Commit(), f.db.Sync(), f.db.Close())
}

// tableWriter writes a table from entries in ascending order of their keys.
type tableWriter struct {
	file    *file
	name    string
	last    entry // whose next key is not known
	entries int64
}

func (f *file) table(name string) *tableWriter {
	return &tableWriter{file: f, name: name, last: entry{key: begin}}
}

// add takes over the value.
func (t *tableWriter) add(key string, value []byte) error {
	if key <= t.last.key {
		return fmt.Errorf("writing %s: %w: %q", t.name, record.ErrOrder, key)
	}
	err := t.file.put(t.name, t.last, key)
	t.last = entry{key, value}
	t.entries++
	return err
}

func (t *tableWriter) finish() error { return t.file.put(t.name, t.last, "") }

// errDamaged is an entry that is not what was written.
var errDamaged = errors.New("it is damaged; remove the folder of indexes and build it anew")

// get returns the value of a key.
func (x *Index) get(table, key string) (value []byte, found bool, err error) {
	for e, err := range x.from(table, key) {
		if err != nil || e.key != key { // what stands behind the key
			return nil, false, err
		}
		return bytes.Clone(e.value), true, nil
	}
	return nil, false, nil
}

// from yields the entries from the first that is not before key, in order, until an error. Their
// values are lent until the next is asked for.
func (x *Index) from(table, key string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		defer runtime.KeepAlive(x)
		err := x.db.View(func(tx *bbolt.Tx) error {
			var c *bbolt.Cursor
			key := max(key, begin)
			e, next, err := read(table, func() ([]byte, []byte) {
				c = tx.Bucket([]byte(table)).Cursor()
				return seek(c, key)
			})
			if err == nil && e.key > key {
				err = errDamaged
			}
			for {
				if err != nil {
					return err
				}
				if e.key >= key && e.key != begin && !yield(e, nil) || next == "" {
					return nil
				}
				want := next
				e, next, err = read(table, c.Next)
				if err == nil && e.key != want {
					err = errDamaged
				}
			}
		})
		if err != nil {
			yield(entry{}, fmt.Errorf("reading host index: %s: %w", table, err))
		}
	}
}

// seek goes to a key or, where there is none, to the one before it, which tells what comes next.
func seek(c *bbolt.Cursor, key string) (k, stored []byte) {
	k, stored = c.Seek([]byte(key))
	switch {
	case k == nil:
		return c.Last()
	case string(k) != key:
		return c.Prev()
	}
	return k, stored
}

// read moves in a table and reads the entry there. In a damaged file bbolt panics, or reads beyond
// the end.
func read(table string, move func() (k, stored []byte)) (e entry, next string, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	k, stored := move()
	return decode(table, k, stored)
}
