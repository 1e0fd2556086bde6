package till

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/holds"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// CounterPatron is the ledger counter of patron numbers: sequential, without gaps.
const CounterPatron = "patron"

// creditOf says which purchase a transfer paid for.
type creditOf struct {
	Purchase string `json:"purchase"`
}

// errCredited says that a transfer paid for another purchase already.
var errCredited = errors.New("till: this transfer is credited to another purchase")

// credit: → settled. The transfer is credited once, by a unique key; number, certificate id, date
// and key are fixed here and never change (M3, M7).
func (t *Till) credit(ctx context.Context, p *Purchase, from []State, to State, proof *rail.Proof) (*Purchase, error) {
	if proof == nil {
		return nil, fmt.Errorf("till: purchase %s is paid without a proof", p.ID)
	}
	certID := attest.NewID(prefixCert)
	kid := t.signer().KID()
	settlement := p.settling()
	reads := append(settle.GasReads(t.cfg.Now(), p.Payment.Network, p.Payment.Payer),
		ledger.At(ledger.CreditKey(p.Payment.Network, proof.Tx, proof.LogIndex)),
		ledger.At(ledger.SettlementKey(settlement.ID)), ledger.At(ledger.ClosedKey()),
		ledger.At(ledger.CounterKey(CounterPatron)))
	return t.advance(ctx, p.ID, arrow{from, string(to)}, func(tx ledger.Tx, p *Purchase) error {
		if err := takeCredit(tx, p, proof); err != nil {
			return err
		}
		if err := t.settles.Landed(tx, settlement, p.ID); err != nil {
			return err
		}
		if p.State = to; p.Held != nil {
			p.Held.Ended, p.Held.Last = holds.Captured, proof
		}
		if to == SettledLate {
			return t.retake(tx, p)
		}
		if t.asksAfter(p) {
			p.State, p.AskedSince, p.Tries = Asking, tx.Now(), 0
			return nil
		}
		return t.number(tx, p, certID, kid)
	}, reads...)
}

// takeCredit credits a transfer to p and to no other purchase (M3). A log index counts within its
// block, so after a reorganisation another payment of the same transaction may stand where one was
// credited before: a credit of another block is void, and its purchase finds its own place when it
// is watched.
func takeCredit(tx ledger.Tx, p *Purchase, proof *rail.Proof) error {
	key := ledger.CreditKey(p.Payment.Network, proof.Tx, proof.LogIndex)
	held, err := ledger.GetJSON[creditOf](tx, key)
	if err == nil && held.Purchase != p.ID {
		other, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(held.Purchase))
		if err != nil {
			return err
		}
		if other.Proof == nil || other.Proof.BlockHash == "" || other.Proof.BlockHash == proof.BlockHash {
			return errCredited
		}
	} else if err != nil && !errors.Is(err, errNotFound) {
		return err
	}
	p.Proof = proof
	return ledger.SetJSON(tx, key, creditOf{p.ID})
}

// number fixes what a settled purchase has for ever.
func (t *Till) number(tx ledger.Tx, p *Purchase, certID, kid string) error {
	if err := isOpen(tx, p.Payment.Network); err != nil {
		return err
	}
	offer, err := t.offerOf(p)
	if err != nil {
		return err
	}
	if offer.Mints {
		if p.Number, err = ledger.Next(tx, CounterPatron); err != nil {
			return err
		}
		p.CertID = certID
	}
	p.KID, p.Date = kid, p.SettledAt().UTC().Format(time.RFC3339)
	if p.Held != nil {
		return nil // its order stands since the money was held
	}
	return t.ordered(tx, p)
}

// ordered fixes what only a paid order gets of its kind.
func (t *Till) ordered(tx ledger.Tx, p *Purchase) error {
	o, k, err := t.order(p)
	if err != nil {
		return err
	}
	if a := k.Artifact; a != nil {
		p.Artifact = attest.NewID(a.Prefix)
		if a.Continues != nil && a.Continues(o) != "" {
			p.Artifact = a.Continues(o)
		}
		o.Artifact = p.Artifact
	}
	if k.Settle != nil {
		return k.Settle(t.maker(p), tx, o, p.Made)
	}
	return nil
}

// retake reserves anew for money that came late. When the good is gone, what was paid is owed.
func (t *Till) retake(tx ledger.Tx, p *Purchase) error {
	o, k, err := t.order(p)
	if err != nil { // off the shelf meanwhile
		p.State, p.Reason, p.Tries = RefundOwed, "no_longer_sold", 0
		return nil
	}
	if err := k.Take(t.maker(p), tx, o); err != nil {
		if !refused(err) {
			return err
		}
		p.State, p.Reason, p.Tries = RefundOwed, err.Error(), 0
		return nil
	}
	p.Entry, p.Word, p.Made = o.Entry, o.Word, nil
	if k.Paid != nil {
		p.State, p.AskedSince, p.Tries = Asking, tx.Now(), 0
	}
	return nil
}

