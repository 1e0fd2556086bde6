package desk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// week is a census in which one host is on the roster.
type week struct {
	phase, on string
	err       error
}

func (w week) Week(_ context.Context, name string) (census.Week, error) {
	return census.Week{Week: name, Phase: w.phase}, w.err
}

func (w week) Why(_ context.Context, name, host string) (census.Why, error) {
	why := census.Why{Host: host, Week: name, ThisWeek: census.ThisWeek{State: census.StateNeverNamed}}
	if host == w.on {
		why.ThisWeek.State = census.StateDue
	}
	return why, w.err
}

type hostName struct {
	Host string `json:"host"`
}

// declarers are hosts that declare doors in their own ways.
func declarers(hits *atomic.Int64) http.Handler {
	files := map[string]string{
		"two.example.com/.well-known/x402":          `{"version":1,"resources":[{"resource":"https://two.example.com/a","type":"http"},{"resource":"/b","type":"http","method":"POST"},{"resource":"https://other.example.com/c","type":"http"},{"resource":"http://two.example.com/d","type":"http"}]}`,
		"foreign.example.com/.well-known/x402":      `{"version":1,"resources":["https://other.example.com/c"]}`,
		"empty.example.com/.well-known/x402":        `{"version":1,"resources":[]}`,
		"bad.example.com/.well-known/x402":          `{"version":1}`,
		"card.example.com/.well-known/agent.json":   `{"name":"x","x402Discovery":"https://card.example.com/doors.json"}`,
		"card.example.com/doors.json":               `{"version":1,"resources":["/a"]}`,
		"away.example.com/.well-known/x402":         "->https://two.example.com/.well-known/x402",
		"nocard.example.com/.well-known/agent.json": `{"name":"x"}`,
		"twice.example.com/.well-known/x402":        `{"version":1,"resources":["/a"]}`,
		"roster.example.com/.well-known/x402":       `{"version":1,"resources":["/a"]}`,
		"roster-bad.example.com/.well-known/x402":   `nonsense`,
		"out.example.com/.well-known/x402":          `{"version":1,"resources":["/a"],"census":"no"}`,
		"just-out.example.com/.well-known/x402":     `{"census":"no"}`,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		file, ok := files[r.Host+r.URL.Path]
		if to, away := strings.CutPrefix(file, "->"); away {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, file)
	})
}

