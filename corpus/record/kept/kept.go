// Package kept reads what a record was judged by, all of it and in its order: the judgements of a
// round's walks and those behind observations, as far as they are kept.
//
//	r := &kept.Reader{FS: fsys, Record: rec}
//	for j, err := range r.Round(12) {
//		raw, err := r.Open(j)
package kept

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"store.example/agentstore/corpus/record"
)

// Judgement is what something was judged by, a judgement or an opt-out.
type Judgement struct {
	record.EvidenceEntry        // its digest, and where its gzip member is in the pack
	Pack                 string // path of the pack
	Signed               string // path of what names the digest under a signature: a part, a header or an observation
}

// Reader reads what is kept beside a record that was opened of FS. One goroutine may use it.
type Reader struct {
	FS     fs.FS
	Record *record.Record

	unpack record.Unpacker
}

// Round yields what a round's walks were judged by: part by part in the order of the packs, then
// the walks to the control door. It reads the indexes alone, one at a time.
func (r *Reader) Round(sequence int64) iter.Seq2[Judgement, error] {
	return func(yield func(Judgement, error) bool) {
		round, ok := r.Record.Round(sequence)
		if !ok {
			yield(Judgement{}, fmt.Errorf("reading evidence: no round %d", sequence))
			return
		}
		for i := range len(round.Parts) + 1 {
			at, signed := record.ControlIndexPath(sequence), record.HeaderPath(sequence)
			if i < len(round.Parts) {
				at, signed = record.EvidenceIndexPath(sequence, i), record.PartPath(sequence, i)
			}
			index, err := r.index(at)
			if err != nil {
				yield(Judgement{}, err)
				return
			}
			for _, e := range index.Entries {
				if !yield(Judgement{EvidenceEntry: e, Pack: record.PackOf(at), Signed: signed}, nil) {
					return
				}
			}
		}
	}
}

// index reads an index, the zero EvidenceIndex for one that is not there.
func (r *Reader) index(name string) (record.EvidenceIndex, error) {
	raw, err := fs.ReadFile(r.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		return record.EvidenceIndex{}, nil
	}
	if err != nil {
		return record.EvidenceIndex{}, fmt.Errorf("reading evidence index: %w", err)
	}
	index, err := record.ParseEvidenceIndex(raw)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return index, err
}

// Observation returns what an observation was judged by. It is false where there is nothing, or
// nothing is kept.
func (r *Reader) Observation(o record.Observation) (Judgement, bool, error) {
	digest := o.JudgedBy()
	if digest == "" {
		return Judgement{}, false, nil
	}
	j := Judgement{Host: o.Subject(), SHA256: digest,
		Pack: record.ObservedEvidence(digest), Signed: "observations/" + o.File()}
	info, err := fs.Stat(r.FS, j.Pack)
	if errors.Is(err, fs.ErrNotExist) {
		return Judgement{}, false, nil
	}
	if err != nil {
		return Judgement{}, false, fmt.Errorf("reading evidence of observation %d: %w", o.Number, err)
	}
	if j.Bytes = info.Size(); j.Bytes > record.MaxPack {
		return Judgement{}, false, fmt.Errorf("%s: %d bytes", j.Pack, j.Bytes)
	}
	return j, true, nil
}

// Open returns the bytes that are kept, whose digest is the judgement's.
func (r *Reader) Open(j Judgement) ([]byte, error) {
	member, err := record.ReadRange(r.FS, j.Pack, j.Offset, j.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading evidence: %w", err)
	}
	raw, err := r.unpack.Open(member, j.EvidenceEntry)
	if err != nil {
		return nil, fmt.Errorf("%s: of %.80q: %w", j.Pack, j.Host, err)
	}
	return raw, nil
}
