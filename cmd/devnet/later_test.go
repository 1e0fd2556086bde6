package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/services"
)

// hours is the clock of a stall and of its ledger, which a test puts forward: what a buyer is
// promised for next week comes while the test runs.
type hours struct{ ahead atomic.Int64 }

// now is the time of day by this clock.
func (h *hours) now() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }

// reach puts the clock forward to a time that is to come.
func (h *hours) reach(at time.Time) { h.ahead.Store(int64(time.Until(at))) }

// wrap has a ledger go by the clock.
func (h *hours) wrap(db ledger.DB) ledger.DB { return timed{db, h} }

// timed is a ledger that goes by another clock.
type timed struct {
	ledger.DB
	*hours
}

// View implements [ledger.DB].
func (d timed) View(ctx context.Context, f func(ledger.Tx) error) error {
	return d.DB.View(ctx, func(tx ledger.Tx) error { return f(timedTx{tx, d.now()}) })
}

// Update implements [ledger.DB].
func (d timed) Update(ctx context.Context, f func(ledger.Tx) error) error {
	return d.DB.Update(ctx, func(tx ledger.Tx) error { return f(timedTx{tx, d.now()}) })
}

type timedTx struct {
	ledger.Tx
	at time.Time
}

// Now implements [ledger.Tx].
func (tx timedTx) Now() time.Time { return tx.at }

// week is the time after everything was sold: a look six hours later, later slots of both kinds of
// watches, slots that are missed because the store was not there, and a term that ends.
func (m *market) week(t *testing.T) {
	t.Helper()
	daily, hourly := m.kept("conformance_watch"), m.kept("standing_watch")
	_, body := m.get(t, "/api/phantom/"+m.kept("phantom_check")[1].Artifact.ID, false)
	var check services.CheckView
	if err := json.Unmarshal([]byte(body), &check); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	starts := m.begins(t, daily, hourly)
	m.hours.reach(starts.Add(time.Hour))
	for _, got := range hourly {
		m.slot(t, got, m.term(t, got, 2), 2)
	}
	m.hours.reach(promised(t, check.DueAt))
	for _, got := range m.kept("phantom_check") {
		m.looked(t, got)
	}
	for n := 2; n <= 7; n++ {
		m.hours.reach(starts.Add(time.Duration(n-1) * 24 * time.Hour))
		for _, got := range daily {
			m.slot(t, got, m.term(t, got, n), n)
		}
	}
	for _, got := range daily {
		m.closed(t, got)
	}
	for _, got := range hourly {
		order := m.term(t, got, 10)
		if missed := order.Term.Slots[9]; missed.Missed == "" || missed.Verdict != "" || order.Status != "queued" {
			t.Errorf("a slot that nobody was there for: %+v of %s", missed, order.Status)
		}
		m.slot(t, got, order, 10)
	}
}

// begins is when the last of some watches began.
func (m *market) begins(t *testing.T, all ...[]sold) (last time.Time) {
	t.Helper()
	for _, watches := range all {
		for _, got := range watches {
			var bought struct {
				Deliverable struct{ Starts string }
			}
			if err := json.Unmarshal([]byte(got.raw), &bought); err != nil {
				t.Fatal(err)
			}
			if at := promised(t, bought.Deliverable.Starts); at.After(last) {
				last = at
			}
		}
	}
	return last
}

func promised(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// term is the order of a watch once so many of its slots are over.
func (m *market) term(t *testing.T, got sold, slots int) (order counter.OrderView) {
	t.Helper()
	m.until(t, fmt.Sprintf("slot %d of %s was over", slots, got.name), func() bool {
		code, body := m.get(t, "/api/order/"+got.OrderID, false)
		if code == 429 { // it is told once a minute, and when it has changed
			return false
		}
		order = counter.OrderView{}
		if err := json.Unmarshal([]byte(body), &order); err != nil || code != 200 {
			t.Fatalf("the order: %d %s, %v", code, body, err)
		}
		return order.Term != nil && len(order.Term.Slots) >= slots
	})
	return order
}

// slot checks the report of a slot: read in its hour, or missed.
func (m *market) slot(t *testing.T, got sold, order counter.OrderView, n int) {
	t.Helper()
	s := order.Term.Slots[n-1]
	_, raw := m.get(t, "/api/verify/"+s.AuditID, false)
	m.papers.verifies(t, fmt.Sprint(got.name, "-slot-", n), raw, s.AuditID)
	var report struct{ Report attest.Audit }
	if err := json.Unmarshal([]byte(raw), &report); err != nil {
		t.Fatalf("%.2000s: %v", raw, err)
	}
	a := report.Report
	if a.Slot == nil || a.Slot.Number != int64(n) || a.Slot.Due != s.Due || a.Slot.Missed != s.Missed ||
		a.Verdict != s.Verdict || (s.Missed == "") != (a.ReadAt != "") || s.Missed == "" && a.ReadAt < s.Due {
		t.Errorf("slot %+v of %s is reported as %.2000s", s, got.name, raw)
	}
}

// looked checks a look that is over: made once, after its time, and signed.
func (m *market) looked(t *testing.T, got sold) {
	t.Helper()
	var body string
	var check services.CheckView
	m.until(t, "the address was looked at", func() bool {
		_, body = m.get(t, "/api/phantom/"+got.Artifact.ID, false)
		check = services.CheckView{}
		if err := json.Unmarshal([]byte(body), &check); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return check.Status != attest.CheckScheduled
	})
	if check.Status != attest.CheckObserved || !check.Valid || check.LookedAt < check.DueAt || check.Answer == nil ||
		check.Answer.HTTPStatus != 402 || check.Answer.BodyBytes == 0 {
		t.Errorf("the look: %s", body)
	}
	m.papers.verifies(t, got.name+"-looked", body, got.Artifact.ID)
}

// closed checks a term that is over: its summary is of the reports that were told, and its order
// and certificate are signed.
func (m *market) closed(t *testing.T, got sold) {
	t.Helper()
	m.until(t, "the term was closed", func() bool {
		_, body := m.get(t, "/api/verify/"+got.OrderID, false)
		return strings.Contains(body, "completed_at")
	})
	m.hours.ahead.Add(int64(2 * time.Minute))
	order := m.term(t, got, 7)
	lines := sha256.New()
	for _, s := range order.Term.Slots {
		fmt.Fprintf(lines, "%s\n", s.SHA256)
	}
	s := order.Term.Summary
	if order.Status != "completed" || order.Term.NextDueAt != "" || s == nil || s.Readings != 7 || s.Read != 7 ||
		s.Missed != 0 || s.ReportsSHA256 != hex.EncodeToString(lines.Sum(nil)) {
		t.Errorf("the term came to %+v: %+v", order, s)
	}
	m.certified(t, got)
}
