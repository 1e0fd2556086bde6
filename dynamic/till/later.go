package till

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// SignReport signs a report that is made for a purchase after its delivery: a slot of a watch, or
// what closes it. a says what was read, as goods.Reading.Audit gives it; the id, the patron number,
// the date and the store are set here. The key is the one in force now. It stores nothing:
// KeepReport does, in the transaction that notes why the report is the only one of its kind.
func (t *Till) SignReport(ctx context.Context, purchase string, a attest.Audit, at time.Time) (*SignedArtifact,
	error) {
	p, err := t.load(ctx, purchase)
	if err != nil {
		return nil, err
	}
	a.AuditID, a.PatronNumber, a.Date, a.FromTheStore = attest.NewID("audit_"), p.Number, at.UTC().Format(time.RFC3339),
		t.cfg.BaseURL
	return t.signFor(p, a.AuditID, a.Class, a)
}

// signFor signs what is made for a purchase after its certificate was promised, or signed.
func (t *Till) signFor(p *Purchase, id, class string, payload any) (*SignedArtifact, error) {
	if p.CertID == "" || p.State != Delivered && p.State != Promised {
		return nil, fmt.Errorf("till: purchase %s is %s: nothing is signed for it", p.ID, p.State)
	}
	proof, err := attest.SignPayload(t.signer(), payload)
	if err == nil {
		_, err = attest.ParseArtifact([]byte(proof.SignedPayload)) // what cannot be read back is not issued
	}
	if err != nil {
		return nil, fmt.Errorf("signing %s for %s: %w", id, p.ID, err)
	}
	return &SignedArtifact{ID: id, Class: class, Purchase: p.ID, Item: p.Item, Proof: proof}, nil
}

// KeepReport stores what SignReport signed: from then on it is read and verified under its id.
func KeepReport(tx ledger.Tx, a *SignedArtifact) error { return keepArtifact(tx, a) }

// Digest names what was signed as other artifacts name it: sha256: and the digest of its bytes.
func (a *SignedArtifact) Digest() string {
	sum := sha256.Sum256([]byte(a.Proof.SignedPayload))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Complete completes the order of a purchase with what became of its promise. One that is completed
// already is left as it is.
func (t *Till) Complete(ctx context.Context, purchase string, with func(promise *goods.Made) (*goods.Made,
	error)) error {
	p, err := t.load(ctx, purchase)
	if err != nil || p.State == Delivered {
		return err
	}
	made, err := with(p.Made)
	if err != nil {
		return err
	}
	return t.Fulfil(ctx, purchase, made)
}

// PromiseDigest names the signed promise of a purchase, as what follows it names it.
func PromiseDigest(tx ledger.Tx, id, purchase string) (string, error) {
	a, err := ledger.GetJSON[SignedArtifact](tx, ledger.ArtifactKey(id, purchase))
	if err != nil {
		return "", err
	}
	return a.Digest(), nil
}

// SignCheck signs what a look found that a purchase paid for, or why it was missed. c says that
// alone; what the promise says, and what it is named by, is taken from there. It stores nothing:
// KeepCheck does.
func (t *Till) SignCheck(ctx context.Context, purchase string, c attest.Look, at time.Time) (*SignedArtifact, error) {
	p, err := t.load(ctx, purchase)
	if err != nil {
		return nil, err
	}
	var promise SignedArtifact
	err = t.view(ctx, func(tx ledger.Tx) (err error) {
		promise, err = ledger.GetJSON[SignedArtifact](tx, ledger.ArtifactKey(p.Artifact, p.ID))
		return err
	})
	if err != nil {
		return nil, err
	}
	var of attest.Look
	if err := json.Unmarshal([]byte(promise.Proof.SignedPayload), &of); err != nil {
		return nil, err
	}
	of.Status, of.LookedAt, of.Missed, of.Answer = c.Status, c.LookedAt, c.Missed, c.Answer
	of.Promise, of.Date = promise.Digest(), at.UTC().Format(time.RFC3339)
	return t.signFor(p, promise.ID, promise.Class, of)
}

// KeepCheck stores what SignCheck signed beside the promise.
func KeepCheck(tx ledger.Tx, a *SignedArtifact) error {
	return ledger.SetJSON(tx, ledger.LaterKey(a.ID, a.Purchase), a)
}

// Stands reports whether what a purchase bought still stands: it was delivered, or promised, and
// the chain did not take its payment back.
func Stands(tx ledger.Tx, purchase string) (bool, error) {
	p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(purchase))
	return p.State == Delivered || p.State == Promised, err
}
