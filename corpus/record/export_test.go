package record

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"agentstore/corpus/tlog"
)

// What tests from outside see of the inside.

var OfferFrom = offerFrom

// SetPack bounds the bytes of a pack of evidence.
func (w *Writer) SetPack(n int) { w.pack = n }

// Remembers reports whether a part was checked before.
func (r *Record) Remembers(sequence int64, part int) bool {
	return r.reread.of(sequence, part).Load() != 0
}

// SealLies seals a round of two ready rows that is signed, chained and logged as it should be, but says what lie makes it
// say.
func (w *Writer) SealLies(ctx context.Context, d Draft, rows []Row, lie func(rows []Row, r *Round)) (err error) {
	dir, r, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	round := Round{Origin: w.Origin, Sequence: 2, Week: d.Week, TakenAt: d.TakenAt.Format(time.RFC3339), Battery: "v2", Roster: d.Roster, Inflows: d.Inflows,
		FirstLeaf: r.Log.Head().Size, PreviousDigest: r.rounds[0].Digest, Coverage: Coverage{Probed: 2, PreviousProbed: 2}, Rows: 2}
	round.Count(nil)
	for i := range rows {
		rows[i].Origin, rows[i].Sequence, rows[i].Week = round.Origin, 2, round.Week
	}
	lie(rows, &round)
	signed, err := w.signRows(rows)
	if err != nil {
		return err
	}
	// EncodePart would refuse what is out of order.
	raw := append(bytes.Join(signed, []byte{'\n'}), '\n')
	round.Parts = []Part{{Rows: 2, SHA256: sha256.Sum256(raw)}}
	round, header, err := SignRound(round, w.Identity)
	if err != nil {
		return err
	}
	index := &tlog.Tower{Write: func(name string, data []byte) error { return dir.Put(HostsPath(2, name), data) }}
	for i, b := range signed {
		h, err := round.HostEntry(int64(i), rows[i].Host, b).Hash()
		if err := errors.Join(err, index.Add(nil, h)); err != nil {
			return err
		}
	}
	if err := errors.Join(index.Flush(), dir.Once(PartPath(2, 0), raw), dir.Once(HeaderPath(2), header)); err != nil {
		return err
	}
	r.rounds = append(r.rounds, round)
	return w.catchUp(ctx, dir, r)
}
