package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
)

// row is a promise: the store against a peer.
type row struct {
	name string
	what string // what of ours is measured
	peer string // what it is measured against
	unit string
	// ratio of ours to the peer's: at least the limit for a rate, at most for a time.
	limit  float64
	atMost bool
	open   func(context.Context, *lab) (*contest, error)
}

// contest is a row made ready. Each call is one run and returns its measurement in the row's unit.
type contest struct {
	ours, peer func(context.Context) (float64, error)
}

// rows are all promises.
var rows = []row{
	{"challenge", "402 with all extensions", "a bare net/http handler with the same bytes", "requests/s", 0.55, false,
		openChallenge},
	{"challenge-stock", "402 with all extensions", "the stock express seller", "requests/s", 10, false,
		openChallengeStock},
	{"static", "a static page", "Caddy's file server, precompressed", "requests/s", 1.0, false, openStatic},
	{"purchases-stock", "durable purchases, 32 at once", "the stock express seller as documented", "purchases/s", 6,
		false, openPurchasesStock},
	{"purchases-many", "durable purchases, 512 at once", "32 at once", "purchases/s", 0.8, false, openPurchasesMany},
	{"probe", "processor time of a live probe", "a bare GET over TLS", "ms", 1.6, true, openProbe},
	{"hosts", "pages of 10,000 hosts with 12 weeks", "Hugo 0.160 with the same data and sizes", "hosts/s", 3, false,
		openHosts},
	{"pages", "10,000 pages of prose, from start to end", "Hugo 0.160 with the same sources and sizes", "pages/s", 2,
		false, openPages},
	{"nothing", "nothing changed among 10,000 pages", "the full build", "s", 0.05, true, openNothing},
	{"rebuild", "one changed page among 10,000", "the full build", "s", 0.05, true, openRebuild},
	{"publish", "publishing 30,000 files", "git add and git commit", "s", 0.7, true, openPublish},
	{"seal", "sealing the 6th week of 100,000 hosts", "sealing their 2nd", "s", 1.2, true, openSeal},
	{"seal-memory", "peak memory of sealing the 6th week", "that of the 2nd", "MB", 1.2, true, openSealMemory},
	{"verify", "verifying a record of 120,000 rows", "ed25519 alone on all cores", "signatures/s", 0.6, false,
		openVerify},
}

func (r row) mark() string {
	if r.atMost {
		return fmt.Sprintf("<= %gx", r.limit)
	}
	return fmt.Sprintf(">= %gx", r.limit)
}

func (r row) holds(ratio float64) bool {
	if r.atMost {
		return ratio <= r.limit
	}
	return ratio >= r.limit
}

// result is what was measured of a row, run by run.
type result struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Limit  float64   `json:"limit"`
	AtMost bool      `json:"at_most"`
	Ours   []float64 `json:"ours"`
	Peer   []float64 `json:"peer"`
	Ratios []float64 `json:"ratios"` // of the pairs
	Ratio  float64   `json:"ratio"`  // their median
	Holds  bool      `json:"holds"`
}

// compare runs a row's two sides in turn.
func (l *lab) compare(ctx context.Context, r row, pairs int) (_ result, err error) {
	defer func() {
		if undone := l.undo(); err == nil {
			err = undone
		}
	}()
	c, err := r.open(ctx, l)
	if err != nil {
		return result{}, err
	}
	res := result{Name: r.name, Unit: r.unit, Limit: r.limit, AtMost: r.atMost}
	for i := range pairs {
		syscall.Sync() // what was written before goes to the disk on nobody's time
		ours, err := c.ours(ctx)
		if err != nil {
			return result{}, fmt.Errorf("our run %d: %w", i+1, err)
		}
		syscall.Sync()
		peer, err := c.peer(ctx)
		if err != nil {
			return result{}, fmt.Errorf("the peer's run %d: %w", i+1, err)
		}
		res.Ours, res.Peer, res.Ratios = append(res.Ours, ours), append(res.Peer, peer), append(res.Ratios, ours/peer)
		fmt.Fprintf(os.Stderr, "%s, pair %d: %.4g and %.4g %s, %.3gx\n", r.name, i+1, ours, peer, r.unit, ours/peer)
	}
	res.Ratio = median(res.Ratios)
	res.Holds = r.holds(res.Ratio)
	return res, nil
}

func (res result) text(r row) string {
	verdict := "MISS"
	if res.Holds {
		verdict = "PASS"
	}
	return fmt.Sprintf("%s  %-16s %.3gx (%.3g to %.3g), must be %s: %s %.4g %s (%.4g to %.4g), %s %.4g (%.4g to %.4g)",
		verdict, r.name, res.Ratio, slices.Min(res.Ratios), slices.Max(res.Ratios), r.mark(),
		r.what, median(res.Ours), r.unit, slices.Min(res.Ours), slices.Max(res.Ours),
		r.peer, median(res.Peer), slices.Min(res.Peer), slices.Max(res.Peer))
}

// median of at least one number.
func median(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
