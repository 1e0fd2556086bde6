package till_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"agentstore/cmd/devnet/chain"
)

// The PAYMENT-REQUIRED header stays small enough for every proxy on the way, with all networks offered.
func TestChallengeFitsItsBudget(t *testing.T) {
	const fixed, tiers, bazaar = 5000, 6000, 600 // bytes
	var networks []uint64
	for _, n := range chain.Networks {
		networks = append(networks, n.ChainID)
	}
	s := newShop(t, shopOptions{networks: networks})
	for _, g := range s.site.Goods {
		path := "/api/buy/" + g.ID
		r := s.do("GET", path, nil)
		if r.status == 400 {
			r = s.do("GET", path+"?detail=word", nil)
		}
		header := r.header.Get("PAYMENT-REQUIRED")
		post := s.do("POST", path, nil, "{}")
		if post.status == 400 {
			post = s.do("POST", path, nil, `{"detail":"word"}`)
		}
		if h := post.header.Get("PAYMENT-REQUIRED"); len(h) > len(header) {
			header = h // the longer of the two forms
		}
		if r.status != 402 || header == "" {
			t.Errorf("%s: status %d, header of %d bytes, want a challenge", g.ID, r.status, len(header))
			continue
		}
		budget := fixed
		if len(g.Tiers()) > 1 {
			budget = tiers
		}
		if len(header) > budget {
			t.Errorf("%s: the header has %d bytes, want at most %d", g.ID, len(header), budget)
		}
		raw, err := base64.StdEncoding.DecodeString(header)
		if err != nil {
			t.Fatal(err)
		}
		var ch struct{ Extensions map[string]json.RawMessage }
		if err := json.Unmarshal(raw, &ch); err != nil {
			t.Fatal(err)
		}
		if n := len(ch.Extensions["bazaar"]); n == 0 || n > bazaar {
			t.Errorf("%s: bazaar has %d bytes, want 1 to %d", g.ID, n, bazaar)
		}
	}
}
