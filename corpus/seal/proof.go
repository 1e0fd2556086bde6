package seal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
)

// calendarName is how a calendar stands in the name of a proof's file: mostly the host of its
// address.
var calendarName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,80}$`)

// AddProof appends what a calendar proved of a round's digest: a file of its own, numbered behind
// those of the same calendar, which are never edited. headers are the blocks it rests on, by
// height; one that is there already must be the same. A proof that says nothing new is not kept a
// second time. It returns the file's path, "" for none.
func (w *Writer) AddProof(ctx context.Context, sequence int64, calendar string, p ots.Proof,
	headers map[int64]ots.Header) (string, error) {
	about := func(r *record.Record) (attest.Digest, error) {
		round, ok := r.Round(sequence)
		if !ok {
			return attest.Digest{}, errors.New("there is no such round")
		}
		return round.Digest, nil
	}
	return w.addProof(ctx, record.ProofDir(sequence), calendarProof{calendar, p, headers}, about)
}

// AddAnchorProof is AddProof for the digest of an anchor.
func (w *Writer) AddAnchorProof(ctx context.Context, sequence int64, calendar string, p ots.Proof,
	headers map[int64]ots.Header) (string, error) {
	about := func(r *record.Record) (attest.Digest, error) {
		chain, err := r.Anchors()
		if err == nil && (sequence < 1 || sequence > int64(len(chain))) {
			err = errors.New("there is no such anchor")
		}
		if err != nil {
			return attest.Digest{}, err
		}
		return chain[sequence-1].Digest()
	}
	return w.addProof(ctx, record.AnchorProofDir(sequence), calendarProof{calendar, p, headers}, about)
}

// calendarProof is what a calendar proved, and the blocks that it rests on, by height.
type calendarProof struct {
	calendar string
	proof    ots.Proof
	headers  map[int64]ots.Header
}

// addProof appends a proof of what about says to a directory.
func (w *Writer) addProof(ctx context.Context, to string, by calendarProof,
	about func(*record.Record) (attest.Digest, error)) (_ string, err error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("adding to %s a proof by %s: %w", to, by.calendar, err)
	}
	if !calendarName.MatchString(by.calendar) {
		return fail(errors.New("not the name of a calendar"))
	}
	dir, r, err := w.open(ctx)
	if err != nil {
		return fail(err)
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	digest, err := about(r)
	if err != nil {
		return fail(err)
	}
	if digest != by.proof.Digest {
		return fail(errors.New("it is about another digest"))
	}
	raw := by.proof.Encode()
	if _, err := ots.Parse(raw); err != nil {
		return fail(err)
	}
	for _, c := range by.proof.Claims() {
		if h, given := by.headers[c.Height]; given && c.Kind == ots.Bitcoin {
			if err := h.Commits(c.Message); err != nil {
				return fail(err)
			}
			if err := dir.Keep(path.Join(to, fmt.Sprintf("%d.header", c.Height)), h.File()); err != nil {
				return fail(err)
			}
		}
	}
	for n := 1; ; n++ {
		name := path.Join(to, fmt.Sprintf("%s-%d.ots", by.calendar, n))
		held, err := dir.Root.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return name, dir.Once(name, raw)
		case err != nil:
			return fail(err)
		case string(held) == string(raw):
			return "", nil
		}
	}
}
