// Package keeper is what the keeper of a store reads and decides by: what waits for the human
// today, what is owed, what was sold, and whether ledger and chains agree. It knows no HTTP:
// package keeper shows it, and cmd prints it.
//
// It reads the till and the ledger, and moves no purchase. What strangers wrote passes through
// package screen on its way to a screen.
package keeper

import (
	"sync"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// Config is what an inbox stands on. Till, DB and Rails are required.
type Config struct {
	Till  *till.Till
	DB    ledger.DB
	Rails []rail.Rail
	// Rows are the kinds of what waits, in their order; nil means [Rows].
	Rows []Row
	// Refusals are the payments that were refused; nil is none.
	Refusals *Refusals
	// Past says when what is not in the ledger was last done, such as the census; nil says nothing.
	Past func() []Past
}

// Inbox is the keeper's desk.
type Inbox struct {
	cfg Config

	mu    sync.Mutex
	found map[string]Books // by month, of comparisons that found something; guarded by mu
}

// New makes an inbox.
func New(cfg Config) *Inbox {
	if cfg.Rows == nil {
		cfg.Rows = Rows
	}
	return &Inbox{cfg: cfg, found: make(map[string]Books)}
}

// Refusals counts the payments that this process refused, by reason. Nothing of them is
// written anywhere: whoever is refused would write at no cost.
type Refusals struct {
	since time.Time

	mu    sync.Mutex
	count map[string]int // guarded by mu
}

// refusalsKept bounds the reasons that are told apart: a facilitator words its own.
const refusalsKept = 100

// NewRefusals begins to count.
func NewRefusals() *Refusals {
	return &Refusals{since: time.Now().UTC(), count: make(map[string]int)}
}

// Add counts a refusal.
func (r *Refusals) Add(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.count[reason]; !known && len(r.count) >= refusalsKept {
		reason = "other"
	}
	r.count[reason]++
}
