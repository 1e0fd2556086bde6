package onchaintest_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

// delivers completes a good with a deliverable of no kind that the package has.
func delivers(m goods.Made, kind, body string) *goods.Made {
	m.Deliver(kind, struct {
		Body string `json:"body,omitzero"`
	}{body})
	return &m
}

// A paid page, planted: a shelf that finds it, a kind that reads its body where that is kept, and a
// route.

var pageKind = goods.Kind{Name: "page", Make: func(_ context.Context, _ goods.Maker, o *goods.Order) (*goods.Made,
	error) {
	return delivers(goods.Made{Message: o.Good.Name}, "page", "High water at six."), nil
}}

func pages(_ *content.Site, id string) *till.Offer {
	if id != "booklet/tides" {
		return nil
	}
	return &till.Offer{ID: id, Path: "/" + id, Name: "Tides", Description: "When the water is high.",
		Tiers: []content.Tier{{Name: "minimum", Amount: 10_000}}, Kind: pageKind,
		Good: content.Good{ID: id, Name: "Tides"}}
}

func pageRows(c *counter.Counter) []route.Row {
	return []route.Row{{Name: "booklet", Method: http.MethodGet, Pattern: "/booklet/{slug}",
		Serve: api.Paid, Paid: true, ValidateLate: true,
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			return c.Sell(w, r, "booklet/"+r.PathValue("slug"))
		}}}
}

// A page that is paid for mints nothing and goes through the same till.
func TestAPaidPageMintsNothing(t *testing.T) {
	s := newShop(t, shopOptions{networks: []uint64{8453}, buyers: 2, rows: pageRows,
		config: func(c *till.Config) { c.Shelves = []till.Shelf{till.Goods(c.Kinds), pages} }})
	s.want("another page", s.do("GET", "/booklet/moons", nil), 404, "not_found")
	s.want("a wrong input", s.do("GET", "/booklet/tides?detail=x", nil), 400, "invalid_input")
	ch := s.challenge("/booklet/tides")
	if url := ch["resource"].(map[string]any)["url"]; url != s.url+"/booklet/tides" {
		t.Errorf("the terms are for %v", url)
	}
	p := s.sign(ch, 0, s.net.Buyers[0], nil)
	s.want("another offer with its payment", s.present("/api/buy/small_blessing", p), 402, "payment_invalid")
	r := s.present("/booklet/tides", p)
	s.want("the page", r, 200, "")
	for _, minted := range []string{"patron_number", "cert_id", "certificate", "badge_url", "signature", "verify_url"} {
		if r.Body[minted] != nil {
			t.Errorf("the page has %s: %s", minted, r.Raw)
		}
	}
	if r.Str("deliverable", "body") != "High water at six." || r.Str("paid_usdc") != "0.01" ||
		receiptURL(t, r.Str("receipt")) != s.url+"/booklet/tides" {
		t.Errorf("page = %s", r.Raw)
	}
	if again := s.present("/booklet/tides", p); again.Status != 200 || again.Body["idempotent_replay"] != true {
		t.Errorf("again = %d %s", again.Status, again.Raw)
	}
	claimed := s.claims(s.net.Buyers[0], s.net.Buyers[0].Address.Hex(), "")
	if len(claimed.Body["purchases"].([]any)) != 1 || len(claimed.Body["certificates"].([]any)) != 0 {
		t.Errorf("claims = %s", claimed.Raw)
	}
	first, _ := s.buy("/api/buy/hello", s.net.Buyers[1], nil)
	if s.want("a good after it", first, 200, ""); first.Body["patron_number"] != 1.0 {
		t.Errorf("the page took a patron number: %s", first.Raw)
	}
}

// receiptURL is what a receipt is for.
func receiptURL(t *testing.T, jws string) string {
	t.Helper()
	var payload struct {
		ResourceURL string `json:"resourceUrl"`
	}
	part := strings.Split(jws, ".")
	raw, err := base64.RawURLEncoding.DecodeString(part[1])
	if err != nil || json.Unmarshal(raw, &payload) != nil {
		t.Fatalf("receipt %s: %v", jws, err)
	}
	return payload.ResourceURL
}

