package evm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/dynamic/rail"
)

// A wallet that is not deployed yet signs by ERC-6492: beside its signature it names a factory and
// the call that deploys it. One transaction to Multicall3 makes that call and the transfer. The
// transfer may not fail, so that nothing is deployed unless it is paid for; the factory may,
// because somebody else may have deployed the wallet meanwhile. (One that then tries to create it
// again, as against saying where it is, burns what the transfer needs: such factories are not for
// the list.) What a factory is told to do is the payer's to choose, so only those are called that
// the configuration names; and who pays has code as soon as it pays, so that no simulation says
// what it will do in a block (package till, M15).

// deploymentShare is how many times its expected cost a payment has to bring whose wallet is
// deployed by it.
const deploymentShare = 4

// trialGas is what a trial takes beyond a settlement: the wallet is asked once more.
const trialGas = 150_000

// envelope is an ERC-6492 signature taken apart.
type envelope struct {
	factory     common.Address
	call, inner []byte
}

// wrapper is (address factory, bytes factoryCalldata, bytes innerSignature).
var wrapper = abi.Arguments{{Type: mustType("address")}, {Type: mustType("bytes")}, {Type: mustType("bytes")}}

func mustType(name string) abi.Type {
	t, err := abi.NewType(name, "", nil)
	if err != nil {
		panic(err)
	}
	return t
}

// unfold takes an ERC-6492 signature apart. A wrapper whose factory is the zero address counts as
// not wrapped, as in the stock facilitator.
func unfold(sig []byte) (envelope, bool) {
	if len(sig) < 32+3*32 || !bytes.HasSuffix(sig, wrapped) {
		return envelope{}, false
	}
	vs, err := wrapper.Unpack(sig[:len(sig)-32])
	if err != nil || vs[0].(common.Address) == (common.Address{}) {
		return envelope{}, false
	}
	return envelope{vs[0].(common.Address), vs[1].([]byte), vs[2].([]byte)}, true
}

// bytes is the one spelling of a wrapped signature.
func (e envelope) bytes() []byte {
	b, err := wrapper.Pack(e.factory, e.call, e.inner)
	if err != nil {
		panic(err) // none of the three can fail
	}
	return append(b, wrapped...)
}

// checkEnvelope refuses a wrapped signature that is spelt otherwise than by the ABI's rules, or
// holds another wrapped one: each has one form.
func checkEnvelope(sig []byte) *rail.Refusal {
	e, is := unfold(sig)
	switch {
	case !is:
		return nil
	case !bytes.Equal(e.bytes(), sig):
		return malformed("the wrapped signature is not encoded as ERC-6492 says")
	case bytes.HasSuffix(e.inner, wrapped):
		return malformed("the signature is wrapped twice")
	}
	return nil
}

// unwrap is the signature within an ERC-6492 signature, or the signature itself.
func unwrap(sig []byte) (inner []byte, is bool) {
	if e, is := unfold(sig); is {
		return e.inner, true
	}
	return sig, false
}

// deploys reports whether a factory may be called to deploy a wallet that pays.
func (r *Rail) deploys(factory common.Address) bool { return slices.Contains(r.factories, factory) }

// code names the code of a wallet that is not deployed: nobody else's is the same.
func (e envelope) code() string { return crypto.Keccak256Hash(e.factory[:], e.call).Hex() }

// codeOf names the code of a payer, that which its payment deploys included; empty for none. What
// ends a hold runs nobody's.
func codeOf(p *rail.Payment, code []byte) string {
	if endsHold(p) {
		return ""
	}
	if e, is := unfold(p.Signature); is && len(code) == 0 {
		return e.code()
	}
	return codeHash(code)
}

// deployment is the calldata to Multicall3 that deploys a wallet and has it pay, both or neither.
func (r *Rail) deployment(p *rail.Payment, e envelope) []byte {
	return aggregate3(call3{e.factory, true, e.call}, call3{r.asset, false, transferCall(p)})
}

// trial is the calldata to Multicall3 that tries a deployment. That the wallet takes the signature
// after it also shows that it is there: an account without code answers nothing, and would have to
// be paid for by nobody.
func (r *Rail) trial(p *rail.Payment, e envelope, separator common.Hash) []byte {
	inner := e.inner
	if vrs, ok := normal(inner); ok {
		inner = vrs
	}
	payer := common.HexToAddress(p.Payer)
	return aggregate3(call3{e.factory, true, e.call},
		call3{payer, true, validSignatureCall(digest(separator, p), inner)},
		call3{r.asset, true, transferCall(p)})
}

// tried reads what a trial returned: why the payment would fail, empty where it would not.
func tried(out []byte) (why string, err error) {
	list, err := resultsOf(out)
	if err != nil || len(list) != 3 {
		return "", errors.Join(err, errNoMulticall)
	}
	deployed, asked, paid := list[0], list[1], list[2]
	switch {
	case asked.Success && len(asked.ReturnData) == 0 && !deployed.Success:
		return "the factory does not deploy the wallet", nil
	case asked.Success && len(asked.ReturnData) == 0:
		return "the factory deploys another wallet", nil
	case !paid.Success:
		return revertText(paid.ReturnData), nil
	case !asked.Success || !accepts(asked.ReturnData):
		return "the wallet does not accept the signature", nil
	}
	return "", nil
}

