package ledgertest_test

import (
	"testing"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/ledger/ledgertest"
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
