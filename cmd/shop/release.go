package shop

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// Release puts the digests of a release on the feed, once for each version, through the process
// that serves the store where there is one. dry changes nothing.
func Release(ctx context.Context, c *Config, r record.Release, dry bool, log *slog.Logger) (out feed.Released,
	err error) {
	if c.Record == "" {
		return out, errors.New("record, the folder of the signed record, is not configured")
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return out, err
	}
	q := url.Values{"release": {string(raw)}}
	if dry {
		q.Set("dry", "")
	}
	var b bytes.Buffer
	err = asKeeper(ctx, c, log, http.MethodPost, "/release?"+q.Encode(), &b,
		func(s *Shop) error { return s.release(ctx, raw, dry, &b) })
	if err == nil {
		err = json.Unmarshal(b.Bytes(), &out, json.RejectUnknownMembers(true))
	}
	return out, err
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
	do := s.DB.Update
	if dry {
		do = s.DB.View
	}
	err = do(ctx, func(tx ledger.Tx) (err error) {
		if !dry {
			if err := feed.Follow(tx, int64(len(have)), have); err != nil {
				return err
			}
		}
		out, err = feed.Release(tx, have, r, dry)
		return err
	})
	if err != nil {
		return err
	}
	out.NextStep = "run store build, which signs it into the log, and store publish where the record is published"
	if dry {
		out.NextStep = "nothing was changed: leave -dry-run out to put it on the record"
	}
	return json.MarshalWrite(to, out)
}
