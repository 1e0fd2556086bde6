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
	rep, err := t.knownRef(ctx, &o)
	if err != nil || rep != nil {
		return t.accountRepeat(ctx, rep, err)
	}
	site := t.cfg.Site.Now()
	offer, inputs, err := t.gates(ctx, site, Order{Item: o.Item, Inputs: o.inputs})
	if err != nil {
		return nil, unpaid(err)
	}
	p, rep, err := t.claimOnAccount(ctx, &o, asked{site, offer, Fingerprint(offer.ID, inputs)}, inputs)
	if err != nil || rep != nil {
		return t.accountRepeat(ctx, rep, err)
	}
	t.fly(p.ID, p)
	now, err := t.await(ctx, p.ID, t.cfg.SettleWait)
	if err != nil {
		return nil, ledgerDown(err)
	}
	return t.answer(now, false)
}

// inputs are those of an offer that is sold to the account.
func (o *AccountOrder) inputs(offer *Offer) (map[string]string, error) {
	if err := o.May(offer); err != nil {
		return nil, err
	}
	return o.Inputs(offer)
}

func (t *Till) accountRepeat(ctx context.Context, rep *repeated, err error) (*Sale, error) {
	if err != nil {
		return nil, err
	}
	return t.answerRepeat(ctx, rep)
}

// unpaid leaves out of an answer what became of a payment: none came.
func unpaid(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Code != CodeLedger {
		e.Payment = nil
	}
	return err
}

// knownRef finds the purchase that an account's name of an order stands for; nil for a new name.
func (t *Till) knownRef(ctx context.Context, o *AccountOrder) (rep *repeated, err error) {
	err = t.view(ctx, func(tx ledger.Tx) (err error) {
		rep, err = o.known(tx)
		return err
	})
	if err != nil {
		return nil, ledgerDown(err)
	}
	return rep, nil
}

func (o *AccountOrder) known(tx ledger.Tx) (*repeated, error) {
	r, ok, err := account.ReadRef(tx, o.Account, o.Ref)
	switch {
	case err != nil || !ok:
		return nil, err
	case r.Request != requestDigest(o.Body):
		return nil, &Error{Code: CodeRefConflict}
	case r.Lost:
		return nil, &Error{Code: CodeRefLost}
	}
	return &repeated{purchase: r.Purchase}, nil
}

func requestDigest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// claimOnAccount takes the name, the credit and the stock in one transaction.
func (t *Till) claimOnAccount(ctx context.Context, o *AccountOrder, a asked, inputs map[string]string) (*Purchase,
	*repeated, error) {
	if t.full() {
		return nil, nil, &Error{Code: CodeFull, Retry: 2 * time.Second}
	}
	id := attest.NewID(prefixPurchase)
	sealed := OnAccount{Account: o.Account, Partner: o.Partner, Ref: o.Ref, Purpose: o.Purpose,
		Request: requestDigest(o.Body)}
	sealed.seal(o.Body)
	var p *Purchase
	var rep *repeated
	err := t.update(ctx, func(tx ledger.Tx) (err error) {
		p = nil
		if rep, err = o.known(tx); err != nil || rep != nil {
			return err
		}
		if shut, err := ledger.IsClosed(tx, NetworkAccount); err != nil || shut {
			return errors.Join(err, closedIf(shut))
		}
		on := sealed
		if on.Terms, err = account.Hold(tx, o.Account, a.offer.Price(), o.Limits); err != nil {
			return err
		}
		order := &goods.Order{ID: id, Good: a.offer.Good, Inputs: withoutSource(inputs), Payer: payerOf(o.Account),
			Network: NetworkAccount, Paid: on.Terms.Net, At: tx.Now(), Until: tx.Now().Add(accountHold)}
		if err := a.offer.Kind.Take(t.makerOn(a.site), tx, order); err != nil {
			return err
		}
		p = &Purchase{ID: id, State: Claimed, Item: a.offer.ID, Inputs: order.Inputs, Source: inputs["source"],
			Fingerprint: a.print, Content: a.site.Digest, Protocol: ProtocolTrade, Amount: on.Terms.Net,
			Entry: order.Entry, Word: order.Word, Account: &on}
		p.Payment.Network, p.Payment.Payer = NetworkAccount, order.Payer
		return errors.Join(account.SetRef(tx, o.Account, o.Ref, account.Ref{Request: on.Request, Purchase: id}),
			t.save(tx, p))
	})
	if err != nil {
		return nil, nil, unpaid(overLimit(gateError(err)))
	}
	if rep == nil {
		t.cfg.AfterStep("claimed")
	}
	return p, rep, nil
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

// bill: claimed → settled, where a purchase is on account. Number, certificate id, date and key are
// fixed here (M7).
func (t *Till) bill(ctx context.Context, p *Purchase, made *goods.Made) (*Purchase, error) {
	certID, kid := attest.NewID(prefixCert), t.signer().KID()
	return t.advance(ctx, p.ID, arrow{[]State{Claimed}, "settled"}, func(tx ledger.Tx, p *Purchase) error {
		p.Account.Billed = tx.Now().UTC().Truncate(time.Second)
		p.Made, p.State, p.Final = made, Settled, true
		if err := t.number(tx, p, certID, kid); err != nil {
			return err
		}
		return account.Bill(tx, p.Account.Account, account.Line{ID: p.ID, At: p.Account.Billed, Ref: p.Account.Ref,
			Item: p.Item, CertID: p.CertID, Price: p.Account.Terms.Price, BPS: p.Account.Terms.BPS,
			Net: p.Account.Terms.Net})
	})
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
