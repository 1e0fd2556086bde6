package till

import (
	"bufio"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"agentstore/corpus/attest"
)

// HighMark is one thing that must never be given twice, noted outside the ledger before the answer leaves, so that a
// store restored from an older backup knows it (M13).
type HighMark struct {
	Patron int64  `json:"patron"`
	Item   string `json:"item"`
	Pool   string `json:"pool,omitzero"`
	Entry  string `json:"entry,omitzero"` // digest
	Word   string `json:"word,omitzero"`
	Jar    int64  `json:"jar,omitzero"`
}

// HighWater keeps marks durably. Keep returns when the mark is on disk.
type HighWater interface{ Keep(HighMark) error }

type noHighWater struct{}

func (noHighWater) Keep(HighMark) error { return nil }

// HighWaterFile is an append-only file of signed marks, one compact JWS a line. Marks that come together are written
// and synced together.
type HighWaterFile struct {
	key *attest.Key
	kid string

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

// OpenHighWater opens or makes the file. A last line without an end, left by a crash, is cut off: its answer never
// left.
func OpenHighWater(path string, key *attest.Key) (*HighWaterFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the high-water file: %w", err)
	}
	end, err := wholeLines(f)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		var dir *os.File
		if dir, err = os.Open(filepath.Dir(path)); err == nil {
			err = errors.Join(dir.Sync(), dir.Close())
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the high-water file: %w", err), f.Close())
	}
	return &HighWaterFile{key: key, kid: key.KID(), file: f, end: end}, nil
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

// Keep implements HighWater.
func (h *HighWaterFile) Keep(m HighMark) error {
	payload, err := attest.Canonical(m)
	if err != nil {
		return err
	}
	jws, err := attest.SignJWS(h.key, h.kid, payload)
	if err != nil {
		return err
	}
	h.mu.Lock()
	if err := h.write(jws + "\n"); err != nil {
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

// Close closes the file.
func (h *HighWaterFile) Close() error { return h.file.Close() }

// ReadHighWater reads and verifies every mark of a file. A line that does not verify is an error that names it: a
// file that was tampered with must not lower anything.
func ReadHighWater(path string, ring attest.Ring) ([]HighMark, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var marks []HighMark
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return marks, nil // a line without its end was left by a crash: its answer never left
		}
		if err != nil {
			return nil, err
		}
		opened, err := attest.OpenJWS(strings.TrimSuffix(line, "\n"), resolver(ring))
		if err != nil {
			return nil, fmt.Errorf("high-water file, line %d: %w", n, err)
		}
		var m HighMark
		if err := json.Unmarshal(opened.Payload, &m); err != nil {
			return nil, fmt.Errorf("high-water file, line %d: %w", n, err)
		}
		marks = append(marks, m)
	}
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
