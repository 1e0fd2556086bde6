package onchaintest_test

import (
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/till"
)

// visits is a client that judges addresses, of a shop that visits none.
func visits(t *testing.T) *fetch.Client {
	t.Helper()
	c, err := fetch.New(fetch.Config{UserAgent: "store/1 (+https://store.example)", Key: attest.SpecimenKey(),
		Agent: "https://store.example"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A look is promised with its certificate, and what was seen is signed beside the promise, which
// stays what it was.
func TestALookIsPromisedAndThenSigned(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{buyers: 1, services: services.Config{Visits: visits(t)}})
	s.want("an address inside", s.do("GET", "/api/buy/phantom_check?url=http://169.254.169.254/", nil), 400,
		"invalid_input")
	const path = "/api/buy/phantom_check?url=http://door.example.com/x"
	r, _ := s.buy(path, s.net.Buyers[0], nil)
	s.want("bought", r, 200, "")
	id := s.besides(r, attest.ClassCheck, "check_")
	var l services.Visit
	if err := s.db.View(t.Context(), func(tx ledger.Tx) (err error) {
		l, err = ledger.GetJSON[services.Visit](tx, ledger.LookKey(id))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	due, err := time.Parse(time.RFC3339, r.Str("deliverable", "due_at"))
	if err != nil || l.ID != id || l.URL != "http://door.example.com/x" || !l.Due.Equal(due) ||
		r.Str("certificate", "saw") != "door.example.com" || strings.Contains(r.Str("certificate", "note"), "/x") {
		t.Errorf("%+v, %s, %v", l, r.Raw, err)
	}
	read := func(status string) tilltest.Reply {
		got := s.do("GET", "/api/phantom/"+id, nil)
		if got.Status != 200 || got.Str("status") != status || got.Body["valid"] != true ||
			got.Str("next_step") == "" {
			t.Errorf("%s: %d %s", status, got.Status, got.Raw)
		}
		return got
	}
	promise := read(attest.CheckScheduled)
	if _, err := s.till.SignCheck(t.Context(), l.Purchase, attest.Look{Status: attest.CheckObserved,
		LookedAt: due.Add(-time.Second).Format(time.RFC3339),
		Answer:   &attest.Answer{HTTPStatus: 200}}, due); err == nil {
		t.Error("a look before its time was signed")
	}
	at := due.Add(time.Minute)
	signed, err := s.till.SignCheck(t.Context(), l.Purchase, attest.Look{Status: attest.CheckObserved,
		LookedAt: at.Format(time.RFC3339), Answer: &attest.Answer{HTTPStatus: 404}}, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.db.Update(t.Context(), func(tx ledger.Tx) error { return till.KeepCheck(tx, signed) }); err != nil {
		t.Fatal(err)
	}
	seen := read(attest.CheckObserved)
	if seen.Str("report", "promise") != "sha256:"+promise.Str("artifact_hash") || seen.Str("looked_at") == "" ||
		seen.Body["next_check_after"] != nil || seen.Body["answer"].(map[string]any)["http_status"] != 404.0 {
		t.Errorf("seen: %s", seen.Raw)
	}
	if v := s.do("GET", "/api/verify/"+id, nil); v.Str("report", "status") != attest.CheckObserved {
		t.Errorf("verify: %s", v.Raw)
	}
	// A host is looked at for so many at a time.
	if err := s.db.Update(t.Context(), func(tx ledger.Tx) error {
		for i := range 23 {
			if err := tx.Set(ledger.GoodsKey("aimed", "door.example.com", string(rune('a'+i))), nil); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.want("one too many", s.do("GET", path, nil), 409, "target_held")
	s.want("another host", s.do("GET", "/api/buy/phantom_check?url=http://other.example.com/", nil), 402,
		"payment_required")
	s.audit()
}
