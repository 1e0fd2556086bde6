package shop

import (
	"context"
	"fmt"
	"os"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

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
