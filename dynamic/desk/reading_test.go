package desk

import (
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"
)

// TestAReadingIsOfTheMomentOfItsTarget: the file in which a host declares its doors may have been
// read minutes before, for somebody else, and stands in the evidence with its own time.
func TestAReadingIsOfTheMomentOfItsTarget(t *testing.T) {
	at := time.Date(2026, 11, 27, 22, 1, 51, 0, time.UTC)
	look := func(path string, at time.Time) exchange.Exchange {
		var x exchange.Exchange
		x.Request.Method, x.Request.URL, x.StartedAt = "GET", "https://door.example.com"+path, at
		return x
	}
	r, err := ask{target: "https://door.example.com/paid"}.reading(reported{checker: "preflight/v2", verdict: "ready",
		report: map[string]string{}, rests: []exchange.Exchange{look("/paid", at),
			look("/.well-known/x402", at.Add(-9*time.Minute))}})
	if err != nil {
		t.Fatal(err)
	}
	if r.ReadAt != "2026-11-27T22:01:51Z" || r.Says != "Read once, at 2026-11-27T22:01:51Z: ready." ||
		r.Evidence[1].At != "2026-11-27T21:52:51Z" {
		t.Errorf("read at %s, says %q, evidence %+v", r.ReadAt, r.Says, r.Evidence)
	}
}
