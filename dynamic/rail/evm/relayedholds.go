package evm

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// This file serves the holds of other sellers, as their facilitator and the operator of each hold:
// operatorType delegated of the scheme auth-capture.
//
// Refunds are not served. The escrow pulls a refund from the operator, so it would be our money
// that goes to the payer, by the word of a seller who was paid already; nothing that he signs makes
// him pay it back, and a refund whose seller provably paid it first would take a transfer of his to
// the operator, which is no less work for him than one to the payer. He makes that one by himself.

var _ rail.RelayedHolds = (*Rail)(nil)

// maxHold is how far away a captureDeadline may be: until then the operator's key has to be kept,
// because no other account captures or voids.
const maxHold = 30 * 24 * time.Hour

// Types of what a seller signs for the operator, and what the salt of a hold commits to.
var (
	kindCapture = crypto.Keccak256([]byte("Capture(bytes32 paymentInfoHash,uint256 amount,uint256 feeAmount," +
		"address feeReceiver,uint256 expectedCapturableAmount,uint256 expectedRefundableAmount)"))
	kindVoid = crypto.Keccak256([]byte("Void(bytes32 paymentInfoHash)"))
	kindSalt = crypto.Keccak256([]byte("x402AuthCaptureSaltBinding(address receiverAuthorizer,address policy," +
		"uint256 saltNonce)"))
)

// wireOrder is the payload by which a seller has something done with a hold. Members beside these
// are not ours to judge: what is sent follows from these and the terms.
type wireOrder struct {
	Type       *string           `json:"type,omitzero"`
	Info       *rail.PaymentInfo `json:"paymentInfo,omitzero"`
	SaltNonce  *string           `json:"saltNonce,omitzero"`
	Amount     *string           `json:"amount,omitzero"`
	Fee        *string           `json:"feeAmount,omitzero"`
	FeeTo      *string           `json:"feeReceiver,omitzero"`
	Capturable *string           `json:"expectedCapturableAmount,omitzero"`
	Refundable *string           `json:"expectedRefundableAmount,omitzero"`
	Signed     *string           `json:"authorizerSignature,omitzero"`
	VoidSigned *string           `json:"voidAuthorizerSignature,omitzero"`
}

// RelaysHolds implements rail.RelayedHolds.
func (r *Rail) RelaysHolds() (map[string]any, bool) {
	if r.cfg.Settler != nil || !r.holds.Load() {
		return nil, false
	}
	return map[string]any{"captureAuthorizer": r.relayer.Hex(), "operatorType": "delegated",
		"authCaptureEscrow": captureAddress.Hex(), "lifecycle": []string{rail.FormCapture, rail.FormVoid}}, true
}

// ReadOrder implements rail.RelayedHolds.
func (r *Rail) ReadOrder(payload []byte, want rail.Requirement) (*rail.HoldOrder, error) {
	var w wireOrder
	switch {
	case len(payload) > maxPayload:
		return nil, malformedHold("the payload is too long")
	case json.Unmarshal(payload, &w) != nil:
		return nil, malformedHold("the payload is not the JSON object that the scheme asks for")
	case w.Type == nil:
		return r.readAuthorize(payload, want)
	case *w.Type == rail.FormRefund:
		return nil, captured("refund_funding_unavailable", "the escrow would take a refund out of this facilitator's "+
			"own account: send the buyer the money by a transfer of your own")
	case *w.Type != rail.FormCapture && *w.Type != rail.FormVoid:
		return nil, captured("payload_type", "type is none of capture and void")
	case !bindsAuthorizer(want):
		return nil, captured("lifecycle_not_relayed", "the terms name no receiverAuthorizer, so nothing shows who may "+
			"order this")
	}
	o, err := r.sellersTerms(want)
	if err != nil {
		return nil, err
	}
	o.Form = *w.Type
	if err := r.readHold(&w, o); err != nil {
		return o, err
	}
	if o.Form == rail.FormCapture {
		return o, r.readCapture(&w, o)
	}
	if w.VoidSigned != nil {
		return o, captured("void_authorizer_signature", "voidAuthorizerSignature belongs to a capture")
	}
	o.Settles, err = r.orderedVoid(o, w.Signed)
	return o, err
}

// bindsAuthorizer reports terms that name who may order captures and voids.
func bindsAuthorizer(want rail.Requirement) bool {
	s, _ := want.Extra["receiverAuthorizer"].(string)
	return common.IsHexAddress(s) && common.HexToAddress(s) != (common.Address{})
}

