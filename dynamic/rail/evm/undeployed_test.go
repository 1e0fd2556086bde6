package evm_test

import (
	"bytes"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// estate is a local chain whose rail calls two factories: the devnet's, and one that creates
// whatever it is told to.
type estate struct {
	*harness
	deployer common.Address
}

func openEstate(t *testing.T) *estate {
	n := chaintest.New(t, chaintest.Options{Manual: true, Code: [][]byte{token.Deployer}})
	h := &harness{Net: n, t: t, cfg: config(t, n), seal: func() { n.MustSeal() }}
	e := &estate{h, n.Coded[0].Address}
	h.cfg.Factories = []string{chain.Factory.Hex(), e.deployer.Hex()}
	h.rail = newRail(t, h.cfg)
	return e
}

// house is a wallet that is not deployed.
type house struct {
	address, factory common.Address
	call             []byte
	owner            chaintest.Key
}

// house is the wallet of a buyer at the devnet's factory, with some money.
func (e *estate) house(salt byte, money int64) house {
	owner := e.Buyers[1]
	w := house{e.CounterfactualWallet(owner.Address, common.Hash{salt}), chain.Factory,
		token.DeployCall(owner.Address, common.Hash{salt}), owner}
	e.endow(w.address, money)
	return w
}

// den is a wallet whose code is the payer's choice.
func (e *estate) den(creation []byte, money int64) house {
	w := house{crypto.CreateAddress2(e.deployer, [32]byte{}, crypto.Keccak256(creation)), e.deployer, creation,
		e.Buyers[1]}
	e.endow(w.address, money)
	return w
}

func (e *estate) endow(who common.Address, money int64) {
	if money > 0 {
		e.Send(e.Buyers[0], e.Asset, token.PayCall(who, big.NewInt(money)))
		e.Seal()
	}
}

// pays is a payment by a wallet, wrapped.
func (e *estate) pays(w house, amount int64) chaintest.Payment {
	p := e.Node.Sign(w.owner, e.Authorize(w.address, e.PayTo, amount))
	p.Signature = token.Wrap6492(w.factory, w.call, p.Signature)
	return p
}

// parse reads a payment as the rail does.
func (e *estate) parse(p chaintest.Payment) *rail.Payment {
	e.t.Helper()
	got, err := e.rail.Parse(payload(p), e.rail.Requirement(p.Value.Int64()))
	if err != nil {
		e.t.Fatal(err)
	}
	return got
}

func (e *estate) code(who common.Address) []byte {
	e.t.Helper()
	b, err := e.RPC.CodeAt(e.t.Context(), who, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	return b
}

// called is the contract that a settlement calls.
func called(t *testing.T, s rail.Signed) common.Address {
	t.Helper()
	var tx types.Transaction
	if err := tx.UnmarshalBinary(s.Raw); err != nil {
		t.Fatal(err)
	}
	return *tx.To()
}

// A wallet that is not deployed is deployed and pays in one transaction, whatever its signature's
// form.
func TestUndeployedWalletPays(t *testing.T) {
	e := openEstate(t)
	for i, inner := range []func([]byte) []byte{
		func(b []byte) []byte { return b },
		func(b []byte) []byte { return append(e.Buyers[1].Address.Bytes(), b...) },
	} {
		w := e.house(byte(i), 500_000)
		pay := e.Node.Sign(w.owner, e.Authorize(w.address, e.PayTo, 500_000))
		pay.Signature = token.Wrap6492(w.factory, w.call, inner(pay.Signature))
		p, signed, seen := sold(t, e.rail, e.parse(pay), e.rail.Requirement(500_000))
		if !seen.Local || seen.Code == "" {
			t.Errorf("mark %+v, of a payer that will have code", seen)
		}
		if called(t, signed[0]) != chain.Multicall {
			t.Errorf("the settlement calls %s", called(t, signed[0]))
		}
		e.Seal()
		f, err := e.rail.Status(t.Context(), p, signed, seen, time.Now())
		if err != nil || f.State != rail.Paid || f.Proof.Tx != signed[0].ID || len(e.code(w.address)) == 0 {
			t.Errorf("Status = %+v, %v; %d bytes of code", f, err, len(e.code(w.address)))
		}
		// From now on it is a wallet like any other.
		e.endow(w.address, 500_000)
		again := e.parse(e.pays(w, 500_000))
		if _, signed, _ := sold(t, e.rail, again, e.rail.Requirement(500_000)); called(t, signed[0]) != e.Asset {
			t.Errorf("once it is deployed its settlement calls %s", called(t, signed[0]))
		}
		e.Seal()
	}
	if got := e.Balance(); got != 2_000_000 {
		t.Errorf("payTo has %d, want four payments", got)
	}
}

// What a payer with a wallet of its own making may send, and what is said to it before anything is
// claimed.
func TestUndeployedWalletsRefused(t *testing.T) {
	e := openEstate(t)
	const amount = 500_000
	w := e.house(1, amount)
	change := func(f func(*house)) chaintest.Payment {
		other := w
		f(&other)
		return e.pays(other, amount)
	}
	rewrap := func(f func(p *chaintest.Payment, inner []byte)) chaintest.Payment {
		p := e.Node.Sign(w.owner, e.Authorize(w.address, e.PayTo, amount))
		f(&p, p.Signature)
		return p
	}
	const simulation = "invalid_exact_evm_transaction_simulation_failed"
	for name, c := range map[string]struct {
		pay          chaintest.Payment
		reason, says string
	}{
		"a factory that is not on the list": {change(func(w *house) { w.factory = chain.Spender }),
			"eip6492_factory_not_allowed", ""},
		"the payer as its own factory": {change(func(w *house) { w.factory = w.address }),
			"eip6492_factory_not_allowed", ""},
		"the token as factory": {change(func(w *house) { w.factory = e.Asset }), "eip6492_factory_not_allowed", ""},
		"a call that deploys nothing": {
			change(func(w *house) { w.call = token.WalletAddressCall(w.owner.Address, common.Hash{1}) }), simulation,
			"another wallet"},
		"a call that the factory does not know": {change(func(w *house) { w.call = []byte{1, 2, 3, 4} }), simulation,
			"does not deploy"},
		"another wallet": {
			change(func(w *house) { w.call = token.DeployCall(w.owner.Address, common.Hash{9}) }), simulation,
			"another wallet"},
		"another's key": {change(func(w *house) { w.owner = e.Buyers[2] }), simulation, "invalid signature"},
		"an ordinary account that has another's wallet deployed": {e.pays(house{e.Buyers[1].Address, chain.Factory,
			token.DeployCall(e.Buyers[2].Address, common.Hash{3}), e.Buyers[1]}, amount), simulation, "another wallet"},
		"without money":         {e.pays(e.house(7, 0), amount), "invalid_exact_evm_insufficient_balance", ""},
		"a creation that fails": {e.pays(e.den([]byte{0xfe}, amount), amount), simulation, ""},
		// JUMPDEST PUSH0 JUMP: for as long as there is gas.
		"a creation that burns all gas": {e.pays(e.den([]byte{0x5b, 0x5f, 0x56}, amount), amount), simulation, ""},
		"a wallet that wants ten million gas": {e.pays(e.den(token.Creation(token.Glutton), amount), amount),
			simulation, ""},
		"wrapped twice": {rewrap(func(p *chaintest.Payment, inner []byte) {
			p.Signature = token.Wrap6492(w.factory, w.call, token.Wrap6492(w.factory, w.call, inner))
		}), "invalid_payload", "twice"},
		"bytes between wrapper and magic": {rewrap(func(p *chaintest.Payment, inner []byte) {
			b := token.Wrap6492(w.factory, w.call, inner)
			p.Signature = append(append(bytes.Clone(b[:len(b)-32]), make([]byte, 32)...), b[len(b)-32:]...)
		}), "invalid_payload", "encoded"},
		"magic twice": {rewrap(func(p *chaintest.Payment, inner []byte) {
			b := token.Wrap6492(w.factory, w.call, inner)
			p.Signature = append(b, b[len(b)-32:]...)
		}), "invalid_payload", "encoded"},
		"a bit above the factory's address": {rewrap(func(p *chaintest.Payment, inner []byte) {
			p.Signature = token.Wrap6492(w.factory, w.call, inner)
			p.Signature[0] = 1
		}), "invalid_payload", "encoded"},
		"a padding that is not zero": {rewrap(func(p *chaintest.Payment, inner []byte) {
			p.Signature = token.Wrap6492(w.factory, w.call, inner)
			p.Signature[len(p.Signature)-33] = 1
		}), "invalid_payload", "encoded"},
	} {
		want := e.rail.Requirement(amount)
		p, err := e.rail.Parse(payload(c.pay), want)
		if err == nil {
			_, err = e.rail.Verify(t.Context(), p, want, time.Now())
		}
		ref, ok := errors.AsType[*rail.Refusal](err)
		if !ok || ref.Reason != c.reason || !strings.Contains(ref.Message, c.says) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.reason, c.says)
		}
	}
	if _, err := e.rail.Verify(t.Context(), e.parse(e.pays(w, amount)), e.rail.Requirement(amount),
		time.Now()); err != nil {
		t.Errorf("the same wallet, honestly: %v", err)
	}
}

