package till

import (
	"context"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

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
