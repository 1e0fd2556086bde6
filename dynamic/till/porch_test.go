package till_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/paidpage"
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
		c.Shelves = []till.Shelf{till.Goods, till.Porch(weather)}
	}})
	const door = "/porch/line"
	began := time.Now().UTC().Truncate(time.Hour)
	p := s.sign(s.challenge(door), 0, s.net.Buyers[0], nil)
	got := s.present(door, p)
	hour, err := time.Parse(time.RFC3339, got.str("deliverable", "hour"))
	if got.status != 200 || err != nil || hour.Before(began) || hour.After(time.Now()) ||
		!hour.Equal(hour.Truncate(time.Hour)) {
		t.Fatalf("%d %s", got.status, got.raw)
	}
	said := s.site.Porch.Line(hour, content.Weather{Word: "showers"})
	if got.str("deliverable", "line") != said || got.str("deliverable", "weather") != "showers" ||
		got.body["cert_id"] != nil || got.body["patron_number"] != nil || got.body["paid_usdc"] != "0.001" {
		t.Errorf("want %q, got %s", said, got.raw)
	}
	if len(asked) == 0 || !asked[0].Equal(hour) {
		t.Errorf("the weather was asked for %v", asked)
	}
	id := got.str("artifact", "id")
	v := s.do("GET", "/api/verify/"+id, nil)
	if !strings.HasPrefix(id, "stamp_") || v.status != 200 || v.body["valid"] != true ||
		v.body["artifact_class"] != "porch_line" || v.str("report", "line") != said ||
		v.str("report", "sealed_week") != "2026-W46" || strings.Contains(string(v.raw), "purchase") ||
		strings.Contains(strings.ToLower(string(v.raw)), strings.ToLower(s.net.Buyers[0].Address.Hex())) {
		t.Errorf("verified: %d %s", v.status, v.raw)
	}
	proof := attest.Proof{}
	proof.SignedPayload = got.str("artifact", "signed_payload")
	if a, err := attest.ParseArtifact([]byte(proof.SignedPayload)); err != nil || a.ID != id {
		t.Errorf("read back: %+v, %v", a, err)
	}
	text := s.present(door, p, "Accept", "text/markdown")
	if text.status != 200 || !strings.HasPrefix(string(text.raw), "> "+said+"\n") ||
		!strings.Contains(string(text.raw), "/api/verify/"+id) || text.header.Get("X-Purchase-Id") == "" ||
		text.header.Get("Content-Type") != "text/markdown; charset=utf-8" ||
		text.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("as a text: %d %v %s", text.status, text.header, text.raw)
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

// Who knows a page's digest and guesses its text learns nothing without the salt, and the salt of
// one page is not that of another with the same text.
func TestDigestsTellNothingOfGuesses(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	key := attest.SpecimenKey()
	salts := make(map[string]bool)
	for _, i := range site.IssuesOf("zodiac") {
		body, url := site.Expand(i.Body), site.Config.BaseURL+i.Path()
		salt := paidpage.Salt(key, url, body)
		digest := paidpage.Digest(salt, body).String()
		for _, guess := range []string{body, url + body, i.Title + body, i.Summary + "\n\n" + body} {
			if sum := sha256.Sum256([]byte(guess)); hex.EncodeToString(sum[:]) == digest {
				t.Fatalf("%s: the digest has no salt", i.ID)
			}
		}
		if salts[salt.String()] {
			t.Fatalf("%s: its salt is another page's", i.ID)
		}
		salts[salt.String()] = true
	}
	if len(salts) == 0 {
		t.Error("no week is over")
	}
}
