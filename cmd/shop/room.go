package shop

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// BuildRoom is how many bytes of garbage a process that builds a site lets stand at least.
const BuildRoom = 128 << 20

// KeepRoom has garbage collected when the process holds room bytes more than one and a quarter
// times what lived at the last collection. The runtime's own measure, twice what lived, collects
// too often while a build holds little, since it makes many short-lived pages, and lets much stand
// where a large record is held. The room is for a whole process, until the returned function is
// called, and there is none where GOGC or GOMEMLIMIT is set in the environment: somebody has
// chosen.
func KeepRoom(room uint64) (stop func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	k, limit, percent := &keptRoom{room: room}, debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	k.adjust()
	k.watch()
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.stopped = true
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// keptRoom is a room that is kept.
type keptRoom struct {
	room uint64

	mu      sync.Mutex
	stopped bool
}

// watch adjusts after the next collection, in which an object that nobody holds goes, and watches
// on.
func (k *keptRoom) watch() {
	runtime.AddCleanup(new([64]byte), func(k *keptRoom) {
		if k.adjust() {
			k.watch()
		}
	}, k)
}

// adjust sets the percentage by what lived in the last collection, unless the keeper was stopped. A
// limit half as much again holds where the percentage is of a heap that has grown since; at the
// limit itself, or a quarter above, the runtime would give memory back to the system, only to take
// it again.
func (k *keptRoom) adjust() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return false
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	live := sample[0].Value.Uint64()
	more := k.room + live/4
	debug.SetGCPercent(int(min(more*100/max(live, 1), math.MaxInt32)))
	debug.SetMemoryLimit(int64((live + more) / 2 * 3))
	return true
}
