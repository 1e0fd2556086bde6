package desk_test

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/archive"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
)

// TestOneProbeForManyCallers: whoever asks for a URL while it is read, or within seconds, gets the
// same reading, and the door is asked once. Each call spends a use.
func TestOneProbeForManyCallers(t *testing.T) {
	const callers = 12
	var hits atomic.Int64
	arrived := make(chan struct{})
	var once sync.Once
	release := make(chan struct{})
	h := openTest(t, street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(arrived) })
		<-release
		door(&hits)(w, r)
	})))
	var wg sync.WaitGroup
	var shared, remaining atomic.Int64
	remaining.Store(1000)
	ask := func() {
		code, header, doc := post(t, h, "/api/preflight/v2", asked{"https://a.example.com/paid"})
		if code != 200 || doc["verdict"] != "ready" {
			t.Errorf("%d %v", code, doc["verdict"])
		}
		if doc["shared"] == true {
			shared.Add(1)
		}
		var n int64
		fmt.Sscan(header.Get("RateLimit-Remaining"), &n)
		for {
			old := remaining.Load()
			if n >= old || remaining.CompareAndSwap(old, n) {
				break
			}
		}
	}
	wg.Go(ask)
	<-arrived
	for range callers - 1 {
		wg.Go(ask)
	}
	close(release)
	wg.Wait()
	ask() // a moment later, under another spelling of the same URL
	if code, _, doc := post(t, h, "/api/preflight/v2", asked{"https://A.example.com:443/paid"}); code != 200 ||
		doc["shared"] != true {
		t.Errorf("another spelling: %d, shared %v", code, doc["shared"])
	}
	// The other battery judges the same recording.
	if code, _, doc := post(t, h, "/api/preflight/v1", asked{"https://a.example.com/paid"}); code != 200 ||
		doc["shared"] != true || doc["version"] != "v1" || doc["verdict"] != "ready" {
		t.Errorf("the other battery: %d %v, shared %v", code, doc["verdict"], doc["shared"])
	}
	if hits.Load() != 1 || shared.Load() != callers {
		t.Errorf("%d requests to the door and %d shared answers, want 1 and %d", hits.Load(), shared.Load(), callers)
	}
	if remaining.Load() != 30-callers-1 {
		t.Errorf("%d uses remain, want %d", remaining.Load(), 30-callers-1)
	}
}

// TestASharedLookAsksForWhatIsMissing: what the GET alone recorded for v1 is not enough for v2 at a
// door that wants a POST, so v2 looks for itself; v1 then judges the GET that v2 recorded.
func TestASharedLookAsksForWhatIsMissing(t *testing.T) {
	var gets, posts atomic.Int64
	h := openTest(t, street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			posts.Add(1)
			door(nil)(w, r)
			return
		}
		gets.Add(1)
		w.Header().Set("Allow", "POST")
		w.WriteHeader(405)
	})))
	for _, c := range []struct {
		version, url, verdict string
		gets, posts           int64
	}{
		{"v1", "https://a.example.com/", "method_unresolved", 1, 0},
		{"v2", "https://a.example.com/", "ready", 2, 1},
		{"v2", "https://b.example.com/", "ready", 3, 2},
		{"v1", "https://b.example.com/", "method_unresolved", 3, 2},
	} {
		code, _, doc := post(t, h, "/api/preflight/"+c.version, asked{c.url})
		if code != 200 || doc["verdict"] != c.verdict || gets.Load() != c.gets || posts.Load() != c.posts {
			t.Errorf("%+v: %d %v after %d GET and %d POST", c, code, doc["verdict"], gets.Load(), posts.Load())
		}
	}
}

