package census

import (
	"testing"
	"time"
)

// A walk counts where the nearest walk to the control door held, on whichever side that is, and is
// no farther than an hour; of two that are as near both have to hold.
func TestWhoseControlHeld(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 20, 0, minute, 0, 0, time.UTC) }
	v := &vantage{controls: []controlSeen{{at(0), true}, {at(10), false}, {at(20), true}, {at(20), true},
		{at(30), true}, {at(40), true}, {at(40), false}}}
	for minute, want := range map[int]bool{-61: false, -60: true, 0: true, 4: true, 5: false, 6: false, 10: false,
		14: false, 15: false, 16: true, 20: true, 34: true, 35: false, 36: false, 40: false, 200: false} {
		if got := v.held(at(minute)); got != want {
			t.Errorf("held at minute %d: %v, want %v", minute, got, want)
		}
	}
	if (&vantage{}).held(at(0)) {
		t.Error("it held, and nobody walked to the control door")
	}
}
