// Package feed is where things that happen in the store and belong on the public record wait for
// it: corpus observations, numbered in the ledger transaction of their cause, whole, with what
// strangers wrote and its salts, of which only the digests are signed. An exporter writes them to
// the record in the order of their numbers, which stay the same: observation 17 of the feed is
// 000000017.json. The feed is never changed and is the only source of a store's observations.
//
//	err := db.Update(ctx, func(tx ledger.Tx) error {
//		return feed.Observe(tx, record.Observation{Kind: record.ObservationRetiredWord, Word: &record.Said{Text: w}, Epitaph: e})
//	})
package feed

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// Counter is the ledger counter that numbers observations.
const Counter = "observation"

// maxBytes bounds one observation before it is signed: key and signature take the rest.
const maxBytes = record.MaxObservation - 512

// ErrShut is returned while the ledger is closed after a restore: its counter may be behind the
// record's, so a number that it gave could be one that the record has.
var ErrShut = errors.New("the ledger is closed after a restore; hint: store keeper reopen opens it, or says " +
	"until when it has to wait")

// Observe appends an observation, whose number and time are given by the ledger, and salts what
// strangers wrote. One that could not stand in the record is an error, for its cause to answer for.
// A tip's text comes salted, by who keeps it, and is not kept here.
func Observe(tx ledger.Tx, o record.Observation) error {
	if shut, err := ledger.Has(tx, ledger.ClosedKey()); err != nil {
		return err
	} else if shut {
		return ErrShut
	}
	n, err := ledger.Next(tx, Counter)
	if err != nil {
		return err
	}
	o.Format, o.Number, o.At = record.ObservationFormat, n, tx.Now().UTC().Truncate(time.Second).Format(time.RFC3339)
	o.KID, o.Signature = "", nil
	if o, err = o.Salted(nil); err != nil {
		return fmt.Errorf("putting an observation on the feed: %w", err)
	}
	if o.Tip != nil {
		o.Tip.Text.Salt, o.Tip.Text.Text = nil, ""
	}
	key := observationKey(n)
	if err := ledger.SetJSON(tx, key, o); err != nil {
		return fmt.Errorf("putting an observation on the feed: %w", err)
	}
	// What is judged is what the exporter will read.
	stored, err := get(tx, key)
	if err == nil {
		err = stored.Check()
	}
	var raw []byte
	if err == nil {
		raw, err = attest.Canonical(stored.Bare())
	}
	if err == nil && len(raw) > maxBytes {
		err = fmt.Errorf("%d bytes are more than %d", len(raw), maxBytes)
	}
	if err != nil {
		return fmt.Errorf("putting an observation on the feed: %w", err)
	}
	return nil
}

// Since reads the feed from a number on, at most limit observations, unsigned.
func Since(tx ledger.Tx, from int64, limit int) ([]record.Observation, error) {
	var all []record.Observation
	_, end := ledger.Prefix(ledger.GoodsKey("observation"))
	for e, err := range tx.Scan(observationKey(from), end) {
		if err != nil {
			return nil, err
		}
		if len(all) == limit {
			break
		}
		o, err := decode(e)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// both yields what a record and the feed hold, whichever holds more: of the record the observations
// that a younger ledger has not.
func both(tx ledger.Tx, rec []record.Observation) iter.Seq2[record.Observation, error] {
	return func(yield func(record.Observation, error) bool) {
		for _, o := range rec {
			if !yield(o, nil) {
				return
			}
		}
		for e, err := range tx.Scan(ledger.Prefix(ledger.GoodsKey("observation"))) {
			var o record.Observation
			if err == nil {
				o, err = decode(e)
			}
			if !yield(o, err) || err != nil {
				return
			}
		}
	}
}

// observeOnce puts what a keeper says on the feed and returns its number, 0 where nothing is to be
// changed: who rehearses is told as well what would be refused.
func observeOnce(tx ledger.Tx, o record.Observation, dry bool) (int64, error) {
	o.Format, o.Number, o.At = record.ObservationFormat, 1, tx.Now().UTC().Format("2006-01-02T15:04:05Z")
	if err := o.Check(); err != nil || dry {
		return 0, err
	}
	if err := Observe(tx, o); err != nil {
		return 0, err
	}
	return ledger.Last(tx, Counter)
}

// Fresh reports whether the ledger gave no number yet, so that Follow needs to be told what a
// record holds.
func Fresh(tx ledger.Tx) (bool, error) {
	last, err := ledger.Last(tx, Counter)
	return last == 0, err
}

// Follow makes an empty feed go on behind a record that has these observations, in their order:
// what stands there once is not said again. A feed that is not empty and has fewer numbers than the
// record, which has n, is not this record's: what it holds would be lost.
func Follow(tx ledger.Tx, n int64, record []record.Observation) error {
	last, err := ledger.Last(tx, Counter)
	if err != nil || last >= n {
		return err
	}
	if last > 0 {
		return fmt.Errorf("the ledger gave %d observations numbers and the record has %d: compare them with the "+
			"restore's reconcile step", last, n)
	}
	if shut, err := ledger.Has(tx, ledger.ClosedKey()); err != nil {
		return err
	} else if shut {
		return ErrShut
	}
	if have := int64(len(record)); have < n {
		return fmt.Errorf("the record has %d observations, and %d of them were read: export again", n, have)
	}
	for _, o := range record {
		if err := Recorded(tx, o); err != nil {
			return err
		}
	}
	return nil
}

func get(tx ledger.Tx, key []byte) (record.Observation, error) {
	v, err := tx.Get(key)
	if err != nil {
		return record.Observation{}, err
	}
	return decode(ledger.Entry{Key: key, Value: v})
}

// decode reads an entry. Older ones have neither format nor the members of kinds that came later,
// and may have a time in another zone.
func decode(e ledger.Entry) (record.Observation, error) {
	o, err := ledger.DecodeJSON[record.Observation](e)
	if err != nil {
		return o, err
	}
	at, err := time.Parse(time.RFC3339Nano, o.At)
	if err != nil {
		return o, fmt.Errorf("decoding ledger record %s: %w", ledger.KeyText(e.Key), err)
	}
	o.Format, o.At = record.ObservationFormat, at.UTC().Truncate(time.Second).Format(time.RFC3339)
	return o, nil
}

func observationKey(n int64) []byte {
	return ledger.GoodsKey("observation", ledger.Number(uint64(n)))
}
