package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/tlog"
)

// TestLongPublishGivesMirrorsTheLog publishes a site with a record to a repository and a mirror:
// the mirror holds the log then, and its signature stands beside the head. One that is not
// configured is refused before anything is published, and one that refuses makes the answer no.
func TestLongPublishGivesMirrorsTheLog(t *testing.T) {
	const origin = "127.0.0.1:4020/corpus"
	log := attest.SpecimenKeyFor(attest.PurposeLog)
	m := corpustest.NewMirror("mirror.example/m", origin, log.Public())
	s := httptest.NewTLSServer(m)
	t.Cleanup(s.Close)
	far := farStreet{PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})),
		Doors: map[string]string{"mirror.example.com": s.Listener.Addr().String()}}
	dir := t.TempDir()
	file, place := filepath.Join(dir, "store.toml"), filepath.Join(dir, "publication")
	if err := os.WriteFile(file, fmt.Appendf(nil, `base_url = "http://127.0.0.1:4020"
ledger = "bolt:ledger"
record = "record"
public = "public"
sources = "sources"
[keys]
identity = "specimen"
log = "specimen"
ring = "specimen"
secret = "secret"
[[witness]]
url = "https://mirror.example.com"
key = %q
mirror = true
`, m.Key()), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := shop.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := shop.RecordWriter(cfg)
	if err != nil {
		t.Fatal(err)
	}
	recordtest.Observe(t, writer, "synergy")
	if err := writer.Cover(t.Context(), filetree.Meta{BaseURL: "http://127.0.0.1:4020",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	git := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "main", place)
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(do func(context.Context, *call) error, args ...string) (string, error) {
		var out bytes.Buffer
		c := &call{flags: flag.NewFlagSet("store", flag.ContinueOnError), stdout: &out, stderr: t.Output(),
			args: append([]string{"-config", file}, args...)}
		c.logger = newLogger(t.Output(), &c.level, true)
		err := do(t.Context(), c)
		return out.String(), err
	}
	publish := func(ctx context.Context, c *call) error { return publishReaching(ctx, c, far.reach) }
	if out, err := run(runBuild); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := run(publish, "-mirror", "https://other.example", place); !errors.Is(err, errUsage) ||
		!strings.Contains(err.Error(), "mirror = true") {
		t.Errorf("a mirror that is not configured: %v: %s", err, out)
	}
	out, err := run(publish, "-mirror", "https://mirror.example.com", place)
	if err != nil || !strings.Contains(out, ": commit ") || !strings.Contains(out, "mirror.example/m: signed at ") {
		t.Fatalf("%v: %s", err, out)
	}
	head := recordtest.Open(t, writer).Log.Head()
	lines, err := os.ReadFile(filepath.Join(writer.Dir, "log", "cosignatures", fmt.Sprint(head.Size)))
	if err != nil {
		t.Fatal(err)
	}
	w, err := tlog.ParseWitness(m.Key())
	if err != nil {
		t.Fatal(err)
	}
	if by, err := tlog.Cosignatures(head, lines, []tlog.Witness{w}); err != nil || len(by) != 1 {
		t.Errorf("%v, %v", by, err)
	}
	if leaves, _ := m.Holds(); int64(leaves) != head.Size {
		t.Errorf("the mirror holds %d leaves of %d", leaves, head.Size)
	}
	s.Close() // it is away
	out, err = run(publish, "-json", "-mirror", "https://mirror.example.com", place)
	if !errors.Is(err, errNo) || strings.Count(out, "\n") != 2 {
		t.Errorf("a mirror that is away: %v: %s", err, out)
	}
}
