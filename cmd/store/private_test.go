package main

import (
	"bytes"
	"context"
	"flag"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/street"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/cmd/verify/kit"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/judge"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/generator"
)

// insideStreet is a street in a company's own network. The guard is left as it is configured: the
// resolver alone is the street's, and the dialer behind the guard.
type insideStreet struct{ farStreet }

func (s insideStreet) reach(cfg *fetch.Config) {
	cfg.Resolver, cfg.Dialer, cfg.Timeout = s, s, 30*time.Second
}

func (s insideStreet) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	at, err := s.farStreet.LookupNetIP(ctx, network, host)
	if err != nil {
		return nil, err
	}
	b := at[0].As4()
	b[0], b[1] = 10, 20
	return []netip.Addr{netip.AddrFrom4(b)}, nil
}

// TestPrivateSite walks a company's own doors, which nothing else reaches, builds the company's
// site from the round, and tries to make it public in every way there is.
func TestPrivateSite(t *testing.T) {
	s, err := street.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	inside := insideStreet{farStreet{Doors: map[string]string{}}}
	for _, d := range s.Doors() {
		inside.Doors[d.Host] = s.Listen(d)
	}
	dir := t.TempDir()
	if _, err := shop.MakeKeys(filepath.Join(dir, "keys"), "2026-11-01"); err != nil {
		t.Fatal(err)
	}
	const public = `base_url = "https://store.example"
listen = "127.0.0.1:0"
ledger = "bolt:ledger"
record = "record"
public = "public"
twins = "twins"
[keys]
identity = "keys/identity.pem"
ring = "keys/ring.json"
secret = "keys/till.secret"
log = "keys/log.pem"
git = "keys/git.pem"
[census]
list = "doors.txt"
`
	doors := "https://ready-many." + street.Domain + "/paid\nhttps://ready-dual." + street.Domain + ":8443/paid\n"
	for name, text := range map[string]string{"public.toml": public, "doors.txt": doors, "ca.pem": string(s.PEM()),
		"private.toml": public +
			"[instruments]\nprivate_networks = [\"10.20.0.0/16\"]\nprivate_ports = [8443]\nprivate_ca = \"ca.pem\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	census := func(config string) (string, error) {
		var said bytes.Buffer
		c := &call{flags: flag.NewFlagSet("store census", flag.ContinueOnError), stdout: &said, stderr: &said,
			args: []string{"-config", config}}
		c.logger = newLogger(&said, &c.level, false)
		err := censusWith(t.Context(), c, shop.CensusOptions{Reach: inside.reach})
		return said.String(), err
	}
	store := func(args ...string) (int, string) {
		var said bytes.Buffer
		return run(t.Context(), args, &said, &said), said.String()
	}

	if said, err := census("private.toml"); err != nil || !strings.Contains(said, "sealed: 2 rows") {
		t.Fatalf("store census: %v: %s", err, said)
	}
	cfg, err := shop.Load("private.toml")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := shop.Ring(cfg)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := record.Open(os.DirFS("record"), ring)
	if err != nil || !rec.Private() {
		t.Fatalf("the record is not private: %v", err)
	}
	for row, err := range rec.Rows(1) {
		if err != nil || row.Verdict != record.VerdictReady {
			t.Errorf("%s: %s %s, %v", row.Host, row.Verdict, row.Reason, err)
		}
	}
	var said bytes.Buffer
	if code := kit.Run(t.Context(), "verify", judge.Batteries{}, []string{"record"}, &said, &said); code != 0 ||
		!strings.Contains(said.String(), "It is PRIVATE") {
		t.Errorf("verify: exit code %d: %s", code, &said)
	}

	// No public site is made of it, and no tree is left.
	if code, said := store("build", "-config", "public.toml"); code == 0 ||
		!strings.Contains(said, generator.ErrPrivateRecord.Error()) || !strings.Contains(said, "hint: ") {
		t.Errorf("store build as a public site: exit code %d: %s", code, said)
	}
	if left, err := filepath.Glob("public/trees/*"); err != nil || len(left) > 0 {
		t.Errorf("the refused build left %v, %v", left, err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "--bare", "-b", "main",
		"clone.git").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	publish := func(config string) {
		t.Helper()
		code, said := store("publish", "-config", config, "clone.git")
		if code == 0 || !strings.Contains(said, generator.ErrPrivateRecord.Error()) ||
			!strings.Contains(said, "hint: ") {
			t.Errorf("store publish -config %s: exit code %d: %s", config, code, said)
		}
	}
	// Nor does the record go out beside a tree that tells nothing of it.
	if err := os.WriteFile("bare.toml", []byte(strings.Replace(public, "record = \"record\"\n", "", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := store("build", "-config", "bare.toml"); code != 0 {
		t.Fatalf("store build without a record: exit code %d: %s", code, said)
	}
	publish("private.toml")
	publish("public.toml")

	if code, said := store("build", "-config", "private.toml"); code != 0 {
		t.Fatalf("store build: exit code %d: %s", code, said)
	}
	for name, want := range map[string]string{"corpus.json": `"private": true`, "corpus/index.json": `"private": true`,
		"corpus/index.html": "not for publication",
		"corpus.md":         "not for publication", "corpus/trajectory.json": `"private": true`} {
		if b, err := os.ReadFile(filepath.Join("public", "current", name)); err != nil ||
			!strings.Contains(string(b), want) {
			t.Errorf("%s does not say that it is private: %v", name, err)
		}
	}

	// Nothing that was made of it is licensed to anybody. The names of defects are the store's own,
	// and so is the paper for scorers, which begins with the word that none of it holds here.
	own := regexp.MustCompile(`^(defects[./]|openapi\.(json|md)$|api\.md$|docs/api/|scorers[./])`)
	licences := 0
	for name, body := range filesBelow(t, filepath.Join("public", "current")+"/") {
		if strings.Contains(body, derive.PrivateLicense) {
			licences++
		}
		if !own.MatchString(name) && (strings.Contains(body, "CC-BY") || strings.Contains(body, "creativecommons")) {
			t.Errorf("%s names the licence of a public record", name)
		}
		if name == "scorers.md" && !strings.Contains(body, "not for publication") {
			t.Errorf("%s does not say that the record is private", name)
		}
	}
	host := filepath.Join("public", "current", filepath.FromSlash(derive.HostPath("ready-many."+street.Domain)))
	for _, name := range []string{"index.html", "index.md"} {
		if b, err := os.ReadFile(filepath.Join(host, name)); err != nil ||
			!strings.Contains(string(b), derive.PrivateLicense) {
			t.Errorf("the host's %s does not say that it is private: %v", name, err)
		}
	}
	if licences < 10 {
		t.Errorf("%d files name no licence, want those of every view", licences)
	}

	// The tree is not published either, also by a configuration that names no record.
	publish("private.toml")
	publish("bare.toml")
	objects, err := exec.CommandContext(t.Context(), "git", "--git-dir", "clone.git", "count-objects", "-v").Output()
	if err != nil || !strings.HasPrefix(string(objects), "count: 0\n") ||
		!strings.Contains(string(objects), "in-pack: 0\n") {
		t.Errorf("a refused publication left objects: %s, %v", objects, err)
	}

	// A public census, of a record of its own, does not come into the company's network.
	visits := s.Visits("ready-many." + street.Domain)
	other := strings.NewReplacer(`"record"`, `"other"`, `"bolt:ledger"`, `"bolt:other-ledger"`).Replace(public)
	if err := os.WriteFile("other.toml", []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := census("other.toml"); err != nil || !strings.Contains(said, "sealed: 1 rows") {
		t.Errorf("store census of a public record: %v: %s", err, said)
	}
	if now := s.Visits("ready-many." + street.Domain); now != visits {
		t.Errorf("the company's doors were walked by a public census: %d visits, then %d", visits, now)
	}
}
