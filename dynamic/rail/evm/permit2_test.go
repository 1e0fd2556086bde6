package evm_test

import (
	"crypto/rand"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
)

// permits is a harness on which everybody pays by Permit2.
type permits struct {
	*harness
}

func openPermits(t testing.TB) railtest.Harness { return openPermitsOn(t) }

func openPermitsOn(t testing.TB) *permits {
	n := chaintest.New(t, chaintest.Options{Manual: true, Permit2: true,
		Code: [][]byte{token.Turncoat, token.Burner, token.Glutton, token.Weathercock, token.Switch, token.Turncoat}})
	h := &harness{Net: n, t: t, cfg: config(t, n), seal: func() { n.MustSeal() }}
	h.cfg.Transfer = "permit2"
	h.rail = newRail(t, h.cfg)
	return &permits{h}
}

// signedPermit is a Permit2 payment.
type signedPermit struct {
	token.Permit
	signature []byte
}

// permit is what Terms ask for, and the key that signs it.
func (h *permits) permit(t railtest.Terms) (token.Permit, chaintest.Key) {
	a, k := h.authorization(t)
	p := token.Permit{Owner: a.From, Token: h.Asset, Spender: token.ProxyAddress, To: a.To, Amount: a.Value,
		Nonce: new(big.Int), ValidAfter: a.ValidAfter, Deadline: a.ValidBefore - 1}
	var random [32]byte
	rand.Read(random[:])
	p.Nonce.SetBytes(random[:])
	if t.Nonce != "" {
		p.Nonce.SetString(t.Nonce, 10)
	}
	return p, k
}

func (h *permits) sign(k chaintest.Key, p token.Permit) signedPermit {
	return signedPermit{p, h.SignDigest(k, p.Digest(h.Node.ChainID))}
}

func (h *permits) Sign(t railtest.Terms) []byte {
	if t.Payer >= railtest.BurnerLater { // of payments that are settled together
		return nil
	}
	p, k := h.permit(t)
	return h.sign(k, p).payload()
}

// payload is the scheme's wire form.
func (p signedPermit) payload() []byte {
	b, err := json.Marshal(map[string]any{
		"permit2Authorization": map[string]any{
			"from": p.Owner.Hex(), "spender": p.Spender.Hex(), "nonce": p.Nonce.String(),
			"deadline":  strconv.FormatUint(p.Deadline, 10),
			"permitted": map[string]string{"token": p.Token.Hex(), "amount": p.Amount.String()},
			"witness":   map[string]string{"to": p.To.Hex(), "validAfter": strconv.FormatUint(p.ValidAfter, 10)},
		},
		"signature": hexutil.Encode(p.signature),
	})
	if err != nil {
		panic(err)
	}
	return b
}

// parsePermit reads a payload that the harness made.
func parsePermit(t testing.TB, data []byte) signedPermit {
	t.Helper()
	var w struct {
		A struct {
			From, Spender   common.Address
			Nonce, Deadline json.Number
			Permitted       struct {
				Token  common.Address
				Amount json.Number
			}
			Witness struct {
				To         common.Address
				ValidAfter json.Number
			}
		} `json:"permit2Authorization"`
		Signature hexutil.Bytes
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(data), "\\", "")), &w); err != nil {
		t.Fatal(err)
	}
	number := func(n json.Number) *big.Int {
		v, ok := new(big.Int).SetString(n.String(), 10)
		if !ok {
			t.Fatalf("not a payload: %s", data)
		}
		return v
	}
	return signedPermit{token.Permit{Owner: w.A.From, Token: w.A.Permitted.Token, Spender: w.A.Spender,
		To: w.A.Witness.To, Amount: number(w.A.Permitted.Amount), Nonce: number(w.A.Nonce),
		Deadline: number(w.A.Deadline).Uint64(), ValidAfter: number(w.A.Witness.ValidAfter).Uint64()}, w.Signature}
}