// TestACallerWhoLeavesSpoilsNothing: the reading goes on for those who stay.
func TestACallerWhoLeavesSpoilsNothing(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	h := openTest(t, street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		door(nil)(w, r)
	})))
	ctx, leave := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		r := httptest.NewRequest("POST", base+"/api/preflight/v2",
			strings.NewReader(`{"url":"https://a.example.com/"}`)).WithContext(ctx)
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(httptest.NewRecorder(), r)
	})
	<-arrived
	leave()
	wg.Wait()
	close(release)
	if code, _, doc := post(t, h, "/api/preflight/v2", asked{"https://a.example.com/"}); code != 200 ||
		doc["verdict"] != "ready" {
		t.Errorf("%d %v", code, doc)
	}
}

// chronicle is a record with one host in it.
type chronicle struct {
	desk.Rounds
	rows map[string]*desk.Cited // by week
	last string
}

func (c chronicle) Host(ctx context.Context, host string) (desk.HostHistory, error) {
	if host != "met.example.com" {
		return c.Rounds.Host(ctx, host)
	}
	return desk.HostHistory{RoundsInChain: 4, RoundsSinceFirst: 3, RoundsProbed: 2, RoundsGapped: 1,
		GapsByReason: map[string]int{"listed_not_walked": 1},
		Tier:         &desk.Tier{Name: "broken", Line: "broken — 1 of 3, W33–W35"},
		Passport:     &desk.Passport{Verdict: probe.NotReady, ObservedAt: "2026-08-20T00:00:00Z"},
		LastProbed:   c.rows[c.last], VerdictChanges: []desk.VerdictChange{},
		StandingNote: &archive.StandingNote{Statement: "We moved house.", By: "host"}}, nil
}

func (c chronicle) Row(_ context.Context, host, week string) (*desk.Cited, []string, error) {
	if week == "" {
		week = c.last
	}
	if host != "met.example.com" {
		return nil, []string{"2026-W33", "2026-W34", "2026-W35"}, nil
	}
	return c.rows[week], []string{"2026-W33", "2026-W34", "2026-W35"}, nil
}

func (c chronicle) Reading(_ context.Context, host string) (*desk.LastReading, error) {
	if host != "met.example.com" {
		return nil, nil
	}
	return &desk.LastReading{Verdict: probe.NotReady, ObservedAt: "2026-08-20T00:00:00Z", Battery: "v2",
		Source: "census"}, nil
}

func TestLookComparesWithTheRecord(t *testing.T) {
	o := street(t, door(nil))
	o.record = chronicle{last: "2026-W35", rows: map[string]*desk.Cited{
		"2026-W33": {URL: "https://met.example.com/paid", Week: "2026-W33", Sequence: 1, Verdict: probe.Ready,
			Failed: []string{}, Battery: "v1", Digest: "d33"},
		"2026-W34": {URL: "https://met.example.com/paid", Week: "2026-W34", Sequence: 2, Verdict: probe.Ready,
			Failed: []string{}, Battery: "v2", Digest: "d34"},
		"2026-W35": {URL: "https://met.example.com/paid", Week: "2026-W35", Sequence: 3, Verdict: probe.NotReady,
			Failed: []string{"network-mainnet"}, Battery: "v2", Digest: "d35"},
	}}
	h := openTest(t, o)
	for _, c := range []struct{ url, since, line, class string }{
		{"https://met.example.com/paid", "", "changed", "moved"},
		{"https://met.example.com/paid", "2026-W34", "changed", "same"},
		{"https://met.example.com/paid", "2026-W33", "changed", "instrument_moved"},
		{"https://met.example.com/paid", "2026-W40", "changed", "no_such_round"},
		// the class is a function of the six values alone
		{"https://met.example.com/other", "", "not_comparable", "moved"},
		{"https://new.example.com/paid", "", "no_prior", "no_such_round"},
	} {
		code, _, doc := post(t, h, "/api/look/v1", map[string]string{"url": c.url, "since": c.since})
		if code != 200 {
			t.Fatalf("%+v: %d %v", c, code, doc)
		}
		line := doc["now_against_held"].(map[string]any)["line"]
		rep := doc["reproduce"].(map[string]any)
		if line != c.line || rep["class"] != c.class {
			t.Errorf("%s since %q: %v and %v, want %s and %s", c.url, c.since, line, rep["class"], c.line, c.class)
		}
		if len(rep["known_weeks"].([]any)) != 3 {
			t.Errorf("known weeks %v", rep["known_weeks"])
		}
		if cited := rep["cite"] != nil; cited != (c.class != "no_such_round") {
			t.Errorf("%s since %q: cited is %v", c.url, c.since, cited)
		}
	}
	_, _, doc := post(t, h, "/api/look/v1", asked{"https://met.example.com/paid"})
	rep := doc["reproduce"].(map[string]any)
	if d := cmp.Diff(rep["failed_cleared"], []any{"network-mainnet"}); d != "" ||
		rep["cite"].(map[string]any)["digest"] != "d35" {
		t.Errorf("reproduce %v", rep)
	}
	if note := doc["held"].(map[string]any)["standing_note"].(map[string]any); note["statement"] != "We moved house." {
		t.Errorf("standing note %v", note)
	}
	for _, since := range []string{"2026-34", "2026-W00", "2026-W54", "2025-W53", "26-W01", "2026-W1", "2026-W34 "} {
		if code, header, doc := post(t, h, "/api/look/v1", map[string]string{"url": "https://met.example.com/",
			"since": since}); code != 400 ||
			!strings.HasSuffix(doc["type"].(string), "/problems/bad_since") || header.Get("RateLimit") != "" {
			t.Errorf("since %q: %d %v", since, code, doc["type"])
		}
	}
	if code, _, _ := post(t, h, "/api/look/v1", map[string]string{"url": "https://met.example.com/",
		"since": "2026-W53"}); code != 200 {
		t.Errorf("2026 has a week 53: %d", code)
	}
}

