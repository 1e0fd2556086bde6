package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tlog"
)

// MaxMirrors is how many mirrors one step asks.
const MaxMirrors = 16

// Mirror is another who shows heads of the log: a mirror or a witness, at its monitoring prefix. It
// serves checkpoint, and a mirror tiles too, below the SHA-256 of the log's origin in hexadecimal
// (c2sp.org/tlog-witness, c2sp.org/tlog-mirror). It is believed nothing but what the log itself
// signed.
type Mirror struct {
	Address string
	Files   fs.FS
}

// MirrorReport is the head that a mirror shows, which is of the same history as the log's own.
type MirrorReport struct {
	Address string        `json:"address"`
	Leaves  int64         `json:"leaves"`
	Root    attest.Digest `json:"root"`
}

// mirrorFiles are the files of a mirror by the names that they have in a record.
type mirrorFiles struct {
	fs.FS
	below string
}

// ReadFile implements fs.ReadFileFS.
func (f mirrorFiles) ReadFile(name string) ([]byte, error) {
	return fs.ReadFile(f.FS, f.below+strings.TrimPrefix(name, tlog.Path("")))
}

// mirrors holds the head against those that others show. One that could not be had shows nothing,
// and does not stop the step: the next one compares all that was taken.
func (s *step) mirrors() error {
	sum := sha256.Sum256([]byte(s.head.Origin))
	for _, m := range s.o.Mirrors {
		files := mirrorFiles{m.Files, hex.EncodeToString(sum[:])}
		lacking := func(err error) {
			s.out.Unproven = append(s.out.Unproven, fmt.Sprintf("that %s sees the same log: %v", m.Address, err))
		}
		raw, err := files.ReadFile(tlog.Path("checkpoint"))
		if err != nil {
			lacking(err)
			continue
		}
		head, _, err := tlog.OpenCheckpoint(raw, s.ring)
		switch {
		case errors.Is(err, attest.ErrNotInForce):
			return &problem{tlog.Path("checkpoint"), rule.CheckpointKey.By(fmt.Errorf("%s shows a head that a key of "+
				"the log signed when it might not: %w", m.Address, err))}
		case err == nil && head.Origin != s.head.Origin:
			err = fmt.Errorf("it shows a head of %s", head.Origin)
		}
		if err != nil {
			lacking(err)
			continue
		}
		if err := s.agrees(m.Address, files, head); err != nil {
			if errors.Is(err, errTold) {
				return err
			}
			lacking(err)
			continue
		}
		s.out.Mirrors = append(s.out.Mirrors, MirrorReport{m.Address, head.Size, head.Root})
		if head.Size > s.head.Size {
			lacking(fmt.Errorf("it holds %d leaves, of which the %d here are the beginning; a cache may hold an older "+
				"head. If it stays, ask why", head.Size, s.head.Size))
		}
	}
	return nil
}

// agrees demands that the smaller of the log's head and a mirror's is the beginning of the other.
// The tiles of the larger one show it.
func (s *step) agrees(address string, files fs.FS, head tlog.Checkpoint) error {
	larger, small, size := s.log, head, s.head.Size
	if head.Size > s.head.Size {
		larger, small, size = tlog.OpenAt(files, head.Size, head.Root), s.head, head.Size
	}
	root, err := larger.Root(small.Size)
	if err != nil || root == small.Root {
		return err
	}
	fork := &Fork{Mirror: address, Seen: string(head.Raw), Shown: string(s.head.Raw), Size: small.Size,
		Roots: [2]string{small.Root.String(), root.String()}}
	if head.Size > s.head.Size {
		fork.Roots[0], fork.Roots[1] = fork.Roots[1], fork.Roots[0]
	}
	if small.Size < size && small.Size > 0 {
		if fork.Consistency, err = larger.Consistency(small.Size, size); err != nil {
			return err
		}
	}
	s.out.Fork = fork
	return errTold
}
