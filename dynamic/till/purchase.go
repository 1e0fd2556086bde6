package till

import (
	"context"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/holds"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/settle"
)

// State is where a purchase stands.
type State string

// The states of the purchase. See the package comment for the arrows.
const (
	Claimed     State = "claimed"      // the authorization, the slot and the stock are taken
	GoodsReady  State = "goods_ready"  // the good is made and kept
	Settling    State = "settling"     // the settlement is signed and stored, and may have been sent
	Unknown     State = "unknown"      // the buyer was told that the outcome is not known yet
	Asking      State = "asking"       // the money arrived, and what it is for is asked of an upstream
	Settled     State = "settled"      // the money arrived at the network's depth; number, id, date and key are fixed
	Promised    State = "promised"     // answered, and to be completed by the keeper or over its term
	Delivered   State = "delivered"    // signed and answered
	Refused     State = "refused"      // the order could not be taken after all; nothing was sent
	Failed      State = "failed"       // the good could not be made; nothing was sent
	NotSettled  State = "not_settled"  // the payment did not go through
	SettledLate State = "settled_late" // money that arrived for a purchase we had given up
	RefundOwed  State = "refund_owed"  // money that arrived late and whose good is gone
	Reversed    State = "reversed"     // delivered, and then the chain took the payment back
	Held        State = "held"         // answered: the money is in an escrow until the keeper completes the order
	Capturing   State = "capturing"    // completed by the keeper, and the money is being taken
	Voiding     State = "voiding"      // declined, or past its window, and the money is being given back
	Released    State = "released"     // the money went back to its payer
	FromChain   State = "from_chain"   // after a restore: known from the chain alone
	Uncredited  State = "uncredited"   // money that arrived and that no purchase credits
)

