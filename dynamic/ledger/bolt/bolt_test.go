package bolt

import (
	"context"
	"path/filepath"
	"testing"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/ledgertest"
)

// open returns a ledger in a new file, which is checked when the test ends.
func open(t testing.TB) *DB {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "ledger"))
}

func openAt(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		checkFile(t, path)
	})
	return db
}

func checkFile(t testing.TB, path string) {
	t.Helper()
	ctx := context.Background() // the test's own is over when it cleans up
	db, err := Open(ctx, path)
	if err != nil {
		t.Error(err)
		return
	}
	if err := db.Check(ctx); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledger.DB { return open(t) })
}
