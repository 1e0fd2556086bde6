package shop

import (
	"context"
	"io"
	"log/slog"
	"net/url"

	"github.com/go-json-experiment/json"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// Release puts the digests of a release on the feed, once for each version, through the process
// that serves the store where there is one. dry changes nothing.
func Release(ctx context.Context, c *Config, r record.Release, dry bool, log *slog.Logger) (feed.Released, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return feed.Released{}, err
	}
	return putOnFeed[feed.Released](ctx, c, "/release", url.Values{"release": {string(raw)}}, dry, log,
		func(s *Shop, out io.Writer) error { return s.release(ctx, raw, dry, out) })
}

// release writes what came of it as JSON.
func (s *Shop) release(ctx context.Context, raw []byte, dry bool, to io.Writer) error {
	var r record.Release
	if err := json.Unmarshal(raw, &r, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	have, err := observed(&s.Config, s.Ring)
	if err != nil {
		return err
	}
	var out feed.Released
	if err := s.besideRecord(ctx, have, dry, func(tx ledger.Tx) (err error) {
		out, err = feed.Release(tx, have, r, dry)
		return err
	}); err != nil {
		return err
	}
	out.NextStep = "run store build, which signs it into the log, and store publish where the record is published"
	if dry {
		out.NextStep = "nothing was changed: leave -dry-run out to put it on the record"
	}
	return json.MarshalWrite(to, out)
}
