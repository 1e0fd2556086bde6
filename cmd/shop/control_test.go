package shop

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// A store that is served is asked whether it may be reopened, and reopened, through the process
// that holds its ledger.
func TestReopenGoesThroughTheServingProcess(t *testing.T) {
	c := &Config{Ledger: "bolt:" + filepath.Join(t.TempDir(), "ledger.bolt")}
	db, err := OpenLedger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(t.Context(), till.Shut); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- (&Shop{DB: db}).serveControl(ctx, c.Ledger) }()
	for ok := false; !ok && ctx.Err() == nil; { // until it listens
		ok, _ = askServer(ctx, c.Ledger, http.MethodPost, "/reopen?dry", nil, io.Discard)
	}
	for _, dry := range []bool{true, false} {
		if err := Reopen(ctx, c, till.ReopenOptions{Dry: dry}, slog.Default(), io.Discard); err == nil ||
			!strings.Contains(err.Error(), "not compared with the chains") {
			t.Errorf("Reopen(dry %v) of what was not reconciled = %v", dry, err)
		}
	}
	if err := db.Update(ctx,
		func(tx ledger.Tx) error { return tx.Set(ledger.MetaKey("reconciled"), []byte("1")) }); err != nil {
		t.Fatal(err)
	}
	closed := func() bool {
		err := db.View(ctx, func(tx ledger.Tx) error { _, err := tx.Get(ledger.ClosedKey()); return err })
		return err == nil
	}
	if err := Reopen(ctx, c, till.ReopenOptions{Dry: true}, slog.Default(), io.Discard); err != nil || !closed() {
		t.Errorf("Reopen(dry) = %v, closed %v", err, closed())
	}
	if err := Reopen(ctx, c, till.ReopenOptions{}, slog.Default(), io.Discard); err != nil || closed() {
		t.Errorf("Reopen = %v, closed %v", err, closed())
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// What needs a ledger that is there makes no empty one in its place: a backup of nothing would look
// like one.
func TestNoLedgerIsMadeToBeRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.bolt")
	c := &Config{Ledger: "bolt:" + file}
	for name, err := range map[string]error{
		"Backup": Backup(t.Context(), c, io.Discard), "Owed": Owed(t.Context(), c, slog.Default(), io.Discard),
		"Reopen":      Reopen(t.Context(), c, till.ReopenOptions{}, slog.Default(), io.Discard),
		"Reopen, dry": Reopen(t.Context(), c, till.ReopenOptions{Dry: true}, slog.Default(), io.Discard),
	} {
		if err == nil || !strings.Contains(err.Error(), "there is no ledger") {
			t.Errorf("%s = %v", name, err)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a ledger was made")
	}
}
