package onchaintest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/facilitator"
	"store.example/agentstore/dynamic/settle"
)

// dead is a network whose nodes do not answer.
type dead struct{ rail.Rail }

var errDead = errors.New("no node answers")

func (dead) Info() rail.Info                                  { return rail.Info{Network: "test:dead"} }
func (dead) Check(context.Context) error                      { return errDead }
func (dead) Standing(context.Context) (rail.Standing, error)  { return rail.Standing{}, errDead }
func (dead) Accounts(context.Context) ([]rail.Account, error) { return nil, errDead }

// begun is the settlement of a payment that a facilitator has signed, and died before it sent it.
func (s *service) begun(t *testing.T, p *rail.Payment, seen rail.Verified) *settle.Settlement {
	t.Helper()
	rails := []rail.Rail{s.rail}
	g, err := settle.NewGasGuard(settle.GasConfig{DB: s.db, Rails: rails, Subsidy: -1})
	if err != nil {
		t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: s.db, Rails: rails, Gas: g})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(p.ClaimKey()))
	id := "fac_" + hex.EncodeToString(sum[:16])
	begun, err := d.Begin(t.Context(), settle.Order{ID: id, Members: []settle.Member{{ID: id, Payment: *p,
		Verified: seen}},
		Arrow: func(ledger.Tx, *settle.Settlement) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return begun
}

// A process dies between signing for a number and sending it, and its client never asks again. The
// next one sends it: all later numbers of the account would wait behind it for ever. A network that
// is dead holds up no other.
func TestNumberOfADeadProcess(t *testing.T) {
	t.Parallel()
	s := serviceWith(t, chaintest.Options{}, 0)
	body := s.request(t, s.SignTransfer(s.Buyers[0], s.PayTo, 500_000), nil)
	s.stop()
	var req struct {
		Payload struct{ Payload json.RawMessage } `json:"paymentPayload"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	want := s.rail.Requirement(500_000)
	p, err := s.rail.Parse(req.Payload.Payload, want)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := s.rail.Verify(t.Context(), p, want, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.begun(t, p, seen)

	s.more = []rail.Rail{dead{}}
	s.start(t)
	var a facilitator.Settled
	if status := s.post(t, "/settle", s.request(t, s.SignTransfer(s.Buyers[1], s.PayTo, 500_000), nil),
		&a); status != 200 || !a.Success {
		t.Errorf("a payment behind it = %d %+v", status, a)
	}
	if got := s.Balance(s.PayTo); got != 1_000_000 {
		t.Errorf("payTo has %d, want both payments", got)
	}
}