// A payment whose wallet is deployed by it brings four times what both cost, when it is verified
// and when it is drafted.
func TestUndeployedWalletBringsFourTimesItsCost(t *testing.T) {
	e := openEstate(t)
	p := e.parse(e.pays(e.house(1, 500_000), 500_000))
	at := func(price int64) *evm.Rail {
		cfg := e.cfg
		cfg.CoinPrice = price
		return newRail(t, cfg)
	}
	verify := func(r *evm.Rail) error {
		_, err := r.Verify(t.Context(), p, r.Requirement(500_000), time.Now())
		return err
	}
	low, high := int64(1), int64(1_000_000_000_000_000) // taken, and not
	for low+1 < high {
		mid := (low + high) / 2
		if verify(at(mid)) == nil {
			low = mid
		} else {
			high = mid
		}
	}
	d, err := at(low).Draft(t.Context(), []*rail.Payment{p})
	if err != nil {
		t.Fatal(err)
	}
	if cost := d.Price().Cost; 4*cost > 500_000 || 5*cost < 500_000 || d.Price().Code == "" {
		t.Errorf("of 500000 a cost of %d is taken, code %q", cost, d.Price().Code)
	}
	dear := at(high + high/100)
	for what, err := range map[string]error{"verified": verify(dear), "drafted": func() error {
		_, err := dear.Draft(t.Context(), []*rail.Payment{p})
		return err
	}()} {
		if ref, ok := errors.AsType[*rail.Refusal](err); !ok || ref.Reason != "smart_wallet_deployment_failed" {
			t.Errorf("too dear, %s: %v", what, err)
		}
	}
}

