package kit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
)

// TestFacilitatorsListing has a seller ask what a facilitator lists of him: a price that is not the
// door's is drift, and what is not listed is told and makes no difference.
func TestFacilitatorsListing(t *testing.T) {
	lists, asked := "", 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/fac/discovery/merchant" && r.FormValue("payTo") != "":
			asked++
			fmt.Fprintf(w, `{"x402Version":2,"pagination":{"total":1},"resources":[{"resource":"http://%s%s",`+
				`"accepts":[{"network":"eip155:1"}]}]}`, r.Host, lists)
		case r.URL.Path == "/b" || r.URL.Path == "/c":
			practiceDoor(w, r, "http", "dust-correct")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	door := s.URL + "/b"
	for _, c := range []struct {
		lists string
		args  []string
		want  int
		says  string
	}{
		{"/b", []string{"-drift", "-facilitator", s.URL + "/fac/", door}, kit.ExitDrift,
			"listing declares network eip155:1"},
		{"/x", []string{"-drift", "-facilitator", s.URL + "/fac", door}, kit.ExitFine, "this door is not among those"},
		{"/b", []string{"-drift", "-json", "-facilitator", s.URL + "/fac", door}, kit.ExitDrift, `"listed": true`},
		{"/b", []string{"-drift", "-facilitator", s.URL + "/none", door}, kit.ExitFine, "lists 0 resources"},
		{"/b", []string{"-drift", "-facilitator", "http://10.0.0.1/", door}, kit.ExitTrouble, ""},
		{"/b", []string{"-facilitator", s.URL + "/fac", door}, kit.ExitUsage, ""},
		{"/b", []string{"-drift", "-facilitator", "facilitator", door}, kit.ExitUsage, ""},
	} {
		lists = c.lists
		code, out, errs := run(t, append([]string{"-local"}, c.args...)...)
		if code != c.want || !strings.Contains(out, c.says) {
			t.Errorf("%v, listed at %s: exit %d, want %d and %q: %s%s", c.args, c.lists, code, c.want, c.says, out,
				errs)
		}
	}
	before := asked
	lists = "/b"
	run(t, "-local", "-drift", "-facilitator", s.URL+"/fac", door, s.URL+"/c")
	if asked-before != 1 {
		t.Errorf("asked %d times about one address", asked-before)
	}
}
