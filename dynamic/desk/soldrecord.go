package desk

import (
	"context"
	"encoding/json"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/signable"

	"store.example/agentstore/corpus/screen"
)

// maxLooked bounds what the record says of an address in a paper that is signed, in bytes.
const maxLooked = attest.MaxAudit - 8<<10

// cannotTell is what the record does not hold about an address.
var cannotTell = []string{
	"doors that the weekly rounds never walked, and terms that a door shows to some buyers only",
	"who runs a door: a shared address is no verdict about operators",
	"payments: the record holds what doors asked for, not what was paid",
}

// Spelled implements goods.Addresses.
func (Sold) Spelled(address string) (string, bool) {
	o, err := parseOwner(address)
	return o.shown, err == nil
}

// Address implements goods.Addresses.
func (s Sold) Address(ctx context.Context, address string) (json.RawMessage, []string, error) {
	reading, err := s.d.cfg.Record.Address(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	raw, err := signable.Of(reading, maxLooked, screen.Text)
	return json.RawMessage(raw), cannotTell, err
}
