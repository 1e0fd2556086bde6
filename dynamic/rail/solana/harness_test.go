package solana_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	sol "github.com/gagliardetto/solana-go"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
)

// harness is a scripted cluster with a rail on it.
type harness struct {
	*cluster
	cfg  solana.Config
	rail *solana.Rail
}

func open(t testing.TB) *harness {
	h := &harness{cluster: newCluster(t)}
	h.cfg = config(t, h.srv.URL)
	h.rail = newRail(t, h.cfg)
	return h
}

func config(t testing.TB, url string) solana.Config {
	cfg, ok := solana.Preset(networks.Solana)
	if !ok {
		t.Fatal("no preset")
	}
	cfg.RPC, cfg.PayTo = []string{url}, person("payto").PublicKey().String()
	cfg.FeePayer = ed25519.PrivateKey(person("feepayer"))
	cfg.CoinPrice, cfg.Poll = 150_000_000, 20*time.Millisecond
	return cfg
}

func newRail(t testing.TB, cfg solana.Config) *solana.Rail {
	t.Helper()
	r, err := solana.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func (h *harness) Rail() rail.Rail    { return h.rail }
func (h *harness) Restart() rail.Rail { return newRail(h.t, h.cfg) }
func (h *harness) Remote() bool       { return false }

// Lacks implements railtest.Lacking: nobody but the fee payer can make a payment land, nobody can
// withdraw it, and it ends with a block.
func (h *harness) Lacks() railtest.Trait {
	return railtest.Numbered | railtest.Windowed | railtest.Public | railtest.Cancelled
}

// pay is a payment to be signed, as a stock buyer makes it until something is changed.
type pay struct {
	buyer, feePayer sol.PrivateKey
	to, mint        sol.PublicKey
	amount          uint64
	blockhash       sol.Hash
	memo            string
	guards          []string // data of Lighthouse instructions
	legacy          bool
	change          func([]sol.Instruction) []sol.Instruction
}

var memos atomic.Int64

func (h *harness) pay(amount int64) pay {
	h.mu.Lock()
	defer h.mu.Unlock()
	return stockPay(amount, h.head().hash)
}

// stockPay is a payment of the first buyer with a memo of its own.
func stockPay(amount int64, blockhash sol.Hash) pay {
	return pay{buyer: person("buyer-0"), feePayer: person("feepayer"), to: person("payto").PublicKey(), mint: usdc,
		amount:    uint64(amount),
		blockhash: blockhash, memo: fmt.Sprintf("memo %d", memos.Add(1))}
}

func limitData(units uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{2}, units) }
func priceData(micro uint64) []byte { return binary.LittleEndian.AppendUint64([]byte{3}, micro) }
func checkedData(amount uint64) []byte {
	return append(binary.LittleEndian.AppendUint64([]byte{12}, amount), 6)
}

// instructions are those of a stock payment.
func (p pay) instructions(t testing.TB) []sol.Instruction {
	source, to, owner := ata(t, p.buyer.PublicKey(), p.mint), ata(t, p.to, p.mint), p.buyer.PublicKey()
	list := []sol.Instruction{
		sol.NewInstruction(budget, nil, limitData(20_000)),
		sol.NewInstruction(budget, nil, priceData(1)),
		sol.NewInstruction(sol.TokenProgramID, sol.AccountMetaSlice{sol.Meta(source).WRITE(), sol.Meta(p.mint),
			sol.Meta(to).WRITE(), sol.Meta(owner).SIGNER()},
			checkedData(p.amount)),
	}
	for _, g := range p.guards {
		list = append(list, sol.NewInstruction(guard, sol.AccountMetaSlice{sol.Meta(source)}, []byte(g)))
	}
	if p.memo != "" {
		list = append(list, sol.NewInstruction(memo, nil, []byte(p.memo)))
	}
	if p.change != nil {
		list = p.change(list)
	}
	return list
}

// transaction is the payment, signed by its buyer alone.
func (p pay) transaction(t testing.TB, also ...sol.PrivateKey) *sol.Transaction {
	t.Helper()
	tx, err := sol.NewTransaction(p.instructions(t), p.blockhash, sol.TransactionPayer(p.feePayer.PublicKey()))
	if err != nil {
		t.Fatal(err)
	}
	if !p.legacy {
		tx.Message.SetVersion(sol.MessageVersionV0)
	}
	if _, err := tx.PartialSign(signers(append(also, p.buyer)...)); err != nil {
		t.Fatal(err)
	}
	return tx
}

