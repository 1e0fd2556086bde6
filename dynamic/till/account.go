package till

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// A sale on account goes the same way as every other, without a network: what it costs is held
// against the account's limits in the transaction that claims it, and billed in the one that
// settles it. Nothing can take it back, so it is final from then on.
//
//	claimed ─► settled ─► (promised ─►) delivered
//	   └─ failed: released, and the account's name of the order is free again

// NetworkAccount stands where a purchase on account has no network.
const NetworkAccount = "account"

// accountHold is for how long what an order on account takes is told as held, at the most: nobody
// has to sign for it, so it is billed or given up as soon as it is made.
const accountHold = 5 * time.Minute

// OnAccount is who a purchase is billed to where no network carries its payment.
type OnAccount struct {
	Account string        `json:"account"`          // its id
	Partner string        `json:"partner"`          // who that is, for certificates
	Ref     string        `json:"ref"`              // the account's own name of the order
	Purpose string        `json:"purpose,omitzero"` // the account's own word, for the certificate
	Terms   account.Terms `json:"terms"`
	Request string        `json:"request"` // SHA-256 of the body that was signed, hex
	Salt    string        `json:"salt"`    // hex; of the digest of that body on the certificate (M14)
	// Instruction is that digest: SHA-256 of the salt's bytes and the body's behind them, hex.
	Instruction string    `json:"instruction"`
	Billed      time.Time `json:"billed,omitzero"` // when it was settled
}

// AccountOrder is an order on account, whose signature was checked.
type AccountOrder struct {
	Item             string
	Account, Partner string
	Limits           account.Limits
	Ref              string // unique for ever within the account
	Purpose          string // on the certificate in place of the good's own; "" leaves that
	Body             []byte // as it was signed
	// Inputs is that of an Order.
	Inputs func(*Offer) (map[string]string, error)
	// May refuses what is not sold to this account. Its error comes back as that of Inputs does.
	May func(*Offer) error
}

// OnAccount answers an order on account. The same body under the same name gets the first answer
// again, whatever became of the shelf; another body is an error.
func (t *Till) OnAccount(ctx context.Context, o AccountOrder) (*Sale, error) {
	if t.closing.Load() {
		return nil, &Error{Code: CodeRestarting, Retry: 5 * time.Second}
	}
	var rep *repeated
	err := t.view(ctx, func(tx ledger.Tx) (err error) {
		rep, err = o.known(tx)
		return err
	})
	if err != nil {
		return nil, ledgerDown(err)
	}
	var p *Purchase
	if rep == nil {
		site := t.cfg.Site.Now()
		offer, inputs, err := t.gates(ctx, site, Order{Item: o.Item, Inputs: o.inputs})
		if err != nil {
			return nil, unpaid(err)
		}
		if p, rep, err = t.claimOnAccount(ctx, &o, askedFor(site, offer, inputs)); err != nil {
			return nil, unpaid(overLimit(gateError(err)))
		}
	}
	if rep != nil {
		return t.answerRepeat(ctx, rep)
	}
	return t.carryOut(ctx, p)
}

// inputs are those of an offer that is sold to the account.
func (o *AccountOrder) inputs(offer *Offer) (map[string]string, error) {
	if err := o.May(offer); err != nil {
		return nil, err
	}
	return o.Inputs(offer)
}

// unpaid leaves out of an answer what became of a payment: none came.
func unpaid(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != CodeLedger {
		e.Payment = nil
	}
	return err
}

// known finds the purchase that an account's name of an order stands for; nil for a new name.
func (o *AccountOrder) known(tx ledger.Tx) (*repeated, error) {
	r, ok, err := o.named(tx)
	switch {
	case err != nil || !ok:
		return nil, err
	case r.Lost:
		return nil, &Error{Code: CodeRefLost}
	}
	return &repeated{purchase: r.Purchase}, nil
}

