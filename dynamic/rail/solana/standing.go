package solana

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"store.example/agentstore/dynamic/rail"
)

// Check implements rail.Rail: the cluster, the mint, and payTo's token account. That account is
// made once, by anybody who pays its rent, and a network without it takes no payments, as the error
// tells the keeper.
func (r *Rail) Check(ctx context.Context) error {
	var genesis string
	if err := r.rpc.call(ctx, &genesis, "getGenesisHash"); err != nil {
		return fmt.Errorf("checking %s: %w", r.cfg.Network, err)
	}
	reference := strings.TrimPrefix(r.cfg.Network, "solana:")
	if !r.cfg.AnyGenesis && (len(genesis) < 40 || genesis[:32] != reference) {
		return r.wrong("the node is of the cluster %s", rail.Printable(genesis, 44))
	}
	_, list, err := r.accounts(ctx, confirmed, r.mint, r.account, r.payTo)
	if err != nil {
		return fmt.Errorf("checking %s: %w", r.cfg.Network, err)
	}
	switch decimals, ok := readMint(list[0]); {
	case !ok:
		return r.wrong("%s is no mint of the classic token program", r.cfg.Asset)
	case decimals != r.cfg.Decimals:
		return r.wrong("%s has %d decimals, not %d", r.cfg.Asset, decimals, r.cfg.Decimals)
	}
	if list[2] != nil && (list[2].Owner == programToken.String() || list[2].Owner == programToken2022.String()) {
		return &rail.Unready{Out: r.noAccount(), Do: fmt.Sprintf("%s: pay_to %s is a token account: give the address "+
			"that owns it", r.cfg.Network, r.cfg.PayTo)}
	}
	if readTokenAccount(list[1]) == nil {
		return &rail.Unready{Out: r.noAccount(), Do: fmt.Sprintf("%s: pay_to has no token account for %s. Make it "+
			"once, with any wallet that pays its rent of about 0.002 SOL: spl-token create-account %s --owner %s "+
			"--fee-payer <your key>. It will be %s", r.cfg.Network, r.cfg.Symbol, r.cfg.Asset, r.cfg.PayTo, r.account)}
	}
	return nil
}

// noAccount says to buyers that payTo has no token account.
func (r *Rail) noAccount() string {
	return "the store's account for " + r.cfg.Symbol + " there does not exist"
}

// wrong is an error that is a rail.ErrWrongChain.
func (r *Rail) wrong(format string, args ...any) error {
	return fmt.Errorf("%s: %s (%w)", r.cfg.Network, fmt.Sprintf(format, args...), rail.ErrWrongChain)
}

// Standing implements rail.Rail, in one request. What the fee payer must keep is not counted as its
// balance.
func (r *Rail) Standing(ctx context.Context) (rail.Standing, error) {
	v, err := r.readView(ctx)
	if err != nil {
		return rail.Standing{}, fmt.Errorf("reading whether %s settles: %w", r.cfg.Network, err)
	}
	most := fee(r.cfg.MaxUnits, r.cfg.MaxPrice)
	s := rail.Standing{
		Head: v.time, Out: v.out, Cost: r.worth(fee(usualUnits, usualPrice)), Priced: r.cfg.CoinPrice > 0,
		Balance: new(big.Int).SetUint64(v.lamports - min(v.lamports, rentMinimum)), Need: new(big.Int).SetUint64(most),
	}
	if s.Out == "" && s.Balance.Cmp(s.Need) < 0 {
		s.Out = "the store's account that pays for fees there is empty"
	}
	return s, nil
}

