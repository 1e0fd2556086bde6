package roster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/dynamic/ledger"
)

func job(week, job string) string { return "census-" + week + "-" + job }

func lease(l census.Lease) ledger.Lease {
	return ledger.Lease{Job: job(l.Week, l.Job), Owner: l.Owner, Fence: l.Fence}
}

// said turns the ledger's words for a lease into the census's.
func said(err error) error {
	switch {
	case errors.Is(err, ledger.ErrLeaseHeld):
		return fmt.Errorf("%w: %w", census.ErrHeld, err)
	case errors.Is(err, ledger.ErrLeaseLost):
		return fmt.Errorf("%w: %w", census.ErrLost, err)
	}
	return err
}

// Take implements census.Store.
func (s *Store) Take(ctx context.Context, week, name, owner string, ttl time.Duration) (census.Lease, error) {
	var l census.Lease
	err := s.update(ctx, func(tx ledger.Tx) (err error) {
		l, err = take(tx, week, name, owner, ttl)
		return err
	})
	return l, said(err)
}

func take(tx ledger.Tx, week, name, owner string, ttl time.Duration) (census.Lease, error) {
	got, err := ledger.Take(tx, job(week, name), owner, ttl)
	return census.Lease{Week: week, Job: name, Owner: owner, Fence: got.Fence}, err
}

// Renew implements census.Store.
func (s *Store) Renew(ctx context.Context, l census.Lease, ttl time.Duration) error {
	return said(s.update(ctx, func(tx ledger.Tx) error {
		_, err := ledger.Renew(tx, lease(l), ttl)
		return err
	}))
}

// Release implements census.Store.
func (s *Store) Release(ctx context.Context, l census.Lease) error {
	err := s.update(ctx, func(tx ledger.Tx) error { return ledger.Release(tx, lease(l)) })
	if errors.Is(err, ledger.ErrLeaseLost) {
		return nil
	}
	return err
}
