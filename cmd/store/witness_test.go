package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tlog"
)

// TestWhatOthersAnswer runs the verbs that ask witnesses and calendars, with some that give
// nothing.
func TestWhatOthersAnswer(t *testing.T) {
	dir := t.TempDir()
	witness := tlog.Witness{Name: "w.example", Public: attest.SpecimenKeyFor(attest.PurposeGit).Public()}
	config := fmt.Sprintf(`base_url = "http://127.0.0.1:4020"
ledger = "bolt:ledger"
record = "record"
[keys]
identity = "specimen"
log = "specimen"
ring = "specimen"
secret = "secret"
[timestamps]
calendars = ["https://one.example.com", "https://two.example.com"]
[[witness]]
url = "https://w.example.com"
key = %q
`, witness.Key())
	file := filepath.Join(dir, "store.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := shop.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := shop.RecordWriter(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-11-20T00:00:00Z",
		Kind: record.ObservationRetiredWord, Word: &record.Said{Text: "synergy"}}); err != nil {
		t.Fatal(err)
	}
	status, body := 0, ""
	s := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/x.tlog.size")
		rw.WriteHeader(status)
		fmt.Fprint(rw, body)
	}))
	t.Cleanup(s.Close)
	to := s.Listener.Addr().String()
	far := farStreet{PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})),
		Doors: map[string]string{"w.example.com": to, "one.example.com": to, "two.example.com": to}}
	for name, c := range map[string]struct {
		run    func(context.Context, *call, func(*fetch.Config)) error
		status int
		body   string
		no     bool
		says   string
	}{
		"a witness of another log": {witnessReaching, http.StatusNotFound, "", true,
			"cosigned by 0 of 1 witnesses\nw.example: asking witness w.example: it does not know this log"},
		"a split view": {witnessReaching, http.StatusConflict, "7\n", true, "w.example: SPLIT VIEW: "},
		"calendars that are down": {stampReaching, http.StatusServiceUnavailable, "", false,
			"0 digests handed in, 0 proofs upgraded, 0 block headers added, 1 still pending\nproblem: anchor 1: "},
	} {
		status, body = c.status, c.body
		var out bytes.Buffer
		run := &call{flags: flag.NewFlagSet("store", flag.ContinueOnError), stdout: &out, stderr: t.Output(),
			args: []string{"-config", file}}
		run.logger = newLogger(t.Output(), &run.level, true)
		if err := c.run(t.Context(), run, far.reach); errors.Is(err, errNo) != c.no || !c.no && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: it says %q", name, out.String())
		}
	}
}
