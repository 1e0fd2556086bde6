package main

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
)

// street leads every name to a hostile door, which counts what it is asked.
func (s *stall) street(t *testing.T, hits *atomic.Int64) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		hostileDoor(w, r)
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	s.reach = func(f *fetch.Config) {
		f.Resolver, f.Dialer, f.Roots = nearby(""), nearby(server.Listener.Addr().String()), roots
	}
}

// onAccount gives the stall an account at its trade counter, whose requests the official library
// signs.
func onAccount(t *testing.T, c *shop.Config) *standardwebhooks.Webhook {
	t.Helper()
	const secret = "whsec_dGhlIHNlY3JldCBvZiB0aGUgYmF6YWFyLCAzMiBieXRlcw=="
	file := filepath.Join(t.TempDir(), "bazaar.secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Trade = []shop.TradeConfig{{Account: "bazaar", Partner: "The Bazaar", Secret: file, Credit: "40",
		Daily: "400"}}
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return wh
}

// onAccount orders a good on account, and verifies what came where it is whole already.
func (s *stall) onAccount(t *testing.T, wh *standardwebhooks.Webhook, item, inputs string) (int, sold) {
	t.Helper()
	body := fmt.Sprintf(`{"account":"bazaar","item_id":%q%s}`, item, inputs)
	at, id := time.Now(), fmt.Sprintf("msg_%s_%d", item, len(inputs))
	signature, err := wh.Sign(id, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/trade/bazaar/"+item,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "webhook-id": id,
		"webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": signature} {
		req.Header.Set(name, value)
	}
	code, raw := s.fetch(t, req)
	got := sold{raw: raw}
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatalf("%s: %v in %.400s", item, err, raw)
	}
	if code == http.StatusOK {
		s.verifies(t, got)
	}
	return code, got
}

// A marketplace orders on account what is delivered at once, what is signed beside its certificate
// and a term of readings. Each verifies here, as a page and offline, by fields 22 to 25. The keeper
// sees what is owed, notes what was paid, and the credit is free again.
func TestAMarketplaceOrdersOnAccount(t *testing.T) {
	t.Parallel()
	var cfg *shop.Config
	var wh *standardwebhooks.Webhook
	var hits atomic.Int64
	s := openStallWith(t, nil, func(s *stall, c *shop.Config) {
		cfg, wh = c, onAccount(t, c)
		s.street(t, &hits)
	})
	prices := map[string]string{"hello": "0.64", "context_anchor": "1.27", "service_audit": "6.32"}
	for item, inputs := range map[string]string{"hello": `,"agent_name":"Ada","purpose":"For the hall."`,
		"context_anchor": `,"summary":"Where we were."`, "service_audit": `,"url":"https://door.example.com/paid"`} {
		code, got := s.onAccount(t, wh, item, inputs)
		var a struct {
			Signed string `json:"signed_payload"`
		}
		if err := json.Unmarshal([]byte(got.raw), &a); err != nil || code != 200 {
			t.Fatalf("%s: %d %v %.400s", item, code, err, got.raw)
		}
		c, err := attest.ParseCertificate([]byte(a.Signed))
		if err != nil || c.SettledVia != "trade" || c.TradePartner != "The Bazaar" || c.TradePriceUSD != prices[item] ||
			!strings.HasPrefix(c.TradeInstruction, "sha256-salted:") || c.PaidUSDC+c.Network+c.Payer != "" ||
			(item == "hello") != (c.Purpose == "For the hall.") {
			t.Errorf("%s: %v, %+v", item, err, c)
		}
	}
	s.termOnAccount(t, wh, &hits)
	s.keepsAccounts(t, cfg, wh)
}

