package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
)

// calendarName is how a calendar stands in the name of a proof's file: mostly the host of its
// address.
var calendarName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,80}$`)

// ProofDir is where a record keeps the proofs of a round.
func ProofDir(sequence int64) string { return "proofs/" + strconv.FormatInt(sequence, 10) }

// AddProof appends what a calendar proved of a round's digest: a file of its own, numbered behind
// those of the same calendar, which are never edited. headers are the blocks it rests on, by
// height; one that is there already must be the same. A proof that says nothing new is not kept a
// second time. It returns the file's path, "" for none.
func (w *Writer) AddProof(ctx context.Context, sequence int64, calendar string, p ots.Proof,
	headers map[int64]ots.Header) (string, error) {
	return w.addProof(ctx, ProofDir(sequence), calendar, p, headers, func(r *Record) (attest.Digest, error) {
		round, ok := r.Round(sequence)
		if !ok {
			return attest.Digest{}, errors.New("there is no such round")
		}
		return round.Digest, nil
	})
}

// AddAnchorProof is AddProof for the digest of an anchor.
func (w *Writer) AddAnchorProof(ctx context.Context, sequence int64, calendar string, p ots.Proof,
	headers map[int64]ots.Header) (string, error) {
	return w.addProof(ctx, AnchorProofDir(sequence), calendar, p, headers, func(r *Record) (attest.Digest, error) {
		chain, err := r.Anchors()
		if err == nil && (sequence < 1 || sequence > int64(len(chain))) {
			err = errors.New("there is no such anchor")
		}
		if err != nil {
			return attest.Digest{}, err
		}
		return chain[sequence-1].Digest()
	})
}

// addProof appends a proof of what about says to a directory.
func (w *Writer) addProof(ctx context.Context, to, calendar string, p ots.Proof, headers map[int64]ots.Header,
	about func(*Record) (attest.Digest, error)) (_ string, err error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("adding to %s a proof by %s: %w", to, calendar, err)
	}
	if !calendarName.MatchString(calendar) {
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
	if digest != p.Digest {
		return fail(errors.New("it is about another digest"))
	}
	raw := p.Encode()
	if _, err := ots.Parse(raw); err != nil {
		return fail(err)
	}
	for _, c := range p.Claims() {
		if h, given := headers[c.Height]; given && c.Kind == ots.Bitcoin {
			if err := h.Commits(c.Message); err != nil {
				return fail(err)
			}
			if err := dir.Keep(path.Join(to, fmt.Sprintf("%d.header", c.Height)), h.File()); err != nil {
				return fail(err)
			}
		}
	}
	for n := 1; ; n++ {
		name := path.Join(to, fmt.Sprintf("%s-%d.ots", calendar, n))
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

// RoundProof is all that is known of when a round existed.
type RoundProof struct {
	Merged ots.Proof  // what is served as the round's proof
	Status ots.Status // of the merged proof
	Files  []string   // paths of its parts, sorted
	// Headers are the blocks at hand, by height.
	Headers map[int64]ots.Header
}

// Proof merges the proofs of a round; ok is false while there are none. least is as in
// ots.Header.Work.
func (r *Record) Proof(sequence int64, least float64) (out RoundProof, ok bool, err error) {
	return r.merged(ProofDir(sequence), least)
}

func (r *Record) merged(dir string, least float64) (out RoundProof, ok bool, err error) {
	entries, err := fs.ReadDir(r.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, false, nil
	}
	if err != nil {
		return out, false, fmt.Errorf("reading proofs: %w", err)
	}
	headers := make(map[int64]ots.Header)
	var parts []ots.Proof
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		height, isHeader := strings.CutSuffix(e.Name(), ".header")
		if !isHeader && path.Ext(name) != ".ots" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		raw, err := fs.ReadFile(r.fsys, name)
		if err != nil {
			return out, false, fmt.Errorf("reading proofs: %w", err)
		}
		if isHeader {
			n, err := strconv.ParseInt(height, 10, 64)
			if err == nil {
				headers[n], err = ots.ParseHeader(raw)
			}
			if err != nil {
				return out, false, fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		p, err := ots.Parse(raw)
		if err != nil {
			return out, false, fmt.Errorf("%s: %w", name, err)
		}
		parts, out.Files = append(parts, p), append(out.Files, name)
	}
	if len(parts) == 0 {
		return out, false, nil
	}
	slices.Sort(out.Files)
	if out.Merged, err = ots.Merge(parts...); err != nil {
		return out, false, err
	}
	out.Status, out.Headers = out.Merged.Check(headers, least), headers
	return out, true, nil
}
