package evm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

const (
	// margin is how long before validBefore a payment counts as expired already (package till, M4).
	margin = 30 * time.Second
	// codeBelieved is how long a contract is believed to exist once seen.
	codeBelieved = 15 * time.Minute
	// plainBelieved is how long an account is believed to have no code.
	plainBelieved = time.Minute
	// maxCoded bounds the memory of contracts seen, and of accounts without code.
	maxCoded = 4096
	// SignatureGas is what a contract may take to say whether a signature is good (EIP-1271). What
	// takes more is refused: a node gives a call that names none all the gas it has.
	SignatureGas = 300_000
)

// Verify implements rail.Rail, in the order and with the codes of the stock facilitator (x402 2.3).
// The chain is asked in one round trip, preceded by one for the head where the watcher does not
// know it and followed by one where the payer is a contract or the simulation failed.
//
// The head is read before the authorization is seen unused by the simulation. An older one is as
// good: what was unused at a later block was unused at every block up to it.
func (r *Rail) Verify(ctx context.Context, p *rail.Payment, want rail.Requirement, now time.Time) (rail.Verified,
	error) {
	if p.Method == methodPermit2 {
		return r.verifyPermit(ctx, p, want, now)
	}
	sep, ref := r.checkTerms(p, want)
	if ref != nil {
		return rail.Verified{}, ref
	}
	payer := common.HexToAddress(p.Payer)
	if err := r.unsigned(ctx, p, digest(sep, p), now); err != nil {
		return rail.Verified{}, err
	}
	head, err := r.newest(ctx)
	if err != nil {
		return rail.Verified{}, err
	}
	seen := rail.Verified{Head: head}
	late := checkWindow(p, want, r.cfg.MaxTimeout, now, seen.Time)
	var code, assetCode, out hexutil.Bytes
	calls := []*call{{method: "eth_getCode", params: []any{payer.Hex(), "latest"}, out: &code}}
	sim := &call{method: "eth_call", params: r.simulation(p, now, seen.Time), out: &out}
	has := &call{method: "eth_getCode", params: []any{r.asset.Hex(), "latest"}, out: &assetCode}
	known := r.knownCode(r.asset, now)
	if late == nil {
		calls = append(calls, sim)
		if !known {
			calls = append(calls, has)
		}
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return rail.Verified{}, fmt.Errorf("verifying a payment: %w", err)
	}
	if calls[0].err != nil {
		return rail.Verified{}, fmt.Errorf("reading the payer's code: %w", calls[0].err)
	}
	if err := r.checkSignature(ctx, p, sep, len(code) > 0); err != nil {
		return rail.Verified{}, err
	}
	if late != nil {
		return rail.Verified{}, late
	}
	if !known {
		if has.err != nil {
			return rail.Verified{}, fmt.Errorf("reading the asset's code: %w", has.err)
		}
		if len(assetCode) == 0 {
			return rail.Verified{}, refuse(reasonNoAsset, "no contract at the asset's address")
		}
		r.learnCode(r.asset, now)
	}
	if e, is := unfold(p.Signature); is && len(code) == 0 {
		return r.tryDeployment(ctx, p, e, sep, asked{want, seen, now})
	}
	sig, _ := unwrap(p.Signature)
	seen.Local, seen.Code = len(code) > 0, codeHash(code)
	if sim.err == nil && !(len(code) == 0 && highS(sig)) {
		return seen, nil
	}
	why := "the signature's s is not in the lower half"
	if sim.err != nil {
		if why, err = triedCall(sim, nil); err != nil && !errors.Is(err, rail.ErrNodeNull) {
			return rail.Verified{}, fmt.Errorf("simulating a payment: %w", err)
		}
	}
	return seen, r.diagnose(ctx, p, want, why, true)
}

// Signed implements rail.Rail, by recovery.
func (r *Rail) Signed(p *rail.Payment) bool {
	switch {
	case isOwn(p):
		return true
	case isDeposit(p):
		return false // its channel says what was signed, which is not here
	case isHold(p):
		return recovers(p, r.holdDigest(p))
	case p.Method == methodPermit2:
		return recovers(p, r.permitDigest(p))
	}
	return recovers(p, digest(r.separator, p))
}

// recovers reports whether the signature of a payment recovers to its payer.
func recovers(p *rail.Payment, hash common.Hash) bool {
	who, ok := recover65(hash, p.Signature)
	return ok && who == common.HexToAddress(p.Payer)
}

