package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"

	"store.example/agentstore/corpus/probe"

	"github.com/google/go-cmp/cmp"
)

// script asks for its requests one after the other and reports what became of them.
type script struct {
	asks []probe.Next
	max  int
}

func (s script) Name() string     { return "script/v1" }
func (s script) MaxRequests() int { return s.max }
func (s script) Step(recorded []exchange.Exchange) ([]string, *probe.Next, error) {
	if n := len(recorded); n < len(s.asks) {
		return nil, &s.asks[n], nil
	}
	var out []string
	for _, x := range recorded {
		out = append(out, fmt.Sprint(x.Request.Method, " ", x.Request.URL, " ", x.Response.Status, x.Error.Stage))
	}
	return out, nil, nil
}

func ask(kind, method, url, body string) probe.Next {
	return probe.Next{Kind: kind, Request: exchange.Request{Method: method, URL: url, Body: []byte(body)}}
}

// ether answers 200 to everything that a real client would let through, and counts.
type ether struct {
	real  *Client
	asked []string
	body  []byte
	began func()
}

func (e *ether) Private() bool { return true }
func (e *ether) Parse(raw string, rule Rule) (string, error) {
	return e.real.Parse(raw, rule)
}
func (e *ether) Do(ctx context.Context, req exchange.Request, rule Rule) (exchange.Exchange, error) {
	if _, err := e.real.Parse(req.URL, rule); err != nil {
		return e.real.Do(ctx, req, rule)
	}
	x := exchange.Exchange{Request: req, StartedAt: time.Date(2026, 11, 20, 9, 0, len(e.asked), 0, time.UTC)}
	e.asked = append(e.asked, req.Method+" "+req.URL)
	if e.began != nil {
		e.began()
	}
	if ctx.Err() != nil {
		x.Error = exchange.Error{Stage: exchange.StageDeadline, Text: "given up"}
		return x, nil
	}
	x.Response = exchange.Response{Status: 200, Header: http.Header{}, Body: e.body}
	x.Request.Header = http.Header{}
	return x, nil
}

func newEther(t *testing.T) *ether {
	t.Helper()
	c, err := New(Config{UserAgent: "walker (+https://store.test)", Key: attest.SpecimenKey(),
		Agent: "https://store.test", OwnHosts: []string{"store.test"}})
	if err != nil {
		t.Fatal(err)
	}
	return &ether{real: c}
}

