package census

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/record"
)

// TestListsAreQuoted reads catalogues and holds what the roster keeps of each door against what
// they state: bounded, whatever that is, addresses by digest.
func TestListsAreQuoted(t *testing.T) {
	const payTo = "0x000000000000000000000000000000000000dEaD"
	accepts := func(network, amount string) string {
		return fmt.Sprintf(`{"scheme":"exact","network":%q,%s,"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":%q}`, network, amount, payTo)
	}
	var many []string
	for i := range 60 {
		many = append(many, accepts(fmt.Sprintf("eip155:%d", 100+i), `"amount":"1"`))
	}
	items := []string{
		`{"resource":"https://shop.example/a","method":"post","accepts":[` +
			// said twice, counted once
			accepts("eip155:8453", `"amount":"10000"`) + `]}`, `{"resource":"https://shop.example/a","accepts":[` +
			accepts("eip155:8453", `"amount":"20000"`) + `]}`,
		`{"resource":"https://shop.example/old","x402Version":1,"accepts":[` +
			accepts("base", `"maxAmountRequired":"10000"`) + `]}`, `{"resource":"https://shop.example/bare"}`,
		`{"resource":"https://shop.example/junk","accepts":[1,null,{"network":7,"amount":{},"payTo":[],"scheme":"\u0000"},"x"]}`,
		`{"resource":"https://long.example/","method":"` + strings.Repeat("x", 9000) + `","accepts":[` +
			accepts(strings.Repeat("n", 9000), `"amount":"1`+strings.Repeat("0", 9000)+`"`) + "," +
			accepts("eip155:8453", `"amount":"1`+strings.Repeat("0", 9000)+`"`) + `]}`,
		`{"resource":"https://huge.example/","accepts":[` + strings.Repeat(accepts("eip155:8453", `"amount":"1"`)+",",
			1000) + accepts("eip155:8453", `"amount":"1"`) + `]}`, `{"resource":"https://many.example/","accepts":[` +
			strings.Join(many, ",") + `]}`,
	}
	for i := range 20 {
		items = append(items, fmt.Sprintf(`{"resource":"https://wide.example/%d","accepts":[]}`, i))
	}
	c := api(func(*url.URL) exchange.Response {
		return exchange.Response{Status: 200,
			Body: fmt.Appendf(nil, `{"items":[%s],"pagination":{"offset":0,"total":%d}}`, strings.Join(items, ","),
				len(items))}
	})
	var slept time.Duration
	on := reading(c, &slept)
	cfg := &Config{Client: c, Lists: c, Now: on.Now, Sleep: on.Sleep, Log: on.Log, SourceTime: time.Minute}
	r, err := cfg.readSources(t.Context(), []Source{Discovery("bazaar", "https://list.example")}, nil, "2026-W47")
	if err != nil {
		t.Fatal(err)
	}
	shop := r.places["shop.example"].named
	if len(shop) != 1 || len(shop[0].Doors) != 4 || shop[0].DoorsLeftOut != 0 {
		t.Fatalf("%+v", shop)
	}
	a, old, bare, junk := shop[0].Doors[0], shop[0].Doors[1], shop[0].Doors[2], shop[0].Doors[3]
	digest := exchange.PayToDigest("eip155:8453", payTo)
	for _, d := range []ListedDoor{a, old} {
		if d.Offer == nil || d.Offer.MinUSDC != "0.01" || d.Offer.Networks[0] != "eip155:8453" ||
			len(d.Offer.PayTo) != 1 || d.Offer.PayTo[0] != (record.PayTo{Network: "eip155:8453", Digest: digest}) ||
			d.Cut {
			t.Errorf("%+v states %+v", d, d.Offer)
		}
	}
	if a.Method != "POST" || old.Method != "" || bare.Offer != nil || junk.Offer == nil || len(junk.Offer.PayTo) != 0 ||
		junk.Offer.MinUSDC != "" {
		t.Errorf("%+v, %+v, %+v, %+v", a, old, bare, junk.Offer)
	}
	// Nothing that a list says takes much room.
	for host, p := range r.places {
		for _, n := range p.named {
			for _, d := range n.Doors {
				if raw, err := json.Marshal(d); err != nil || len(raw) > 2500 {
					t.Errorf("%s: %d bytes of one door are kept: %.300s, %v", host, len(raw), raw, err)
				}
			}
		}
	}
	if d := r.places["many.example"].named[0].Doors[0]; !d.Cut || len(d.Offer.Networks) != 16 ||
		len(d.Offer.PayTo) != 8 {
		t.Errorf("of sixty ways to pay are kept %+v", d.Offer)
	}
	if n := r.places["wide.example"].named[0]; len(n.Doors) != MaxListedDoors || n.DoorsLeftOut != 20-MaxListedDoors {
		t.Errorf("of twenty doors %d are kept and %d counted", len(n.Doors), n.DoorsLeftOut)
	}
}
