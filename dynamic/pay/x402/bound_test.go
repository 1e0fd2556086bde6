package x402_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

// bound are terms of a network on which a payment is for one 402.
func bound() rail.Requirement {
	return rail.Requirement{Scheme: "exact", Network: "x:1", Amount: "5", Asset: "a", PayTo: "p", MaxTimeoutSeconds: 60,
		Extra: map[string]any{"account": "fees"}, Varying: &rail.Varying{
			Members: []rail.VaryingMember{{Name: "memo", Max: 80, Bound: true}, {Name: "recent", Max: 9}},
			Values: func(nonce, resource string) []string {
				return []string{nonce[:min(9, len(nonce))] + resource, "newest"}
			},
		}}
}

// A payment that is for one 402 is taken with what that one said, which the nonce that comes back
// tells, and is checked against it; hints come back as they like.
func TestMatchBinds(t *testing.T) {
	secret := []byte("a store's secret")
	by := x402.Row.New(pay.Store{Secret: secret})
	nonces := pay.NewNonces(secret)
	ours, other := nonces.New(), nonces.New()
	foreign := pay.NewNonces([]byte("another store's")).New()
	q := &pay.Quote{URL: "door", Method: http.MethodGet, Accepts: []rail.Requirement{bound()}}
	memo := func(nonce, door string) string { return nonce[:9] + door }
	for _, c := range []struct {
		name, nonce string
		extra       map[string]any
		reason      string
	}{
		{"as it was asked", ours, map[string]any{"memo": memo(ours, "door"), "recent": "newest"}, ""},
		{"an older hint", ours, map[string]any{"memo": memo(ours, "door"), "recent": "older"}, ""},
		{"no hint", ours, map[string]any{"memo": memo(ours, "door")}, ""},
		{"a hint that is no text", ours, map[string]any{"memo": memo(ours, "door"), "recent": 7.0}, ""},
		{"another 402's", ours, map[string]any{"memo": memo(other, "door")}, "No matching payment requirements"},
		{"another door's", ours, map[string]any{"memo": memo(ours, "other")}, "No matching payment requirements"},
		{"none", ours, nil, "No matching payment requirements"},
		{"empty", ours, map[string]any{"memo": ""}, "No matching payment requirements"},
		{"no text", ours, map[string]any{"memo": 7.0}, "No matching payment requirements"},
		{"without a nonce", "", map[string]any{"memo": memo(ours, "door")}, "extension_echo_mismatch"},
		{"without both", "", map[string]any{"memo": "door"}, "extension_echo_mismatch"},
		{"another store's nonce", foreign, map[string]any{"memo": memo(foreign, "door")}, "extension_echo_mismatch"},
		{"a made-up nonce", "made-up-nonce", map[string]any{"memo": memo("made-up-nonce", "door")},
			"extension_echo_mismatch"},
	} {
		accepted := bound()
		maps.Copy(accepted.Extra, c.extra)
		p := map[string]any{"x402Version": 2, "accepted": accepted, "payload": map[string]any{}}
		if c.nonce != "" {
			info := map[string]any{"nonce": c.nonce}
			p["extensions"] = map[string]any{x402.ExtChallenge: map[string]any{"info": info}}
		}
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		h.Set(x402.HeaderSignature, base64.StdEncoding.EncodeToString(b))
		presented, err := by.Read(h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := by.Match(presented, q)
		ref, _ := err.(*rail.Refusal)
		switch {
		case c.reason == "" && (err != nil || got.Extra["memo"] != memo(ours, "door")):
			t.Errorf("%s: terms %v, %v", c.name, got.Extra, err)
		case c.reason != "" && (ref == nil || ref.Reason != c.reason):
			t.Errorf("%s: %v, want %s", c.name, err, c.reason)
		}
	}
	if names := slices.Sorted(maps.Keys(q.Accepts[0].Extra)); !slices.Equal(names, []string{"account"}) {
		t.Errorf("matching left %v in the terms", names)
	}
}
