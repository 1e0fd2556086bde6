package main

import (
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// launchWallet gives the stall a wallet that buys at strangers' doors.
func (s *stall) launchWallet(t *testing.T, c *shop.Config) {
	t.Helper()
	key := filepath.Join(t.TempDir(), "launch.key")
	if err := os.WriteFile(key, []byte(s.net.Buyers[4].Hex()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Launch.Key = key
}

// sell answers for a door with what the stall sells.
func (m *market) sell(w http.ResponseWriter, r *http.Request) {
	to, err := url.Parse(m.url)
	if err != nil {
		panic(err) // it was made by us
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		for _, name := range []string{"Signature", "Signature-Input", "Signature-Agent"} { // of an agent at plain http
			r.Out.Header.Del(name)
		}
	}}
	proxy.ServeHTTP(w, r)
}

// launches reads what came of the purchases at doors, once the chain is sure of them.
func (m *market) launches(t *testing.T) {
	t.Helper()
	both := m.kept("launch_check")
	if code, body := m.get(t, "/api/buy/launch_check?host="+both[0].name, false); code != 409 ||
		!strings.Contains(body, "target_held") {
		t.Errorf("a second one at the same host: %d %s", code, body)
	}
	for _, got := range both {
		if !strings.Contains(got.raw, `"cap_usdc":"0.05"`) {
			t.Errorf("bought %s", got.raw)
		}
		m.launched(t, got)
	}
	var told []record.Observation
	if err := m.db.View(t.Context(), func(tx ledger.Tx) (err error) {
		told, err = feed.Since(tx, 1, 1000)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	book := derive.Book{Feed: told}
	if v := book.Purchases(); v.All.Own != (derive.Purchases{Tried: 2, Delivered: 2, Charged: 2}) ||
		len(v.Newest) != 2 || v.Newest[0].Claim == nil || len(v.Newest[0].Claim.BodySHA256) != 64 {
		t.Errorf("the series has %+v of %+v", v.All, v.Newest)
	}
	if has := m.nodes[0].Balance(m.net.Buyers[4].Address); has != chaintest.BuyerFunds-2*5_000 {
		t.Errorf("the wallet has %d", has)
	}
	if list, err := keep(t, m.cfg, "orders", "-all"); err != nil ||
		strings.Contains(list, both[0].OrderID) || strings.Contains(list, both[1].OrderID) {
		t.Errorf("the keeper is asked: %s, %v", list, err)
	}
}

func (m *market) launched(t *testing.T, got sold) {
	t.Helper()
	m.until(t, "a door was bought at", func() bool {
		m.seal()
		_, body := m.get(t, "/api/verify/"+got.OrderID, false)
		return strings.Contains(body, "completed_at")
	})
	var order counter.OrderView
	_, body := m.get(t, "/api/order/"+got.OrderID, false)
	if err := json.Unmarshal([]byte(body), &order); err != nil || order.Status != "completed" {
		t.Fatalf("the order stands at %s, %v", body, err)
	}
	l := order.Launch
	if l == nil || l.Verdict != "delivered" || l.Transaction == "" || l.USDC != "0.005" ||
		l.Network != m.nodes[0].Network.ID() || order.Breach != nil {
		t.Fatalf("came to %+v", l)
	}
	_, report := m.get(t, "/api/verify/"+l.AuditID, false)
	m.papers.verifies(t, got.name+"-report", report, l.AuditID)
	if !strings.Contains(report, `launch-check/v1`) || !strings.Contains(report, l.Transaction) {
		t.Errorf("the report: %.3000s", report)
	}
	m.certified(t, got)
}