// refused reports an error by which a kind of goods says no, as against one of the ledger.
func refused(err error) bool {
	if _, ok := errors.AsType[*goods.SoldOut](err); ok {
		return true
	}
	if _, ok := errors.AsType[*goods.Taken](err); ok {
		return true
	}
	if _, ok := errors.AsType[*goods.Away](err); ok {
		return true
	}
	if _, ok := errors.AsType[*goods.Unread](err); ok {
		return true
	}
	_, ok := errors.AsType[*goods.BadInput](err)
	return ok
}

// certificate is the signed form of a settled purchase.
func (t *Till) certificate(p *Purchase) (attest.Certificate, error) {
	c := attest.Certificate{
		CertID: p.CertID, Item: p.Item, PatronNumber: p.Number, Date: p.Date, Name: p.Inputs["agent_name"],
		Note: p.Made.Note, Win: p.Made.Win, Tag: p.Made.Tag, Attests: p.Made.Attests,
		MadeBy: t.cfg.Site.Of(p.Content).Config.Keeper, PaidUSDC: usdc(p.Amount), Asset: p.Payment.Asset,
		Network: p.Payment.Network, Payer: p.Payment.Payer, SettlementTx: p.Tx(), Purpose: p.Made.Purpose,
		Saw: p.Made.Saw, FromTheStore: t.cfg.BaseURL,
	}
	if p.Account != nil {
		p.Account.certify(&c, ProtocolTrade)
		return c, nil
	}
	r, err := t.railOf(p)
	if err != nil {
		return c, err
	}
	c.SettledVia = p.Protocol + " " + r.Info().Via
	if p.Tip > 0 {
		c.TipUSDC = usdc(p.Tip)
	}
	if p.Spent != nil {
		c.SettledVia, c.SettlementTx = p.Protocol+" voucher", "" // a deposit pays for nothing yet
	} else if p.Proof.ByOther {
		c.SettledVia = p.Protocol + " sent by another"
	}
	if p.Agent != "" {
		c.SettledVia += ", signed by " + p.Agent
	}
	return c, nil
}

func usdc(atomic int64) string { return content.FormatUSDC(atomic) }

// Delivery is what a purchase delivered, as it is kept with it and given to its buyer, byte for
// byte: a repeat differs in what follows IdempotentReplay alone.
type Delivery struct {
	Message     string          `json:"message"`
	ItemID      string          `json:"item_id"`
	Deliverable json.RawMessage `json:"deliverable"` // goods.Schema describes it
	// FileURL is where the holder of the status token fetches what is a file.
	FileURL   string    `json:"file_url,omitempty"`
	PaidUSDC  string    `json:"paid_usdc"`
	TipUSDC   string    `json:"tip_usdc"`
	*Numbered           // nil for what mints nothing
	*Ordered            // nil for what the keeper has no hand in
	Artifact  *Beside   `json:"artifact,omitempty"` // what is signed beside the certificate
	*Minted             // nil for what mints nothing, or not yet
	Held      *HeldView `json:"held,omitempty"` // where the money is that was not taken yet
	Receipt   string    `json:"receipt"`        // compact JWS; "" while the money is held
	// DeliveryReceipt binds what stands before it (attest.Delivery), a compact JWS; "" in what was
	// kept before there were any.
	DeliveryReceipt string   `json:"delivery_receipt,omitempty"`
	Recovery        Recovery `json:"recovery"`
	Replayed
}

// Numbered is what stands in a delivery from the settlement on, also while it is promised (M7).
type Numbered struct {
	PatronNumber int64 `json:"patron_number"`
}

// Minted is what stands in a delivery that makes its buyer a patron.
type Minted struct {
	CertID      string             `json:"cert_id"`
	BadgeURL    string             `json:"badge_url"`
	Certificate attest.Certificate `json:"certificate"`
	attest.Proof
	VerifyURL string `json:"verify_url"`
}

// Replayed is how a delivery ends. Its first member is false in the delivery that is kept, and has
// no others beside it.
type Replayed struct {
	IdempotentReplay bool   `json:"idempotent_replay"`
	FirstServedAt    string `json:"first_served_at,omitempty"`
	// ChargedNow is there, and false, on a repeat: the request charged nothing. ToBuyAnother says
	// how a second one is bought.
	ChargedNow   *bool  `json:"charged_now,omitempty"`
	ToBuyAnother string `json:"to_buy_another,omitempty"`
}