// sellersTerms reads another seller's terms into their canonical spelling: addresses by EIP-55, and
// numbers as they are kept here.
func (r *Rail) sellersTerms(want rail.Requirement) (*rail.HoldOrder, error) {
	x := want.Extra
	text := func(name string) *string {
		if s, ok := x[name].(string); ok {
			return &s
		}
		return nil
	}
	// is reports a member that is left out, or one of some texts.
	is := func(name string, texts ...string) bool {
		v, named := x[name]
		s, ok := v.(string)
		return !named || ok && slices.Contains(texts, s)
	}
	number := func(name string) int64 {
		if n, ok := whole(x[name]); ok {
			return n
		}
		return -1
	}
	nobody := common.Address{}.Hex()
	escrow, _ := address(text("authCaptureEscrow"))
	feeTo, _ := address(text("feeRecipient"))
	policy, _ := address(text("policy"))
	operator, _ := address(text("captureAuthorizer"))
	authorizer, _ := address(text("receiverAuthorizer"))
	payTo, isPayTo := address(&want.PayTo)
	amount, isAmount := uint256(&want.Amount)
	switch {
	case !sameAddress(want.Asset, r.cfg.Asset):
		return nil, captured("token_mismatch", "the asset is not %s", r.cfg.Asset)
	case x["authCaptureEscrow"] != nil && escrow != captureAddress.Hex():
		return nil, captured("extra", "authCaptureEscrow is not %s", captureAddress)
	case number("minFeeBps") != 0 || number("maxFeeBps") != 0 || feeTo != nobody:
		return nil, captured("extra", "no fee is taken here: minFeeBps and maxFeeBps are 0, and feeRecipient is %s",
			nobody)
	case text("name") == nil || text("version") == nil || !isPayTo:
		return nil, captured("extra", "name or version of the token is missing, or payTo is not an address")
	case number("captureDeadline") < 0 || number("refundDeadline") < number("captureDeadline"):
		return nil, captured("extra", "captureDeadline and refundDeadline are Unix times, and refundDeadline is the "+
			"later one")
	case !is("paymentFlow", "escrow") || x["autoCapture"] == true:
		return nil, captured("unsupported_payment_flow", "payments are held here and captured by an order: "+
			"paymentFlow is escrow")
	case !is("operatorType", "delegated"):
		return nil, captured("unsupported_operator_type", "operatorType is delegated")
	case x["policy"] != nil && policy != nobody:
		return nil, captured("policy", "no policy is obeyed here: leave it out")
	case r.keyOf(operator) == nil:
		return nil, captured("operator_not_admitted", "captureAuthorizer is not %s, as /supported says", r.relayer)
	case !bindsAuthorizer(want):
		return nil, captured("missing_receiver_authorizer", "nothing would show who may order a capture: name an "+
			"account of yours in receiverAuthorizer, whose signature captures and voids")
	case !is("assetTransferMethod", method, methodPermit2):
		return nil, captured("unsupported_asset_transfer_method", "assetTransferMethod is %s or %s", method,
			methodPermit2)
	case !isAmount || !amount.IsInt64() || amount.Sign() == 0:
		return nil, captured("amount_mismatch", "amount is not a decimal number above 0 and below 2^63")
	}
	q := want
	q.Asset, q.PayTo = r.cfg.Asset, payTo
	q.Extra = map[string]any{"captureAuthorizer": operator, "feeRecipient": nobody,
		"captureDeadline": number("captureDeadline"), "refundDeadline": number("refundDeadline")}
	return &rail.HoldOrder{Terms: q, Authorizer: authorizer}, nil
}

// boundTo reports whether a salt commits to an authorizer and no policy, as a nonce opens it.
func boundTo(salt, authorizer, nonce string) bool {
	n := common.HexToHash(nonce)
	return common.HexToHash(salt) == crypto.Keccak256Hash(kindSalt, addressWord(common.HexToAddress(authorizer)),
		make([]byte, 32), n[:])
}

// checkSalt refuses a salt that names nobody who may order captures and voids.
func checkSalt(salt, authorizer string, nonce *string) error {
	switch {
	case nonce == nil || !isHash(*nonce):
		return malformedHold("saltNonce is not 32 bytes in hex: without it nothing shows that the payer agreed to " +
			"the receiverAuthorizer")
	case !boundTo(salt, authorizer, *nonce):
		return captured("salt_binding_mismatch", "the salt does not commit to the receiverAuthorizer of the terms")
	}
	return nil
}

