package shop

import (
	"cmp"
	"context"
	"fmt"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

type rejudgeIn struct {
	Battery string `flag:"battery" form:"^(v[1-9][0-9]{0,3})?$" doc:"judge by this one; the newest if not given"`
	Reason  string `flag:"reason" doc:"why the rows were wrong, of every one that was; it stands on the record for ever"`
}

// Rejudgement is what came of judging a record again.
type Rejudgement struct {
	Battery string `json:"battery" doc:"By which it was judged."`
	rejudge.Tally
	Corrected int64            `json:"corrected" doc:"Errata put on the record, or that would be."`
	Already   int64            `json:"already_corrected" doc:"False ones whose erratum was there before."`
	DryRun    bool             `json:"dry_run" doc:"Nothing was changed."`
	Moved     []feed.Corrected `json:"moved"` // all that were false
	NextStep  string           `json:"next_step" doc:"What to do next."`
}

// rejudgedAtOnce is how many errata go onto the feed in one transaction, each with a judgement of
// at most record.MaxJudgement bytes.
const rejudgedAtOnce = 16

// rejudge judges the whole record again by a battery, over what is kept of its walks, and puts what
// was false on the record as errors of the instrument. What was put stays when it is stopped, and
// the next run puts nothing twice.
func (s *Shop) rejudge(ctx context.Context, in rejudgeIn, dry bool) (out Rejudgement, err error) {
	out = Rejudgement{Battery: cmp.Or(in.Battery, probe.Current()), DryRun: dry, Moved: []feed.Corrected{}}
	rec, have, err := s.observations()
	if err != nil {
		return out, err
	}
	var waiting []feed.Correction
	put := func() error {
		var done []feed.Corrected
		err := s.besideRecord(ctx, have, dry, func(tx ledger.Tx) (err error) {
			done, err = feed.CorrectAll(tx, have, waiting, dry)
			return err
		})
		if err != nil {
			return err
		}
		waiting = waiting[:0]
		for _, c := range done {
			if c.Already {
				out.Already++
			} else {
				out.Corrected++
			}
		}
		out.Moved = append(out.Moved, done...)
		return nil
	}
	reason := cmp.Or(in.Reason, fmt.Sprintf("Judged again by battery %s, over what was kept.", out.Battery))
	out.Tally, err = rejudge.Whole(ctx, rec, out.Battery, reason, func(f rejudge.False) error {
		waiting = append(waiting, feed.Correction{Row: f.Row, Erratum: f.Erratum, Judgement: f.Judgement,
			Once: true})
		if len(waiting) < rejudgedAtOnce {
			return nil
		}
		return put()
	})
	if err == nil && len(waiting) > 0 {
		err = put()
	}
	if err != nil {
		return out, fmt.Errorf("judging the record again: %d errata are on the feed: %w; hint: run it again, which "+
			"puts none of them twice", out.Corrected, err)
	}
	switch {
	case out.Corrected == 0:
		out.NextStep = "nothing: every verdict that was false is corrected"
	case dry:
		out.NextStep = "leave -dry-run out to put them on the record"
	default:
		out.NextStep = "run store build, which signs them into the log and has every count follow them"
	}
	return out, nil
}
