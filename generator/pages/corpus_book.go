package pages

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
)

// book is what the views of the record are made from besides single hosts. It is worked out once a
// build, in one pass over the histories of the hosts.
func (s *Source) readBook() (*derive.Book, error) {
	b := &derive.Book{BaseURL: s.Base, Rounds: s.Rounds, Feed: s.Feed, Proofs: s.proofs}
	if s.Record == nil {
		return b, nil
	}
	var err error
	b.Roll, b.Figures, err = derive.CallRoll(s.Base, s.Rounds,
		func(host string) []record.Observation { return s.about[host] },
		derive.Corrected(s.Record.Histories(), s.errata))
	if err != nil {
		return nil, fmt.Errorf("deriving the views of the record: %w", derive.Mend(err))
	}
	return b, nil
}

// openViews reads what the views need of a record that is open: the state of its proofs of time.
func (s *Source) openViews() error {
	d := NewDigester()
	d.digest(s.chain)
	s.proofs = make([]string, len(s.Rounds))
	for i, r := range s.Rounds {
		p, ok, err := s.Record.Proof(r.Sequence, 0)
		if err != nil {
			return derive.Mend(fmt.Errorf("reading the proof of time of round %d: %w", r.Sequence, err))
		}
		if ok {
			s.proofs[i] = p.Status.State
		}
		d.text(s.proofs[i])
	}
	for _, o := range s.Feed {
		d.text(o.Signature.String())
	}
	s.state = d.sum()
	return nil
}

// depsRecord is of a page with prose of its own.
func depsRecord(page string) func(*Source, int, *Digester) {
	return func(s *Source, _ int, d *Digester) {
		s.page(d, page)
		s.ofRecord(d)
	}
}

// numbered streams the pages of a list, from 1, by the bytes of their numbers. made adds what page
// n depends on.
func numbered(count func(*derive.Book) int, made func(s *Source, n int, d *Digester)) func(*Source) iter.Seq2[Unit,
	error] {
	return func(s *Source) iter.Seq2[Unit, error] {
		return func(yield func(Unit, error) bool) {
			b, err := s.book()
			if err != nil {
				yield(Unit{}, err)
				return
			}
			keys := make([]string, count(b))
			for i := range keys {
				keys[i] = strconv.Itoa(i + 1)
			}
			slices.Sort(keys)
			for _, key := range keys {
				n, err := strconv.Atoi(key)
				if !yield(Unit{Key: key, value: n, Made: func(d *Digester) { made(s, n, d) }}, err) {
					return
				}
			}
		}
	}
}

// numberedList lists the keys of the same.
func numberedList(count func(*derive.Book) int) func(*Source) iter.Seq2[string, error] {
	all := numbered(count, nil)
	return func(s *Source) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for u, err := range all(s) {
				if !yield(u.Key, err) {
					return
				}
			}
		}
	}
}

// weekly streams the rounds from one on, by their weeks, with the round's place as the value. until
// says on how many rounds one depends.
func weekly(from int, until func(i, n int) int) func(*Source) iter.Seq2[Unit, error] {
	return func(s *Source) iter.Seq2[Unit, error] {
		return func(yield func(Unit, error) bool) {
			for i := from; i < len(s.Rounds); i++ {
				u := Unit{Key: s.Rounds[i].Week, value: i, Made: func(d *Digester) {
					d.text(s.Base)
					known := s.Rounds[:until(i, len(s.Rounds))]
					for _, r := range known {
						d.round(r)
					}
					s.correctionsBefore(d, known[len(known)-1].LeavesEnd())
				}}
				if !yield(u, nil) {
					return
				}
			}
		}
	}
}

// proofUnits streams the proofs of time of the rounds that have one.
func proofUnits(s *Source) iter.Seq2[Unit, error] {
	return func(yield func(Unit, error) bool) {
		for u := range roundUnits(s) {
			p, ok, err := s.Record.Proof(u.value.(record.Round).Sequence, 0)
			if err == nil && !ok {
				continue
			}
			proof := Unit{Key: u.Key}
			if err == nil {
				raw := p.Merged.Encode()
				proof.value, proof.Made = raw, func(d *Digester) { d.text(string(raw)) }
			}
			if !yield(proof, err) || err != nil {
				return
			}
		}
	}
}

func renderProof(_ *Source, u Unit, _ string, _ attest.Digest) ([]byte, error) {
	return u.value.([]byte), nil
}
