// Package seal writes records: it signs rows, rounds and observations, appends them to the log and
// covers the whole with a manifest. What it writes package record reads, and whoever verifies needs
// that one alone.
package seal

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"sync"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

// ErrSealed is returned for a round whose sequence is sealed: it is never written again.
var ErrSealed = errors.New("the round is sealed")

// errNoJudge is returned by a Writer that is given what it cannot judge again: what nobody would
// accept is not written.
var errNoJudge = errors.New("the writer has nothing to judge it again by")

// Writer appends to a record on disk. Each call locks the record against other processes and
// finishes first what a crash left undone. It may be used by several goroutines at once.
type Writer struct {
	Dir    string // the record's folder, which exists
	Origin string // of the log, such as store.example/corpus
	// Identity signs rows, headers and observations; LogKey signs checkpoints. Ring holds the
	// public halves of both, and of their predecessors.
	Identity, LogKey *attest.Key
	Ring             attest.Ring
	// Judge judges the evidence of refreshes and control walks before it is kept; who brings none
	// needs none.
	Judge record.Judge
	// Random gives the salts of texts that come without one; nil is crypto/rand.
	Random io.Reader

	// Pack is the most bytes of a pack of evidence; 0 is record.MaxPack.
	Pack int
}

// Draft is a round before it is sealed.
type Draft struct {
	Sequence int64 // the one after the last sealed round
	Week     string
	TakenAt  time.Time
	Battery  string
	Roster   record.Roster  // Walked is counted by Seal
	Lot      *record.Lot    // nil where no roster was closed
	Control  record.Control // what it names is set by Seal
	Inflows  record.Inflows
	// ControlWalks yields the encoded judgements of the walks to the control door, sorted by their
	// digests; nil for none.
	ControlWalks iter.Seq2[[]byte, error]
	// Rows yields the round's rows, sorted by host bytes, each host once. Seal sets what binds a
	// row to its place: origin, sequence, week, previous leaf, kid and signature.
	Rows iter.Seq2[record.Row, error]
	// Evidence returns the encoded judgement that a row or a vantage of it names by its digest,
	// nil where there is none. It is called in the order of the rows. The row of a judgement that
	// cannot be kept is sealed without its verdict. A draft without it keeps nothing of any row.
	Evidence func(host, digest string) ([]byte, error)
}

// open locks the record and brings its log up to its files.
func (w *Writer) open(ctx context.Context) (_ *durable.Folder, _ *record.Record, err error) {
	for _, k := range []struct {
		key *attest.Key
		is  attest.Purpose
	}{{w.Identity, attest.PurposeIdentity}, {w.LogKey, attest.PurposeLog}} {
		if held, ok := w.Ring.For(k.is); !ok || k.key == nil || held.KID != k.key.KID() {
			return nil, nil, fmt.Errorf("opening record: the %s key is not the one in force", k.is)
		}
	}
	dir, err := durable.Open(w.Dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Close())
		}
	}()
	// Looked at before all else, so that a ring of before a handover is called that.
	fresh, err := w.freshRing(dir)
	if err != nil {
		return nil, nil, err
	}
	r, err := record.Open(dir.Root.FS(), w.Ring)
	if err != nil {
		return nil, nil, err
	}
	if err := keepRing(dir, fresh); err != nil {
		return nil, nil, err
	}
	return dir, r, w.catchUp(ctx, dir, r)
}

// ErrRing is returned by a Writer whose ring the record has outgrown: a key was handed over since
// it was read.
var ErrRing = errors.New("the record's keys are newer than the ring at hand: a key was handed over, so read the ring " +
	"anew and start again what is running")

