package feed

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// KeyEvents puts the handovers of a ring on the feed that are not there yet, in the ring's order,
// which is the order in which they took effect. It may be called at any time by anybody.
func KeyEvents(tx ledger.Tx, ring attest.Ring) error {
	for _, h := range ring.Handovers {
		raw, err := attest.Canonical(h)
		if err != nil {
			return err
		}
		key := ledger.GoodsKey("key-event", attest.Digest(sha256.Sum256(raw)).String())
		if _, err := tx.Get(key); err == nil {
			continue
		} else if !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		if err := Observe(tx, record.Observation{Kind: record.ObservationKeyEvent, Handover: &h}); err != nil {
			return err
		}
		if err := tx.Set(key, nil); err != nil {
			return err
		}
	}
	return nil
}

// Recorded tells a restored ledger of an observation that the record holds: its number is never
// given again, a key event is not put there twice, and a count of artifacts does not fall; what
// hosts declared and which rosters were closed is known again.
func Recorded(tx ledger.Tx, o record.Observation) error {
	if err := ledger.Raise(tx, Counter, o.Number); err != nil {
		return err
	}
	switch {
	case o.Declaration != nil:
		return recorded(tx, o)
	case o.Issued != nil:
		return recordedIssued(tx, *o.Issued)
	case o.Roster != nil:
		_, err := closed(tx, o)
		return err
	case o.Handover == nil:
		return nil
	}
	raw, err := attest.Canonical(*o.Handover)
	if err != nil {
		return err
	}
	return tx.Set(ledger.GoodsKey("key-event", attest.Digest(sha256.Sum256(raw)).String()), nil)
}

// A Class is a class of artifacts and the ledger counter that counts them.
type Class struct{ Name, Counter string }

// issued is what was last said of artifacts.
type issued struct {
	Week  string `json:"week"`
	Total int64  `json:"total"`
	// Through is the last week whose certificates are in a tree.
	Through string `json:"through,omitzero"`
}

// recordedIssued goes on behind a count that the record holds. Of its certificates nothing more is
// known than of which weeks they are.
func recordedIssued(tx ledger.Tx, i record.Issued) error {
	last, _, err := ledger.FindJSON[issued](tx, issuedKey())
	if err != nil {
		return err
	}
	if i.Certificates != nil {
		last.Through = i.Certificates.Through
	}
	return ledger.SetJSON(tx, issuedKey(), issued{Total: i.Total, Through: last.Through})
}

// Artifacts puts the number of artifacts issued so far on the feed, with the tree of the
// certificates of the weeks before, once in a week in which either changed.
func Artifacts(tx ledger.Tx, classes []Class) error {
	last, _, err := ledger.FindJSON[issued](tx, issuedKey())
	if err != nil {
		return err
	}
	now := issued{Week: record.ISOWeek(counting(tx))}
	counts := &record.Issued{Classes: []record.IssuedClass{}}
	for _, c := range classes {
		n, err := ledger.Last(tx, c.Counter)
		if err != nil {
			return err
		}
		counts.Classes = append(counts.Classes, record.IssuedClass{Class: c.Name, Total: n})
		counts.Total += n
	}
	slices.SortFunc(counts.Classes, func(a, b record.IssuedClass) int { return strings.Compare(a.Class, b.Class) })
	now.Total, now.Through = counts.Total, last.Through
	if now.Week <= last.Week || now.Total < last.Total {
		return nil // a ledger that is younger than the record counts from nothing, and totals do not fall
	}
	tree, err := plant(tx, last.Through)
	if err != nil || tree == nil && now.Total == last.Total {
		return err
	}
	if tree != nil {
		counts.Certificates, now.Through = &tree.IssuedTree, tree.Through
	}
	if err := Observe(tx, record.Observation{Kind: record.ObservationArtifactsIssued, Issued: counts}); err != nil {
		return err
	}
	if tree != nil {
		if tree.Number, err = ledger.Last(tx, Counter); err != nil {
			return err
		}
		if err := ledger.SetJSON(tx, ledger.GoodsKey(certifiedTree, tree.Through), tree); err != nil {
			return err
		}
	}
	return ledger.SetJSON(tx, issuedKey(), now)
}

func issuedKey() []byte { return ledger.GoodsKey("artifacts-issued") }
