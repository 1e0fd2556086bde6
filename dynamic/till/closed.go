package till

import (
	"context"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// Closed are the networks of a restored ledger that were not opened yet, and when it was restored.
func (t *Till) Closed(ctx context.Context) (networks []string, since time.Time, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		networks = nil
		for _, r := range t.cfg.Rails {
			shut, err := isClosed(tx, r.Info().Network)
			if err != nil {
				return err
			}
			if !shut {
				continue
			}
			networks = append(networks, r.Info().Network)
			at, err := tx.Get(ledger.ClosedKey())
			if err != nil {
				return err
			}
			since, _ = time.Parse(time.RFC3339, string(at)) // a mark of another form is closed all the same
		}
		return nil
	})
	return networks, since, err
}
