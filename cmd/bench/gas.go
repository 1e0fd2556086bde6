package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// settler settles payments of a new chain in transactions of its own.
type settler struct {
	p    *people
	url  string
	rail *evm.Rail
	next uint64
}

// Next implements rail.Sequencer.
func (s *settler) Next(of []rail.Account) (account string, number uint64, err error) {
	s.next++
	return of[0].Address, s.next - 1, nil
}

// settle settles one payment each of so many wallets in one transaction, and returns the gas it
// took for each.
func (s *settler) settle(ctx context.Context, n int) (float64, error) {
	var ps []*rail.Payment
	for i := range n {
		a, sig, err := s.p.authorize(s.p.buyers[i], price, time.Now())
		if err != nil {
			return 0, err
		}
		ps = append(ps, &rail.Payment{
			Network: network().ID(), Asset: network().Asset.Hex(), Method: "eip3009", Payer: a.From.Hex(),
			Nonce: a.Nonce.Hex(), PayTo: a.To.Hex(), Amount: a.Value, ValidAfter: int64(a.ValidAfter),
			ValidBefore: int64(a.ValidBefore), Signature: sig,
		})
	}
	d, err := s.rail.Draft(ctx, ps)
	if err != nil {
		return 0, err
	}
	signed, err := d.Sign(s)
	if err != nil {
		return 0, err
	}
	if err := mine(ctx, http.DefaultClient, s.url, hexutil.Encode(signed.Raw)); err != nil {
		return 0, err
	}
	var receipt struct {
		Gas hexutil.Uint64 `json:"gasUsed"`
	}
	if err := rpc(ctx, http.DefaultClient, s.url, &receipt, "eth_getTransactionReceipt", signed.ID); err != nil {
		return 0, err
	}
	return float64(receipt.Gas) / float64(n), nil
}

// gasOf is the gas a payment takes among n in one transaction: the first that payTo ever received,
// and later.
func (l *lab) gasOf(ctx context.Context, p *people, n int) (cold, warm float64, err error) {
	url, proc, err := l.anvil(ctx, p)
	if err != nil {
		return 0, 0, err
	}
	defer proc.stop()
	cfg, _ := evm.Preset(network().ID())
	cfg.RPC, cfg.PayTo, cfg.Relayer, cfg.GenesisHash, cfg.CoinPrice = []string{url}, address(p.payTo).Hex(), p.relayer,
		"", 1_000_000
	r, err := evm.New(cfg)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	if err := r.Check(ctx); err != nil {
		return 0, 0, err
	}
	s := &settler{p: p, url: url, rail: r}
	if cold, err = s.settle(ctx, n); err != nil {
		return 0, 0, err
	}
	warm, err = s.settle(ctx, n)
	return cold, warm, err
}

// openGas prints what a payment takes alone and among others, and sets a payment among fifty
// against one alone.
func openGas(ctx context.Context, l *lab) (*contest, error) {
	p, err := newPeople()
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "gas of a payment         payTo never paid before    paid before")
	for _, n := range []int{1, 10, 50} {
		cold, warm, err := l.gasOf(ctx, p, n)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%2d in one transaction    %23.0f    %11.0f\n", n, cold, warm)
	}
	warm := func(n int) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			_, warm, err := l.gasOf(ctx, p, n)
			return warm, err
		}
	}
	return &contest{ours: warm(50), peer: warm(1)}, nil
}
