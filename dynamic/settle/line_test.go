package settle_test

import (
	"context"
	"fmt"
	"math/big"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// broke is several with a second account, which has room and no gas: no draft names it.
type broke struct {
	*several
	drafts atomic.Int64
	most   int64
	enough func() // called after so many drafts
}

func (n *broke) Accounts(ctx context.Context) ([]rail.Account, error) {
	accounts, err := n.several.Accounts(ctx)
	return append(accounts, rail.Account{Address: "broke"}), err
}

func (n *broke) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if n.drafts.Add(1) == n.most {
		n.enough()
	}
	return n.several.Draft(ctx, ps)
}

// Room that an account without gas has is none. Who waits for the others asks the node once a
// block, or once a pause.
func TestRoomOfAnAccountWithoutGas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		n := &broke{several: &several{changed: make(chan struct{})}, most: 1000, enough: cancel}
		db := ledger.NewMem(ledger.MemOptions{Calm: true})
		g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: []rail.Rail{n}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := settle.New(settle.Config{DB: db, Rails: []rail.Rail{n}, Gas: g})
		if err != nil {
			t.Fatal(err)
		}
		order := func(i int) settle.Order {
			return settle.Order{Arrow: func(ledger.Tx, *settle.Settlement) error { return nil },
				Members: []settle.Member{{ID: fmt.Sprint(i),
					Payment: rail.Payment{Network: "test:several", Payer: fmt.Sprint("payer-", i), Nonce: fmt.Sprint(i),
						Amount: big.NewInt(1000)}}}}
		}
		for i := range settle.MaxUnmined {
			if _, err := d.Begin(ctx, order(i)); err != nil {
				t.Fatal(err)
			}
		}
		before := n.drafts.Load()
		if s, err := d.Begin(ctx, order(settle.MaxUnmined)); err == nil {
			t.Errorf("one transaction too many: %v", s.Sent)
		}
		if drafts := n.drafts.Load() - before; drafts > 11 {
			t.Errorf("who waited for 10 s drafted %d times", drafts)
		}
	})
}
