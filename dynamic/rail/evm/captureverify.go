package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

// VerifyAuthorization implements rail.Captures, in the order of the scheme's specification
// (Verification, client payment payload). What the nonce commits to needs no check of its own: who
// signed for another receiver, token, deadline, fee or operator signed another nonce.
func (r *Rail) VerifyAuthorization(ctx context.Context, a *rail.Authorization, want rail.Requirement,
	now time.Time) (rail.Verified, error) {
	p := a.Payment
	operator, ok := r.CaptureTerms()
	switch {
	case want.Scheme != rail.SchemeCapture || !isHold(p):
		return rail.Verified{}, captured("scheme", "the scheme is not %s", rail.SchemeCapture)
	case want.Network != r.cfg.Network:
		return rail.Verified{}, captured("network_mismatch", "the terms are of another network")
	case !ok || want.Extra["captureAuthorizer"] != operator:
		return rail.Verified{}, captured("operator_not_admitted", "this store does not hold payments as that operator")
	}
	hold, err := r.holdOf(a, want)
	if err != nil {
		return rail.Verified{}, captured("extra", "%s", err)
	}
	head, err := r.newest(ctx)
	if err != nil {
		return rail.Verified{}, err
	}
	seen := rail.Verified{Head: head}
	if ref := checkHoldWindow(p, hold, asked{want, seen, now}, r.cfg.MaxTimeout); ref != nil {
		return rail.Verified{}, ref
	}
	err = r.unsigned(ctx, p, r.holdDigest(p), now)
	if ref, is := errors.AsType[*rail.Refusal](err); is {
		return rail.Verified{}, captured("signature", "%s", ref.Message)
	} else if err != nil {
		return rail.Verified{}, err
	}
	if amount, ok := uint256(&want.Amount); !ok || p.Amount.Cmp(amount) != 0 {
		return rail.Verified{}, captured("amount_mismatch", "the authorization is for another amount")
	}
	if err := r.checkNonce(p, hold); err != nil {
		return rail.Verified{}, err
	}
	p.Wire = authorizeCall(&hold.Info, p)
	if seen, err = r.tryHold(ctx, p, seen, now); err != nil {
		p.Wire = nil
		return seen, err
	}
	a.Hold = hold
	return seen, nil
}

// checkNonce refuses an authorization that is for anything else than a hold.
func (r *Rail) checkNonce(p *rail.Payment, h rail.Hold) error {
	if nonceText(p.Method, r.holdNonce(infoWords(&h.Info))) != p.Nonce {
		return captured("nonce_mismatch", "the nonce is not that of these terms, payer, expiry and salt")
	}
	return nil
}

// tryHold is the end of VerifyAuthorization: what the chain says of the payer, its signature and
// the whole call.
func (r *Rail) tryHold(ctx context.Context, p *rail.Payment, seen rail.Verified, now time.Time) (rail.Verified, error) {
	var code, balance, used, allowance, gas hexutil.Bytes
	payer := common.HexToAddress(p.Payer)
	ask := func(out *hexutil.Bytes, data ...[]byte) *call {
		return &call{method: "eth_call", out: out,
			params: []any{ethCall(common.Address{}, r.asset, bytes.Join(data, nil)), "latest"}}
	}
	sim := &call{method: "eth_call", params: r.simulation(p, now, seen.Time), out: &gas}
	must := []*call{{method: "eth_getCode", params: []any{p.Payer, "latest"}, out: &code},
		ask(&balance, selBalanceOf, addressWord(payer)), r.stateCall(p, "latest", &used)}
	if byPermit(p) {
		must = append(must, ask(&allowance, selAllowance, addressWord(payer), addressWord(permit2Address)))
	}
	if err := errors.Join(r.rpc.batch(ctx, append(must, sim)...), failed(must)); err != nil {
		return rail.Verified{}, fmt.Errorf("verifying a payment to be held: %w", err)
	}
	seen.Local, seen.Code = len(code) > 0, codeHash(code)
	e, undeployed := unfold(p.Signature)
	undeployed = undeployed && len(code) == 0
	if undeployed && !r.deploys(e.factory) {
		return seen, captured("erc6492_factory_not_allowed",
			"the wallet is not deployed, and its factory is not one that is called")
	}
	signed := true
	switch {
	case undeployed:
		signed, seen.Local, seen.Code = false, true, e.code()
	case len(code) > 0:
		sig, _ := unwrap(p.Signature)
		good, err := r.validSignature(ctx, payer, r.holdDigest(p), sig)
		if err != nil {
			return seen, fmt.Errorf("asking the payer's contract: %w", err)
		}
		if !good {
			return seen, captured("signature", "the payer's contract does not accept the signature")
		}
	case !recovers(p, r.holdDigest(p)) || highS(p.Signature):
		return seen, captured("signature", "the signature is not the payer's, in the form that the token takes")
	}
	why, err := triedCall(sim, nil)
	switch {
	case len(used) == 32 && spentBy(p.Nonce, used):
		return seen, &rail.Refusal{Reason: reasonsOfCapture + "payment_already_collected",
			Message: "the authorization was used or cancelled", Err: rail.ErrUsed}
	case short(balance, p):
		return seen, tooLittle(reasonsOfCapture+"insufficient_balance", signed, "the payer has less than the amount")
	case byPermit(p) && short(allowance, p):
		return seen, tooLittle(reasonPermitAllowance, signed,
			"the payer has not allowed Permit2, %s, to move as much: approve it for the token first", permit2Address)
	case err != nil && !errors.Is(err, rail.ErrNodeNull):
		return seen, fmt.Errorf("simulating a payment to be held: %w", err)
	case why != "":
		return seen, refuseHold(why)
	}
	if undeployed {
		return seen, r.worthHolding(ctx, p)
	}
	return seen, nil
}