func TestOnlyWhatTheKindAllowsIsAsked(t *testing.T) {
	const door = "https://door.com/paid"
	for _, row := range []struct {
		ask   probe.Next
		kinds []string
		want  string // stage, "" for made
	}{
		{ask: ask("get", "GET", "https://door.com/other", "")},
		{ask: ask("get", "GET", "https://DOOR.com.:443/other", "")},
		{ask: ask("get", "GET", "https://other.com/", ""), want: exchange.StageRefused},
		{ask: ask("get", "GET", "https://sub.door.com/", ""), want: exchange.StageRefused},
		{ask: ask("get", "HEAD", door, ""), want: exchange.StageRefused},
		{ask: ask("get", "POST", door, "{}"), want: exchange.StageRefused},
		{ask: ask("get", "GET", "http://door.com/", ""), want: exchange.StageRefused},
		{ask: ask("get", "GET", "https://127.0.0.1/", ""), want: exchange.StageRefused},
		{ask: ask("declared-post", "POST", door, "{}")},
		{ask: ask("declared-post", "POST", door, `{"a":1}`), want: exchange.StageRefused},
		{ask: ask("declared-post", "POST", "https://other.com/", "{}"), want: exchange.StageRefused},
		{ask: ask("declared-post", "POST", door, "{}"), kinds: []string{"get"}, want: exchange.StageRefused},
		{ask: ask("did", "GET", "https://keys.com/.well-known/did.json", "")},
		{ask: ask("did", "GET", "https://keys.com/admin?x=/did.json", ""), want: exchange.StageRefused},
		{ask: ask("did", "GET", "https://store.test/.well-known/did.json", ""), want: exchange.StageRefused},
		{ask: ask("did", "GET", "https://10.0.0.1/.well-known/did.json", ""), want: exchange.StageRefused},
		{ask: ask("key", "GET", "https://keys.com/jwks", "")},
		{ask: ask("key", "POST", "https://keys.com/jwks", "{}"), want: exchange.StageRefused},
		{ask: ask("a2a-stream", "POST", door, `{"jsonrpc":"2.0","id":2,"method":"message/stream","params":{}}`)},
		{ask: ask("a2a-stream", "POST", "https://agent.com/",
			`{"jsonrpc":"2.0","id":2,"method":"message/stream","params":{}}`), want: exchange.StageRefused},
		{ask: ask("a2a-tasks-get", "POST", door, `{"jsonrpc":"2.0","id":2,"method":"message/stream","params":{}}`),
			want: exchange.StageRefused},
		{ask: ask("wander", "GET", door, ""), want: exchange.StageRefused},
		{ask: ask("", "GET", door, ""), want: exchange.StageRefused},
		{ask: ask("get", "GET", strings.Repeat("\xff", exchange.MaxURL), ""), want: exchange.StageRefused},
	} {
		e := newEther(t)
		_, recording, err := Walk(t.Context(), e, script{[]probe.Next{ask("get", "GET", door, ""), row.ask}, 2},
			WalkStart{URL: door, Kinds: row.kinds})
		if err != nil {
			t.Errorf("%.80v: %v", row.ask, err)
			continue
		}
		if got := recording.Exchanges[1].Error.Stage; got != row.want || (len(e.asked) == 2) != (row.want == "") {
			t.Errorf("%s %s %.60s: stage %q, want %q; asked %v", row.ask.Kind, row.ask.Request.Method,
				row.ask.Request.URL, got, row.want, e.asked)
		}
		if _, err := recording.Encode(); err != nil {
			t.Errorf("%.80v: %v", row.ask, err)
		}
	}
}