// readAuthorize reads a buyer's payload.
func (r *Rail) readAuthorize(payload []byte, want rail.Requirement) (*rail.HoldOrder, error) {
	var w wireHold
	if err := json.Unmarshal(payload, &w); err != nil {
		return nil, malformedHold("the payload is not the JSON object that the scheme asks for")
	}
	o, err := r.sellersTerms(want)
	if err != nil {
		return nil, err
	}
	by := method
	if want.Extra["assetTransferMethod"] == methodPermit2 {
		by = methodPermit2
	}
	if o.Authorized, err = r.readAuthorization(&w, by); err != nil {
		return nil, err
	}
	o.Form, o.Settles = rail.FormAuthorize, o.Authorized.Payment
	if err := checkSalt(o.Authorized.Salt, o.Authorizer, w.SaltNonce); err != nil {
		return o, err
	}
	// Here already: what was authorized once is answered for without being checked again, and is
	// not to be answered for under another seller's terms.
	hold, err := r.holdOf(o.Authorized, o.Terms)
	if err == nil {
		err = r.checkNonce(o.Settles, hold)
	}
	return o, err
}

// readHold reads which hold an order is about: the one that the terms make, with the payer, the
// time and the salt that the order names.
func (r *Rail) readHold(w *wireOrder, o *rail.HoldOrder) error {
	if w.Info == nil {
		return malformedHold("paymentInfo is missing")
	}
	said := w.Info
	payer, isPayer := address(&said.Payer)
	before, isTime := whole(said.PreApprovalExpiry)
	if !isPayer || !isTime || !isHash(said.Salt) {
		return malformedHold("paymentInfo has no payer, preApprovalExpiry or salt")
	}
	var err error
	if o.Hold, err = r.holdBy(o.Terms, payer, before, strings.ToLower(said.Salt)); err != nil {
		return captured("extra", "%s", err)
	}
	is := &o.Hold.Info
	if !sameAddress(said.Operator, is.Operator) {
		return captured("operator_mismatch", "the operator is not the captureAuthorizer of the terms")
	}
	if err := checkSalt(is.Salt, o.Authorizer, w.SaltNonce); err != nil {
		return err
	}
	nonce := r.holdNonce(infoWords(is))
	for _, by := range []string{rail.MethodHold, rail.MethodHoldPermit} {
		o.Of = append(o.Of, rail.Payment{Network: r.cfg.Network, Asset: r.cfg.Asset, Method: by, Payer: payer,
			Nonce: nonceText(by, nonce)})
	}
	for _, field := range []struct {
		name string
		same bool
	}{
		{"receiver", sameAddress(said.Receiver, is.Receiver)},
		{"token", sameAddress(said.Token, is.Token)},
		{"maxAmount", said.MaxAmount == is.MaxAmount},
		{"authorizationExpiry", said.AuthorizationExpiry == is.AuthorizationExpiry},
		{"refundExpiry", said.RefundExpiry == is.RefundExpiry},
		{"minFeeBps or maxFeeBps", said.MinFeeBps == 0 && said.MaxFeeBps == 0},
		{"feeReceiver", sameAddress(said.FeeReceiver, is.FeeReceiver)},
	} {
		if !field.same {
			return captured("extra", "%s of paymentInfo is not that of the terms", field.name)
		}
	}
	return nil
}

// ordered makes a payment the one that a seller's signature orders. The nonce tells orders apart,
// of which each is sent once.
func ordered(p *rail.Payment, o *rail.HoldOrder, nonce string, signed *string) (*rail.Payment, error) {
	if signed == nil {
		return nil, captured("unauthenticated_authorizer_request", "this facilitator signs for nobody: sign as "+
			"receiverAuthorizer")
	}
	sig, ok := unhex(*signed, maxSignature)
	if !ok {
		return nil, malformedHold("a signature is not hex of a sensible length")
	}
	if vrs, ok := normal(sig); ok {
		sig = vrs
	}
	p.Payer, p.Nonce, p.Signature = o.Authorizer, nonce, sig
	return p, nil
}

// orderedVoid is the void that a seller orders, of which there is one for a hold.
func (r *Rail) orderedVoid(o *rail.HoldOrder, signed *string) (*rail.Payment, error) {
	return ordered(r.Void(o.Hold), o, o.Hold.Hash, signed)
}

