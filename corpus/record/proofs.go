package record

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/ots"
)

// ProofDir is where a record keeps the proofs of a round.
func ProofDir(sequence int64) string { return "proofs/" + strconv.FormatInt(sequence, 10) }

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