// unsigned refuses a payment whose signature is not its payer's, where the payer has no code that
// could take it for its own: one look for code, which is remembered, is all that such a payment
// costs. Of a wallet that is not deployed the signature is asked later.
func (r *Rail) unsigned(ctx context.Context, p *rail.Payment, hash common.Hash, now time.Time) error {
	if _, undeployed := unfold(p.Signature); undeployed || recovers(p, hash) {
		return nil
	}
	payer := common.HexToAddress(p.Payer)
	r.mu.Lock()
	plain := now.Before(r.plain[payer])
	r.mu.Unlock()
	if !plain {
		var code hexutil.Bytes
		if err := r.rpc.one(ctx, &code, "eth_getCode", payer.Hex(), "latest"); err != nil {
			return fmt.Errorf("reading the payer's code: %w", err)
		}
		if len(code) > 0 {
			return nil
		}
		r.mu.Lock()
		if len(r.plain) >= maxCoded {
			clear(r.plain)
		}
		r.plain[payer] = now.Add(plainBelieved)
		r.mu.Unlock()
	}
	if p.Method == methodPermit2 {
		return refuse(reasonPermitSignature, "the signature is not the payer's")
	}
	return refuse(reasonSignature, "the signature is not the payer's")
}

// checkTerms is what can be judged before the signature: steps 1 to 3.
func (r *Rail) checkTerms(p *rail.Payment, want rail.Requirement) (common.Hash, *rail.Refusal) {
	if want.Scheme != "exact" || p.Method != method {
		return common.Hash{}, refuse(reasonScheme, "the scheme is not exact")
	}
	name, _ := want.Extra["name"].(string)
	version, _ := want.Extra["version"].(string)
	if name == "" || version == "" {
		return common.Hash{}, refuse(reasonNoDomain, "the requirement has no EIP-712 name and version")
	}
	if p.Network != want.Network || want.Network != r.cfg.Network {
		return common.Hash{}, refuse(reasonNetwork, "the payment is for another network")
	}
	if !sameAddress(p.Asset, want.Asset) || !sameAddress(want.Asset, r.cfg.Asset) {
		return common.Hash{}, malformed("the payment is in another asset")
	}
	if name == r.cfg.AssetName && version == r.cfg.AssetVersion {
		return r.separator, nil
	}
	return domainSeparator(name, version, r.cfg.ChainID, r.asset), nil
}

// soon is a margin from now, in Unix seconds, by the later of our clock and the chain's: what ends
// before it counts as expired already.
func soon(now, head time.Time) int64 {
	return max(now.Add(margin).Unix(), head.Add(margin).Unix())
}

// checkWindow is what the stock facilitator judges after the signature: steps 6 to 9.
func checkWindow(p *rail.Payment, want rail.Requirement, timeout time.Duration, now, head time.Time) error {
	if !sameAddress(p.PayTo, want.PayTo) {
		return refuse(reasonRecipient, "the payment goes to another account")
	}
	if p.ValidBefore < soon(now, head) {
		return refuse(reasonValidBefore, "the authorization is expired or about to be")
	}
	if p.ValidBefore > want.Latest(now, timeout).Unix() {
		return refuse(reasonValidBefore, "the authorization is valid for longer than was asked")
	}
	if p.ValidAfter > now.Unix() {
		return refuse(reasonValidAfter, "the authorization is not valid yet")
	}
	if amount, ok := uint256(&want.Amount); !ok || p.Amount.Cmp(amount) != 0 {
		return refuse(reasonValue, "the authorization is for another amount")
	}
	return nil
}

// checkSignature is steps 4 and 5, but for a wallet that is not deployed, which tryDeployment asks.
// A payer with code is asked alone (EIP-1271): the token does not fall back to recovery either, not
// even for an account that merely delegates its code (EIP-7702).
func (r *Rail) checkSignature(ctx context.Context, p *rail.Payment, sep common.Hash, contract bool) error {
	sig := p.Signature
	e, undeployed := unfold(sig)
	if undeployed {
		sig, undeployed = e.inner, !contract
	}
	if undeployed && !r.deploys(e.factory) {
		return refuse(reasonFactory, "the wallet is not deployed, and its factory is not one that is called")
	}
	if p.ValidAfter == math.MaxInt64 {
		return refuse(reasonValidAfter, "the authorization is not valid yet")
	}
	if p.ValidBefore == math.MaxInt64 {
		return refuse(reasonValidBefore, "the authorization is valid for longer than was asked")
	}
	if undeployed {
		return nil // it is asked once it is there
	}
	hash := digest(sep, p)
	payer := common.HexToAddress(p.Payer)
	if !contract {
		if who, ok := recover65(hash, sig); !ok || who != payer {
			return refuse(reasonSignature, "the signature is not the payer's")
		}
		return nil
	}
	ok, err := r.validSignature(ctx, payer, hash, sig)
	if err != nil {
		return fmt.Errorf("asking the payer's contract: %w", err)
	}
	if !ok {
		return refuse(reasonSignature, "the payer's contract does not accept the signature")
	}
	return nil
}