// A wallet may take the signature while nobody has to pay for the answer, and refuse it in a block,
// or burn what it is given: then nothing is deployed and nothing moves, and it is the payer's
// doing.
func TestUndeployedTurncoats(t *testing.T) {
	for name, code := range map[string][]byte{"turncoat": token.Turncoat, "burner": token.Burner} {
		e := openEstate(t)
		w := e.den(token.Creation(code), 500_000)
		p, signed, seen := sold(t, e.rail, e.parse(e.pays(w, 500_000)), e.rail.Requirement(500_000))
		e.Seal()
		f, err := e.rail.Status(t.Context(), p, signed, seen, time.Now())
		if err != nil || f.State != rail.Waiting || len(f.Reverts) != 1 || f.Reverts[0].Of != 0 ||
			len(e.code(w.address)) != 0 || e.Balance() != 0 {
			t.Fatalf("%s: Status = %+v, %v", name, f, err)
		}
		if most := uint64(600_000); f.Reverts[0].Gas > most {
			t.Errorf("%s burnt %d gas, of at most %d", name, f.Reverts[0].Gas, most)
		}
		why, err := e.rail.Explain(t.Context(), p, f.Reverts[0])
		if err != nil || !why.Payer {
			t.Errorf("%s: Explain = %+v, %v", name, why, err)
		}
	}
}

// The network's own trouble is not the payer's doing, and neither is somebody who was faster.
func TestUndeployedWalletIsNotToBlame(t *testing.T) {
	e := openEstate(t)
	p, signed, seen := sold(t, e.rail, e.parse(e.pays(e.house(1, 500_000), 500_000)), e.rail.Requirement(500_000))
	pause := e.Transaction(e.Minter, e.Asset, token.PauseCall())
	var tx types.Transaction
	if err := tx.UnmarshalBinary(signed[0].Raw); err != nil {
		t.Fatal(err)
	}
	e.MustSealTxs(pause, &tx)
	f, err := e.rail.Status(t.Context(), p, signed, seen, time.Now())
	if err != nil || len(f.Reverts) != 1 {
		t.Fatalf("Status = %+v, %v", f, err)
	}
	if why, err := e.rail.Explain(t.Context(), p, f.Reverts[0]); err != nil || why.Payer ||
		!strings.Contains(why.Reason, "paused") {
		t.Errorf("Explain = %+v, %v", why, err)
	}
}

