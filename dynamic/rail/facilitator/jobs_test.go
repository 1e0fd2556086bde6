package facilitator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/dynamic/rail"
)

// Jobs and their order are the same set, of so many at most, whatever is forgotten and presented
// again.
func TestJobsAreRememberedInOrder(t *testing.T) {
	h := &Handler{jobs: make(map[string]*job)}
	payment := func(i int) *rail.Payment {
		return &rail.Payment{Network: "eip155:8453", Nonce: fmt.Sprintf("0x%064x", i)}
	}
	check := func() {
		t.Helper()
		if len(h.jobs) != len(h.old) || len(h.old) > maxJobs {
			t.Fatalf("%d jobs and %d in order, of at most %d", len(h.jobs), len(h.old), maxJobs)
		}
	}
	for i := range 3 {
		p := payment(i)
		j, found := h.job(&asked{p: p})
		if found {
			t.Error("found before it was presented")
		}
		if again, found := h.job(&asked{p: p}); !found || again != j {
			t.Error("not found again")
		}
		h.forget(j)
		if h.remembers(p) {
			t.Error("known after it was forgotten")
		}
		h.job(&asked{p: p})
		check()
	}
	for i := range maxJobs + 5 {
		h.job(&asked{p: payment(i)})
		check()
	}
	if h.remembers(payment(0)) || !h.remembers(payment(maxJobs+4)) {
		t.Error("not the oldest are forgotten")
	}
	// One that is under way is never forgotten.
	for _, j := range h.jobs {
		j.driver = &driver{}
	}
	if j, found := h.job(&asked{p: payment(maxJobs + 100)}); j != nil || found {
		t.Error("a job under way is forgotten")
	}
}

// What a facilitator says is cut to its bounds, and holds nothing but printable characters.
func TestAnswersOfAFacilitatorAreCut(t *testing.T) {
	long := strings.Repeat("x", 600)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"isValid": false, "payer": long, "invalidReason": long,
			"invalidMessage": "\x1b[31m" + long})
	}))
	defer s.Close()
	c, err := New(Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Verify(t.Context(), []byte("{}"))
	if err != nil || v.Valid || len(v.Payer) != 128 || len(v.Reason) != 100 || len(v.Message) != 500 {
		t.Errorf("%v: %d of payer, %d of reason, %d of message", err, len(v.Payer), len(v.Reason), len(v.Message))
	}
}
