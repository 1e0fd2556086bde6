package shop

import (
	"math"
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

// TestKeepRoom: with room, garbage is collected less often, and as before afterwards.
func TestKeepRoom(t *testing.T) {
	const room = 256 << 20
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetGCPercent(percent)
	defer debug.SetMemoryLimit(limit)

	without := collections(1024)
	stop := KeepRoom(room)
	with := collections(1024)
	if kept := debug.SetMemoryLimit(-1); kept < room || kept > 100*room {
		t.Errorf("the limit is %d with a room of %d", kept, room)
	}
	stop()
	if without < 2*with {
		t.Errorf("%d collections with room, %d without", with, without)
	}
	asBefore := func(when string) {
		t.Helper()
		if percent := debug.SetGCPercent(100); percent != 100 {
			t.Errorf("%s: the percentage is %d", when, percent)
		}
		if limit := debug.SetMemoryLimit(math.MaxInt64); limit != math.MaxInt64 {
			t.Errorf("%s: the limit is %d", when, limit)
		}
	}
	runtime.GC()
	runtime.GC() // a cleanup that comes late changes nothing
	asBefore("stopped")
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "50")
			stop := KeepRoom(room)
			asBefore(name + " is set")
			stop()
		})
	}
}

// TestRoomFollowsWhatLives: the limit grows with what is held, so that the collector never runs for
// nothing.
func TestRoomFollowsWhatLives(t *testing.T) {
	const room = 32 << 20
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	k := &keptRoom{room: room}
	limit := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(limit)
	held := make([]byte, 96<<20)
	runtime.GC()
	k.adjust()
	if got := debug.SetMemoryLimit(-1); got < room+int64(len(held))*5/4 {
		t.Errorf("the limit is %d while %d live", got, len(held))
	}
	runtime.KeepAlive(held)
	k.stopped = true
	debug.SetMemoryLimit(math.MaxInt64)
	if k.adjust() || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Error("a keeper that was stopped changed the limit")
	}
}
