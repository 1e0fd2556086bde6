package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/till"
)

// closedStall is the configuration of a shop on a chain of a test that nobody serves.
func closedStall(t *testing.T) *shop.Config {
	t.Helper()
	return closedOn(t, chaintest.New(t, chaintest.Options{}))
}

// closedOn is closedStall on the chain of a net.
func closedOn(t *testing.T, n *chaintest.Net) *shop.Config {
	t.Helper()
	w := &world{relayer: person{n.Relayer.Private}, chains: []running{{n.Chain.Chain, n.Chain.Network}}}
	if err := fresh(&w.payTo); err != nil {
		t.Fatal(err)
	}
	cfg, err := w.prepare(filepath.Join(t.TempDir(), "state"), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Public, cfg.Record, cfg.Twins = "", "", ""
	return cfg
}

// inLedger changes the ledger of a shop that nobody serves.
func inLedger(t *testing.T, cfg *shop.Config, f func(ledger.Tx) error) {
	t.Helper()
	db, err := shop.OpenLedger(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(t.Context(), f), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// A new store starts without ceremony. One that has sold does not start without its high-water
// file, says what to do, and starts once that is done; a file that another process has locked is
// refused too.
func TestLostHighWaterStopsTheStart(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cfg := closedStall(t)
	var level slog.LevelVar
	start := func() error {
		s, err := shop.Open(ctx, cfg, shop.Options{Log: discard(), Level: &level})
		if err == nil {
			err = s.Close()
		}
		return err
	}
	if err := start(); err != nil {
		t.Fatalf("a new store: %v", err)
	}
	inLedger(t, cfg, func(tx ledger.Tx) error { return ledger.Raise(tx, till.CounterPatron, 3) })
	if err := start(); err != nil {
		t.Fatalf("with its file: %v", err)
	}
	other, err := restore.OpenHighWater(cfg.HighWater, attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	if err := start(); !errors.Is(err, restore.ErrHighWaterInUse) {
		t.Errorf("on the file of another process: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(cfg.HighWater); err != nil {
		t.Fatal(err)
	}
	if err := start(); err == nil || !strings.Contains(err.Error(), "store keeper high-water rebuild") ||
		!strings.Contains(err.Error(), cfg.HighWater) {
		t.Fatalf("without its file: %v", err)
	}
	if _, err := os.Stat(cfg.HighWater); err == nil {
		t.Fatal("the start that was refused made an empty file")
	}
	for _, dry := range []bool{true, false} {
		made, err := keep(t, cfg, "high-water", "rebuild", fmt.Sprintf("-dry-run=%v", dry))
		if err != nil || !strings.Contains(made, `"patron":3`) || !strings.Contains(made, cfg.HighWater) {
			t.Fatalf("rebuilding, dry %v: %s, %v", dry, made, err)
		}
		if _, err := os.Stat(cfg.HighWater); (err == nil) == dry {
			t.Fatalf("rebuilding, dry %v: the file is there: %v", dry, err == nil)
		}
	}
	if err := start(); err != nil {
		t.Errorf("with the file rebuilt: %v", err)
	}
}

// keep does a keeper's verb, and gives what it writes.
func keep(t *testing.T, cfg *shop.Config, words ...string) (string, error) {
	t.Helper()
	v, ok := shop.VerbNamed(words[0])
	if !ok {
		t.Fatalf("there is no verb %s", words[0])
	}
	k, flags, out := v.Call(), flag.NewFlagSet("", flag.ContinueOnError), bytes.Buffer{}
	flags.SetOutput(io.Discard)
	err := k.Read(flags, append(words[1:len(words):len(words)], "-json"))
	if err == nil {
		err = k.Do(t.Context(), cfg, discard(), &out)
	}
	return out.String(), err
}

// A restore reads the high-water files of all processes, tells lines that it cannot read, and the
// store opens by network when nothing that was sent before can land.
func TestKeeperRestores(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cfg := closedStall(t)
	key, err := shop.IdentityKey(cfg)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{cfg.HighWater, cfg.HighWater + ".2"}
	for i, f := range files {
		h, err := restore.OpenHighWater(f, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(h.Keep(till.HighMark{Patron: int64(10 + i), Jar: int64(20 - i), Item: "hello"}),
			h.Close()); err != nil {
			t.Fatal(err)
		}
	}
	inLedger(t, cfg, ledger.Shut)
	if _, err := keep(t, cfg, "reopen"); err == nil ||
		errors.Is(err, restore.ErrNotYet) {
		t.Errorf("reopened before it was compared with the chains: %v", err)
	}
	whole, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[1], append(whole, "torn\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := shop.Reconcile(ctx, cfg, files[1:], false, discard()); err == nil ||
		!strings.Contains(err.Error(), "1 of 3 lines cannot be read: line 3") ||
		!strings.Contains(err.Error(), "-skip-unreadable") {
		t.Errorf("a line that cannot be read: %v", err)
	}
	if _, err := shop.Reconcile(ctx, cfg, []string{cfg.HighWater + ".3"}, false, discard()); err == nil ||
		!strings.Contains(err.Error(), "there is no high-water file") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := shop.Reconcile(ctx, cfg, files[1:], true, discard()); err != nil {
		t.Fatal(err)
	}
	inLedger(t, cfg, func(tx ledger.Tx) error {
		if n, err := ledger.Last(tx, till.CounterPatron); err != nil || n != 11 {
			t.Errorf("after both files the last number is %d, %v, want 11", n, err)
		}
		if n, err := ledger.Last(tx, goods.JarCounter); err != nil || n != 20 {
			t.Errorf("after both files the last jar is %d, %v, want 20", n, err)
		}
		return nil
	})
	out, err := keep(t, cfg, "reopen")
	if !errors.Is(err, restore.ErrNotYet) || !strings.Contains(out, `"open":false,"wait_until":"`) {
		t.Errorf("reopened at once: %v, %s", err, out)
	}
	if out, err := keep(t, cfg, "owed"); err != nil || out != "" {
		t.Errorf("owed: %v, %s", err, out)
	}
}

// A drill says what a restore would come to, and changes nothing: the ledger that is newer than the
// backup stays, and is refused to the restore itself.
func TestRestoreDrill(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cfg := closedStall(t)
	key, err := shop.IdentityKey(cfg)
	if err != nil {
		t.Fatal(err)
	}
	number := func(n int64) func(ledger.Tx) error {
		return func(tx ledger.Tx) error { return ledger.Raise(tx, till.CounterPatron, n) }
	}
	inLedger(t, cfg, number(3))
	var backup bytes.Buffer
	if err := shop.Backup(ctx, cfg, &backup); err != nil {
		t.Fatal(err)
	}
	inLedger(t, cfg, number(7)) // sold since
	h, err := restore.OpenHighWater(cfg.HighWater, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Keep(till.HighMark{Patron: 7, Jar: 2, Item: "hello"}), h.Close()); err != nil {
		t.Fatal(err)
	}
	marks, err := os.ReadFile(cfg.HighWater)
	if err != nil {
		t.Fatal(err)
	}
	d, err := shop.Drill(ctx, cfg, shop.Trial{Backup: bytes.NewReader(backup.Bytes())},
		discard())
	want := []shop.DrilledCounter{{Name: till.CounterPatron, Backup: 3, Then: 7},
		{Name: goods.JarCounter, Backup: 0, Then: 2}}
	if err != nil || !d.Occupied || len(d.Networks) != len(cfg.Networks) || !slices.Equal(d.Counters, want) {
		t.Errorf("drilled: %+v, %v", d, err)
	}
	if err := shop.Restore(ctx, cfg, bytes.NewReader(backup.Bytes())); !errors.Is(err, ledger.ErrNotEmpty) {
		t.Errorf("an older ledger over a newer one: %v", err)
	}
	inLedger(t, cfg, func(tx ledger.Tx) error {
		n, err := ledger.Last(tx, till.CounterPatron)
		if _, shut := tx.Get(ledger.ClosedKey()); n != 7 || !errors.Is(shut, ledger.ErrNotFound) {
			t.Errorf("after the drill the ledger has number %d, closed: %v", n, shut)
		}
		return err
	})
	if now, err := os.ReadFile(cfg.HighWater); err != nil || !bytes.Equal(now, marks) {
		t.Errorf("the drill changed the high-water file: %v", err)
	}
	if err := os.Remove(cfg.HighWater); err != nil {
		t.Fatal(err)
	}
	if _, err := shop.Drill(ctx, cfg, shop.Trial{Backup: bytes.NewReader(backup.Bytes())},
		discard()); err == nil ||
		!strings.Contains(err.Error(), "there is no high-water file") {
		t.Errorf("without its high-water file: %v", err)
	}
}
