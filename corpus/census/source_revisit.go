package census

import (
	"context"
	"fmt"
	"iter"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/record"
)

// Revisits names the hosts that the last rounds of the record saw, so that one which vanishes from
// the lists is walked all the same. A host is let go when in so many rounds no list named it and it
// never answered.
func Revisits(name string, rounds int) Source {
	return Source{Name: name, Kind: record.SourceRevisit, Read: func(ctx context.Context, on Reading,
		put func(Named)) error {
		if on.Record == nil {
			return nil
		}
		for s, err := range seenBefore(on.Record, on.Week, rounds) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("reading earlier rounds: %w", err)
			}
			switch {
			case !s.alive:
				put(Named{Host: s.host, Reason: fmt.Sprintf("no list named it and it did not answer in the last %d "+
					"rounds", rounds)})
			case exchange.HasStandIn(s.url):
				put(Named{Host: s.host, Reason: "its URL holds an address, which the record does not: it is walked " +
					"when a list names it"})
			default:
				put(Named{URL: s.url, Method: s.method, By: s.by})
			}
		}
		return nil
	}}
}

// seen is what the last rounds say of a host.
type seen struct {
	host       string
	url        string // of the last row
	method, by string // of the last reading, where it used a method that was declared elsewhere than in its answer
	alive      bool   // listed, or answered
}

func (s *seen) add(row record.StoredRow) {
	s.host, s.url = row.Host, row.URL
	if m := row.ProbeMethod; m != nil {
		s.method, s.by = "", ""
		if m.DeclaredBy != "" && m.DeclaredBy != "allow" {
			s.method, s.by = m.Used, m.DeclaredBy
		}
	}
	if row.Source != record.SourceRevisit || row.Verdict == record.VerdictReady ||
		row.Verdict == record.VerdictNotReady {
		s.alive = true
	}
}

// seenBefore merges the rows of the last rounds before a week and yields each host once, sorted.
func seenBefore(rec *record.Record, week string, rounds int) iter.Seq2[seen, error] {
	return func(yield func(seen, error) bool) {
		all := rec.Rounds()
		for len(all) > 0 && all[len(all)-1].Week >= week {
			all = all[:len(all)-1]
		}
		type feed struct {
			row  record.StoredRow
			err  error
			ok   bool
			next func() (record.StoredRow, error, bool)
		}
		var feeds []*feed // the oldest first
		for _, r := range all[max(0, len(all)-rounds):] {
			next, stop := iter.Pull2(rec.Rows(r.Sequence))
			defer stop()
			f := &feed{next: next}
			f.row, f.err, f.ok = next()
			feeds = append(feeds, f)
		}
		for {
			host, any := "", false
			for _, f := range feeds {
				if f.ok && f.err != nil {
					yield(seen{}, f.err)
					return
				}
				if f.ok && (!any || f.row.Host < host) {
					host, any = f.row.Host, true
				}
			}
			if !any {
				return
			}
			var s seen
			for _, f := range feeds {
				if f.ok && f.row.Host == host {
					s.add(f.row)
					f.row, f.err, f.ok = f.next()
				}
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}
