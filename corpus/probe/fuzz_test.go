package probe

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"

	"github.com/google/go-cmp/cmp"
)

// judgeAll demands of any answer whatever: no panic, a valid report under both batteries that can
// be written, the same one from the published evidence, and the same one again.
func judgeAll(t *testing.T, x exchange.Exchange) {
	t.Helper()
	for _, version := range []string{V1, V2} {
		p, err := NewPreflight(version, x.Request.URL, Declaration{})
		if err != nil {
			return
		}
		recording := []exchange.Exchange{x}
		r, err := Replay(recording, p)
		if err != nil {
			t.Fatal(err)
		}
		if problem := valid(r); problem != "" {
			t.Fatalf("%s: %s", version, problem)
		}
		written := encode(t, r)
		evidence := []exchange.Redacted{redact(x)}
		raw, err := evidence[0].Encode()
		if err != nil {
			t.Fatal(err)
		}
		if evidence[0], err = exchange.DecodeRedacted(raw); err != nil {
			t.Fatal(err)
		}
		if again, err := Replay(recording, p); err != nil || encode(t, again) != written {
			t.Fatalf("another report the second time: %v", err)
		}
		if len(r.ProbeMethod.Attempted) == 1 {
			if diff := cmp.Diff(written, encode(t, p.Judge(evidence))); diff != "" {
				t.Fatalf("another report from the published evidence:\n%s", diff)
			}
		}
	}
}

func answer(status int, h http.Header, body []byte) exchange.Exchange {
	return exchange.Exchange{Request: exchange.Request{Method: "GET", URL: "https://door.example/weather"},
		StartedAt: time.Date(2026, 11, 20, 10, 11, 12, 0, time.UTC),
		Response:  exchange.Response{Status: status, Proto: "HTTP/1.1", Header: h, Body: body}}
}

// FuzzHeader gives PAYMENT-REQUIRED any text, once as it is and once in base64.
func FuzzHeader(f *testing.F) {
	for _, k := range cases(f) {
		x := door(f, k.script)[0]
		for _, v := range x.Response.Header["Payment-Required"] {
			if text, err := base64.StdEncoding.DecodeString(v); err == nil {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		judgeAll(t, answer(402, http.Header{"Payment-Required": {string(text)}}, nil))
		judgeAll(t, answer(402, http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString(text)}},
			[]byte("{}")))
	})
}

// FuzzBody gives the body any bytes, with any status and Allow header.
func FuzzBody(f *testing.F) {
	f.Add(402, "", []byte(goodChallenge))
	f.Add(405, "POST, \xff", []byte(`{"x402Version":1,"accepts":[{"maxAmountRequired":"1"}]}`))
	f.Add(200, "GET", []byte("<html>"))
	f.Add(404, "", []byte("its own files follow, which no recording holds"))
	f.Add(-1, "", []byte{0xff})
	good := base64.StdEncoding.EncodeToString([]byte(goodChallenge))
	f.Fuzz(func(t *testing.T, status int, allow string, body []byte) {
		judgeAll(t, answer(status, http.Header{"Allow": {allow}}, body))
		judgeAll(t, answer(status, http.Header{"Allow": {allow}, "Payment-Required": {good}}, body))
	})
}

// FuzzMPP gives WWW-Authenticate any parameters and any request.
func FuzzMPP(f *testing.F) {
	f.Add(`id="x", realm="door.example", method="evm", intent="charge", expires="2026-11-20T10:16:12Z"`,
		[]byte(goodMPP))
	f.Add(`id=x, id="y\"z", expires=soon, method`, []byte(`{"b":1.0,"a":{"recipient":{"recipient":[]}}}`))
	f.Fuzz(func(t *testing.T, params string, request []byte) {
		line := "Payment " + params + `, request="` + base64.RawURLEncoding.EncodeToString(request) + `"`
		judgeAll(t, answer(402, http.Header{"Www-Authenticate": {line, "Payment " + string(request)}}, nil))
	})
}

// FuzzListedDoor reads any item: what it names is an absolute URL.
func FuzzListedDoor(f *testing.F) {
	f.Add([]byte(`{"url":"/b","method":"post"}`))
	f.Add([]byte(`{"resource":{"url":"/a"},"accepts":[{"outputSchema":{"input":{"method":"POST"}}}]}`))
	f.Fuzz(func(t *testing.T, item []byte) {
		if d, ok := ListedDoor(item, "https://door.example/list"); ok &&
			(!strings.Contains(d.URL, "://") || !sameURL(d.URL, d.URL)) {
			t.Errorf("%q is not itself", d.URL)
		}
	})
}

// FuzzSchema judges any info under any schema, within its bounds.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","required":["a"],"properties":{"a":{"type":["string","null"],"pattern":"(a+)+$"}}}`,
		`{"a":"aaaa"}`)
	f.Add(`{"items":{"enum":[1,{"a":[1]}]},"minItems":1}`, `[1,{"a":[1]},2]`)
	f.Fuzz(func(t *testing.T, schema, info string) {
		judgeAll(t, answer(402, http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(
			`{"x402Version":2,"extensions":{"bazaar":{"info":` + info + `,"schema":` + schema + `}}}`))}}, nil))
	})
}

// BenchmarkChecks counts whole looks over saved exchanges, parsing, redaction and both batteries
// included.
func BenchmarkChecks(b *testing.B) {
	saved := door(b, "offers")
	p, err := NewPreflight(V2, saved[0].Request.URL, Declaration{})
	if err != nil {
		b.Fatal(err)
	}
	asked := len(knownBattery(V1).Checks) + len(knownBattery(V2).Checks) + len(Advisories())
	n := 0
	for b.Loop() {
		if r, err := Replay(saved, p); err != nil || r.Verdict != Ready {
			b.Fatal(r.Verdict, err)
		}
		n++
	}
	b.ReportMetric(float64(n*asked)/b.Elapsed().Seconds(), "checks/s")
}

// BenchmarkJudge is the judgement alone, of evidence that is already redacted.
func BenchmarkJudge(b *testing.B) {
	saved := door(b, "offers")
	p, err := NewPreflight(V2, saved[0].Request.URL, Declaration{})
	if err != nil {
		b.Fatal(err)
	}
	evidence := []exchange.Redacted{redact(saved[0])}
	for b.Loop() {
		if r := p.Judge(evidence); r.Verdict != Ready {
			b.Fatal(r.Verdict)
		}
	}
}
