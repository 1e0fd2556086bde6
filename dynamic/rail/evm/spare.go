package evm

import (
	"math/big"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// A purchase simulates its payment in Verify and settles it a moment later. Asking the node once
// more what it just said is most of what a settlement costs it, as an estimate runs the transfer
// many times over. So the first draft of a payment is spared the questions whose answers are fresh;
// every other draft, above all one that follows a settlement which came to nothing, asks them all.

const (
	// simulationFresh is how long a simulation speaks for the draft after it.
	simulationFresh = 2 * time.Second
	// readingFresh is how long an estimate and the relayer's account are believed. An estimate on a
	// rollup holds the price of its data on the layer below, which moves slowly.
	readingFresh = 5 * time.Second
	// maxSimulated bounds the memory of simulations.
	maxSimulated = 4096
)

// reading is what one draft asked of the node.
type reading struct {
	at      time.Time
	gas     uint64 // a payer without code, as all transfers from such accounts take about the same
	pending counts
	balance map[string]*big.Int
	data    *big.Int // fee for its data on the layer below, in wei
}

// simulation notes when the node would have taken a payment, at which block or a later one.
type simulation struct {
	at    time.Time
	block uint64
}

// simulated notes that the node would have taken a payment of a payer without code at a block or a
// later one.
func (r *Rail) simulated(p *rail.Payment, block uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.simulations) >= maxSimulated {
		clear(r.simulations)
	}
	r.simulations[p.ClaimKey()] = simulation{time.Now(), block}
}

// fresh takes the note of a payment's simulation, which serves once. It is nothing where the
// watcher does not follow the chain, is behind what a look has seen of it, or has seen the
// authorization spent, or another of the payer's since: that may have taken the money.
func (r *Rail) fresh(p *rail.Payment) bool {
	now, key := time.Now(), p.ClaimKey()
	r.mu.Lock()
	sim, noted := r.simulations[key]
	delete(r.simulations, key)
	looked := r.looked
	r.mu.Unlock()
	if !noted || now.Sub(sim.at) > simulationFresh {
		return false
	}
	if x, live := r.index.state(now, r.patience()); !live || x.head.Number < looked {
		return false
	}
	a := authorizationOf(p)
	_, spent := r.index.find(a)
	return !spent && !r.index.spends(a.payer, sim.block)
}

// lately is the newest reading, if it is fresh.
func (r *Rail) lately() (reading, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest, time.Since(r.newest.at) < readingFresh
}

// learn keeps a reading. An estimate that was higher within the time it is believed stands, since
// payments differ a little.
func (r *Rail) learn(d reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.at.Sub(r.newest.at) < 2*readingFresh {
		d.gas = max(d.gas, r.newest.gas)
	}
	r.newest = d
}