// worthHolding refuses a payment that does not bring what deploying its wallet asks for.
func (r *Rail) worthHolding(ctx context.Context, p *rail.Payment) error {
	head, f, err := r.price(ctx)
	if err != nil {
		return err
	}
	var gas hexutil.Uint64
	var fee hexutil.Bytes
	whole := ethCall(r.senderOf(p), captureAddress, p.Wire)
	whole["gas"] = hexutil.EncodeUint64(gasCap(p, false))
	calls := []*call{{method: "eth_estimateGas", params: []any{whole, "latest"}, out: &gas}}
	if k := r.dataFeeCall(len(p.Wire), &fee); k != nil {
		calls = append(calls, k)
	}
	if err := errors.Join(r.rpc.batch(ctx, calls...), failed(calls)); err != nil {
		return fmt.Errorf("pricing a wallet's deployment: %w", err)
	}
	if ref := worthDeploying(p, r.priced(uint64(gas), uint64(gas), head, f, dataFee(fee))); ref != nil {
		return ref
	}
	return nil
}

// checkHoldWindow judges an authorization's times: those of the hold, and as of any payment.
func checkHoldWindow(p *rail.Payment, h rail.Hold, a asked, timeout time.Duration) *rail.Refusal {
	switch {
	case h.Info.RefundExpiry < h.Info.AuthorizationExpiry || p.ValidBefore > h.Info.AuthorizationExpiry:
		return captured("deadline_ordering", "the authorization outlasts the hold, or the hold the refund")
	case h.Info.AuthorizationExpiry <= soon(a.now, a.seen.Time):
		return captured("capture_deadline_expired", "these terms are over: ask for new ones")
	case p.ValidBefore < soon(a.now, a.seen.Time):
		return captured("authorization_expired", "the authorization is expired or about to be")
	case p.ValidBefore > a.want.Latest(a.now, timeout).Unix():
		return captured("authorization_expired", "the authorization is valid for longer than was asked")
	case p.ValidAfter > a.now.Unix():
		return captured("authorization_not_yet_valid", "the authorization is not valid yet")
	case p.ValidAfter != 0:
		return malformedHold("validAfter is 0: the collector asks the token for no other")
	}
	return nil
}

// holdErrors are the escrow's errors by their selectors, and the reasons of the scheme.
var holdErrors = func() map[string]string {
	m := make(map[string]string)
	for _, e := range []struct{ sig, reason string }{
		{"AfterPreApprovalExpiry(uint48,uint48)", "authorization_expired"},
		{"InvalidExpiries(uint48,uint48,uint48)", "deadline_ordering"},
		{"PaymentAlreadyCollected(bytes32)", "payment_already_collected"},
		{"TokenCollectionFailed()", "token_collection_failed"},
		{"InvalidSender(address,address)", "operator_mismatch"},
		{"AfterAuthorizationExpiry(uint48,uint48)", "capture_deadline_expired"},
		{"InsufficientAuthorization(bytes32,uint256,uint256)", "insufficient_authorization"},
		{"ZeroAuthorization(bytes32)", "zero_authorization"},
	} {
		m["custom error "+hexutil.Encode(selector(e.sig))] = e.reason
	}
	return m
}()

// refuseHold turns the revert of a call of the escrow into a refusal.
func refuseHold(why string) *rail.Refusal {
	if reason, ok := holdErrors[strings.ToLower(why)]; ok {
		ref := captured(reason, "%s", why)
		if reason == "payment_already_collected" || reason == "zero_authorization" {
			ref.Err = rail.ErrUsed
		}
		return ref
	}
	// The token, or Permit2, refused.
	ref := refuseRevert(why)
	reason := "simulation_failed"
	switch ref.Reason {
	case reasonValidBefore, reasonPermitExpired:
		reason = "authorization_expired"
	case reasonUsed, reasonPermitNonce:
		reason = "payment_already_collected"
	case reasonBalance:
		reason = "insufficient_balance"
	case reasonSignature, reasonPermitSignature:
		reason = "signature"
	}
	ref.Reason = reasonsOfCapture + reason
	return ref
}
