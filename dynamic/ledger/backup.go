package ledger

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
)

// A backup is a stream of
//
//	"store-ledger-backup/v1\n"
//	for each entry, in strictly increasing order of keys:
//	    length of the key, 1 to MaxKey; the key
//	    length of the value, 0 to MaxValue; the value
//	a zero byte (no key is that short)
//	the number of entries
//	the SHA-256 of everything before it, 32 bytes
//
// and nothing after it. Numbers are unsigned varints (package encoding/binary).
// It does not depend on the engine: what one made, another can restore.
const backupHeader = "store-ledger-backup/v1\n"

// Backup writes all entries of db to w as they are at one moment, while other
// calls of db go on. The same state gives the same bytes. It holds a View until
// w has taken everything, so w should not be slow for hours; memory stays small
// whatever the size. Syncing w to a disk is left to the caller.
func Backup(ctx context.Context, db DB, w io.Writer) error {
	b := &backupWriter{w: bufio.NewWriterSize(w, 1<<16), sum: sha256.New()}
	err := db.View(ctx, func(tx Tx) error {
		b.write([]byte(backupHeader))
		var n uint64
		for e, err := range tx.Scan(nil, nil) {
			if err != nil {
				return err
			}
			if string(e.Key) == string(restoringKey()) {
				return ErrRestoring
			}
			b.bytes(e.Key)
			b.bytes(e.Value)
			if b.err != nil {
				return b.err
			}
			if n++; n%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		b.number(0)
		b.number(n)
		b.write(b.sum.Sum(nil))
		return b.err
	})
	if err != nil {
		return fmt.Errorf("backing up the ledger: %w", err)
	}
	if err := b.w.Flush(); err != nil {
		return fmt.Errorf("backing up the ledger: %w", err)
	}
	return nil
}

// Verify reads a whole backup, keeping none of it, and returns the number of its
// entries. It accepts exactly what Restore accepts: any changed, missing or
// added byte is an error.
func Verify(r io.Reader) (entries int64, err error) {
	b := newBackupReader(r)
	for {
		_, err := b.next()
		if err == io.EOF {
			return b.entries, nil
		}
		if err != nil {
			return 0, fmt.Errorf("verifying a backup: %w", err)
		}
	}
}

// A backupWriter writes and hashes; it remembers its first error.
type backupWriter struct {
	w   *bufio.Writer
	sum hash.Hash
	err error
}

func (b *backupWriter) write(p []byte) {
	if b.err == nil {
		b.sum.Write(p)
		_, b.err = b.w.Write(p)
	}
}

func (b *backupWriter) number(n uint64) {
	b.write(binary.AppendUvarint(nil, n))
}

func (b *backupWriter) bytes(p []byte) {
	b.number(uint64(len(p)))
	b.write(p)
}

// A backupReader reads entries and hashes what it reads. What next has returned
// may be trusted only after next has returned io.EOF.
type backupReader struct {
	r       *bufio.Reader
	sum     hash.Hash
	started bool
	last    []byte // the key before
	entries int64
}

func newBackupReader(r io.Reader) *backupReader {
	return &backupReader{r: bufio.NewReader(r), sum: sha256.New()}
}

// next returns the next entry, or io.EOF after the last one of a whole and
// undamaged backup.
func (b *backupReader) next() (Entry, error) {
	if !b.started {
		b.started = true
		header, err := b.read(len(backupHeader))
		if err != nil {
			return Entry{}, err
		}
		if string(header) != backupHeader {
			return Entry{}, fmt.Errorf("not a backup of a ledger, or of an unknown version: begins with %q", header)
		}
	}
	key, err := b.bytes(MaxKey)
	if err != nil {
		return Entry{}, err
	}
	if len(key) == 0 {
		return Entry{}, b.end()
	}
	if string(key) <= string(b.last) {
		return Entry{}, fmt.Errorf("damaged: entry %d is not in order", b.entries)
	}
	value, err := b.bytes(MaxValue)
	if err != nil {
		return Entry{}, err
	}
	b.last = key
	b.entries++
	return Entry{key, value}, nil
}

// end reads the trailer and returns io.EOF if all is well.
func (b *backupReader) end() error {
	n, err := binary.ReadUvarint(b)
	if err != nil {
		return cut(err)
	}
	if n != uint64(b.entries) {
		return fmt.Errorf("damaged: %d entries, should be %d", b.entries, n)
	}
	want := b.sum.Sum(nil)
	got, err := b.read(len(want))
	if err != nil {
		return err
	}
	if string(got) != string(want) {
		return fmt.Errorf("damaged: its digest should be %x, not %x", got, want)
	}
	switch _, err := b.r.ReadByte(); err {
	case io.EOF:
		return io.EOF
	case nil:
		return fmt.Errorf("damaged: goes on after its end")
	default:
		return err
	}
}

// ReadByte reads and hashes one byte, for binary.ReadUvarint.
func (b *backupReader) ReadByte() (byte, error) {
	c, err := b.r.ReadByte()
	if err == nil {
		b.sum.Write([]byte{c})
	}
	return c, err
}

// read reads and hashes n bytes.
func (b *backupReader) read(n int) ([]byte, error) {
	p := make([]byte, n)
	if _, err := io.ReadFull(b.r, p); err != nil {
		return nil, cut(err)
	}
	b.sum.Write(p)
	return p, nil
}

// bytes reads a length of at most limit and as many bytes.
func (b *backupReader) bytes(limit uint64) ([]byte, error) {
	n, err := binary.ReadUvarint(b)
	if err != nil {
		return nil, cut(err)
	}
	if n > limit {
		return nil, fmt.Errorf("damaged: a length of %d after entry %d", n, b.entries)
	}
	return b.read(int(n))
}

// cut turns the end of the stream into an error: here it comes too early.
func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("damaged: cut short: %w", io.ErrUnexpectedEOF)
	}
	return err
}
