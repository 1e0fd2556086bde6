package evm

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/dynamic/rail"
)

// This file serves the channels of other sellers, as their facilitator.

var _ rail.Relayed = (*Rail)(nil)

// maxCalls bounds the payload of a claim, whose rows are some hundred bytes each.
const maxCalls = 96 << 10

// Events of the escrow by which a call is known to have done something.
var (
	topicDeposited = crypto.Keccak256Hash([]byte("Deposited(bytes32,address,uint128,uint128)"))
	topicSettled   = crypto.Keccak256Hash([]byte("Settled(address,address,address,uint128)"))
	topicRefunded  = crypto.Keccak256Hash([]byte("Refunded(bytes32,address,uint128)"))
)

// wireCall are the forms of a payload that a seller sends to his facilitator.
type wireCall struct {
	Type        string       `json:"type"`
	Claims      *[]wireClaim `json:"claims,omitzero"`
	ClaimSigned *string      `json:"claimAuthorizerSignature,omitzero"`
	Receiver    *string      `json:"receiver,omitzero"`
	Token       *string      `json:"token,omitzero"`
	Amount      *string      `json:"amount,omitzero"`
	RefundNonce *string      `json:"refundNonce,omitzero"`
	RefundSign  *string      `json:"refundAuthorizerSignature,omitzero"`
}

type wireClaim struct {
	Voucher *struct {
		Channel *wireChannel `json:"channel"`
		Max     *string      `json:"maxClaimableAmount"`
	} `json:"voucher"`
	Signature *string `json:"signature"`
	Total     *string `json:"totalClaimed"`
}

// RelaysChannels implements rail.Relayed.
func (r *Rail) RelaysChannels() bool { return r.cfg.Settler == nil && r.escrow.Load() }

// ReadCall implements rail.Relayed.
func (r *Rail) ReadCall(payload []byte, want rail.Requirement) (*rail.ChannelCall, error) {
	var w wireCall
	switch {
	case len(payload) > maxCalls:
		return nil, malformed("the payload is too long")
	case json.Unmarshal(payload, &w) != nil:
		return nil, malformed("the payload is not the JSON object that the scheme asks for")
	}
	switch w.Type {
	case rail.FormClaim:
		return r.readClaim(&w, want)
	case rail.FormSettle:
		return r.readSettle(&w, want)
	}
	p, err := r.parseChannel(payload, want)
	if err != nil {
		return nil, err
	}
	c := &rail.ChannelCall{Form: p.Form, Payment: p, Settles: p.Deposit}
	if ref := r.checkSeller(&p.Channel, want); ref != nil {
		return c, ref
	}
	if p.Form == rail.FormRefund && w.RefundNonce != nil {
		return c, r.readRefund(&w, c, want)
	}
	return c, nil
}

// checkSeller holds a channel against a seller's terms, in the stock facilitator's order.
func (r *Rail) checkSeller(c *rail.Channel, want rail.Requirement) *rail.Refusal {
	authorizer, _ := want.Extra["receiverAuthorizer"].(string)
	delay, named := want.Extra["withdrawDelay"]
	switch {
	case !sameAddress(c.Receiver, want.PayTo):
		return batch("receiver_mismatch", "the receiver is not %s", want.PayTo)
	case !common.IsHexAddress(authorizer) || common.HexToAddress(authorizer) == (common.Address{}) ||
		!sameAddress(c.Authorizer, authorizer):
		return batch("receiver_authorizer_mismatch", "the receiverAuthorizer is not that of the terms")
	case !sameAddress(c.Token, r.cfg.Asset):
		return batch("token_mismatch", "the token is not %s", r.cfg.Asset)
	case named && fmt.Sprint(delay) != fmt.Sprint(c.Delay) && delay != float64(c.Delay):
		return batch("withdraw_delay_mismatch", "the withdrawDelay is not that of the terms")
	case c.Delay < int64(minDelay/time.Second) || c.Delay > int64(maxDelay/time.Second):
		return batch("withdraw_delay_out_of_range", "the withdrawDelay is not %s to %s", minDelay, maxDelay)
	}
	return nil
}

