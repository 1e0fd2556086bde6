package feed

import (
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// ErrClosed is returned for a week whose roster was closed otherwise: its lot is drawn once.
var ErrClosed = errors.New("feed: the roster of the week is closed otherwise")

// closing is how the roster of a week was closed.
type closing struct {
	Number int64               `json:"number"` // of the observation
	At     time.Time           `json:"at"`
	Closed record.ClosedRoster `json:"closed"`
}

// Close puts the closing of a week's roster on the feed, if it is not there, and returns when that
// was: ErrClosed for a week that was closed otherwise.
func Close(tx ledger.Tx, c record.ClosedRoster) (time.Time, error) {
	held, err := ledger.GetJSON[closing](tx, closingKey(c.Week))
	if err == nil && held.Closed != c {
		return held.At, fmt.Errorf("%w: %s, as observation %d says; hint: the ledger that holds that roster was "+
			"restored from before it, so this week has no round; the next week's census begins as always", ErrClosed,
			c.Week, held.Number)
	}
	if err == nil || !errors.Is(err, ledger.ErrNotFound) {
		return held.At, err
	}
	if err := Observe(tx, record.Observation{Kind: record.ObservationRoster, Roster: &c}); err != nil {
		return time.Time{}, err
	}
	n, err := ledger.Last(tx, Counter)
	if err != nil {
		return time.Time{}, err
	}
	o, err := get(tx, observationKey(n))
	if err != nil {
		return time.Time{}, err
	}
	return closed(tx, o)
}

// closed remembers an observation that closed a roster.
func closed(tx ledger.Tx, o record.Observation) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, o.At)
	if err != nil {
		return at, err
	}
	return at, ledger.SetJSON(tx, closingKey(o.Roster.Week), closing{o.Number, at, *o.Roster})
}

func closingKey(week string) []byte { return ledger.GoodsKey("roster-closed", week) }