// Recovery is how a buyer comes back to a purchase. The token is private to the buyer.
type Recovery struct {
	PurchaseID  string `json:"purchase_id"`
	StatusToken string `json:"status_token"`
	StatusURL   string `json:"status_url"`
}

// Recovery is the way back to a purchase.
func (t *Till) Recovery(id string) Recovery {
	return Recovery{id, t.statusToken(id), t.cfg.BaseURL + "/api/purchase-status/" + id}
}

// CertRecord is cert/<cert_id>: what verify answers from. It does not say whose purchase it was
// beyond what the certificate says.
type CertRecord struct {
	Purchase    string             `json:"purchase"`
	Certificate attest.Certificate `json:"certificate"`
	Proof       attest.Proof       `json:"proof"`
	Nicer       bool               `json:"nicer,omitzero"`
	Pass        string             `json:"pass,omitzero"` // whose badge is the nicer one while it is current
	Reversed    bool               `json:"reversed,omitzero"`
	ReversedOn  string             `json:"reversed_on,omitzero"`
	Week        string             `json:"week,omitzero"` // ISO, of the delivery: whose tree it stands in
}

// deliver: settled → delivered, or promised. The signature and the answer are made before the
// transaction and stored in it; the first commit wins, and only after it may the answer leave (M7).
func (t *Till) deliver(ctx context.Context, p *Purchase) (*Purchase, error) {
	if p.State == SettledLate {
		return t.deliverLate(ctx, p)
	}
	if p.Held != nil && p.Held.Ended == "" {
		return t.hold(ctx, p)
	}
	o, k, err := t.order(p)
	if err != nil {
		return nil, err
	}
	if !k.Later || p.Held != nil {
		return t.handOver(ctx, p, Settled)
	}
	d, key, err := t.delivery(p)
	if err != nil {
		return nil, err
	}
	signed, _, err := t.besideIt(p, k, key, d)
	if err != nil {
		return nil, err
	}
	body, err := t.deliveryBody(p, d)
	if err != nil {
		return nil, err
	}
	if p.CertID != "" { // its number is told already
		if err := t.cfg.HighWater.Keep(p.HighMark()); err != nil {
			return nil, fmt.Errorf("keeping the high-water mark: %w", err)
		}
	}
	return t.advance(ctx, p.ID, arrow{[]State{Settled}, "promised"}, func(tx ledger.Tx, p *Purchase) error {
		if k.Promise != nil {
			if err := k.Promise(t.maker(p), tx, o, p.Made); err != nil {
				return err
			}
		}
		p.State, p.DeliveredAt, p.Tries, p.body = Promised, tx.Now().Truncate(time.Second), 0, body
		return errors.Join(tx.Set(ledger.BodyKey(p.ID), body), keepArtifact(tx, signed))
	})
}

// Fulfil completes what was promised: promised → delivered. It is an error for a purchase that
// stands elsewhere.
func (t *Till) Fulfil(ctx context.Context, id string, made *goods.Made) error {
	p, err := t.load(ctx, id)
	if err != nil {
		return err
	}
	if p.State != Promised {
		return fmt.Errorf("till: purchase %s is %s, not promised", id, p.State)
	}
	p.Made = made
	_, err = t.handOver(ctx, p, Promised)
	return err
}

