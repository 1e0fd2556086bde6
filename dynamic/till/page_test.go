package till_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/paidpage"
)

// A page of the shelf that is paid for: Markdown for who asks for nothing, the whole delivery for
// who asks for JSON, and what the index committed to is what comes.
func TestPagesOfTheAlmanacAreSold(t *testing.T) {
	s := newShop(t, shopOptions{networks: []uint64{8453}, buyers: 1})
	const door = "/almanac/the-till-at-night"
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	issue, ok := site.Issue(door[1:])
	if !ok {
		t.Fatal("the specimen has no such page")
	}
	for path, code := range map[string]string{"/almanac/no-such-page": "not_found", "/gazette/issue-999": "not_found",
		"/gazette/issue-0": "not_found", "/almanac/Upper": "not_found", "/gazette/issue-1x": "not_found"} {
		s.want(path, s.do("GET", path, nil), 404, code)
	}
	s.want("a wrong input", s.do("GET", door+"?detail=x", nil), 400, "invalid_input")
	unpaid := s.do("GET", door, map[string]string{"Accept": "text/markdown"})
	if unpaid.status != http.StatusPaymentRequired || strings.Contains(string(unpaid.raw), issue.Body[:40]) {
		t.Fatalf("unpaid = %d %s", unpaid.status, unpaid.raw)
	}
	p := s.sign(s.challenge(door), 0, s.net.Buyers[0], nil)
	page := s.present(door, p)
	if page.status != 200 || string(page.raw) != issue.Body ||
		!strings.HasPrefix(page.header.Get("Content-Type"), "text/markdown") ||
		page.header.Get("X-Purchase-Id") == "" || !strings.HasPrefix(page.header.Get("X-Status-Url"),
		s.url+"/api/purchase-status/") ||
		page.header.Get("Cache-Control") != "private, no-store" || page.header.Get("PAYMENT-RESPONSE") == "" {
		t.Fatalf("the page = %d %v %.200s", page.status, page.header, page.raw)
	}
	if strings.Contains(string(page.raw), "status_token") || page.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the page says %v", page.header)
	}
	again := s.present(door, p, "Accept", "application/json")
	if again.status != 200 || again.header.Get("Idempotent-Replayed") != "true" ||
		again.body["idempotent_replay"] != true ||
		again.str("recovery", "status_token") == "" || again.str("recovery",
		"purchase_id") != page.header.Get("X-Purchase-Id") ||
		again.body["cert_id"] != nil || again.body["patron_number"] != nil {
		t.Fatalf("as JSON = %d %s", again.status, again.raw)
	}
	body, salt := again.str("deliverable", "body"), again.str("deliverable", "salt")
	raw, err := hex.DecodeString(salt)
	if err != nil || len(raw) != 32 || body != string(page.raw) {
		t.Fatalf("salt %q, body %.80q", salt, body)
	}
	if sum := sha256.Sum256(append(raw, body...)); hex.EncodeToString(sum[:]) != again.str("deliverable", "digest") {
		t.Error("the digest is not that of salt and body")
	}
	if n := s.relayed(); n != 1 {
		t.Errorf("%d settlements for one page", n)
	}
	claimed := s.claims(s.net.Buyers[0], s.net.Buyers[0].Address.Hex(), "")
	if len(claimed.body["purchases"].([]any)) != 1 {
		t.Errorf("claims = %s", claimed.raw)
	}
	s.audit()
}

// A salt follows from key, address and text alone, and tells nothing to who has no key.
func TestPageSalt(t *testing.T) {
	key, other := attest.SpecimenKey(), attest.SpecimenKeyFor(attest.PurposeLog)
	first := paidpage.Salt(key, "https://a.example/almanac/x", "text")
	if again := paidpage.Salt(key, "https://a.example/almanac/x", "text"); again.String() != first.String() {
		t.Error("another salt for the same page")
	}
	for what, salt := range map[string]attest.Hex{
		"key":  paidpage.Salt(other, "https://a.example/almanac/x", "text"),
		"url":  paidpage.Salt(key, "https://a.example/almanac/y", "text"),
		"body": paidpage.Salt(key, "https://a.example/almanac/x", "text."),
	} {
		if salt.String() == first.String() {
			t.Errorf("the same salt for another %s", what)
		}
	}
	if paidpage.Digest(first, "text").String() == paidpage.Digest(first, "text.").String() {
		t.Error("two texts with one digest")
	}
}
