package shop

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// BuildRoom is how many bytes of garbage a process that builds a site lets stand at least.
const BuildRoom = 128 << 20

// KeepRoom lets at least room bytes be allocated between two collections of garbage, where the runtime's own measure is
// as much as lives: a build holds little and makes many short-lived pages. It is for a whole process, until the returned
// function is called, and does nothing where GOGC is set in the environment.
func KeepRoom(room uint64) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	k := &keeper{room: room, before: debug.SetGCPercent(100)}
	debug.SetGCPercent(k.before)
	k.adjust()
	k.watch()
	return func() {
		k.stopped.Store(true)
		debug.SetGCPercent(k.before)
	}
}

type keeper struct {
	room    uint64
	before  int
	stopped atomic.Bool
}

// watch adjusts after the next collection, in which an object that nobody holds goes, and watches on.
func (k *keeper) watch() {
	runtime.AddCleanup(new([64]byte), func(k *keeper) {
		if !k.stopped.Load() {
			k.adjust()
			k.watch()
		}
	}, k)
}

// adjust says how much may be allocated, as a percentage of what lived in the last collection.
func (k *keeper) adjust() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	live := max(sample[0].Value.Uint64(), 1<<20)
	debug.SetGCPercent(max(k.before, int(k.room*100/live)))
}
