package rejudge

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
)

// rowAt is the row at a leaf of the log.
func rowAt(rec *record.Record, leaf int64) (record.Row, error) {
	if !slices.ContainsFunc(rec.Rounds(), func(r record.Round) bool {
		return r.FirstLeaf <= leaf && leaf < r.RoundLeaf()
	}) {
		return record.Row{}, fmt.Errorf("leaf %d of the log is no row; hint: the leaf of each row of a host stands in "+
			"/corpus/host/HOST.json, beside its week", leaf)
	}
	raw, err := rec.Log.Entry(leaf)
	if err != nil {
		return record.Row{}, err
	}
	return record.ParseRow(raw)
}

// Ground is why a row is wrong, and what shows it: what is kept of its walk, judged by another
// battery, or the observation of a paid walk, by its number. Without either the row should have
// told of no observation. With a cause, of record.Causes, it is an error of the instrument.
type Ground struct {
	Reason  string
	Cause   string
	Battery string
	Walk    int64
}

// Correct is the row at a leaf of the log, what it should have said, and the judgement that gives
// it, nil for none.
func Correct(rec *record.Record, leaf int64, g Ground) (row record.Row, e record.Erratum, judgement []byte, err error) {
	if row, err = rowAt(rec, leaf); err != nil {
		return row, e, nil, err
	}
	e = record.Erratum{Leaf: leaf, Reason: g.Reason, VerdictNow: record.VerdictNotProbed}
	if g.Cause != "" {
		e.Kind, e.Cause = record.ErratumError, g.Cause
	}
	switch {
	case g.Walk != 0:
		e, judgement, err = paid(rec, row, e, g.Walk)
	case g.Battery != "":
		var kept []byte
		kept, err = rec.RawEvidence(row.Sequence, row.Host)
		if err == nil && kept == nil {
			err = fmt.Errorf("nothing is kept of the walk of %s in %s that could be judged again", row.Host, row.Week)
		}
		if err == nil {
			e, judgement, err = corrected(kept, row, e, g.Battery)
		}
	case g.Cause != "":
		err = errors.New("an error of the instrument is shown by what is kept, or by a paid walk, and by nothing " +
			"else; hint: say -battery or -walk, or leave -cause out")
	}
	return row, e, judgement, err
}

// corrected rests an erratum of a row on what is kept of its walk.
func corrected(kept []byte, row record.Row, out record.Erratum, battery string) (record.Erratum, []byte, error) {
	raw, walk, err := Again(kept, battery)
	if err != nil {
		return out, nil, err
	}
	if err := rests(&out, row, look{raw, kept, walk}); err != nil {
		return out, nil, err
	}
	if out.VerdictNow == record.VerdictNotProbed && out.Kind == "" {
		return out, nil, nil
	}
	out.EvidenceDigest = attest.Digest(sha256.Sum256(raw)).String()
	return out, raw, nil
}

// look is what is kept of a row's walk, judged again.
type look struct {
	raw, kept []byte
	now       record.Walk
}

// errAsksMore is returned for a row that was ready by a battery that asks for less.
var errAsksMore = errors.New("it asks for more than the battery by which the row was ready: that is no error; hint: " +
	"leave -cause out")

// rests gives an erratum the verdict of a look, and the checks that were told falsely. What a
// verifier refuses must not get onto the feed, from which the log is written.
func rests(e *record.Erratum, row record.Row, l look) error {
	head, err := record.ReadLook(l.raw)
	if err == nil {
		err = head.Corrects(row, time.Now().UTC().Format(time.RFC3339))
	}
	e.VerdictNow = l.now.Verdict
	if err != nil || e.Kind == "" {
		return err
	}
	if e.Checks = record.FalseChecks(row, l.now); len(e.Checks) == 0 {
		e.Checks = nil
	}
	if row.Verdict == record.VerdictReady && row.Verdict != e.VerdictNow && !asked(row.Battery, l.now.Failed) {
		return errAsksMore
	}
	return cmp.Or(e.Errs(row, &l.now), e.ErrsOn(row, l.raw, l.kept))
}

// asked reports whether a battery asks one of some checks.
func asked(battery string, checks []string) bool {
	for _, b := range probe.Batteries() {
		if b.Version == battery {
			return slices.ContainsFunc(b.Checks, func(c probe.Check) bool { return slices.Contains(checks, c.Name) })
		}
	}
	return false
}

// paid rests an erratum of a row on a paid walk that an observation of the record tells of.
func paid(rec *record.Record, row record.Row, e record.Erratum, walk int64) (record.Erratum, []byte, error) {
	fail := func(err error) (record.Erratum, []byte, error) {
		return e, nil, fmt.Errorf("observation %d as what %s of %s rests on: %w", walk, row.Host, row.Week, err)
	}
	leaf, ok := rec.ObservationLeaf(walk)
	if !ok {
		return fail(errors.New("the record has no such observation; hint: its number stands in /corpus/feed.json"))
	}
	raw, err := rec.Log.Entry(leaf)
	if err != nil {
		return fail(err)
	}
	o, err := record.VerifyObservation(raw, rec.Ring())
	if err != nil {
		return fail(err)
	}
	e.VerdictNow, e.EvidenceDigest = record.VerdictReady, attest.Digest(sha256.Sum256(raw)).String()
	if e.Kind != "" && len(row.Failed) > 0 {
		e.Checks = row.Failed
	}
	if err := e.RestsOnWalk(row, o, o.At); err != nil {
		return fail(err)
	}
	return e, nil, nil
}
