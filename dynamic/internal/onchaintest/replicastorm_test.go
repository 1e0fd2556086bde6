package onchaintest_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger/ledgertest"
)

// Three processes share a ledger on PostgreSQL and one relayer's account, and settle several in one
// transaction, each by a node of its own that loses answers, is late by a block and says that
// numbers are used up that are not, while the chain takes blocks back. Ledger, chain and answers
// agree to the atomic unit.
func TestThreeProcessesInAStorm(t *testing.T) {
	t.Parallel()
	replicaStorm(t, 4)
}

// STORE_SOAK=1 does it for long.
func TestSoakThreeProcesses(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("it takes minutes; set STORE_SOAK=1")
	}
	for range 10 {
		replicaStorm(t, 12)
	}
}

// astray is a node's rule: of what is sent it takes little for granted.
func astray(methods []string) fault {
	sends := slices.Contains(methods, sendTx)
	switch n := rand.IntN(100); {
	case n < 5:
		return drop
	case n < 10:
		return late
	case sends && n < 30:
		return lose
	case sends && n < 40:
		return lie
	}
	return pass
}

func replicaStorm(t *testing.T, rounds int) {
	v := newVictims(t, 60)
	v.ledger = ledgertest.Postgres(t)
	var nodes []*proxy
	var stores []*child
	for range 3 {
		p := newProxy(t, v.net.URL)
		nodes = append(nodes, p)
		stores = append(stores, v.start(childConfig{RPC: p.URL}))
	}
	v.net.SetAutomine(false)
	ended := make(chan struct{})
	var weather sync.WaitGroup
	weather.Go(func() { v.weather(nodes, ended) })
	for range rounds {
		var all []*order
		var at []*child
		for i := range 24 {
			k := stores[i%len(stores)]
			if o, ok := v.order(k, "/api/buy/"+[]string{"hello", "small_blessing", "daily_fortune"}[i%3]); ok {
				all, at = append(all, o), append(at, k)
			}
		}
		for _, p := range nodes {
			p.set(astray)
		}
		var wg sync.WaitGroup
		for i, o := range all {
			wg.Go(func() {
				if err := v.present(at[i], o); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, p := range nodes { // terms are given by a network that can be read
			p.always(pass)
		}
	}
	close(ended)
	weather.Wait()
	v.net.SetAutomine(true)
	for _, k := range stores {
		v.shut(k)
	}
	v.finish()
	n, bodies := v.multicalls(), 0
	for _, o := range v.orders {
		if o.body != nil {
			bodies++
		}
	}
	t.Logf("%d orders, %d delivered, %d transactions for several", len(v.orders), bodies, n)
	if n < rounds || bodies < len(v.orders)/2 {
		t.Errorf("%d orders, %d delivered, %d transactions for several: it shows little", len(v.orders), bodies, n)
	}
}

// weather seals what waits, and now and then takes the newest block back, with or without what it
// held.
func (v *victims) weather(nodes []*proxy, ended <-chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		if len(v.pool()) > 0 {
			v.net.Seal()
		}
		if rand.IntN(12) == 0 && v.net.Head().Number.Uint64() > 2 {
			if err := v.net.Reorg(v.net.Head().Number.Uint64() - 1); err != nil {
				v.t.Error(err)
			}
			if rand.IntN(2) == 0 {
				v.net.Drop()
			}
		}
		for _, p := range nodes {
			p.sealed()
		}
	}
}