// freshRing is the file form of the ring where it goes on from the one that stands in the record,
// nil where it is that one. A process that does not know of a handover would sign with a key that
// is no more in force.
func (w *Writer) freshRing(dir *durable.Folder) ([]byte, error) {
	ring, err := w.Ring.Encode()
	if err != nil {
		return nil, err
	}
	held, err := dir.Root.ReadFile(record.RingFile)
	if errors.Is(err, fs.ErrNotExist) {
		return ring, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening record: %w", err)
	}
	if string(held) == string(ring) {
		return nil, nil
	}
	old, err := attest.ParseRing(held)
	if err != nil {
		return nil, fmt.Errorf("opening record: %s: %w", record.RingFile, err)
	}
	if err := w.Ring.Continues(old); err != nil {
		if old.Continues(w.Ring) == nil {
			return nil, fmt.Errorf("opening record: %w", ErrRing)
		}
		return nil, fmt.Errorf("opening record: the ring at hand does not go on from %s: %w", record.RingFile, err)
	}
	return ring, nil
}

// keepRing puts a fresh ring into the record.
func keepRing(dir *durable.Folder, fresh []byte) error {
	if fresh == nil {
		return nil
	}
	if err := dir.Put(record.RingFile, fresh); err != nil {
		return err
	}
	return dir.SyncUp("keys")
}

// HandOver lets the key of the log be followed by another: the outgoing one, which is the Writer's,
// signs the last head that is its own. The record has the new ring when it returns; from then on a
// Writer with the old one is ErrRing.
func (w *Writer) HandOver(ctx context.Context, incoming ed25519.PublicKey, effective, reason string) (_ attest.Ring,
	err error) {
	dir, r, err := w.open(ctx)
	if err != nil {
		return attest.Ring{}, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	head := r.Log.Head()
	next, err := w.Ring.Handover(attest.Change{Purpose: attest.PurposeLog, Effective: effective, Reason: reason,
		LastHead: &attest.LogHead{Size: head.Size, Root: head.Root}}, w.LogKey, incoming)
	if err != nil {
		return attest.Ring{}, err
	}
	raw, err := next.Encode()
	if err != nil {
		return attest.Ring{}, err
	}
	return next, keepRing(dir, raw)
}

// catchUp logs what stands in the record's files and is not in its log yet: the round that a crash
// cut off, then observations.
func (w *Writer) catchUp(ctx context.Context, dir *durable.Folder, r *record.Record) error {
	size := r.Log.Head().Size
	logged := size // observations in the log
	for _, round := range r.Rounds() {
		if round.LeavesEnd() <= size {
			logged -= round.Rows + 2
			continue
		}
		if round.FirstLeaf != size {
			return fmt.Errorf("opening record: round %d begins at leaf %d, the log ends at %d", round.Sequence,
				round.FirstLeaf, size)
		}
		log, err := tlog.Append(ctx, dir, r.Log, tlog.Signer{Origin: w.Origin, Key: w.LogKey}, r.Leaves(ctx, round))
		if err != nil {
			return err
		}
		r.Log, size = log, log.Head().Size
	}
	entries, err := fs.ReadDir(dir.Root.FS(), "observations")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading observations: %w", err)
	}
	var pending []int64
	for _, e := range entries {
		var n int64
		if _, err := fmt.Sscanf(e.Name(), "%09d.json", &n); err == nil && n > logged {
			pending = append(pending, n)
		}
	}
	if len(pending) == 0 {
		return nil
	}
	r.Log, err = tlog.Append(ctx, dir, r.Log, tlog.Signer{Origin: w.Origin, Key: w.LogKey},
		func(yield func([]byte, error) bool) {
			for i, n := range pending {
				o, raw, err := record.OpenObservation(dir.Root.FS(), n, w.Ring)
				if err == nil && n != logged+int64(i)+1 {
					err = fmt.Errorf("reading observations: %d follows %d", n, logged+int64(i))
				}
				if err == nil {
					err = withdraw(dir, o)
				}
				if !yield(raw, err) || err != nil {
					return
				}
			}
		})
	return err
}

