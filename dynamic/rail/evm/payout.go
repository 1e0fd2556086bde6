package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// SignPayout signs an authorization of the store's own on a configured network. It reads no chain.
func SignPayout(cfg Config, p *rail.Payment, key *wallet.Key) {
	separator := domainSeparator(cfg.AssetName, cfg.AssetVersion, cfg.ChainID, common.HexToAddress(cfg.Asset))
	p.Signature = key.Sign(digest(separator, p))
}

// CheckPayout implements rail.Payouts.
func (r *Rail) CheckPayout(p *rail.Payment) error {
	if r.cfg.Transfer == methodPermit2 {
		return errors.New("the token knows no authorizations: pay by hand")
	}
	if p.Network != r.Info().Network || !sameAddress(p.Asset, r.Info().Asset) || p.Method != method {
		return fmt.Errorf("the authorization is not of %s", r.Info().Name)
	}
	if who, ok := recover65(digest(r.separator, p), p.Signature); !ok || who != common.HexToAddress(p.Payer) ||
		highS(p.Signature) {
		return errors.New("the authorization is not signed by the account that it is of")
	}
	return nil
}

// Redeemed implements rail.Payouts. What it says of the newest block may be taken back; Proof may
// not.
func (r *Rail) Redeemed(ctx context.Context, p *rail.Payment, from uint64) (rail.Redemption, error) {
	final, err := r.Final(ctx)
	if err != nil {
		return rail.Redemption{}, err
	}
	who, red := common.HexToAddress(p.Payer), rail.Redemption{Final: final.Time}
	var balance, atHead, atFinal, moved hexutil.Bytes
	ask := &call{method: "eth_call", params: []any{ethCall(common.Address{}, r.asset,
		append(append([]byte{}, selBalanceOf...), addressWord(who)...)), "latest"}, out: &balance}
	head := r.stateOf(who, p.Nonce, "latest", &atHead)
	then := r.stateOf(who, p.Nonce, hexutil.EncodeUint64(final.Block), &atFinal)
	try := &call{method: "eth_call", params: []any{ethCall(who, r.asset, transferCall(p)), "latest"}, out: &moved}
	if err := r.rpc.batch(ctx, ask, head, then, try); err != nil {
		return red, err
	}
	if err := errors.Join(ask.err, head.err, then.err); err != nil {
		return red, err
	}
	if len(balance) != 32 || len(atHead) != 32 || len(atFinal) != 32 {
		return red, errors.New("the token's answer has an unexpected form")
	}
	red.Balance, red.Used = new(big.Int).SetBytes(balance), spentBy(p.Nonce, atHead)
	switch {
	case spentBy(p.Nonce, atFinal):
		return r.redeemedBy(ctx, p, red, from, final.Block)
	case !red.Used && try.err != nil:
		why, is := reverted(try.err)
		if !is {
			return red, try.err
		}
		if red.Trouble = rail.Printable(why, maxTrouble); why == "" {
			red.Trouble = "the token refuses it and does not say why"
		}
	}
	return red, nil
}

// maxTrouble bounds what a token says of a payout that it refuses.
const maxTrouble = 200

// redeemedBy finds the event that used an authorization up.
func (r *Rail) redeemedBy(ctx context.Context, p *rail.Payment, red rail.Redemption, from,
	final uint64) (rail.Redemption, error) {
	u, err := r.search(ctx, p, from, final)
	if err != nil {
		return red, err
	}
	red.Used = true
	if u.canceled || !u.pays(p) {
		red.Trouble = "the authorization was used for something else, in " + u.tx.Hex()
		return red, nil
	}
	red.Proof = &rail.Proof{Tx: u.tx.Hex(), LogIndex: u.index, Block: u.block, BlockHash: u.blockHash.Hex(),
		BlockTime: u.time, ByOther: true}
	return red, nil
}

// FirstAt is the number of the first block whose time is not before t, one more than the newest for
// none.
func (r *Rail) FirstAt(ctx context.Context, t time.Time) (uint64, error) {
	head, err := r.Head(ctx)
	if err != nil {
		return 0, err
	}
	low, high := uint64(0), head.Block+1 // it is in [low, high]
	for low < high {
		var b block
		middle := low + (high-low)/2
		k := blockCall(middle, &b)
		if err := errors.Join(r.rpc.batch(ctx, k), k.err); err != nil {
			return 0, fmt.Errorf("reading block %d: %w", middle, err)
		}
		if b.Number != middle {
			return 0, errBehind
		}
		if b.Time.Before(t) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}
