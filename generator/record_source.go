package generator

import (
	"cmp"
	"fmt"
	"time"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/templates"
)

// open reads the heads of the signed record: rounds, observations and what is
// derived from them for many pages. Rows are read by the rows of the table that
// need them.
func (s *source) open() error {
	if s.Corpus == nil {
		return nil
	}
	err := RecordIsNewer(s.Corpus)
	if err != nil {
		return err
	}
	if s.record, err = record.Open(s.Corpus, s.Ring); err != nil {
		return derive.Mend(err)
	}
	s.prover.Record = s.record
	if s.feed, err = s.record.Observations(); err != nil {
		return derive.Mend(err)
	}
	s.rounds, s.words = s.record.Rounds(), retiredWords(s.feed)
	if n := len(s.rounds); n > 0 && s.rounds[n-1].LeavesEnd() > s.record.Log.Head().Size {
		return fmt.Errorf("the log of the record has %d leaves, and its rounds %d; hint: store census ends what was "+
			"interrupted; otherwise fetch the folder log from the last backup or from the published copy",
			s.record.Log.Head().Size, s.rounds[n-1].LeavesEnd())
	}
	s.about, s.errata, s.chain = aboutHosts(s.feed), record.ErrataOf(s.feed), s.digestRounds()
	if s.firstHost, err = firstHost(s.record); err != nil {
		return derive.Mend(err)
	}
	return s.openViews()
}

// firstHost is the host of the first row of a record, "" for none. It stays the same however the
// record grows.
func firstHost(r *record.Record) (string, error) {
	for _, round := range r.Rounds() {
		for row, err := range r.Rows(round.Sequence) {
			return row.Host, err
		}
	}
	return "", nil
}

// retiredWords are those of the public register.
func retiredWords(feed []record.Observation) []templates.RetiredWord {
	var words []templates.RetiredWord
	for _, o := range feed {
		if o.Kind == record.ObservationRetiredWord {
			words = append(words, templates.RetiredWord{
				Number: o.Number, Word: cmp.Or(o.Word.Text, "[withdrawn]"), Epitaph: o.Epitaph,
				Date: o.At[:len(time.DateOnly)],
			})
		}
	}
	return words
}
