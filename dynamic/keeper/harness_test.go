package keeper

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

const (
	base  = "eip155:8453"
	payTo = "0x00000000000000000000000000000000000000aa"

	escrow = "0x0000000000000000000000000000000000000Ec5"
)

// ada is a wallet, as the ledger spells it.
var ada = wallet.Address{19: 0xad}.String()

// began is when the world of these tests begins: the ledger's clock is the real one.
var began = time.Now().UTC().Truncate(time.Second).Add(-400 * 24 * time.Hour)

// quiet is a network of which a test says what stands on it. What no test asks it panics at.
type quiet struct {
	rail.Rail
	rail.Channels
	claimed   int64 // of channels
	transfers []rail.Transfer
	fuel      *big.Int
	low       bool
	fails     error
	final     rail.Head
	redeemed  map[string]*rail.Proof // by account and nonce
}

func (q *quiet) Info() rail.Info {
	return rail.Info{Network: base, Name: "Base", Asset: "0xusdc", Symbol: "USDC", PayTo: payTo,
		Unit: "wei", Accounts: []string{"0xrelayer"}, Timeout: time.Minute}
}

func (q *quiet) ChannelTerms() (rail.ChannelTerms, bool) {
	return rail.ChannelTerms{Receiver: payTo, Token: "0xusdc", Escrow: escrow}, true
}

func (q *quiet) Claimed(context.Context) (claimed, moved int64, err error) {
	return q.claimed, q.claimed, q.fails
}

func (q *quiet) Fuel(context.Context) (*big.Int, bool, error) { return q.fuel, q.low, q.fails }

func (q *quiet) Final(context.Context) (rail.Head, error) { return q.final, q.fails }

func (q *quiet) Incoming(_ context.Context, s rail.Span) iter.Seq2[rail.Piece, error] {
	return func(yield func(rail.Piece, error) bool) { // all in one: its blocks are seconds without end
		p := rail.Piece{Rest: rail.Span{From: s.To + 1, To: s.To}}
		for t, err := range q.listed(s.From, s.To) {
			if err != nil {
				yield(rail.Piece{}, err)
				return
			}
			p.Transfers = append(p.Transfers, t)
		}
		yield(p, nil)
	}
}

func (q *quiet) listed(from, to uint64) iter.Seq2[rail.Transfer, error] {
	return func(yield func(rail.Transfer, error) bool) {
		if q.fails != nil {
			yield(rail.Transfer{}, q.fails)
			return
		}
		for _, tr := range q.transfers {
			if tr.Block >= from && (to == 0 || tr.Block <= to) && !yield(tr, nil) {
				return
			}
		}
	}
}

// world is a store with a ledger that tests write.
type world struct {
	t    *testing.T
	db   *ledger.Mem
	net  *quiet
	till *till.Till
	desk *Inbox
	n    int
}

var loaded = sync.OnceValues(func() (*content.Site, error) { return content.Load(content.Sources{}) })