// delivery is what is handed over for a purchase, but for what it mints, and the key that signs it.
func (t *Till) delivery(p *Purchase) (*Delivery, *attest.Key, error) {
	offer, err := t.offerOf(p)
	if err != nil {
		return nil, nil, err
	}
	key, err := t.key(p.KID)
	if err != nil {
		return nil, nil, err
	}
	d := &Delivery{Message: p.Made.Message, ItemID: p.Item, Deliverable: p.Made.Deliverable, PaidUSDC: p.paidUSDC(),
		TipUSDC: usdc(p.Tip), Recovery: t.Recovery(p.ID)}
	if p.Number > 0 {
		d.Numbered = &Numbered{p.Number}
	}
	file, err := goods.FileOf(p.Made)
	if err != nil {
		return nil, nil, err
	}
	if file != nil {
		d.FileURL = d.Recovery.StatusURL + "/file"
	}
	if p.Account != nil {
		return d, key, nil
	}
	d.Receipt, err = attest.SignReceipt(key, t.KeyURL(key), attest.Receipt{
		Version: 1, Network: p.Payment.Network, ResourceURL: t.cfg.BaseURL + offer.Path, Payer: p.Payment.Payer,
		IssuedAt: p.SettledAt().Unix(), Transaction: p.paidIn(),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("signing the receipt of %s: %w", p.ID, err)
	}
	return d, key, nil
}

// mint signs the certificate of a purchase. crossRef names what is signed beside it.
func (t *Till) mint(p *Purchase, key *attest.Key, crossRef string) (*Minted, error) {
	cert, err := t.certificate(p)
	if err != nil {
		return nil, err
	}
	cert.CrossRef = crossRef
	signed, err := cert.Sign(key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", p.ID, err)
	}
	return &Minted{CertID: p.CertID, BadgeURL: t.cfg.BaseURL + "/badges/" +
		strconv.FormatInt(p.Number, 10) + ".svg",
		Certificate: cert, Proof: signed.Proof, VerifyURL: t.cfg.BaseURL + "/api/verify/" + p.CertID}, nil
}

// handOver: settled or promised → delivered.
func (t *Till) handOver(ctx context.Context, p *Purchase, from State) (*Purchase, error) {
	d, key, err := t.delivery(p)
	if err != nil {
		return nil, err
	}
	o, k, err := t.order(p)
	if err != nil {
		return nil, err
	}
	signed, crossRef, err := t.besideIt(p, k, key, d)
	if err != nil {
		return nil, err
	}
	if p.CertID != "" {
		if d.Minted, err = t.mint(p, key, crossRef); err != nil {
			return nil, err
		}
	}
	body, err := t.deliveryBody(p, d)
	if err != nil {
		return nil, err
	}
	mark := p.HighMark()
	mark.Pool, mark.Entry, mark.Word, mark.Jar = o.Good.Pool, p.Entry, p.Word, p.Made.Number
	if p.CertID != "" || p.Entry != "" || p.Word != "" || p.Spent != nil {
		if err := t.cfg.HighWater.Keep(mark); err != nil {
			return nil, fmt.Errorf("keeping the high-water mark: %w", err)
		}
	}
	made := p.Made
	return t.advance(ctx, p.ID, arrow{[]State{from}, "delivered"}, func(tx ledger.Tx, p *Purchase) error {
		err := errors.Join(tx.Set(ledger.BodyKey(p.ID), body), keepArtifact(tx, signed), takeCharge(tx, p))
		if err != nil {
			return err
		}
		if d.Minted != nil {
			rec := CertRecord{Purchase: p.ID, Certificate: d.Certificate, Proof: d.Minted.Proof,
				Nicer: goods.NicerBadge(o.Good.Kind)}
			if signed != nil && signed.Class == attest.ClassPass {
				rec.Pass = signed.ID
			}
			var err error
			if rec.Week, err = feed.Certified(tx, rec.Proof.SignedPayload); err != nil {
				return err
			}
			if err := errors.Join(
				ledger.SetJSON(tx, ledger.CertKey(p.CertID), rec),
				tx.Set(ledger.PatronKey(p.Number), []byte(p.CertID)),
			); err != nil {
				return err
			}
		}
		if k.Complete != nil {
			if err := k.Complete(t.maker(p), tx, o, made); err != nil {
				return err
			}
		}
		p.Made, p.State, p.DeliveredAt, p.Tries, p.body = made, Delivered, tx.Now().Truncate(time.Second), 0, body
		return nil
	})
}

// deliverLate makes the good that the late money is for, then goes on as if it had come in time.
func (t *Till) deliverLate(ctx context.Context, p *Purchase) (*Purchase, error) {
	o, k, err := t.order(p)
	if err != nil {
		return nil, err
	}
	made, err := k.Make(ctx, t.maker(p), o)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		t.cfg.Log.Error("goods could not be made for late money", "purchase", p.ID, "item", p.Item, "err", err)
		return t.advance(ctx, p.ID, arrow{[]State{SettledLate}, "refund_owed"}, func(tx ledger.Tx, p *Purchase) error {
			if err := t.release(tx, p); err != nil {
				return err
			}
			p.State, p.Reason, p.Tries = RefundOwed, "goods_not_made", 0
			return nil
		})
	}
	certID := attest.NewID(prefixCert)
	kid := t.signer().KID()
	return t.advance(ctx, p.ID, arrow{[]State{SettledLate}, "settled"}, func(tx ledger.Tx, p *Purchase) error {
		p.Made, p.State = made, Settled
		return t.number(tx, p, certID, kid)
	})
}

// body is the answer that was kept for a purchase. Nobody may write over it.
func (t *Till) body(p *Purchase) ([]byte, error) {
	if p.body != nil {
		return p.body, nil
	}
	ctx, cancel := ledgerContext(context.Background())
	defer cancel()
	var body []byte
	err := t.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		body, err = tx.Get(ledger.BodyKey(p.ID))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("answer of %s: %w", p.ID, err)
	}
	return body, nil
}