// readRows reads the rows of a claim, all of them of the seller's.
func (r *Rail) readRows(w *wireCall, want rail.Requirement) ([]rail.VoucherClaim, error) {
	if w.Claims == nil || len(*w.Claims) > maxClaims {
		return nil, malformed(fmt.Sprintf("claims is not a list of at most %d rows", maxClaims))
	}
	rows := make([]rail.VoucherClaim, 0, len(*w.Claims))
	for _, one := range *w.Claims {
		if one.Voucher == nil || one.Voucher.Channel == nil || len(one.Voucher.Channel.Unknown) > 0 {
			return nil, malformed("a row of claims has no channel")
		}
		var row rail.VoucherClaim
		if err := r.parseConfig(one.Voucher.Channel, &row.Channel); err != nil {
			return nil, err
		}
		row.Channel.ID = r.channelID(&row.Channel).Hex()
		max, isMax := uint256(one.Voucher.Max)
		total, isTotal := uint256(one.Total)
		switch {
		case !isMax || !isTotal || !max.IsInt64() || !total.IsInt64():
			return nil, malformed("an amount of a row is not a decimal number below 2^63")
		case !sameAddress(row.Channel.Receiver, want.PayTo):
			return nil, batch("receiver_mismatch", "a row is not of %s", want.PayTo)
		case !sameAddress(row.Channel.Token, r.cfg.Asset):
			return nil, batch("token_mismatch", "a row is of another token")
		}
		sig, ref := parseSignature(one.Signature)
		if ref != nil {
			return nil, ref
		}
		row.Voucher, row.Total = rail.Voucher{Max: max.Int64(), Signature: sig}, total.Int64()
		rows = append(rows, row)
	}
	return rows, nil
}

// sellersSignature reads a signature of a receiverAuthorizer, which is not made here.
func sellersSignature(s *string) ([]byte, error) {
	if s == nil {
		return nil, batch("authorizer_not_configured", "this facilitator signs for nobody: sign as receiverAuthorizer")
	}
	sig, ref := parseSignature(s)
	if ref != nil {
		return nil, ref
	}
	return sig, nil
}

// relayed is a payment that a seller's authorizer signed, and nobody here.
func (r *Rail) relayed(method, authorizer, nonce string, amount int64, call []byte) *rail.Payment {
	return &rail.Payment{Network: r.cfg.Network, Asset: r.cfg.Asset, Method: method, Payer: authorizer, Nonce: nonce,
		PayTo: escrowAddress.Hex(), Amount: big.NewInt(amount), ValidBefore: 1<<63 - 1, Wire: call}
}

func (r *Rail) readClaim(w *wireCall, want rail.Requirement) (*rail.ChannelCall, error) {
	rows, err := r.readRows(w, want)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, malformed("claims has no row")
	}
	sig, err := sellersSignature(w.ClaimSigned)
	if err != nil {
		return nil, err
	}
	call := claimsCall(rows, sig)
	return &rail.ChannelCall{Form: rail.FormClaim, Rows: rows, Settles: r.relayed(rail.MethodClaims,
		rows[0].Channel.Authorizer, crypto.Keccak256Hash(call).Hex(), 0, call)}, nil
}

// readSettle reads what moves all that was claimed. Which time that is, is known once it is
// checked.
func (r *Rail) readSettle(w *wireCall, want rail.Requirement) (*rail.ChannelCall, error) {
	receiver, isReceiver := address(w.Receiver)
	token, isToken := address(w.Token)
	switch {
	case !isReceiver || !isToken:
		return nil, malformed("receiver or token is not an address")
	case !sameAddress(receiver, want.PayTo):
		return nil, batch("receiver_mismatch", "the receiver is not %s", want.PayTo)
	case !sameAddress(token, r.cfg.Asset):
		return nil, batch("token_mismatch", "the token is not %s", r.cfg.Asset)
	}
	call := bytes.Join([][]byte{selSweep, addressWord(common.HexToAddress(receiver)), addressWord(r.asset)}, nil)
	return &rail.ChannelCall{Form: rail.FormSettle, Settles: r.relayed(rail.MethodSweep, receiver, "", 0, call)}, nil
}

