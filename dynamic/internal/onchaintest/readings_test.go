package onchaintest_test

import (
	"context"
	"encoding/json/jsontext"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/services"
)

// reader reads what it is told to find, and counts.
type reader struct {
	visits int // one order at a time
	says   error
	room   error
	during func()
}

func (r *reader) Target(_ string, inputs map[string]string) (string, string, error) {
	if inputs["url"] == "https://own.example/" {
		return "", "", &goods.Unread{Code: goods.CodeOwnHost, Detail: "It is the store's own."}
	}
	return inputs["url"], strings.Trim(strings.TrimPrefix(inputs["url"], "https://"), "/"), nil
}

func (r *reader) Room(ledger.Tx, string, string) error { return r.room }

func (r *reader) Read(_ context.Context, battery string, inputs map[string]string) (*goods.Reading, error) {
	r.visits++
	if r.during != nil {
		r.during()
	}
	if r.says != nil {
		return nil, r.says
	}
	target, host, _ := r.Target(battery, inputs)
	at := time.Now().UTC().Format(time.RFC3339)
	return &goods.Reading{Target: target, Host: host, ReadAt: at, Verdict: "ready", Says: "Read.",
		Findings: []attest.Finding{{Checker: "preflight/v2", Report: jsontext.Value(`{"verdict":"ready"}`)}},
		Evidence: []attest.Seen{{Method: "GET", URL: target, At: at, Status: 402}}}, nil
}

// A reading is made once, before it is paid for. Who does not pay after all has had the host read
// once, and who orders the same then gets that reading; what is not read costs nothing.
func TestAReadingIsSoldOnce(t *testing.T) {
	t.Parallel()
	r := &reader{}
	s := newShop(t, shopOptions{buyers: 3, services: services.Config{Readings: r}})
	const path = "/api/buy/spot_check?url=https://door.example/"
	thief, buyer := s.net.Buyers[0], s.net.Buyers[1]
	s.want("our own host", s.do("GET", "/api/buy/spot_check?url=https://own.example/", nil), 400, "own_host_refused")

	p := s.sign(s.challenge(path), 0, thief, nil)
	r.during = func() { s.withdraw(thief, p) }
	lost := s.present(path, p)
	if lost.Status == 200 || r.visits != 1 {
		t.Fatalf("%d visits, %d %s", r.visits, lost.Status, lost.Raw)
	}
	r.during = nil
	const other = "/api/buy/spot_check?url=https://door.example"
	held := s.do("GET", other, nil)
	s.want("another reading of the host", held, 409, "target_held")
	if held.Str("held_until") == "" || held.Header.Get("Retry-After") == "" {
		t.Errorf("until when is not said: %s %v", held.Raw, held.Header)
	}

	got, _ := s.buy(path, buyer, nil)
	s.want("the same reading", got, 200, "")
	id := s.besides(got, attest.ClassServiceAudit, "audit_")
	if r.visits != 1 || got.Str("certificate", "saw") != "door.example" ||
		got.Str("certificate", "attests") != got.Str("artifact", "record", "evidence_sha256") {
		t.Errorf("%d visits: %s", r.visits, got.Raw)
	}
	if v := s.do("GET", "/api/service-audit/"+id, nil); v.Status != 200 || v.Body["valid"] != true {
		t.Errorf("the report: %d %s", v.Status, v.Raw)
	}
	s.want("as a report of a page", s.do("GET", "/api/onpage-audit/"+id, nil), 404, "not_found")

	r.says = &goods.Unread{Code: goods.CodeOptedOut, Sent: true, Detail: "Its own file says so."}
	no, _ := s.buy(other, s.net.Buyers[2], nil)
	s.want("a host that opted out", no, 409, "opted_out")
	if no.Body["billed"] != "no" || !strings.Contains(no.Str("detail"), "nothing was charged") {
		t.Errorf("%s", no.Raw)
	}
	s.audit()
}
