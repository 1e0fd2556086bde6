package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/verify"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/buyer"
)

// passesCheckPay has the store take the acceptance test that it gives to other sellers.
func (s *stall) passesCheckPay(t *testing.T) {
	t.Parallel()
	key := keyFile(t, s.net.Buyers[4])
	node := s.nodes[0]
	for _, c := range []struct {
		protocol, good, max, failOn string
		price                       int64
	}{
		{"x402", "hello", "4.5", "not_ready,purchase,receipt,charged,lost-early", 500_000},
		{"mpp", "small_blessing", "0.05", "not_ready,purchase,charged,lost-early", 5_000}, // no receipt is signed
	} {
		before := node.Balance(s.net.Buyers[4].Address)
		var out, errs bytes.Buffer
		code := kit.Run(t.Context(), "check", []string{"-local", "-pay", key, "-pay-protocol", c.protocol, "-journal",
			t.TempDir(), "-rpc", node.URL, "-max-usd", c.max, "-fail-on", c.failOn, s.url + "/api/buy/" + c.good}, &out,
			&errs)
		if code != kit.ExitFine || strings.Count(out.String(), "pass  lost-") != 7 ||
			strings.Contains(out.String(), "pass  receipt") != (c.protocol == "x402") {
			t.Errorf("by %s: exit %d\n%s%s", c.protocol, code, out.Bytes(), errs.Bytes())
		}
		if got := before - node.Balance(s.net.Buyers[4].Address); got != 8*c.price {
			t.Errorf("by %s: charged %d for eight orders of %d", c.protocol, got, c.price)
		}
	}
}

// passesCheck has the store read its own doors as it reads those of others: all that its files
// declare, and every good bare and with the example that its shelf has.
func (s *stall) passesCheck(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	var each []string
	for _, g := range site.Goods {
		door, order := s.url+"/api/buy/"+g.ID, url.Values{}
		for _, in := range g.Example() {
			order.Set(in.Name, in.Example)
		}
		if each = append(each, door); len(order) > 0 {
			each = append(each, door+"?"+order.Encode())
		}
	}
	for name, c := range map[string]struct {
		args  []string
		least int
	}{"declared": {[]string{"-drift", "-discover", s.url}, declarations.MaxOwn}, "goods": {each, 55}} {
		var out, errs bytes.Buffer
		code := kit.Run(t.Context(), "check", append([]string{"-local", "-json"}, c.args...), &out, &errs)
		var reports []probe.Report
		if err := json.Unmarshal(out.Bytes(), &reports); err != nil || code != kit.ExitFine || len(reports) < c.least {
			t.Errorf("%s: exit %d, %d reports, %v\n%s", name, code, len(reports), err, errs.Bytes())
		}
		for _, r := range reports {
			if r.Verdict != probe.Ready || r.Fault != probe.FaultNone {
				t.Errorf("%s: %s, fault %s, status %d", r.URL, r.Verdict, r.Fault, r.Evidence.Status)
			}
		}
	}
}