// Purchase is the journal record of one purchase. Amounts are atomic USDC.
type Purchase struct {
	ID      string    `json:"id"`
	Version int64     `json:"version"` // one more at each transition
	State   State     `json:"state"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Tries   int       `json:"tries,omitzero"`

	Item        string            `json:"item"`
	Inputs      map[string]string `json:"inputs,omitzero"`
	Source      string            `json:"source,omitzero"`
	Fingerprint string            `json:"fingerprint"`
	Slot        string            `json:"slot,omitzero"`    // hex SHA-256 of the idempotency key
	Content     string            `json:"content,omitzero"` // digest of the site that it was claimed under

	Protocol string           `json:"protocol,omitzero"` // of the payment; unknown where only the chain tells of it
	Agent    string           `json:"agent,omitzero"`    // host and key of the agent that signed the payment
	Payment  rail.Payment     `json:"payment"`
	Terms    rail.Requirement `json:"terms"`
	Amount   int64            `json:"amount"`
	Tip      int64            `json:"tip,omitzero"`
	Verified rail.Verified    `json:"mark"` // the head before the authorization was seen unused

	Entry string      `json:"entry,omitzero"` // pool entry reserved
	Word  string      `json:"word,omitzero"`
	Made  *goods.Made `json:"made,omitzero"`

	Settlement string `json:"settlement,omitzero"` // id of the record of package settle, from settling on
	Reverted   bool   `json:"reverted,omitzero"`   // a transaction that would have settled it reverted

	Account *OnAccount `json:"on_account,omitempty"` // who is billed, where no network carries the payment
	Spent   *Spent     `json:"spent,omitempty"`      // the channel that is charged, of a payment by voucher

	Held *holds.Held `json:"held,omitempty"` // what an order of the keeper's work is paid by that is captured later

	Proof  *rail.Proof `json:"proof,omitzero"`
	Number int64       `json:"number,omitzero"` // patron number
	CertID string      `json:"cert_id,omitzero"`
	Date   string      `json:"date,omitzero"`
	KID    string      `json:"kid,omitzero"`
	// Artifact is the id of what is signed beside the certificate.
	Artifact string `json:"artifact,omitzero"`

	// AskedSince is when what is asked of an upstream after the payment was first due.
	AskedSince time.Time `json:"asked_since,omitzero"`

	Reason      string    `json:"reason,omitzero"`       // why it was refused, failed or not settled
	Final       bool      `json:"final,omitzero"`        // beyond reorganisation: nothing can change it
	DeliveredAt time.Time `json:"delivered_at,omitzero"` // when the answer that is kept was made

	listed bool // among the open payments, while a transaction that read it runs

	signed *settle.Settlement // as load read it beside the purchase; nil without
	body   []byte             // the answer, where it was kept by the step that this came from; nil is to be read
}

// Claim is the record at auth/…: whose authorization it is.
type Claim struct {
	Purchase string `json:"purchase"`
	// Header is the hex SHA-256 of the exact payment header, kept only when that held a nonce of
	// ours: then, and only then, the same header again proves its sender (M1).
	Header string `json:"header,omitzero"`
	// Answered marks an authorization that came with a repeat and was never settled.
	Answered bool `json:"answered,omitzero"`
}

// Open reports whether the purchase is still on its way.
func (p *Purchase) Open() bool {
	switch p.State {
	case Claimed, GoodsReady, Settling, Unknown, Asking, Settled, SettledLate:
		return true
	}
	return false
}

// freed reports whether the purchase gave up its slot and stock.
func (p *Purchase) freed() bool {
	switch p.State {
	case Refused, Failed, NotSettled:
		return true
	}
	return false
}

// freesSlot reports whether an order with the purchase's key is a new one. One that was reversed
// took no money in the end, and never can: its authorization is dead beyond reorganisation.
func (p *Purchase) freesSlot() bool { return p.freed() || p.State == Reversed || p.State == Released }

// Tx is the transaction that a buyer can look for: the proof's, else the newest that was signed.
func (p *Purchase) Tx() string {
	switch {
	case p.Proof != nil:
		return p.Proof.Tx
	case p.Held != nil && p.Held.Proof != nil:
		return p.Held.Proof.Tx
	case p.signed != nil:
		return p.signed.Tx(p.ID)
	}
	return ""
}

// paidIn is the transaction that paid for a settled purchase, "" where none did.
func (p *Purchase) paidIn() string {
	switch {
	case p.Proof == nil && p.Held != nil && p.Held.Proof != nil:
		return p.Held.Proof.Tx // into the escrow
	case p.Proof == nil || p.Spent != nil:
		return ""
	}
	return p.Proof.Tx
}

// member is a purchase's payment as its settlement has it: that which ends its hold, once there is
// one.
func (p *Purchase) member() settle.Member {
	return settle.Member{ID: p.ID, Payment: *p.settles(), Verified: p.Verified}
}

// settlement is the id of the record of what is being settled for a purchase, "" for none.
func (p *Purchase) settlement() string {
	if p.Held != nil && p.Held.End != nil {
		return p.Held.Settlement
	}
	return p.Settlement
}

// settling is the settlement of a loaded purchase; one without a record is that of a payment for
// which nothing was signed.
func (p *Purchase) settling() *settle.Settlement {
	if p.signed != nil {
		return p.signed
	}
	return settle.Unsigned(p.member())
}

// errMoved says that a purchase is no longer in the state that a step starts from: another hand
// moved it.
var errMoved = errors.New("till: the purchase has moved on")

// read reads a purchase that is going to be saved in the same transaction.
func read(tx ledger.Tx, id string) (*Purchase, error) {
	p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(id))
	if err != nil {
		return nil, fmt.Errorf("purchase %s: %w", id, err)
	}
	p.listed = p.counts()
	return &p, nil
}

// save writes p, which is new or was read in this transaction, as the next version and keeps its
// place in the queue of due work.
func (t *Till) save(tx ledger.Tx, p *Purchase) error {
	now := tx.Now()
	if p.Version == 0 {
		p.Created = now
	}
	if err := t.list(tx, p); err != nil {
		return err
	}
	p.Version++
	p.Updated = now
	var err error
	if at := t.nextLook(p, now); at.IsZero() {
		err = schedule.Drop(tx, jobPurchase, p.ID)
	} else {
		// One that moves on at once lies where the worker will look soon enough.
		err = schedule.PutOrLeave(tx, jobPurchase, p.ID, at, at.Sub(now)/4)
	}
	return errors.Join(err, t.keepDebt(tx, p), ledger.SetJSON(tx, ledger.PurchaseKey(p.ID), p))
}

// savedAt is what is read of a purchase that is read and saved.
func savedAt(id string) []ledger.Range {
	return []ledger.Range{ledger.At(ledger.PurchaseKey(id)), ledger.At(ledger.TaskKey(jobPurchase, id))}
}

// nextLook is when the worker should look at a purchase if nobody has moved it until then; zero is
// never again.
func (t *Till) nextLook(p *Purchase, now time.Time) time.Time {
	patience := t.cfg.Patience
	switch {
	case p.State == Held && p.Final:
		return later(now, p.Held.DueAt)
	case p.Final && !p.Open(): // what is billed to an account is final before it is delivered
		return time.Time{}
	}
	switch p.State {
	case Claimed, GoodsReady, Settling, Settled, SettledLate:
		return now.Add(patience)
	case Unknown:
		return now.Add(min(patience, 5*time.Second))
	case Asking:
		return now.Add(min(patience<<min(p.Tries, 8), 5*time.Minute))
	case Promised, Delivered, Refused, Failed, NotSettled, RefundOwed, Held, Capturing, Voiding, Released:
		// Watched to finality: often at first, then less so, never less than every five minutes.
		return now.Add(min(patience<<min(p.Tries, 8), 5*time.Minute))
	}
	return time.Time{}
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// arrow is a step of purchases: the states it leads from, and its name.
type arrow struct {
	from []State
	step string
}

// advance runs f on the purchase as it stands, if it stands in one of the given states, and saves
// it; the step is durable when advance returns. f may run more than once and touches nothing
// outside; reads is what it reads.
func (t *Till) advance(ctx context.Context, id string, a arrow, f func(ledger.Tx, *Purchase) error,
	reads ...ledger.Range) (*Purchase, error) {
	reads = append(reads, savedAt(id)...)
	var out *Purchase
	var was State
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	err := t.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		ledger.Ahead(tx, reads...)
		p, err := read(tx, id)
		if err != nil {
			return err
		}
		out, was = p, p.State
		ok := false
		for _, s := range a.from {
			ok = ok || p.State == s
		}
		if !ok {
			return errMoved
		}
		if err := f(tx, p); err != nil {
			return err
		}
		return t.save(tx, p)
	})
	if err != nil {
		return out, err
	}
	if out.State != was && !out.Open() {
		t.tellEnd(out)
	}
	t.cfg.AfterStep(a.step)
	return out, nil
}

// load reads a purchase as it stands, with its settlement.
func (t *Till) load(ctx context.Context, id string) (*Purchase, error) {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	var p Purchase
	err := t.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		p, err = t.withSettlement(tx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("purchase %s: %w", id, err)
	}
	return &p, nil
}

func (t *Till) withSettlement(tx ledger.Tx, id string) (Purchase, error) {
	p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(id))
	if of := p.settlement(); err == nil && of != "" {
		p.signed, err = t.settles.Read(tx, of)
	}
	return p, err
}

// ledgerContext outlives the request that began a step, because a step once begun is finished, and
// has a deadline, because the ledger retries until then.
func ledgerContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
}

// maker makes what a purchase bought from what it was claimed under.
func (t *Till) maker(p *Purchase) goods.Maker { return t.makerOn(t.cfg.Site.Of(p.Content)) }

// order is a kind's view of a purchase.
func (t *Till) order(p *Purchase) (*goods.Order, goods.Kind, error) {
	offer, err := t.offerOf(p)
	if err != nil {
		return nil, goods.Kind{}, err
	}
	o := &goods.Order{
		ID: p.ID, Good: offer.Good, Inputs: p.Inputs, Payer: p.Payment.Payer,
		Paid: p.Amount, Tip: p.Tip, At: p.Created, Until: time.Unix(p.Payment.ValidBefore, 0), Entry: p.Entry,
		Word: p.Word, Artifact: p.Artifact,
	}
	o.Settled = p.SettledAt()
	return o, offer.Kind, nil
}

// tellEnd tells of a purchase that came to rest.
func (t *Till) tellEnd(p *Purchase) {
	t.cfg.Outcome(p.Payment.Network, p.State)
	t.cfg.Money(p.Payment.Network, p.State, p.Amount)
}
