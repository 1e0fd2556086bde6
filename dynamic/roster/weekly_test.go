package roster

import (
	"testing"
	"time"
)

func TestSundays(t *testing.T) {
	w := &Weekly{Hour: 6}
	// From a Sunday on that is over, the next one is meant.
	for at, want := range map[string]string{"2026-11-09T00:00:00Z": "2026-11-15T06:00:00Z",
		"2026-11-15T05:00:00Z": "2026-11-15T06:00:00Z", "2026-11-15T23:59:59Z": "2026-11-15T06:00:00Z",
		"2026-12-31T00:00:00Z": "2027-01-03T06:00:00Z"} {
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.sundayOf(when).Format(time.RFC3339); got != want {
			t.Errorf("the Sunday of %s is %s, want %s", at, got, want)
		}
	}
}
