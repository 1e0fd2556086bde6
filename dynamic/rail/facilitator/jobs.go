package facilitator

import (
	"context"
	"errors"
	"slices"
	"sync"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// job is the settlement of one authorization.
type job struct {
	*asked // by whoever asked for it first

	sent  chan struct{} // closed when its settlement was broadcast
	begun sync.Once     // closes sent

	mu     sync.Mutex // guards what follows
	last   Settled
	driver *driver       // nil while nobody drives
	looked chan struct{} // closed after the next look
}

// driver is one run of drive.
type driver struct {
	done chan struct{} // closed at its end
	err  error         // set before
	over chan struct{} // closed when the answer is known; filling a number may take longer
	end  sync.Once     // closes over
}

// paid reports whether the answer is that the payment succeeded.
func (j *job) paid() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last.Success
}

// jobOf is job for a request. One with another signature under way may turn out not to be signed by
// the payer: whoever sends a wrong one first must not make the right one a duplicate.
func (h *Handler) jobOf(ctx context.Context, a *asked) (j *job, found bool) {
	over, cancel := context.WithTimeout(ctx, maxBegin)
	defer cancel()
	for {
		j, found = h.job(a)
		if j == nil || same(j.p, a.p) {
			return j, found
		}
		d, _ := h.driver(j)
		wait(over, d.done, j.sent, maxBegin)
		if over.Err() != nil || h.has(j) {
			return j, found
		}
	}
}

// has reports whether a job is still the one of its authorization.
func (h *Handler) has(j *job) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.jobs[j.p.ClaimKey()] == j
}

// job is the settlement of an authorization, found or begun; nil where as many as are remembered
// are under way. One that is under way is never forgotten: it would be settled twice.
func (h *Handler) job(a *asked) (j *job, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := a.p.ClaimKey()
	if j := h.jobs[key]; j != nil {
		return j, true
	}
	if len(h.old) >= maxJobs {
		i := slices.IndexFunc(h.old, func(key string) bool { return !h.jobs[key].driven() })
		if i < 0 {
			return nil, false
		}
		delete(h.jobs, h.old[i])
		h.old = slices.Delete(h.old, i, i+1)
	}
	j = &job{asked: a, sent: make(chan struct{}), looked: make(chan struct{}),
		last: Settled{Network: a.want.Network, Payer: a.payer}}
	h.jobs[key] = j
	h.old = append(h.old, key)
	return j, false
}

// known reports whether there is a settlement for an authorization, in this process or in the
// ledger.
func (h *Handler) known(ctx context.Context, p *rail.Payment) (bool, error) {
	if h.remembers(p) {
		return true, nil
	}
	_, err := h.cfg.Settles.Load(ctx, settlementID(p))
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// remembers reports whether this process has a job for an authorization.
func (h *Handler) remembers(p *rail.Payment) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.jobs[p.ClaimKey()] != nil
}

func (h *Handler) forget(j *job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := j.p.ClaimKey()
	delete(h.jobs, key)
	h.old = slices.DeleteFunc(h.old, func(k string) bool { return k == key })
}
