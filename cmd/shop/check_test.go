package shop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/verify"
)

// What is missing is named with its key and path, and with how it comes to be there.
func TestWhatIsMissingIsNamed(t *testing.T) {
	dir := t.TempDir()
	nowhere := filepath.Join(dir, "nowhere")
	for name, c := range map[string]struct {
		load func() error
		want []string
	}{
		"content": {func() error { _, err := LoadSite(&Config{Content: nowhere}); return err },
			[]string{"content: ", nowhere, "store init"}},
		"stock": {func() error { _, err := LoadSite(&Config{Stock: nowhere}); return err },
			[]string{"stock: ", nowhere}},
		"ring": {func() error { _, err := Ring(&Config{Keys: KeysConfig{Ring: nowhere}}); return err },
			[]string{"keys.ring", nowhere, "store key init"}},
		"identity": {func() error { _, err := IdentityKey(&Config{Keys: KeysConfig{Identity: nowhere}}); return err },
			[]string{"keys.identity", nowhere, "store key init"}},
		"log": {func() error {
			_, err := LogKey(&Config{Keys: KeysConfig{Log: nowhere}}, attest.SpecimenRing())
			return err
		}, []string{"keys.log", nowhere, "store key init"}},
		"a port": {func() error {
			_, err := Local(&Config{BaseURL: "http://127.0.0.1:4020", Listen: "127.0.0.1"})
			return err
		}, []string{`listen = "127.0.0.1"`, "a port"}},
	} {
		err := c.load()
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error = %v, want one with %q", name, err, want)
			}
		}
	}
}

// A store that was tried on loopback and then gets its domain has a record of another name: that is
// said with the way out, and the way out leads there.
func TestTheRecordOfATrialIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	c := observingConfig(dir)
	c.BaseURL = "http://127.0.0.1:4020"
	db, err := OpenLedger(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := retire(t.Context(), db, 3); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := ExportObservations(t.Context(), c); err != nil || n < 3 {
		t.Fatalf("%d observations at loopback, %v", n, err)
	}
	c.BaseURL = "https://shop.example"
	_, err = ExportObservations(t.Context(), c)
	for _, want := range []string{`"127.0.0.1:4020/corpus"`, `"shop.example/corpus"`, "hint: ", "mv " + c.Record} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the move: %v, want %q", err, want)
		}
	}
	if err := os.Rename(c.Record, c.Record+".before"); err != nil {
		t.Fatal(err)
	}
	if n, err := ExportObservations(t.Context(), c); err != nil || n < 3 {
		t.Fatalf("%d observations at the domain, %v", n, err)
	}
	report, err := verify.Record(t.Context(), os.DirFS(c.Record), attest.SpecimenRing(),
		verify.RecordOptions{Judge: rejudge.Batteries{}})
	if err != nil || len(report.Problems) > 0 || report.Origin != "shop.example/corpus" {
		t.Errorf("the new record is of %s: %v, %v", report.Origin, report.Problems, err)
	}
}
