package templates

import (
	"fmt"
	"testing"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// TestWhatAWeekMissed: what a door's wall, its own file or its own method kept from a reading is
// not told as missed by us, and the lines add up to the hosts that were due.
func TestWhatAWeekMissed(t *testing.T) {
	w := derive.Week{HostsDue: 20, HostsProbed: 9, NotProbed: 11, NotExercised: 3, Gaps: tier.Counts{}}
	for reason, n := range map[string]int{record.ReasonChallenged: 4, record.ReasonOptedOut: 2,
		record.ReasonMethodUnresolved: 2, record.ReasonInputs: 1, record.ReasonControlFailed: 2} {
		for range n {
			w.Gaps = w.Gaps.Add(reason)
		}
	}
	sum, missed := int64(0), int64(-1)
	for _, f := range weekSections(derive.WeekView{Figures: &w, Control: new(derive.Control)})[0].Facts {
		var n, of int64
		if _, err := fmt.Sscanf(f.Value, "%d of %d", &n, &of); err == nil && of == w.HostsDue {
			sum += n
		}
		if f.Name == "Missed by us" {
			missed = n
		}
	}
	if sum != w.HostsDue || missed != 2 {
		t.Errorf("%d of %d hosts are told of, and %d as missed by us", sum, w.HostsDue, missed)
	}
}
