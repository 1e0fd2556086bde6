package practice_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/practice"
	doors "store.example/agentstore/corpus/practice"
)

// The scoreboard tells who stopped from who paid, at each door and by each protocol, and begins
// anew when it is told to.
func TestScores(t *testing.T) {
	b := practice.New("http://127.0.0.1:4030")
	ask := func(method, path, name, value string) *http.Response {
		r := httptest.NewRequest(method, path, nil)
		if name != "" {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		return w.Result()
	}
	score := func(id string) practice.Score {
		for _, s := range b.Scores() {
			if s.ID == id {
				return s
			}
		}
		t.Fatalf("%s has no row", id)
		return practice.Score{}
	}
	all := doors.All()
	if len(b.Scores()) != len(all) {
		t.Errorf("%d rows for %d doors", len(b.Scores()), len(all))
	}
	for _, p := range all {
		if score(p.ID).Did != practice.Unvisited {
			t.Errorf("%s before anybody came: %+v", p.ID, score(p.ID))
		}
		want := p.Answer(score(p.ID).URL)
		got := ask("GET", "/door/"+p.ID, "", "")
		body, _ := io.ReadAll(got.Body)
		did := practice.Stopped
		if p.ID == "fake-delivery" || p.ID == "redirect" { // what a client makes of these is not seen
			did = practice.Unseen
		}
		if got.StatusCode != want.Status || string(body) != string(want.Body) || score(p.ID).Did != did {
			t.Errorf("%s: %d %s, %+v, want %s", p.ID, got.StatusCode, body, score(p.ID), did)
		}
	}
	for i, payment := range [][2]string{{"Payment-Signature", "e30="}, {"X-Payment", "e30="},
		{"Authorization", "payment e30"}, {"Authorization", "L402 a:b"}} {
		id := all[i].ID
		ask("GET", "/door/"+id, payment[0], payment[1])
		ask("GET", "/door/"+id, "Authorization", "Bearer token") // no payment
		if s := score(id); s.Did != practice.Paid || s.Payments != 1 || s.Signed != 1 || s.Asked != 2 {
			t.Errorf("%v: %+v", payment, s)
		}
	}
	for path, want := range map[string]string{"/": "<td>paid", "/scores.json": `"did":"paid"`} {
		body, _ := io.ReadAll(ask("GET", path, "", "").Body)
		if !strings.Contains(string(body), want) || !strings.Contains(string(body), all[0].ID) {
			t.Errorf("%s: no %s in\n%s", path, want, body)
		}
	}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", "/door/none", 404}, {"GET", "/none", 404}, {"POST", "/", 405}, {"GET", "/reset", 404},
		{"POST", "/reset", 204}} {
		if got := ask(c.method, c.path, "", ""); got.StatusCode != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, got.StatusCode, c.status)
		}
	}
	if s := score(all[0].ID); s.Did != practice.Unvisited {
		t.Errorf("after a reset: %+v", s)
	}
}