func newWorld(t *testing.T) *world {
	t.Helper()
	site, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: ledger.NewMem(ledger.MemOptions{Calm: true}), net: &quiet{fuel: big.NewInt(1),
		final: rail.Head{Block: 1 << 40, Time: time.Now()}}}
	w.till, err = till.New(till.Config{BaseURL: "https://store.example", Site: site, DB: w.db,
		Rails: []rail.Rail{w.net}, Keys: []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(),
		Secret: []byte(strings.Repeat("s", 32)), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w.write(func(tx ledger.Tx) error { return channels.Looked(tx, base, 1, tx.Now()) })
	w.desk = New(Config{Till: w.till, DB: w.db, Rails: []rail.Rail{w.net}, Refusals: NewRefusals()})
	return w
}

func (w *world) write(f func(ledger.Tx) error) {
	w.t.Helper()
	if err := w.db.Update(context.Background(), f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) set(key []byte, v any) {
	w.t.Helper()
	w.write(func(tx ledger.Tx) error { return ledger.SetJSON(tx, key, v) })
}

// id makes an id of the usual form.
func (w *world) id(prefix string) string {
	w.n++
	return prefix + strings.NewReplacer("0", "a", "1", "b", "8", "c", "9", "d").Replace(fmt.Sprintf("%020d", w.n))
}

// sold puts a purchase into the ledger with everything that belongs to it, and its transfer on the
// chain.
func (w *world) sold(item string, state till.State, amount int64, at time.Time) *till.Purchase {
	w.t.Helper()
	p := &till.Purchase{ID: w.id("pur_"), Version: 1, State: state, Created: at, Updated: at, Item: item, Final: true,
		Protocol: "x402", Amount: amount, DeliveredAt: at,
		Payment: rail.Payment{Network: base, Asset: "0xusdc", Method: "eip3009", Payer: ada,
			Nonce: fmt.Sprintf("0x%064x", w.n), PayTo: payTo, Amount: big.NewInt(amount)},
		Proof: &rail.Proof{Tx: fmt.Sprintf("0x%064x", 7*w.n), LogIndex: uint64(w.n),
			Block: uint64(at.Sub(began).Seconds()), BlockHash: "0xb", BlockTime: at}}
	if state == till.Delivered || state == till.Promised {
		p.CertID, p.Number, p.Date = w.id("cert_"), int64(w.n), at.Format(time.RFC3339)
	}
	w.save(p)
	w.net.transfers = append(w.net.transfers, rail.Transfer{Network: base, Tx: p.Proof.Tx, LogIndex: p.Proof.LogIndex,
		Block: p.Proof.Block, Time: at, Payer: ada, Amount: big.NewInt(amount), Nonce: p.Payment.Nonce,
		Method: "eip3009"})
	return p
}

// voucher sells out of a channel of its own, of which something was spent elsewhere. With a deposit
// it has the proof of that.
func (w *world) voucher(elsewhere, amount int64, deposit bool) *till.Purchase {
	w.t.Helper()
	p := &till.Purchase{ID: w.id("pur_"), Version: 1, State: till.Delivered, Created: noon, Updated: noon,
		Item: "hello", Final: true, Protocol: "x402", Amount: amount, DeliveredAt: noon, CertID: w.id("cert_"),
		Date: noon.Format(time.RFC3339)}
	c := rail.Channel{ID: fmt.Sprintf("0x%064x", w.n), Payer: ada, Signer: ada, Receiver: payTo, Token: "0xusdc",
		Delay: 1 << 30}
	p.Number, p.Spent = int64(w.n), &till.Spent{Channel: c, Max: elsewhere + amount, At: noon}
	p.Payment = rail.Payment{Network: base, Asset: "0xusdc", Method: rail.MethodVoucher, Payer: ada,
		Nonce: fmt.Sprintf("%s/%d", c.ID, p.Spent.Max), PayTo: payTo, Amount: big.NewInt(amount)}
	if deposit {
		p.Spent.Deposit = &rail.Payment{Network: base, Method: rail.MethodDeposit, Amount: big.NewInt(1 << 40)}
		p.Proof = &rail.Proof{Tx: c.ID, LogIndex: uint64(w.n), Block: 1, BlockHash: "0xb", BlockTime: noon}
	}
	w.write(func(tx ledger.Tx) error {
		_, err := channels.Limits{Channel: 1 << 40, Day: 1 << 50}.Reserve(tx, channels.Bid{Network: base,
			Channel: c, Voucher: rail.Voucher{Max: p.Spent.Max}, Amount: amount,
			Purchase: p.ID, Seen: rail.ChannelState{ID: c.ID, Block: 1, Balance: 1 << 40}})
		if err == nil {
			_, err = channels.Take(tx, base, c.ID, p.ID, 0)
		}
		return err
	})
	w.save(p)
	return p
}

// save writes a purchase and what points to it.
func (w *world) save(p *till.Purchase) {
	w.t.Helper()
	pay := p.Payment
	w.set(ledger.PurchaseKey(p.ID), p)
	w.set(ledger.AuthKey(pay.Network, pay.Asset, pay.Method, pay.Payer, pay.Nonce), till.Claim{Purchase: p.ID})
	w.write(func(tx ledger.Tx) error { return tx.Set(ledger.PayerKey(pay.Payer, p.Created, p.ID), nil) })
	if p.Proof != nil {
		w.set(ledger.CreditKey(pay.Network, p.Proof.Tx, p.Proof.LogIndex), map[string]string{"purchase": p.ID})
	}
	if p.Proof != nil && (p.State == till.Uncredited || p.State == till.FromChain) {
		w.write(func(tx ledger.Tx) error {
			return tx.Set(ledger.BudgetKey("uncredited", "owed", pay.Network, ledger.Number(p.Proof.Block), p.Proof.Tx,
				ledger.Number(p.Proof.LogIndex)), []byte(p.ID))
		})
	}
	if p.CertID == "" {
		return
	}
	cert := attest.Certificate{CertID: p.CertID, Item: p.Item, PatronNumber: p.Number, Date: p.Date,
		PaidUSDC: content.FormatUSDC(p.Amount), Payer: p.Payment.Payer, Network: p.Payment.Network,
		SettlementTx: p.Tx()}
	if p.Spent != nil {
		cert.SettlementTx = ""
	}
	proof, err := attest.SignPayload(attest.SpecimenKey(), cert)
	if err != nil {
		w.t.Fatal(err)
	}
	w.set(ledger.CertKey(p.CertID), till.CertRecord{Purchase: p.ID, Certificate: cert, Proof: proof})
	w.write(func(tx ledger.Tx) error { return tx.Set(ledger.PatronKey(p.Number), []byte(p.CertID)) })
}

// order puts an order for the keeper's work into the ledger, due at a time.
func (w *world) order(asked string, due time.Time) *till.Purchase {
	w.t.Helper()
	p := w.sold("quick_judgment", till.Promised, 3_000_000, due.Add(-168*time.Hour))
	p.Inputs = map[string]string{"detail": asked}
	p.Artifact = w.id("order_")
	p.Made = &goods.Made{Message: "Taken down.", Deliverable: []byte(`{"kind":"human","window_hours":168,"due_at":"` +
		due.Format(time.RFC3339) + `"}`)}
	w.set(ledger.PurchaseKey(p.ID), p)
	w.set(ledger.OrderKey(p.Artifact), map[string]string{"purchase": p.ID})
	return p
}

var errAway = errors.New("the node is away")
