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

// putOnFeed has a keeper put something on the feed through the process that serves the store, at
// its path, or here where there is none, and reads what came of it.
func putOnFeed[T any](ctx context.Context, c *Config, path string, q url.Values, dry bool, log *slog.Logger,
	here func(s *Shop, out io.Writer) error) (out T, err error) {
	if c.Record == "" {
		return out, errors.New("record, the folder of the signed record, is not configured")
	}
	if dry {
		q.Set("dry", "")
	}
	var b bytes.Buffer
	err = asKeeper(ctx, c, log, http.MethodPost, path+"?"+q.Encode(), &b,
		func(s *Shop) error { return here(s, &b) })
	if err == nil {
		err = json.Unmarshal(b.Bytes(), &out, json.RejectUnknownMembers(true))
	}
	return out, err
}

// besideRecord runs put in a transaction of a feed that goes on behind what the record has. dry
// writes nothing.
func (s *Shop) besideRecord(ctx context.Context, have []record.Observation, dry bool,
	put func(tx ledger.Tx) error) error {
	if dry {
		return s.DB.View(ctx, put)
	}
	return s.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := feed.Follow(tx, int64(len(have)), have); err != nil {
			return err
		}
		return put(tx)
	})
}
