package roster_test

import (
	"context"
	"encoding/json/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"

	"store.example/agentstore/corpus/tier"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/roster"
	"store.example/agentstore/dynamic/route"
)

// why asks the desk about a host.
func (w *world) why(host string) roster.Answer { return w.whyAt(host, false) }

// whyAt asks the desk of a store that fires the census by the hour, or does not.
func (w *world) whyAt(host string, hourly bool) roster.Answer {
	w.t.Helper()
	desk := &roster.Reasons{Store: w.store, BaseURL: "https://store.example", Now: func() time.Time { return w.now },
		Hourly: hourly}
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

// TestWhyTellsWhatADoorPassedOn: as the door's word, and of its own host alone.
func TestWhyTellsWhatADoorPassedOn(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	word := feed.Word{Header: "EXTENSION-RESPONSES", Text: `{"bazaar":{"status":"rejected"}}`}
	err := w.db.Update(t.Context(), func(tx ledger.Tx) error {
		return feed.KeepPassed(tx, "said.example", feed.Passed{At: at, Door: "https://said.example/paid",
			Words: []feed.Word{word}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if p := w.why("said.example").PassedOn; p == nil || p.At != "2026-11-20T10:00:00Z" || len(p.Words) != 1 ||
		p.Words[0] != word || p.Door != "https://said.example/paid" || !strings.Contains(p.Note, "door's word") {
		t.Errorf("why says %+v", p)
	}
	if p := w.why("other.example").PassedOn; p != nil {
		t.Errorf("why says of another host %+v", p)
	}
}

// declares puts a declaration on the feed.
func (w *world) declares(name string) {
	w.t.Helper()
	err := w.db.Update(w.t.Context(), func(tx ledger.Tx) error {
		return feed.Declare(tx, record.Declaration{Host: hostOf(name), Shape: "resources", Doors: urls(name)},
			[]string{""})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestWhyFollowsTheWeek asks about hosts from before the roster to after the round.
func TestWhyFollowsTheWeek(t *testing.T) {
	w := newWorld(t)
	monday, err := census.Monday(record.ISOWeek(w.now))
	if err != nil {
		t.Fatal(err)
	}
	next := monday.AddDate(0, 0, 7).Format(time.RFC3339)
	now := w.now.Truncate(time.Second).Format(time.RFC3339)
	expect := func(when, name, state, reason, due string) roster.Answer {
		t.Helper()
		a := w.why(hostOf(name))
		if a.ThisWeek.State != state || a.ThisWeek.Reason != reason || a.NextDue != due || a.ThisWeek.Meaning == "" {
			t.Errorf("%s, %s: %+v, next due %s; want %s (%s), %s", when, name, a.ThisWeek, a.NextDue, state, reason,
				due)
		}
		if a.Known != (state != census.StateNeverNamed) {
			t.Errorf("%s, %s: known %v", when, name, a.Known)
		}
		return a
	}
	// hourly is what a store says that fires the census itself: the same, with the next full hour.
	hourly := func(when, name, state, says string) {
		t.Helper()
		a, plain := w.whyAt(hostOf(name), true), w.why(hostOf(name))
		if a.ThisWeek.State != state ||
			a.NextDue != w.now.UTC().Truncate(time.Hour).Add(time.Hour).Format(time.RFC3339) ||
			!strings.Contains(a.ThisWeek.Meaning, says) {
			t.Errorf("%s, %s by the hour: %+v, next due %s", when, name, a.ThisWeek, a.NextDue)
		}
		if a.ThisWeek.Meaning == plain.ThisWeek.Meaning ||
			plain.NextDue != w.now.UTC().Truncate(time.Second).Format(time.RFC3339) {
			t.Errorf("%s, %s without the hour: %+v, next due %s", when, name, plain.ThisWeek, plain.NextDue)
		}
	}
	expect("at first", "ready-many", census.StateNeverNamed, "", "")
	w.declares("ready-bare")
	expect("at first", "ready-bare", census.StateNoRosterYet,
		"it declared itself and this week's roster is not read yet", now)
	hourly("at first", "ready-bare", census.StateNoRosterYet, "The next hourly firing reads them")

	cfg := w.config(lists(append(urls("ready-many", "no-route", "ready-dual"), "http://"+hostOf("ready-many-plain")+
		"/paid", hostOf("put-only"))...)...)
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
	expect("with the roster", "put-only", census.StateNotOnRoster,
		"its /.well-known/x402 names no door: there is no file at /.well-known/x402 and no agent card at "+
			"/.well-known/agent.json", next)
	expect("with the roster", "ready-bare", census.StateDeclared, "", now)
	hourly("with the roster", "ready-bare", census.StateDeclared, "That is the next hourly firing")
	plain := w.why(hostOf("ready-many-plain"))
	if plain.ThisWeek.State != census.StateNotOnRoster || plain.ThisWeek.Reason == "" {
		t.Errorf("a door without TLS: %+v", plain.ThisWeek)
	}

	cfg = w.config(lists()...)
	w.run(cfg)
	expect("after the round", "ready-bare", census.StateNotOnRoster,
		"it declared itself after this week's round was closed", next)
	for _, name := range []string{"ready-many", "no-route", "ready-dual"} {
		row, a := w.rows(1)[hostOf(name)], w.why(hostOf(name))
		want := roster.LastRow{Sequence: 1, Week: row.Week, Verdict: row.Verdict, Reason: row.Reason,
			EntryURL: "https://store.example/corpus/1.json", RowsURL: "https://store.example/corpus/host/" + row.Host +
				".json"}
		if a.LastRow == nil || *a.LastRow != want || a.ThisWeek.WalkedAt != row.ObservedAt || a.NextDue != next {
			t.Errorf("%s after the round: %+v, want %+v", name, a, want)
		}
		if len(a.Sources) != 1 || a.Sources[0].Name != "keeper" || a.Sources[0].URL != row.URL ||
			a.Sources[0].NamedAt != now {
			t.Errorf("%s: sources %+v", name, a.Sources)
		}
	}

	w.now = w.now.AddDate(0, 0, 7)
	expect("a week later", "ready-many", census.StateNoRosterYet, "", w.now.Truncate(time.Second).Format(time.RFC3339))
	w.run(w.config(lists(urls("ready-dual")...)[:1]...))
	if a := expect("when no source names it", "ready-many", census.StateNotOnRoster, "no source named it this week",
		monday.AddDate(0, 0, 14).Format(time.RFC3339)); a.LastRow == nil || a.LastRow.Sequence != 1 {
		t.Errorf("its last row: %+v", a.LastRow)
	}
}

// TestWhyAsksTheRecord asks a ledger that never saw a census about hosts that the record knows.
func TestWhyAsksTheRecord(t *testing.T) {
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC) // in 2026-W47
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." +
		strings.Repeat("d", 50) + ".example"
	rows := map[string]record.Row{
		"old.example": {Sequence: 12, Week: "2026-W46", URL: "https://old.example/paid",
			Source: record.SourceDiscovery, Catalog: "bazaar", Verdict: record.VerdictNotProbed,
			Reason: "control_failed"},
		"here.example": {Sequence: 13, Week: "2026-W47", URL: "https://here.example/paid", Source: record.SourceRevisit,
			Verdict: record.VerdictReady, ObservedAt: "2026-11-17T06:00:00Z"},
		long: {Sequence: 12, Week: "2026-W46", URL: "https://" + long + "/", Source: record.SourceDiscovery,
			Catalog: "bazaar", Verdict: record.VerdictReady},
	}
	desk := &roster.Reasons{Store: roster.New(ledger.NewMem(ledger.MemOptions{})), BaseURL: "https://store.example",
		Now: func() time.Time { return now },
		Record: func(host string) (record.Row, string, bool, error) {
			row, ok := rows[host]
			return row, "2026-11-10T06:01:40Z", ok, nil
		},
		Refused: func(host string) string {
			return map[string]string{"store.example": "it is the store itself", "old.example": "it was taken off"}[host]
		}}
	ask := func(host string) map[string]any {
		t.Helper()
		request := httptest.NewRequest(http.MethodGet, "/api/why/"+host, nil)
		recorder := httptest.NewRecorder()
		if err := desk.Rows()[0].Handle(recorder,
			request.WithContext(route.With(request.Context(),
				&route.Request{Inputs: route.Values{"host": host}}))); err != nil {
			t.Fatal(err)
		}
		var out map[string]any
		if err := json.Unmarshal(recorder.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		// The same for everybody to whom it is of use.
		if how := out["how_to_be_walked"].([]any); (len(how) == 0) != (host == "store.example") {
			t.Errorf("%s: to be walked: %v", host, how)
		}
		delete(out, "how_to_be_walked")
		return out
	}
	source := func(name, kind, host string) []any {
		return []any{map[string]any{"name": name, "kind": kind, "named_at": "2026-11-10T06:01:40Z",
			"url": rows[host].URL}}
	}
	for host, want := range map[string]map[string]any{
		"old.example": {"version": "v1", "host": "old.example", "week": "2026-W47", "known": true,
			"sources":   source("bazaar", "discovery", "old.example"),
			"this_week": map[string]any{"state": "no_roster_yet", "meaning": "This week's sources were not read yet."},
			"last_row": map[string]any{"sequence": 12.0, "week": "2026-W46", "verdict": "not_probed",
				"reason": "control_failed", "entry_url": "https://store.example/corpus/12.json",
				"rows_url": "https://store.example/corpus/host/old.example.json"},
			"next_due": "2026-11-18T12:00:00Z"},
		"here.example": {"version": "v1", "host": "here.example", "week": "2026-W47", "known": true,
			"sources": source("revisit", "revisit", "here.example"),
			"this_week": map[string]any{"state": "walked",
				"meaning":   "It was walked this week. The row is in this week's round once that is sealed.",
				"walked_at": "2026-11-17T06:00:00Z"},
			"last_row": map[string]any{"sequence": 13.0, "week": "2026-W47", "verdict": "ready",
				"entry_url": "https://store.example/corpus/13.json",
				"rows_url":  "https://store.example/corpus/host/here.example.json"},
			"next_due": "2026-11-23T00:00:00Z"},
		"store.example": {"version": "v1", "host": "store.example", "week": "2026-W47", "known": false,
			"sources": []any{},
			"this_week": map[string]any{"state": "never_walked",
				"meaning": "The census never asks there, whoever names it.", "reason": "it is the store itself"},
			"last_row": nil},
		"nobody.example": {"version": "v1", "host": "nobody.example", "week": "2026-W47", "known": false,
			"sources":   []any{},
			"this_week": map[string]any{"state": "never_named", "meaning": "No source ever named it."},
			"last_row":  nil},
	} {
		if diff := cmp.Diff(want, ask(host)); diff != "" {
			t.Errorf("%s: - want + got\n%s", host, diff)
		}
	}
	// A name that no file system takes has its page under its digest.
	if got := ask(long)["last_row"].(map[string]any)["rows_url"]; got != "https://store.example"+derive.HostPath(long)+
		".json" || strings.Contains(got.(string), "aaaa") {
		t.Errorf("the rows of a long name is at %v", got)
	}
}

// TestEveryReasonHasWords finds each reason for which a row may be no observation among those that
// /criteria explains.
func TestEveryReasonHasWords(t *testing.T) {
	said := map[string]bool{}
	for _, g := range derive.CurrentRules().Gaps {
		if g.Meaning == "" || said[g.Reason] {
			t.Errorf("%s has no words, or twice", g.Reason)
		}
		said[g.Reason] = true
	}
	for _, reason := range []string{tier.BeforeFirst, tier.GapNotListed, tier.GapCap, tier.GapDegraded,
		census.ReasonBeyondCap, census.ReasonWeekOver, census.ReasonInterrupted, census.ReasonNotJudged,
		record.ReasonControlFailed, record.ReasonOptedOut, record.ReasonMethodUnresolved, record.ReasonNotRecorded,
		record.ReasonInputs,
		record.ReasonErratum, fetch.CodeTarget, fetch.CodeOwnHost, probe.ReasonChallenged} {
		if !said[reason] {
			t.Errorf("%s has no words", reason)
		}
		delete(said, reason)
	}
	for reason := range said {
		t.Errorf("%s is no reason", reason)
	}
}

// TestWhyQuotesTheLists: what a list says of a host's doors comes back from the ledger as it was
// read, with its week.
func TestWhyQuotesTheLists(t *testing.T) {
	w := newWorld(t)
	door := w.doors()[0]
	said := census.ListedDoor{URL: door, Method: "GET", Cut: true,
		Offer: &record.RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact"}, MinUSDC: "0.01",
			MaxUSDC: "1",
			PayTo:   []record.PayTo{{Network: "eip155:8453", Digest: strings.Repeat("ab", 32)}}}}
	w.run(w.config(census.Source{Name: "bazaar", Kind: record.SourceDiscovery,
		Read: func(_ context.Context, _ census.Reading, put func(census.Named)) error {
			put(census.Named{URL: door, Method: "get", Offer: said.Offer, Cut: true})
			return nil
		}}))
	u, err := url.Parse(door)
	if err != nil {
		t.Fatal(err)
	}
	week := record.ISOWeek(w.now)
	why, err := w.store.Why(t.Context(), week, u.Hostname())
	if err != nil || why.Listed != week || len(why.Sources) != 1 || len(why.Sources[0].Doors) != 1 ||
		why.Sources[0].DoorsLeftOut != 0 {
		t.Fatalf("%+v, %v", why, err)
	}
	if d := cmp.Diff(said, why.Sources[0].Doors[0]); d != "" {
		t.Errorf("want -, got +\n%s", d)
	}
	if why, err := w.store.Why(t.Context(), week, "nobody.example"); err != nil || why.Listed != "" {
		t.Errorf("nobody: %+v, %v", why, err)
	}
}
