package till_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
)

// Whoever had thirty payments refused within a minute has few checked at a time, and those beyond
// are told so before anything is claimed; a wallet that has paid here is not kept waiting (M15).
func TestPaymentsThatAreRefusedHaveABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true})}
		m.calm.Store(true)
		m.start(site)
		defer func() { m.stop() }()
		if r := m.pay(hello, "friend", nil); r.Status != 200 {
			t.Fatalf("an honest wallet = %d %s", r.Status, r.Raw)
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		present := func(payer string) tilltest.Reply {
			r, _ := m.do(hello, nil)
			ch := tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED"))
			s := m.signed(hello, payer, rand.Text(), ch, 10*time.Minute)
			r, _ = m.do(hello, map[string]string{"PAYMENT-SIGNATURE": s.header})
			return r
		}
		m.chain.mu.Lock()
		for i := range 40 {
			m.chain.poor[fmt.Sprint("poor-", i)] = true
		}
		m.chain.mu.Unlock()
		for i := range 30 {
			if r := present(fmt.Sprint("poor-", i)); r.Status != 402 {
				t.Fatalf("payment %d without money = %d %s", i, r.Status, r.Raw)
			}
		}
		m.chain.lag = func(call string) {
			if strings.HasPrefix(call, "verify poor") {
				time.Sleep(8 * time.Second)
			}
		}
		answers := make([]tilltest.Reply, 10)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = present(fmt.Sprint("poor-", 30+i)) })
		}
		synctest.Wait()
		if r := m.pay(hello, "friend", nil); r.Status != 200 {
			t.Errorf("one who has paid here = %d %s", r.Status, r.Raw)
		}
		wg.Wait()
		told := map[int]int{}
		for _, r := range answers {
			told[r.Status]++
			if r.Status == 429 && (r.Str("billed") != "no" || r.Str("retry") != "after" ||
				r.Header.Get("Retry-After") == "") {
				t.Errorf("a payment that is not looked at = %s", r.Raw)
			}
		}
		if told[402] != 4 || told[429] != 6 {
			t.Errorf("ten more at once are answered %v, want four 402 and six 429", told)
		}
	})
}

// A payment in a field that is not read is refused, and never answered as if none had come.
func TestPaymentsInOtherFields(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true})}
		m.calm.Store(true)
		m.start(site)
		defer func() { m.stop() }()
		for name, value := range map[string]string{"X-PAYMENT": "eyJ4NDAyVmVyc2lvbiI6MX0=",
			"Authorization": "Basic dTpw, Payment eyJ9"} {
			r, _ := m.do(hello, map[string]string{name: value})
			if r.Status != 402 || !strings.Contains(r.Str("type"), "payment_invalid") || r.Str("billed") != "no" ||
				!strings.Contains(r.Str("detail"), "payment in "+name) || r.Header.Get("PAYMENT-REQUIRED") == "" {
				t.Errorf("%s = %d %s", name, r.Status, r.Raw)
			}
		}
	})
}

// A request that brings no input sees the terms of a good that needs some, and what it needs;
// nothing is bought by it, and one that brings some and not all is refused.
func TestTermsForWhoBringsNoInputs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true})}
		m.calm.Store(true)
		m.start(site)
		defer func() { m.stop() }()
		const path = "/api/buy/dibs"
		r, _ := m.do(path, nil)
		g, _ := site.Good("dibs")
		needs, _ := r.Body["inputs_required"].([]any)
		if r.Status != 402 || len(needs) != 1 || needs[0].(map[string]any)["name"] != "detail" ||
			needs[0].(map[string]any)["example"] != g.Inputs[0].Example || r.Header.Get("PAYMENT-REQUIRED") == "" {
			t.Fatalf("nothing asked = %d %s", r.Status, r.Raw)
		}
		ch := tilltest.DecodeChallenge(t, r.Header.Get("PAYMENT-REQUIRED"))
		s := m.signed(path, "buyer", rand.Text(), ch, time.Minute)
		for name, c := range map[string]struct {
			path   string
			header map[string]string
		}{
			"paid without inputs": {path, map[string]string{"PAYMENT-SIGNATURE": s.header}},
			"some and not all":    {path + "?source=here", nil},
			"blanks":              {path + "?detail=%20%20", nil},
		} {
			r, _ := m.do(c.path, c.header)
			if r.Status != 400 || c.header != nil && r.Str("billed") != "no" || r.Body["inputs_required"] != nil {
				t.Errorf("%s = %d %s", name, r.Status, r.Raw)
			}
		}
		r, _ = m.do(path+"?detail=mine", nil)
		if r.Status != 402 || r.Body["inputs_required"] != nil {
			t.Errorf("with its inputs = %d %s", r.Status, r.Raw)
		}
	})
}
