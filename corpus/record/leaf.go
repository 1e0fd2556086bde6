package record

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"

	"store.example/agentstore/corpus/attest"
)

// roundLeaf is the leaf that commits to a round, in the form of RFC 8785.
type roundLeaf struct {
	Digest     attest.Digest `json:"digest"`
	FileSHA256 attest.Digest `json:"file_sha256"` // of header.json
	Sequence   int64         `json:"sequence"`
	Type       string        `json:"type"` // round
}

// hostsLeaf is the leaf that commits to a round's host index, in the form of RFC 8785.
type hostsLeaf struct {
	Root     attest.Digest `json:"root"`
	Sequence int64         `json:"sequence"`
	Size     int64         `json:"size"` // its entries
	Type     string        `json:"type"` // hosts
}

// EncodeRoundLeaf returns the leaf that commits to a round whose header has these exact bytes.
func EncodeRoundLeaf(r Round, header []byte) ([]byte, error) {
	return attest.JCS(roundLeaf{Digest: r.Digest, FileSHA256: sha256.Sum256(header), Sequence: r.Sequence,
		Type: "round"})
}

// EncodeHostsLeaf returns the leaf that commits to a round's host index.
func EncodeHostsLeaf(sequence, size int64, root attest.Digest) ([]byte, error) {
	return attest.JCS(hostsLeaf{Root: root, Sequence: sequence, Size: size, Type: "hosts"})
}

// ParseHostsLeaf reads what EncodeHostsLeaf returned for a round: how many hosts its index has, and
// its root.
func ParseHostsLeaf(raw []byte, sequence int64) (size int64, root attest.Digest, err error) {
	leaf, err := parseHostsLeaf(raw, sequence)
	return leaf.Size, leaf.Root, err
}

func parseHostsLeaf(raw []byte, sequence int64) (leaf hostsLeaf, err error) {
	if err := attest.ParseCanonical(raw, &leaf); err != nil {
		return hostsLeaf{}, fmt.Errorf("it is not of a host index: %w", err)
	}
	if leaf.Type != "hosts" || leaf.Sequence != sequence || leaf.Size < 0 {
		return hostsLeaf{}, fmt.Errorf("it is not that of the host index of round %d", sequence)
	}
	return leaf, nil
}

// RoundLeaf is the log index of the leaf that commits to the round, behind its rows.
func (r Round) RoundLeaf() int64 { return r.FirstLeaf + r.Rows }

// HostsLeaf is the log index of the leaf that commits to the round's host index.
func (r Round) HostsLeaf() int64 { return r.FirstLeaf + r.Rows + 1 }

// LeavesEnd is the log index behind the round's last leaf: the size of the checkpoint that was
// signed when the round was sealed, to which proofs of its rows are pinned.
func (r Round) LeavesEnd() int64 { return r.FirstLeaf + r.Rows + 2 }

// Leaves yields what a round adds to the log, which ends with the rounds before: its rows, its
// record and its host index.
func (r *Record) Leaves(ctx context.Context, round Round) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		index := NewHostIndex(round.Sequence, r.HostEntries(round.Sequence-1), nil)
		defer index.Close()
		place := round.FirstLeaf
		for raw, err := range r.RawRows(round.Sequence) {
			if err == nil {
				err = ctx.Err()
			}
			var host []byte
			if err == nil {
				host, err = hostOf(raw)
			}
			if err == nil {
				_, err = index.Row(string(host), place, sha256.Sum256(raw))
			}
			if !yield(raw, err) || err != nil {
				return
			}
			place++
		}
		header, err := r.Header(round.Sequence)
		var leaf []byte
		if err == nil {
			leaf, err = EncodeRoundLeaf(round, header)
		}
		if !yield(leaf, err) || err != nil {
			return
		}
		size, root, err := index.Finish()
		if err == nil {
			leaf, err = EncodeHostsLeaf(round.Sequence, size, root)
		}
		yield(leaf, err)
	}
}

// ObservationLeaf is the log index of an observation: those that the log holds stand in their order
// wherever no round does. It is false for one that is not in the log yet.
func (r *Record) ObservationLeaf(number int64) (int64, bool) {
	at := number - 1
	for _, round := range r.rounds {
		if at < round.FirstLeaf {
			break
		}
		at += round.LeavesEnd() - round.FirstLeaf
	}
	return at, number >= 1 && at < r.Log.Head().Size
}
