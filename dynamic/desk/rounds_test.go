package desk_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/corpustest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/desk"
)

// sealed is a record of twelve rounds, open for a desk.
func sealed(t *testing.T) (desk.Rounds, *seal.Writer) {
	t.Helper()
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.test/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog),
		Ring:   attest.SpecimenRing()}
	corpustest.Append(t, w, 3, corpustest.Weeks)
	a, err := archive.Open(t.Context(), archive.Config{Record: w.Dir, Index: filepath.Join(t.TempDir(), "view"),
		Ring: w.Ring})
	if err != nil {
		t.Fatal(err)
	}
	return desk.Rounds{Archive: a, BaseURL: base}, w
}

func TestWhatIsHeldOfAHost(t *testing.T) {
	r, _ := sealed(t)
	held := func(host string) desk.HostHistory {
		t.Helper()
		h, err := r.Host(t.Context(), host)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := held("standing.example")
	if h.NeverMet || h.RoundsInChain != 12 || h.RoundsSinceFirst != 12 || h.RoundsProbed != 12 || h.RoundsGapped != 0 ||
		h.Tier.Line != "standing — 8 of 8, W40–W47" {
		t.Errorf("standing: %+v %+v", h, h.Tier)
	}
	if diff := cmp.Diff(desk.Fraction{Ready: 8, Rounds: 8, FirstWeek: "2026-W40", LastWeek: "2026-W47"},
		h.Tier.Fraction); diff != "" {
		t.Errorf("fraction (-want +got):\n%s", diff)
	}
	if h.LastProbed.Week != "2026-W47" || h.LastProbed.EntryURL != base+"/corpus/12.json" || h.RowsURL != base+
		"/corpus/host/standing.example.json" || h.LastProbed.Catalog != "bazaar" {
		t.Errorf("standing: %+v", h.LastProbed)
	}
	if p := h.PaymentAddress; !p.Captured || p.Sequence != 12 || *p.AtOtherDoors != 0 || p.Caveat == "" {
		t.Errorf("standing: %+v", p)
	}
	h = held("api.weather.example")
	if p := h.PaymentAddress; *p.AtOtherDoors != 1 {
		t.Errorf("an address at two doors: %+v", p)
	}
	h = held("broken.example")
	if h.Tier.Name != "broken" || h.PaymentAddress.Captured || h.PaymentAddress.WhyNot != "no_offer_seen" ||
		h.PaymentAddress.AtOtherDoors != nil {
		t.Errorf("broken: %+v %+v", h.Tier, h.PaymentAddress)
	}
	if diff := cmp.Diff([]desk.VerdictChange{{Week: "2026-W47", At: "2026-11-22T00:00:00Z", From: probe.Ready,
		To: probe.NotReady}}, h.VerdictChanges); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	h = held("missed.example")
	if diff := cmp.Diff(map[string]int{"interrupted": 3, "instrument_degraded": 2}, h.GapsByReason); diff != "" ||
		h.RoundsGapped != 5 || h.RoundsProbed != 7 {
		t.Errorf("missed: %+v (-want +got):\n%s", h, diff)
	}
	if h.LastProbed.Week != "2026-W45" {
		t.Errorf("missed: last probed %+v", h.LastProbed)
	}
	if note := held("moved.example").StandingNote; note == nil || note.By != "host" ||
		!strings.HasPrefix(note.Statement, "We moved") {
		t.Errorf("note %+v", note)
	}
	h = held("never-seen.example")
	if h.NeverMet || h.RoundsProbed != 0 || h.LastProbed != nil || h.Passport != nil || h.PaymentAddress.Captured ||
		h.PaymentAddress.WhyNot != derive.NotCapturedUnseen || h.PaymentAddress.Week == "" ||
		h.Tier.Name != "indeterminate" {
		t.Errorf("never seen: %+v", h)
	}
	h = held("nobody.example")
	if !h.NeverMet || h.PaymentAddress == nil || h.PaymentAddress.Captured || h.PaymentAddress.WhyNot == "" ||
		h.RoundsInChain != 12 || h.Tier != nil || h.GapsByReason == nil || h.VerdictChanges == nil ||
		len(h.WhatThisCannotSee) == 0 {
		t.Errorf("nobody: %+v", h)
	}
}

// TestAgeDecidesWhatARecordIsWorth moves the clock over a record that ends on 22 November 2026.
func TestAgeDecidesWhatARecordIsWorth(t *testing.T) {
	r, _ := sealed(t)
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			at        string
			freshness string
			decisions map[string]string
		}{
			{"2026-11-22T00:00:00Z", desk.FreshnessFresh, map[string]string{"standing.example": desk.DecisionReady,
				"broken.example": desk.DecisionBroken, "late.example": desk.DecisionLook}},
			{"2026-11-29T00:00:00Z", desk.FreshnessFresh, map[string]string{"standing.example": desk.DecisionReady}},
			{"2026-12-06T00:00:00Z", desk.FreshnessAging, map[string]string{"standing.example": desk.DecisionReady,
				"broken.example": desk.DecisionBroken, "late.example": desk.DecisionLook}},
			{"2026-12-21T00:00:00Z", desk.FreshnessExpired, map[string]string{"standing.example": desk.DecisionLook,
				"broken.example": desk.DecisionLook}},
		} {
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(at))
			for host, want := range c.decisions {
				h, err := r.Host(t.Context(), host)
				if err != nil {
					t.Fatal(err)
				}
				if p := h.Passport; p.Freshness != c.freshness || p.Decision != want || p.Source != "census" ||
					h.DerivedAt != c.at {
					t.Errorf("%s at %s: %+v, want %s and %s", host, c.at, p, c.freshness, want)
				}
			}
		}
	})
}

