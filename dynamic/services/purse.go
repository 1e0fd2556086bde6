package services

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync/atomic"

	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/rail"
)

// PurseLow is what the wallet should have on a network: twenty purchases.
const PurseLow = 20 * LaunchCap

// Purse is the wallet, on the networks on which it pays: those of the store whose token knows
// authorizations.
type Purse struct {
	Account string
	Rails   []rail.Rail
	empty   atomic.Bool // as it was seen last
}

// PayableNetwork is a network on which the wallet can pay now, and its head.
type PayableNetwork struct {
	Network, Asset string
	Block          uint64
}

// Tokens are those of networks.
func Tokens(marks []PayableNetwork) (list []buyer.Token) {
	for _, m := range marks {
		list = append(list, buyer.Token{Network: m.Network, Address: m.Asset})
	}
	return list
}

// Balance is what the wallet has on a network, in atomic units.
type Balance struct {
	Network, Name string
	Atomic        *big.Int
}

// Empty reports that the wallet could pay for nothing when it was last looked at.
func (p *Purse) Empty() bool { return p.empty.Load() }

// Balances are what the wallet has. A network that cannot be read is named in the error and hides
// no other.
func (p *Purse) Balances(ctx context.Context) (list []Balance, err error) {
	for _, r := range p.paying() {
		info := r.Info()
		f, e := r.Funds(ctx, p.Account, nil)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("reading the wallet of launch checks on %s: %w", info.Name, e))
			continue
		}
		list = append(list, Balance{info.Network, info.Name, f.Balance})
	}
	return list, err
}

// Open are the networks on which the wallet can pay for one purchase, those that cannot be read
// left out.
func (p *Purse) Open(ctx context.Context) (open []PayableNetwork, err error) {
	for _, r := range p.paying() {
		info := r.Info()
		head, e := r.Head(ctx)
		var f rail.Funds
		if e == nil {
			f, e = r.Funds(ctx, p.Account, nil)
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", info.Name, e))
		} else if f.Balance.Cmp(big.NewInt(LaunchCap)) >= 0 {
			open = append(open, PayableNetwork{info.Network, info.Asset, head.Block})
		}
	}
	p.empty.Store(len(open) == 0)
	return open, err
}

// paying are the rails on which authorizations are paid with.
func (p *Purse) paying() (list []rail.Rail) {
	for _, r := range p.Rails {
		if _, ok := r.(rail.Payouts); ok {
			list = append(list, r)
		}
	}
	return list
}

// redeemed asks the network of a payment what became of it.
func (p *Purse) redeemed(ctx context.Context, pay *rail.Payment, from uint64) (rail.Redemption, error) {
	for _, r := range p.Rails {
		if payer, ok := r.(rail.Payouts); ok && r.Info().Network == pay.Network {
			return payer.Redeemed(ctx, pay, from)
		}
	}
	return rail.Redemption{}, fmt.Errorf("network %s is not configured any more", pay.Network)
}