// named is what an account's name of an order stands for, which is this order.
func (o *AccountOrder) named(tx ledger.Tx) (account.Ref, bool, error) {
	r, ok, err := account.ReadRef(tx, o.Account, o.Ref)
	if ok && r.Request != requestDigest(o.Body) {
		return r, false, &Error{Code: CodeRefConflict}
	}
	return r, ok, err
}

func requestDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// claimOnAccount takes the name, the credit and the stock in one transaction.
func (t *Till) claimOnAccount(ctx context.Context, o *AccountOrder, a asked) (p *Purchase, rep *repeated, err error) {
	if t.full() {
		return nil, nil, &Error{Code: CodeFull, Retry: 2 * time.Second}
	}
	id := attest.NewID(prefixPurchase)
	sealed := OnAccount{Account: o.Account, Partner: o.Partner, Ref: o.Ref, Purpose: o.Purpose,
		Request: requestDigest(o.Body)}
	sealed.seal(o.Body)
	err = t.update(ctx, func(tx ledger.Tx) (err error) {
		p = nil
		if rep, err = o.known(tx); err != nil || rep != nil {
			return err
		}
		if err := isOpen(tx, NetworkAccount); err != nil {
			return err
		}
		on := sealed
		if on.Terms, err = account.Hold(tx, o.Account, a.offer.Price(), o.Limits); err != nil {
			return err
		}
		p, err = a.reserve(tx, t.makerOn(a.site), &goods.Order{ID: id, Payer: payerOf(o.Account),
			Paid: on.Terms.Net, Until: tx.Now().Add(accountHold)})
		if err != nil {
			return err
		}
		p.Protocol, p.Account, p.Payment.Network, p.Payment.Payer = ProtocolTrade, &on, NetworkAccount,
			payerOf(o.Account)
		return errors.Join(account.SetRef(tx, o.Account, o.Ref, account.Ref{Request: on.Request, Purchase: id}),
			t.save(tx, p))
	})
	if err == nil && rep == nil {
		t.cfg.AfterStep("claimed")
	}
	return p, rep, err
}

// ProtocolTrade is the protocol of purchases on account.
const ProtocolTrade = "trade"

// payerOf is an account as kinds of goods know who pays.
func payerOf(account string) string { return "account:" + account }

// overLimit is the answer where an account's limit leaves too little.
func overLimit(err error) error {
	over, ok := errors.AsType[*account.Over](err)
	switch {
	case !ok:
		return err
	case over.Daily:
		return &Error{Code: CodeDailyCap, Until: over.Until, Retry: time.Until(over.Until), Left: over.Left}
	}
	return &Error{Code: CodeCreditCeiling, Left: over.Left}
}

// seal makes the digest of the instruction that a certificate names.
func (a *OnAccount) seal(body []byte) {
	var salt [32]byte
	rand.Read(salt[:])
	sum := sha256.Sum256(append(salt[:], body...))
	a.Salt, a.Instruction = hex.EncodeToString(salt[:]), hex.EncodeToString(sum[:])
}

// bill writes what is owed for a purchase on account, in the transaction that settles it.
func (p *Purchase) bill(tx ledger.Tx) error {
	a := p.Account
	if a == nil {
		return nil
	}
	return account.Bill(tx, a.Account, account.Line{ID: p.ID, At: a.Billed, Ref: a.Ref, Item: p.Item, CertID: p.CertID,
		Price: a.Terms.Price, BPS: a.Terms.BPS, Net: a.Terms.Net})
}

// unbill gives back what a purchase that was given up held of its account's limits and names.
// Nothing that comes later can change it.
func (p *Purchase) unbill(tx ledger.Tx) error {
	a := p.Account
	if a == nil {
		return nil
	}
	p.Final = true
	return errors.Join(account.Release(tx, a.Account, a.Terms.Net, p.Created), account.FreeRef(tx, a.Account, a.Ref))
}

