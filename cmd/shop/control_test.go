package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/ledger"
)

// keep does a keeper's verb, and gives the lines of its answer.
func keep(t *testing.T, c *Config, words ...string) ([]map[string]any, error) {
	t.Helper()
	v, ok := VerbNamed(words[0])
	if !ok {
		t.Fatalf("no verb %s", words[0])
	}
	k, flags, out := v.Call(), flag.NewFlagSet("", flag.ContinueOnError), bytes.Buffer{}
	flags.SetOutput(io.Discard)
	err := k.Read(flags, append(words[1:len(words):len(words)], "-json"))
	if err == nil {
		err = k.Do(t.Context(), c, slog.New(slog.DiscardHandler), &out)
	}
	var list []map[string]any
	for line := range strings.Lines(out.String()) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %q: %v", words, line, err)
		}
		list = append(list, v)
	}
	return list, err
}

// A store that is served is asked whether it may be reopened, and reopened, through the process
// that holds its ledger.
func TestReopenGoesThroughTheServingProcess(t *testing.T) {
	c := &Config{Ledger: "bolt:" + filepath.Join(t.TempDir(), "ledger.bolt")}
	db, err := OpenLedger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(t.Context(), ledger.Shut); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- (&Shop{DB: db}).serveControl(ctx, c.Ledger) }()
	for ok := false; !ok && ctx.Err() == nil; { // until it listens
		ok, _ = askServer(ctx, c.Ledger, "POST /keeper/reopen?dry=true",
			strings.NewReader("{}"), io.Discard)
	}
	for verb, want := range map[string]string{"withdraw": "name the text by its SHA-256", "high-water": "does not know",
		"token": "does not know", "none": "does not know"} {
		if _, err := askServer(ctx, c.Ledger, "POST /keeper/"+verb, strings.NewReader("{}"),
			io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s with nothing: %v", verb, err)
		}
	}
	for _, dry := range []string{"-dry-run", "-dry-run=false"} {
		if _, err := keep(t, c, "reopen", dry); err == nil ||
			!strings.Contains(err.Error(), "not compared with the chains") {
			t.Errorf("reopen %s of what was not reconciled = %v", dry, err)
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
	if _, err := keep(t, c, "reopen", "-dry-run"); err != nil || !closed() {
		t.Errorf("Reopen(dry) = %v, closed %v", err, closed())
	}
	if _, err := keep(t, c, "reopen"); err != nil || closed() {
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
	errs := map[string]error{"backup": Backup(t.Context(), c, io.Discard)}
	for _, verb := range []string{"owed", "reopen", "reopen -dry-run", "high-water rebuild", "letters"} {
		_, errs[verb] = keep(t, c, strings.Fields(verb)...)
	}
	for name, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "there is no ledger") {
			t.Errorf("%s = %v", name, err)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a ledger was made")
	}
}
