package verify

import (
	"errors"
	"fmt"
	"io/fs"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/corpus/tlog"
)

// end is the log index behind the newest round that is known.
func (s *step) end() int64 { return endOf(s.rounds) }

// endOf is the log index behind the last of some rounds.
func endOf(rounds []record.Round) int64 {
	if len(rounds) == 0 {
		return 0
	}
	return rounds[len(rounds)-1].LeavesEnd()
}

// headers reads the headers of new rounds, up to the first that is not there or that the head does
// not commit to, and looks for them in the log. The first step reads all, and looks for the newest.
func (s *step) headers() error {
	if s.before != nil {
		s.rounds, s.index = append(s.rounds, s.before.Rounds...), s.before.Index
	}
	s.known = len(s.rounds)
	var raw []byte
	for s.end() < s.head.Size && s.head.Size > s.old.Size {
		name := record.HeaderPath(int64(len(s.rounds)) + 1)
		next, err := fs.ReadFile(s.fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return followAt(name, rule.RoundForm, err)
		}
		round, err := s.header(next)
		if err != nil {
			return followAt(name, rule.RoundForm, err)
		}
		if round.LeavesEnd() > s.head.Size {
			break
		}
		s.rounds, raw = append(s.rounds, round), next
		if s.before != nil {
			if err := s.logged(round, raw, s.index+round.Rows); err != nil {
				return err
			}
			s.told(round)
		}
	}
	s.out.Rounds = int64(len(s.rounds))
	if n := len(s.rounds); n > 0 {
		s.out.LastWeek = s.rounds[n-1].Week
		if s.before == nil {
			if err := s.logged(s.rounds[n-1], raw, s.head.Size); err != nil {
				return err
			}
		}
	}
	if s.o.AsOf > s.out.LastWeek {
		s.out.Unproven = append(s.out.Unproven, fmt.Sprintf("anything as of %s: its newest round is %d", s.o.AsOf,
			len(s.rounds)))
	}
	return nil
}

// header checks the header of the round behind the newest one.
func (s *step) header(raw []byte) (record.Round, error) {
	var before *record.Round
	if n := len(s.rounds); n > 0 {
		before = &s.rounds[n-1]
	}
	round, err := record.OpenRound(raw, int64(len(s.rounds))+1, s.ring)
	if err == nil {
		err = round.Continues(before)
	}
	switch {
	case err != nil:
		return round, err
	case round.Origin != s.head.Origin:
		return round, rule.CheckpointTree.Errorf("it is of %s, and the head of the log of %s", round.Origin,
			s.head.Origin)
	case round.FirstLeaf < s.end():
		return round, rule.RoundPlace.Errorf("its rows begin at leaf %d, and the round before ends at %d",
			round.FirstLeaf, s.end())
	}
	if !s.o.Now.IsZero() && !s.out.Specimen {
		if err := round.Ahead(s.o.Now, "this machine's clock"); err != nil {
			return round, err
		}
	}
	// How many were probed its rows say, which are not read here.
	return round, round.Counted(round.Coverage.Probed, before)
}

// logged demands that the log commits to the header of a round, and reads which host index it
// commits to, of so many hosts at most.
func (s *step) logged(round record.Round, raw []byte, most int64) error {
	name := record.HeaderPath(round.Sequence)
	want, err := record.EncodeRoundLeaf(round, raw)
	if err != nil {
		return followAt(name, rule.RoundForm, err)
	}
	held, err := s.log.Entry(round.RoundLeaf())
	if err == nil && string(held) != string(want) {
		err = fmt.Errorf("leaf %d of the log does not commit to it", round.RoundLeaf())
	}
	if err != nil {
		return followAt(name, rule.LogTile, err)
	}
	leaf, err := s.log.Entry(round.HostsLeaf())
	if err != nil {
		return followAt(tlog.Path("tile/entries"), rule.LogTile, err)
	}
	size, root, err := record.ParseHostsLeaf(leaf, round.Sequence)
	if err == nil && (size < max(s.index, round.Rows) || size > most) {
		err = fmt.Errorf("it has %d hosts: the index before had %d, and the round has %d rows", size, s.index,
			round.Rows)
	}
	s.index, s.table = size, record.OpenHostTable(s.fsys, round.Sequence, size, root)
	return followAt(record.HostsPath(round.Sequence, ""), rule.IndexFold, err)
}

// told says that there is a new round.
func (s *step) told(round record.Round) {
	detail := fmt.Sprintf("taken at %s, %d rows, %d probed", round.TakenAt, round.Rows, round.Coverage.Probed)
	if round.Coverage.Suspect {
		detail += ", coverage suspect"
	}
	s.out.Changes = append(s.out.Changes, FollowedChange{Kind: "round", Sequence: round.Sequence, Week: round.Week,
		Detail: detail})
}