// readCapture reads a capture, and the void that may follow it. What its signer expects to find
// never comes again once something was moved, so it is what the capture is named by: two captures
// that expect the same are one.
func (r *Rail) readCapture(w *wireOrder, o *rail.HoldOrder) error {
	amount, isAmount := uint256(w.Amount)
	capturable, isCapturable := uint256(w.Capturable)
	refundable, isRefundable := uint256(w.Refundable)
	fee, isFee := uint256(w.Fee)
	feeTo, isFeeTo := address(w.FeeTo)
	switch {
	case !isAmount || !isCapturable || !isRefundable || !isFee || !isFeeTo:
		return malformedHold("amount, feeAmount, expectedCapturableAmount or expectedRefundableAmount is not a " +
			"decimal number, or feeReceiver is not an address")
	case !amount.IsInt64() || !capturable.IsInt64() || !refundable.IsInt64():
		return captured("amount_overflow", "an amount is not below 2^63")
	case amount.Sign() == 0:
		return captured("amount_mismatch", "nothing is to be captured")
	case fee.Sign() != 0:
		return captured("fee_bps_out_of_range", "no fee is taken here: feeAmount is 0")
	case common.HexToAddress(feeTo) != (common.Address{}):
		return captured("fee_receiver", "no fee is taken here: feeReceiver is %s", common.Address{})
	}
	o.Expected = rail.HoldState{Collected: true, Capturable: capturable.Int64(), Refundable: refundable.Int64()}
	var err error
	nonce := fmt.Sprintf("%s/%d/%d", o.Hold.Hash, o.Expected.Capturable, o.Expected.Refundable)
	if o.Settles, err = ordered(r.capturing(o.Hold, amount), o, nonce, w.Signed); err != nil || w.VoidSigned == nil {
		return err
	}
	o.Then, err = r.orderedVoid(o, w.VoidSigned)
	return err
}

// expected reads what the signer of a seller's capture expected to find, out of its nonce. ok is
// false of any other payment.
func expected(p *rail.Payment) (s rail.HoldState, ok bool) {
	parts := strings.Split(p.Nonce, "/")
	if p.Method != rail.MethodCapture || len(parts) != 3 {
		return s, false
	}
	var errs [2]error
	s.Capturable, errs[0] = strconv.ParseInt(parts[1], 10, 64)
	s.Refundable, errs[1] = strconv.ParseInt(parts[2], 10, 64)
	return s, errors.Join(errs[:]...) == nil
}

// operatorDigest is what a receiverAuthorizer signs for the operator of a hold.
func (r *Rail) operatorDigest(h rail.Hold, kind []byte, words ...[]byte) common.Hash {
	d := wallet.Domain{Name: "x402 Auth Capture Operator", Version: "1", ChainID: r.cfg.ChainID,
		VerifyingContract: wallet.Address(common.HexToAddress(h.Info.Operator))}
	separator, hash := d.Separator(), common.HexToHash(h.Hash)
	message := crypto.Keccak256(slices.Concat([][]byte{kind, hash[:]}, words)...)
	return crypto.Keccak256Hash([]byte{0x19, 0x01}, separator[:], message)
}

// orderDigest is what is signed of a payment that a seller orders.
func (r *Rail) orderDigest(o *rail.HoldOrder, p *rail.Payment) common.Hash {
	if p.Method == rail.MethodVoid {
		return r.operatorDigest(o.Hold, kindVoid)
	}
	zero := make([]byte, 32) // no fee, and nobody who takes one
	return r.operatorDigest(o.Hold, kindCapture, word(p.Amount), zero, zero, word(big.NewInt(o.Expected.Capturable)),
		word(big.NewInt(o.Expected.Refundable)))
}

// orderSigned reports whether the receiverAuthorizer, an account or a contract, signed a payment.
func (r *Rail) orderSigned(ctx context.Context, o *rail.HoldOrder, p *rail.Payment) (bool, error) {
	hash, who := r.orderDigest(o, p), common.HexToAddress(o.Authorizer)
	if by, ok := recover65(hash, p.Signature); ok && by == who {
		return true, nil
	}
	var code hexutil.Bytes
	err := r.rpc.one(ctx, &code, "eth_getCode", who.Hex(), "latest")
	if err != nil || len(code) == 0 {
		return false, err
	}
	return r.validSignature(ctx, who, hash, p.Signature)
}