// termOnAccount orders a term of readings on account: the order is signed, the first reading comes
// at once as a report of its own, and the keeper has no hand in it.
func (s *stall) termOnAccount(t *testing.T, wh *standardwebhooks.Webhook, hits *atomic.Int64) {
	t.Helper()
	before := hits.Load()
	code, got := s.onAccount(t, wh, "conformance_watch", `,"url":"https://watched.example.com/paid"`)
	if code != 200 || got.OrderID == "" || got.CertID != "" || !strings.Contains(got.raw, `"readings":7`) ||
		!strings.Contains(got.raw, `"delivered":false,"billed":true`) {
		t.Fatalf("a term: %d %s", code, got.raw)
	}
	var order struct {
		Term *struct {
			Slots []struct {
				Audit string `json:"audit_id"`
				URL   string `json:"url"`
			}
		}
	}
	for tries := 0; order.Term == nil || len(order.Term.Slots) == 0; tries++ {
		if tries > 2000 {
			t.Fatal("nothing was read")
		}
		<-time.After(50 * time.Millisecond)
		if tries%20 == 0 { // an order is read once a minute, unless it changed
			if _, body := s.get(t, "/api/verify/"+got.OrderID, false); !strings.Contains(body, `"valid":true`) {
				t.Fatalf("the promise: %s", body)
			}
		}
		if hits.Load() == before {
			continue
		}
		code, body := s.get(t, "/api/order/"+got.OrderID, false)
		if code != 200 && code != http.StatusTooManyRequests {
			t.Fatalf("the order: %d %s", code, body)
		}
		if err := json.Unmarshal([]byte(body), &order); err != nil {
			t.Fatal(err)
		}
	}
	slot := order.Term.Slots[0]
	report := sold{raw: func() string { _, b := s.get(t, "/api/verify/"+slot.Audit, false); return b }()}
	report.Artifact.ID, report.Artifact.URL = slot.Audit, slot.URL
	s.verifies(t, report)
}

// keepsAccounts has the keeper read and note what the bazaar owes, through the serving process.
func (s *stall) keepsAccounts(t *testing.T, cfg *shop.Config, wh *standardwebhooks.Webhook) {
	t.Helper()
	account := func() (a shop.KeeperAccount) {
		t.Helper()
		out, err := keep(t, cfg, "accounts")
		if err = errors.Join(err, json.Unmarshal([]byte(out), &a)); err != nil {
			t.Fatal(err)
		}
		return a
	}
	// What the bazaar owes: 0.61, 1.21, 6.01 and, for the term, 6.01 again.
	if a := account(); a.Account != "bazaar" || a.OwedUSD != "13.84" || a.CreditUSD != "40" || a.Orders != 4 ||
		!a.Provisioned || a.ShareBPS != 500 {
		t.Errorf("the account: %+v", a)
	}
	month := time.Now().UTC().Format("2006-01")
	out, err := keep(t, cfg, "statement", "bazaar", "-month", month)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); err != nil || len(lines) != 5 ||
		!strings.Contains(lines[0], `"owed_usd":13.84`) {
		t.Errorf("the statement: %q, %v", lines, err)
	}
	received := func(usd, name string, dry bool) (a shop.KeeperAccount, err error) {
		out, err := keep(t, cfg, "received", "bazaar", "-usd", usd, "-name", name, fmt.Sprintf("-dry-run=%v", dry))
		if err == nil {
			err = json.Unmarshal([]byte(out), &a)
		}
		return a, err
	}
	for i, dry := range []bool{true, false} {
		if a, err := received("10", "wire 7", dry); err != nil || a.OwedUSD != "3.84" {
			t.Errorf("received, no. %d: %+v, %v", i, a, err)
		}
		if a := account(); dry && a.OwedUSD != "13.84" || !dry && a.OwedUSD != "3.84" {
			t.Errorf("after no. %d it owes %s", i, a.OwedUSD)
		}
	}
	for what, c := range map[string]struct {
		usd, name string
	}{"one again": {"10", "wire 7"}, "nothing": {"0", "wire 8"}, "less than nothing": {"-0.01", "wire 8"},
		"a part of a cent": {"0.010001", "wire 8"}, "no name": {"0.01", ""},
		"a long name":    {"0.01", strings.Repeat("x", 81)},
		"an unseen name": {"0.01", "wire\u202e8"}} {
		if _, err := received(c.usd, c.name, false); err == nil {
			t.Errorf("%s was noted", what)
		}
	}
	if _, err := keep(t, cfg, "statement", "nobody", "-month", month); err == nil {
		t.Error("a statement of nobody")
	}
	if _, err := keep(t, cfg, "received", "nobody", "-usd", "0.01", "-name", "x"); err == nil {
		t.Error("received of nobody")
	}
	// Of its 40 dollars 36.16 are left: one certificate of patronage at 24.01, and no second one.
	if code, got := s.onAccount(t, wh, "certificate_of_patronage", ""); code != 200 {
		t.Errorf("within the credit: %d %s", code, got.raw)
	}
	if code, got := s.onAccount(t, wh, "certificate_of_patronage", `,"agent_name":"Ada"`); code != 409 ||
		!strings.Contains(got.raw, "credit_ceiling") {
		t.Errorf("past the credit: %d %s", code, got.raw)
	}
}
