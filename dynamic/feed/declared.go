package feed

import (
	"errors"
	"slices"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// Declared is what a host last declared: the newest of its declarations on the feed and when it was
// last read.
type Declared struct {
	record.Declaration
	// Methods are the HTTP methods that the file gives for Doors, in their order; "" where it gives
	// none. They are not part of the observation and unknown for a declaration that a restored
	// ledger learned from the record.
	Methods []string  `json:"methods"`
	Number  int64     `json:"number"`  // of the observation
	At      time.Time `json:"at"`      // when these doors were first declared, UTC
	Checked time.Time `json:"checked"` // when the file was last read and said so
}

// Declare notes what a host declares. It is an observation where it differs from what the host
// declared before; a host that never declared a door and declares none is not noted. methods are as
// in Declared.
func Declare(tx ledger.Tx, d record.Declaration, methods []string) error {
	held, err := HostDeclared(tx, d.Host)
	if err != nil {
		return err
	}
	if held == nil && len(d.Doors) == 0 {
		return nil
	}
	now := tx.Now().UTC().Truncate(time.Second)
	next := Declared{Declaration: d, Methods: methods, At: now, Checked: now}
	if held != nil && held.Shape == d.Shape && held.Foreign == d.Foreign && slices.Equal(held.Doors, d.Doors) {
		next.Number, next.At = held.Number, held.At
		return ledger.SetJSON(tx, declaredKey(d.Host), next)
	}
	if d.Doors == nil {
		d.Doors, next.Doors = []string{}, []string{}
	}
	cut := d.Cut() // the census is told of all
	if err := Observe(tx, record.Observation{Kind: record.ObservationDeclaration, Declaration: &cut}); err != nil {
		return err
	}
	if next.Number, err = ledger.Last(tx, Counter); err != nil {
		return err
	}
	return ledger.SetJSON(tx, declaredKey(d.Host), next)
}

// HostDeclared returns what a host last declared, nil for nothing.
func HostDeclared(tx ledger.Tx, host string) (*Declared, error) {
	d, err := ledger.GetJSON[Declared](tx, declaredKey(host))
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &d, nil
}

// Declarations lists the hosts that have declared doors, sorted by host, those that withdrew them
// with no doors. This is what a census takes its declared hosts from.
func Declarations(tx ledger.Tx) ([]Declared, error) {
	var all []Declared
	for d, err := range ledger.Values[Declared](tx.Scan(ledger.Prefix(ledger.GoodsKey("declared")))) {
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// recorded takes a declaration from the record.
func recorded(tx ledger.Tx, o record.Observation) error {
	held, err := HostDeclared(tx, o.Declaration.Host)
	if err != nil || held != nil && held.Number >= o.Number {
		return err
	}
	at, err := time.Parse(time.RFC3339, o.At)
	if err != nil {
		return err
	}
	return ledger.SetJSON(tx, declaredKey(o.Declaration.Host),
		Declared{Declaration: *o.Declaration, Methods: make([]string, len(o.Declaration.Doors)), Number: o.Number,
			At: at, Checked: at})
}

func declaredKey(host string) []byte { return ledger.GoodsKey("declared", host) }