// CheckOrder implements rail.RelayedHolds, in the order of the scheme's specification.
func (r *Rail) CheckOrder(ctx context.Context, o *rail.HoldOrder, now time.Time) (rail.Verified, error) {
	if _, ok := r.RelaysHolds(); !ok {
		return rail.Verified{}, captured("extra", "no payments are held on %s", r.cfg.Name)
	}
	if o.Form == rail.FormAuthorize {
		return r.checkAuthorize(ctx, o, now)
	}
	for _, p := range []*rail.Payment{o.Settles, o.Then} {
		if p == nil {
			continue
		}
		signed, err := r.orderSigned(ctx, o, p)
		if err != nil {
			return rail.Verified{}, fmt.Errorf("checking a seller's signature: %w", err)
		}
		reason := "authorizer_signature"
		if p == o.Then {
			reason = "void_authorizer_signature"
		}
		if !signed {
			return rail.Verified{}, captured(reason, "the signature is not that of the receiverAuthorizer, %s, for "+
				"the operator %s", o.Authorizer, o.Hold.Info.Operator)
		}
	}
	s, err := r.ReadHold(ctx, o.Hold.Hash, false)
	if err != nil {
		return rail.Verified{}, err
	}
	seen := rail.Verified{Block: s.Block, Time: s.Time}
	if ref := checkState(o, s, now); ref != nil {
		return seen, ref
	}
	why, err := r.trySending(ctx, o.Settles)
	if err == nil && why != "" {
		return seen, refuseHold(why)
	}
	return seen, err
}

// checkAuthorize holds a buyer's authorization against the terms, of which there must be time to
// capture.
func (r *Rail) checkAuthorize(ctx context.Context, o *rail.HoldOrder, now time.Time) (rail.Verified, error) {
	switch deadline, _ := whole(o.Terms.Extra["captureDeadline"]); {
	case deadline > now.Add(maxHold).Unix():
		return rail.Verified{}, captured("extra", "nothing is held for more than %d days here: captureDeadline is too "+
			"far away", maxHold/(24*time.Hour))
	case o.Settles.ValidBefore > deadline-int64(rail.LastCapture/time.Second):
		return rail.Verified{}, captured("deadline_ordering", "nothing is captured in the last %d minutes before "+
			"captureDeadline: let it be more than that behind what maxTimeoutSeconds gives a buyer",
			rail.LastCapture/time.Minute)
	}
	seen, err := r.VerifyAuthorization(ctx, o.Authorized, o.Terms, now)
	o.Hold = o.Authorized.Hold
	return seen, err
}

// checkState holds a seller's order against what the escrow holds.
func checkState(o *rail.HoldOrder, s rail.HoldState, now time.Time) *rail.Refusal {
	void := o.Form == rail.FormVoid
	amount := rail.Atomic(o.Settles.Amount)
	switch {
	case void && s.Capturable == 0:
		ref := captured("zero_authorization", "nothing is held: it was captured, voided or reclaimed, or not yet "+
			"authorized")
		ref.Err = rail.ErrUsed
		return ref
	case void:
		return nil
	case o.Hold.Info.AuthorizationExpiry-int64(rail.LastCapture/time.Second) <= soon(now, s.Time):
		return captured("capture_deadline_expired", "nothing is captured in the last %d minutes before captureDeadline",
			rail.LastCapture/time.Minute)
	case s.Capturable != o.Expected.Capturable || s.Refundable != o.Expected.Refundable:
		return captured("unexpected_payment_state", "%d can be captured and %d refunded at block %d: sign for these",
			s.Capturable, s.Refundable, s.Block)
	case amount > s.Capturable:
		return captured("insufficient_authorization", "no more than %d can be captured", s.Capturable)
	case o.Then != nil && amount == s.Capturable:
		return captured("void_remainder_full_capture", "all of it is captured, so nothing is left to void")
	}
	return nil
}

// OrderDone implements rail.RelayedHolds.
func (r *Rail) OrderDone(ctx context.Context, p *rail.Payment, tx string) (int64, error) {
	var c receipt
	if err := r.rpc.one(ctx, &c, "eth_getTransactionReceipt", tx); err != nil {
		return 0, fmt.Errorf("reading what became of a hold: %w", err)
	}
	topic, at := topicHeld, infoBytes // the amount stands behind the payment's information
	switch p.Method {
	case rail.MethodCapture:
		topic, at = topicCaptured, 0
	case rail.MethodVoid:
		topic, at = topicVoided, 0
	}
	hash := r.hashOf(p)
	for _, l := range c.Logs {
		if c.Status == 1 && l.Address == captureAddress && !l.Removed && len(l.Topics) == 2 && l.Topics[0] == topic &&
			l.Topics[1] == hash && len(l.Data) >= at+32 {
			return rail.Atomic(new(big.Int).SetBytes(l.Data[at : at+32])), nil
		}
	}
	return 0, captured("transaction_reverted", "the transaction is in a block and moved nothing")
}
