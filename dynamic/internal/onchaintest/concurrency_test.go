package onchaintest_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/tilltest"

	"github.com/google/go-cmp/cmp"
)

// atOnce sends requests together, each from a goroutine of its own, and returns their answers in
// order.
func (s *shop) atOnce(n int, path func(int) string, header func(int) map[string]string) []tilltest.Reply {
	s.t.Helper()
	out := make([]tilltest.Reply, n)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		p, h := path(i), header(i)
		wg.Go(func() {
			<-start
			r, err := s.try("GET", p, h)
			if err != nil {
				s.t.Error(err)
			}
			out[i] = r
		})
	}
	close(start)
	wg.Wait()
	return out
}

func TestSamePaymentFiftyTimesAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{})
	const path = "/api/buy/small_blessing"
	h := map[string]string{"PAYMENT-SIGNATURE": s.pay(s.challenge(path), 0, s.net.Buyers[0])}
	rs := s.atOnce(50, func(int) string { return path }, func(int) map[string]string { return h })
	firsts := 0
	for _, r := range rs {
		s.want("one of fifty", r, 200, "")
		if r.Body["idempotent_replay"] == false {
			firsts++
		} else if r.Str("first_served_at") == "" || r.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("a repeat does not say so: %v", r.Header)
		}
		if d := cmp.Diff(tilltest.PlainBody(rs[0]), tilltest.PlainBody(r)); d != "" {
			t.Errorf("answers differ: %s", d)
		}
	}
	if firsts != 1 {
		t.Errorf("%d answers say they are the first, want 1", firsts)
	}
	if got := s.net.Balance(s.net.PayTo); got != 5000 {
		t.Errorf("payTo received %d, want 5000", got)
	}
	if n := s.relayed(); n != 1 {
		t.Errorf("%d settlements on chain, want 1", n)
	}
	if n := s.audit(); n != 1 {
		t.Errorf("%d certificates, want 1", n)
	}
}

func TestFiftyPaymentsAtOnce(t *testing.T) {
	t.Parallel()
	for _, buyers := range []int{1, 5} {
		t.Run(fmt.Sprintf("of %d buyers", buyers), func(t *testing.T) {
			s := newShop(t, shopOptions{networks: []uint64{8453, 137}})
			path := func(i int) string { return fmt.Sprintf("/api/buy/hello?agent_name=buyer-%d", i) }
			headers := make([]map[string]string, 50)
			for i := range headers {
				headers[i] = map[string]string{"PAYMENT-SIGNATURE": s.pay(s.challenge(path(i)), i%2,
					s.net.Buyers[i%buyers])}
			}
			rs := s.atOnce(50, path, func(i int) map[string]string { return headers[i] })
			var numbers []int
			for i, r := range rs {
				s.want(fmt.Sprintf("payment %d", i), r, 200, "")
				if got, want := r.Str("certificate", "name"), fmt.Sprintf("buyer-%d", i); got != want {
					t.Errorf("payment %d got the certificate of %q", i, got)
				}
				numbers = append(numbers, int(r.Body["patron_number"].(float64)))
			}
			slices.Sort(numbers)
			for i, n := range numbers {
				if n != i+1 {
					t.Fatalf("patron numbers = %v, want 1 to 50", numbers)
				}
			}
			if n := s.audit(); n != 50 {
				t.Errorf("%d patron numbers in the ledger, want 50", n)
			}
		})
	}
}

func TestLastUnit(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{site: tilltest.Scarce(t, map[string]int{"drawer": 1})})
	const path, key = "/api/buy/the_drawer", "the-last-one-in-it"
	ch := s.challenge(path)
	headers := make([]map[string]string, 25)
	for i := range headers {
		headers[i] = map[string]string{"PAYMENT-SIGNATURE": s.pay(ch, 0, s.net.Buyers[i%5]),
			"Idempotency-Key": fmt.Sprintf("%s-%02d", key, i)}
	}
	rs := s.atOnce(len(headers), func(int) string { return path }, func(i int) map[string]string { return headers[i] })
	won := -1
	for i, r := range rs {
		if r.Status == 200 {
			if won >= 0 {
				t.Fatalf("buyers %d and %d both got the last one", won, i)
			}
			won = i
			continue
		}
		s.want("a loser", r, 409, "sold_out")
		if r.Str("billed") != "no" || r.Body["delivered"] != false {
			t.Errorf("a loser is told %s", r.Raw)
		}
	}
	if won < 0 {
		t.Fatal("nobody got the last one")
	}
	if got := s.net.Balance(s.net.PayTo); got != 9_000_000 {
		t.Errorf("payTo received %d, want 9000000", got)
	}

	r := s.do("GET", path, nil)
	s.want("asking for the terms of what is gone", r, 409, "sold_out")
	if r.Header.Get("PAYMENT-REQUIRED") != "" {
		t.Error("sold out comes with terms to sign")
	}
	for i := range 3 {
		again := s.do("GET", path, headers[won])
		s.want(fmt.Sprintf("the winner's repeat %d", i), again, 200, "")
		if d := cmp.Diff(tilltest.PlainBody(rs[won]), tilltest.PlainBody(again)); d != "" {
			t.Errorf("the repeat differs: %s", d)
		}
	}

	// A fresh authorization with the same key opens the slot, with money in the wallet and without.
	buyer := s.net.Buyers[won%5]
	slot := headers[won]["Idempotency-Key"]
	fresh := s.sign(ch, 0, buyer, nil)
	s.want("the winner's fresh authorization", s.present(path, fresh, "Idempotency-Key", slot), 200, "")
	tx := s.net.Send(buyer, s.net.Asset,
		token.PayCall(s.net.Minter.Address, s.net.Authorize(buyer.Address, s.net.PayTo,
			s.net.Balance(buyer.Address)).Value))
	s.net.Await(tx.Hash())
	empty := s.sign(ch, 0, buyer, nil)
	r = s.present(path, empty, "Idempotency-Key", slot)
	s.want("the winner with an empty wallet", r, 200, "")
	if d := cmp.Diff(tilltest.PlainBody(rs[won]), tilltest.PlainBody(r)); d != "" {
		t.Errorf("the empty wallet gets another body: %s", d)
	}
	s.want("the winner with an empty wallet and another key", s.present(path, s.sign(ch, 0, buyer, nil),
		"Idempotency-Key", slot+"x"), 409, "sold_out")
	for _, p := range []payment{fresh, empty} {
		if s.net.Used(p.From, p.Nonce) {
			t.Error("an authorization that came with a repeat was settled")
		}
	}
	s.audit()
}