// A walk that may begin at a plain http door speaks http to that door alone.
func TestPlainHTTPStaysWhereItBegan(t *testing.T) {
	for _, row := range []struct {
		door string
		ask  probe.Next
		want string // stage, "" for made
	}{
		{"http://door.com/a", ask("get", "GET", "http://door.com/b", ""), ""},
		{"http://door.com/a", ask("get", "GET", "https://door.com/b", ""), exchange.StageRefused},
		{"https://door.com/a", ask("get", "GET", "http://door.com/b", ""), exchange.StageRefused},
		{"https://door.com/a", ask("did", "GET", "http://keys.com/.well-known/did.json", ""), exchange.StageRefused},
		{"http://door.com/a", ask("did", "GET", "http://door.com/.well-known/did.json", ""), exchange.StageRefused},
	} {
		e := newEther(t)
		_, r, err := Walk(t.Context(), e, script{[]probe.Next{ask("get", "GET", row.door, ""), row.ask}, 2},
			WalkStart{URL: row.door, PlainHTTP: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Exchanges[1].Error.Stage; got != row.want || (len(e.asked) == 2) != (row.want == "") {
			t.Errorf("%s, then %s: stage %q, want %q; asked %v", row.door, row.ask.Request.URL, got, row.want, e.asked)
		}
	}
}

func TestTheFirstRefusalEndsTheWalk(t *testing.T) {
	e := newEther(t)
	for url, code := range map[string]string{"https://127.0.0.1/": CodeTarget,
		"https://STORE.test./x": CodeOwnHost, " ": CodeMissing} {
		_, _, err := Walk(t.Context(), e, script{[]probe.Next{ask("get", "GET", url, "")}, 1}, WalkStart{URL: url})
		if r, ok := errors.AsType[*Refusal](err); !ok || r.Code != code {
			t.Errorf("%q: %v, want %s", url, err, code)
		}
	}
	if len(e.asked) > 0 {
		t.Errorf("asked %v", e.asked)
	}
}

func TestWalksWithoutADoor(t *testing.T) {
	e := newEther(t)
	asks := []probe.Next{ask("did", "GET", "https://10.0.0.1/.well-known/did.json", ""),
		ask("get", "GET", "https://door.com/", ""), ask("did", "GET", "https://keys.com/.well-known/did.json", "")}
	report, r, err := Walk(t.Context(), e, script{asks, 3}, WalkStart{})
	want := []string{"GET https://10.0.0.1/.well-known/did.json 0refused", "GET https://door.com/ 0refused",
		"GET https://keys.com/.well-known/did.json 200"}
	if diff := cmp.Diff(want, report); err != nil || diff != "" || len(e.asked) != 1 || r.Start != "" {
		t.Errorf("%v, asked %v (-want +got):\n%s", err, e.asked, diff)
	}
}

func TestBounds(t *testing.T) {
	const door = "https://door.com/"
	many := make([]probe.Next, 30)
	for i := range many {
		many[i] = ask("get", "GET", door, "")
	}
	e := newEther(t)
	if _, r, err := Walk(t.Context(), e, script{many, 3}, WalkStart{URL: door}); err == nil || len(r.Exchanges) != 3 {
		t.Errorf("%d requests, %v", len(r.Exchanges), err)
	}

	e = newEther(t)
	e.body = make([]byte, 256<<10)
	_, r, err := Walk(t.Context(), e, script{many, 30}, WalkStart{URL: door})
	if err != nil || len(r.Exchanges) != 30 || len(e.asked) > 9 {
		t.Errorf("%d asked, %d recorded, %v", len(e.asked), len(r.Exchanges), err)
	}

	e = newEther(t)
	_, r, err = Walk(t.Context(), e, script{many, 30}, WalkStart{URL: door, Time: time.Nanosecond})
	if err != nil || len(r.Exchanges) != 30 || len(e.asked) > 1 {
		t.Errorf("out of time: %d asked, %d recorded, %v", len(e.asked), len(r.Exchanges), err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	e = newEther(t)
	e.began = cancel
	if _, r, err = Walk(ctx, e, script{many, 30}, WalkStart{URL: door}); !errors.Is(err, context.Canceled) ||
		len(r.Exchanges) != 1 {
		t.Errorf("cancelled: %v after %d", err, len(r.Exchanges))
	}
}

func TestRecordingsAreJudgedAgain(t *testing.T) {
	const door = "https://door.com/"
	e := newEther(t)
	e.body = []byte("\x00\xff")
	c := script{[]probe.Next{ask("get", "GET", door, ""), ask("get", "GET", "https://other.com/", ""),
		ask("declared-post", "POST", door, "{}")}, 3}
	report, recording, err := Walk(t.Context(), e, c, WalkStart{URL: door})
	if err != nil {
		t.Fatal(err)
	}
	if !recording.Private || recording.Checker != "script/v1" || recording.Start != door {
		t.Errorf("recording is %+v", recording)
	}
	raw, err := recording.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeRecording(raw)
	if err != nil {
		t.Fatal(err)
	}
	again, err := probe.Replay(back.Exchanges, c)
	if diff := cmp.Diff(report, again); err != nil || diff != "" {
		t.Errorf("%v (-first +again):\n%s", err, diff)
	}
	second, err := back.Encode()
	if err != nil || string(second) != string(raw) {
		t.Errorf("the file form changed: %v\n%s\n%s", err, raw, second)
	}
	for i := range raw {
		changed := append([]byte(nil), raw...)
		changed[i] ^= 0x20
		if r, err := DecodeRecording(changed); err == nil {
			if b, err := r.Encode(); err != nil || string(b) != string(changed) {
				t.Fatalf("byte %d: two spellings of one recording", i)
			}
		}
		if _, err := DecodeRecording(raw[:i]); err == nil {
			t.Fatalf("cut at byte %d and still read", i)
		}
	}
}
