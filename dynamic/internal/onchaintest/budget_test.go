package onchaintest_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/till"
)

// anyAddress is a record that holds every address.
type anyAddress struct{ goods.Addresses }

func (anyAddress) Spelled(address string) (string, bool) { return address, true }

// The terms in the header stay small enough for every proxy on the way, with all five networks
// offered: those of x402 by themselves, and together with those of MPP. A shop that takes vouchers
// has an entry more.
func TestChallengeFitsItsBudget(t *testing.T) {
	fitsItsBudget(t, nil, 0)
	fitsItsBudget(t, &channels.Limits{}, 510)
}

func fitsItsBudget(t *testing.T, vouchers *channels.Limits, more int) {
	const bazaar = 600 // bytes
	fixed, tiers, bothFixed, bothTiers := 5000+more, 6000+more, 7000+more, 8000+more
	var networks []uint64
	for _, n := range chain.Networks {
		networks = append(networks, n.ChainID)
	}
	authorizer := chaintest.NewKey(t)
	s := newShop(t, shopOptions{networks: networks, more: []rail.Rail{newSolanaNet(t, slot, 0).rail()},
		evm:    func(c *evm.Config) { c.Authorizer = authorizer.Private },
		config: func(c *till.Config) { c.Vouchers = vouchers },
		services: services.Config{Readings: &reader{}, Addresses: anyAddress{}, Visits: visits(t),
			Anchors:  services.AnchorConfig{Calendars: []ots.Calendar{nil}},
			Launches: services.LaunchConfig{Purse: &services.Purse{}, Daily: services.LaunchCap}}})
	err := s.db.Update(t.Context(), func(tx ledger.Tx) error {
		return channels.Looked(tx, s.rails[0].Info().Network, 1, tx.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	entries := 5
	if vouchers != nil {
		entries = 6
	}
	until(t, "all entries", func() bool {
		return len(s.challenge("/api/buy/hello")["accepts"].([]any)) == entries
	})
	longest := 0
	defer func() { t.Logf("the longest terms of both protocols have %d bytes", longest) }()
	for _, g := range s.site.Goods {
		path := "/api/buy/" + g.ID
		query, body := url.Values{}, map[string]string{}
		for _, in := range g.Inputs {
			if in.Required {
				query.Set(in.Name, in.Example)
				body[in.Name] = in.Example
			}
		}
		r := s.do("GET", path+"?"+query.Encode(), nil)
		header, mpp := r.Header.Get("PAYMENT-REQUIRED"), challengesOf(r)
		sent, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		post := s.do("POST", path, nil, string(sent))
		if h := post.Header.Get("PAYMENT-REQUIRED"); len(h) > len(header) {
			header = h // the longer of the two forms
		}
		// Who names a method has its challenges, and who has a bearer is told the other field.
		named := s.do("POST", path, map[string]string{"Accept-Payment": "usdc/*", "Authorization": "Bearer st_x"},
			string(sent))
		for _, h := range []string{challengesOf(post), challengesOf(named)} {
			if len(h) > len(mpp) {
				mpp = h
			}
		}
		if r.Status != 402 || header == "" {
			t.Errorf("%s: status %d, header of %d bytes, want a challenge", g.ID, r.Status, len(header))
			continue
		}
		budget, both := fixed, bothFixed
		if len(g.Tiers()) > 1 {
			budget, both = tiers, bothTiers
		}
		if n := len(header) + len(mpp); mpp == "" || n > both {
			t.Errorf("%s: the headers of both protocols have %d bytes, %d of them of MPP, want at most %d", g.ID, n,
				len(mpp), both)
		}
		longest = max(longest, len(header)+len(mpp))
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
		declared := string(ch.Extensions["bazaar"])
		if n := len(declared); n == 0 || n > bazaar {
			t.Errorf("%s: bazaar has %d bytes, want 1 to %d", g.ID, n, bazaar)
		}
		for _, in := range g.Inputs {
			if in.Required && !strings.Contains(declared, in.Example) {
				t.Errorf("%s: bazaar lacks %s=%s: %s", g.ID, in.Name, in.Example, declared)
			}
		}
	}
}

// challengesOf are the challenges of MPP in a header, one behind the other.
func challengesOf(r tilltest.Reply) string {
	return strings.Join(r.Header.Values("WWW-Authenticate"), "")
}
