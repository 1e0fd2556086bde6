package till_test

import (
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
)

// A key answers for 24 hours from its order, as the terms say, and not for a moment longer: then it
// orders anew.
func TestKeyAnswersForADay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		off  time.Duration
		same bool
	}{{"just before", -10 * time.Second, true}, {"just after", 10 * time.Second, false}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site, err := content.Load(content.Sources{})
				if err != nil {
					t.Fatal(err)
				}
				m := bubble(t, site, nil)
				defer func() { m.stop() }()
				const path, key = "/api/buy/hello", "the-key-of-an-order"
				ordered := time.Now()
				sold := m.keyed(m.offered(path, "payer", "first", 0), key)
				if hours := m.terms(path)["idempotency"].(map[string]any)["window_hours"]; sold.Status != 200 ||
					hours != 24.0 {
					t.Fatalf("the order is answered %d, its terms name %v hours", sold.Status, hours)
				}
				m.stop()
				time.Sleep(time.Until(ordered.Add(24*time.Hour + c.off - 5*time.Second)))
				m.sealed() // before the store looks at it
				m.start(site)
				m.seal()
				s := m.offered(path, "payer", "second", 0)
				time.Sleep(time.Until(ordered.Add(24*time.Hour + c.off)))
				again := m.keyed(s, key)
				if again.Status != 200 || again.Body["idempotent_replay"] != c.same ||
					(again.Purchase() == sold.Purchase()) != c.same {
					t.Errorf("%v from the end the key answers %d, a repeat: %v", c.off, again.Status,
						again.Body["idempotent_replay"])
				}
			})
		})
	}
}

// terms is the body of a 402.
func (m *model) terms(path string) map[string]any {
	r, _ := m.do(path, nil)
	return r.Body
}
