package onchaintest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"store.example/agentstore/dynamic/ledger"
)

// silent is a ledger that can be told to answer nothing.
type silent struct {
	ledger.DB
	now atomic.Bool
}

func (s *silent) View(ctx context.Context, f func(ledger.Tx) error) error {
	if s.now.Load() {
		return errors.New("the ledger does not answer")
	}
	return s.DB.View(ctx, f)
}

// What is read from a ledger that does not answer is not empty: it is said that it cannot be read.
func TestASilentLedgerIsNotEmpty(t *testing.T) {
	t.Parallel()
	db := &silent{DB: ledger.NewMem(ledger.MemOptions{})}
	s := newShop(t, shopOptions{db: db})
	r, _ := s.buy("/api/buy/small_blessing", s.net.Buyers[0], nil)
	if r.Status != 200 {
		t.Fatalf("buying: %d %s", r.Status, r.Raw)
	}
	for _, path := range []string{"/api/window/v1", "/api/verify/cert_aaaaaaaaaaaaaaaaaaaa"} {
		db.now.Store(false)
		if r := s.do("GET", path, nil); r.Status != 200 && r.Status != 404 {
			t.Errorf("%s = %d %s", path, r.Status, r.Raw)
		}
		db.now.Store(true)
		if r := s.do("GET", path, nil); r.Status != 503 || r.Code() != "ledger_unavailable" {
			t.Errorf("%s of a silent ledger = %d %s", path, r.Status, r.Raw)
		}
		db.now.Store(false)
	}
}

// A challenge says where the good is described, free of charge.
func TestAChallengeSaysWhereToRead(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	r := s.do("GET", "/api/buy/hello", nil)
	if r.Status != 402 || !strings.Contains(string(r.Raw), "Read of it first, free: "+s.url+"/menu/hello") {
		t.Errorf("%d %s", r.Status, r.Raw)
	}
}
