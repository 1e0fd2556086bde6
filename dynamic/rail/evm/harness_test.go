package evm_test

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// harness is a local chain with a rail on it.
type harness struct {
	*chaintest.Net
	t         testing.TB
	cfg       evm.Config
	rail      *evm.Rail
	seal      func()
	delegated *chaintest.Key // nil until asked for
	refusing  *chaintest.Key
}

func open(t testing.TB) railtest.Harness { return openOn(t, 8453) }

func openOn(t testing.TB, id uint64) *harness {
	n := chaintest.New(t, chaintest.Options{Networks: []uint64{id}, Manual: true, Buyers: 8,
		Code: [][]byte{token.Turncoat, token.Burner, token.Glutton, token.Weathercock, token.Switch, token.Turncoat,
			token.Burner, token.Fickle, token.Reenterer, {0xfe}, // burns while it is simulated too
			token.Deployer}})
	h := &harness{Net: n, t: t, cfg: config(t, n), seal: func() { n.MustSeal() }}
	h.cfg.Factories = []string{h.deployer().Hex()}
	h.rail = newRail(t, h.cfg)
	return h
}

// config is the preset of the net's first chain, pointed at it.
func config(t testing.TB, n *chaintest.Net) evm.Config {
	cfg, ok := evm.Preset(n.ID())
	if !ok {
		t.Fatalf("no preset for %s", n.ID())
	}
	cfg.RPC = []string{n.URL}
	cfg.PayTo = n.PayTo.Hex()
	cfg.Relayer = n.Relayer.Private
	cfg.CoinPrice = 1_000_000
	cfg.GenesisHash = n.GenesisHash().Hex()
	cfg.Depth, cfg.Finality = 1, 0
	cfg.Poll = 20 * time.Millisecond
	return cfg
}

