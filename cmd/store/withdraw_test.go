package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// TestAKeeperWithdrawsAText sells a stranger's word onto the record and has the keeper take it off
// again while the store runs: the digest stays, the text is gone from the record and from the
// pages, and the record verifies.
func TestAKeeperWithdrawsAText(t *testing.T) {
	s := newSoldHere(t)
	const word = "zyzzyvalike"
	t.Chdir(s.dir)
	cfg, err := shop.Load("store.toml")
	if err != nil {
		t.Fatal(err)
	}
	db, err := shop.OpenLedger(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx ledger.Tx) error {
		return feed.Observe(tx, record.Observation{Kind: record.ObservationRetiredWord, Word: &record.Said{Text: word},
			Epitaph: "It rests."})
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	// holding are the files below a folder that hold a text.
	holding := func(text string, folders ...string) (out []string) {
		for _, folder := range folders {
			err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() {
					return err
				}
				raw, err := os.ReadFile(name)
				if err == nil && strings.Contains(string(raw), text) {
					out = append(out, name)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	tree := func() string {
		at, err := filepath.EvalSymlinks(filepath.Join(s.dir, "public", "current"))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	s.build()
	files, err := filepath.Glob("corpus/words/*.json")
	if err != nil || len(files) != 1 || len(holding(word, tree())) == 0 {
		t.Fatalf("words %q, %v, pages %q", files, err, holding(word, tree()))
	}
	digest := strings.TrimSuffix(filepath.Base(files[0]), ".json")
	s.serve()

	if code, said := s.store("keeper", "withdraw", strings.Repeat("ab", 32), "-reason", "asked for"); code != 1 ||
		!strings.Contains(said, "no public text and no evidence of the record has this digest; hint:") {
		t.Errorf("an unknown digest: exit code %d: %s", code, said)
	}
	withdraw := func(flags ...string) (out feed.Withdrawal) {
		t.Helper()
		code, said := s.store(append([]string{"keeper", "withdraw", digest, "-json", "-reason",
			"its author asked for it"}, flags...)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, said)
		}
		line := said[strings.Index(said, "{"):]
		if err := json.Unmarshal([]byte(line), &out); err != nil {
			t.Fatalf("%s: %v", said, err)
		}
		return out
	}
	if out := withdraw("--dry-run"); !out.DryRun || out.Kind != record.ObservationRetiredWord || out.WithdrawnBy != 0 ||
		out.Already {
		t.Errorf("a rehearsal: %+v", out)
	}
	first := withdraw()
	if first.DryRun || first.Already || first.WithdrawnBy == 0 || first.Observation == 0 {
		t.Errorf("withdrawn: %+v", first)
	}
	if again := withdraw(); !again.Already || again.WithdrawnBy != first.WithdrawnBy {
		t.Errorf("once more: %+v", again)
	}
	s.build()
	if left := holding(word, "corpus", tree()); len(left) > 0 {
		t.Errorf("the text still stands in %q", left)
	}
	if len(holding("[withdrawn]", tree())) == 0 {
		t.Error("no page says that it was withdrawn")
	}
	if len(holding(digest, "corpus/observations")) != 2 {
		t.Error("the digest does not stand in the word's observation and in its withdrawal")
	}
	if code, said := s.store("verify", ".", "-no-judge"); code != 0 || strings.Count(said, ": verified") != 2 {
		t.Errorf("store verify of the shop: exit code %d: %s", code, said)
	}
}