func (p pay) wire(t testing.TB) []byte {
	b, err := p.transaction(t).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// payload is the scheme's wire form.
func payload(wire []byte) []byte {
	b, _ := json.Marshal(map[string]string{"transaction": base64.StdEncoding.EncodeToString(wire)})
	return b
}

// by makes a payment that of some terms; ok is false for payers that there are not.
func (p pay) by(t railtest.Terms) (_ pay, ok bool) {
	switch t.Payer {
	case railtest.Plain:
		p.buyer = person(fmt.Sprintf("buyer-%d", t.Buyer))
	case railtest.Poor:
		p.buyer = person("poor")
	case railtest.Turncoat:
		p.guards = []string{"T"}
	case railtest.Twin:
		p.guards, p.buyer = []string{"T"}, person("buyer-1")
	case railtest.Burner:
		p.guards = []string{"B"}
		p.change = func(list []sol.Instruction) []sol.Instruction {
			list[0] = sol.NewInstruction(budget, nil, limitData(100_000))
			return list
		}
	case railtest.Weathercock:
		p.guards = []string{"W"}
	case railtest.Switch:
		p.guards = []string{"S"}
	default:
		return p, false
	}
	if t.To != "" {
		p.to = sol.MustPublicKeyFromBase58(t.To)
	}
	return p, true
}

func (h *harness) Sign(t railtest.Terms) []byte {
	p, ok := h.pay(t.Amount).by(t)
	if !ok {
		return nil
	}
	return payload(p.wire(h.t))
}

func (h *harness) Submit(...[]byte) { h.t.Fatal("nobody else can make a payment land") }
func (h *harness) Cancel([]byte)    { h.t.Fatal("nobody can withdraw a payment") }
func (h *harness) Divert()          { h.t.Fatal("there are no numbers") }

// Withhold hands the first buyer's account to another owner (SetAuthority).
func (h *harness) Withhold([]byte) (restore func()) {
	who := person("buyer-0").PublicKey()
	give := func(owner sol.PublicKey) {
		h.set(ata(h.t, who, usdc), func(t *tokens) { t.owner = owner })
	}
	give(person("stranger").PublicKey())
	return func() { give(who) }
}

// Forge lands a transaction of the same buyer with the same memo, in another token.
func (h *harness) Forge(data []byte) {
	buyer := person("buyer-0")
	for _, who := range []sol.PublicKey{buyer.PublicKey(), person("payto").PublicKey()} {
		h.set(ata(h.t, who, otherUSD), func(t *tokens) { *t = tokens{otherUSD, who, 1e9, false} })
	}
	h.setLamports(person("stranger").PublicKey(), 1e9)
	wire := h.pay(500_000).forged(h.t, data)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pool = append(h.pool, wire)
}

// forged is the payment in another token, with the memo of a payload and another's fee.
func (p pay) forged(t testing.TB, data []byte) []byte {
	var w struct{ Transaction string }
	json.Unmarshal(data, &w)
	real, err := sol.TransactionFromBase64(w.Transaction)
	if err != nil {
		t.Fatal(err)
	}
	last := real.Message.Instructions[len(real.Message.Instructions)-1]
	p.mint, p.memo, p.feePayer = otherUSD, string(last.Data), person("stranger")
	wire, err := p.transaction(t, p.feePayer).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func (h *harness) Turn(p railtest.Payer) {
	h.seal(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turned = p == railtest.Switch
	h.weather = h.head().slot
}

func (h *harness) Fund(amount int64) {
	h.set(ata(h.t, person("poor").PublicKey(), usdc), func(t *tokens) { t.amount = uint64(amount) })
}

func (h *harness) Drop()                { h.drop() }
func (h *harness) Seal()                { h.seal(false) }
func (h *harness) SealEmpty()           { h.seal(true) }
func (h *harness) Pass(d time.Duration) { h.pass(d) }
func (h *harness) Reorg(n int)          { h.reorg(n) }
func (h *harness) Finalize()            { h.pass(finality * slotTime) }
func (h *harness) Balance() int64       { return h.amount(ata(h.t, person("payto").PublicKey(), usdc)) }

// Tampers implements railtest.Harness: those of the table that need nothing but a payload.
func (h *harness) Tampers(railtest.Terms) []railtest.Tamper { return nil }

func (h *harness) Prove(kind railtest.Payer, text []byte) (string, []byte) {
	if kind != railtest.Plain {
		return "", nil
	}
	k := person("buyer-0")
	return k.PublicKey().String(), ed25519.Sign(ed25519.PrivateKey(k), text)
}

func TestRail(t *testing.T) {
	railtest.Run(t, func(t testing.TB) railtest.Harness { return open(t) })
}
