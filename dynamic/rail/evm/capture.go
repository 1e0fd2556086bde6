package evm

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/dynamic/rail"
)

// Payments of the scheme auth-capture are held by one contract, AuthCaptureEscrow of version 1.1,
// which stands at the same address on all networks that have it. A payment is named by the hash of
// its information (PaymentInfo), and the payer signs that hash, made without the payer, as the
// nonce of an authorization or permit: who changes anything of it has another nonce. Only the
// operator that it names can have it fetched, captured or voided, so those transactions go out from
// that account and no other. This file has what is signed and called; reading and checking are
// beside it.

var _ rail.Captures = (*Rail)(nil)

// Where the contracts stand.
var (
	captureAddress       = common.HexToAddress("0xf96815976523E00e65Be8f34cA5e64b4f41EB19c")
	capturePayAddress    = common.HexToAddress("0x8612dfdc421f80336cd14E8EF9cb1E765dB5ab88")
	capturePermitAddress = common.HexToAddress("0xD69831Aed5bfe262067ec4c751f4F830EcdD446e")
)

const (
	reasonsOfCapture = "invalid_auth_capture_evm_"
	infoType         = "(address,address,address,address,uint120,uint48,uint48,uint48,uint16,uint16,address,uint256)"
	infoBytes        = 12 * 32 // of a PaymentInfo in calldata, which stands behind the selector
	infoOperator     = 0       // places of its words
	infoPayer        = 1
)

// Selectors, topics and types of the escrow.
var (
	selAuthorize = selector("authorize(" + infoType + ",uint256,address,bytes)")
	selCapture   = selector("capture(" + infoType + ",uint256,uint256,address)")
	selVoid      = selector("void(" + infoType + ")")
	selReclaim   = selector("reclaim(" + infoType + ")")
	selHold      = selector("paymentState(bytes32)")

	topicHeld      = crypto.Keccak256Hash([]byte("PaymentAuthorized(bytes32," + infoType + ",uint256,address)"))
	topicCaptured  = crypto.Keccak256Hash([]byte("PaymentCaptured(bytes32,uint256,uint256,address)"))
	topicVoided    = crypto.Keccak256Hash([]byte("PaymentVoided(bytes32,uint256)"))
	topicReclaimed = crypto.Keccak256Hash([]byte("PaymentReclaimed(bytes32,uint256)"))

	kindInfo = crypto.Keccak256([]byte("PaymentInfo(address operator,address payer,address receiver,address token," +
		"uint120 maxAmount,uint48 preApprovalExpiry,uint48 authorizationExpiry,uint48 refundExpiry,uint16 minFeeBps," +
		"uint16 maxFeeBps,address feeReceiver,uint256 salt)"))
	kindHoldPermit = crypto.Keccak256([]byte("PermitTransferFrom(TokenPermissions permitted,address spender," +
		"uint256 nonce,uint256 deadline)TokenPermissions(address token,uint256 amount)"))
)

// CaptureTerms implements rail.Captures. The operator is the first of the relayer's accounts. Until
// a node was asked whether the escrow is there, it is taken to be: whoever asks again, just after a
// start, for what he had held is recognised, and what is new is verified by the node or not at all.
func (r *Rail) CaptureTerms() (operator string, ok bool) {
	if r.cfg.Settler != nil || r.holdless.Load() {
		return "", false
	}
	return r.relayer.Hex(), true
}

// HoldRequirement implements rail.Captures. Nobody takes a fee.
func (r *Rail) HoldRequirement(amount int64, d rail.Deadlines) rail.Requirement {
	q := r.Requirement(amount)
	q.Scheme = rail.SchemeCapture
	// Deadlines and fees are numbers: text makes the client throw.
	maps.Copy(q.Extra, map[string]any{
		"authCaptureEscrow": captureAddress.Hex(), "captureAuthorizer": r.relayer.Hex(), "operatorType": "delegated",
		"paymentFlow": "escrow", "captureMode": "deferred", "assetTransferMethod": r.cfg.Transfer,
		"captureDeadline": d.Capture.Unix(), "refundDeadline": d.Refund.Unix(),
		"minFeeBps": int64(0), "maxFeeBps": int64(0), "feeRecipient": common.Address{}.Hex(),
	})
	return q
}

