package ledgertest_test

import (
	"testing"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
)

func TestMem(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledger.DB {
		db := ledger.NewMem(ledger.MemOptions{})
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db
	})
}