// Submit broadcasts with the minter, one by the proxy, several by another contract.
func (h *permits) Submit(payloads ...[]byte) {
	var calls [][]byte
	for _, data := range payloads {
		p := parsePermit(h.t, data)
		calls = append(calls, token.SettleCall(p.Permit, p.signature))
	}
	if len(calls) == 1 {
		h.Send(h.Minter, token.ProxyAddress, calls[0])
		return
	}
	h.Send(h.Minter, chain.Spender, token.SpendCall(token.ProxyAddress, calls...))
}

func (h *permits) Cancel(data []byte) {
	p := parsePermit(h.t, data)
	for _, k := range h.Buyers {
		if k.Address == p.Owner {
			h.Send(k, token.Permit2Address, token.InvalidateCall(p.Nonce))
			return
		}
	}
	h.t.Fatalf("no key of %s", p.Owner)
}

var mostUint256 = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))

// Withhold takes the allowance of Permit2 away.
func (h *permits) Withhold(data []byte) (restore func()) {
	p := parsePermit(h.t, data)
	approve := func(amount *big.Int) {
		for _, k := range h.Buyers {
			if k.Address == p.Owner {
				h.Node.Send(k, h.Asset, token.ApproveCall(token.Permit2Address, amount))
			}
		}
		h.Seal()
	}
	approve(new(big.Int))
	return func() { approve(mostUint256) }
}

// An allowance that is taken away and given back within the block of our settlement, by the payer's
// permits, which anybody can hand in, is the payer's doing: three such payers would take the
// network out.
func TestAnAllowanceThatIsBackAtTheEndOfTheBlock(t *testing.T) {
	h := openPermitsOn(t)
	payer := h.Buyers[0]
	permit := func(by chaintest.Key, nonce uint64, amount *big.Int) *types.Transaction {
		const deadline = 1 << 40
		digest := token.PermitDigest(token.Allowance{Owner: payer.Address, Spender: token.Permit2Address,
			Value: amount, Nonce: nonce, Deadline: deadline}, h.DomainSeparator())
		return h.Transaction(by, h.Asset, token.PermitCall(payer.Address, token.Permit2Address, amount, deadline,
			h.SignDigest(payer, digest)))
	}
	p, seen, signed, ours := h.settlement(h.Sign(terms(500_000)))
	h.MustSealTxs(permit(h.Minter, 0, new(big.Int)), ours, permit(h.Buyers[1], 1, mostUint256))
	f, err := h.harness.rail.Status(t.Context(), p, []rail.Signed{signed}, seen, time.Now())
	if err != nil || len(f.Reverts) != 1 {
		t.Fatalf("Status = %+v, %v; want a revert", f, err)
	}
	if c, err := h.harness.rail.Explain(t.Context(), p, f.Reverts[0]); err != nil || !c.Payer {
		t.Errorf("Explain = %+v, %v; want that it is the payer's doing", c, err)
	}
}

// Forge emits a Transfer that is not the token's, in a transaction that carries the payment's
// nonce.
func (h *permits) Forge(data []byte) {
	p := parsePermit(h.t, data)
	h.Send(h.Minter, chain.Spender, token.ForgeCall(token.Authorization{From: p.Owner, To: p.To, Value: p.Amount,
		Nonce: common.BigToHash(p.Nonce)}))
}

// Reason implements railtest.Worded.
func (*permits) Reason(what string) string {
	return map[string]string{
		"insufficient_balance": "permit2_insufficient_balance", "nonce_already_used": "permit2_simulation_failed",
		"signature": "invalid_permit2_signature", "valid_after": "permit2_not_yet_valid",
		"valid_before": "permit2_deadline_expired",
	}[what]
}

// More implements railtest.Worded.
func (*permits) More() uint64 { return 18_000 }