// holdCollector is the contract that buyers are asked to let fetch their payments.
func (r *Rail) holdCollector() common.Address {
	if r.cfg.Transfer == methodPermit2 {
		return capturePermitAddress
	}
	return capturePayAddress
}

// infoWords is a payment's information as the ABI encodes it, and as its hash has it.
func infoWords(i *rail.PaymentInfo) []byte {
	a := func(s string) []byte { return addressWord(common.HexToAddress(s)) }
	n := func(v int64) []byte { return word(big.NewInt(v)) }
	amount, _ := uint256(&i.MaxAmount)
	salt := common.HexToHash(i.Salt)
	return bytes.Join([][]byte{a(i.Operator), a(i.Payer), a(i.Receiver), a(i.Token), word(amount),
		n(i.PreApprovalExpiry), n(i.AuthorizationExpiry), n(i.RefundExpiry), n(int64(i.MinFeeBps)),
		n(int64(i.MaxFeeBps)), a(i.FeeReceiver), salt[:]}, nil)
}

// holdHash names the payment whose information has these words.
func (r *Rail) holdHash(words []byte) common.Hash {
	return crypto.Keccak256Hash(word(r.chainID), addressWord(captureAddress), crypto.Keccak256(kindInfo, words))
}

// holdNonce is what a payer signs as the nonce of a payment: its hash without the payer.
func (r *Rail) holdNonce(words []byte) common.Hash {
	words = bytes.Clone(words)
	clear(words[infoPayer*32 : (infoPayer+1)*32])
	return r.holdHash(words)
}

// holdDigest is what a payer signs of a payment that is held.
func (r *Rail) holdDigest(p *rail.Payment) common.Hash {
	before := word(big.NewInt(p.ValidBefore))
	if p.Method == rail.MethodHoldPermit {
		nonce := permitNonce(p.Nonce)
		hash := func(parts ...[]byte) []byte { return crypto.Keccak256(parts...) }
		domain := hash(kindDomain, hash([]byte("Permit2")), word(r.chainID), addressWord(permit2Address))
		permitted := hash(kindPermitted, addressWord(r.asset), word(p.Amount))
		message := hash(kindHoldPermit, permitted, addressWord(capturePermitAddress), nonce[:], before)
		return common.BytesToHash(hash([]byte{0x19, 0x01}, domain, message))
	}
	nonce := common.HexToHash(p.Nonce)
	message := crypto.Keccak256(kindReceive, addressWord(common.HexToAddress(p.Payer)), addressWord(capturePayAddress),
		word(p.Amount), word(big.NewInt(p.ValidAfter)), before, nonce[:])
	return crypto.Keccak256Hash([]byte{0x19, 0x01}, r.separator[:], message)
}

// authorizeCall is the calldata by which the operator has a payment fetched and held.
func authorizeCall(i *rail.PaymentInfo, p *rail.Payment) []byte {
	collector, sig := capturePayAddress, p.Signature
	if p.Method == rail.MethodHoldPermit {
		collector = capturePermitAddress
	}
	if vrs, ok := normal(sig); ok {
		sig = vrs
	}
	return bytes.Join([][]byte{selAuthorize, infoWords(i), word(p.Amount), addressWord(collector), tail(15, sig)}, nil)
}

// Capture implements rail.Captures.
func (r *Rail) Capture(h rail.Hold) *rail.Payment {
	amount, _ := uint256(&h.Info.MaxAmount)
	return r.capturing(h, amount)
}

// capturing is Capture of a part.
func (r *Rail) capturing(h rail.Hold, amount *big.Int) *rail.Payment {
	zero := make([]byte, 32) // no fee, and nobody who takes one
	call := bytes.Join([][]byte{selCapture, infoWords(&h.Info), word(amount), zero, zero}, nil)
	p := r.ending(h, rail.MethodCapture, h.Info.Receiver, h.Info.AuthorizationExpiry, call)
	p.Amount = amount
	return p
}

// Void implements rail.Captures.
func (r *Rail) Void(h rail.Hold) *rail.Payment {
	return r.ending(h, rail.MethodVoid, h.Info.Payer, 1<<63-1, append(bytes.Clone(selVoid), infoWords(&h.Info)...))
}

