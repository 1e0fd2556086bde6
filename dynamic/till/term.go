package till

import (
	"context"
	"time"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// CloseWatch completes the order of a term with what it came to. One that is completed already is
// left as it is.
func (t *Till) CloseWatch(ctx context.Context, purchase string, s goods.WatchSummary, at time.Time) error {
	return t.close(ctx, purchase, func(promise *goods.Made) (*goods.Made, error) {
		return goods.WatchClosed(promise, s, at)
	})
}

// CloseLaunch completes the order of a purchase at a door with what came of it. One that is
// completed already is left as it is.
func (t *Till) CloseLaunch(ctx context.Context, purchase string, out goods.LaunchOutcome, at time.Time) error {
	return t.close(ctx, purchase, func(promise *goods.Made) (*goods.Made, error) {
		return goods.LaunchClosed(promise, out, at)
	})
}

func (t *Till) close(ctx context.Context, purchase string, closed func(*goods.Made) (*goods.Made, error)) error {
	p, err := t.load(ctx, purchase)
	if err != nil || p.State == Delivered {
		return err
	}
	made, err := closed(p.Made)
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
