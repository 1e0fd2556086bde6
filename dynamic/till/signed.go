package till

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// What a kind of goods leaves beside the certificate is signed with the purchase: by the key that
// was fixed when it settled, in the transaction that answers. The certificate names it by the
// digest of its signed bytes.

// SignedArtifact is artifact/<id>/<purchase>: what was signed beside a certificate.
type SignedArtifact struct {
	ID       string       `json:"id"`
	Class    string       `json:"class"` // one of package attest
	Purchase string       `json:"purchase"`
	Item     string       `json:"item"`
	Proof    attest.Proof `json:"proof"`
}

// Beside is what stands in a delivery of the artifact beside its certificate.
type Beside struct {
	Class     string          `json:"artifact_class"`
	ID        string          `json:"id"`
	URL       string          `json:"url"`
	VerifyURL string          `json:"verify_url"`
	Record    json.RawMessage `json:"record"` // the signed payload as an object
	attest.Proof
}

// Ordered is what stands in a delivery of work that the keeper does.
type Ordered struct {
	OrderID     string `json:"order_id"`
	OrderURL    string `json:"order_url"`
	Status      string `json:"status"` // queued | completed
	WindowHours int    `json:"window_hours"`
	// NextCheckAfter is when the order is first worth reading; "" for one that is completed.
	NextCheckAfter string `json:"next_check_after,omitempty"`
}

// signArtifact signs what a purchase leaves beside its certificate, and gives the digest by which
// the certificate names it; nil and "" for a kind that leaves nothing.
func (t *Till) signArtifact(p *Purchase, key *attest.Key) (*SignedArtifact, string, error) {
	o, k, err := t.order(p)
	if err != nil || k.Artifact == nil {
		return nil, "", err
	}
	payload, err := k.Artifact.Payload(o, p.Made, goods.Facts{ID: p.Artifact, PatronNumber: p.Number, Date: p.Date,
		PaidUSDC: p.paidUSDC(), Keeper: t.cfg.Site.Of(p.Content).Config.Keeper, Store: t.cfg.BaseURL})
	if err != nil {
		return nil, "", fmt.Errorf("the %s of %s: %w", k.Artifact.Class, p.ID, err)
	}
	proof, err := attest.SignPayload(key, payload)
	if err == nil {
		_, err = attest.ParseArtifact([]byte(proof.SignedPayload)) // what cannot be read back is not issued
	}
	if err != nil {
		return nil, "", fmt.Errorf("signing the %s of %s: %w", k.Artifact.Class, p.ID, err)
	}
	signed := &SignedArtifact{ID: p.Artifact, Class: k.Artifact.Class, Purchase: p.ID, Item: p.Item, Proof: proof}
	return signed, signed.Digest(), nil
}

// besideIt signs what a purchase leaves beside its certificate and tells of it in its delivery.
func (t *Till) besideIt(p *Purchase, k goods.Kind, key *attest.Key, d *Delivery) (*SignedArtifact, string, error) {
	a, digest, err := t.signArtifact(p, key)
	if a == nil || err != nil {
		return nil, "", err
	}
	d.Artifact = &Beside{Class: a.Class, ID: a.ID, URL: t.cfg.BaseURL + k.Artifact.Path + a.ID,
		VerifyURL: t.cfg.BaseURL + "/api/verify/" + a.ID, Record: json.RawMessage(a.Proof.SignedPayload),
		Proof: a.Proof}
	if a.Class == attest.ClassOrder {
		var o attest.Order
		if err := json.Unmarshal([]byte(a.Proof.SignedPayload), &o); err != nil {
			return nil, "", err
		}
		d.Ordered = &Ordered{OrderID: a.ID, OrderURL: d.Artifact.URL, Status: o.Status, WindowHours: o.WindowHours}
		if o.Status == OrderQueued {
			ordered, err := time.Parse(time.RFC3339, p.Date)
			if err != nil {
				return nil, "", err
			}
			d.Ordered.NextCheckAfter = ordered.Add(PollEvery).UTC().Format(time.RFC3339)
		}
	}
	return a, digest, nil
}

// keepArtifact stores what was signed, with what finds it.
func keepArtifact(tx ledger.Tx, a *SignedArtifact) error {
	if a == nil {
		return nil
	}
	err := ledger.SetJSON(tx, ledger.ArtifactKey(a.ID, a.Purchase), a)
	if a.Class == attest.ClassOrder {
		err = errors.Join(err, ledger.SetJSON(tx, ledger.OrderKey(a.ID), creditOf{a.Purchase}))
	}
	return err
}

// Issued is an artifact with the state of the purchase that it was signed for.
type Issued struct {
	SignedArtifact
	Reversed bool // the chain took its payment back
	Of       *Purchase
}