// Reclaim implements rail.Captures.
func (r *Rail) Reclaim(h rail.Hold) (to string, data []byte) {
	return captureAddress.Hex(), append(bytes.Clone(selReclaim), infoWords(&h.Info)...)
}

// ending is the payment that ends a hold, which nobody signed but the store.
func (r *Rail) ending(h rail.Hold, method, to string, before int64, call []byte) *rail.Payment {
	amount, _ := uint256(&h.Info.MaxAmount)
	return &rail.Payment{Network: r.cfg.Network, Asset: r.cfg.Asset, Method: method, Payer: h.Info.Operator,
		Nonce: h.Hash, PayTo: to, Amount: amount, ValidBefore: before, Wire: call}
}

// isHold reports a payment into a hold, and endsHold one that ends it.
func isHold(p *rail.Payment) bool {
	return p.Method == rail.MethodHold || p.Method == rail.MethodHoldPermit
}

// endsHold: see isHold.
func endsHold(p *rail.Payment) bool {
	return p.Method == rail.MethodCapture || p.Method == rail.MethodVoid
}

// ofHold reports a payment whose calldata the escrow of holds takes, from the operator alone.
func ofHold(p *rail.Payment) bool {
	return (isHold(p) || endsHold(p)) && len(p.Wire) >= 4+infoBytes
}

// senderOf is the account that has to send what settles a payment; the first where any may.
func (r *Rail) senderOf(p *rail.Payment) common.Address {
	if !ofHold(p) {
		return r.relayer
	}
	return common.BytesToAddress(p.Wire[4+infoOperator*32 : 4+(infoOperator+1)*32])
}

// hashOf is the name of the hold that a payment is of; zero of one that was not verified.
func (r *Rail) hashOf(p *rail.Payment) common.Hash {
	if !ofHold(p) {
		return common.Hash{}
	}
	return r.holdHash(p.Wire[4 : 4+infoBytes])
}

// lasts is until when a settlement of p is signed, in Unix seconds; what is sent is waited for
// until the payment's own end.
func lasts(p *rail.Payment) int64 {
	if p.Method == rail.MethodCapture {
		return p.ValidBefore - int64((rail.LastCapture-margin)/time.Second)
	}
	return p.ValidBefore
}

// captured is a refusal with a reason of the scheme's.
func captured(reason, format string, args ...any) *rail.Refusal {
	return refuse(reasonsOfCapture+reason, format, args...)
}

// holdOf is the payment that a buyer agreed to, by the terms.
func (r *Rail) holdOf(a *rail.Authorization, want rail.Requirement) (rail.Hold, error) {
	return r.holdBy(want, a.Payment.Payer, a.Payment.ValidBefore, a.Salt)
}

// holdBy is the hold of a payer by terms, who may have it authorized before a moment.
func (r *Rail) holdBy(want rail.Requirement, payer string, before int64, salt string) (rail.Hold, error) {
	text := func(name string) string { s, _ := want.Extra[name].(string); return s }
	i := rail.PaymentInfo{Operator: text("captureAuthorizer"), Payer: payer, Receiver: want.PayTo,
		Token: want.Asset, MaxAmount: want.Amount, PreApprovalExpiry: before, FeeReceiver: text("feeRecipient"),
		Salt: salt}
	var ok bool
	if i.AuthorizationExpiry, ok = whole(want.Extra["captureDeadline"]); !ok {
		return rail.Hold{}, errors.New("the terms have no captureDeadline")
	}
	if i.RefundExpiry, ok = whole(want.Extra["refundDeadline"]); !ok {
		return rail.Hold{}, errors.New("the terms have no refundDeadline")
	}
	return rail.Hold{Hash: r.holdHash(infoWords(&i)).Hex(), Info: i}, nil
}

// whole is a number of the terms that the escrow's fields have room for, as it was written or read.
func whole(v any) (int64, bool) {
	n, ok := v.(int64)
	if f, is := v.(float64); is && f == math.Trunc(f) && math.Abs(f) < 1<<48 {
		n, ok = int64(f), true
	}
	return n, ok && n >= 0 && n < 1<<48
}

// nonceText is a nonce as the payment's method spells it.
func nonceText(method string, nonce common.Hash) string {
	if method == rail.MethodHoldPermit {
		return nonce.Big().String()
	}
	return nonce.Hex()
}
