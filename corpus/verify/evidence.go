package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// ProblemMisjudged is the kind of problem of a row that says something else than what it was judged
// by gives.
const ProblemMisjudged = "misjudged"

// Rejudged counts the rows of a record by what became of their verdicts.
type Rejudged struct {
	Again     int64 `json:"judged_again"` // what they were judged by is kept, and gives the same row
	Unjudged  int64 `json:"kept"`         // it is kept and was not judged again: there was no record.Judge
	NotKept   int64 `json:"not_kept"`     // it is not in this record
	Withdrawn int64 `json:"withdrawn"`    // an observation withdrew it and says why
	Without   int64 `json:"not_probed"`   // there was nothing to judge
}

func (r *Rejudged) add(o Rejudged) {
	r.Again, r.Unjudged, r.NotKept = r.Again+o.Again, r.Unjudged+o.Unjudged, r.NotKept+o.NotKept
	r.Withdrawn, r.Without = r.Withdrawn+o.Withdrawn, r.Without+o.Without
}

// evidenceCheck walks a pack beside the rows of its part.
type evidenceCheck struct {
	part, pack, at string // paths: of the rows, of the pack, of its index
	files          []string
	entries        []record.EvidenceEntry // those that no row was met for yet
	raw            []byte                 // of the pack; nil where there is none
	judge          record.Judge           // nil: not judged again
	withdrawn      map[string]int64       // digests, with the observations that withdrew them
	unpack         record.Unpacker
	out            Rejudged
	problem        *Problem
}

func (e *evidenceCheck) fail(broken rule.Rule, path, kind, format string, args ...any) {
	if e.problem == nil {
		e.problem = &Problem{Path: path, Kind: kind, Detail: fmt.Sprintf(format, args...), Rule: broken}
	}
}

// openEvidence reads the pack that goes with a part, if there is one.
func openEvidence(fsys fs.FS, sequence int64, i int, judge record.Judge, withdrawn map[string]int64) *evidenceCheck {
	e := &evidenceCheck{part: record.PartPath(sequence, i), pack: record.EvidencePack(sequence, i),
		at: record.EvidenceIndexPath(sequence, i), judge: judge, withdrawn: withdrawn}
	e.open(fsys)
	return e
}

// open reads the pack and its index, of which neither may be there alone.
func (e *evidenceCheck) open(fsys fs.FS) {
	read := func(name string) ([]byte, bool) {
		raw, err := fs.ReadFile(fsys, name)
		if err == nil {
			e.files = append(e.files, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			broken, kind, detail := problemOfReading(err)
			e.fail(broken, name, kind, "%s", detail)
		}
		return raw, err == nil
	}
	index, there := read(e.at)
	var packed bool
	e.raw, packed = read(e.pack)
	switch {
	case e.problem != nil || !there && !packed:
	case !there:
		e.fail(rule.EvidencePair, e.at, attest.ProblemMissing, "its pack is there")
	case !packed:
		e.fail(rule.EvidencePair, e.pack, attest.ProblemMissing, "its index is there")
	default:
		x, err := record.ParseEvidenceIndex(index)
		if err != nil {
			e.fail(rule.EvidenceIndex, e.at, attest.ProblemChanged, "%v", err)
			break
		}
		last := x.Entries[len(x.Entries)-1]
		if size := last.Offset + last.Bytes; size != int64(len(e.raw)) {
			e.fail(rule.EvidenceIndex, e.pack, attest.ProblemChanged, "%d bytes, where its index tells of %d",
				len(e.raw), size)
			break
		}
		e.entries = x.Entries
	}
}

// row meets the next row of the part.
func (e *evidenceCheck) row(row record.Row, raw []byte) {
	if row.EvidenceDigest == "" {
		e.out.Without++
		return
	}
	all := row.JudgedBy()
	for _, digest := range all {
		before := e.out
		if e.judgement(row, raw, digest, all); digest != row.EvidenceDigest {
			e.out = before // rows are counted
		}
	}
}

// judgement meets what a row or a vantage of it was judged by, one of all.
func (e *evidenceCheck) judgement(row record.Row, raw []byte, digest string, all []string) {
	if e.problem != nil {
		return
	}
	if len(e.entries) > 0 && e.entries[0].Host < row.Host {
		e.end()
		return
	}
	by, gone := e.withdrawn[digest]
	switch kept := len(e.entries) > 0 && e.entries[0].Host == row.Host &&
		(e.entries[0].SHA256 <= digest || !slices.Contains(all, e.entries[0].SHA256)); {
	case kept && gone:
		e.fail(rule.EvidenceWithdrawn, e.pack, attest.ProblemAdded,
			"observation %d withdrew what it holds of %s", by, row.Host)
		return
	case kept:
	case gone:
		e.out.Withdrawn++
		return
	case e.raw != nil:
		e.fail(rule.EvidenceMissing, e.at, attest.ProblemMissing,
			"its pack does not hold what %s was judged by, and no observation withdrew that", row.Host)
		return
	default:
		e.out.NotKept++
		return
	}
	entry := e.entries[0]
	e.entries = e.entries[1:]
	if entry.SHA256 != digest {
		e.fail(rule.EvidenceNamed, e.at, attest.ProblemChanged, "of %s it tells of %s, the row of %s", row.Host,
			entry.SHA256, digest)
		return
	}
	kept, err := e.unpack.Open(e.raw[entry.Offset:entry.Offset+entry.Bytes], entry)
	if err != nil {
		e.fail(rule.Or(err, rule.EvidenceGzip), e.pack, attest.ProblemChanged, "of %s: %v", row.Host, err)
		return
	}
	if err := e.out.Judge(e.judge, row, raw, kept, digest != row.EvidenceDigest); err != nil {
		e.fail(rule.Or(err, rule.JudgementVerdict), e.part, ProblemMisjudged, "%v", err)
	}
}

// Judge demands of what is kept of a walk that a row, or a vantage of it, is of that, and judges it
// again where there is a judge.
func (r *Rejudged) Judge(judge record.Judge, row record.Row, raw, kept []byte, vantage bool) error {
	look, err := record.ReadLook(kept)
	if err == nil {
		err = look.Of(row, vantage)
	}
	if err != nil {
		return rule.JudgementForm.By(err)
	}
	if judge == nil {
		r.Unjudged++
		return nil
	}
	if err := judge.Row(row, raw, kept); err != nil {
		return err
	}
	r.Again++
	return nil
}

// end demands that every entry met its row.
func (e *evidenceCheck) end() {
	if len(e.entries) > 0 {
		e.fail(rule.EvidenceNamed, e.at, attest.ProblemChanged, "no row asks for what it tells of %s",
			e.entries[0].Host)
	}
}
