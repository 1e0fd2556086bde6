package shop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

type erratumIn struct {
	Leaf    int64  `arg:"LEAF" form:"^[0-9]{1,15}$" doc:"the row by its leaf in the log, which stands beside its week in /corpus/host/HOST.json"`
	Reason  string `flag:"reason" doc:"why the row is wrong; it stands on the record for ever" need:"say why with -reason"`
	Battery string `flag:"battery" doc:"judge what is kept of the walk again by this one, such as v2; left out, the row should have told of no observation"`
	Walk    int64  `flag:"walk" doc:"the number of the observation of a paid walk at the row's door in its week, by which the door was ready"`
}

func (in *erratumIn) check() error {
	if in.Walk < 0 || in.Walk > 0 && in.Battery != "" {
		return errors.New("say by what it is corrected: by -battery, or by the paid walk of -walk")
	}
	return nil
}

// correct puts on the feed what a row of the record should have said.
func (s *Shop) correct(ctx context.Context, in erratumIn, dry bool) (out feed.Corrected, err error) {
	rec, err := s.openRecord()
	if err != nil {
		return out, err
	}
	have, err := rec.Observations()
	if err != nil {
		return out, fmt.Errorf("reading the record: %w", err)
	}
	row, err := rowAt(rec, in.Leaf)
	if err != nil {
		return out, err
	}
	says, judgement, err := again(rec, row, in)
	if err != nil {
		return out, err
	}
	if err := s.besideRecord(ctx, have, dry, func(tx ledger.Tx) (err error) {
		out, err = feed.Correct(tx, have, feed.Correction{Row: row, Erratum: says, Judgement: judgement}, dry)
		return err
	}); err != nil {
		return out, err
	}
	switch {
	case out.Already:
		out.NextStep = "nothing was changed: the last erratum of the row says so"
	case dry:
		out.NextStep = "nothing was changed: leave -dry-run out to put it on the record"
	default:
		out.NextStep = "run store build, which signs it into the log and has tiers and counts follow it, and store " +
			"publish where the record is published"
	}
	return out, nil
}

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

// again is what a row should have said, and the judgement that gives it, nil for none.
func again(rec *record.Record, row record.Row, e erratumIn) (record.Erratum, []byte, error) {
	out := record.Erratum{Leaf: e.Leaf, Reason: e.Reason, VerdictNow: record.VerdictNotProbed}
	if e.Walk != 0 {
		return paid(rec, row, out, e.Walk)
	}
	if e.Battery == "" {
		return out, nil, nil
	}
	kept, err := rec.RawEvidence(row.Sequence, row.Host)
	if err == nil && kept == nil {
		err = fmt.Errorf("nothing is kept of the walk of %s in %s that could be judged again", row.Host, row.Week)
	}
	if err != nil {
		return out, nil, err
	}
	raw, walk, err := rejudge.Again(kept, e.Battery)
	if err != nil {
		return out, nil, err
	}
	// What a verifier refuses must not get onto the feed, from which the log is written.
	look, err := record.ReadLook(raw)
	if err == nil {
		err = look.Corrects(row, time.Now().UTC().Format(time.RFC3339))
	}
	if err != nil {
		return out, nil, err
	}
	out.VerdictNow = walk.Verdict
	if out.VerdictNow == record.VerdictNotProbed {
		return out, nil, nil
	}
	out.EvidenceDigest = attest.Digest(sha256.Sum256(raw)).String()
	return out, raw, nil
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
	if err := e.RestsOnWalk(row, o, o.At); err != nil {
		return fail(err)
	}
	return e, nil, nil
}

type withdrawIn struct {
	SHA256 string `arg:"SHA256" form:"^[0-9a-f]{64}$" doc:"the text by its SHA-256, 64 lower-case hexadecimal digits, which stands beside it in its observation and in the name of its file words/SHA256.json, or what a walk was judged by by the evidence_digest of its row"`
	Reason string `flag:"reason" doc:"why the text is taken off the record; it stands there for ever, so it repeats nothing of the text" need:"say why with -reason"`
}

// withdraw takes a stranger's text, or what a walk was judged by, off the record, by its digest:
// that it is gone and why is put on the feed, and the next export removes its file.
func (s *Shop) withdraw(ctx context.Context, in withdrawIn, dry bool) (out feed.Withdrawal, err error) {
	w := record.Withdrawn{SHA256: in.SHA256, Reason: in.Reason}
	rec, err := s.openRecord()
	if err != nil {
		return out, err
	}
	have, err := rec.Observations()
	if err != nil {
		return out, fmt.Errorf("reading the record: %w", err)
	}
	kept, err := seal.Kept(os.DirFS(s.Config.Record), w.SHA256)
	if err != nil {
		return out, fmt.Errorf("reading the record: %w", err)
	}
	if err := s.besideRecord(ctx, have, dry, func(tx ledger.Tx) (err error) {
		out, err = feed.Withdraw(tx, have, w, kept != "", dry)
		return err
	}); err != nil {
		return out, err
	}
	switch {
	case dry:
		out.NextStep = "nothing was changed: leave -dry-run out to withdraw it"
	case out.Kind == feed.OfEvidence:
		out.NextStep = "run store build, which takes it out of the record; the row keeps its digest and its verdict, " +
			"and checks of the record count it as withdrawn: copies that others made before keep it"
	default:
		out.NextStep = "run store build, which takes the text's file out of the record and off the pages, and store " +
			"publish where the record is published: copies that others made before keep it, and so do the last trees " +
			"of earlier builds on this machine, which nobody is served"
	}
	return out, nil
}
