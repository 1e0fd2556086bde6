package shop

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"

	"github.com/go-json-experiment/json"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// Withdraw takes a stranger's text, or what a walk was judged by, off the record, by its digest,
// through the process that serves
// the store where there is one: that it is gone and why is put on the feed, and the next export
// removes its file. dry changes nothing.
func Withdraw(ctx context.Context, c *Config, w record.Withdrawn, dry bool, log *slog.Logger) (feed.Withdrawal,
	error) {
	q := url.Values{"sha256": {w.SHA256}, "reason": {w.Reason}}
	return putOnFeed[feed.Withdrawal](ctx, c, "/withdraw", q, dry, log,
		func(s *Shop, out io.Writer) error { return s.withdraw(ctx, w, dry, out) })
}

// withdraw writes what came of it as JSON.
func (s *Shop) withdraw(ctx context.Context, w record.Withdrawn, dry bool, to io.Writer) error {
	have, err := observed(&s.Config, s.Ring)
	if err != nil {
		return err
	}
	kept, err := seal.Kept(os.DirFS(s.Config.Record), w.SHA256)
	if err != nil {
		return fmt.Errorf("reading the record: %w", err)
	}
	var out feed.Withdrawal
	if err := s.besideRecord(ctx, have, dry, func(tx ledger.Tx) (err error) {
		out, err = feed.Withdraw(tx, have, w, kept != "", dry)
		return err
	}); err != nil {
		return err
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
	return json.MarshalWrite(to, out)
}
