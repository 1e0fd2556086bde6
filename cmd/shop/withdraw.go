package shop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
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
func Withdraw(ctx context.Context, c *Config, w record.Withdrawn, dry bool, log *slog.Logger) (out feed.Withdrawal,
	err error) {
	if c.Record == "" {
		return out, errors.New("record, the folder of the signed record, is not configured")
	}
	q := url.Values{"sha256": {w.SHA256}, "reason": {w.Reason}}
	if dry {
		q.Set("dry", "")
	}
	var b bytes.Buffer
	err = asKeeper(ctx, c, log, http.MethodPost, "/withdraw?"+q.Encode(), &b,
		func(s *Shop) error { return s.withdraw(ctx, w, dry, &b) })
	if err == nil {
		err = json.Unmarshal(b.Bytes(), &out, json.RejectUnknownMembers(true))
	}
	return out, err
}

// withdraw writes what came of it as JSON.
func (s *Shop) withdraw(ctx context.Context, w record.Withdrawn, dry bool, to io.Writer) error {
	record, err := observed(&s.Config, s.Ring)
	if err != nil {
		return err
	}
	kept, err := seal.Kept(os.DirFS(s.Config.Record), w.SHA256)
	if err != nil {
		return fmt.Errorf("reading the record: %w", err)
	}
	var out feed.Withdrawal
	do := s.DB.Update
	if dry {
		do = s.DB.View
	}
	err = do(ctx, func(tx ledger.Tx) (err error) {
		if n := int64(len(record)); !dry {
			if err := feed.Follow(tx, n, record); err != nil {
				return err
			}
		}
		out, err = feed.Withdraw(tx, record, w, kept != "", dry)
		return err
	})
	if err != nil {
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
