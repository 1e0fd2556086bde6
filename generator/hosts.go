package generator

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"

	"agentstore/corpus"
	"agentstore/corpus/attest"
	"agentstore/corpus/derive"
	"agentstore/templates"
)

// hostUnits streams a unit for each host of the record, which depends on the host's rows, on all rounds, since a round
// without the host is part of its history too, and on the observations of the host. Its value is a *hostRows.
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
				for _, row := range h.raw.Rows {
					d.number(row.Leaf)
					d.text(string(row.Raw))
				}
				for _, o := range h.feed {
					d.number(o.Number)
					d.text(o.Signature.String())
				}
			}
			if !yield(u, err) || err != nil {
				return
			}
		}
	}
}

// hostRows is what the record holds of a host.
type hostRows struct {
	raw  corpus.RawHistory
	feed []corpus.Observation // about the host, oldest first
	view *templates.HostView  // made by whoever renders it first
}

// history parses the rows. It is left to whoever renders the host, since most hosts of most builds are not rendered.
func (h *hostRows) history() (corpus.History, error) { return h.raw.Parse() }

// digestRounds is over all rounds.
func (s *source) digestRounds() attest.Digest {
	d := newDigester()
	for _, r := range s.rounds {
		d.round(r)
	}
	return d.sum()
}

// aboutHosts sorts the observations that are about a host to it.
func aboutHosts(feed []corpus.Observation) map[string][]corpus.Observation {
	about := make(map[string][]corpus.Observation)
	for _, o := range feed {
		if host := derive.SubjectOf(o); host != "" {
			about[host] = append(about[host], o)
		}
	}
	return about
}

// hostList is the hosts of the record, found once and kept on disk.
type hostList struct {
	find func() iter.Seq2[string, error]
	once sync.Once
	file *os.File
	n    int
	err  error
}

// hostNames yields the hosts of the record in order. It takes little once it was done.
func hostNames(s *source) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if s.record == nil {
			return
		}
		l := &s.hosts
		l.once.Do(l.fill)
		if l.err != nil {
			yield("", l.err)
			return
		}
		info, err := l.file.Stat()
		if err != nil {
			yield("", fmt.Errorf("listing hosts: %w", err))
			return
		}
		r := bufio.NewReaderSize(io.NewSectionReader(l.file, 0, info.Size()), 32<<10)
		var buf []byte
		for {
			n, err := binary.ReadUvarint(r)
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				if uint64(cap(buf)) < n {
					buf = make([]byte, n)
				}
				_, err = io.ReadFull(r, buf[:n])
			}
			if err != nil {
				yield("", fmt.Errorf("listing hosts: %w", err))
				return
			}
			if !yield(string(buf[:n]), nil) {
				return
			}
		}
	}
}

// hostCount is how many hosts the record knows.
func (s *source) hostCount() (int, error) {
	if s.record == nil {
		return 0, nil
	}
	s.hosts.once.Do(s.hosts.fill)
	return s.hosts.n, s.hosts.err
}

func (l *hostList) fill() {
	f, err := os.CreateTemp("", "hosts-*")
	if err != nil {
		l.err = fmt.Errorf("listing hosts: %w", err)
		return
	}
	l.file = f
	w := bufio.NewWriterSize(f, 64<<10)
	var head []byte
	for host, err := range l.find() {
		if err != nil {
			l.err = err
			return
		}
		head = binary.AppendUvarint(head[:0], uint64(len(host)))
		w.Write(head)
		w.WriteString(host)
		l.n++
	}
	if err := w.Flush(); err != nil { // the writer keeps its first error
		l.err = fmt.Errorf("listing hosts: %w", err)
	}
}

func (l *hostList) close() error {
	if l.file == nil {
		return nil
	}
	return errors.Join(l.file.Close(), os.Remove(l.file.Name()))
}
