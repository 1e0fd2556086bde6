package restore

import (
	"bufio"
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/dynamic/till"
)

// HighWaterFile is an append-only file of signed marks, one compact JWS a line. Marks that come
// together are written and synced together. It belongs to one process, which holds a lock on it:
// each replica has a file of its own, and a restore reads them all. Its first mark is of nothing,
// so that a file that was emptied is known from one that is new.
type HighWaterFile struct {
	key *attest.Key

	mu      sync.Mutex // guards what follows
	file    *os.File
	end     int64 // of the last whole line
	torn    bool  // part of a line stands beyond end
	pending *syncBatch
}

type syncBatch struct {
	once sync.Once
	err  error
}

// ErrHighWaterInUse says that another process writes the file.
var ErrHighWaterInUse = errors.New("another process of the store writes it: give each process a high_water file of " +
	"its own, such as var/high-water-2.jws, and name them all to store restore")

// OpenHighWater opens or makes the file, for this process alone. A last line without an end, left
// by a crash, is cut off: its answer never left.
func OpenHighWater(path string, key *attest.Key) (*HighWaterFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the high-water file: %w", err)
	}
	h := &HighWaterFile{key: key, file: f}
	if err := h.open(path); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the high-water file %s: %w", path, err), f.Close())
	}
	return h, nil
}

func (h *HighWaterFile) open(path string) error {
	// The lock is of the open file and ends with it. What another process is writing must not be
	// cut off, so it comes first.
	if err := durable.TryLock(h.file); errors.Is(err, durable.ErrLocked) {
		return ErrHighWaterInUse
	} else if err != nil {
		return fmt.Errorf("locking it: %w", err)
	}
	var err error
	if h.end, err = wholeLines(h.file); err != nil {
		return err
	}
	if err := h.file.Truncate(h.end); err != nil {
		return err
	}
	if h.end == 0 {
		if err := h.Keep(till.HighMark{}); err != nil {
			return err
		}
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in a folder durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func wholeLines(f *os.File) (int64, error) {
	r := bufio.NewReader(f)
	var end int64
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		end += int64(len(line))
	}
}

// line is the mark as it is written.
func line(m till.HighMark, key *attest.Key) (string, error) {
	payload, err := attest.Canonical(m)
	if err != nil {
		return "", err
	}
	jws, err := attest.SignJWS(key, key.KID(), payload)
	return jws + "\n", err
}

// Keep implements till.HighWater.
func (h *HighWaterFile) Keep(m till.HighMark) error {
	line, err := line(m, h.key)
	if err != nil {
		return err
	}
	h.mu.Lock()
	if err := h.write(line); err != nil {
		h.mu.Unlock()
		return err
	}
	if h.pending == nil {
		h.pending = &syncBatch{}
	}
	batch := h.pending
	h.mu.Unlock()
	batch.once.Do(func() {
		h.mu.Lock()
		h.pending = nil // later writes wait for a later sync
		h.mu.Unlock()
		batch.err = h.file.Sync()
	})
	return batch.err
}

// write appends a line whole or not at all. Holds h.mu.
func (h *HighWaterFile) write(line string) error {
	if h.torn {
		if err := h.file.Truncate(h.end); err != nil {
			return err
		}
		h.torn = false
	}
	n, err := h.file.WriteAt([]byte(line), h.end)
	if err != nil {
		h.torn = n > 0
		return err
	}
	h.end += int64(n)
	return nil
}

// Close gives the file up. The lock is let go by name: a child that this process is starting just
// now holds a copy of the file until it runs its program, and the lock lives as long as a copy.
func (h *HighWaterFile) Close() error {
	return errors.Join(durable.Unlock(h.file), h.file.Close())
}

// Unreadable says which lines of a high-water file cannot be read, or are not signed by a key of
// the store's: what they held is not known.
type Unreadable struct {
	File  string
	Lines []int // from 1
	Of    int   // lines in the file
	Err   error // of the first
}

// Error implements error. It names the first few lines.
func (e *Unreadable) Error() string {
	const shown = 20
	var b strings.Builder
	for i, n := range e.Lines[:min(len(e.Lines), shown)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "line %d", n)
	}
	if n := len(e.Lines) - shown; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return fmt.Sprintf("high-water file %s: %d of %d lines cannot be read: %s (%v)", e.File, len(e.Lines), e.Of,
		b.String(), e.Err)
}

// Unwrap returns the first line's error.
func (e *Unreadable) Unwrap() error { return e.Err }

// ReadHighWater reads and verifies every mark of a file. Where lines do not verify, the error is an
// *Unreadable that names them, beside the marks of the others: a file that was tampered with must
// not lower anything unnoticed.
func ReadHighWater(path string, ring attest.Ring) ([]till.HighMark, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var marks []till.HighMark
	bad := &Unreadable{File: path}
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			break // a line without its end was left by a crash: its answer never left
		}
		if err != nil {
			return nil, err
		}
		bad.Of = n
		var m till.HighMark
		opened, err := attest.OpenJWS(strings.TrimSuffix(line, "\n"), resolver(ring))
		if err == nil {
			err = json.Unmarshal(opened.Payload, &m)
		}
		switch {
		case err != nil:
			bad.Lines = append(bad.Lines, n)
			bad.Err = cmp.Or(bad.Err, err)
		case m != (till.HighMark{}):
			marks = append(marks, m)
		}
	}
	if len(bad.Lines) > 0 {
		return marks, bad
	}
	return marks, nil
}

// resolver finds the published key of a kid, in force or retired.
func resolver(ring attest.Ring) func(string) (ed25519.PublicKey, error) {
	return func(kid string) (ed25519.PublicKey, error) {
		s, ok := ring.ByKID(kid)
		if !ok {
			return nil, attest.ErrUnknownKey
		}
		return ed25519.PublicKey(s.Public), nil
	}
}
