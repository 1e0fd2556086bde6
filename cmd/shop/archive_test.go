package shop

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/hostindex"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/visitors"
	"store.example/agentstore/generator/pages"
	"store.example/agentstore/templates"
)

// openCounter opens the instruments of a shop over its record, without rails.
func openCounter(t *testing.T, c *Config) (*Shop, http.Handler, error) {
	t.Helper()
	s := &Shop{Config: *c, DB: ledger.NewMem(ledger.MemOptions{})}
	keys, err := s.Keys()
	if err != nil {
		t.Fatal(err)
	}
	site, err := LoadSite(c)
	if err != nil {
		t.Fatal(err)
	}
	chrome, err := pages.Chrome(site, s.Ring)
	if err != nil {
		t.Fatal(err)
	}
	s.Site, s.chrome = site, func() *templates.Chrome { return chrome }
	budgets, err := budget.New(s.DB, dynamic.Budgets())
	if err != nil {
		t.Fatal(err)
	}
	if s.archive, err = s.openArchive(t.Context()); err != nil {
		return nil, nil, err
	}
	d, err := s.openDesk(keys[0], make([]byte, 32), budgets, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := dynamic.New(dynamic.Config{Rows: d.Rows(), BaseURL: c.BaseURL, Budgets: budgets})
	if err != nil {
		t.Fatal(err)
	}
	return s, h, nil
}

// TestServesFromTheRecord opens the instruments over a record that grows to twelve rounds.
func TestServesFromTheRecord(t *testing.T) {
	dir := t.TempDir()
	c := observingConfig(dir)
	w, err := RecordWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	badge := func(h http.Handler, host string) string {
		a := httptest.NewRecorder()
		h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/badge/check.svg?url=https://"+host+"/", nil))
		return a.Body.String()
	}
	_, empty, err := openCounter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := badge(empty, "standing.example"); !strings.Contains(got, "no reading") {
		t.Errorf("without a round: %s", got)
	}
	corpustest.Append(t, w, 3, corpustest.Weeks-1)
	if _, _, err := openCounter(t, c); err == nil || !strings.Contains(err.Error(), "view") {
		t.Errorf("rounds, and nowhere to put their view: %v", err)
	}
	c.Twins = filepath.Join(dir, "var", "twins")
	s, h, err := openCounter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hostindex.Open(filepath.Join(dir, "var", "view")); err != nil {
		t.Errorf("the view is not beside the twins: %v", err)
	}
	if got := badge(h, "broken.example"); !strings.Contains(got, "ready (v2)") || strings.Contains(got, "not ready") {
		t.Errorf("after eleven rounds: %s", got)
	}
	// A round more, and the running shop says so when its view is built.
	corpustest.Append(t, w, 3, corpustest.Weeks)
	if err := BuildView(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := s.archive.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got := badge(h, "broken.example"); !strings.Contains(got, "not ready (v2)") {
		t.Errorf("after twelve rounds: %s", got)
	}
	if row, taken, ok, err := lastRow(s.archive)("broken.example"); err != nil || !ok ||
		row.Sequence != corpustest.Weeks || row.Verdict != record.VerdictNotReady || taken == "" {
		t.Errorf("the last row of broken.example: %+v, taken at %q, %v, %v", row, taken, ok, err)
	}
	if _, _, ok, err := lastRow(s.archive)("nobody.example"); ok || err != nil {
		t.Errorf("a host that no round named: %v, %v", ok, err)
	}
	if len(s.runs) != 1 {
		t.Errorf("%d loops follow the record", len(s.runs))
	}
}

// openRecorded opens a shop over an empty record, with the writer of the record.
func openRecorded(t *testing.T) (*Shop, *seal.Writer) {
	t.Helper()
	c := observingConfig(t.TempDir())
	c.Twins = filepath.Join(t.TempDir(), "twins")
	w, err := RecordWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := openCounter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

// look builds the view of the record anew and has the shop see it.
func (s *Shop) look(t *testing.T) {
	t.Helper()
	if err := errors.Join(BuildView(t.Context(), &s.Config), s.archive.Refresh()); err != nil {
		t.Fatal(err)
	}
}

func TestArtifactsAreFoundOnTheRecord(t *testing.T) {
	s, w := openRecorded(t)
	find := recorded(s.archive)
	if got, err := find(counter.Recorded{Word: "synergy"}); got != nil || err != nil {
		t.Errorf("before the first round: %+v, %v", got, err)
	}
	corpustest.Append(t, w, 1, corpustest.Weeks)
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-12-01T00:00:00Z",
		Kind: record.ObservationRetiredWord, Word: &record.Said{Text: "synergy"}}); err != nil {
		t.Fatal(err)
	}
	s.look(t)
	for what, kind := range map[counter.Recorded]string{{Word: "synergy"}: record.ObservationRetiredWord,
		{Attests: "sha256:" + strings.Repeat("ab", 32)}: record.ObservationPaidRefresh} {
		got, err := find(what)
		if err != nil || got == nil || got.Kind != kind {
			t.Fatalf("%+v: %+v, %v", what, got, err)
		}
		o, err := record.VerifyObservation([]byte(got.Entry), w.Ring)
		if err != nil || fmt.Sprintf("observation_%d", o.Number) != got.ID || o.At != got.At {
			t.Errorf("%+v: %+v, %v", what, o, err)
		}
		proof, err := tlog.ParseProof([]byte(got.Proof))
		if err != nil {
			t.Fatal(err)
		}
		if head, err := proof.Verify([]byte(got.Entry), w.Ring); err != nil || head.Size != got.LogSize ||
			proof.Index != got.Leaf {
			t.Errorf("%+v: proved under %d at %d: %v", what, head.Size, proof.Index, err)
		}
	}
	for _, what := range []counter.Recorded{{}, {Word: "Synergy"}, {Attests: "sha256:" + strings.Repeat("cd", 32)},
		{Attests: strings.Repeat("ab", 32)}} {
		if got, err := find(what); got != nil || err != nil {
			t.Errorf("%+v: %+v, %v", what, got, err)
		}
	}
	for id, class := range map[string]string{"round_12": "round", "row_3": "row", "observation_5": "observation"} {
		v, err := sealed(s.archive, id)
		if err != nil || v == nil || !v.Valid || v.ArtifactClass != class || v.SignedBy == nil ||
			v.Inclusion.ID != id || v.Report["format"] != "store-"+class+"/v1" {
			t.Fatalf("%s: %+v, %v", id, v, err)
		}
		proof, err := tlog.ParseProof([]byte(v.Inclusion.Proof))
		if err != nil {
			t.Fatal(err)
		}
		if head, err := proof.Verify([]byte(v.Inclusion.Entry), w.Ring); err != nil ||
			head.Size != v.Inclusion.LogSize {
			t.Errorf("%s: proved under %d, says %d: %v", id, head.Size, v.Inclusion.LogSize, err)
		}
		if covers := v.Proof.SignatureCovers; covers[0] != "format" || covers[len(covers)-1] != "kid" ||
			slices.Contains(covers, "signature") {
			t.Errorf("%s: covers %v", id, covers)
		}
		page, err := s.recordPage(id, *v)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"<strong class=\"verdict good\">valid</strong>", v.Proof.Signature.String(),
			"<svg", v.Proof.SignatureCovers[0], "Leaf of the log"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("the page of %s lacks %q", id, want)
			}
		}
		if bad := *v; true {
			bad.Valid = false
			if page, err := s.recordPage(id, bad); err != nil || strings.Contains(string(page), "verdict good") {
				t.Errorf("the page of %s calls what does not verify good: %v", id, err)
			}
		}
		if !attest.Verify(ed25519.PublicKey(v.Proof.PublicKey), []byte(v.Proof.SignedPayload), v.Proof.Signature) {
			t.Errorf("%s: the signature does not fit", id)
		}
	}
	if v, err := sealed(s.archive, "round_13"); v != nil || err != nil {
		t.Errorf("a round that is not there: %+v, %v", v, err)
	}
	const bounties = 1
	if n := len((&Shop{}).classes()); recorded(nil) != nil || n != len(counter.Issued)+len(visitors.Classes)+bounties {
		t.Errorf("a store without a record asks for one, or has other classes: %d", n)
	}
}

// TestHostsThatAreNeverAsked: why a host is not walked is told as the client refuses it, the
// store's own name included.
func TestHostsThatAreNeverAsked(t *testing.T) {
	c := observingConfig(t.TempDir())
	s, _, err := openCounter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimPrefix(strings.TrimPrefix(c.BaseURL, "https://"), "http://")
	for host, never := range map[string]bool{own: true, "10.0.0.1": true, "localhost": true, "a..b": true,
		"-a.example": true, "shop.example": false, "xn--bcher-kva.example": false} {
		if reason := s.refused(host); (reason != "") != never {
			t.Errorf("%s: %q, never asked %v", host, reason, never)
		}
	}
}
