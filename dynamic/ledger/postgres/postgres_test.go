package postgres

import (
	"testing"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
)

func open(t testing.TB, dsn string) *DB {
	t.Helper()
	db, err := Open(t.Context(), dsn, Options{AllowNotDurable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledger.DB { return open(t, ledgertest.Postgres(t)) })
}
