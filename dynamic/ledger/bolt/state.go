package bolt

import (
	"bytes"
	"iter"
	"time"

	"go.etcd.io/bbolt"

	"store.example/agentstore/dynamic/ledger"
)

// A state is what one transaction reads. bbolt lends its memory map, so
// everything is copied on the way out.
type state struct{ bucket *bbolt.Bucket }

var _ ledger.Snapshot = state{}

func (s state) Now() time.Time { return time.Now().UTC() }

func (s state) Get(key []byte) ([]byte, error) {
	value := s.bucket.Get(key)
	if value == nil {
		return nil, ledger.Absent(key)
	}
	return append([]byte{}, value...), nil
}

func (s state) Scan(from, to []byte) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		c := s.bucket.Cursor()
		for k, v := c.Seek(from); k != nil; k, v = c.Next() {
			if len(to) > 0 && bytes.Compare(k, to) >= 0 {
				return
			}
			if !yield(entry(k, v), nil) {
				return
			}
		}
	}
}

func (s state) ScanDown(from, to []byte) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		c := s.bucket.Cursor()
		for k, v := last(c, to); k != nil && bytes.Compare(k, from) >= 0; k, v = c.Prev() {
			if !yield(entry(k, v), nil) {
				return
			}
		}
	}
}

// last moves the cursor to the greatest key below to.
func last(c *bbolt.Cursor, to []byte) (key, value []byte) {
	if len(to) > 0 {
		if k, _ := c.Seek(to); k != nil {
			return c.Prev()
		}
	}
	return c.Last()
}

func entry(k, v []byte) ledger.Entry {
	return ledger.Entry{Key: bytes.Clone(k), Value: append([]byte{}, v...)}
}