// Fuel implements rail.Rail, in lamports.
func (r *Rail) Fuel(ctx context.Context) (*big.Int, bool, error) {
	_, list, err := r.accounts(ctx, confirmed, r.feePayer)
	if err != nil {
		return nil, false, fmt.Errorf("reading the fee payer's balance: %w", err)
	}
	has := new(big.Int)
	if list[0] != nil {
		has.SetUint64(list[0].Lamports)
	}
	need := new(big.Int).SetUint64(fee(r.cfg.MaxUnits, r.cfg.MaxPrice) + rentMinimum)
	return has, has.Cmp(need) < 0 || r.cfg.GasAlarm != nil && has.Cmp(r.cfg.GasAlarm) < 0, nil
}

// Head implements rail.Rail. Blocks are counted by their slots.
func (r *Rail) Head(ctx context.Context) (rail.Head, error) { return r.headAt(ctx, confirmed) }

// Final implements rail.Rail.
func (r *Rail) Final(ctx context.Context) (rail.Head, error) { return r.headAt(ctx, finalized) }

func (r *Rail) headAt(ctx context.Context, commitment string) (rail.Head, error) {
	slot, list, err := r.accounts(ctx, commitment, sysvarClock)
	if err != nil {
		return rail.Head{}, fmt.Errorf("reading the newest %s block: %w", commitment, err)
	}
	when, err := readClock(slot, list[0])
	return rail.Head{Block: slot, Time: when}, err
}

// Funds implements rail.Rail. What a message spends is known of those that this process has seen;
// the others count as not spent yet, which is too careful while one that another process has
// settled is in a block and not yet heard of.
func (r *Rail) Funds(ctx context.Context, payer string, nonces []string) (rail.Funds, error) {
	owner, err := parseKey(payer)
	if err != nil {
		return rail.Funds{}, fmt.Errorf("reading what %s has: %w", payer, err)
	}
	var signatures, of []string
	r.mu.Lock()
	for _, n := range nonces {
		if s, ok := r.mine[n]; ok && len(of) < maxStatuses {
			signatures, of = append(signatures, s.id), append(of, n)
		}
	}
	r.mu.Unlock()
	f := rail.Funds{Spent: map[string]bool{}}
	// The balance is read first: what lands between the two is in neither.
	slot, list, err := r.accounts(ctx, confirmed, associated(owner, r.mint))
	if err != nil {
		return rail.Funds{}, fmt.Errorf("reading what %s has: %w", payer, err)
	}
	f.Balance = new(big.Int)
	if t := readTokenAccount(list[0]); t != nil && t.mint == r.mint && t.owner == owner && !t.frozen {
		f.Balance.SetUint64(t.amount)
	}
	if len(signatures) == 0 {
		return f, nil
	}
	_, found, err := r.statuses(ctx, false, signatures...)
	if err != nil {
		return rail.Funds{}, fmt.Errorf("reading what %s has spent: %w", payer, err)
	}
	for i, s := range found {
		if s.sure() && s.Slot <= slot {
			f.Spent[of[i]] = true
		}
	}
	return f, nil
}

// Explain implements rail.Rail, by what the transaction itself failed of. Where no node has it any
// more, the payer's account at present speaks.
func (r *Rail) Explain(ctx context.Context, p *rail.Payment, v rail.Revert) (rail.Cause, error) {
	t, o, ref := r.taken(p, true)
	if ref != nil {
		return rail.Cause{}, ref
	}
	e, err := r.executed(ctx, v.Tx, confirmed)
	switch {
	case err == nil:
		why := fault(e.Meta.Err)
		return rail.Cause{Payer: r.payersFault(ctx, t, why), Reason: why}, nil
	case !errors.Is(err, rail.ErrNodeNull):
		return rail.Cause{}, fmt.Errorf("finding out why %s failed: %w", v.Tx, err)
	}
	_, list, err := r.accounts(ctx, confirmed, o.source)
	if err != nil {
		return rail.Cause{}, fmt.Errorf("finding out why %s failed: %w", v.Tx, err)
	}
	source := readTokenAccount(list[0])
	unfit := source == nil || source.owner != o.payer || source.frozen || source.amount < o.amount
	return rail.Cause{Payer: unfit, Reason: "failed without a reason"}, nil
}
