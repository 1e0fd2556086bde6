package evm_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/railtest"
)

func BenchmarkParse(b *testing.B) {
	h := openOn(b, 8453)
	data, want := h.Sign(terms(500_000)), h.rail.Requirement(500_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.rail.Parse(data, want); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	h := openOn(b, 8453)
	want := h.rail.Requirement(500_000)
	p, err := h.rail.Parse(h.Sign(terms(500_000)), want)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := h.rail.Verify(b.Context(), p, want, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSettle is whole payments, verify to proof, at 1 and 32 concurrent over one relayer on a
// chain that seals by itself.
func BenchmarkSettle(b *testing.B) {
	for _, concurrent := range []int{1, 32} {
		b.Run(fmt.Sprint(concurrent), func(b *testing.B) {
			n := chaintest.New(b, chaintest.Options{Lead: 1 << 20}) // never waits for the clock
			h := &harness{Net: n, t: b, cfg: config(b, n)}
			h.cfg.Poll = 5 * time.Millisecond
			r := newRail(b, h.cfg)
			ctx, cancel := context.WithCancel(context.Background())
			var watcher sync.WaitGroup
			watcher.Go(func() { r.Run(ctx) })
			defer watcher.Wait()
			defer cancel()
			seq := railtest.NewSequence()
			const amount = 1
			want := r.Requirement(amount)
			want.MaxTimeoutSeconds = 1 << 20 // the chain's clock runs ahead
			sales := make([]*rail.Payment, b.N)
			for i := range sales {
				t := railtest.Terms{Amount: amount, Buyer: i % 5, Before: time.Now().Add(200 * time.Hour)}
				p, err := r.Parse(h.Sign(t), want)
				if err != nil {
					b.Fatal(err)
				}
				sales[i] = p
			}
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range concurrent {
				wg.Go(func() {
					for {
						i := int(next.Add(1)) - 1
						if i >= len(sales) {
							return
						}
						if err := sell(ctx, r, seq, sales[i], want); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sales/s")
		})
	}
}

func sell(ctx context.Context, r rail.Rail, seq rail.Sequencer, p *rail.Payment, want rail.Requirement) error {
	mark, err := r.Verify(ctx, p, want, time.Now())
	if err != nil {
		return err
	}
	d, err := r.Draft(ctx, []*rail.Payment{p})
	if err != nil {
		return err
	}
	s, err := d.Sign(seq)
	if err != nil {
		return err
	}
	if err := r.Send(ctx, s); err != nil {
		return err
	}
	for {
		changed := r.Changed()
		f, err := r.Look(ctx, p, []rail.Signed{s}, mark, time.Now())
		if err != nil {
			return err
		}
		if f.State == rail.Paid {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(5 * time.Second):
			return fmt.Errorf("stays %s, %s", f.State, f.Advice)
		}
	}
}