func newRail(t testing.TB, cfg evm.Config) *evm.Rail {
	t.Helper()
	r, err := evm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func (h *harness) Rail() rail.Rail    { return h.rail }
func (h *harness) Restart() rail.Rail { return newRail(h.t, h.cfg) }
func (h *harness) Remote() bool       { return false }

// authorization is the message of Terms and the key that signs it.
func (h *harness) authorization(t railtest.Terms) (token.Authorization, chaintest.Key) {
	var k chaintest.Key
	var from common.Address
	switch t.Payer {
	case railtest.Plain:
		k = h.Buyers[t.Buyer]
	case railtest.Poor:
		k = h.Poor
	case railtest.Contract:
		k, from = h.Wallet.Owner, h.Wallet.Address
	case railtest.Delegated:
		k = h.delegate(&h.delegated, 3, chain.Delegate)
	case railtest.Refusing:
		k = h.delegate(&h.refusing, 4, chain.Multicall)
	case railtest.BurnerLater, railtest.FickleLater, railtest.ReentererLater:
		k = h.later(t.Payer)
		from = k.Address
	case railtest.Unbuilt, railtest.UnbuiltDrain:
		k, from = h.Buyers[0], h.unbuilt(t.Payer)
	}
	if i := int(t.Payer - railtest.Turncoat); i >= 0 && from == (common.Address{}) {
		k, from = h.Buyers[0], h.Coded[i].Address // whose signature it is does not matter to them
	}
	if from == (common.Address{}) {
		from = k.Address
	}
	a := h.Authorize(from, h.PayTo, t.Amount)
	if t.To != "" {
		a.To = common.HexToAddress(t.To)
	}
	if t.Nonce != "" {
		a.Nonce = common.HexToHash(t.Nonce)
	}
	if !t.After.IsZero() {
		a.ValidAfter = uint64(t.After.Unix())
	}
	a.ValidBefore = uint64(t.Before.Unix())
	return a, k
}

func (h *harness) delegate(k **chaintest.Key, buyer int, to common.Address) chaintest.Key {
	if *k == nil {
		*k = &h.Buyers[buyer]
		h.Delegate(**k, to)
		h.seal()
	}
	return **k
}

func (h *harness) Sign(t railtest.Terms) []byte {
	a, k := h.authorization(t)
	p := h.Node.Sign(k, a)
	if code := unbuilt(t.Payer); code != nil {
		if h.Node.Balance(a.From) == 0 {
			h.Send(h.Minter, h.Asset, h.SignTransfer(h.Buyers[0], a.From, 2*t.Amount).Call())
			h.seal()
		}
		p.Signature = token.Wrap6492(h.deployer(), code, p.Signature)
	}
	return payload(p)
}

// unbuilt is the code that creates the wallet of a payer who deploys it by paying; nil of others.
func unbuilt(p railtest.Payer) []byte {
	switch p {
	case railtest.Unbuilt:
		return token.Creation(token.Turncoat)
	case railtest.UnbuiltDrain:
		return token.Drain
	}
	return nil
}

// unbuilt is where such a wallet will be.
func (h *harness) unbuilt(p railtest.Payer) common.Address {
	return crypto.CreateAddress2(h.deployer(), [32]byte{}, crypto.Keccak256(unbuilt(p)))
}

// deployer is the factory of such wallets.
func (h *harness) deployer() common.Address { return h.Coded[len(h.Coded)-1].Address }

// payload is the scheme's wire form.
func payload(p chaintest.Payment) []byte {
	b, err := json.Marshal(map[string]any{
		"authorization": map[string]string{
			"from": p.From.Hex(), "to": p.To.Hex(), "value": p.Value.String(),
			"validAfter":  strconv.FormatUint(p.ValidAfter, 10),
			"validBefore": strconv.FormatUint(p.ValidBefore, 10),
			"nonce":       p.Nonce.Hex(),
		},
		"signature": hexutil.Encode(p.Signature),
	})
	if err != nil {
		panic(err)
	}
	return b
}

// parse reads a payload that the harness made.
func parse(t testing.TB, data []byte) chaintest.Payment {
	t.Helper()
	var w struct {
		Authorization struct{ From, To, Value, ValidAfter, ValidBefore, Nonce string }
		Signature     string
	}
	if err := json.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	a := w.Authorization
	value, _ := new(big.Int).SetString(a.Value, 10)
	after, err1 := strconv.ParseUint(a.ValidAfter, 10, 64)
	before, err2 := strconv.ParseUint(a.ValidBefore, 10, 64)
	if err1 != nil || err2 != nil || value == nil {
		t.Fatalf("not a payload: %s", data)
	}
	return chaintest.Payment{
		From: common.HexToAddress(a.From), To: common.HexToAddress(a.To), Value: value,
		ValidAfter: after, ValidBefore: before, Nonce: common.HexToHash(a.Nonce),
		Signature: hexutil.MustDecode(w.Signature),
	}
}

// Submit broadcasts with the minter, who is nobody to the rail.
func (h *harness) Submit(payloads ...[]byte) {
	if len(payloads) == 1 {
		h.Send(h.Minter, h.Asset, parse(h.t, payloads[0]).Call())
		return
	}
	var calls [][]byte
	for _, p := range payloads {
		calls = append(calls, parse(h.t, p).Call())
	}
	h.Send(h.Minter, chain.Spender, token.SpendCall(h.Asset, calls...))
}

func (h *harness) Cancel(data []byte) {
	p := parse(h.t, data)
	for _, k := range h.Buyers {
		if k.Address == p.From {
			sig := h.SignDigest(k, token.CancelDigest(p.From, p.Nonce, h.DomainSeparator()))
			h.Send(h.Minter, h.Asset, token.CancelCall(p.From, p.Nonce, sig))
			return
		}
	}
	h.t.Fatalf("no key of %s", p.From)
}

func (h *harness) Forge(data []byte) {
	h.Send(h.Minter, chain.Spender, token.ForgeCall(parse(h.t, data).Authorization))
}

// later is an ordinary account that Turn gives its code.
func (h *harness) later(p railtest.Payer) chaintest.Key { return h.Buyers[5+p-railtest.BurnerLater] }

func (h *harness) Turn(p railtest.Payer) {
	if p >= railtest.BurnerLater {
		h.Delegate(h.later(p), h.Coded[p-railtest.Turncoat].Address)
		h.seal()
		return
	}
	h.Send(h.Minter, h.Coded[p-railtest.Turncoat].Address, nil)
	h.seal()
}

func (h *harness) Fund(amount int64) {
	has := h.Node.Balance(h.Poor.Address)
	p := h.SignTransfer(h.Buyers[0], h.Poor.Address, amount-has)
	if has > amount {
		p = h.SignTransfer(h.Poor, h.Minter.Address, has-amount)
	}
	h.Send(h.Minter, h.Asset, p.Call())
	h.seal()
}

func (h *harness) Divert() { h.Send(h.Relayer, h.Minter.Address, nil) }
func (h *harness) Seal()   { h.seal() }

func (h *harness) SealEmpty() { h.MustSealTxs() }

func (h *harness) Pass(d time.Duration) { h.Chain.Pass(d) }

func (h *harness) Finalize() {
	for range chain.DefaultFinalDepth {
		h.MustSealTxs()
	}
}

func (h *harness) Reorg(n int) {
	if err := h.Chain.Reorg(h.Head().Number.Uint64() - uint64(n)); err != nil {
		h.t.Fatal(err)
	}
	h.Drop()
}

func (h *harness) Balance() int64 { return h.Node.Balance(h.PayTo) }

func (h *harness) Prove(kind railtest.Payer, message []byte) (string, []byte) {
	a, k := h.authorization(railtest.Terms{Payer: kind, Amount: 1, Before: time.Now()})
	text := "\x19Ethereum Signed Message:\n" + strconv.Itoa(len(message)) + string(message)
	return a.From.Hex(), h.SignDigest(k, crypto.Keccak256Hash([]byte(text)))
}

// Tampers implements railtest.Harness. The reasons are the stock facilitator's where it would not
// crash.
func (h *harness) Tampers(t railtest.Terms) []railtest.Tamper {
	a, k := h.authorization(t)
	good := h.Node.Sign(k, a)
	var list []railtest.Tamper
	add := func(name, reason string, change func(p *chaintest.Payment)) {
		p := good
		p.Value = new(big.Int).Set(good.Value)
		p.Signature = append([]byte{}, good.Signature...)
		change(&p)
		list = append(list, railtest.Tamper{Name: name, Payload: payload(p), Reason: reason})
	}
	again := func(p *chaintest.Payment) { *p = h.Node.Sign(k, p.Authorization) }
	const invalid = "invalid_exact_evm_signature"
	add("value changed", invalid, func(p *chaintest.Payment) { p.Value.SetInt64(1) })
	add("value zero", invalid, func(p *chaintest.Payment) { p.Value.SetInt64(0) })
	add("from changed", invalid, func(p *chaintest.Payment) { p.From = h.Buyers[1].Address })
	add("to changed", invalid, func(p *chaintest.Payment) { p.To = h.Minter.Address })
	add("nonce changed", invalid, func(p *chaintest.Payment) { p.Nonce[0] ^= 1 })
	add("validBefore changed", invalid, func(p *chaintest.Payment) { p.ValidBefore-- })
	add("validAfter changed", invalid, func(p *chaintest.Payment) { p.ValidAfter++ })
	add("r changed", invalid, func(p *chaintest.Payment) { p.Signature[3] ^= 1 })
	add("s changed", invalid, func(p *chaintest.Payment) { p.Signature[40] ^= 1 })
	add("v turned", invalid, func(p *chaintest.Payment) { p.Signature[64] ^= 7 })
	add("v impossible", invalid, func(p *chaintest.Payment) { p.Signature[64] = 99 })
	add("short signature", invalid, func(p *chaintest.Payment) { p.Signature = p.Signature[:64] })
	add("long signature", invalid, func(p *chaintest.Payment) { p.Signature = append(p.Signature, 0) })
	add("zero signature", invalid, func(p *chaintest.Payment) { clear(p.Signature) })
	add("another's signature", invalid, func(p *chaintest.Payment) { *p = h.Node.Sign(h.Buyers[1], p.Authorization) })
	add("signed for receive", invalid, func(p *chaintest.Payment) {
		p.Signature = h.SignDigest(k, p.Digest(token.ReceiveKind, h.DomainSeparator()))
	})
	add("signed for another chain", invalid, func(p *chaintest.Payment) {
		p.Signature = h.SignDigest(k, p.Digest(token.TransferKind, token.Domain("USD Coin", "2", 1, h.Asset)))
	})
	add("signed under another name", invalid, func(p *chaintest.Payment) {
		p.Signature = h.SignDigest(k, p.Digest(token.TransferKind, token.Domain("USDC", "2", h.Node.ChainID, h.Asset)))
	})
	add("high s", "invalid_exact_evm_transaction_simulation_failed", func(p *chaintest.Payment) {
		s := new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(p.Signature[32:64]))
		s.FillBytes(p.Signature[32:64])
		p.Signature[64] ^= 7 // 27 and 28 change places
	})
	add("honestly to another", "invalid_exact_evm_recipient_mismatch",
		func(p *chaintest.Payment) { p.To = h.Minter.Address; again(p) })
	add("honestly less", "invalid_exact_evm_payload_authorization_value_mismatch",
		func(p *chaintest.Payment) { p.Value.SetInt64(1); again(p) })
	add("honestly more", "invalid_exact_evm_payload_authorization_value_mismatch",
		func(p *chaintest.Payment) { p.Value.Add(p.Value, big.NewInt(1)); again(p) })
	add("undeployed wallet", "eip6492_factory_not_allowed", func(p *chaintest.Payment) {
		p.Signature = wrap(chain.Factory, token.DeployCall(k.Address, common.Hash{}), p.Signature)
	})
	add("wrapped without factory", invalid, func(p *chaintest.Payment) {
		p.Signature = wrap(common.Address{}, nil, p.Signature)
	})
	const bad = "invalid_payload"
	text := string(payload(good))
	swap := func(name, old, with string) {
		changed := strings.Replace(text, old, with, 1)
		if changed == text {
			h.t.Fatalf("%s: the payload has no %s", name, old)
		}
		list = append(list, railtest.Tamper{Name: name, Payload: []byte(changed), Reason: bad})
	}
	value := `"value":"` + good.Value.String() + `"`
	swap("value with sign", value, `"value":"+500000"`)
	swap("value with leading zero", value, `"value":"0500000"`)
	swap("value negative", value, `"value":"-500000"`)
	swap("value with exponent", value, `"value":"5e5"`)
	swap("value a number", value, `"value":500000`)
	swap("value in hex", value, `"value":"0x7a120"`)
	swap("value beyond 256 bits", value, `"value":"`+new(big.Int).Lsh(big.NewInt(1), 256).String()+`"`)
	swap("value empty", value, `"value":""`)
	swap("value null", value, `"value":null`)
	swap("value twice", value, value+","+value)
	swap("unknown member", value, value+`,"chainId":"1"`)
	swap("nonce short", good.Nonce.Hex(), good.Nonce.Hex()[:64])
	swap("nonce without 0x", good.Nonce.Hex(), good.Nonce.Hex()[2:])
	swap("address short", good.From.Hex(), good.From.Hex()[:40])
	swap("signature not hex", hexutil.Encode(good.Signature), "0xzz")
	swap("signature missing", `"signature"`, `"sig"`)
	swap("signature huge", hexutil.Encode(good.Signature), "0x"+strings.Repeat("00", 5000))
	swap("authorization missing", `"authorization"`, `"permit2Authorization"`)
	for name, data := range map[string]string{
		"nothing": "", "null": "null", "array": "[]", "text": `"x"`, "cut": text[:len(text)/2], "trailing": text + "{}",
		"bad UTF-8": strings.Replace(text, "authorization", "authoriz\xffation", 1),
	} {
		list = append(list, railtest.Tamper{Name: name, Payload: []byte(data), Reason: bad})
	}
	return list
}

// wrap makes an ERC-6492 signature.
func wrap(factory common.Address, call, inner []byte) []byte {
	word := func(n int) []byte { return common.BigToHash(big.NewInt(int64(n))).Bytes() }
	pad := func(b []byte) []byte {
		return append(append(word(len(b)), b...), make([]byte, (32-len(b)%32)%32)...)
	}
	first := pad(call)
	b := append(common.LeftPadBytes(factory[:], 32), word(96)...)
	b = append(b, word(96+len(first))...)
	b = append(append(b, first...), pad(inner)...)
	return append(b, common.FromHex("0x"+strings.Repeat("6492", 16))...)
}