// Seal signs and writes a round and appends it to the log. The header is written last and once:
// from then on the round is sealed, and another Seal of its sequence is ErrSealed, with the round
// that stands. What a crash left before that is no part of the record and is written anew.
func (w *Writer) Seal(ctx context.Context, d Draft) (_ record.Round, err error) {
	dir, r, err := w.open(ctx)
	if err != nil {
		return record.Round{}, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if held, ok := r.Round(d.Sequence); ok {
		return held, fmt.Errorf("sealing round %d: %w", d.Sequence, ErrSealed)
	}
	if want := int64(len(r.Rounds())) + 1; d.Sequence != want {
		return record.Round{}, fmt.Errorf("sealing round %d: the next is %d", d.Sequence, want)
	}
	for _, left := range []string{record.RoundDir(d.Sequence), record.EvidenceDir(d.Sequence)} {
		if err := dir.Root.RemoveAll(left); err != nil {
			return record.Round{}, fmt.Errorf("sealing round %d: %w", d.Sequence, err)
		}
	}
	round := record.Round{
		Origin: w.Origin, Sequence: d.Sequence, Week: d.Week, TakenAt: d.TakenAt.UTC().Format(record.SecondLayout),
		Battery: d.Battery, Roster: d.Roster, Lot: d.Lot, Control: d.Control, Inflows: d.Inflows,
		FirstLeaf: r.Log.Head().Size, Parts: []record.Part{},
	}
	var previous *record.Round
	if held, ok := r.Round(d.Sequence - 1); ok {
		previous = &held
		round.PreviousDigest, round.Coverage.PreviousProbed = previous.Digest, previous.Coverage.Probed
	}
	if err := w.keepControl(dir, &round, d.ControlWalks); err != nil {
		return record.Round{}, fmt.Errorf("sealing round %d: %w", d.Sequence, err)
	}
	if err := w.writeParts(ctx, dir, r, &round, d); err != nil {
		return record.Round{}, fmt.Errorf("sealing round %d: %w", d.Sequence, err)
	}
	round.Count(previous)
	round, header, err := record.SignRound(round, w.Identity)
	if err != nil {
		return record.Round{}, err
	}
	if _, err := record.OpenRound(header, d.Sequence, w.Ring); err != nil {
		return record.Round{}, fmt.Errorf("sealing round %d: %w", d.Sequence, err)
	}
	if previous != nil {
		if err := round.Follows(*previous); err != nil {
			return record.Round{}, err
		}
	}
	if err := dir.Once(record.HeaderPath(d.Sequence), header); err != nil {
		if errors.Is(err, os.ErrExist) {
			err = errors.Join(ErrSealed, err)
		}
		return record.Round{}, fmt.Errorf("sealing round %d: %w", d.Sequence, err)
	}
	r.Add(round)
	return round, w.catchUp(ctx, dir, r)
}

// writeParts signs rows and writes them part by part, with the host index and the evidence that is
// kept, and counts them into round.
func (w *Writer) writeParts(ctx context.Context, dir *durable.Folder, r *record.Record, round *record.Round,
	d Draft) error {
	// The index before is read twice: ahead of the rows that are gathered for a part, and behind
	// those that are signed.
	ahead := record.NewHostCursor(r.HostEntries(round.Sequence - 1))
	defer ahead.Stop()
	closed, err := closing(r, d)
	if err != nil {
		return err
	}
	index := record.NewHostIndex(round.Sequence, r.HostEntries(round.Sequence-1), func(name string, data []byte) error {
		return dir.Put(record.HostsPath(round.Sequence, name), data)
	})
	defer index.Close()
	keep := newPacker(w.Pack)
	var part []record.Row
	flush := func() error {
		if len(part) == 0 {
			return nil
		}
		lost := keep.lost()
		for i := range part {
			if lost[part[i].Host] {
				part[i].NotJudged()
			}
			if part[i].Verdict != record.VerdictNotProbed {
				round.Coverage.Probed++
			}
		}
		signed, err := w.signRows(part)
		if err != nil {
			return err
		}
		var raw []byte
		for i, b := range signed {
			if _, err := index.Row(part[i].Host, round.RoundLeaf(), sha256.Sum256(b)); err != nil {
				return err
			}
			round.Rows++
			raw = append(append(raw, b...), '\n')
		}
		if err := dir.Put(record.PartPath(round.Sequence, len(round.Parts)), raw); err != nil {
			return err
		}
		if err := keep.put(dir, round.Sequence, len(round.Parts)); err != nil {
			return err
		}
		round.Parts = append(round.Parts, record.Part{Rows: int64(len(part)), SHA256: sha256.Sum256(raw)})
		part = part[:0]
		return nil
	}
	last := ""
	for row, err := range d.Rows {
		if err != nil {
			return fmt.Errorf("reading rows: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if row.Host <= last {
			return fmt.Errorf("%w: %q after %q", record.ErrOrder, row.Host, last)
		}
		last = row.Host
		row.Origin, row.Sequence, row.Week = round.Origin, round.Sequence, round.Week
		before, err := ahead.Take(row.Host, func(record.HostEntry) error { return nil })
		if err != nil {
			return err
		}
		if row.PreviousLeaf = nil; before.Rows > 0 {
			row.PreviousLeaf = &before.LastLeaf
		}
		// What a walk left in the way of the whole week costs its own verdict alone.
		if placed := row; placed.Complete(w.Identity) != nil || round.Dates(&row) != nil ||
			d.Lot != nil && !row.Late && d.Lot.Walked(closed, row.ObservedAt) != nil {
			row.NotJudged()
		}
		if d.Evidence != nil && row.EvidenceDigest != "" {
			own, err := d.Evidence(row.Host, row.EvidenceDigest)
			if err == nil && own == nil {
				row.NotJudged()
			}
			for _, digest := range row.JudgedBy() {
				raw := own
				if digest != row.EvidenceDigest && err == nil {
					raw, err = d.Evidence(row.Host, digest)
				}
				if err == nil {
					err = keep.add(row.Host, digest, raw)
				}
			}
			if err != nil {
				return err
			}
		}
		if part = append(part, row); len(part) == record.MaxPartRows {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if _, _, err := index.Finish(); err != nil {
		return err
	}
	return errors.Join(dir.SyncTree(record.RoundDir(round.Sequence)), dir.SyncTree(record.EvidenceDir(round.Sequence)))
}

// closing is when the roster of a draft with a lot was closed, on the record.
func closing(r *record.Record, d Draft) (time.Time, error) {
	if d.Lot == nil {
		return time.Time{}, nil
	}
	feed, err := r.Observations()
	if err != nil {
		return time.Time{}, err
	}
	for _, o := range feed {
		if o.Roster != nil && o.Roster.Week == d.Week {
			return time.Parse(time.RFC3339, o.At)
		}
	}
	return time.Time{}, nil // the check of the record says so
}

// signRows signs on all cores.
func (w *Writer) signRows(rows []record.Row) ([][]byte, error) {
	out := make([][]byte, len(rows))
	cores := runtime.GOMAXPROCS(0)
	faults := make([]error, cores)
	var all sync.WaitGroup
	for c := range cores {
		all.Go(func() {
			for i := c; i < len(rows) && faults[c] == nil; i += cores {
				out[i], faults[c] = record.SignRow(rows[i], w.Identity)
			}
		})
	}
	all.Wait()
	return out, cmp.Or(faults...)
}

// ErrNumber is returned for an observation whose number is not the next one.
var ErrNumber = errors.New("not the next observation")

// CatchUp logs observations that another program wrote into the record's folder, and finishes what
// a crash cut off.
func (w *Writer) CatchUp(ctx context.Context) (tlog.Checkpoint, error) {
	dir, r, err := w.open(ctx)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	return r.Log.Head(), dir.Close()
}

// Cosign keeps the cosignatures that a witness answered with for the head of the log, after
// verifying them. Lines by others than these witnesses are dropped; what is kept is never replaced,
// and a witness is kept once for each size.
func (w *Writer) Cosign(ctx context.Context, lines []byte, witnesses []tlog.Witness) (_ []tlog.Cosignature, err error) {
	dir, r, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return r.Log.Cosign(dir, lines, witnesses)
}
