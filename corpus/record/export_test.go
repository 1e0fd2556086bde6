package record

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/tlog"
)

// What tests from outside see of the inside.

// Liar writes what nobody would sign.
type Liar struct {
	Dir, Origin      string
	Identity, LogKey *attest.Key
	Ring             attest.Ring
}

// Seal seals a second round of two ready rows that is signed, chained and logged as it should be,
// but says what lie makes it say; and index, if there is one, what the host index says in the log,
// and in its files where they are told apart by inFiles. Of the round its week, time, roster and
// inflows are given.
func (l Liar) Seal(ctx context.Context, round Round, rows []Row, lie func(rows []Row, r *Round),
	index func([]HostEntry) []HostEntry, inFiles bool) (err error) {
	dir, err := durable.Open(l.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	r, err := Open(dir.Root.FS(), l.Ring)
	if err != nil {
		return err
	}
	round.Origin, round.Sequence, round.Battery, round.Rows = l.Origin, 2, "v2", 2
	round.FirstLeaf, round.PreviousDigest = r.Log.Head().Size, r.rounds[0].Digest
	round.Coverage = Coverage{Probed: 2, PreviousProbed: r.rounds[0].Coverage.Probed}
	round.Count(nil)
	for i := range rows {
		rows[i].Origin, rows[i].Sequence, rows[i].Week = round.Origin, 2, round.Week
	}
	lie(rows, &round)
	signed := make([][]byte, len(rows))
	for i, row := range rows {
		if signed[i], err = SignRow(row, l.Identity); err != nil {
			return err
		}
	}
	raw := append(bytes.Join(signed, []byte{'\n'}), '\n')
	round.Parts = []Part{{Rows: 2, SHA256: sha256.Sum256(raw)}}
	round, header, err := SignRound(round, l.Identity)
	if err != nil {
		return err
	}
	var entries []HostEntry
	for e, err := range r.HostEntries(1) {
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	for i, b := range signed {
		at, _ := slices.BinarySearchFunc(entries, rows[i].Host,
			func(e HostEntry, host string) int { return strings.Compare(e.Host, host) })
		if at == len(entries) || entries[at].Host != rows[i].Host {
			entries = slices.Insert(entries, at, HostEntry{})
		}
		entries[at] = entries[at].Next(rows[i].Host, 2, round.FirstLeaf+int64(i), sha256.Sum256(b))
	}
	logged := entries
	if index != nil {
		logged = index(slices.Clone(entries))
	}
	if inFiles {
		entries = logged
	}
	if _, _, err := writeIndex(dir, entries); err != nil {
		return err
	}
	size, root, err := writeIndex(nil, logged)
	if err != nil {
		return err
	}
	first, err := EncodeRoundLeaf(round, header)
	if err != nil {
		return err
	}
	second, err := EncodeHostsLeaf(2, size, root)
	if err := errors.Join(err, dir.Once(PartPath(2, 0), raw), dir.Once(HeaderPath(2), header)); err != nil {
		return err
	}
	_, err = tlog.Append(ctx, dir, r.Log, tlog.Signer{Origin: l.Origin, Key: l.LogKey},
		func(yield func([]byte, error) bool) {
			for _, leaf := range append(signed, first, second) {
				if !yield(leaf, nil) {
					return
				}
			}
		})
	return err
}

// writeIndex writes a host index of the second round with entries that need not follow from
// anything.
func writeIndex(dir *durable.Folder, entries []HostEntry) (size int64, root attest.Digest, err error) {
	var write func(name string, data []byte) error
	if dir != nil {
		write = func(name string, data []byte) error { return dir.Put(HostsPath(2, name), data) }
	}
	x := NewHostIndex(2, func(func(HostEntry, error) bool) {}, write)
	defer x.Close()
	for _, e := range entries {
		if err := x.add(e); err != nil {
			return 0, root, err
		}
	}
	return x.Finish()
}

// HostIndexAt reads the host index of a round as if its leaf stood so many leaves behind its place.
func (r *Record) HostIndexAt(sequence, behind int64) error {
	moved := &Record{Log: r.Log, rounds: slices.Clone(r.rounds)}
	moved.rounds[sequence-1].FirstLeaf += behind
	_, err := moved.hostIndex(sequence)
	return err
}
