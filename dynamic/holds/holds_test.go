package holds

import (
	"strings"
	"testing"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// Whenever a 402 is read and paid for, its terms are among those that are taken, and the window
// ends the margin before the deadline.
func TestDeadlines(t *testing.T) {
	const timeout, window = 2 * time.Minute, 168 * time.Hour
	for _, at := range []string{"2026-11-30T10:00:00Z", "2026-11-30T10:57:59Z", "2026-11-30T10:58:00Z",
		"2026-11-30T10:58:01Z", "2026-11-30T10:59:59Z"} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		said := Deadlines(now, timeout, window)
		if said.Capture.Truncate(time.Hour) != said.Capture || said.Refund.Sub(said.Capture) != refunds {
			t.Errorf("at %s the deadlines are %+v", at, said)
		}
		for _, paid := range []time.Duration{0, time.Second, time.Minute, timeout} {
			found := false
			for _, d := range Current(now.Add(paid), timeout, window) {
				found = found || d == said
			}
			if !found {
				t.Errorf("terms of %s are not taken %s later", at, paid)
			}
			h := Held{DueAt: now.Add(paid + window)}
			h.Info.AuthorizationExpiry = said.Capture.Unix()
			if left := h.Deadline().Sub(h.DueAt); left < Margin {
				t.Errorf("what is paid %s after %s leaves %s", paid, at, left)
			}
		}
		if old := Current(now.Add(2*time.Hour), timeout, window); old[len(old)-1] == said {
			t.Errorf("terms of %s are taken two hours later", at)
		}
	}
}

// An order is completed until its window is over, and its payer is told what is true.
func TestHeld(t *testing.T) {
	due := time.Unix(1_800_000_000, 0).UTC()
	h := Held{DueAt: due}
	h.Info.AuthorizationExpiry = due.Add(3 * time.Hour).Unix()
	if h.Completable(due.Add(-time.Second)) != nil || h.Completable(due) == nil {
		t.Error("an order is completed until its window is over, and not after")
	}
	if end := h.Deadline().Add(-LastSend); !h.Sendable(end.Add(-time.Second)) || h.Sendable(end) {
		t.Error("a capture is sent until the last minutes, and not in them")
	}
	words := func(change func()) string { change(); return h.Words("3.00") }
	for _, tt := range []struct {
		change func()
		says   string
	}{
		{func() {}, "are held by the escrow contract"},
		{func() { h.End = &rail.Payment{} }, "are being captured"},
		{func() { h.Why = Broken }, "are on their way back"},
		{func() { h.Ended, h.Last = Voided, &rail.Proof{Tx: "0x1"} }, "went back"},
		{func() { h.Ended = Captured }, "were captured"},
		{func() { h.Ended = Reclaimed }, "were taken back"},
	} {
		if got := words(tt.change); !strings.Contains(got, tt.says) || strings.Count(got, ". ") > 0 {
			t.Errorf("%q, want one sentence with %q", got, tt.says)
		}
	}
}