// signedOnTrial reports that the wallet took the signature in a trial, whatever else failed. Before
// it is there nobody is shown to be its owner: anyone can name any address and a factory.
func signedOnTrial(out []byte) bool {
	list, err := resultsOf(out)
	return err == nil && len(list) == 3 && list[1].Success && accepts(list[1].ReturnData)
}

// errNoMulticall says that the network has no Multicall3, so that nothing is done together.
var errNoMulticall = fmt.Errorf("%s does not answer as Multicall3 does", multicall)

// asked is what a payment has to meet, as its chain stood at a moment.
type asked struct {
	want rail.Requirement
	seen rail.Verified
	now  time.Time
}

// tryDeployment is the end of Verify for a wallet that is not deployed: the deployment and the
// transfer are simulated as one, and it has to bring deploymentShare times what they cost.
func (r *Rail) tryDeployment(ctx context.Context, p *rail.Payment, e envelope, sep common.Hash, a asked) (rail.Verified,
	error) {
	a.seen.Local, a.seen.Code = true, e.code()
	head, f, err := r.price(ctx)
	if err != nil {
		return rail.Verified{}, err
	}
	var overrides []any
	if stale(p, a.now, a.seen.Time) {
		overrides = []any{map[string]string{}, blockTime(a.now)}
	}
	var out, fee hexutil.Bytes
	var gas hexutil.Uint64
	as := ethCall(r.relayer, multicallAddress, r.trial(p, e, sep))
	as["gas"] = hexutil.EncodeUint64(gasCap(p, false) + trialGas)
	data := r.deployment(p, e)
	try := &call{method: "eth_call", params: append([]any{as, "latest"}, overrides...), out: &out}
	whole := ethCall(r.relayer, multicallAddress, data)
	whole["gas"] = hexutil.EncodeUint64(gasCap(p, false))
	estimate := &call{method: "eth_estimateGas", params: append([]any{whole, "latest"}, overrides...), out: &gas}
	calls := []*call{try, estimate}
	if k := r.dataFeeCall(len(data), &fee); fee != nil {
		calls = append(calls, k)
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return rail.Verified{}, fmt.Errorf("trying to deploy a wallet: %w", err)
	}
	why, err := triedCall(try, append([]byte{}, out...))
	if err == nil && why == "" && estimate.err != nil {
		why, err = triedCall(estimate, nil)
	}
	switch {
	case errors.Is(err, errNoMulticall):
		return rail.Verified{}, refuse(reasonFactory, "%s has no Multicall3, so no wallet is deployed", r.cfg.Name)
	case err != nil:
		return rail.Verified{}, fmt.Errorf("trying to deploy a wallet: %w", err)
	case why != "":
		return a.seen, r.diagnose(ctx, p, a.want, why, signedOnTrial(out))
	}
	if ref := worthDeploying(p, r.priced(uint64(gas), uint64(gas), head, f, dataFee(fee))); ref != nil {
		return a.seen, ref
	}
	return a.seen, nil
}

// triedCall is what a call says: why the payment would fail, or the node's error. out is what the
// trial of a deployment returned, nil for any other call.
func triedCall(k *call, out []byte) (why string, err error) {
	switch {
	case k.err == nil && out == nil:
		return "", nil
	case k.err == nil:
		return tried(out)
	}
	why, is := reverted(k.err)
	// With so much gas that is a verdict: a creation that fails takes all it is given.
	if !is && exhausted(k.err) {
		why, is = "out of gas", true
	}
	if is {
		return why, nil
	}
	return "", k.err
}

// worthDeploying refuses a payment that does not bring what deploying its wallet asks for. It is in
// the payer's hand: a wallet that is deployed pays like any other.
func worthDeploying(p *rail.Payment, price rail.Price) *rail.Refusal {
	if price.Cost <= 1<<60 && p.Amount.Cmp(big.NewInt(deploymentShare*price.Cost)) >= 0 {
		return nil
	}
	return refuse(reasonDeployment, "deploying the wallet and settling costs %d, and a payment that does both must be "+
		"of %d times as much: deploy the wallet first, or pay with another account", price.Cost, deploymentShare)
}

// aim sets what a settlement of a payment calls, and with which data: the token, or Multicall3
// where the payer's wallet is not deployed at present.
func (d *draft) aim(ctx context.Context, p *rail.Payment) error {
	d.to, d.data = d.r.plainCall(p)
	e, is := unfold(p.Signature)
	if !is || byPermit(p) && !isHold(p) {
		return nil
	}
	var code hexutil.Bytes
	if err := d.r.rpc.one(ctx, &code, "eth_getCode", common.HexToAddress(p.Payer).Hex(), "latest"); err != nil {
		return fmt.Errorf("reading the payer's code: %w", err)
	}
	switch {
	case len(code) > 0:
	case !d.r.deploys(e.factory):
		return refuse(reasonFactory, "the wallet is not deployed, and its factory is not one that is called")
	case isHold(p):
		d.deploys = true // by the collector
	default:
		d.to, d.data, d.deploys = multicallAddress, d.r.deployment(p, e), true
	}
	return nil
}
