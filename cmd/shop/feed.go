package shop

import (
	"context"
	"errors"
	"fmt"
	"os"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// openRecord opens the record that a keeper puts something on, beside what the feed has.
func (s *Shop) openRecord() (*record.Record, error) {
	if s.Config.Record == "" {
		return nil, errors.New("record, the folder of the signed record, is not configured: name one by record in " +
			"the configuration")
	}
	rec, err := record.Open(os.DirFS(s.Config.Record), s.Ring)
	if err != nil {
		return nil, fmt.Errorf("reading the record: %w", err)
	}
	return rec, nil
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