// A good that the keeper makes, planted: a kind whose goods are promised, and a shelf that has it.

var judgmentKind = goods.Kind{Name: "judgment", Later: true, Make: func(context.Context, goods.Maker,
	*goods.Order) (*goods.Made, error) {
	return delivers(goods.Made{Message: "The keeper will judge it within a week."}, "judgment", ""), nil
}}

func humans(_ *content.Site, id string) *till.Offer {
	if id != "slow_judgment" {
		return nil
	}
	return &till.Offer{ID: id, Path: "/api/buy/" + id, Name: "A quick judgment", Description: "The keeper's verdict.",
		Mints: true, Kind: judgmentKind,
		Tiers:  []content.Tier{{Name: "minimum", Amount: 3_000_000}},
		Inputs: []content.Input{{Name: "detail", Type: "string", Max: 600, Required: true}},
		Good:   content.Good{ID: id, Name: "A quick judgment"}}
}

// A good of the keeper's is promised when it is paid for, watched like what is delivered, and
// delivered when it is made.
func TestAGoodThatIsCompletedLater(t *testing.T) {
	s := newShop(t, shopOptions{networks: []uint64{8453}, buyers: 1,
		config: func(c *till.Config) { c.Shelves = []till.Shelf{till.Goods(c.Kinds), humans} }})
	p := s.sign(s.challenge("/api/buy/slow_judgment?detail=Tea%3F"), 0, s.net.Buyers[0], nil)
	r := s.present("/api/buy/slow_judgment?detail=Tea%3F", p)
	s.want("the order", r, 200, "")
	id := r.Purchase()
	if s.state(id, till.Promised); r.Str("message") != "The keeper will judge it within a week." ||
		r.Body["certificate"] != nil || r.Str("receipt") == "" {
		t.Errorf("promised = %s", r.Raw)
	}
	if again := s.present("/api/buy/slow_judgment?detail=Tea%3F", p); again.Status != 200 ||
		again.Body["idempotent_replay"] != true || again.Body["certificate"] != nil {
		t.Errorf("again = %d %s", again.Status, again.Raw)
	}
	status := func() tilltest.Reply {
		return s.do("GET", "/api/purchase-status/"+id,
			map[string]string{"Authorization": "Bearer " + r.Str("recovery", "status_token")})
	}
	if st := status(); st.Str("state") != "promised" || st.Str("billed") != "yes" ||
		st.Body["fulfilment"].(map[string]any)["ready"] != false || st.Str("next_check_after") == "" {
		t.Errorf("status = %s", st.Raw)
	}
	s.finalize()
	until(t, "its payment to be watched to finality", func() bool { return s.purchase(id).Final })
	made := delivers(goods.Made{Message: "Tea.", Note: "Tea."}, "judgment", "Tea.")
	if err := s.till.Fulfil(t.Context(), id, made); err != nil {
		t.Fatal(err)
	}
	if err := s.till.Fulfil(t.Context(), id, made); err == nil {
		t.Error("it was completed twice")
	}
	done := s.present("/api/buy/slow_judgment?detail=Tea%3F", p)
	s.want("the goods", done, 200, "")
	if done.Str("certificate", "note") != "Tea." || done.Body["patron_number"] != 1.0 ||
		done.Str("receipt") != r.Str("receipt") {
		t.Errorf("delivered = %s", done.Raw)
	}
	if v := s.do("GET", "/api/verify/"+done.Str("cert_id"), nil); v.Body["valid"] != true {
		t.Errorf("verify = %s", v.Raw)
	}
	if st := status(); st.Str("state") != "delivered" || st.Body["fulfilment"].(map[string]any)["ready"] != true {
		t.Errorf("status after = %s", st.Raw)
	}
}

// shelved is a shelf with the keeper's good as another kind makes it.
func shelved(k goods.Kind) till.Shelf {
	return func(site *content.Site, id string) *till.Offer {
		o := humans(site, id)
		if o != nil {
			o.Kind = k
		}
		return o
	}
}

const judgment = "/api/buy/slow_judgment?detail=Tea%3F"