// Whoever deploys the wallet meanwhile, the payment goes on: as a plain one where that is known
// before the signature, and in the same transaction where it is not.
func TestWalletDeployedMeanwhile(t *testing.T) {
	deploy := func(e *estate, w house) {
		e.Send(e.Minter, w.factory, w.call)
		e.Seal()
	}
	for name, house := range map[string]func(*estate, byte) house{
		"a factory that gives the same again": func(e *estate, salt byte) house { return e.house(salt, 500_000) },
		"a factory that then fails": func(e *estate, salt byte) house {
			// PUSH1 salt  POP: code of its own, and so an address of its own
			return e.den(token.Creation(append([]byte{0x60, salt, 0x50}, honest...)), 500_000)
		},
	} {
		e := openEstate(t)
		want := e.rail.Requirement(500_000)
		draft := func(p *rail.Payment) rail.Signed {
			d, err := e.rail.Draft(t.Context(), []*rail.Payment{p})
			if err != nil {
				t.Fatal(err)
			}
			s, err := d.Sign(railtest.NewSequence())
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		// Before the draft.
		w := house(e, 1)
		p := e.parse(e.pays(w, 500_000))
		if _, err := e.rail.Verify(t.Context(), p, want, time.Now()); err != nil {
			t.Fatal(err)
		}
		deploy(e, w)
		s := draft(p)
		if called(t, s) != e.Asset {
			t.Errorf("%s: after the deployment the settlement calls %s", name, called(t, s))
		}
		if err := e.rail.Send(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		e.Seal()
		// Between the signature and the block.
		w = house(e, 2)
		p = e.parse(e.pays(w, 500_000))
		seen, err := e.rail.Verify(t.Context(), p, want, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		s = draft(p)
		if called(t, s) != chain.Multicall {
			t.Errorf("%s: the settlement calls %s", name, called(t, s))
		}
		deploy(e, w)
		if err := e.rail.Send(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		e.Seal()
		f, err := e.rail.Status(t.Context(), p, []rail.Signed{s}, seen, time.Now())
		if err != nil || f.State != rail.Paid || f.Proof.ByOther || e.Balance() != 1_000_000 {
			t.Errorf("%s: Status = %+v, %v; payTo has %d", name, f, err, e.Balance())
		}
	}
}

// honest is a wallet that takes every signature, always:
//
//	PUSH4 1626ba7e  PUSH1 e0  SHL  PUSH0  MSTORE  PUSH1 20  PUSH0  RETURN
var honest = common.FromHex("631626ba7e60e01b5f5260205ff3")

// A replacement of a deployment deploys too, and a reorganisation takes wallet and money back
// together; the same bytes bring both again.
func TestDeploymentIsReplacedAndReorganised(t *testing.T) {
	e := openEstate(t)
	w := e.house(1, 500_000)
	p, signed, seen := sold(t, e.rail, e.parse(e.pays(w, 500_000)), e.rail.Requirement(500_000))
	d, err := e.rail.Replace(t.Context(), []*rail.Payment{p}, signed[0], false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Sign(nil)
	if err != nil || called(t, s) != chain.Multicall || s.Sequence != signed[0].Sequence || d.Price().Code == "" {
		t.Fatalf("replaced by %+v, %v", s, err)
	}
	if err := e.rail.Send(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	signed = append(signed, s)
	e.Seal()
	paid := func() {
		t.Helper()
		f, err := e.rail.Status(t.Context(), p, signed, seen, time.Now())
		if err != nil || f.State != rail.Paid || f.Proof.Tx != s.ID || e.Balance() != 500_000 {
			t.Fatalf("Status = %+v, %v; payTo has %d", f, err, e.Balance())
		}
	}
	paid()
	e.Reorg(1)
	if f, err := e.rail.Status(t.Context(), p, signed, seen, time.Now()); err != nil || f.State != rail.Waiting ||
		e.Balance() != 0 || len(e.code(w.address)) != 0 {
		t.Fatalf("after a reorganisation Status = %+v, %v", f, err)
	}
	if err := e.rail.Send(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	e.Seal()
	paid()
}

// nobody is a third party that settles nothing.
type nobody struct{ evm.Settler }

// Only contracts are factories, and only where the store deploys by itself.
func TestFactoriesAreChecked(t *testing.T) {
	e := openEstate(t)
	for _, f := range []string{"", "0x1", common.Address{}.Hex(), e.Asset.Hex(), chain.Multicall.Hex()} {
		cfg := e.cfg
		cfg.Factories = []string{f}
		if _, err := evm.New(cfg); err == nil || !strings.Contains(err.Error(), "factor") {
			t.Errorf("%q as a factory: %v", f, err)
		}
	}
	cfg := e.cfg
	cfg.Relayer, cfg.Settler = nil, nobody{}
	if _, err := evm.New(cfg); err == nil || !strings.Contains(err.Error(), "deploys no wallets") {
		t.Errorf("with a settler: %v", err)
	}
}
