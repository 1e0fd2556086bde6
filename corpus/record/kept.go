package record

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
)

// Kept is what something was judged by, a judgement or an opt-out, as a record keeps it.
type Kept struct {
	EvidenceEntry        // its digest, and where its gzip member is in the pack
	Pack          string // path of the pack
	Signed        string // path of what names the digest under a signature: a part, a header or an observation
}

// Kept yields what a round's walks were judged by, as far as it is kept: part by part in the order
// of the packs, then the walks to the control door. It reads the indexes alone, one at a time.
func (r *Record) Kept(sequence int64) iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		round, ok := r.Round(sequence)
		if !ok {
			yield(Kept{}, fmt.Errorf("reading evidence: no round %d", sequence))
			return
		}
		for i := range len(round.Parts) + 1 {
			at, signed := ControlIndexPath(sequence), HeaderPath(sequence)
			if i < len(round.Parts) {
				at, signed = EvidenceIndexPath(sequence, i), PartPath(sequence, i)
			}
			index, err := r.evidenceIndex(at)
			if err != nil {
				yield(Kept{}, err)
				return
			}
			for _, e := range index.Entries {
				if !yield(Kept{EvidenceEntry: e, Pack: PackOf(at), Signed: signed}, nil) {
					return
				}
			}
		}
	}
}

// evidenceIndex reads an index, the zero EvidenceIndex for one that is not there.
func (r *Record) evidenceIndex(name string) (EvidenceIndex, error) {
	raw, err := fs.ReadFile(r.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return EvidenceIndex{}, nil
	}
	if err != nil {
		return EvidenceIndex{}, fmt.Errorf("reading evidence index: %w", err)
	}
	index, err := ParseEvidenceIndex(raw)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return index, err
}

// KeptOf returns what an observation was judged by. It is false where there is nothing, or nothing
// is kept.
func (r *Record) KeptOf(o Observation) (Kept, bool, error) {
	digest := o.JudgedBy()
	if digest == "" {
		return Kept{}, false, nil
	}
	k := Kept{EvidenceEntry: EvidenceEntry{Host: o.Subject(), SHA256: digest}, Pack: ObservedEvidence(digest),
		Signed: "observations/" + o.File()}
	info, err := fs.Stat(r.fsys, k.Pack)
	if errors.Is(err, fs.ErrNotExist) {
		return Kept{}, false, nil
	}
	if err != nil {
		return Kept{}, false, fmt.Errorf("reading evidence of observation %d: %w", o.Number, err)
	}
	if k.Bytes = info.Size(); k.Bytes > MaxPack {
		return Kept{}, false, fmt.Errorf("%s: %d bytes", k.Pack, k.Bytes)
	}
	return k, true, nil
}

// Open returns the bytes that are kept, whose digest is k's.
func (r *Record) Open(k Kept, u *Unpacker) ([]byte, error) {
	member, err := readRange(r.fsys, k.Pack, k.Offset, k.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading evidence: %w", err)
	}
	raw, err := u.Open(member, k.EvidenceEntry)
	if err != nil {
		return nil, fmt.Errorf("%s: of %.80q: %w", k.Pack, k.Host, err)
	}
	return raw, nil
}