// window is the log index from which on observations bear upon tiers.
func (s *step) window() int64 {
	if n := len(s.rounds) - tier.WindowRounds; n > 0 {
		return s.rounds[n-1].FirstLeaf
	}
	return 0
}

// observations demands of each leaf behind the head that is remembered, and that is not a round's,
// that it is the next observation, so that no round is left out. Where a host is new it reads those
// before that still bear upon tiers.
func (s *step) observations() error {
	s.named()
	from := s.old.Size
	if s.before == nil {
		from = s.end()
	}
	for _, f := range s.hosts {
		if f.old == nil {
			from = min(from, s.window())
		}
	}
	// A new round is held to all that stands between it and the one before.
	if s.before != nil && len(s.rounds) > s.known {
		from = min(from, endOf(s.rounds[:s.known]))
	}
	begin, number := int64(0), int64(1) // of the gap before a round
	for i := 0; i <= len(s.rounds); i++ {
		end, behind := s.head.Size, s.head.Size
		if i < len(s.rounds) {
			end, behind = s.rounds[i].FirstLeaf, s.rounds[i].LeavesEnd()
		}
		for leaf := max(begin, from); leaf < end; leaf++ {
			if err := s.observation(leaf, number+leaf-begin, i); err != nil {
				return err
			}
		}
		if i < len(s.rounds) && s.before != nil && i >= s.known {
			if err := s.lot(s.rounds[i]); err != nil {
				return followAt(record.HeaderPath(s.rounds[i].Sequence), rule.LotClosed, fmt.Errorf("its lot: %w", err))
			}
		}
		begin, number = behind, number+end-begin
	}
	return nil
}

// dated demands of an observation that it is dated as it stands between two rounds, and not ahead
// of the clock of who follows; and that it closes no roster that was closed before.
func (s *step) dated(o record.Observation, before, behind *record.Round) error {
	err := o.Dates(before, behind)
	if err == nil && !s.o.Now.IsZero() && !s.out.Specimen {
		err = o.Ahead(s.o.Now, "this machine's clock")
	}
	if err != nil {
		return err
	}
	return s.closed.Add(o)
}

// lot demands that the lot of a round is the one that the closing of its roster, which stands
// before it, said would be drawn. Whether its rows are those of the roster it does not see.
func (s *step) lot(r record.Round) error {
	if r.Lot == nil {
		return nil
	}
	c, ok := s.closed[r.Week]
	if !ok {
		return rule.LotClosed.Errorf("no observation before it closes the roster of %s", r.Week)
	}
	return r.Lot.Of(c.ClosedRoster, c.At, record.LeastWork)
}

// observation reads the observation at a leaf, which stands before the i-th round and has to have a
// number.
func (s *step) observation(leaf, number int64, i int) error {
	last := i == len(s.rounds)
	raw, err := s.log.Entry(leaf)
	if err != nil {
		return followAt(tlog.Path("tile/entries"), rule.LogTile, err)
	}
	o, err := record.VerifyObservation(raw, s.ring)
	if err != nil {
		if _, notRow := record.ParseRow(raw); notRow == nil && last {
			name := record.HeaderPath(int64(len(s.rounds)) + 1)
			return fmt.Errorf("leaf %d of the log is a row of a round whose header is not there: %w", leaf,
				&fs.PathError{Op: "get", Path: name, Err: fs.ErrNotExist})
		}
		return followAt(tlog.Path("tile/entries"), rule.ObservationForm, fmt.Errorf("leaf %d: %w", leaf, err))
	}
	if o.Number != number {
		return followAt(tlog.Path("tile/entries"), rule.ObservationNumber,
			fmt.Errorf("leaf %d holds observation %d in the "+
				"place of %d", leaf, o.Number, number))
	}
	var before, behind *record.Round
	if i > 0 {
		before = &s.rounds[i-1]
	}
	if !last {
		behind = &s.rounds[i]
	}
	if err := s.dated(o, before, behind); err != nil {
		return followAt("observations/"+o.File(), rule.ObservationDate, err)
	}
	for _, f := range s.hosts {
		if o.Refresh != nil && o.Refresh.Host == f.name && (f.old == nil || leaf >= s.old.Size) {
			f.refreshes, f.texts = append(f.refreshes, o), append(f.texts, string(raw))
		}
	}
	if o.Erratum != nil {
		s.errata = append(s.errata, erratum{o, string(raw), leaf})
	}
	if s.before == nil || leaf < s.old.Size {
		return nil
	}
	if o.Erratum != nil || o.Withdrawn != nil || s.host(o.Subject()) != nil {
		s.news = append(s.news, o)
	}
	return nil
}