// validSignature asks a contract by EIP-1271. 65-byte signatures are shown as the token will show
// them.
func (r *Rail) validSignature(ctx context.Context, wallet common.Address, hash common.Hash, sig []byte) (bool, error) {
	if vrs, ok := normal(sig); ok {
		sig = vrs
	}
	var out hexutil.Bytes
	ask := ethCall(common.Address{}, wallet, validSignatureCall(hash, sig))
	ask["gas"] = hexutil.EncodeUint64(SignatureGas)
	k := &call{method: "eth_call", params: []any{ask, "latest"}, out: &out}
	if err := r.rpc.batch(ctx, k); err != nil {
		return false, err
	}
	why, err := triedCall(k, nil)
	return err == nil && why == "" && accepts(out), err
}

// accepts reports EIP-1271's word for a signature that is good.
func accepts(out []byte) bool {
	return len(out) >= 32 && common.BytesToHash(out[:32]) == common.BytesToHash(common.RightPadBytes(selValidSig, 32))
}

// simulation is the parameters of the eth_call that tries the transfer, with as much gas as a
// settlement may take: what needs more is refused before anything is claimed. On a chain that has
// been idle the head's time may lie before validAfter although the next block's will not; then the
// call is made at the present time.
func (r *Rail) simulation(p *rail.Payment, now, head time.Time) []any {
	to, data := r.plainCall(p)
	call := ethCall(r.senderOf(p), to, data)
	call["gas"] = hexutil.EncodeUint64(gasCap(p, !isHold(p))) // a hold's own call deploys its payer's wallet
	params := []any{call, "latest"}
	if stale(p, now, head) {
		params = append(params, map[string]string{}, blockTime(now))
	}
	return params
}

// stale reports a payment that is valid now and was not yet at the head.
func stale(p *rail.Payment, now, head time.Time) bool {
	return head.Unix() <= p.ValidAfter && p.ValidAfter < now.Unix()
}

func blockTime(t time.Time) map[string]string {
	return map[string]string{"time": hexutil.EncodeUint64(uint64(t.Unix()))}
}

// diagnose says why a simulation failed, in the stock facilitator's order; signed says that the
// payer is shown to have signed.
func (r *Rail) diagnose(ctx context.Context, p *rail.Payment, want rail.Requirement, why string, signed bool) error {
	payer := addressWord(common.HexToAddress(p.Payer))
	nonce := common.HexToHash(p.Nonce)
	var balance, name, version, state hexutil.Bytes
	view := func(out *hexutil.Bytes, data ...[]byte) *call {
		var all []byte
		for _, d := range data {
			all = append(all, d...)
		}
		return &call{method: "eth_call", params: []any{ethCall(common.Address{}, r.asset, all), "latest"}, out: out}
	}
	calls := []*call{
		view(&balance, selBalanceOf, payer), view(&name, selName), view(&version, selVersion),
		view(&state, selAuthState, payer, nonce[:]),
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return fmt.Errorf("finding out why a payment would fail: %w", err)
	}
	for _, k := range calls {
		if k.err != nil {
			if _, is := reverted(k.err); !is {
				return fmt.Errorf("finding out why a payment would fail: %w", k.err)
			}
		}
	}
	if calls[3].err != nil || len(state) < 32 {
		return refuse(reasonNot3009, "the asset does not know authorizations")
	}
	if common.BytesToHash(state[:32]) != (common.Hash{}) {
		return &rail.Refusal{Reason: reasonUsed, Message: "the authorization was used or cancelled", Err: rail.ErrUsed}
	}
	if s, ok := text(name); calls[1].err == nil && ok && s != want.Extra["name"] {
		return refuse(reasonTokenName, "the asset has another EIP-712 name")
	}
	if s, ok := text(version); calls[2].err == nil && ok && s != want.Extra["version"] {
		return refuse(reasonTokenVersion, "the asset has another EIP-712 version")
	}
	if calls[0].err == nil && len(balance) >= 32 && new(big.Int).SetBytes(balance[:32]).Cmp(p.Amount) < 0 {
		return tooLittle(reasonBalance, signed, "the payer has less than the amount")
	}
	return refuse(reasonSimulation, "%s", why)
}

func sameAddress(a, b string) bool {
	return common.IsHexAddress(a) && common.IsHexAddress(b) && common.HexToAddress(a) == common.HexToAddress(b)
}

func (r *Rail) knownCode(a common.Address, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.coded[a])
}

func (r *Rail) learnCode(a common.Address, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.coded) >= maxCoded {
		clear(r.coded)
	}
	r.coded[a] = now.Add(codeBelieved)
}
