package main

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
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

// TestUpgradeNotes: the page for keepers says what an upgrade asks for, and what the refusal of a
// newer ledger says.
func TestUpgradeNotes(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "content", "pages", "running.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, notes, _ := strings.Cut(string(b), "\n### Upgrades\n")
	notes, _, _ = strings.Cut(notes, "\n### ")
	for _, says := range []string{"Make a backup", "start the newer release again, or restore the backup that was " +
		"made before the upgrade into an empty ledger"} {
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
