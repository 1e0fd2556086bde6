package rejudge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
)

// Tally says what came of the rows of a record that were judged again by another battery.
type Tally struct {
	Rows    int64 `json:"rows" doc:"Verdicts by an older battery."`
	Same    int64 `json:"same" doc:"Of them, those that it gives too."`
	False   int64 `json:"false" doc:"Those that were false."`
	More    int64 `json:"asks_more" doc:"Those that were ready by a battery that asks for less: no errors."`
	Others  int64 `json:"seen_elsewhere" doc:"Those that a walker at another place contradicts, which one look does not settle."`
	NotKept int64 `json:"not_kept" doc:"Those of which nothing is kept."`
	Lacking int64 `json:"not_judged" doc:"Those of which too little was recorded for it."`
}

// False is a row whose verdict was false, with its erratum and the judgement that shows it.
type False struct {
	Row       record.Row
	Erratum   record.Erratum
	Judgement []byte
}

// Whole judges by a battery every row that an older one judged, and yields those that were false as
// instrument errors, in the order of the log. It changes nothing, and says the same again.
func Whole(ctx context.Context, rec *record.Record, battery, reason string, found func(False) error) (t Tally,
	err error) {
	versions := probe.Versions()
	place := slices.Index(versions, battery)
	if place < 0 {
		return t, fmt.Errorf("there is no battery %.40q; hint: the newest is %s", battery, probe.Current())
	}
	packs := rec.Packs()
	for _, round := range rec.Rounds() {
		for row, err := range rec.Rows(round.Sequence) {
			if err != nil {
				return t, err
			}
			if row.Verdict == record.VerdictNotProbed || slices.Index(versions, row.Battery) >= place {
				continue
			}
			if err := ctx.Err(); err != nil {
				return t, err
			}
			t.Rows++
			kept, err := packs.Judgement(round.Sequence, int((row.Leaf-round.FirstLeaf)/record.MaxPartRows), row.Row)
			if err != nil {
				return t, fmt.Errorf("reading what is kept of %s in %s: %w", row.Host, row.Week, err)
			}
			if kept == nil {
				t.NotKept++
				continue
			}
			f, err := t.judge(row, kept, battery)
			if err != nil || f == nil {
				continue
			}
			f.Erratum.Reason = reason
			if t.False++; found != nil {
				if err := found(*f); err != nil {
					return t, err
				}
			}
		}
	}
	return t, nil
}

// judge judges one row again and counts what came of it; nil for one that was not false.
func (t *Tally) judge(row record.StoredRow, kept []byte, battery string) (*False, error) {
	raw, j, report, err := again(kept, battery)
	if err != nil {
		t.Lacking++
		return nil, err
	}
	now := walkOf(j, report)
	if now.Verdict == row.Verdict {
		t.Same++
		return nil, nil
	}
	e := record.Erratum{Leaf: row.Leaf, Reason: "-", Kind: record.ErratumError, Cause: causeOf(report),
		EvidenceDigest: attest.Digest(sha256.Sum256(raw)).String()}
	switch err := rests(&e, row.Row, look{raw, kept, now}); {
	case errors.Is(err, errAsksMore),
		now.Verdict == record.VerdictNotProbed && report.Reason == probe.ReasonNotJudged:
		t.More++
		return nil, nil
	case err != nil && len(row.Vantages) > 0:
		t.Others++
		return nil, err
	case err != nil:
		t.Lacking++
		return nil, err
	}
	return &False{Row: row.Row, Erratum: e, Judgement: raw}, nil
}

// causeOf is why a row was false, as far as what it was judged by shows when it is judged again:
// the battery itself where nothing else does.
func causeOf(report probe.Report) string {
	switch {
	case report.Verdict == probe.NotProbed && report.Reason == probe.ReasonInputs:
		return record.CauseInputs
	case report.Verdict == probe.NotProbed:
		return record.CauseBotWall
	case report.Verdict == probe.MethodUnresolved, report.ProbeMethod.Used == http.MethodPost:
		return record.CauseMethod
	}
	return record.CauseCheck
}
