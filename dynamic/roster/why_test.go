package roster_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"agentstore/corpus"
	"agentstore/corpus/census"
	"agentstore/dynamic/feed"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/roster"
	"agentstore/dynamic/route"
)

// why asks the desk about a host.
func (w *world) why(host string) roster.Answer {
	w.t.Helper()
	desk := &roster.Desk{Store: w.store, BaseURL: "https://store.example", Now: func() time.Time { return w.now }}
	row := desk.Rows()[0]
	request := httptest.NewRequest(http.MethodGet, "/api/why/"+host, nil)
	request = request.WithContext(route.With(request.Context(), &route.Request{Inputs: route.Values{"host": host}}))
	recorder := httptest.NewRecorder()
	if err := row.Handle(recorder, request); err != nil {
		w.t.Fatal(err)
	}
	var out roster.Answer
	if err := json.Unmarshal(recorder.Body.Bytes(), &out, json.RejectUnknownMembers(true)); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// declares puts a declaration on the feed.
func (w *world) declares(name string) {
	w.t.Helper()
	err := w.db.Update(w.t.Context(), func(tx ledger.Tx) error {
		return feed.Declare(tx, corpus.Declaration{Host: hostOf(name), Shape: "resources", Doors: urls(name)}, []string{""})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestWhyFollowsTheWeek asks about hosts from before the roster to after the round.
func TestWhyFollowsTheWeek(t *testing.T) {
	w := newWorld(t)
	monday, err := census.Monday(corpus.ISOWeek(w.now))
	if err != nil {
		t.Fatal(err)
	}
	next := monday.AddDate(0, 0, 7).Format(time.RFC3339)
	now := w.now.Truncate(time.Second).Format(time.RFC3339)
	expect := func(when, name, state, reason, due string) roster.Answer {
		t.Helper()
		a := w.why(hostOf(name))
		if a.ThisWeek.State != state || a.ThisWeek.Reason != reason || a.NextDue != due || a.ThisWeek.Meaning == "" {
			t.Errorf("%s, %s: %+v, next due %s; want %s (%s), %s", when, name, a.ThisWeek, a.NextDue, state, reason, due)
		}
		if a.Known != (state != census.StateNeverNamed) {
			t.Errorf("%s, %s: known %v", when, name, a.Known)
		}
		return a
	}
	expect("at first", "ready-many", census.StateNeverNamed, "", "")
	w.declares("ready-bare")
	expect("at first", "ready-bare", census.StateNoRosterYet, "it declared itself and this week's roster is not read yet", now)

	cfg := w.config(lists(append(urls("ready-many", "no-route", "ready-dual"), "http://"+hostOf("ready-many-plain")+"/paid", hostOf("put-only"))...)...)
	cfg.Writer, cfg.Cap = nil, 2
	ctx, stop := context.WithCancel(t.Context())
	cfg.Store = stopper{w.store, stop}
	if _, err := census.Run(ctx, cfg); err == nil {
		t.Fatal("a run whose context ended did not say so")
	}
	states := map[string]int{}
	for _, name := range []string{"ready-many", "no-route", "ready-dual"} {
		states[w.why(hostOf(name)).ThisWeek.State]++
	}
	if diff := cmp.Diff(map[string]int{census.StateDue: 2, census.StateNotWalked: 1}, states); diff != "" {
		t.Errorf("with the roster: - want + got\n%s", diff)
	}
	expect("with the roster", "put-only", census.StateNotOnRoster, "its /.well-known/x402 names no door: it answers 404", next)
	expect("with the roster", "ready-bare", census.StateDeclared, "", w.now.UTC().Truncate(time.Hour).Add(time.Hour).Format(time.RFC3339))
	plain := w.why(hostOf("ready-many-plain"))
	if plain.ThisWeek.State != census.StateNotOnRoster || plain.ThisWeek.Reason == "" {
		t.Errorf("a door without TLS: %+v", plain.ThisWeek)
	}

	cfg = w.config(lists()...)
	w.run(cfg)
	expect("after the round", "ready-bare", census.StateNotOnRoster, "it declared itself after this week's round was closed", next)
	for _, name := range []string{"ready-many", "no-route", "ready-dual"} {
		row, a := w.rows(1)[hostOf(name)], w.why(hostOf(name))
		want := roster.LastRow{Sequence: 1, Week: row.Week, Verdict: row.Verdict, EntryURL: "https://store.example/corpus/host/" + row.Host + ".json"}
		if a.LastRow == nil || *a.LastRow != want || a.ThisWeek.WalkedAt != row.ObservedAt || a.NextDue != next {
			t.Errorf("%s after the round: %+v, want %+v", name, a, want)
		}
		if len(a.Sources) != 1 || a.Sources[0].Name != "keeper" || a.Sources[0].URL != row.URL || a.Sources[0].NamedAt != now {
			t.Errorf("%s: sources %+v", name, a.Sources)
		}
	}

	w.now = w.now.AddDate(0, 0, 7)
	expect("a week later", "ready-many", census.StateNoRosterYet, "", w.now.Truncate(time.Second).Format(time.RFC3339))
	w.run(w.config(lists(urls("ready-dual")...)[:1]...))
	if a := expect("when no source names it", "ready-many", census.StateNotOnRoster, "no source named it this week", monday.AddDate(0, 0, 14).Format(time.RFC3339)); a.LastRow == nil || a.LastRow.Sequence != 1 {
		t.Errorf("its last row: %+v", a.LastRow)
	}
}
