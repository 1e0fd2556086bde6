package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// TestHandoverOfTheLogKey hands the log of a site over and cuts the call off at each of its steps:
// the outgoing key signs the last head that is its own, nothing that runs signs with it behind
// that, and the same call finishes the work.
func TestHandoverOfTheLogKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	keys := filepath.Join(dir, "var", "keys")
	say := func(call string, want int) string {
		t.Helper()
		var said bytes.Buffer
		if code := run(t.Context(), strings.Fields(call), &said, &said); code != want {
			t.Fatalf("store %s: exit code %d, want %d: %s", call, code, want, &said)
		}
		return said.String()
	}
	say("init "+dir, 0)
	say("key init -on 2026-01-01 -dir "+keys, 0)
	config := filepath.Join(dir, "store.toml")
	c, err := shop.Load(config)
	if err != nil {
		t.Fatal(err)
	}
	handover := "key handover -purpose log -reason yearly -dir " + keys
	if said := say(handover+" -config "+filepath.Join(dir, "nothing.toml"), 1); !strings.Contains(said, "-config") {
		t.Errorf("without a configuration: %s", said)
	}
	before, err := shop.RecordWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	word := record.Observation{At: "2026-11-20T00:00:00Z", Kind: record.ObservationRetiredWord,
		Word: &record.Said{Text: "synergy"}}
	if _, err := before.Observe(t.Context(), word); err != nil {
		t.Fatal(err)
	}
	held := map[string][]byte{}
	for _, name := range []string{"ring.json", "log.pem"} {
		if held[name], err = os.ReadFile(filepath.Join(keys, name)); err != nil {
			t.Fatal(err)
		}
	}
	handover += " -config " + config
	say(handover, 0)
	ring, err := shop.Ring(c)
	if err != nil {
		t.Fatal(err)
	}
	if last := ring.Handovers[0].LastHead; last == nil || last.Size != 1 {
		t.Errorf("the outgoing key signs %+v", last)
	}
	if _, err := before.Observe(t.Context(), word); !errors.Is(err, seal.ErrRing) {
		t.Errorf("what still has the former ring observes: %v", err)
	}
	// Cut off before the folder of keys knew, and again behind that.
	for name, undo := range map[string][]string{"before the ring": {"ring.json", "log.pem"},
		"before the key's file": {"log.pem"}} {
		if err := os.Rename(filepath.Join(keys, "log.pem"), filepath.Join(keys, "log.pem.next")); err != nil {
			t.Fatal(err)
		}
		for _, file := range undo {
			if err := os.Remove(filepath.Join(keys, file)); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(keys, file), held[file], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		say(handover, 0)
		again, err := shop.Ring(c)
		if err != nil || len(again.Handovers) != 1 || again.Continues(ring) != nil {
			t.Errorf("cut off %s: %d handovers, %v", name, len(again.Handovers), err)
		}
	}
	now, err := shop.RecordWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := now.Observe(t.Context(), word); err != nil {
		t.Fatal(err)
	}
	if err := now.Cover(t.Context(),
		filetree.Meta{BaseURL: c.BaseURL, ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	if said := say("verify "+c.Record, 0); !strings.Contains(said, "2 observations") {
		t.Errorf("it says %s", said)
	}
}

// TestHandoverKeepsTheRecordWhole hands each key over and has the record checked as a stranger
// would: its ring has changed, and the manifest must know.
func TestHandoverKeepsTheRecordWhole(t *testing.T) {
	for _, purpose := range []string{"identity", "log"} {
		t.Run(purpose, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "site")
			keys, config, rec := filepath.Join(dir, "var", "keys"), filepath.Join(dir, "store.toml"),
				filepath.Join(dir, "corpus")
			say := func(call string) {
				t.Helper()
				var said bytes.Buffer
				if code := run(t.Context(), strings.Fields(call), &said, &said); code != 0 {
					t.Fatalf("store %s: exit code %d: %s", call, code, &said)
				}
			}
			say("init " + dir)
			say("key init -on 2026-01-01 -dir " + keys)
			c, err := shop.Load(config)
			if err != nil {
				t.Fatal(err)
			}
			w, err := shop.RecordWriter(c)
			if err != nil {
				t.Fatal(err)
			}
			word := record.Observation{At: "2026-11-20T00:00:00Z", Kind: record.ObservationRetiredWord,
				Word: &record.Said{Text: "synergy"}}
			if _, err := w.Observe(t.Context(), word); err != nil {
				t.Fatal(err)
			}
			if err := shop.CoverRecord(t.Context(), c, w); err != nil {
				t.Fatal(err)
			}
			say("verify " + rec)
			say("key handover -purpose " + purpose + " -reason yearly -dir " + keys + " -config " + config)
			say("verify " + rec)
			// The ledger that is made anew beside the record has not told of the handover, and the
			// record has.
			for range 2 {
				say("build -config " + config)
				say("verify " + rec)
				if n := handoversIn(t, c); n != 1 {
					t.Errorf("the record tells %d times of one handover", n)
				}
				if err := os.Remove(strings.TrimPrefix(c.Ledger, "bolt:")); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// handoversIn is how many key events stand in a record.
func handoversIn(t *testing.T, c *shop.Config) (n int) {
	t.Helper()
	ring, err := shop.Ring(c)
	if err != nil {
		t.Fatal(err)
	}
	all, err := record.ReadObservations(os.DirFS(c.Record), ring)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.Handover != nil {
			n++
		}
	}
	return n
}

// TestHandoverDrill: what a dry run says would be written is what the handover writes, and the dry
// run changes nothing; one that was cut off is gone on with.
func TestHandoverDrill(t *testing.T) {
	for _, purpose := range []string{"identity", "log"} {
		dir := filepath.Join(t.TempDir(), "site")
		keys := filepath.Join(dir, "var", "keys")
		say := func(call string) string {
			t.Helper()
			var said bytes.Buffer
			if code := run(t.Context(), strings.Fields(call), &said, &said); code != 0 {
				t.Fatalf("store %s: exit code %d: %s", call, code, &said)
			}
			return said.String()
		}
		say("init " + dir)
		say("key init -on 2026-01-01 -dir " + keys)
		held := func() map[string]string {
			all := map[string]string{}
			files, err := filepath.Glob(filepath.Join(keys, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				all[f] = string(b)
			}
			return all
		}
		before := held()
		handover := "key handover -purpose " + purpose + " -reason yearly -dir " + keys + " -config " +
			filepath.Join(dir, "store.toml")
		said := say(handover + " -dry-run")
		if !maps.Equal(before, held()) || !strings.Contains(said, "1 handovers, 1 retired keys") {
			t.Errorf("%s: the dry run changed something, or says %s", purpose, said)
		}
		say(handover)
		for file, now := range held() {
			if changed := before[file] != now; changed != strings.Contains(said, "would write "+file+":") {
				t.Errorf("%s: %s changed %v, and the dry run says %s", purpose, file, changed, said)
			}
		}
		cut := filepath.Join(keys, purpose+".pem.next")
		k, err := attest.Generate(rand.Reader)
		if err == nil {
			err = k.Store(cut)
		}
		if err != nil {
			t.Fatal(err)
		}
		if said := say(handover + " -dry-run"); !strings.Contains(said, "cut off, to "+k.KID()) ||
			!strings.Contains(said, "2 handovers") {
			t.Errorf("%s, cut off: %s", purpose, said)
		}
	}
}
