package verify

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"
	"strings"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/corpus/tlog"
)

// followStep is one host on its way through a step.
type followStep struct {
	name      string
	old       *Followed // nil for one that was not followed before
	entry     record.HostEntry
	rows      []record.StoredRow   // those remembered and the new ones, oldest first
	fresh     int                  // so many of them, the last ones, are new
	refreshes []record.Observation // and errata of its rows
	texts     []string             // of both, exact bytes
	tier      tier.Standing
}

// erratum is one that a step met, with its exact bytes and its place in the log.
type erratum struct {
	record.Observation
	text string
	leaf int64
}

// named takes down the hosts that are followed, with what is remembered of them.
func (s *step) named() {
	for _, name := range s.o.Hosts {
		if s.host(name) != nil {
			continue
		}
		f := &followStep{name: name, old: s.before.host(name)}
		if f.old != nil {
			f.rows, f.refreshes, _ = f.old.read(s.ring) // ParseState has read it before
			f.texts = slices.Clone(f.old.Refreshes)
			if f.old.Entry != nil {
				f.entry = *f.old.Entry
			}
		}
		s.hosts = append(s.hosts, f)
	}
}

func (s *step) host(name string) *followStep {
	if i := slices.IndexFunc(s.hosts, func(f *followStep) bool { return f.name == name }); i >= 0 {
		return s.hosts[i]
	}
	return nil
}

// follow brings each host up to the newest round.
func (s *step) follow() error {
	for _, f := range s.hosts {
		if len(s.rounds) > 0 && (f.old == nil || s.known < len(s.rounds)) {
			if err := s.goOn(f); err != nil {
				return err
			}
		}
		for _, e := range s.errata {
			if (f.old == nil || e.leaf >= s.old.Size) && slices.ContainsFunc(f.rows,
				func(r record.StoredRow) bool { return r.Leaf == e.Erratum.Leaf }) {
				f.refreshes, f.texts = append(f.refreshes, e.Observation), append(f.texts, e.text)
			}
		}
		f.tier = f.standing(s.rounds)
	}
	return nil
}