func TestBadgeShowsTheLastReadingAndNeverProbes(t *testing.T) {
	var hits atomic.Int64
	o := street(t, door(&hits))
	o.record = chronicle{}
	var err error
	if o.drawer, err = desk.OpenDrawer(t.TempDir(), 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.drawer.Close() })
	h := openTest(t, o)
	badge := func(u string) string {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/badge/check.svg?url="+url.QueryEscape(u), nil))
		if w.Code != 200 || w.Header().Get("Content-Type") != "image/svg+xml" {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return w.Body.String()
	}
	for u, want := range map[string]string{"https://new.example.com/": "x402 check: no reading",
		"https://met.example.com/paid": "x402 check: not ready (v2) · "} {
		if got := badge(u); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in %s", u, want, got)
		}
	}
	for _, at := range []string{"check.svg", "check.svg?url=", "check.svg?url=ftp://a.example.com/", "host.svg",
		"host.svg?host=a.example.com&x=1", "host.svg?host=a%2Fb"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/badge/"+at, nil))
		if w.Code != 400 || w.Header().Get("Content-Type") != "image/svg+xml" ||
			!strings.HasPrefix(w.Body.String(), "<svg") {
			t.Errorf("%s: %d %s", at, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/badge/host.svg?host=MET.example.com.", nil))
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, "x402 record: broken — 1 of 3, W33–W35 · ") ||
		!strings.Contains(body, " days old<") {
		t.Errorf("%d %s", w.Code, body)
	}
	if hits.Load() != 0 {
		t.Errorf("a badge made %d requests", hits.Load())
	}
	post(t, h, "/api/preflight/v2", asked{"https://new.example.com/"})
	if got := badge("https://new.example.com/"); !strings.Contains(got, "x402 check: ready (v2) · under a minute old") {
		t.Errorf("after a reading: %s", got)
	}
}

func TestDrawerIsBoundedAndPrivate(t *testing.T) {
	dir := t.TempDir()
	o := street(t, door(nil))
	var err error
	if o.drawer, err = desk.OpenDrawer(dir, 3, 0); err != nil {
		t.Fatal(err)
	}
	h := openTest(t, o)
	for i := range 7 {
		if code, _, doc := post(t, h, "/api/preflight/v2",
			asked{fmt.Sprintf("https://d%d.example.com/", i)}); code != 200 {
			t.Fatalf("%d %v", code, doc)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", e.Name(), info.Mode(), err)
		}
		raw, err := os.ReadFile(dir + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		rec, err := fetch.DecodeRecording(raw)
		if err != nil {
			t.Fatal(err)
		}
		c, err := probe.NewPreflight(probe.V2, rec.Start, probe.Declaration{})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := probe.Replay(rec.Exchanges, c); err != nil || r.Verdict != probe.Ready {
			t.Errorf("judged again: %v %v", r.Verdict, err)
		}
	}
	if o.drawer.Last("https://d0.example.com/") != nil || o.drawer.Last("https://d6.example.com/") == nil {
		t.Error("the oldest was kept or the newest forgotten")
	}
	if err := o.drawer.Close(); err != nil {
		t.Fatal(err)
	}
	// What was read inside a private corpus is kept and never told of, also not after a start.
	inside := t.TempDir()
	for range 2 {
		d, err := desk.OpenDrawer(inside, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Put("https://inside.example.com/", probe.Report{Version: "v2", Verdict: probe.Ready},
			fetch.Recording{Checker: "preflight/v2", Private: true}); err != nil {
			t.Fatal(err)
		}
		if r := d.Last("https://inside.example.com/"); r != nil {
			t.Errorf("a private reading is shown: %+v", r)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(inside); err != nil || len(entries) != 2 {
		t.Errorf("%d private files kept, %v", len(entries), err)
	}
	again, err := desk.OpenDrawer(dir, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Last("https://d6.example.com/") == nil || again.Last("https://d4.example.com/") != nil {
		t.Error("reopened with less room, the wrong ones were kept")
	}
}

func TestBeforeYouPay(t *testing.T) {
	o := street(t, door(nil))
	o.Limits = map[string][2]int{"preflight": {100, 100}}
	h := openTest(t, o)
	for _, c := range []struct {
		name    string
		profile any
		outcome string
		source  string
		hazard  string
	}{
		{"none", nil, "would_sign", "default", ""},
		{"a ceiling", map[string]any{"max_amount_per_payment_usd": 0.5}, "would_sign", "profile", ""},
		{"a ceiling of nothing", map[string]any{"max_amount_per_payment_usd": 0}, "would_throw", "profile", ""},
		{"no ceiling", map[string]any{"max_amount_per_payment_usd": false}, "would_sign", "off", "no-ceiling"},
		{"no controls", map[string]any{"spend_controls_disabled": true}, "would_sign", "off", "no-ceiling"},
		{"unreadable", "all of it", "would_sign", "default", "profile-unreadable"},
		{"unreadable ceiling", map[string]any{"max_amount_per_payment_usd": "1"}, "would_sign", "default",
			"profile-unreadable"},
	} {
		body := map[string]any{"url": "https://a.example.com/paid", "clients": []string{"x402-js-svm/2.27.0"}}
		if c.profile != nil {
			body["client_profile"] = c.profile
		}
		code, _, doc := post(t, h, "/api/before-you-pay/v1", body)
		if code != 200 {
			t.Fatalf("%s: %d %v", c.name, code, doc)
		}
		answer := doc["your_client"].(map[string]any)
		if doc["will_your_client_pay"] != c.outcome || answer["cap_applied"].(map[string]any)["source"] != c.source {
			t.Errorf("%s: %v under %v, want %s under %s", c.name, doc["will_your_client_pay"], answer["cap_applied"],
				c.outcome, c.source)
		}
		if named := strings.Contains(fmt.Sprint(answer["hazards"]), c.hazard); !named {
			t.Errorf("%s: no hazard %s in %v", c.name, c.hazard, answer["hazards"])
		}
		if rows := doc["the_door"].(map[string]any)["clients"].([]any); len(rows) != len(probe.KnownClients()) ||
			rows[0].(map[string]any)["outcome"] == "" {
			t.Errorf("%s: clients at the door: %v", c.name, rows)
		}
		others := doc["other_clients"].([]any)
		if len(others) != 1 || others[0].(map[string]any)["outcome"] != "would_throw" {
			t.Errorf("%s: a Solana client at an EVM door: %v", c.name, others)
		}
	}
	if code, _, _ := post(t, h, "/api/before-you-pay/v1", map[string]any{"url": "https://a.example.com/",
		"clients": []string{"netscape"}}); code != 400 {
		t.Errorf("an unknown client: %d", code)
	}
}

func TestProvenanceIsProvedOnce(t *testing.T) {
	o := street(t, door(nil))
	h := openTest(t, o)
	evm, err := wallet.ParseKey("0x" + strings.Repeat("42", 32))
	if err != nil {
		t.Fatal(err)
	}
	seed := ed25519.NewKeyFromSeed([]byte(strings.Repeat("s", 32)))
	for _, who := range []struct {
		name, address, by string
		sign              func(string) string
	}{
		{"EVM", evm.Address().String(), "eip191",
			func(m string) string { return "0x" + hex.EncodeToString(evm.Sign(wallet.PersonalHash(m))) }},
		{"Solana", networks.EncodeBase58(seed.Public().(ed25519.PublicKey)), "ed25519",
			func(m string) string { return networks.EncodeBase58(ed25519.Sign(seed, []byte(m))) }},
	} {
		code, _, doc := exchangeWith(t, h, httptest.NewRequest("GET", "/api/provenance/self?address="+who.address, nil))
		if code != 200 || doc["single_use"] != true {
			t.Fatalf("%s: %d %v", who.name, code, doc)
		}
		proof := map[string]any{"address": who.address, "signature": who.sign(doc["challenge"].(string)),
			"nonce": doc["nonce"]}
		code, _, doc = post(t, h, "/api/provenance/self", proof)
		if code != 200 {
			t.Fatalf("%s: %d %v", who.name, code, doc)
		}
		if p := doc["proved"].(map[string]any); p["by"] != who.by || p["address"] != who.address ||
			doc["reading"].(map[string]any)["never_seen"] != true {
			t.Errorf("%s: %v", who.name, doc)
		}
		if code, _, doc = post(t, h, "/api/provenance/self", proof); code != 400 ||
			!strings.HasSuffix(doc["type"].(string), "claim_challenge_invalid") {
			t.Errorf("%s again: %d %v", who.name, code, doc["type"])
		}
	}
	// Neither a signature by somebody else nor a challenge that somebody else asks for takes
	// anything from the owner.
	owned := "/api/provenance/self?address=" + evm.Address().String()
	_, _, doc := exchangeWith(t, h, httptest.NewRequest("GET", owned, nil))
	stranger, err := wallet.ParseKey("0x" + strings.Repeat("43", 32))
	if err != nil {
		t.Fatal(err)
	}
	signed := func(by *wallet.Key, nonce any) map[string]any {
		return map[string]any{"address": evm.Address().String(), "nonce": nonce, "signature": "0x" +
			hex.EncodeToString(by.Sign(wallet.PersonalHash(doc["challenge"].(string))))}
	}
	for range 3 {
		if code, _, doc := post(t, h, "/api/provenance/self", signed(stranger, doc["nonce"])); code != 403 {
			t.Errorf("forged: %d %v", code, doc)
		}
		exchangeWith(t, h, httptest.NewRequest("GET", owned, nil))
	}
	for _, test := range []struct {
		nonce any
		want  int
	}{{"", 400}, {strings.Repeat("a", 40), 400}, {doc["nonce"], 200}, {doc["nonce"], 400}} {
		if code, _, doc := post(t, h, "/api/provenance/self", signed(evm, test.nonce)); code != test.want {
			t.Errorf("nonce %q: %d %v, want %d", test.nonce, code, doc, test.want)
		}
	}
}

// TestNoInputIsOurFault: whatever is sent, the answer is no 500.
func TestNoInputIsOurFault(t *testing.T) {
	o := street(t, http.NotFoundHandler())
	o.Limits = map[string][2]int{"preflight": {1 << 30, 1 << 30}, "readings": {1 << 30, 1 << 30},
		"a2a_check": {1 << 30, 1 << 30}}
	h := openTest(t, o)
	bodies := []string{"", "null", "[]", `"x"`, "{}", `{"url":null}`, `{"url":1}`, `{"url":""}`, `{"url":"https://"}`,
		`{"url":"https://%zz.example.com/"}`, `{"url":"https://a.example.com/\ud800"}`,
		"{\"url\":\"https://a.example.com/\xff\"}", `{"url":"https://a.example.com/","url":"https://b.example.com/"}`,
		`{"url":"https://` + strings.Repeat("a", 3000) + `.example.com/"}`,
		`{"url":"https://a.example.com/","client_profile":{"max_amount_per_payment_usd":1e999}}`, `{"urls":[null]}`,
		`{"urls":["https://a.example.com/",""]}`, `{"artifact":""}`, `{"artifact":"..."}`,
		`{"artifact":"{\"format\":\"eip712\"}"}`, `{"address":"","signature":""}`, strings.Repeat("[", 20000),
		`{"url":"https://a.example.com/","since":"\u0000"}`}
	for _, path := range []string{"/api/preflight/v1", "/api/preflight/v2", "/api/look/v1",
		"/api/before-you-pay/v1", "/api/a2a/check", "/api/bot-auth/check", "/api/onpage/v1", "/api/conformance/v1",
		"/api/provenance/self"} {
		for _, b := range bodies {
			r := httptest.NewRequest("POST", base+path, strings.NewReader(b))
			r.Header.Set("Content-Type", "application/json")
			if code, _, doc := exchangeWith(t, h, r); code >= 500 || code != 200 && doc["error"] == nil {
				t.Errorf("%s %.60q: %d %v", path, b, code, doc)
			}
		}
	}
}

// askedWith is a record that knows how one door is asked.
type askedWith struct {
	desk.Rounds
	url string
}

func (a askedWith) Declared(_ context.Context, _, url string) (probe.Declaration, error) {
	if url != a.url {
		return probe.Declaration{}, nil
	}
	return probe.Declaration{Method: "POST", By: "catalog"}, nil
}

// TestDoorsAreAskedAsTheyDeclare looks at doors that answer POST alone, and say so in a catalogue
// or in their own file.
func TestDoorsAreAskedAsTheyDeclare(t *testing.T) {
	sells := door(nil)
	o := street(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		sells.ServeHTTP(w, r)
	}))
	o.record = askedWith{url: "https://met.example.com/paid"}
	h, db := openWithLedger(t, o)
	err := db.Update(t.Context(), func(tx ledger.Tx) error {
		return feed.Declare(tx, record.Declaration{Host: "said.example.com", Shape: "v1-strings",
			Doors: []string{"https://said.example.com/paid"}}, []string{"POST"})
	})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"https://met.example.com/paid": "ready by catalog", "https://said.example.com/paid": "ready by well-known",
		"https://met.example.com/other": "not_ready by ", "https://said.example.com/other": "not_ready by ",
	} {
		_, _, doc := post(t, h, "/api/preflight/v2", map[string]string{"url": url})
		if got := fmt.Sprintf("%v by %v", doc["verdict"],
			doc["probe_method"].(map[string]any)["declared_by"]); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
		// Battery v1 sends the GET alone, whatever is declared.
		if _, _, doc := post(t, h, "/api/preflight/v1", map[string]string{"url": url}); doc["verdict"] == "ready" ||
			len(doc["probe_method"].(map[string]any)["attempted"].([]any)) != 1 {
			t.Errorf("%s under v1: %v by %v", url, doc["verdict"], doc["probe_method"])
		}
	}
}