func TestRowsAreCitedWithTheirProof(t *testing.T) {
	r, w := sealed(t)
	for host, weeks := range map[string]map[string]string{
		"established.example": {"": "2026-W47", "2026-W37": "2026-W37"},
		"missed.example":      {"": "2026-W45", "2026-W40": "2026-W40"}, // not probed in W40, and the row says so
	} {
		for asked, want := range weeks {
			c, known, err := r.Row(t.Context(), host, asked)
			if err != nil || c == nil || c.Week != want || len(known) != 12 || known[0] != "2026-W36" {
				t.Fatalf("%s in %q: %+v, %v, %v", host, asked, c, known, err)
			}
			proof, err := tlog.ParseProof([]byte(c.Inclusion))
			if err != nil {
				t.Fatal(err)
			}
			record := r.Archive.Now().Record
			raw, err := record.Log.Entry(c.Leaf)
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != c.RowSHA256 || proof.Index != c.Leaf {
				t.Errorf("%s in %q: leaf %d is another row", host, asked, c.Leaf)
			}
			head, err := proof.Verify(raw, w.Ring)
			if round, _ := record.Round(c.Sequence); err != nil || head.Size != round.LeavesEnd() ||
				c.Digest != round.Digest.String() {
				t.Errorf("%s in %q: proved under %d: %v", host, asked, head.Size, err)
			}
		}
	}
	for _, c := range []struct{ host, week string }{{"established.example", "2026-W30"}, {"late.example", "2026-W36"},
		{"nobody.example", ""}, {"never-seen.example", ""}} {
		row, known, err := r.Row(t.Context(), c.host, c.week)
		if row != nil || len(known) != 12 || err != nil {
			t.Errorf("%v: %+v, %v, %v", c, row, known, err)
		}
	}
}

func TestLookOverARealRecord(t *testing.T) {
	o := street(t, door(nil))
	r, _ := sealed(t)
	o.record = r
	h := openTest(t, o)
	// The street has no certificate for these names, so that each is unreachable now.
	for _, c := range []struct{ url, since, line, class string }{
		{"https://standing.example.com/paid", "", "no_prior", "no_such_round"},
		{"https://STANDING.example./paid", "", "changed", "moved"},
		{"https://broken.example/paid", "2026-W46", "changed", "moved"},
		{"https://xn--bcher-kva.example/paid", "", "changed", "moved"},
		{"https://bücher.example/paid", "", "changed", "moved"},
		{"https://never-seen.example/paid", "", "no_prior", "no_such_round"},
		{"https://late.example/paid", "2026-W36", "changed", "no_such_round"},
	} {
		code, _, doc := post(t, h, "/api/look/v1", map[string]string{"url": c.url, "since": c.since})
		if code != 200 {
			t.Fatalf("%+v: %d %v", c, code, doc)
		}
		rep := doc["reproduce"].(map[string]any)
		if line := doc["now_against_held"].(map[string]any)["line"]; line != c.line || rep["class"] != c.class {
			t.Errorf("%s since %q: %v and %v, want %s and %s", c.url, c.since, line, rep["class"], c.line, c.class)
		}
		if elsewhere := strings.Contains(rep["detail"].(string), "in 2026-W36; it has rows"); c.since == "2026-W36" !=
			elsewhere {
			t.Errorf("%s since %q: %v", c.url, c.since, rep["detail"])
		}
		want := "/corpus/host/" + doc["host"].(string) + ".json"
		if doc["held"].(map[string]any)["never_met"] == true {
			want = "/api/why/" + doc["host"].(string)
		}
		if steps := fmt.Sprint(doc["next_steps"]); !strings.Contains(steps, base+want) {
			t.Errorf("%s: %s is not among %s", c.url, want, steps)
		}
		if cite, ok := rep["cite"].(map[string]any); ok &&
			(!strings.HasPrefix(cite["inclusion_proof"].(string), "c2sp.org/tlog-proof@v1\n") ||
				cite["license"] != "CC-BY-4.0") {
			t.Errorf("%s: cited without a proof or its licence: %v", c.url, cite)
		}
	}
}

