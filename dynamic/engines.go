package dynamic

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/ledger/postgres"
)

// engine is one way to keep a ledger, chosen by the scheme of its address.
type engine struct {
	schemes []string
	example string // "": for tests, and named to nobody
	open    func(ctx context.Context, address string) (ledger.DB, error)
}

// engines is the table of ledger engines.
var engines = []engine{
	{[]string{"bolt"}, "bolt:var/ledger.bolt", func(ctx context.Context, address string) (ledger.DB, error) {
		return bolt.Open(ctx, strings.TrimPrefix(address, "bolt:"))
	}},
	{[]string{"postgres", "postgresql"}, "postgres://user@host/store",
		func(ctx context.Context, address string) (ledger.DB, error) {
			return postgres.Open(ctx, address, postgres.Options{})
		}},
	{[]string{"mem"}, "", func(_ context.Context, address string) (ledger.DB, error) {
		if address != "mem:" {
			return nil, fmt.Errorf("the address of a ledger in memory is mem: alone")
		}
		return ledger.NewMem(ledger.MemOptions{}), nil
	}},
}

// Open opens the ledger at an address such as bolt:var/ledger.bolt, postgres://user@host/store, or
// mem: (for tests: it forgets everything). The error never holds a password.
func Open(ctx context.Context, address string) (ledger.DB, error) {
	e, err := engineOf(address)
	if err != nil {
		return nil, fmt.Errorf("opening ledger: %w", err)
	}
	db, err := e.open(ctx, address)
	if err != nil {
		return nil, err // and not an engine that is nil, which a caller would take for one and close
	}
	return db, nil
}

// CheckAddress refuses what Open would not take for the address of a ledger. It opens nothing, and
// the error never holds a password.
func CheckAddress(address string) error {
	_, err := engineOf(address)
	return err
}

// engineOf is the engine that an address is of.
func engineOf(address string) (engine, error) {
	scheme, rest, ok := strings.Cut(address, ":")
	for _, e := range engines {
		if !ok || !slices.Contains(e.schemes, scheme) {
			continue
		}
		if rest == "" && scheme != "mem" {
			return e, fmt.Errorf("the address says only %s:, want something like %s", scheme, e.example)
		}
		return e, nil
	}
	var examples []string
	for _, e := range engines {
		if e.example != "" {
			examples = append(examples, e.example)
		}
	}
	return engine{}, fmt.Errorf("unknown kind of address, want one like %s", strings.Join(examples, " or "))
}
