package record

import (
	"crypto/ed25519"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strconv"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tlog"
)

// The record's tree:
//
//	rounds/3/header.json            the signed header of round 3, its exact bytes
//	rounds/3/part-0001.jsonl        up to 4,096 rows, each its exact bytes and a newline
//	rounds/3/hosts/…                every host ever seen: tiles, entries and a table, see HostEntry
//	evidence/000000003/000001.…     what rows were judged by, see EvidenceIndex
//	observations/000000017.json     what was born between rounds
//	words/<sha256>.json             what strangers wrote, by its salted digest: the one thing that may be withdrawn (Said)
//	proofs/3/<calendar>-<n>.ots     proofs of time of the round's digest, and <height>.header beside
//	log/checkpoint, log/tile/…      the log in the form of C2SP tlog-tiles
//	log/checkpoints/<size>          every checkpoint that was ever signed
//	log/cosignatures/<size>         what third parties signed under it
//	keys/ring.json                  the public keys, with retired ones and handovers
//
// Everything is written once, but for log/checkpoint, the cosignatures, the ring, and the tiles and
// bundles that are not full, which give way to fuller ones.

// RingFile is where a record keeps its public keys.
const RingFile = "keys/ring.json"

// RoundDir is the folder of a round.
func RoundDir(sequence int64) string { return roundPath(sequence, "") }

func roundPath(sequence int64, name string) string {
	return path.Join("rounds", strconv.FormatInt(sequence, 10), name)
}

// HeaderPath names the header of a round.
func HeaderPath(sequence int64) string { return roundPath(sequence, "header.json") }

// HostsPath names a file of a round's host index.
func HostsPath(sequence int64, name string) string { return roundPath(sequence, "hosts/"+name) }

// PartPath names the i-th part, counted from 0.
func PartPath(sequence int64, i int) string {
	return roundPath(sequence, fmt.Sprintf("part-%04d.jsonl", i+1))
}

// ErrNewer is what is in error with a format or a battery that this release does not know. It reads
// behind "hint: ".
var ErrNewer = errors.New("of a newer one, use a newer release")

// Record is the signed record, opened read-only. It may be used by several goroutines at once.
type Record struct {
	Log    *tlog.Log
	fsys   fs.FS
	ring   attest.Ring
	rounds []Round
}

// Open opens a record: it verifies every header, the chain and the log's last checkpoint. Rows are
// checked when they are read. ring holds the keys to trust.
func Open(fsys fs.FS, ring attest.Ring) (*Record, error) {
	r := &Record{fsys: fsys, ring: ring}
	for n := int64(1); ; n++ {
		raw, err := fs.ReadFile(fsys, HeaderPath(n))
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := fs.Stat(fsys, HeaderPath(n+1)); err == nil {
				return nil, fmt.Errorf("%s is missing, and round %d is there", HeaderPath(n), n+1)
			}
			break // a round without its header was not sealed
		}
		if err != nil {
			return nil, fmt.Errorf("opening record: %w", err)
		}
		round, err := OpenRound(raw, n, ring)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", HeaderPath(n), err)
		}
		if n > 1 {
			if err := round.Follows(r.rounds[n-2]); err != nil {
				return nil, fmt.Errorf("%s: %w", HeaderPath(n), err)
			}
		}
		r.rounds = append(r.rounds, round)
	}
	var err error
	if r.Log, err = tlog.Open(fsys, ring); err != nil {
		err = fmt.Errorf("%s: %w", tlog.Path("checkpoint"), err)
	}
	return r, err
}

// OpenRound verifies the header of round n with an identity key of the ring, which was in force
// then.
func OpenRound(raw []byte, n int64, ring attest.Ring) (Round, error) {
	round, err := ParseRound(raw)
	if err != nil {
		return Round{}, err
	}
	by, ok := ring.ByKID(round.KID)
	if !ok || by.Purpose != attest.PurposeIdentity {
		return Round{}, rule.RoundKey.Errorf("verifying round %d: %w: %s", round.Sequence, attest.ErrUnknownKey,
			round.KID)
	}
	if err := round.dated(); err != nil {
		return Round{}, err
	}
	if err := by.InForce(round.TakenAt); err != nil {
		return Round{}, rule.RoundKey.Errorf("verifying round %d: %w", round.Sequence, err)
	}
	if round, err = VerifyRound(raw, ed25519.PublicKey(by.Public)); err != nil {
		return Round{}, err
	}
	if round.Sequence != n {
		return Round{}, rule.RoundSequence.Errorf("verifying round %d: it stands in the place of round %d",
			round.Sequence, n)
	}
	return round, nil
}