// readRefund reads what a seller adds to a refund that its buyer asked for.
func (r *Rail) readRefund(w *wireCall, c *rail.ChannelCall, want rail.Requirement) error {
	rows, err := r.readRows(w, want)
	if err != nil {
		return err
	}
	nonce, isNonce := uint256(w.RefundNonce)
	channel := &c.Payment.Channel
	switch {
	case c.Payment.Refund == 0:
		return batch("refund_amount_invalid", "amount is missing")
	case !isNonce || !nonce.IsUint64():
		return batch("refund_payload", "refundNonce is not a decimal number")
	case len(rows) > 1 || len(rows) == 1 && rows[0].Channel.ID != channel.ID:
		return batch("refund_payload", "claims has rows of other channels")
	}
	sig, err := sellersSignature(w.RefundSign)
	if err != nil {
		return err
	}
	amount := c.Payment.Refund
	call := bytes.Join([][]byte{selRefund, configWords(channel), word(big.NewInt(amount)), word(nonce), tail(10, sig)},
		nil)
	if len(rows) > 0 {
		claimed, err := sellersSignature(w.ClaimSigned)
		if err != nil {
			return err
		}
		first := bytesTail(claimsCall(rows, claimed))
		call = bytes.Join([][]byte{selCalls, word(big.NewInt(32)), word(big.NewInt(2)), word(big.NewInt(64)),
			word(big.NewInt(int64(64 + len(first)))), first, bytesTail(call)}, nil)
	}
	c.Rows = rows
	c.Settles = r.relayed(rail.MethodRefund, channel.Authorizer, fmt.Sprintf("%s/%d", channel.ID, nonce), amount, call)
	return nil
}

// CheckCall implements rail.Relayed.
func (r *Rail) CheckCall(ctx context.Context, c *rail.ChannelCall, want rail.Requirement,
	now time.Time) (seen rail.Verified, s rail.ChannelState, err error) {
	if !r.RelaysChannels() {
		return seen, s, batch("channel_not_found", "the escrow is not on %s", r.cfg.Name)
	}
	if c.Form == rail.FormDeposit {
		if seen, s, err = r.depositGood(ctx, c.Payment, want, now); err == nil {
			err = ceiling(c.Payment, s, rail.Atomic(c.Payment.Deposit.Amount))
		}
		return seen, s, err
	}
	if seen.Head, err = r.newest(ctx); err != nil {
		return seen, s, err
	}
	if p := c.Payment; p != nil {
		if _, err := r.voucherSigned(ctx, p); err != nil {
			return seen, s, err
		}
		states, err := r.ReadChannels(ctx, []string{p.Channel.ID}, false)
		if err != nil {
			return seen, s, err
		}
		if s = states[0]; s.Balance == 0 {
			return seen, s, batch("channel_not_found", "the channel holds nothing")
		}
		if err := ceiling(p, s, 0); err != nil {
			return seen, s, err
		}
	}
	switch c.Form {
	case rail.FormClaim:
		err = r.brings(ctx, c)
	case rail.FormSettle:
		err = r.due(ctx, c)
	case rail.FormRefund:
		err = r.refundable(c, s)
	}
	if err == nil && c.Settles != nil {
		err = r.tryCall(ctx, c)
	}
	return seen, s, err
}

// ceiling holds what a voucher says against its channel, with what is put in beside it.
func ceiling(p *rail.ChannelPayment, s rail.ChannelState, deposit int64) error {
	max := p.Voucher.Max
	switch {
	case max > rail.Atomic(new(big.Int).Add(big.NewInt(s.Balance), big.NewInt(deposit))):
		return batch(rail.ReasonExceeds, "the voucher is for more than the channel holds")
	case max < s.Claimed || max == s.Claimed && p.Form != rail.FormRefund:
		return batch("cumulative_below_claimed", "as much as the voucher says is claimed already")
	}
	return nil
}

// brings reads what a claim would move, row by row.
func (r *Rail) brings(ctx context.Context, c *rail.ChannelCall) error {
	ids := make([]string, len(c.Rows))
	for i := range c.Rows {
		ids[i] = c.Rows[i].Channel.ID
	}
	states, err := r.ReadChannels(ctx, ids, false)
	if err != nil {
		return err
	}
	most, sum := map[string]int64{}, new(big.Int)
	for i, row := range c.Rows {
		had := max(states[i].Claimed, most[row.Channel.ID])
		if more := row.Total - had; more > 0 {
			sum.Add(sum, big.NewInt(more))
			most[row.Channel.ID] = row.Total
		}
	}
	if sum.Sign() == 0 {
		return batch("claim_simulation_failed", "all of it is claimed already")
	}
	c.Settles.Amount = sum
	return nil
}

