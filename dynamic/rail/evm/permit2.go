package evm

import (
	"bytes"
	"context"
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

// Permit2 moves tokens that know no authorizations of their own (x402 2.5): the payer once allows
// Permit2 to move its money, and signs each payment for the proxy that x402 settles by. A nonce is
// one bit of a map, which whoever spends or cancels it sets. Permit2 itself tells nothing of a
// payment in an event, so what paid is the token's Transfer(payer, payTo, value) in a transaction
// that carries the nonce (package till, M3).

// methodPermit2 is the method of such payments. Their nonces are decimal numbers.
const methodPermit2 = "permit2"

// Where both contracts stand on all networks that have them, and what is asked of them.
var (
	permit2Address = common.HexToAddress("0x000000000022D473030F116dDEE9F6B43aC78BA3")
	proxyAddress   = common.HexToAddress("0x402085c248EeA27D92E8b30b2C58ed07f9E20001")

	selSettle    = selector("settle(((address,uint256),uint256,uint256),address,(address,uint256),bytes)")
	selPermit2   = selector("PERMIT2()")
	selBitmap    = selector("nonceBitmap(address,uint256)")
	selAllowance = selector("allowance(address,address)")

	topicInvalidated = crypto.Keccak256Hash([]byte("UnorderedNonceInvalidation(address,uint256,uint256)"))
)

// EIP-712 types of a Permit2 payment.
var (
	kindDomain    = crypto.Keccak256([]byte("EIP712Domain(string name,uint256 chainId,address verifyingContract)"))
	kindPermitted = crypto.Keccak256([]byte("TokenPermissions(address token,uint256 amount)"))
	kindWitness   = crypto.Keccak256([]byte("Witness(address to,uint256 validAfter)"))
	kindPermit    = crypto.Keccak256([]byte("PermitWitnessTransferFrom(TokenPermissions permitted,address spender," +
		"uint256 nonce,uint256 deadline,Witness witness)TokenPermissions(address token,uint256 amount)" +
		"Witness(address to,uint256 validAfter)"))
)

// The stock facilitator's reason codes (x402 2.5), and what the contracts' errors mean.
const (
	reasonPayloadType       = "unsupported_payload_type"
	reasonPermitSpender     = "invalid_permit2_spender"
	reasonPermitRecipient   = "invalid_permit2_recipient_mismatch"
	reasonPermitExpired     = "permit2_deadline_expired"
	reasonPermitEarly       = "permit2_not_yet_valid"
	reasonPermitAmount      = "permit2_amount_mismatch"
	reasonPermitToken       = "permit2_token_mismatch"
	reasonPermitSignature   = "invalid_permit2_signature"
	reasonPermitProxy       = "permit2_proxy_not_deployed"
	reasonPermitBalance     = "permit2_insufficient_balance"
	reasonPermitAllowance   = "permit2_allowance_required"
	reasonPermitSimulation  = "permit2_simulation_failed"
	reasonPermitNonce       = "permit2_invalid_nonce"
	reasonPermitTooEarly    = "permit2_payment_too_early"
	reasonPermitDestination = "permit2_invalid_destination"
)

// permitErrors are the errors of Permit2 and of the proxy, by their selectors.
var permitErrors = map[string]string{
	"0x756688fe": reasonPermitNonce,
	"0xcd21db4f": reasonPermitExpired,
	"0x815e1d64": reasonPermitSignature, // InvalidSigner
	"0x8baa579f": reasonPermitSignature, // InvalidSignature
	"0xb0669cbc": reasonPermitSignature, // InvalidContractSignature
	"0x4be6321b": reasonPermitSignature, // InvalidSignatureLength
	"0xa65539fa": reasonPermitTooEarly,
	"0xac6b05f5": reasonPermitDestination,
}

// wirePermitted is what a signed message of Permit2 lets be moved.
type wirePermitted struct {
	Token   *string        `json:"token"`
	Amount  *string        `json:"amount"`
	Unknown map[string]any `json:",embed"`
}

// wirePermit is the signed part of a Permit2 payload with its numbers as decimal strings.
type wirePermit struct {
	From      *string        `json:"from"`
	Permitted *wirePermitted `json:"permitted"`
	Spender   *string        `json:"spender"`
	Nonce     *string        `json:"nonce"`
	Deadline  *string        `json:"deadline"`
	Witness   *struct {
		To         *string        `json:"to"`
		ValidAfter *string        `json:"validAfter"`
		Unknown    map[string]any `json:",embed"`
	} `json:"witness"`
	Unknown map[string]any `json:",embed"`
}

// parsePermit reads the signed part of a Permit2 payload. The nonce stays the decimal number that
// it is, so that it is none of EIP-3009's; validBefore is the first second that is too late.
func (r *Rail) parsePermit(w *wirePermit) (*rail.Payment, error) {
	switch {
	case w.Permitted == nil || w.Witness == nil:
		return nil, malformed("permitted or witness is missing")
	case len(w.Unknown)+len(w.Permitted.Unknown)+len(w.Witness.Unknown) > 0:
		return nil, malformed("the permit has a member that it cannot have")
	}
	p := &rail.Payment{Network: r.cfg.Network, Method: methodPermit2}
	spender, isSpender := address(w.Spender)
	for _, a := range []struct {
		name string
		text *string
		into *string
	}{{"from", w.From, &p.Payer}, {"permitted.token", w.Permitted.Token, &p.Asset}, {"witness.to", w.Witness.To,
		&p.PayTo}} {
		var ok bool
		if *a.into, ok = address(a.text); !ok {
			return nil, malformed(a.name + " is not an address")
		}
	}
	amount, isAmount := uint256(w.Permitted.Amount)
	nonce, isNonce := uint256(w.Nonce)
	deadline, isDeadline := uint256(w.Deadline)
	after, isAfter := uint256(w.Witness.ValidAfter)
	switch {
	case !isSpender:
		return nil, malformed("spender is not an address")
	case !isAmount || !isNonce || !isDeadline || !isAfter:
		return nil, malformed("amount, nonce, deadline or validAfter is not a decimal number")
	case r.cfg.Settler != nil:
		return p, refuse(reasonPayloadType, "no payment by Permit2 is taken here")
	case common.HexToAddress(spender) != proxyAddress:
		return p, refuse(reasonPermitSpender, "the spender is not %s", proxyAddress) // and it has a payer
	}
	p.Amount, p.Nonce = amount, nonce.String()
	p.ValidAfter, p.ValidBefore = clamp(after), clamp(deadline.Add(deadline, common.Big1))
	return p, nil
}

// permitNonce is the nonce of a Permit2 payment as a word.
func permitNonce(nonce string) common.Hash {
	n, _ := new(big.Int).SetString(nonce, 10)
	if n == nil {
		return common.Hash{}
	}
	return common.BigToHash(n)
}

// permitDigest is what the payer of a Permit2 payment signed.
func (r *Rail) permitDigest(p *rail.Payment) common.Hash {
	hash := func(parts ...[]byte) []byte { return crypto.Keccak256(parts...) }
	domain := hash(kindDomain, hash([]byte("Permit2")), word(r.chainID), addressWord(permit2Address))
	permitted := hash(kindPermitted, addressWord(common.HexToAddress(p.Asset)), word(p.Amount))
	witness := hash(kindWitness, addressWord(common.HexToAddress(p.PayTo)), word(big.NewInt(p.ValidAfter)))
	nonce := permitNonce(p.Nonce)
	message := hash(kindPermit, permitted, addressWord(proxyAddress), nonce[:], word(big.NewInt(p.ValidBefore-1)),
		witness)
	return common.BytesToHash(hash([]byte{0x19, 0x01}, domain, message))
}

// settlePermitCall is the calldata by which the proxy settles p.
func settlePermitCall(p *rail.Payment) []byte {
	sig, _ := unwrap(p.Signature)
	if vrs, ok := normal(sig); ok {
		sig = vrs
	}
	nonce := permitNonce(p.Nonce)
	return append(bytes.Join([][]byte{selSettle,
		addressWord(common.HexToAddress(p.Asset)), word(p.Amount), nonce[:], word(big.NewInt(p.ValidBefore - 1)),
		addressWord(common.HexToAddress(p.Payer)), addressWord(common.HexToAddress(p.PayTo)),
		word(big.NewInt(p.ValidAfter))}, nil), tail(8, sig)...)
}

// settled reads which payment a call of the proxy is for.
func settled(input []byte) (owner common.Address, nonce common.Hash, ok bool) {
	if len(input) < 4+8*32 || !bytes.Equal(input[:4], selSettle) {
		return owner, nonce, false
	}
	return common.BytesToAddress(input[4+4*32 : 4+5*32]), common.BytesToHash(input[4+2*32 : 4+3*32]), true
}

// verifyPermit is Verify of a Permit2 payment, in the order of the stock facilitator.
func (r *Rail) verifyPermit(ctx context.Context, p *rail.Payment, want rail.Requirement, now time.Time) (rail.Verified,
	error) {
	head, err := r.newest(ctx)
	if err != nil {
		return rail.Verified{}, err
	}
	seen := rail.Verified{Head: head}
	if ref := r.checkPermit(p, want, now, seen.Time); ref != nil {
		return rail.Verified{}, ref
	}
	if err := r.unsigned(ctx, p, r.permitDigest(p), now); err != nil {
		return rail.Verified{}, err
	}
	var code, assetCode hexutil.Bytes
	sim := &call{method: "eth_call", params: r.simulation(p, now, seen.Time)}
	calls := []*call{{method: "eth_getCode", params: []any{p.Payer, "latest"}, out: &code},
		{method: "eth_getCode", params: []any{r.asset.Hex(), "latest"}, out: &assetCode}}
	if err := r.rpc.batch(ctx, append(calls, sim)...); err != nil {
		return rail.Verified{}, fmt.Errorf("verifying a payment: %w", err)
	}
	if err := errors.Join(calls[0].err, calls[1].err); err != nil {
		return rail.Verified{}, fmt.Errorf("reading code: %w", err)
	}
	if len(assetCode) == 0 {
		return rail.Verified{}, refuse(reasonNoAsset, "no contract at the asset's address")
	}
	if err := r.checkPermitSignature(ctx, p, len(code) > 0); err != nil {
		return rail.Verified{}, err
	}
	seen.Local, seen.Code = len(code) > 0, codeHash(code)
	why, err := triedCall(sim, nil)
	switch {
	case err != nil && !errors.Is(err, rail.ErrNodeNull):
		return rail.Verified{}, fmt.Errorf("simulating a payment: %w", err)
	case err == nil && why == "":
		// Without a contract there, nothing refuses and nothing moves.
		if !r.knownCode(proxyAddress, now) {
			return seen, r.checkProxy(ctx, now)
		}
		return seen, nil
	}
	return seen, r.diagnosePermit(ctx, p, why)
}

// checkPermit is what can be judged without the chain.
func (r *Rail) checkPermit(p *rail.Payment, want rail.Requirement, now, head time.Time) *rail.Refusal {
	amount, isAmount := uint256(&want.Amount)
	switch {
	case want.Scheme != "exact":
		return refuse(reasonPayloadType, "the scheme is not exact")
	case p.Network != want.Network || want.Network != r.cfg.Network:
		return refuse(reasonNetwork, "the payment is for another network")
	case !sameAddress(want.Asset, r.cfg.Asset):
		return malformed("the payment is in another asset")
	case !sameAddress(p.PayTo, want.PayTo):
		return refuse(reasonPermitRecipient, "the payment goes to another account")
	case p.ValidBefore < soon(now, head):
		return refuse(reasonPermitExpired, "the permit is expired or about to be")
	case p.ValidBefore-1 > want.Latest(now, r.cfg.MaxTimeout).Unix():
		return refuse(reasonPermitExpired, "the permit is valid for longer than was asked")
	case p.ValidAfter > now.Unix():
		return refuse(reasonPermitEarly, "the permit is not valid yet")
	case !isAmount || p.Amount.Cmp(amount) != 0:
		return refuse(reasonPermitAmount, "the permit is for another amount")
	case !sameAddress(p.Asset, want.Asset):
		return refuse(reasonPermitToken, "the permit is for another token")
	}
	return nil
}

// checkPermitSignature asks a payer with code alone, as Permit2 does. A wallet that is not deployed
// cannot have allowed anything yet.
func (r *Rail) checkPermitSignature(ctx context.Context, p *rail.Payment, contract bool) error {
	hash := r.permitDigest(p)
	sig, wrapped := unwrap(p.Signature)
	if !contract {
		if who, ok := recover65(hash, sig); wrapped || !ok || who.Hex() != p.Payer {
			return refuse(reasonPermitSignature, "the signature is not the payer's")
		}
		return nil
	}
	ok, err := r.validSignature(ctx, common.HexToAddress(p.Payer), hash, sig)
	if err != nil {
		return fmt.Errorf("asking the payer's contract: %w", err)
	}
	if !ok {
		return refuse(reasonPermitSignature, "the payer's contract does not accept the signature")
	}
	return nil
}

// checkProxy refuses where the proxy is not deployed.
func (r *Rail) checkProxy(ctx context.Context, now time.Time) error {
	var code hexutil.Bytes
	if err := r.rpc.one(ctx, &code, "eth_getCode", proxyAddress.Hex(), "latest"); err != nil {
		return fmt.Errorf("reading the proxy's code: %w", err)
	}
	if len(code) == 0 {
		return refuse(reasonPermitProxy, "%s has no Permit2 proxy", r.cfg.Name)
	}
	r.learnCode(proxyAddress, now)
	return nil
}

// diagnosePermit says why the simulation of a Permit2 payment failed, in the stock facilitator's
// order but for a nonce that is spent, which is known by itself: that is no payment, whatever its
// payer has left.
func (r *Rail) diagnosePermit(ctx context.Context, p *rail.Payment, why string) error {
	payer := addressWord(common.HexToAddress(p.Payer))
	var proxy, balance, allowance, bitmap hexutil.Bytes
	ask := func(to common.Address, out *hexutil.Bytes, data ...[]byte) *call {
		return &call{method: "eth_call", out: out,
			params: []any{ethCall(common.Address{}, to, bytes.Join(data, nil)), "latest"}}
	}
	calls := []*call{ask(proxyAddress, &proxy, selPermit2), ask(r.asset, &balance, selBalanceOf, payer),
		ask(r.asset, &allowance, selAllowance, payer, addressWord(permit2Address)), bitmapCall(p, "latest", &bitmap)}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return fmt.Errorf("finding out why a payment would fail: %w", err)
	}
	for _, k := range calls {
		if _, is := reverted(k.err); k.err != nil && !is {
			return fmt.Errorf("finding out why a payment would fail: %w", k.err)
		}
	}
	switch {
	case calls[0].err != nil || len(proxy) != 32:
		return refuse(reasonPermitProxy, "%s has no Permit2 proxy", r.cfg.Name)
	case bitOf(p.Nonce, bitmap):
		return &rail.Refusal{Reason: reasonPermitSimulation, Message: "the nonce was used or cancelled",
			Err: rail.ErrUsed}
	case short(balance, p):
		return tooLittle(reasonPermitBalance, true, "the payer has less than the amount")
	case short(allowance, p):
		return tooLittle(reasonPermitAllowance, true, "the payer has not allowed Permit2, %s, to move as much: "+
			"approve it for the token first", permit2Address)
	}
	return refuse(reasonPermitSimulation, "%s", why)
}

// bitmapCall reads the word of the map that holds a payment's nonce.
func bitmapCall(p *rail.Payment, at any, out *hexutil.Bytes) *call {
	return bitmapOf(common.HexToAddress(p.Payer), p.Nonce, at, out)
}

// bitmapOf is bitmapCall by a payer and a nonce.
func bitmapOf(payer common.Address, decimal string, at any, out *hexutil.Bytes) *call {
	nonce := permitNonce(decimal)
	slot := append([]byte{0}, nonce[:31]...) // the nonce without its last byte, which counts the bits
	return &call{method: "eth_call", out: out, params: []any{ethCall(common.Address{}, permit2Address,
		bytes.Join([][]byte{selBitmap, addressWord(payer), slot}, nil)), at}}
}

// bitOf reports the bit of a nonce in its word of the map.
func bitOf(decimal string, bitmap []byte) bool {
	nonce := permitNonce(decimal)
	return len(bitmap) == 32 && new(big.Int).SetBytes(bitmap).Bit(int(nonce[31])) == 1
}

// decimalNonce reports a nonce of Permit2, as against one of EIP-3009.
func decimalNonce(nonce string) bool { return !strings.HasPrefix(nonce, "0x") }