// Add has a record that was opened know of a round that was sealed since.
func (r *Record) Add(round Round) { r.rounds = append(r.rounds, round) }

// Rounds returns the headers of all rounds, oldest first.
func (r *Record) Rounds() []Round { return append([]Round(nil), r.rounds...) }

// Round returns the header of one round.
func (r *Record) Round(sequence int64) (Round, bool) {
	if sequence < 1 || sequence > int64(len(r.rounds)) {
		return Round{}, false
	}
	return r.rounds[sequence-1], true
}

// Header returns the exact bytes of a round's header.
func (r *Record) Header(sequence int64) ([]byte, error) {
	return fs.ReadFile(r.fsys, HeaderPath(sequence))
}

// Ring returns the keys the record was opened with.
func (r *Record) Ring() attest.Ring { return r.ring }

// Observations reads and verifies the feed, with what is public of its texts.
func (r *Record) Observations() ([]Observation, error) {
	return ReadObservations(r.fsys, r.ring)
}

// Part returns the exact bytes of the rows of a round's i-th part, counted from 0, checked against
// the header. They share one buffer.
func (r *Record) Part(sequence int64, i int) ([][]byte, error) {
	round, ok := r.Round(sequence)
	if !ok || i < 0 || i >= len(round.Parts) {
		return nil, fmt.Errorf("reading part %d of round %d: there is none", i+1, sequence)
	}
	raw, err := fs.ReadFile(r.fsys, PartPath(sequence, i))
	if err != nil {
		return nil, fmt.Errorf("reading part: %w", err)
	}
	rows, err := SplitPart(raw, round.Parts[i])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", PartPath(sequence, i), err)
	}
	return rows, nil
}

// StoredRow is a row with its exact bytes and its place in the log.
type StoredRow struct {
	Row
	Raw  []byte
	Leaf int64
	// Corrected is the erratum that Row follows in place of Raw, nil for none (see Errata).
	Corrected *Correction
}

// RawRows yields the exact bytes of a round's rows, sorted by host, one part in memory at a time.
func (r *Record) RawRows(sequence int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		round, ok := r.Round(sequence)
		if !ok {
			yield(nil, fmt.Errorf("reading rows: no round %d", sequence))
			return
		}
		for i := range round.Parts {
			rows, err := r.Part(sequence, i)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, raw := range rows {
				if !yield(raw, nil) {
					return
				}
			}
		}
	}
}

// Rows yields the rows of a round, sorted by host, one part in memory at a time. What is yielded is
// what the header commits to, which was signed and sealed in its own form: the rows' signatures and
// spelling are for package verify.
func (r *Record) Rows(sequence int64) iter.Seq2[StoredRow, error] {
	return func(yield func(StoredRow, error) bool) {
		round, _ := r.Round(sequence)
		leaf := round.FirstLeaf
		for raw, err := range r.RawRows(sequence) {
			var row StoredRow
			if err == nil {
				row, err = round.parseRow(raw, leaf)
			}
			if !yield(row, err) || err != nil {
				return
			}
			leaf++
		}
	}
}

// parseRow reads a row that the header commits to.
func (r *Round) parseRow(raw []byte, leaf int64) (StoredRow, error) {
	row := StoredRow{Raw: raw, Leaf: leaf}
	err := json.Unmarshal(raw, &row.Row, json.RejectUnknownMembers(true))
	if err == nil {
		err = r.Belongs(&row.Row)
	}
	if err != nil {
		return row, fmt.Errorf("%s: %w", PartPath(r.Sequence, int((leaf-r.FirstLeaf)/MaxPartRows)), err)
	}
	return row, nil
}
