package verify

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tlog"
)

// tell says what changed of the hosts that were followed before, and how all of them stand.
func (s *step) tell() error {
	for _, f := range s.hosts {
		if f.old != nil {
			s.tellRows(f)
		}
	}
	for _, o := range s.news {
		if err := s.tellNews(o); err != nil {
			return err
		}
	}
	for _, f := range s.hosts {
		now := FollowedHost{Host: f.name, Rows: f.entry.Rows}
		if f.entry.Rows > 0 {
			now.Tier, now.Line = f.tier.Tier, f.tier.Label
		}
		s.out.Hosts = append(s.out.Hosts, now)
		if f.old != nil && f.old.Tier != now.Tier && f.old.Tier != "" {
			s.out.Changes = append(s.out.Changes, FollowedChange{Kind: "tier", Host: f.name, From: f.old.Tier,
				To: now.Tier, Detail: now.Line})
		}
	}
	return nil
}

// tellRows tells of the new rows of a host, and of new rounds in which it has none.
func (s *step) tellRows(f *followStep) {
	for _, round := range s.rounds[s.known:] {
		i := slices.IndexFunc(f.rows, func(r record.StoredRow) bool { return r.Sequence == round.Sequence })
		c := FollowedChange{Kind: "no_row", Host: f.name, Sequence: round.Sequence, Week: round.Week}
		if i < 0 {
			if f.entry.Rows > 0 {
				s.out.Changes = append(s.out.Changes, c)
			}
			continue
		}
		row := f.rows[i]
		leaf := row.Leaf
		c.Kind, c.Leaf, c.To, c.Level = "row", &leaf, row.Verdict, row.ReachedLevel
		if i > 0 {
			c.From = f.rows[i-1].Verdict
		}
		s.out.Changes = append(s.out.Changes, c)
		if row.Offer == nil || len(row.Offer.PayTo) == 0 {
			continue // what a door does not say is no change
		}
		var before []record.PayTo
		if at := f.offered(i); at >= 0 {
			before = f.rows[at].Offer.PayTo
		}
		p := FollowedChange{Kind: "pay_to", Host: f.name, Sequence: round.Sequence, Week: round.Week,
			Added: lacks(row.Offer.PayTo, before), Removed: lacks(before, row.Offer.PayTo)}
		if len(p.Added)+len(p.Removed) > 0 {
			s.out.Changes = append(s.out.Changes, p)
		}
	}
}

// tellNews tells of an observation, if it is of a host that is followed.
func (s *step) tellNews(o record.Observation) error {
	c := FollowedChange{Kind: o.Kind, Host: o.Subject(), Number: o.Number}
	switch {
	case o.Refresh != nil:
		c.To, c.Level, c.Detail = o.Refresh.Verdict, o.Refresh.ReachedLevel, o.Refresh.Verdict
	case o.Declaration != nil:
		c.Detail = fmt.Sprintf("%d doors", int64(len(o.Declaration.Doors))+o.Declaration.DoorsLeftOut)
	case o.Withdrawn != nil:
		c.Host, c.Detail = s.holds(o.Withdrawn.SHA256), o.Withdrawn.Reason
	case o.Erratum != nil:
		leaf := o.Erratum.Leaf
		round, ok := s.roundAt(leaf)
		if !ok || round.TakenAt > o.At {
			return followAt("observations/"+o.File(), rule.ErratumRow,
				fmt.Errorf("it corrects leaf %d, which is no row of a round before it", leaf))
		}
		raw, err := s.log.Entry(leaf)
		if err != nil {
			return followAt(tlog.Path("tile/entries"), rule.LogTile, err)
		}
		row, err := record.ParseRow(raw)
		if err != nil {
			return followAt(tlog.Path("tile/entries"), rule.RowForm, err)
		}
		c.Host, c.Leaf, c.Sequence, c.Week, c.From, c.To = row.Host, &leaf, round.Sequence, round.Week, row.Verdict,
			o.Erratum.VerdictNow
		c.Detail = fmt.Sprintf("round %d (%s) should have said %s: %s", round.Sequence, round.Week, c.To,
			o.Erratum.Reason)
		if s.host(c.Host) != nil && o.Erratum.EvidenceDigest != "" {
			shown, err := s.basis(o, row)
			if err != nil {
				return err
			}
			if !shown {
				c.Detail += " (on a purchase, or on a look that is not kept here)"
			}
		}
	}
	if s.host(c.Host) != nil {
		s.out.Changes = append(s.out.Changes, c)
	}
	return nil
}

// basis demands of an erratum of a row that the look that it rests on, where one is kept, is at the
// row's door and in its week. What of that takes the batteries is for package verify.
func (s *step) basis(o record.Observation, row record.Row) (kept bool, err error) {
	name := record.ObservedEvidence(o.Erratum.EvidenceDigest)
	member, err := fs.ReadFile(s.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, followAt(name, rule.FileSize, err)
	}
	var unpack record.Unpacker
	raw, err := unpack.Open(member, record.EvidenceEntry{SHA256: o.Erratum.EvidenceDigest, Bytes: int64(len(member))})
	if err != nil {
		return true, followAt(name, rule.EvidenceGzip, err)
	}
	look, err := record.ReadLook(raw)
	if err == nil {
		err = cmp.Or(look.Corrects(row, o.At), o.Erratum.Errs(row, nil), o.Erratum.ErrsOn(row, raw, nil))
	}
	return true, followAt("observations/"+o.File(), rule.ErratumBasis, err)
}

// holds is the host with a row or a refresh that was judged by what has a digest, of those that are
// remembered; "" for none.
func (s *step) holds(digest string) string {
	for _, f := range s.hosts {
		for _, row := range f.rows {
			if row.EvidenceDigest == digest || slices.ContainsFunc(row.Vantages,
				func(v record.Vantage) bool { return v.EvidenceDigest == digest }) {
				return f.name
			}
		}
		for _, o := range f.refreshes {
			if o.Refresh != nil && o.Refresh.EvidenceDigest == digest {
				return f.name
			}
		}
	}
	return ""
}