// goOn looks up the entry of a host, reads the rows behind the one that is remembered, and demands
// that the entry is the fold of both.
func (s *step) goOn(f *followStep) error {
	newest := s.rounds[len(s.rounds)-1]
	name := record.HostsPath(newest.Sequence, "")
	if s.table == nil { // no round is new, the host is
		leaf, err := s.log.Entry(newest.HostsLeaf())
		if err != nil {
			return followAt(tlog.Path("tile/entries"), rule.LogTile, err)
		}
		size, root, err := record.ParseHostsLeaf(leaf, newest.Sequence)
		if err != nil {
			return followAt(name, rule.IndexFold, err)
		}
		s.table = record.OpenHostTable(s.fsys, newest.Sequence, size, root)
	}
	places, err := s.table.Find(f.name)
	if err != nil {
		return followAt(name, rule.IndexFold, err)
	}
	before := f.entry
	if len(places) == 1 && places[0].Entry.Host == f.name {
		f.entry = places[0].Entry
	} else if before.Rows > 0 {
		return followAt(name, rule.IndexFold, fmt.Errorf("the entry of %s is gone", f.name))
	}
	if f.entry.Rows > 0 {
		if err := s.rowsOf(f, before); err != nil {
			return err
		}
	}
	first := s.known
	if f.old == nil {
		first = len(s.rounds) - 1
	}
	for _, round := range s.rounds[first:] {
		if slices.ContainsFunc(f.rows, func(r record.StoredRow) bool { return r.Sequence == round.Sequence }) {
			continue
		}
		if err := s.absent(f.name, round); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf reads the rows of a host from its newest one back, to the newest that is remembered, and
// as far as its tier asks for.
func (s *step) rowsOf(f *followStep, before record.HostEntry) error {
	fresh, held := f.entry.Rows-before.Rows, f.rows
	if fresh < 0 || f.entry.LastLeaf < before.LastLeaf || fresh == 0 && f.entry != before {
		return followAt(record.HostsPath(s.rounds[len(s.rounds)-1].Sequence, ""), rule.IndexFold,
			fmt.Errorf("of %s it has %d rows, the newest at leaf %d; %d were seen, the newest at leaf %d", f.name,
				f.entry.Rows, f.entry.LastLeaf, before.Rows, before.LastLeaf))
	}
	var back []record.StoredRow // newest first
	next := &f.entry.LastLeaf
	for leaf := next; leaf != nil && int64(len(back)) < f.entry.Rows; leaf = next {
		if int64(len(back)) >= fresh && f.old != nil || f.old == nil && s.enough(back, *leaf) {
			break
		}
		row, err := s.row(f.name, *leaf)
		if err != nil {
			return err
		}
		if next = row.PreviousLeaf; next != nil && *next >= *leaf {
			return followAt(tlog.Path("tile/entries"), rule.RowPrevious,
				fmt.Errorf("the row of %s at leaf %d names leaf %d "+
					"before it", f.name, *leaf, *next))
		}
		back = append(back, row)
	}
	f.fresh = len(back)
	slices.Reverse(back)
	// The first step sees the newest rows alone, and folds them if they are all.
	if f.old != nil || next == nil {
		if err := f.folded(before, back, next); err != nil {
			return followAt(record.HostsPath(s.rounds[len(s.rounds)-1].Sequence, ""), rule.IndexFold, err)
		}
	}
	f.rows = append(held, back...)
	return s.behindOptOut(f)
}

// enough reports whether the row at a leaf is one that no tier asks for any more.
func (s *step) enough(rows []record.StoredRow, leaf int64) bool {
	return len(rows) > 0 && leaf < s.window() && !optedOut(s.rounds, rows[0])
}

// folded demands that the entry is the fold of the one before and the rows behind it; first is what
// the oldest of them names before it.
func (f *followStep) folded(before record.HostEntry, rows []record.StoredRow, first *int64) error {
	e := before
	if (before.Rows == 0) != (first == nil) || first != nil && *first != before.LastLeaf {
		return fmt.Errorf("the rows of %s do not lead to the one at leaf %d that was seen", f.name, before.LastLeaf)
	}
	for _, row := range rows {
		e = e.Next(f.name, row.Sequence, row.Leaf, sha256.Sum256(row.Raw))
	}
	if e != f.entry {
		return fmt.Errorf("the entry of %s, of %d rows with head %s, is not the fold of its rows, which are %d with "+
			"head %s", f.name, f.entry.Rows, f.entry.Head, e.Rows, e.Head)
	}
	return nil
}

// optedOut reports whether a row says that the host asked, in the newest round, not to be walked:
// then its tier rests on what was seen before.
func optedOut(rounds []record.Round, newest record.StoredRow) bool {
	return newest.Sequence == int64(len(rounds)) && newest.Reason == record.ReasonOptedOut
}

// behindOptOut reads all rows of a host that opted out.
func (s *step) behindOptOut(f *followStep) error {
	if n := len(f.rows); n == 0 || !optedOut(s.rounds, f.rows[n-1]) {
		return nil
	}
	var back []record.StoredRow
	for next := &f.entry.LastLeaf; next != nil && int64(len(back)) < f.entry.Rows; {
		i := slices.IndexFunc(f.rows, func(r record.StoredRow) bool { return r.Leaf == *next })
		if i >= 0 {
			back = append(back, f.rows[i])
		} else {
			row, err := s.row(f.name, *next)
			if err != nil {
				return err
			}
			back = append(back, row)
		}
		next = back[len(back)-1].PreviousLeaf
	}
	slices.Reverse(back)
	f.rows = back
	return nil
}

// roundAt is the round with a row at a leaf.
func (s *step) roundAt(leaf int64) (record.Round, bool) {
	i := sort.Search(len(s.rounds), func(i int) bool { return s.rounds[i].RoundLeaf() > leaf })
	if i == len(s.rounds) || leaf < s.rounds[i].FirstLeaf {
		return record.Round{}, false
	}
	return s.rounds[i], true
}

// row reads the row of a host at a leaf, as its round's key signed it.
func (s *step) row(host string, leaf int64) (out record.StoredRow, err error) {
	name := tlog.Path("tile/entries")
	round, ok := s.roundAt(leaf)
	if !ok {
		return out, followAt(name, rule.RowPrevious,
			fmt.Errorf("leaf %d, which is said to be a row of %s, is none of a "+
				"round", leaf, host))
	}
	raw, err := s.log.Entry(leaf)
	if err != nil {
		return out, followAt(name, rule.LogTile, err)
	}
	row, err := round.OpenRow(raw, s.ring)
	if err == nil && row.Host != host {
		err = rule.RowPrevious.Errorf("it is of %s", row.Host)
	}
	if err != nil {
		return out, followAt(name, rule.RowForm, fmt.Errorf("leaf %d, a row of %s: %w", leaf, host, err))
	}
	return record.StoredRow{Row: row, Raw: raw, Leaf: leaf}, nil
}

// absent demands that a round has no row of a host, which its index does not have either: the rows
// are sorted.
func (s *step) absent(host string, round record.Round) error {
	var fault error
	found := int64(-1)
	sort.Search(int(round.Rows), func(i int) bool {
		leaf := round.FirstLeaf + int64(i)
		raw, err := s.log.Entry(leaf)
		if err != nil {
			fault = followAt(tlog.Path("tile/entries"), rule.LogTile, err)
			return true
		}
		row, err := record.ParseRow(raw)
		if err != nil {
			fault = followAt(tlog.Path("tile/entries"), rule.RowForm, fmt.Errorf("leaf %d: %w", leaf, err))
			return true
		}
		if row.Host == host {
			found = leaf
		}
		return row.Host >= host
	})
	if fault == nil && found >= 0 {
		return followAt(record.HostsPath(round.Sequence, ""), rule.IndexFold,
			fmt.Errorf("round %d has a row of %s, at leaf "+
				"%d, which its index leaves out", round.Sequence, host, found))
	}
	return fault
}

// standing derives the tier of a host.
func (f *followStep) standing(rounds []record.Round) tier.Standing {
	rows := slices.Clone(f.rows)
	record.ErrataOf(f.refreshes).Correct(rows)
	if f.entry.Rows > 0 && (len(rows) == 0 || rows[0].Sequence > f.entry.FirstSequence) {
		// Of the rows before those that count it matters that there are some.
		rows = slices.Insert(rows, 0, record.StoredRow{Host: f.name,
			Sequence: f.entry.FirstSequence, Verdict: record.VerdictNotProbed})
	}
	return tier.StandingOf(tier.HistoryOf(rounds, record.History{Host: f.name, Rows: rows}, f.refreshes))
}

// remember is what the next step needs of the host.
func (f *followStep) remember(rounds []record.Round) Followed {
	out := Followed{Host: f.name, Rows: []FollowedRow{}, Refreshes: []string{}}
	if f.entry.Rows > 0 {
		entry := f.entry
		out.Entry, out.Tier = &entry, f.tier.Tier
	}
	asked := f.offered(len(f.rows))
	first, since := int64(len(rounds)-tier.WindowRounds)+1, ""
	if first > 1 {
		since = rounds[first-2].TakenAt
	}
	all := len(f.rows) > 0 && optedOut(rounds, f.rows[len(f.rows)-1])
	for i, row := range f.rows {
		if all || row.Sequence >= first || i == asked {
			out.Rows = append(out.Rows, FollowedRow{Leaf: row.Leaf, Row: string(row.Raw)})
		}
	}
	for i, o := range f.refreshes {
		if all || o.At >= since {
			out.Refreshes = append(out.Refreshes, f.texts[i])
		}
	}
	return out
}

// offered is the place of the newest row before another that says where money is asked to, -1 for
// none.
func (f *followStep) offered(before int) int {
	for i := before - 1; i >= 0; i-- {
		if o := f.rows[i].Offer; o != nil && len(o.PayTo) > 0 {
			return i
		}
	}
	return -1
}

// lacks are the addresses of one list that another does not have.
func lacks(all, without []record.PayTo) (out []record.PayTo) {
	for _, a := range all {
		if !slices.Contains(without, a) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b record.PayTo) int {
		return strings.Compare(a.Network+" "+a.Digest, b.Network+" "+b.Digest)
	})
	return out
}
