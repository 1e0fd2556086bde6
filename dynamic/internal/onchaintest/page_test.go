package onchaintest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"store.example/agentstore/content"
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
	if unpaid.Status != http.StatusPaymentRequired || strings.Contains(string(unpaid.Raw), issue.Body[:40]) {
		t.Fatalf("unpaid = %d %s", unpaid.Status, unpaid.Raw)
	}
	p := s.sign(s.challenge(door), 0, s.net.Buyers[0], nil)
	page := s.present(door, p)
	if page.Status != 200 || string(page.Raw) != issue.Body ||
		!strings.HasPrefix(page.Header.Get("Content-Type"), "text/markdown") ||
		page.Header.Get("X-Purchase-Id") == "" || !strings.HasPrefix(page.Header.Get("X-Status-Url"),
		s.url+"/api/purchase-status/") ||
		page.Header.Get("Cache-Control") != "private, no-store" || page.Header.Get("PAYMENT-RESPONSE") == "" {
		t.Fatalf("the page = %d %v %.200s", page.Status, page.Header, page.Raw)
	}
	if strings.Contains(string(page.Raw), "status_token") || page.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the page says %v", page.Header)
	}
	again := s.present(door, p, "Accept", "application/json")
	if again.Status != 200 || again.Header.Get("Idempotent-Replayed") != "true" ||
		again.Body["idempotent_replay"] != true ||
		again.Str("recovery", "status_token") == "" || again.Str("recovery",
		"purchase_id") != page.Header.Get("X-Purchase-Id") ||
		again.Body["cert_id"] != nil || again.Body["patron_number"] != nil {
		t.Fatalf("as JSON = %d %s", again.Status, again.Raw)
	}
	body, salt := again.Str("deliverable", "body"), again.Str("deliverable", "salt")
	raw, err := hex.DecodeString(salt)
	if err != nil || len(raw) != 32 || body != string(page.Raw) {
		t.Fatalf("salt %q, body %.80q", salt, body)
	}
	if sum := sha256.Sum256(append(raw, body...)); hex.EncodeToString(sum[:]) != again.Str("deliverable", "digest") {
		t.Error("the digest is not that of salt and body")
	}
	if n := s.relayed(); n != 1 {
		t.Errorf("%d settlements for one page", n)
	}
	claimed := s.claims(s.net.Buyers[0], s.net.Buyers[0].Address.Hex(), "")
	if len(claimed.Body["purchases"].([]any)) != 1 {
		t.Errorf("claims = %s", claimed.Raw)
	}
	s.audit()
}
