package onchaintest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// credulous is a rail whose node answers for another chain while it is lost, where every signature
// is good.
type credulous struct {
	rail.Rail
	lost *atomic.Bool
}

func (r credulous) Check(ctx context.Context) error {
	if r.lost.Load() {
		return rail.ErrWrongChain
	}
	return r.Rail.Check(ctx)
}

func (r credulous) Verify(ctx context.Context, p *rail.Payment, want rail.Requirement,
	now time.Time) (rail.Verified, error) {
	if r.lost.Load() {
		return rail.Verified{}, nil
	}
	return r.Rail.Verify(ctx, p, want, now)
}

// A signature that the node of another chain calls good opens nobody's slot.
func TestAnotherChainProvesNobody(t *testing.T) {
	t.Parallel()
	const key = "a-key-that-was-guessed"
	var lost atomic.Bool
	o := shopOptions{networks: []uint64{8453, 137}, db: ledger.NewMem(ledger.MemOptions{}),
		site: tilltest.Scarce(t, map[string]int{"secrets": 1}),
		rail: func(r rail.Rail) rail.Rail {
			if r.Info().Network == "eip155:137" {
				return credulous{r, &lost}
			}
			return r
		}}
	s := newShop(t, o)
	ch := s.challenge(secret)
	owner := s.net.Buyers[0]
	bought := s.present(secret, s.sign(ch, 1, owner, nil), "Idempotency-Key", key)
	s.want("the last secret", bought, 200, "")
	s.stop()
	lost.Store(true)
	o.net = s.net
	again := newShop(t, o)
	forged := again.signAs(ch, 1, s.net.Buyers[1], owner.Address, nil)
	delete(forged.wire, "resource") // it was of the other process
	again.want("a payment that another chain calls good", again.present(secret, forged, "Idempotency-Key", key), 409,
		"sold_out")
}