func TestBadgeShowsTheRecord(t *testing.T) {
	o := street(t, door(nil))
	r, w := sealed(t)
	o.record = r
	h := openTest(t, o)
	badge := func(u string) string {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/badge/check.svg?url="+url.QueryEscape(u), nil))
		return w.Body.String()
	}
	for u, want := range map[string]string{"https://standing.example/": "ready (v2)",
		"https://broken.example/": "not ready (v2)",
		"https://gone.example/x":  "unreachable (v2)", "https://nobody.example/": "no reading"} {
		if got := badge(u); !strings.Contains(got, want) {
			t.Errorf("%s: %s", u, got)
		}
	}
	// A paid refresh is newer than the round, and shown without one.
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-11-24T00:00:00Z",
		Kind: record.ObservationPaidRefresh, Refresh: &record.Refresh{Host: "broken.example",
			URL: "https://broken.example/", Verdict: "ready", ReachedLevel: "L4", Failed: []string{}, Battery: "v1",
			Fault: "none", EvidenceDigest: strings.Repeat("0", 64)}}); err != nil {
		t.Fatal(err)
	}
	if err := r.Archive.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got := badge("https://broken.example/"); !strings.Contains(got, "ready (v1)") ||
		strings.Contains(got, "not ready") {
		t.Errorf("refreshed: %s", got)
	}
	if p, err := r.Host(t.Context(), "broken.example"); err != nil || p.Passport.Source != "paid_refresh" ||
		p.Passport.Verdict != probe.Ready {
		t.Errorf("passport %+v, %v", p.Passport, err)
	}
}

func TestRoundsBeforeTheFirst(t *testing.T) {
	dir := t.TempDir()
	a, err := archive.Open(t.Context(), archive.Config{Record: dir, Index: filepath.Join(t.TempDir(), "v"),
		Ring: attest.SpecimenRing()})
	if err != nil {
		t.Fatal(err)
	}
	r := desk.Rounds{Archive: a, BaseURL: base}
	want, _ := desk.Rounds{}.Host(t.Context(), "x.example")
	if got, err := r.Host(t.Context(), "x.example"); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := r.Address(t.Context(), "0x0000000000000000000000000000000000000009"); err != nil || !got.NeverSeen {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := r.Reading(t.Context(), "x.example"); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if row, known, err := r.Row(t.Context(), "x.example", ""); row != nil || known == nil || err != nil {
		t.Errorf("%+v, %v, %v", row, known, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("a reader wrote into the record: %v, %v", entries, err)
	}
}

// TestRecordSaysHowADoorIsAsked seals a round in which doors were observed by GET, by what they
// declared and by their Allow header.
func TestRecordSaysHowADoorIsAsked(t *testing.T) {
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.test/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog),
		Ring:   attest.SpecimenRing()}
	at := time.Date(2026, 11, 15, 6, 0, 0, 0, time.UTC)
	row := func(host, verdict, used, by string) record.Row {
		return record.Row{Host: host, URL: "https://" + host + "/paid", Source: record.SourceWellKnown,
			Verdict: verdict, ReachedLevel: "L4", Failed: []string{}, Advisories: []string{},
			Protocols: []string{}, Battery: "v2", Fault: record.FaultNone, ObservedAt: at.Format(time.RFC3339),
			EvidenceDigest: strings.Repeat("ab", 32), ProbeMethod: &record.ProbeMethod{Used: used,
				Attempted: []string{"GET", "POST"}, DeclaredBy: by}}
	}
	_, err := w.Seal(t.Context(), seal.Draft{Sequence: 1, Week: record.ISOWeek(at), TakenAt: at, Battery: "v2",
		Roster: record.Roster{Listed: 3, Sources: []record.RosterSource{}},
		Inflows: record.Inflows{From: at.AddDate(0, 0, -6).Format(time.RFC3339), To: at.Format(time.RFC3339),
			Networks: []record.NetworkInflow{}},
		Rows: func(yield func(record.Row, error) bool) {
			_ = yield(row("allow.example", record.VerdictReady, "POST", "allow"), nil) &&
				yield(row("file.example", record.VerdictReady, "POST", "well-known"), nil) &&
				yield(row("get.example", record.VerdictReady, "GET", ""), nil)
		}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(t.Context(), archive.Config{Record: w.Dir, Index: filepath.Join(t.TempDir(), "view"),
		Ring: w.Ring})
	if err != nil {
		t.Fatal(err)
	}
	r := desk.Rounds{Archive: a, BaseURL: base}
	for door, want := range map[string]probe.Declaration{
		"https://file.example/paid": {Method: "POST", By: "well-known"}, "https://file.example/other": {},
		"https://allow.example/paid": {}, "https://get.example/paid": {}, "https://nobody.example/paid": {},
	} {
		u, err := url.Parse(door)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Declared(t.Context(), u.Hostname(), door); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", door, got, err, want)
		}
	}
}
