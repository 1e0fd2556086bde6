package onchaintest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/till"
)

// The line of the hour is signed as a keepsake, which verifies, and makes nobody a patron.
func TestPorchLineIsAKeepsake(t *testing.T) {
	t.Parallel()
	var asked []time.Time
	weather := func(at time.Time) content.Weather {
		asked = append(asked, at)
		return content.Weather{Word: "showers", Week: "2026-W46"}
	}
	s := newShop(t, shopOptions{networks: []uint64{8453}, buyers: 1, config: func(c *till.Config) {
		c.Shelves = []till.Shelf{till.Goods(c.Kinds), till.Porch(weather)}
	}})
	const door = "/porch/line"
	began := time.Now().UTC().Truncate(time.Hour)
	p := s.sign(s.challenge(door), 0, s.net.Buyers[0], nil)
	got := s.present(door, p)
	hour, err := time.Parse(time.RFC3339, got.Str("deliverable", "hour"))
	if got.Status != 200 || err != nil || hour.Before(began) || hour.After(time.Now()) ||
		!hour.Equal(hour.Truncate(time.Hour)) {
		t.Fatalf("%d %s", got.Status, got.Raw)
	}
	said := s.site.Porch.Line(hour, content.Weather{Word: "showers"})
	if got.Str("deliverable", "line") != said || got.Str("deliverable", "weather") != "showers" ||
		got.Body["cert_id"] != nil || got.Body["patron_number"] != nil || got.Body["paid_usdc"] != "0.001" {
		t.Errorf("want %q, got %s", said, got.Raw)
	}
	if len(asked) == 0 || !asked[0].Equal(hour) {
		t.Errorf("the weather was asked for %v", asked)
	}
	id := got.Str("artifact", "id")
	v := s.do("GET", "/api/verify/"+id, nil)
	if !strings.HasPrefix(id, "stamp_") || v.Status != 200 || v.Body["valid"] != true ||
		v.Body["artifact_class"] != "porch_line" || v.Str("report", "line") != said ||
		v.Str("report", "sealed_week") != "2026-W46" || strings.Contains(string(v.Raw), "purchase") ||
		strings.Contains(strings.ToLower(string(v.Raw)), strings.ToLower(s.net.Buyers[0].Address.Hex())) {
		t.Errorf("verified: %d %s", v.Status, v.Raw)
	}
	proof := attest.Proof{}
	proof.SignedPayload = got.Str("artifact", "signed_payload")
	if a, err := attest.ParseArtifact([]byte(proof.SignedPayload)); err != nil || a.ID != id {
		t.Errorf("read back: %+v, %v", a, err)
	}
	text := s.present(door, p, "Accept", "text/markdown")
	if text.Status != 200 || !strings.HasPrefix(string(text.Raw), "> "+said+"\n") ||
		!strings.Contains(string(text.Raw), "/api/verify/"+id) || text.Header.Get("X-Purchase-Id") == "" ||
		text.Header.Get("Content-Type") != "text/markdown; charset=utf-8" ||
		text.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("as a text: %d %v %s", text.Status, text.Header, text.Raw)
	}
	if n := s.relayed(); n != 1 {
		t.Errorf("%d settlements for one line", n)
	}
	s.audit()
}

// writes keeps what is written to it.
type writes struct {
	mu sync.Mutex
	b  strings.Builder
}

func (w *writes) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *writes) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