// sellsWhatNeedsOthers buys what a store makes with the help of others, whom every run has beside
// it: a calendar, a door, and the wallet that buys there.
func (s *stall) sellsWhatNeedsOthers(t *testing.T) {
	t.Parallel()
	key, err := wallet.ParseKey(s.net.Buyers[2].Hex())
	if err != nil {
		t.Fatal(err)
	}
	b, err := buyer.New(buyer.Config{Wallet: key, Ceiling: 5 * content.USDC, Journal: buyer.Folder(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	for door, says := range map[string]string{
		"bitcoin_anchor?digest=" + strings.Repeat("ab", 32):                    `"artifact_class":"bitcoin_anchor"`,
		"launch_check?url=" + url.QueryEscape("https://shop.example/api/paid"): `"order_url":`,
	} {
		at := s.url + "/api/buy/" + door
		terms, err := b.Terms(t.Context(), at, buyer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Buy(t.Context(), at, buyer.Options{Agreed: terms})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got.Body), says) {
			t.Errorf("%s: %s", door, got.Body)
		}
	}
}

// keyFile writes a key as its owner keeps it.
func keyFile(t *testing.T, key chaintest.Key) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "wallet.key")
	if err := os.WriteFile(file, []byte(key.Hex()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// keygenText is a key as solana-keygen writes it.
func keygenText(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	var numbers []int
	for _, b := range key {
		numbers = append(numbers, int(b))
	}
	text, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keygenFile writes a key as solana-keygen does.
func keygenFile(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "solana.json")
	if err := os.WriteFile(file, []byte(keygenText(t, key)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCheckPayOnSolana has the acceptance test taken on Solana: by the store, and by a door before
// it that forgets which orders it had, and so charges for one of them twice. What the chain was
// asked is what the wallet has less.
func TestCheckPayOnSolana(t *testing.T) {
	s, c := openFive(t)
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	forgets := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if payment := r.Header.Get("Payment-Signature"); payment != "" {
			sum := sha256.Sum256([]byte(payment))
			r.Header.Set("Idempotency-Key", "another_"+hex.EncodeToString(sum[:16]))
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(forgets.Close)
	for i, door := range []struct {
		url     string
		args    []string
		want    int
		charged int64
		says    []string
	}{
		{s.url, []string{"-solana-rpc", c.URL, "-fail-on", "not_ready,purchase,receipt,charged,lost-early"},
			kit.ExitFine, 8, []string{"pass  receipt", "pass  charged", "pass  lost-fresh-402"}},
		{s.url, nil, kit.ExitFine, 8, []string{"pass  receipt", "no node was named", "pass  lost-fresh-402"}},
		{forgets.URL, []string{"-solana-rpc", c.URL}, kit.ExitFound, 9,
			[]string{"FAIL  lost-fresh-402", "2 payments of it as settled", "charged 0.01 USDC for an order of 0.005"}},
		{forgets.URL, nil, kit.ExitFound, 9, []string{"FAIL  lost-fresh-402", "charged twice by the door's own words"}},
		{s.url, []string{"-solana-rpc", c.URL, "-max-usd", "0.012"}, kit.ExitFine, 2,
			[]string{"not reached: max-usd: the cap leaves no room"}},
	} {
		before, err := c.balance(c.buyers[i])
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		args := append([]string{"-local", "-pay", keygenFile(t, c.buyers[i]), "-pay-network", networks.Solana,
			"-journal", t.TempDir(), "-max-usd", "0.045"}, door.args...)
		code := kit.Run(t.Context(), "check", append(args, door.url+"/api/buy/small_blessing"), &out, &errs)
		after, err := c.balance(c.buyers[i])
		if err != nil {
			t.Fatal(err)
		}
		if code != door.want || before-after != door.charged*5_000 {
			t.Errorf("door %d: exit %d, charged %d\n%s%s", i, code, before-after, out.Bytes(), errs.Bytes())
		}
		for _, want := range door.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("door %d does not say %q:\n%s", i, want, out.Bytes())
			}
		}
	}
}

// TestCheckPublishes has a seller buy at his own door and tell the store of it: the door is read by
// the store under its own name, the purchase from its chain, and it stands on the record that the
// store publishes, told as by the seller.
func TestCheckPublishes(t *testing.T) {
	s := openStall(t)
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	// The store by https, whose chains go on by the time that it is told.
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range chain.DefaultFinalDepth {
			s.seal()
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	var near fetch.Config
	s.reach(&near)
	roots := near.Roots.Clone()
	roots.AddCert(front.Certificate())
	way := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == to.Host {
				return (&net.Dialer{}).DialContext(ctx, network, front.Listener.Addr().String())
			}
			return near.Dialer.DialContext(ctx, network, netip.AddrPortFrom(neighbourhood, 443).String())
		}}
	const door = "https://" + exampleShop + "/api/paid"
	var out, errs bytes.Buffer
	code := kit.Program{Name: "check", Reach: s.reach, Transport: way}.Run(t.Context(), []string{"-pay",
		keyFile(t, s.net.Buyers[0]), "-journal", t.TempDir(), "-max-usd", "0.045", "-publish", "https://" + to.Host,
		"-fail-on", "goods,settlement", // receipts are signed by the store behind the door
		door + "?agent_name=private"}, &out, &errs)
	_, answer, taken := strings.Cut(errs.String(), "-publish: taken: ")
	var got bounty.Reported
	if err := json.Unmarshal([]byte(answer), &got); err != nil || code != kit.ExitFine || !taken {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out.Bytes(), errs.Bytes())
	}
	if _, err := shop.ExportObservations(t.Context(), s.cfg); err != nil {
		t.Fatal(err)
	}
	ring, err := shop.Ring(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	feed, err := record.ReadObservations(os.DirFS(s.cfg.Record), ring)
	if err != nil {
		t.Fatal(err)
	}
	book := derive.Book{Feed: feed}
	v := book.Purchases()
	i := slices.IndexFunc(v.Newest, func(p derive.Purchase) bool {
		return fmt.Sprintf("observation_%d", p.Observation) == got.Observation
	})
	if i < 0 {
		t.Fatalf("the record has %+v, and not %s", v.Newest, got.Observation)
	}
	p := v.Newest[i]
	if p.URL != door || p.By != record.BoughtBySeller || p.Outcome != derive.OutcomeDelivered || p.USDC != "0.005" ||
		p.ChargedTwice != record.ChargedNo || p.Claim.Status != http.StatusOK || len(p.Claim.BodySHA256) != 64 ||
		v.All.BySellers.Delivered < 1 || v.All.BySellers.AskedTwice < 1 { // the stall is that of every test
		t.Errorf("on the record: %+v, %+v", p, p.Claim)
	}
	if r, err := verify.Record(t.Context(), os.DirFS(s.cfg.Record), ring, verify.RecordOptions{}); err != nil ||
		len(r.Problems) != 0 {
		t.Errorf("the record does not hold: %+v, %v", r.Problems, err)
	}
}