// Tampers implements railtest.Harness. The reasons are the stock facilitator's where it would not
// crash.
func (h *permits) Tampers(t railtest.Terms) []railtest.Tamper {
	a, k := h.permit(t)
	good := h.sign(k, a)
	var list []railtest.Tamper
	add := func(name, reason string, change func(p *signedPermit)) {
		p := good
		p.Amount, p.Nonce = new(big.Int).Set(good.Amount), new(big.Int).Set(good.Nonce)
		p.signature = append([]byte{}, good.signature...)
		change(&p)
		list = append(list, railtest.Tamper{Name: name, Payload: p.payload(), Reason: reason})
	}
	again := func(p *signedPermit) { *p = h.sign(k, p.Permit) }
	const invalid = "invalid_permit2_signature"
	add("from changed", invalid, func(p *signedPermit) { p.Owner = h.Buyers[1].Address })
	add("nonce changed", invalid, func(p *signedPermit) { p.Nonce.Xor(p.Nonce, common.Big1) })
	add("deadline changed", invalid, func(p *signedPermit) { p.Deadline-- })
	add("validAfter changed", invalid, func(p *signedPermit) { p.ValidAfter++ })
	add("r changed", invalid, func(p *signedPermit) { p.signature[3] ^= 1 })
	add("v turned", invalid, func(p *signedPermit) { p.signature[64] ^= 7 })
	add("v impossible", invalid, func(p *signedPermit) { p.signature[64] = 99 })
	add("short signature", invalid, func(p *signedPermit) { p.signature = p.signature[:64] })
	add("long signature", invalid, func(p *signedPermit) { p.signature = append(p.signature, 0) })
	add("another's signature", invalid, func(p *signedPermit) { *p = h.sign(h.Buyers[1], p.Permit) })
	add("signed for another chain", invalid, func(p *signedPermit) { p.signature = h.SignDigest(k, p.Digest(1)) })
	add("wrapped", invalid, func(p *signedPermit) {
		p.signature = token.Wrap6492(chain.Factory, token.DeployCall(k.Address, common.Hash{}), p.signature)
	})
	add("another spender", "invalid_permit2_spender", func(p *signedPermit) { p.Spender = h.Minter.Address; again(p) })
	add("honestly to another", "invalid_permit2_recipient_mismatch",
		func(p *signedPermit) { p.To = h.Minter.Address; again(p) })
	add("honestly less", "permit2_amount_mismatch", func(p *signedPermit) { p.Amount.SetInt64(1); again(p) })
	add("honestly more", "permit2_amount_mismatch",
		func(p *signedPermit) { p.Amount.Add(p.Amount, common.Big1); again(p) })
	add("another token", "permit2_token_mismatch", func(p *signedPermit) { p.Token = h.Minter.Address; again(p) })
	add("valid for ever", "permit2_deadline_expired", func(p *signedPermit) { p.Deadline = 1<<64 - 1; again(p) })
	const bad = "invalid_payload"
	text := string(good.payload())
	swap := func(name, old, with string) {
		changed := strings.Replace(text, old, with, 1)
		if changed == text {
			h.t.Fatalf("%s: the payload has no %s", name, old)
		}
		list = append(list, railtest.Tamper{Name: name, Payload: []byte(changed), Reason: bad})
	}
	amount, nonce := `"amount":"`+good.Amount.String()+`"`, `"nonce":"`+good.Nonce.String()+`"`
	swap("amount with leading zero", amount, `"amount":"0`+good.Amount.String()+`"`)
	swap("amount a number", amount, `"amount":`+good.Amount.String())
	swap("nonce in hex", nonce, `"nonce":"0x1"`)
	swap("nonce beyond 256 bits", nonce, `"nonce":"`+new(big.Int).Lsh(common.Big1, 256).String()+`"`)
	swap("nonce missing", `"nonce"`, `"once"`)
	swap("unknown member", nonce, nonce+`,"chainId":"1"`)
	swap("unknown member of the witness", `"validAfter"`, `"extra":"0x","validAfter"`)
	swap("unknown member of what is permitted", amount, amount+`,"more":"1"`)
	swap("witness missing", `"witness"`, `"testament"`)
	swap("permitted null", `"permitted":{`, `"permitted":null,"x":{`)
	swap("signature missing", `"signature"`, `"sig"`)
	swap("both ways", `"signature"`, `"authorization":{},"signature"`)
	return list
}

// A payment by Permit2 is held to all that a payment is held to.
func TestPermit2Rail(t *testing.T) { railtest.Run(t, openPermits) }
