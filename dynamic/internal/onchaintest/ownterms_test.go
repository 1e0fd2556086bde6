package onchaintest_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/probe"
)

// read judges the shop's own terms as the instruments do: what it offers by a scheme beside exact
// is told with what it puts at risk, and nothing stands against it.
func (s *shop) read(t *testing.T, path, scheme string) {
	t.Helper()
	answer := s.do("GET", path, nil)
	p, err := probe.NewPreflight(probe.Current(), "https://store.test"+path, probe.Declaration{})
	if err != nil {
		t.Fatal(err)
	}
	_, next, err := p.Step(nil)
	if err != nil {
		t.Fatal(err)
	}
	r, next, err := p.Step([]exchange.Exchange{{Request: next.Request, StartedAt: time.Now().UTC(),
		Response: exchange.Response{Status: http.StatusPaymentRequired, Proto: "HTTP/2.0", Header: answer.Header}}})
	if err != nil || next != nil {
		t.Fatalf("%v, and asks for %v", err, next)
	}
	if len(r.Stakes) != 1 || r.Stakes[0].Scheme != scheme {
		t.Errorf("%s puts at risk %+v", path, r.Stakes)
	}
	for _, n := range r.Advisories {
		if i := slices.IndexFunc(probe.Advisories(), func(a probe.Advisory) bool { return a.Name == n.Name }); i < 0 ||
			probe.Advisories()[i].Scheme != "" {
			t.Errorf("%s: %+v", path, n)
		}
	}
}
