package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// ProblemMisjudged is the kind of problem of a row that says something else than what it was judged
// by gives.
const ProblemMisjudged = "misjudged"

// Rejudged counts the rows of a record by what became of their verdicts.
type Rejudged struct {
	Again     int64 `json:"judged_again"` // what they were judged by is kept, and gives the same row
	Unjudged  int64 `json:"kept"`         // it is kept and was not judged again, because that was not asked for
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
	judge          bool
	withdrawn      map[string]int64 // digests, with the observations that withdrew them
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
func openEvidence(fsys fs.FS, sequence int64, i int, judge bool, withdrawn map[string]int64) *evidenceCheck {
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
	if e.problem != nil {
		return
	}
	if len(e.entries) > 0 && e.entries[0].Host < row.Host {
		e.end()
		return
	}
	by, gone := e.withdrawn[row.EvidenceDigest]
	switch kept := len(e.entries) > 0 && e.entries[0].Host == row.Host; {
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
	if entry.SHA256 != row.EvidenceDigest {
		e.fail(rule.EvidenceNamed, e.at, attest.ProblemChanged, "of %s it tells of %s, the row of %s", row.Host,
			entry.SHA256,
			row.EvidenceDigest)
		return
	}
	kept, err := e.unpack.Open(e.raw[entry.Offset:entry.Offset+entry.Bytes], entry)
	if err != nil {
		e.fail(rule.Or(err, rule.EvidenceGzip), e.pack, attest.ProblemChanged, "of %s: %v", row.Host, err)
		return
	}
	if !e.judge {
		e.out.Unjudged++
		return
	}
	if err := Rejudge(row, raw, kept); err != nil {
		e.fail(rule.Or(err, rule.JudgementVerdict), e.part, ProblemMisjudged, "%v", err)
		return
	}
	e.out.Again++
}

// end demands that every entry met its row.
func (e *evidenceCheck) end() {
	if len(e.entries) > 0 {
		e.fail(rule.EvidenceNamed, e.at, attest.ProblemChanged, "no row asks for what it tells of %s",
			e.entries[0].Host)
	}
}

// Rejudge judges what is kept of a walk again and demands that it gives the row, whose exact bytes
// are raw, in every field that a judgement decides.
func Rejudge(row record.Row, raw, judgement []byte) error {
	fail := func(err error) error { return fmt.Errorf("judging %s again: %w", row.Host, err) }
	if row.Reason == record.ReasonOptedOut {
		o, err := probe.DecodeOptOut(judgement)
		err = rule.JudgementForm.By(err)
		if err == nil && !o.Of(row.Host) {
			err = rule.JudgementDoor.By(fmt.Errorf("it is the word of another host: %.200q", o.Evidence.URL))
		}
		if err != nil {
			return fail(err)
		}
		return nil
	}
	j, err := probe.DecodeJudgement(judgement)
	if err != nil {
		return fail(rule.JudgementForm.By(err))
	}
	if j.URL != row.URL || j.Battery != row.Battery {
		return fail(rule.JudgementDoor.Errorf("it is of the url %.200q by battery %s", j.URL, j.Battery))
	}
	report, err := j.Judge()
	if err != nil {
		return fail(err)
	}
	got := record.RowFrom(report, j)
	got.Format, got.Origin, got.Sequence, got.Week, got.PreviousLeaf = row.Format, row.Origin, row.Sequence, row.Week,
		row.PreviousLeaf
	got.Host, got.Listed, got.Source, got.Catalog, got.Late, got.KID, got.Signature = row.Host, row.Listed, row.Source,
		row.Catalog, row.Late, row.KID, row.Signature
	got.Vantages = row.Vantages
	if slices.ContainsFunc(row.Vantages, func(v record.Vantage) bool { return v.Verdict != got.Verdict }) {
		got.Verdict, got.Fault = record.VerdictNotReady, record.FaultPath
	}
	again, err := attest.Canonical(got)
	if err != nil {
		return fail(err)
	}
	if !bytes.Equal(again, raw) {
		return fail(fmt.Errorf("what is kept of the walk gives %s", difference(again, raw)))
	}
	return nil
}

// difference names the first member in which two rows are not alike.
func difference(again, signed []byte) string {
	var a, b map[string]jsontext.Value
	if json.Unmarshal(again, &a) != nil || json.Unmarshal(signed, &b) != nil {
		return "another row"
	}
	var out []string
	for _, name := range []string{"url", "verdict", "reason", "reached_level", "failed", "advisories", "also_under",
		"protocols", "probe_method", "offer", "battery", "fault", "observed_at", "evidence_digest"} {
		if !bytes.Equal(a[name], b[name]) {
			out = append(out, fmt.Sprintf("%s %.200s, the row says %.200s", name, shown(a[name]), shown(b[name])))
		}
	}
	if len(out) == 0 {
		return "another row"
	}
	return strings.Join(out, "; ")
}

func shown(v jsontext.Value) string {
	if len(v) == 0 {
		return "nothing"
	}
	return string(v)
}
