package till

import (
	"context"
	"encoding/json"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

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
