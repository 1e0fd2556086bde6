package trade_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/trade"
)

// An order is delivered, billed and certified; the same body gets the same answer, another is
// refused.
func TestOrder(t *testing.T) {
	s := open(t, mem(), options{})
	body := order("bazaar", "hello", "A-1", `,"agent_name":"Ada","purpose":"For the hall."`)
	code, v := s.call(call{path: "/api/trade/bazaar/hello", body: body})
	if code != 200 || at(v, "delivered") != true || at(v, "billed") != true {
		t.Fatalf("%d %v", code, v)
	}
	// 0.50 × 1.20 ÷ 0.95 is 0.6315…; the account keeps three cents of 0.64.
	for path, want := range map[string]string{"certificate.settled_via": "trade", "certificate.trade_partner": "The " +
		"Bazaar",
		"certificate.trade_price_usd": "0.64", "account.trade_price_usd": "0.64", "account.billed_usd": "0.61",
		"account.order_ref": "A-1", "certificate.name": "Ada", "certificate.purpose": "For the hall."} {
		if got := text(v, strings.Split(path, ".")...); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	for _, chain := range []string{"paid_usdc", "asset", "network", "payer", "settlement_tx", "tip_usdc"} {
		if got := at(v, "certificate", chain); got != nil {
			t.Errorf("the certificate says %s: %v", chain, got)
		}
	}
	salt, err := hex.DecodeString(text(v, "account", "instruction_salt"))
	check(t, err)
	sum := sha256.Sum256(append(salt, body...))
	if got := text(v, "certificate", "trade_instruction"); got != "sha256-salted:"+hex.EncodeToString(sum[:]) ||
		len(salt) != 32 {
		t.Errorf("trade_instruction is %s", got)
	}
	if at(v, "patron_number") != 1.0 {
		t.Errorf("patron %v", at(v, "patron_number"))
	}
	var cert attest.Certificate
	raw, err := json.Marshal(at(v, "certificate"))
	check(t, err)
	check(t, json.Unmarshal(raw, &cert))
	check(t, json.Unmarshal([]byte(text(v, "signed_payload")), &cert))
	verified := s.get("/api/verify/" + text(v, "cert_id"))
	if at(verified, "valid") != true || text(verified, "certificate", "trade_price_usd") != "0.64" ||
		len(at(verified, "not_covered").([]any)) != 0 {
		t.Errorf("verify: %v", verified)
	}

	again, w := s.call(call{path: "/api/trade/bazaar/hello", body: body})
	if again != 200 || at(w, "idempotent_replay") != true || text(w, "cert_id") != text(v, "cert_id") ||
		text(w, "signed_payload") != text(v, "signed_payload") {
		t.Errorf("again: %d %v", again, w)
	}
	for name, other := range map[string]string{"input": order("bazaar", "hello", "A-1", `,"agent_name":"Eve"`),
		"spelling": body + " "} {
		if code, w := s.call(call{path: "/api/trade/bazaar/hello", body: other}); code != 422 ||
			at(w, "delivered") != false || at(w, "billed") != false {
			t.Errorf("another %s: %d %v", name, code, w)
		}
	}
	if b := s.book("bazaar"); b.Owed != 610_000 || b.Today != 610_000 || b.Orders != 1 {
		t.Errorf("the book: %+v", b)
	}
}

// The statement has what was delivered and what was received, and takes a signature of its own.
func TestStatement(t *testing.T) {
	s := open(t, mem(), options{})
	for i := range 3 {
		if code, v := s.buy("hello", fmt.Sprint("S-", i)); code != 200 {
			t.Fatalf("%d %v", code, v)
		}
	}
	check(t, s.db.Update(context.Background(), func(tx ledger.Tx) error {
		_, err := account.Receive(tx, "bazaar", "wire 7", 1_000_000)
		return err
	}))
	err := s.db.Update(context.Background(), func(tx ledger.Tx) error {
		_, err := account.Receive(tx, "bazaar", "wire 7", 1_000_000)
		return err
	})
	if err != account.ErrReceived {
		t.Errorf("the same wire twice: %v", err)
	}
	var month string
	check(t, s.db.View(context.Background(), func(tx ledger.Tx) error {
		month = tx.Now().UTC().Format("2006-01")
		return nil
	}))
	c := call{path: "/api/trade/bazaar/statement", body: fmt.Sprintf(`{"account":"bazaar","month":%q}`, month),
		nonce: nonce()}
	code, v := s.call(c)
	lines, _ := at(v, "lines").([]any)
	if code != 200 || at(v, "owed_usd") != 0.83 || len(lines) != 4 {
		t.Fatalf("%d %v", code, v)
	}
	kinds := map[string]int{}
	for _, l := range lines {
		kinds[text(l.(map[string]any), "kind")]++
	}
	if kinds["delivery"] != 3 || kinds["received"] != 1 {
		t.Errorf("lines %v", kinds)
	}
	if code, v := s.call(c); code != 409 || !strings.HasSuffix(text(v, "type"), "/replayed") {
		t.Errorf("the same request again: %d %v", code, v)
	}
	// An order that was overheard shows nobody a statement.
	c = call{path: "/api/trade/bazaar/statement", body: order("bazaar", "hello", "S-9")}
	if code, v := s.call(c); code != 400 {
		t.Errorf("an order at the statement's door: %d %v", code, v)
	}
}

// Every item of the catalogue can be bought at its price, and has every field.
func TestCatalogAndContract(t *testing.T) {
	s := open(t, mem(), options{})
	for _, query := range []string{"", "?account=bazaar", "?account=sandbox"} {
		v := s.get("/api/trade/catalog" + query)
		items, _ := at(v, "items").([]any)
		if len(items) < 5 || at(v, "share_bps") != 500.0 {
			t.Fatalf("%s: %v", query, v)
		}
		for _, x := range items {
			i := x.(map[string]any)
			for _, f := range []string{"item_id", "name", "description", "what_it_reads", "cadence", "retail_usd",
				"trade_price_usd", "store_net_usd", "share_bps", "input_kind", "fields", "artifact_class", "signs",
				"does_not_prove", "verify_url_template", "item_page", "front_door"} {
				if i[f] == nil || i[f] == "" {
					t.Errorf("%s of %v is %v", f, i["item_id"], i[f])
				}
			}
			retail, price, net := i["retail_usd"].(float64), i["trade_price_usd"].(float64),
				i["store_net_usd"].(float64)
			if retail < 0.5 || net < retail*1.2-1e-9 || price < retail*1.2/0.95-1e-9 || price > retail*1.2/0.95+0.01 {
				t.Errorf("%v: retail %v, price %v, net %v", i["item_id"], retail, price, net)
			}
			if id := i["item_id"]; id == "portrait" || id == "phone_call" || id == "small_blessing" {
				t.Errorf("%v is at the counter", id)
			}
		}
	}
	v := s.get("/api/trade/contract")
	for _, x := range at(v, "refusals").([]any) {
		r := x.(map[string]any)
		row, ok := problem.Lookup(r["code"].(string))
		if !ok || float64(row.Status) != r["status"] {
			t.Errorf("the refusal %v is no problem", r)
		}
	}
	if n := len(at(v, "checks").([]any)); n != 4 || len(at(v, "dialects").([]any)) != 2 {
		t.Errorf("%d checks", n)
	}
}

// The terms of a sale are exact at every share.
func TestTerms(t *testing.T) {
	for _, c := range []struct {
		retail     int64
		bps        int
		price, net int64
	}{
		{500_000, 500, 640_000, 610_000}, {5_000_000, 500, 6_320_000, 6_010_000}, {20_000_000, 800, 26_090_000,
			24_010_000},
		{990_000, 1200, 1_350_000, 1_190_000}, {950_000, 500, 1_200_000, 1_140_000},
	} {
		if got := account.TermsOf(c.retail, c.bps); got.Price != c.price || got.Net != c.net {
			t.Errorf("%d at %d: %+v", c.retail, c.bps, got)
		}
	}
	for retail := int64(500_000); retail < 30_000_000; retail += 10_007 {
		for _, s := range account.Shares {
			got := account.TermsOf(retail, s.BPS)
			exact := retail * 12_000 // ÷ (10000 − share)
			if got.Price%account.Cent != 0 || got.Net%account.Cent != 0 || got.Price*int64(10_000-s.BPS) < exact ||
				(got.Price-account.Cent)*int64(10_000-s.BPS) >= exact || got.Net*10_000 < exact {
				t.Fatalf("%d at %d: %+v", retail, s.BPS, got)
			}
		}
	}
}

// The sandbox leaves nothing but its name, its nonce, its count and its certificate, and no word of
// the caller's in what is signed.
func TestSandbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, mem(), options{})
		before := keys(t, s.db)
		sandbox := func(item, ref string) (int, map[string]any) {
			secret, err := trade.ParseSecret(trade.SandboxSecret)
			check(t, err)
			more := ""
			if item == "dibs" || item == "nomenclature" {
				more = `,"detail":"MINE, ALL MINE"`
			}
			return s.call(call{path: "/api/trade/sandbox/" + item, body: order("sandbox", item, ref,
				more+`,"agent_name":"MINE","purpose":"MINE"`), secret: secret})
		}
		v := s.get("/api/trade/catalog?account=sandbox")
		n := 0
		for _, x := range at(v, "items").([]any) {
			id := text(x.(map[string]any), "item_id")
			code, v := sandbox(id, "try-"+id)
			if code != 200 || at(v, "billed") != false || at(v, "patron_number") != 0.0 ||
				text(v, "certificate", "settled_via") != "trade sandbox" || strings.Contains(text(v, "signed_payload"),
				"MINE") {
				t.Errorf("%s: %d %v", id, code, v)
			}
			if got := s.get("/api/verify/" + text(v, "cert_id")); at(got, "valid") != true {
				t.Errorf("%s: %v", id, got)
			}
			again, w := sandbox(id, "try-"+id)
			if again != 200 || at(w, "idempotent_replay") != true || text(w, "cert_id") != text(v, "cert_id") {
				t.Errorf("%s again: %d %v", id, again, w)
			}
			n++
		}
		for ; n < 50; n++ {
			if code, v := sandbox("hello", fmt.Sprint("n-", n)); code != 200 {
				t.Fatalf("no. %d: %d %v", n+1, code, v)
			}
		}
		full := keys(t, s.db)
		for range 3 {
			if code, v := sandbox("hello", "one-too-many"); code != 429 || at(v, "billed") != false ||
				!strings.HasSuffix(text(v, "type"), "/daily_cap") {
				t.Errorf("no. 51: %d %v", code, v)
			}
		}
		if now := keys(t, s.db); !maps.Equal(now, full) {
			t.Error("what the sandbox refuses writes to the ledger")
		}
		for k := range full {
			mayBe := slices.ContainsFunc([]string{"account/ref/sandbox/", "account/spent/sandbox/", "account/expiry/",
				"cert/",
				"budget/trade_sandbox/"}, func(p string) bool { return strings.HasPrefix(k, p) })
			if _, old := before[k]; !old && !mayBe {
				t.Errorf("the sandbox wrote %s", k)
			}
		}
	})
}
