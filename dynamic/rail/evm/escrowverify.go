package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

// VerifyVoucher implements rail.Channels. A voucher that a key signed is judged without any
// question.
func (r *Rail) VerifyVoucher(ctx context.Context, p *rail.ChannelPayment, want rail.Requirement,
	_ time.Time) (coded bool, err error) {
	if ref := r.checkChannel(&p.Channel, want); ref != nil {
		return false, ref
	}
	return r.voucherSigned(ctx, p)
}

// voucherSigned is VerifyVoucher of a channel that is one of the terms.
func (r *Rail) voucherSigned(ctx context.Context, p *rail.ChannelPayment) (coded bool, err error) {
	c, sig := &p.Channel, p.Voucher.Signature
	hash := r.voucherDigest(c, p.Voucher.Max)
	bad := batch("voucher_signature", "the signature is not that of the channel's signer")
	who, recovered := recover65(hash, sig)
	recovered = recovered && !highS(sig)
	if c.Signer != "" {
		if !recovered || who != common.HexToAddress(c.Signer) {
			return false, bad
		}
		return false, nil
	}
	// The escrow asks the payer if it has code when the voucher is claimed, and recovers if it has
	// none.
	var code hexutil.Bytes
	if err := r.rpc.one(ctx, &code, "eth_getCode", c.Payer, "latest"); err != nil {
		return false, fmt.Errorf("reading the payer's code: %w", err)
	}
	ok := recovered && who == common.HexToAddress(c.Payer)
	if len(code) > 0 {
		if ok, err = r.validSignature(ctx, common.HexToAddress(c.Payer), hash, sig); err != nil {
			return false, fmt.Errorf("asking the payer's contract: %w", err)
		}
	}
	if !ok {
		return true, bad
	}
	return true, nil
}

// checkChannel holds a channel against the terms.
func (r *Rail) checkChannel(c *rail.Channel, want rail.Requirement) *rail.Refusal {
	switch terms, ok := r.ChannelTerms(); {
	case !ok:
		return batch("authorizer_not_configured", "no vouchers are taken on %s", r.cfg.Name)
	case want.Scheme != rail.SchemeVouchers:
		return batch("scheme", "the scheme is not %s", rail.SchemeVouchers)
	case want.Network != r.cfg.Network:
		return batch("network_mismatch", "the terms are of another network")
	case !sameAddress(c.Receiver, want.PayTo) || !sameAddress(c.Receiver, terms.Receiver):
		return batch("receiver_mismatch", "the receiver is not %s", terms.Receiver)
	case !sameAddress(c.Authorizer, terms.Authorizer):
		return batch("receiver_authorizer_mismatch", "the receiverAuthorizer is not %s", terms.Authorizer)
	case !sameAddress(c.Token, want.Asset) || !sameAddress(c.Token, terms.Token):
		return batch("token_mismatch", "the token is not %s", terms.Token)
	case c.Delay != int64(terms.Delay/time.Second):
		return batch("withdraw_delay_mismatch", "the withdrawDelay is not %d", int64(terms.Delay/time.Second))
	}
	return nil
}

// VerifyDeposit implements rail.Channels.
func (r *Rail) VerifyDeposit(ctx context.Context, p *rail.ChannelPayment, want rail.Requirement,
	now time.Time) (rail.Verified, rail.ChannelState, error) {
	if ref := r.checkChannel(&p.Channel, want); ref != nil {
		return rail.Verified{}, rail.ChannelState{}, ref
	}
	if rail.Atomic(p.Deposit.Amount) < r.cfg.MinDeposit {
		return rail.Verified{}, rail.ChannelState{}, batch("deposit_below_min_deposit", "a deposit is at least %d",
			r.cfg.MinDeposit)
	}
	return r.depositGood(ctx, p, want, now)
}

