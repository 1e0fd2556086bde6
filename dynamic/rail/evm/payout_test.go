package evm_test

import (
	"testing"
	"time"

	"store.example/agentstore/dynamic/rail/evm"
)

// The first block of a time is found, and one more than the newest where there is none.
func TestFirstAt(t *testing.T) {
	t.Parallel()
	h := openOn(t, 8453)
	r := h.Rail().(*evm.Rail)
	for range 3 {
		h.Net.Pass(10 * time.Second)
	}
	head := h.Net.Pass(10 * time.Second)
	number, at := head.Number.Uint64(), time.Unix(int64(head.Time), 0)
	for _, c := range []struct {
		at   time.Time
		want uint64
	}{{at, number}, {at.Add(-time.Second), number}, {at.Add(time.Second), number + 1}, {time.Unix(0, 0), 0}} {
		if got, err := r.FirstAt(t.Context(), c.at); err != nil || got != c.want {
			t.Errorf("at %s: %d, %v; want %d", c.at, got, err, c.want)
		}
	}
}