// due reads what a receiver has to get. The sum that was claimed for him tells one time from the
// next, so that the same time is one payment.
func (r *Rail) due(ctx context.Context, c *rail.ChannelCall) error {
	p := c.Settles
	var out hexutil.Bytes
	data := bytes.Join([][]byte{selReceiver, addressWord(common.HexToAddress(p.Payer)), addressWord(r.asset)}, nil)
	if err := r.rpc.one(ctx, &out, "eth_call", ethCall(common.Address{}, escrowAddress, data), "latest"); err != nil {
		return fmt.Errorf("reading what was claimed: %w", err)
	}
	if len(out) != 64 {
		return errors.New("reading what was claimed: the answer has an unexpected form")
	}
	claimed := new(big.Int).SetBytes(out[:32])
	p.Nonce, p.Amount = claimed.String(), new(big.Int).Sub(claimed, new(big.Int).SetBytes(out[32:]))
	if p.Amount.Sign() <= 0 {
		return batch("nothing_to_settle", "nothing to settle for receiver and token")
	}
	return nil
}

// refundable bounds what a refund moves by what the channel has left behind its claim.
func (r *Rail) refundable(c *rail.ChannelCall, s rail.ChannelState) error {
	if c.Settles == nil {
		return nil // verified only
	}
	claimed := s.Claimed
	for _, row := range c.Rows {
		claimed = max(claimed, row.Total)
	}
	if claimed >= s.Balance {
		return batch("refund_no_balance", "nothing to refund")
	}
	c.Settles.Amount = big.NewInt(min(c.Payment.Refund, s.Balance-claimed))
	return nil
}

// tryCall tries a seller's call.
func (r *Rail) tryCall(ctx context.Context, c *rail.ChannelCall) error {
	why, err := r.trySending(ctx, c.Settles)
	if err == nil && why != "" {
		return batch(c.Form+"_simulation_failed", "%s", why)
	}
	return err
}

// trySending tries what settles an order of a seller's, with as much gas as it is given: why it
// would fail.
func (r *Rail) trySending(ctx context.Context, p *rail.Payment) (why string, err error) {
	to, data := r.plainCall(p)
	try := ethCall(r.senderOf(p), to, data)
	try["gas"] = hexutil.EncodeUint64(gasCap(p, false))
	k := &call{method: "eth_call", params: []any{try, "latest"}}
	if err = r.rpc.batch(ctx, k); err == nil {
		why, err = triedCall(k, nil)
	}
	if err != nil {
		return "", fmt.Errorf("trying a call of the escrow: %w", err)
	}
	return why, nil
}

// CallDone implements rail.Relayed.
func (r *Rail) CallDone(ctx context.Context, p *rail.Payment, tx string) (done rail.CallDone, err error) {
	var c receipt
	if err := r.rpc.one(ctx, &c, "eth_getTransactionReceipt", tx); err != nil {
		return done, fmt.Errorf("reading what a call did: %w", err)
	}
	var topic, first common.Hash
	form := rail.FormClaim
	switch id, _, _ := strings.Cut(p.Nonce, "/"); p.Method {
	case rail.MethodDeposit, rail.MethodDepositPermit:
		form, topic, first = rail.FormDeposit, topicDeposited, r.escrowDigest(kindChannel, p.Wire[4:4+7*32])
	case rail.MethodRefund:
		form, topic, first = rail.FormRefund, topicRefunded, common.HexToHash(id)
	case rail.MethodSweep:
		form, topic, first = rail.FormSettle, topicSettled, common.BytesToHash(common.HexToAddress(p.Payer).Bytes())
	default:
		topic = topicsOfEscrow[rail.ChannelClaimed]
	}
	found := false
	for _, l := range c.Logs {
		if l.Address != escrowAddress || l.Removed || len(l.Topics) < 2 || l.Topics[0] != topic || len(l.Data) < 32 ||
			form != rail.FormClaim && l.Topics[1] != first {
			continue
		}
		if found = true; form != rail.FormClaim {
			done.Amount = rail.Atomic(new(big.Int).SetBytes(l.Data[:32]))
		}
	}
	if !found || c.Status != 1 {
		return done, batch(form+"_transaction_failed", "the transaction is in a block and moved nothing")
	}
	if form != rail.FormDeposit && form != rail.FormRefund {
		return done, nil
	}
	states, err := r.ReadChannels(ctx, []string{first.Hex()}, false)
	if err != nil {
		return done, err
	}
	done.State = states[0]
	return done, nil
}