// Artifacts are all that was signed under an id: none for an unknown id, several for what was
// extended.
func (t *Till) Artifacts(ctx context.Context, id string) ([]Issued, error) {
	var all []Issued
	err := t.view(ctx, func(tx ledger.Tx) error {
		all = nil
		for a, err := range ledger.Values[SignedArtifact](tx.Scan(ledger.Artifacts(id))) {
			if err != nil {
				return err
			}
			p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(a.Purchase))
			if err != nil {
				return err
			}
			all = append(all, Issued{a, p.State == Reversed, &p})
		}
		return nil
	})
	if err != nil {
		return nil, ledgerDown(err)
	}
	return all, nil
}

// currentPass reports whether a pass is current at a time: whether one of its periods that are
// signed, and were not taken back, has not ended.
func currentPass(all []Issued, at time.Time) bool {
	now := at.UTC().Format(time.RFC3339)
	for _, a := range all {
		var p attest.Pass
		if err := json.Unmarshal([]byte(a.Proof.SignedPayload), &p); err == nil && !a.Reversed && now < p.Ends {
			return true
		}
	}
	return false
}

// usdcDecimals are those of every amount of a till, which content.FormatUSDC writes.
const usdcDecimals = 6

// bindAnswer writes a delivery as it is kept, with the receipt that binds what stands before it.
func (t *Till) bindAnswer(p *Purchase, d *Delivery) ([]byte, error) {
	body, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return putDelivery(body, func(bound []byte) (string, error) { return t.Bind(p, "application/json", bound) })
}

// Bind signs that a body answered the payment of a purchase (attest.Delivery), by the key that is
// in force now. Of JSON it is the part that is bound.
func (t *Till) Bind(p *Purchase, contentType string, body []byte) (string, error) {
	offer, err := t.offerOf(p)
	if err != nil {
		return "", err
	}
	key := t.signer()
	d := attest.Delivery{Amount: fmt.Sprint(p.Amount), Asset: p.Payment.Asset, Decimals: usdcDecimals,
		IssuedAt: t.cfg.Now().Unix(), Network: p.Payment.Network, Payer: p.Payment.Payer,
		ResourceURL: t.cfg.BaseURL + offer.Path, SettledAt: p.SettledAt().Unix(), Transaction: p.paidIn()}
	if t.cfg.KeyPlace != nil {
		d.KeyLog = t.cfg.KeyPlace(key.KID())
	}
	d.Bind(contentType, body)
	jws, err := attest.SignDelivery(key, t.KeyURL(key), d)
	if err != nil {
		return "", fmt.Errorf("signing what was delivered for %s: %w", p.ID, err)
	}
	return jws, nil
}

// Certificate finds a certificate by its id, with the word that its purchase retired, "" for none.
// ok is false where there is no such certificate.
func (t *Till) Certificate(ctx context.Context, id string) (rec CertRecord, word string, ok bool, err error) {
	err = t.view(ctx, func(tx ledger.Tx) (err error) {
		word = ""
		if rec, err = ledger.GetJSON[CertRecord](tx, ledger.CertKey(id)); err != nil {
			return err
		}
		p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(rec.Purchase))
		if errors.Is(err, errNotFound) {
			return nil // what was not bought here left nothing behind
		}
		word = p.Word
		return err
	})
	return certificateRead(rec, word, err)
}

// Patron finds the certificate of a patron number.
func (t *Till) Patron(ctx context.Context, n int64) (rec CertRecord, ok bool, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		id, err := tx.Get(ledger.PatronKey(n))
		if err != nil {
			return err
		}
		rec, err = ledger.GetJSON[CertRecord](tx, ledger.CertKey(string(id)))
		return err
	})
	rec, _, ok, err = certificateRead(rec, "", err)
	if rec.Pass != "" && err == nil {
		var all []Issued
		all, err = t.Artifacts(ctx, rec.Pass)
		rec.Nicer = currentPass(all, t.cfg.Now())
	}
	return rec, ok, err
}

func certificateRead(rec CertRecord, word string, err error) (CertRecord, string, bool, error) {
	if errors.Is(err, errNotFound) {
		return CertRecord{}, "", false, nil
	}
	if err != nil {
		return CertRecord{}, "", false, ledgerDown(err)
	}
	return rec, word, true, nil
}

// putDelivery puts a delivery receipt behind the part of an answer that it binds. The answer has
// nothing behind that part but members that may stand there, the first of them recovery.
func putDelivery(answer []byte, sign func(bound []byte) (string, error)) ([]byte, error) {
	at := bytes.LastIndex(answer, []byte(`,"recovery":`))
	if at < 0 {
		return nil, errors.New("binding an answer: it has no recovery")
	}
	jws, err := sign(append(bytes.Clone(answer[:at]), '}'))
	if err != nil {
		return nil, err
	}
	return slices.Concat(answer[:at], fmt.Appendf(nil, `,%q:%q`, attest.DeliveryMember, jws), answer[at:]), nil
}