// What was promised and is taken back by the chain was never delivered: its buyer is told so, has
// no body to read, and what the order held is to be had again.
func TestAPromiseThatTheChainTookBack(t *testing.T) {
	t.Parallel()
	k, unit := judgmentKind, ledger.GoodsKey("unit")
	k.Reserve = func(_ goods.Maker, tx ledger.Tx, o *goods.Order) error {
		if _, err := tx.Get(unit); err == nil {
			return &goods.SoldOut{Item: o.Good.ID}
		}
		return tx.Set(unit, []byte(o.ID))
	}
	k.Release = func(_ goods.Maker, tx ledger.Tx, _ *goods.Order) error { return tx.Delete(unit) }
	s := newShop(t, shopOptions{manual: true,
		config: func(c *till.Config) { c.Shelves = []till.Shelf{till.Goods(c.Kinds), shelved(k)} }})
	buyer := s.net.Buyers[0]
	p := s.sign(s.challenge(judgment), 0, buyer, nil)
	r := s.sealed(judgment, p)
	s.want("another order", s.present(judgment, s.sign(s.challenge(judgment), 0, s.net.Buyers[1], nil)), 409,
		"sold_out")
	if err := s.net.Reorg(s.net.Head().Number.Uint64()-1,
		s.foreign(s.net.Minter, s.net.Asset, 0, s.cancel(buyer, p))); err != nil {
		t.Fatal(err)
	}
	s.net.Drop()
	s.pooled("the relayer's open number to be filled", 1)
	s.net.MustSeal()
	s.finalize()
	s.state(r.Purchase(), till.Reversed)
	again := s.present(judgment, p)
	s.want("the order", again, 409, "payment_reversed")
	if again.Body["delivered"] != false || again.Str("billed") != "no" || strings.Contains(again.Str("detail"),
		"certificate") {
		t.Errorf("the order is answered %s", again.Raw)
	}
	st := s.do("GET", "/api/purchase-status/"+r.Purchase(),
		map[string]string{"Authorization": "Bearer " + r.Str("recovery", "status_token")})
	if f := st.Body["fulfilment"].(map[string]any); st.Str("state") != "reversed" || f["ready"] != false ||
		f["body"] != nil {
		t.Errorf("status = %s", st.Raw)
	}
	if err := s.till.Fulfil(t.Context(), r.Purchase(), delivers(goods.Made{}, "judgment", "Tea.")); err == nil {
		t.Error("what nobody paid for was completed")
	}
	s.sealed(judgment, s.sign(s.challenge(judgment), 0, s.net.Buyers[1], nil))
}

// Money that comes late for such a good is a promise too.
func TestALatePromise(t *testing.T) {
	t.Parallel()
	s, refuses := newMoodyShop(t,
		shopOptions{config: func(c *till.Config) { c.Shelves = []till.Shelf{till.Goods(c.Kinds), humans} }})
	p := s.sign(s.challenge(judgment), 0, s.net.Buyers[0], nil)
	r := s.giveUp(judgment, p, refuses)
	s.land(p)
	s.state(r.Purchase(), till.Promised)
	again := s.present(judgment, p)
	if s.want("the order", again, 200, ""); again.Body["certificate"] != nil ||
		again.Str("message") != "The keeper will judge it within a week." {
		t.Errorf("the order is answered %s", again.Raw)
	}
	c := s.claims(s.net.Buyers[0], s.net.Buyers[0].Address.Hex(), "")
	if got := c.Body["purchases"].([]any)[0].(map[string]any); got["state"] != "promised" || got["billed"] != "yes" ||
		got["fulfilment"].(map[string]any)["ready"] != false {
		t.Errorf("claims = %s", c.Raw)
	}
	if err := s.till.Fulfil(t.Context(), r.Purchase(), delivers(goods.Made{Message: "Tea.", Note: "Tea."}, "judgment",
		"Tea.")); err != nil {
		t.Fatal(err)
	}
	if done := s.present(judgment, p); done.Str("certificate", "settled_via") != "x402 sent by another" {
		t.Errorf("delivered = %s", done.Raw)
	}
}