// depositGood is VerifyDeposit of a channel that is one of the terms.
func (r *Rail) depositGood(ctx context.Context, p *rail.ChannelPayment, want rail.Requirement,
	now time.Time) (rail.Verified, rail.ChannelState, error) {
	fail := func(err error) (rail.Verified, rail.ChannelState, error) {
		return rail.Verified{}, rail.ChannelState{}, err
	}
	d := p.Deposit
	head, err := r.newest(ctx)
	if err != nil {
		return fail(err)
	}
	seen := rail.Verified{Head: head}
	if ref := checkDepositWindow(d, want, r.cfg.MaxTimeout, now, seen.Time); ref != nil {
		return fail(ref)
	}
	signature := batch("receive_authorization_signature", "the deposit is not signed by the payer")
	if byPermit(d) {
		signature = batch("permit2_invalid_signature", "the permit is not signed by the payer")
	}
	err = r.unsigned(ctx, d, r.depositDigest(d, p.Channel.ID), now)
	if _, refused := errors.AsType[*rail.Refusal](err); refused {
		return fail(signature)
	} else if err != nil {
		return fail(err)
	}
	if _, err := r.voucherSigned(ctx, p); err != nil {
		return fail(err)
	}
	var code, balance, used, allowance hexutil.Bytes
	payer := addressWord(common.HexToAddress(d.Payer))
	ask := func(out *hexutil.Bytes, data ...[]byte) *call {
		return &call{method: "eth_call", out: out,
			params: []any{ethCall(common.Address{}, r.asset, bytes.Join(data, nil)), "latest"}}
	}
	sim := &call{method: "eth_call", params: r.simulation(d, now, seen.Time)}
	must := []*call{{method: "eth_getCode", params: []any{d.Payer, "latest"}, out: &code},
		ask(&balance, selBalanceOf, payer), r.stateCall(d, "latest", &used)}
	if byPermit(d) {
		must = append(must, ask(&allowance, selAllowance, payer, addressWord(permit2Address)))
	}
	if err := errors.Join(r.rpc.batch(ctx, append(must, sim)...), failed(must)); err != nil {
		return fail(fmt.Errorf("verifying a deposit: %w", err))
	}
	seen.Local, seen.Code = len(code) > 0, codeHash(code)
	why, err := triedCall(sim, nil)
	switch {
	case len(used) == 32 && spentBy(d.Nonce, used):
		ref := batch("deposit_simulation_failed", "the deposit's authorization was used or cancelled")
		ref.Err = rail.ErrUsed
		return seen, rail.ChannelState{}, ref
	case short(balance, d):
		return seen, rail.ChannelState{}, tooLittle(reasonsOfBatch+"insufficient_balance", true,
			"the payer has less than the deposit")
	case byPermit(d) && short(allowance, d):
		return seen, rail.ChannelState{}, tooLittle(reasonsOfBatch+"permit2_allowance_required", true,
			"the payer has not allowed Permit2, %s, to move as much: approve it for the token first", permit2Address)
	case err != nil && !errors.Is(err, rail.ErrNodeNull):
		return fail(fmt.Errorf("simulating a deposit: %w", err))
	case why != "":
		return seen, rail.ChannelState{}, batch("deposit_simulation_failed", "%s", why)
	}
	states, err := r.ReadChannels(ctx, []string{p.Channel.ID}, false)
	if err != nil {
		return fail(err)
	}
	return seen, states[0], nil
}

// checkDepositWindow judges when a deposit is valid, as of any payment.
func checkDepositWindow(p *rail.Payment, want rail.Requirement, timeout time.Duration, now,
	head time.Time) *rail.Refusal {
	early, late := "payload_authorization_valid_after", "payload_authorization_valid_before"
	if byPermit(p) {
		late = "permit2_deadline_expired"
	}
	switch {
	case p.ValidBefore < soon(now, head):
		return batch(late, "the deposit is expired or about to be")
	case p.ValidBefore > want.Latest(now, timeout).Unix()+1:
		return batch(late, "the deposit is valid for longer than was asked")
	case p.ValidAfter > now.Unix():
		return batch(early, "the deposit is not valid yet")
	}
	return nil
}
