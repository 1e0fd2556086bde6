package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/web"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/templates"
)

// tenPages are those that Lighthouse looks at, the last of them a door that answers 402.
var tenPages = []string{"/", "/menu/hello", "/porch", "/corpus", "/corpus/host/almanac.mill.street", "/corpus/brief",
	"/docs/buying", "/gazette", "/verify", "/api/buy/hello"}

// openForCheckers opens a stall with a record.
func openForCheckers(t *testing.T) (*stall, *shop.Config, []string) {
	t.Helper()
	return openUsed(t, func(c *shop.Config) {
		if err := openRecord(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	})
}

// scores demands of Lighthouse at least 95 of 100 for each of the ten pages in some categories.
//
// Left out of it are audits of two things that are so on purpose: robots.txt says how the pages may
// be used in the words of two drafts, which Lighthouse does not know and RFC 9309, section 2.2.4,
// lets crawlers ignore; and a door that asks for money answers 402, which is an error in the
// console of every browser and nothing for an index.
func (s *stall) scores(t *testing.T, categories ...string) {
	t.Helper()
	skipped := []string{"robots-txt"}
	for _, pages := range [][]string{tenPages[:9], tenPages[9:]} {
		var urls []string
		for _, at := range pages {
			urls = append(urls, s.url+at)
		}
		got := web.Lighthouse(t, categories, skipped, urls)
		if len(got) != len(urls)*len(categories) {
			t.Errorf("%d scores of %d pages", len(got), len(urls))
		}
		for _, score := range got {
			t.Logf("%3d %s %s", score.Score, score.Category, score.URL)
			if score.Score < 95 {
				t.Errorf("%s: %s is %d, for want of %q", score.URL, score.Category, score.Score, score.Less)
			}
		}
		skipped = append(skipped, "http-status-code", "is-crawlable", "errors-in-console")
	}
}

// TestLongPagesByStockCheckers holds every page of a whole store, built and made on request,
// against html-validate, what it says to who links to it against another checker, and ten of them
// against Lighthouse. None is larger than 40,000 bytes with its style but those that say why.
func TestLongPagesByStockCheckers(t *testing.T) {
	s, cfg, pages := openForCheckers(t)
	bought := clients.Buy(t, clients.Options{Key: s.net.Buyers[0].Hex(), Network: s.nodes[0].Network.ID()},
		s.url+"/api/buy/hello")[0]
	pages = append(pages, "/api/verify/"+certificateOf(t, bought.Body), "/api/verify/cert_aaaaaaaaaaaaaaaaaaaa",
		"/api/verify/round_1", "/api/verify/row_1", "/api/buy/hello", "/api/buy/pet_rock", "/api/buy/dibs",
		"/api/buy/good_buyer?url=x&max_usd=much&callback_url=y&colour=red", "/api/buy/sympathy_card",
		"/almanac/the-till-at-night")
	dir := t.TempDir()
	for i, at := range pages {
		code, body := s.get(t, at, true)
		if !slices.Contains([]int{200, 400, 402, 404, 410}, code) {
			t.Errorf("%s: %d %.300s", at, code, body)
		}
		if size := len(body) + len(templates.Asset("style.css")) + len(templates.Asset("door.css")); size > 40_000 {
			t.Errorf("%s: %d bytes with its style", at, size)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.html", i)), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, found := range web.Markup(t, dir) {
		t.Errorf("%s (of %q)", found, pages)
	}
	tree := filepath.Join(cfg.Public, "current")
	for _, found := range slices.Concat(web.Markup(t, tree), web.Shared(t, tree)) {
		t.Error(found)
	}
	s.scores(t, web.Accessibility, web.BestPractices, web.SEO)
}

// TestSoakSpeedByLighthouse is of the speed that Lighthouse computes for a slow telephone: what it
// loads from a machine under load counts in it.
func TestSoakSpeedByLighthouse(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	s, _, _ := openForCheckers(t)
	s.scores(t, web.Performance)
}

// certificateOf is the id of the certificate in the answer to a purchase.
func certificateOf(t *testing.T, answer string) string {
	t.Helper()
	var v struct {
		CertID string `json:"cert_id"`
	}
	if err := json.Unmarshal([]byte(answer), &v); err != nil || v.CertID == "" {
		t.Fatalf("%s: %v", answer, err)
	}
	return v.CertID
}
