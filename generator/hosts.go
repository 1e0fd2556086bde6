package generator

import (
	"iter"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/templates"
)

// hostUnits streams a unit for each host of the record. It depends on all rounds, since a round
// without the host is part of its history too, and on the observations of the host. The rounds
// commit to its rows. Its value is a *hostRows.
func hostUnits(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		if s.record == nil {
			return
		}
		for raw, err := range s.record.RawHistories() {
			h := &hostRows{raw: raw, feed: s.about[raw.Host]}
			u := unit{key: raw.Host, value: h}
			u.made = func(d *digester) {
				d.digest(s.chain)
				for _, o := range h.feed {
					d.number(o.Number)
					d.text(o.Signature.String())
					if o.Note != nil {
						d.text(o.Note.Statement.Text) // until it is withdrawn
					}
				}
				s.corrections(d, raw)
			}
			if !yield(u, err) || err != nil {
				return
			}
		}
	}
}

// corrections adds the errata of a host's rows.
func (s *source) corrections(d *digester, h record.RawHistory) {
	if len(s.errata) == 0 {
		return
	}
	for _, row := range h.Rows {
		if o, ok := s.errata[row.Leaf]; ok {
			d.text(o.Signature.String())
		}
	}
}

// correctionsBefore adds the errata of rows before a leaf.
func (s *source) correctionsBefore(d *digester, leaf int64) {
	for _, o := range s.feed {
		if o.Erratum != nil && o.Erratum.Leaf < leaf {
			d.text(o.Signature.String())
		}
	}
}

// hostRows is what the record holds of a host.
type hostRows struct {
	raw  record.RawHistory
	feed []record.Observation // about the host, oldest first
	view *templates.HostView  // made by whoever renders it first
}

// digestRounds is over all rounds.
func (s *source) digestRounds() attest.Digest {
	d := newDigester()
	for _, r := range s.rounds {
		d.round(r)
	}
	return d.sum()
}

// aboutHosts sorts the observations that are about a host to it.
func aboutHosts(feed []record.Observation) map[string][]record.Observation {
	about := make(map[string][]record.Observation)
	for _, o := range feed {
		if host := o.Subject(); host != "" {
			about[host] = append(about[host], o)
		}
	}
	return about
}

// hostNames yields the hosts of the record in order.
func hostNames(s *source) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		b, err := s.book()
		if err != nil {
			yield("", err)
			return
		}
		for i := range b.Hosts() {
			if !yield(b.Roll.Host(i), nil) {
				return
			}
		}
	}
}

// hostCount is how many hosts the record knows.
func (s *source) hostCount() (int, error) {
	b, err := s.book()
	if err != nil {
		return 0, err
	}
	return b.Hosts(), nil
}
