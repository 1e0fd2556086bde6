package onchaintest_test

import (
	"net/url"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/internal/tilltest"
)

// TestWhoFillsTheRarerFields buys a good of each kind that fills one of the certificate's rarer
// fields, and one that fills none of them.
func TestWhoFillsTheRarerFields(t *testing.T) {
	s := newShop(t, shopOptions{})
	const idea = "A kettle that hums the key it boils in."
	for i, c := range []struct {
		item, detail string
		want         func(tilltest.Reply) map[string]string // besides from_the_store
	}{
		{"luckies", "", func(r tilltest.Reply) map[string]string {
			return map[string]string{"win": r.Str("deliverable",
				"strength")}
		}},
		{"nomenclature", "a boat",
			func(r tilltest.Reply) map[string]string {
				return map[string]string{"tag": r.Str("deliverable", "name")}
			}},
		{"dibs", idea, func(tilltest.Reply) map[string]string { return map[string]string{"tag": idea} }},
		{"retired_word", "Synergy",
			func(tilltest.Reply) map[string]string { return map[string]string{"tag": "synergy"} }},
		{"grudge", "the third floor", func(tilltest.Reply) map[string]string { return nil }},
		{"hello", "", func(tilltest.Reply) map[string]string { return nil }},
	} {
		path := "/api/buy/" + c.item
		if c.detail != "" {
			path += "?detail=" + url.QueryEscape(c.detail)
		}
		r, _ := s.buy(path, s.net.Buyers[i%len(s.net.Buyers)], nil)
		if r.Status != 200 {
			t.Fatalf("%s: %d %s", c.item, r.Status, r.Raw)
		}
		want := c.want(r)
		for _, field := range []string{"win", "tag", "saw", "cross_ref", "mandate_id", "trade_partner",
			"trade_price_usd", "trade_instruction"} {
			if got := r.Str("certificate", field); got != want[field] || want[field] == "" &&
				strings.Contains(r.Str("signed_payload"), `"`+field+`"`) {
				t.Errorf("%s: %s is %q, want %q", c.item, field, got, want[field])
			}
		}
		if got := r.Str("certificate", "from_the_store"); got == "" || !strings.HasPrefix(r.Str("verify_url"),
			got+"/") {
			t.Errorf("%s: from_the_store is %q, and it is verified at %s", c.item, got, r.Str("verify_url"))
		}
		// What is private stays so: the words of a grudge are bound by their salted digest alone.
		if signed := r.Str("signed_payload"); c.item == "grudge" &&
			(strings.Contains(signed, c.detail) || !strings.Contains(r.Str("certificate", "attests"), "sha256-salted:"+
				r.Str("deliverable", "digest"))) {
			t.Errorf("grudge: signed is %s", signed)
		}
		if c.item == "dibs" && r.Str("certificate", "note") == idea {
			t.Error("dibs: the keeper's line is not on the certificate")
		}
	}
}