func member(doc map[string]any, path ...string) any {
	var v any = doc
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

func TestDeclaringADoor(t *testing.T) {
	var hits atomic.Int64
	o := street(t, declarers(&hits))
	o.roster = week{phase: census.PhaseOpen, on: "roster.example.com"}
	h, db := openWithLedger(t, o)
	for _, c := range []struct {
		host, kind, this, via, shape, why string
		doors                             int
		foreign, refused                  float64
		reads                             int64
	}{
		{host: "two.example.com", kind: "doors", this: "appended", via: "x402", shape: "v1-objects", doors: 2,
			foreign: 1, refused: 1, reads: 1},
		{host: "CARD.example.com", kind: "doors", this: "appended", via: "agent-card", shape: "v1-strings", doors: 1,
			reads: 3},
		{host: "roster.example.com", kind: "doors", this: "already-on-roster", via: "x402", shape: "v1-strings",
			doors: 1, reads: 1},
		{host: "foreign.example.com", kind: "none", this: "no-door-on-own-host", via: "x402", shape: "v1-strings",
			foreign: 1, why: "no door on its own host", reads: 1},
		{host: "empty.example.com", kind: "none", this: "no-door-on-own-host", via: "x402", shape: "v1-empty",
			why: "no door on its own host", reads: 1},
		{host: "nothing.example.com", kind: "none", this: "no-door-on-own-host", why: "no agent card", reads: 2},
		{host: "nocard.example.com", kind: "none", this: "no-door-on-own-host", why: "no x402Discovery", reads: 2},
		{host: "bad.example.com", kind: "unreadable", this: "no-walk-this-week", via: "x402", shape: "unknown",
			why: "without a list", reads: 1},
		{host: "away.example.com", kind: "unreadable", this: "no-walk-this-week", via: "x402", shape: "unknown",
			why: "another host", reads: 1},
		{host: "nowhere.example.com", kind: "unreadable", this: "no-walk-this-week", via: "x402", shape: "unknown",
			why: "resolve"},
		{host: "roster-bad.example.com", kind: "unreadable", this: "no-walk-this-week", via: "x402", shape: "unknown",
			why: "not JSON", reads: 1},
		{host: "out.example.com", kind: "none", this: "opted_out", via: "x402", shape: "v1-strings",
			why: "not to be walked", reads: 1},
		{host: "just-out.example.com", kind: "none", this: "opted_out", via: "x402", shape: "unknown",
			why: "not to be walked", reads: 1},
	} {
		before := hits.Load()
		code, header, doc := post(t, h, "/api/declare-door", hostName{c.host})
		if code != 200 {
			t.Errorf("%s: %d %v", c.host, code, doc)
			continue
		}
		via, _ := member(doc, "read", "via").(string)
		shape, _ := member(doc, "read", "shape").(string)
		reason, _ := member(doc, "read", "reason").(string)
		list, _ := member(doc, "read", "doors").([]any)
		if member(doc, "read", "kind") != c.kind || member(doc, "walk", "this_week") != c.this || via != c.via ||
			shape != c.shape || len(list) != c.doors ||
			member(doc, "read", "foreign") != c.foreign || member(doc, "read", "refused") != c.refused ||
			member(doc, "read", "opted_out") != (c.this == "opted_out") || !strings.Contains(reason, c.why) ||
			(reason == "") != (c.why == "") {
			t.Errorf("%s: %v", c.host, doc)
		}
		door, _ := member(doc, "walk", "door_the_census_will_knock_on").(string)
		if (door != "") != (c.this == "appended") {
			t.Errorf("%s: the census knocks on %q", c.host, door)
		}
		if got := hits.Load() - before; got != c.reads {
			t.Errorf("%s: %d requests, want %d", c.host, got, c.reads)
		}
		if header.Get("RateLimit-Remaining") == "" || doc["next_read_by_hand_after"] == "" {
			t.Errorf("%s: no budget or time in %v", c.host, doc)
		}
	}
	var all []feed.Declared
	var seen []record.Observation
	err := db.View(t.Context(), func(tx ledger.Tx) (err error) {
		if all, err = feed.Declarations(tx); err == nil {
			seen, err = feed.Since(tx, 1, 100)
		}
		return err
	})
	if err != nil || len(all) != 3 || len(seen) != 3 {
		t.Fatalf("%d hosts and %d observations, want those three that declared doors: %v", len(all), len(seen), err)
	}
	want := record.Declaration{Host: "two.example.com", Shape: "v1-objects",
		Doors: []string{"https://two.example.com/a", "https://two.example.com/b"}, Foreign: 1}
	if d := cmp.Diff(&want, seen[0].Declaration); d != "" {
		t.Errorf("the observation (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"", "POST"}, all[2].Methods); all[2].Host != "two.example.com" || d != "" {
		t.Errorf("%+v", all[2])
	}
}

// TestDeclaringSaysWhatFollows: in each phase of the week, by a store that fires the census by the
// hour and by one that leaves that to its keeper.
func TestDeclaringSaysWhatFollows(t *testing.T) {
	o := street(t, declarers(new(atomic.Int64)))
	for _, c := range []struct {
		phase      string
		hourly     bool
		this, says string
	}{
		{census.PhaseNone, true, "appended", "is not made yet. The next hourly firing of the census makes it"},
		{census.PhaseNone, false, "appended", "when the keeper has the census run"},
		{census.PhaseOpen, true, "appended", "The next hourly firing of the census puts the host on this week's " +
			"roster"},
		{census.PhaseOpen, false, "appended", "The next time that the keeper fires the census by the hour"},
		{census.PhaseClosed, true, "no-walk-this-week", "the first hourly firing of that week"},
		{census.PhaseSealed, true, "no-walk-this-week", "the first hourly firing of that week"},
		{census.PhaseSealed, false, "no-walk-this-week", "when the keeper has the census of that week run"},
	} {
		o.roster, o.hourly = week{phase: c.phase}, c.hourly
		code, _, doc := post(t, openTest(t, o), "/api/declare-door", hostName{"two.example.com"})
		then, _ := member(doc, "walk", "then").(string)
		if code != 200 || member(doc, "walk", "this_week") != c.this || !strings.Contains(then, c.says) ||
			member(doc, "walk", "door_the_census_will_knock_on") != "https://two.example.com/a" {
			t.Errorf("%q, hourly %v: %v", c.phase, c.hourly, doc)
		}
		if strings.Contains(then, "hourly firing") != c.hourly {
			t.Errorf("%q, hourly %v: a firing that is not known of, or not told of: %s", c.phase, c.hourly, then)
		}
	}
}

func TestOneReadingByHandADay(t *testing.T) {
	var hits atomic.Int64
	o := street(t, declarers(&hits))
	h, db := openWithLedger(t, o)
	// Many at once: one of them is answered.
	var wg sync.WaitGroup
	var answered, refusals atomic.Int64
	for range 8 {
		wg.Go(func() {
			code, header, doc := post(t, h, "/api/declare-door", hostName{"twice.example.com"})
			switch code {
			case 200:
				answered.Add(1)
				if member(doc, "walk", "this_week") != "no-walk-this-week" {
					t.Errorf("without a census: %v", doc["walk"])
				}
			case 429:
				refusals.Add(1)
				if !strings.HasSuffix(fmt.Sprint(doc["type"]), "/problems/read_today") ||
					header.Get("Retry-After") == "" || doc["read_by_hand_at"] == nil || doc["try_after"] == nil ||
					doc["host"] != "twice.example.com" || doc["error"] == nil || doc["note"] == nil {
					t.Errorf("%v %v", header, doc)
				}
			default:
				t.Errorf("%d %v", code, doc)
			}
		})
	}
	wg.Wait()
	if answered.Load() != 1 || refusals.Load() != 7 || hits.Load() != 1 {
		t.Errorf("%d answered, %d refused, %d requests", answered.Load(), refusals.Load(), hits.Load())
	}
	// A day later.
	err := db.Update(t.Context(), func(tx ledger.Tx) error {
		return ledger.SetJSON(tx, ledger.NonceKey("declare", "host", "twice.example.com"),
			map[string]time.Time{"at": now().Add(-25 * time.Hour)})
	})
	if err != nil {
		t.Fatal(err)
	}
	if code, _, doc := post(t, h, "/api/declare-door", hostName{"twice.example.com"}); code != 200 {
		t.Errorf("%d %v", code, doc)
	}
}

func TestRefusedDeclarationsSpendNothing(t *testing.T) {
	var hits atomic.Int64
	h := openTest(t, street(t, declarers(&hits)))
	for host, code := range map[string]string{
		"": "invalid_input", "https://two.example.com": "invalid_input", "two.example.com/": "invalid_input",
		"two.example.com:443": "invalid_input", "two example.com": "invalid_input",
		"user@two.example.com": "invalid_input", "93.184.216.34": "invalid_input", "[::1]": "invalid_input",
		strings.Repeat("a.", 130) + "com": "invalid_input", "two.example.com?x": "invalid_input",
		"store.test": "own_host_refused", "STORE.test.": "own_host_refused", "inside.example.com": "target_refused",
		"localhost": "target_refused",
	} {
		status, header, doc := post(t, h, "/api/declare-door", hostName{host})
		if status != 400 || !strings.HasSuffix(fmt.Sprint(doc["type"]), "/problems/"+code) ||
			header.Get("RateLimit") != "" {
			t.Errorf("%q: %d %v", host, status, doc)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests were made", hits.Load())
	}
}

// TestOurOwnFaultCostsNoReading: what fails here and not at the host leaves the host's reading of
// the day.
func TestOurOwnFaultCostsNoReading(t *testing.T) {
	var hits atomic.Int64
	o := street(t, declarers(&hits))
	o.roster = week{err: errors.New("the roster is away")}
	h, db := openWithLedger(t, o)
	if code, _, doc := post(t, h, "/api/declare-door", hostName{"two.example.com"}); code != 503 {
		t.Errorf("%d %v", code, doc)
	}
	err := db.View(t.Context(), func(tx ledger.Tx) error {
		for e, err := range tx.Scan(ledger.Prefix(ledger.NonceKey("declare"))) {
			if err != nil {
				return err
			}
			t.Errorf("left behind: %s", ledger.KeyText(e.Key))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
