package ledgertest

import (
	"context"
	"errors"
	"fmt"

	"store.example/agentstore/dynamic/ledger"
)

// checkVersion wants another version after each Update that stored something, and the same while
// nothing is. It has nothing to say of an engine without.
func checkVersion(ctx context.Context, open func() ledger.DB) error {
	db, ok := open().(ledger.Versioned)
	if !ok {
		return nil
	}
	seen := map[uint64]int{}
	for i := range 50 {
		err := db.Update(ctx, func(tx ledger.Tx) error { return tx.Set([]byte{byte(i % 3)}, []byte{byte(i)}) })
		if err != nil {
			return err
		}
		v, ok := db.Version()
		if !ok || v == 0 {
			return fmt.Errorf("version %d, %t of an open ledger", v, ok)
		}
		if at, was := seen[v]; was {
			return fmt.Errorf("updates %d and %d have the version %d", at, i, v)
		}
		seen[v] = i
		stop := errors.New("stored nothing")
		if err := db.Update(ctx, func(ledger.Tx) error { return stop }); !errors.Is(err, stop) {
			return err
		}
		err = db.View(ctx, func(tx ledger.Tx) error { _, err := tx.Get([]byte{byte(i % 3)}); return err })
		if err != nil {
			return err
		}
		if again, ok := db.Version(); again != v || !ok {
			return fmt.Errorf("version %d, %t where nothing was stored since %d", again, ok, v)
		}
	}
	return nil
}
