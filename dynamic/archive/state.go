package archive

import (
	"slices"
	"sync"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/hostindex"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// State is the record at one moment. It does not change, but for what it keeps of its answers.
type State struct {
	Record *record.Record
	Index  *hostindex.Index
	Rounds []record.Round // those that the index holds, oldest first
	Feed   []record.Observation

	errata   record.Errata
	byHost   map[string][]int32     // places in Feed
	notes    map[record.PayTo]int32 // place of the newest note by an address
	words    map[string]int32       // place of each retired word
	evidence map[string]int32       // place of each refresh, by the digest of its evidence

	places sync.Map // of *attest.KeyPlace, by kid

	derive.Prover // of the record
}

func newState(rec *record.Record, index *hostindex.Index, rounds []record.Round, feed []record.Observation) *State {
	s := &State{Record: rec, Index: index, Rounds: rounds, Feed: feed, errata: record.ErrataOf(feed),
		byHost: map[string][]int32{}, notes: map[record.PayTo]int32{}, words: map[string]int32{},
		evidence: map[string]int32{}, Prover: derive.Prover{Record: rec}}
	for i, o := range feed {
		if host := o.Subject(); host != "" {
			s.byHost[host] = append(s.byHost[host], int32(i))
		}
		if o.Note != nil && o.Note.PayTo != nil && o.Note.Statement.Text != "" {
			s.notes[*o.Note.PayTo] = int32(i)
		}
		if o.Word != nil && o.Word.Text != "" {
			s.words[o.Word.Text] = int32(i)
		}
		if o.Refresh != nil {
			s.evidence[o.Refresh.EvidenceDigest] = int32(i)
		}
	}
	return s
}

// About returns the observations of one host, in order.
func (s *State) About(host string) []record.Observation {
	places := s.byHost[host]
	out := make([]record.Observation, len(places))
	for i, at := range places {
		out[i] = s.Feed[at]
	}
	return out
}

// Note returns the newest standing note that an address signed; false for none.
func (s *State) Note(p record.PayTo) (record.Observation, bool) {
	return find(s.Feed, s.notes, p)
}

// Word returns the observation that retired a word; false for none.
func (s *State) Word(word string) (record.Observation, bool) {
	return find(s.Feed, s.words, word)
}

// Refreshed returns the refresh whose evidence has a digest; false for none.
func (s *State) Refreshed(evidence string) (record.Observation, bool) {
	return find(s.Feed, s.evidence, evidence)
}

func find[K comparable](feed []record.Observation, places map[K]int32, key K) (record.Observation, bool) {
	at, ok := places[key]
	if !ok {
		return record.Observation{}, false
	}
	return feed[at], true
}

// Weeks are those for which there is a round, oldest first.
func (s *State) Weeks() []string { return slices.Clone(s.Index.Head().Weeks) }

// Rows returns the rows of a host as errata correct them, oldest first; false for one that no round
// ever named.
func (s *State) Rows(host string) (record.History, bool, error) {
	h, ok, err := s.Index.Host(host)
	s.errata.Correct(h.Rows)
	return h, ok, err
}

// History derives what the record shows of a host; false for one that no round ever named.
func (s *State) History(host string) (tier.History, bool, error) {
	rows, ok, err := s.Rows(host)
	if err != nil || !ok {
		return tier.History{Host: host}, false, err
	}
	return tier.HistoryOf(s.Rounds, rows, s.About(host)), true, nil
}

// Others tells at how many other hosts a round saw an address that one host advertised in it.
func (s *State) Others(sequence int64, p record.PayTo) (int64, error) {
	sum, err := s.Index.Address(p)
	return max(0, sum.In[sequence]-1), err
}
