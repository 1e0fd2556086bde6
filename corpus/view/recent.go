package view

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"

	"store.example/agentstore/corpus/record"
)

// Recent yields every host in the order of its bytes with its first row and its last n: what a tier
// is derived from. It parses no other rows, and what it yields counts only if no error came behind.
func (v *View) Recent(n int) iter.Seq2[record.History, error] {
	return func(yield func(record.History, error) bool) {
		for e, err := range v.hosts.from("") {
			h := record.History{Host: e.key}
			if err == nil {
				h, err = recentRows(e.key, e.value, n)
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

func recentRows(host string, value []byte, n int) (record.History, error) {
	h := record.History{Host: host}
	var stored []record.StoredRow
	c := cursor{rest: value}
	for len(c.rest) > 0 && !c.bad {
		row := record.StoredRow{Leaf: int64(c.number())}
		row.Raw = c.take(c.number())
		stored = append(stored, row)
	}
	if err := c.end(); err != nil {
		return h, fmt.Errorf("reading view: rows of %s: %w", host, err)
	}
	for i, row := range stored {
		if i > 0 && i < len(stored)-n {
			continue
		}
		row.Raw = bytes.Clone(row.Raw)
		if err := json.Unmarshal(row.Raw, &row.Row, json.RejectUnknownMembers(true)); err != nil {
			return h, fmt.Errorf("reading view: row of %s: %w", host, err)
		}
		h.Rows = append(h.Rows, row)
	}
	return h, nil
}

// maxSkipped is how many neighbours are read past before the next host is looked up anew.
const maxSkipped = 64

// RecentOf yields the first row and the last n of hosts, which must be sorted and held by the view.
// Neighbours are read from the same blocks.
func (v *View) RecentOf(hosts []string, n int) iter.Seq2[record.History, error] {
	return func(yield func(record.History, error) bool) {
		for len(hosts) > 0 {
			before, skipped := len(hosts), 0
			for e, err := range v.hosts.from(hosts[0]) {
				if err == nil && e.key < hosts[0] {
					if skipped++; skipped > maxSkipped {
						break
					}
					continue
				}
				h := record.History{Host: hosts[0]}
				if err == nil && e.key == hosts[0] {
					h, err = recentRows(e.key, e.value, n)
				} else if err == nil {
					err = fmt.Errorf("reading view: there is no host %s", hosts[0])
				}
				if !yield(h, err) || err != nil {
					return
				}
				if hosts = hosts[1:]; len(hosts) == 0 {
					return
				}
				skipped = 0
			}
			if len(hosts) == before {
				yield(record.History{Host: hosts[0]}, fmt.Errorf("reading view: there is no host %s", hosts[0]))
				return
			}
		}
	}
}
