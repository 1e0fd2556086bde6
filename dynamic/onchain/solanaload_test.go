package onchain_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/svm"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/dynamic/till/tilltest"
)

// A store sells on Solana no less than six tenths of what a loader gets into blocks that makes the
// same calls to the node and nothing else: it simulates each payment, sends it, and asks what
// became of all that it sent. They take turns, each on a cluster of its own.
func TestSoakSolana(t *testing.T) {
	soak(t)
	const atOnce, n = 128, 1024
	var ratios []float64
	for range 3 {
		store, loader := sellOnSolana(t, atOnce, n), loadSolana(t, atOnce, n)
		t.Logf("%d at once: the store sells %.1f/s, the loader lands %.1f/s, ratio %.2f", atOnce, store, loader,
			store/loader)
		ratios = append(ratios, store/loader)
	}
	slices.Sort(ratios)
	if ratios[1] < 0.6 {
		t.Errorf("%.2f of what the loader lands, want 0.6", ratios[1])
	}
}

// poll is how often both ask what became of what was sent.
const poll = 100 * time.Millisecond

// at runs f for each of n, so many at once, and returns how many a second ended.
func at(atOnce, n int, f func(i int)) float64 {
	var next atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range atOnce {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
	return float64(n) / time.Since(began).Seconds()
}

func sellOnSolana(t *testing.T, atOnce, count int) float64 {
	n := newSolanaNet(t, slot, 512)
	cfg := n.config()
	cfg.Poll = poll
	r, err := solana.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t, shopOptions{more: []rail.Rail{r}, config: func(c *till.Config) {
		c.MaxInFlight, c.Patience = 512, 0 // as a store is configured
	}})
	defer s.stop()
	const path = "/api/buy/hello"
	orders := make([]*http.Request, count)
	for i := range orders { // each for a challenge of its own
		var err error
		if orders[i], err = s.request("GET", path, map[string]string{
			"PAYMENT-SIGNATURE": n.pay(s.challenge(path), n.buyers[i%len(n.buyers)]),
			"Idempotency-Key":   fmt.Sprintf("an order on Solana %d", i),
		}); err != nil {
			t.Fatal(err)
		}
	}
	answers := make([]tilltest.Reply, count)
	rate := at(atOnce, count, func(i int) {
		var err error
		if answers[i], err = answerTo(orders[i]); err != nil || answers[i].Status != 200 {
			t.Errorf("purchase %d: %d %s, %v", i, answers[i].Status, answers[i].Raw, err)
		}
	})
	for i := range answers {
		s.judge(orders[i], &answers[i])
	}
	if n.audit(s.db) != count {
		t.Error("not all was sold")
	}
	return rate
}

func loadSolana(t *testing.T, atOnce, count int) float64 {
	n := newSolanaNet(t, slot, 512)
	e := map[string]any{"network": networks.Solana, "amount": "500000", "asset": n.mint,
		"payTo": solanaAddress(n.payTo)}
	payments := make([][]byte, count)
	for i := range payments {
		e["extra"] = map[string]any{"feePayer": solanaAddress(n.feePayer), "memo": fmt.Sprint("payment ", i)}
		payments[i] = n.sign(e, n.buyers[i%len(n.buyers)])
	}
	l := &loader{n: n, waiting: map[string]chan struct{}{}}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); l.watch(over) }()
	rate := at(atOnce, count, func(i int) { l.pay(payments[i], n.feePayer) })
	close(over)
	<-ended
	if got := n.balance(n.payTo); got != int64(count)*500_000 {
		t.Errorf("payTo received %d of %d payments", got, count)
	}
	return rate
}

// loader gets payments into blocks.
type loader struct {
	n       *solanaNet
	mu      sync.Mutex
	waiting map[string]chan struct{} // by signature
}

func (l *loader) pay(wire []byte, feePayer ed25519.PrivateKey) {
	var simulated struct{ Value struct{ Err any } }
	l.n.Do(&simulated, "simulateTransaction", base64.StdEncoding.EncodeToString(wire), map[string]any{
		"encoding": "base64", "commitment": "confirmed", "sigVerify": false, "replaceRecentBlockhash": false})
	if simulated.Value.Err != nil {
		l.n.t.Errorf("a simulation fails of %v", simulated.Value.Err)
		return
	}
	whole, id := svm.Cosign(wire, feePayer)
	landed := make(chan struct{})
	l.mu.Lock()
	l.waiting[id] = landed
	l.mu.Unlock()
	l.n.Do(nil, "sendTransaction", base64.StdEncoding.EncodeToString(whole), map[string]any{"encoding": "base64",
		"skipPreflight": true})
	<-landed
}

// watch asks for what was sent, all at once, until it is over.
func (l *loader) watch(over chan struct{}) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		var ids []string
		l.mu.Lock()
		for id := range l.waiting {
			ids = append(ids, id)
		}
		l.mu.Unlock()
		if len(ids) == 0 {
			continue
		}
		var out struct {
			Value []*struct{ ConfirmationStatus string }
		}
		l.n.Do(&out, "getSignatureStatuses", ids, map[string]any{"searchTransactionHistory": false})
		l.mu.Lock()
		for i, s := range out.Value {
			if s != nil && s.ConfirmationStatus != "processed" {
				close(l.waiting[ids[i]])
				delete(l.waiting, ids[i])
			}
		}
		l.mu.Unlock()
	}
}
