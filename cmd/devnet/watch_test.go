package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/counter"
)

// watches: the first reading of each comes by itself as a signed report, and the keeper has nothing
// to do with it.
func (m *market) watches(t *testing.T) {
	t.Helper()
	for item, readings := range map[string]int{"conformance_watch": 7, "standing_watch": 168} {
		for _, got := range m.kept(item) {
			if !strings.Contains(got.raw, fmt.Sprintf(`"readings":%d`, readings)) {
				t.Errorf("bought %s", got.raw)
			}
			var order counter.OrderView
			var body string
			m.until(t, "a first reading was made", func() bool { // it is told once a minute, and when it has changed
				code, said := m.get(t, "/api/order/"+got.OrderID, false)
				if code == 429 {
					return false
				}
				body, order = said, counter.OrderView{}
				if err := json.Unmarshal([]byte(body), &order); err != nil || code != 200 {
					t.Fatalf("the order: %d %s, %v", code, body, err)
				}
				return order.Term != nil && len(order.Term.Slots) > 0
			})
			slot := order.Term.Slots[0]
			if len(order.Term.Slots) != 1 || slot.Verdict != "not_ready" || order.Status != "queued" ||
				order.Term.NextDueAt == "" || order.Deliverable != nil || order.Breach != nil {
				t.Errorf("the order: %s", body)
			}
			_, report := m.get(t, "/api/verify/"+slot.AuditID, false)
			m.papers.verifies(t, got.name+"-slot", report, slot.AuditID)
			if list, err := keep(t, m.cfg, "orders", "-all"); err != nil || strings.Contains(list, got.OrderID) {
				t.Errorf("the keeper is asked: %s, %v", list, err)
			}
		}
	}
}
