package shop

import (
	"runtime"
	"runtime/debug"
	"testing"
)

var garbage []byte

// collections counts them while n MB of garbage are made.
func collections(n int) uint32 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		garbage = make([]byte, 1<<20)
	}
	garbage = nil
	runtime.ReadMemStats(&after)
	return after.NumGC - before.NumGC
}

// TestKeepRoom: with room, garbage is collected about once for each time that it fills it, and as before afterwards.
func TestKeepRoom(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	without := collections(512)
	stop := KeepRoom(64 << 20)
	with := collections(512)
	stop()
	if after := debug.SetGCPercent(100); after != 100 {
		t.Errorf("afterwards the percentage is %d", after)
	}
	// 512 MB are eight times the room; the collector begins a little early.
	if with > 16 || without < 2*with {
		t.Errorf("%d collections with room, %d without", with, without)
	}
	t.Setenv("GOGC", "50")
	KeepRoom(64 << 20)()
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC is set, and the percentage became %d", got)
	}
}
