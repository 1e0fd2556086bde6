package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/dynamic/ledger"
)

// oldLedgers are ledgers that older programs wrote, each with a certificate that is in it. Their
// folders are named after the commits: one run of the devnet with its purchase of hello, begun with
// -record and ended by SIGTERM. The keys of the run are not kept.
var oldLedgers = []struct{ commit, cert string }{
	{"779ab99a", "cert_fuwb2egefz5w62iq5ong"},
}

// oldLedger unpacks a ledger into a site.
func oldLedger(t *testing.T, commit, to string) {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", commit, "ledger.bolt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	flat, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(flat)
	if err == nil {
		err = os.WriteFile(to, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// oldSites are sites that older programs built, by their commits: what of a shop that sells hello
// its next build needs, which is the tree's manifest and some of its pages, the memory of what was
// rendered, the sources, and keys that were made for it.
var oldSites = []string{"779ab99a"}

// oldSite unpacks a site over another one.
func oldSite(t *testing.T, commit, dir string) {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", commit, "site.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	flat, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(flat); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, filepath.FromSlash(h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(at, 0o700)
		case tar.TypeSymlink:
			err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Symlink(h.Linkname, at))
		default:
			var b []byte
			if b, err = io.ReadAll(files); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, b, 0o600))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUpgradeOfATree: what an older program published is served as it is, prices and pages, until
// the next build, whose tree is whole.
func TestUpgradeOfATree(t *testing.T) {
	for _, commit := range oldSites {
		s := newSoldHere(t)
		if err := os.RemoveAll(filepath.Join(s.dir, "public")); err != nil {
			t.Fatal(err)
		}
		oldSite(t, commit, s.dir)
		s.write("store.toml", func(text string) string {
			return strings.Replace(text, s.base, "http://127.0.0.1:4020", 1)
		})
		s.price("7")
		former := filepath.Join(s.dir, "public", "current")
		want, err := os.ReadFile(filepath.Join(former, "menu", "hello", "index.html"))
		if err != nil || !bytes.Contains(want, []byte("The former shop")) {
			t.Fatalf("%s: the page is %s, %v", commit, want, err)
		}
		was, err := os.Readlink(former)
		if err != nil {
			t.Fatal(err)
		}

		s.serve()
		if got := s.get("/menu/hello", 200, "Accept", "text/html"); got != string(want) {
			t.Errorf("%s: served is %s", commit, got)
		}
		if menu, page, till := s.prices(); menu != "0.5" || page != "0.5" || till != "0.5" {
			t.Errorf("%s: hello costs %s on the menu, %s on its page and %s at the till", commit, menu, page, till)
		}
		s.kill()

		s.build()
		if now, err := os.Readlink(former); err != nil || now == was {
			t.Errorf("%s: the pointer leads to %s, %v", commit, now, err)
		}
		if code, said := s.store("verify", "public/current"); code != 0 {
			t.Errorf("%s: store verify: exit code %d: %s", commit, code, said)
		}
		s.serve()
		if menu, page, till := s.prices(); menu != "7" || page != "7" || till != "7" {
			t.Errorf("%s, built anew: hello costs %s, %s and %s", commit, menu, page, till)
		}
		s.kill()
	}
}

// backward is what a refused tree's keeper is told to do.
const backward = "build with the newer release again, or, to stay with this one, run `store build -full`"

// TestDowngradeOfATree: a tree that a newer release has built is refused, and stays, until it is
// asked to be made anew.
func TestDowngradeOfATree(t *testing.T) {
	s := newSoldHere(t)
	s.build()
	current := filepath.Join(s.dir, "public", "current")
	was, err := os.Readlink(current)
	if err != nil {
		t.Fatal(err)
	}
	newer := map[string][2]string{
		"public/record": {"store-build-record/3", "store-build-record/4"},
		"public/current/.well-known/manifest.json": {"store-manifest/v1", "store-manifest/v2"}}
	for name, marks := range newer {
		swap(name, marks[0], marks[1])(s)
		code, said := s.store("build")
		if now, err := os.Readlink(current); code != 1 || err != nil || now != was {
			t.Errorf("%s: store build: exit code %d, the pointer leads to %s, %v", name, code, now, err)
		}
		for _, says := range []string{filepath.Base(name), marks[1], "up to " + marks[0],
			strings.ReplaceAll(backward, "`", "")} {
			if !strings.Contains(said, says) {
				t.Errorf("%s: store build does not say %q: %s", name, says, said)
			}
		}
		swap(name, marks[1], marks[0])(s)
	}
	for name, marks := range newer {
		swap(name, marks[0], marks[1])(s)
	}
	if code, said := s.store("build", "-full"); code != 0 {
		t.Errorf("store build -full: exit code %d: %s", code, said)
	}
	s.build()
}

// TestDowngradeOfARecord: a record that a newer release has written is refused by whoever would
// write into it or answer from it, and nothing is kept of the attempt.
func TestDowngradeOfARecord(t *testing.T) {
	s := newSoldHere(t)
	s.build()
	s.write("corpus/manifest.json", func(string) string { return `{"format":"store-manifest/v2"}` + "\n" })
	s.price("7") // so that a build would keep other sources
	kept := func() (all []string) {
		for _, dir := range []string{"corpus", "var"} {
			err := filepath.WalkDir(filepath.Join(s.dir, dir), func(path string, d fs.DirEntry, err error) error {
				if !d.IsDir() && !strings.HasPrefix(d.Name(), "ledger.bolt") {
					all = append(all, path)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	before := kept()
	for _, verb := range []string{"build", "serve"} {
		code, said := s.store(verb)
		if code != 1 || !strings.Contains(said, "store-manifest/v2") || !strings.Contains(said,
			"hint: start the newer release again, or restore the backup of the record") {
			t.Errorf("store %s: exit code %d: %s", verb, code, said)
		}
	}
	if now := kept(); !slices.Equal(now, before) {
		t.Errorf("of the attempts there is left: %q, before %q", now, before)
	}
}

// TestUpgradeNotes: the page for keepers says what an upgrade asks for, and what the refusal of a
// newer ledger says.
func TestUpgradeNotes(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "content", "pages", "running", "upgrade.md"))
	if err != nil {
		t.Fatal(err)
	}
	notes := string(b)
	for _, says := range []string{"Make a backup", "start the newer release again, or restore the backup that was " +
		"made before the upgrade into an empty ledger", backward} {
		if !strings.Contains(notes, says) {
			t.Errorf("the notes do not say %q: %s", says, notes)
		}
	}
}

// TestUpgradeAndDowngrade: what an older program has sold is there, served and backed up, and a
// ledger of a newer program is refused by every verb, with what to do.
func TestUpgradeAndDowngrade(t *testing.T) {
	for _, old := range oldLedgers {
		s := newSoldHere(t)
		file := filepath.Join(s.dir, "var", "ledger.bolt")
		oldLedger(t, old.commit, file)
		s.build()
		s.serve()
		if body := s.get("/api/verify/"+old.cert, 200); !strings.Contains(body, `"item":"hello"`) &&
			!strings.Contains(body, `\"item\":\"hello\"`) {
			t.Errorf("%s: the certificate is %s", old.commit, body)
		}
		s.kill()
		t.Chdir(s.dir)
		for _, c := range []struct{ args, says string }{
			{"keeper find " + old.cert, old.cert},
			{"keeper sales -config store.toml", "hello"},
			{"backup old.backup", "verified"},
		} {
			if code, said := s.store(strings.Fields(c.args)...); code != 0 || !strings.Contains(said, c.says) {
				t.Errorf("%s: store %s: exit code %d: %s", old.commit, c.args, code, said)
			}
		}

		cfg, err := shop.Load("store.toml")
		if err != nil {
			t.Fatal(err)
		}
		db, err := shop.OpenLedger(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), func(tx ledger.Tx) error {
			return tx.Set(ledger.MetaKey("format"), []byte(strconv.Itoa(ledger.Format+1)))
		})
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{"serve", "keeper sales", "backup newer.backup"} {
			if code, said := s.store(strings.Fields(args)...); code != 1 ||
				!strings.Contains(said, "ledger.bolt") || !strings.Contains(said, "start the newer release again, or "+
				"restore the backup") {
				t.Errorf("of a newer release: store %s: exit code %d: %s", args, code, said)
			}
		}
	}
}
