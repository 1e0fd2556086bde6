package generator

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
func (s *source) readBook() (*derive.Book, error) {
	b := &derive.Book{BaseURL: s.base, Rounds: s.rounds, Feed: s.feed, Proofs: s.proofs}
	if s.record == nil {
		return b, nil
	}
	var err error
	b.Roll, b.Figures, err = derive.CallRoll(s.base, s.rounds,
		func(host string) []record.Observation { return s.about[host] },
		derive.Corrected(s.record.Histories(), s.errata))
	if err != nil {
		return nil, fmt.Errorf("deriving the views of the record: %w", derive.Mend(err))
	}
	return b, nil
}

// openViews reads what the views need of a record that is open: the state of its proofs of time.
func (s *source) openViews() error {
	d := newDigester()
	d.digest(s.chain)
	s.proofs = make([]string, len(s.rounds))
	for i, r := range s.rounds {
		p, ok, err := s.record.Proof(r.Sequence, 0)
		if err != nil {
			return derive.Mend(fmt.Errorf("reading the proof of time of round %d: %w", r.Sequence, err))
		}
		if ok {
			s.proofs[i] = p.Status.State
		}
		d.text(s.proofs[i])
	}
	for _, o := range s.feed {
		d.text(o.Signature.String())
	}
	s.state = d.sum()
	return nil
}

// depsRecord is of a page with prose of its own.
func depsRecord(page string) func(*source, int, *digester) {
	return func(s *source, _ int, d *digester) {
		s.page(d, page)
		s.ofRecord(d)
	}
}

// numbered streams the pages of a list, from 1, by the bytes of their numbers. made adds what page
// n depends on.
func numbered(count func(*derive.Book) int, made func(s *source, n int, d *digester)) func(*source) iter.Seq2[unit,
	error] {
	return func(s *source) iter.Seq2[unit, error] {
		return func(yield func(unit, error) bool) {
			b, err := s.book()
			if err != nil {
				yield(unit{}, err)
				return
			}
			keys := make([]string, count(b))
			for i := range keys {
				keys[i] = strconv.Itoa(i + 1)
			}
			slices.Sort(keys)
			for _, key := range keys {
				n, err := strconv.Atoi(key)
				if !yield(unit{key: key, value: n, made: func(d *digester) { made(s, n, d) }}, err) {
					return
				}
			}
		}
	}
}

// numberedList lists the keys of the same.
func numberedList(count func(*derive.Book) int) func(*source) iter.Seq2[string, error] {
	all := numbered(count, nil)
	return func(s *source) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			for u, err := range all(s) {
				if !yield(u.key, err) {
					return
				}
			}
		}
	}
}

// weekly streams the rounds from one on, by their weeks, with the round's place as the value. until
// says on how many rounds one depends.
func weekly(from int, until func(i, n int) int) func(*source) iter.Seq2[unit, error] {
	return func(s *source) iter.Seq2[unit, error] {
		return func(yield func(unit, error) bool) {
			for i := from; i < len(s.rounds); i++ {
				u := unit{key: s.rounds[i].Week, value: i, made: func(d *digester) {
					d.text(s.base)
					known := s.rounds[:until(i, len(s.rounds))]
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
func proofUnits(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		for u := range roundUnits(s) {
			p, ok, err := s.record.Proof(u.value.(record.Round).Sequence, 0)
			if err == nil && !ok {
				continue
			}
			proof := unit{key: u.key}
			if err == nil {
				raw := p.Merged.Encode()
				proof.value, proof.made = raw, func(d *digester) { d.text(string(raw)) }
			}
			if !yield(proof, err) || err != nil {
				return
			}
		}
	}
}

func renderProof(_ *source, u unit, _ string, _ attest.Digest) ([]byte, error) {
	return u.value.([]byte), nil
}