// SettledAt is when a purchase was paid for, by its block or its bill; zero for one that is not.
func (p *Purchase) SettledAt() time.Time {
	switch {
	case p.Proof != nil:
		return p.Proof.BlockTime
	case p.Account != nil:
		return p.Account.Billed
	case p.Spent != nil:
		return p.Spent.At
	case p.Held != nil && p.Held.Proof != nil:
		return p.Held.Proof.BlockTime
	}
	return time.Time{}
}

// paidUSDC is what was paid on a network.
func (p *Purchase) paidUSDC() string {
	if p.Account != nil {
		return usdc(0)
	}
	return usdc(p.Amount)
}

// AccountDelivery is what a purchase on account delivered.
type AccountDelivery struct {
	Message      string          `json:"message"`
	ItemID       string          `json:"item_id"`
	Deliverable  json.RawMessage `json:"deliverable"`
	Delivered    bool            `json:"delivered"` // false for an order that is completed later
	Billed       bool            `json:"billed"`
	Account      BilledTo        `json:"account"`
	PatronNumber int64           `json:"patron_number"` // 0 in the sandbox
	*Ordered
	Artifact *Beside `json:"artifact,omitempty"`
	*Minted
	Recovery *Recovery `json:"recovery,omitempty"` // none in the sandbox
	Replayed
}

// BilledTo says to whom a delivery is billed, and what. Amounts are decimals in US dollars.
type BilledTo struct {
	ID            string `json:"id"`
	OrderRef      string `json:"order_ref"`
	TradePriceUSD string `json:"trade_price_usd"`
	ShareBPS      int    `json:"share_bps"`
	BilledUSD     string `json:"billed_usd"` // what the account owes for it
	// InstructionSalt is 32 bytes, hex: trade_instruction on the certificate is the SHA-256 of
	// these and the body that was signed behind them.
	InstructionSalt string `json:"instruction_salt"`
}

// deliveryBody is a delivery as it is kept and answered.
func (t *Till) deliveryBody(p *Purchase, d *Delivery) ([]byte, error) {
	if p.Account == nil {
		return t.bindAnswer(p, d)
	}
	back := d.Recovery
	return json.Marshal(AccountDelivery{Message: d.Message, ItemID: d.ItemID, Deliverable: d.Deliverable,
		Delivered: d.Minted != nil, Billed: true, Account: p.Account.billedTo(), PatronNumber: p.Number,
		Ordered: d.Ordered, Artifact: d.Artifact, Minted: d.Minted, Recovery: &back})
}

func (a *OnAccount) billedTo() BilledTo {
	return BilledTo{ID: a.Account, OrderRef: a.Ref, TradePriceUSD: content.FormatUSDC(a.Terms.Price),
		ShareBPS: a.Terms.BPS, BilledUSD: content.FormatUSDC(a.Terms.Net), InstructionSalt: a.Salt}
}

// certify puts on a certificate what is there of a sale on account in place of a payment.
func (a *OnAccount) certify(c *attest.Certificate, via string) {
	c.PaidUSDC, c.Asset, c.Network, c.Payer, c.SettlementTx = "", "", "", "", ""
	c.SettledVia, c.TradePartner, c.TradePriceUSD = via, a.Partner, content.FormatUSDC(a.Terms.Price)
	c.TradeInstruction, c.Purpose = "sha256-salted:"+a.Instruction, cmp.Or(a.Purpose, c.Purpose)
}

// nonceVoid is how long after a restore no signed instruction is taken: one that was taken before,
// and forgotten, may be dated that far ahead (M13).
const nonceVoid = 600 * time.Second

// AccountsOpen is when orders on account are taken again after a restore; zero where they are.
func AccountsOpen(tx ledger.Tx) (until time.Time, err error) {
	at, err := ledger.RestoredAt(tx)
	if until = at.Add(nonceVoid); err != nil || tx.Now().Before(until) {
		return until, err
	}
	if shut, err := ledger.IsClosed(tx, NetworkAccount); err != nil || !shut {
		return time.Time{}, err
	}
	return tx.Now().Add(nonceVoid), nil // nobody knows when it is opened
}
