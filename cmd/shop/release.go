package shop

import (
	"context"
	"fmt"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

type releaseIn struct {
	Version string   `arg:"VERSION" doc:"the version, such as v1.2.0"`
	Sums    attached `flag:"file" doc:"its SHA256SUMS" need:"name the release's file SHA256SUMS with -file"`
	Commit  string   `flag:"commit" doc:"the commit that it was made of, in hexadecimal digits" need:"name the commit that it was made of with -commit: git rev-parse VERSION^{commit} prints it"`
}

// release puts the digests of a release on the feed, once for each version.
func (s *Shop) release(ctx context.Context, in releaseIn, dry bool) (out feed.Released, err error) {
	r := record.Release{Version: in.Version, Commit: in.Commit}
	if r.Files, err = record.ParseSums(in.Sums.Data); err != nil {
		return out, err
	}
	rec, err := s.openRecord()
	if err != nil {
		return out, err
	}
	have, err := rec.Observations()
	if err != nil {
		return out, fmt.Errorf("reading the record: %w", err)
	}
	if err := s.besideRecord(ctx, have, dry, func(tx ledger.Tx) (err error) {
		out, err = feed.Release(tx, have, r, dry)
		return err
	}); err != nil {
		return out, err
	}
	out.NextStep = "run store build, which signs it into the log, and store publish where the record is published"
	if dry {
		out.NextStep = "nothing was changed: leave -dry-run out to put it on the record"
	}
	return out, nil
}
