package shop

import (
	"context"
	"errors"
	"fmt"
	"os"

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
	Cause   string `flag:"cause" form:"^[a-z_]{0,20}$" doc:"why the verdict was false by a fault of our own, a word of /corpus/errors, such as client_model: it is counted there as an error of the instrument then, and rests on -battery or -walk"`
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
	rec, have, err := s.observations()
	if err != nil {
		return out, err
	}
	row, says, judgement, err := rejudge.Correct(rec, in.Leaf, rejudge.Ground{Reason: in.Reason, Battery: in.Battery,
		Walk: in.Walk, Cause: in.Cause})
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

type withdrawIn struct {
	SHA256 string `arg:"SHA256" form:"^[0-9a-f]{64}$" doc:"the text by its SHA-256, 64 lower-case hexadecimal digits, which stands beside it in its observation and in the name of its file words/SHA256.json, or what a walk was judged by by the evidence_digest of its row"`
	Reason string `flag:"reason" doc:"why the text is taken off the record; it stands there for ever, so it repeats nothing of the text" need:"say why with -reason"`
}

// withdraw takes a stranger's text, or what a walk was judged by, off the record, by its digest:
// that it is gone and why is put on the feed, and the next export removes its file.
func (s *Shop) withdraw(ctx context.Context, in withdrawIn, dry bool) (out feed.Withdrawal, err error) {
	w := record.Withdrawn{SHA256: in.SHA256, Reason: in.Reason}
	_, have, err := s.observations()
	if err != nil {
		return out, err
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
