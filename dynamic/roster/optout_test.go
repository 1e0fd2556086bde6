package roster_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
)

// filed is a client by which some hosts serve a file of their own.
type filed struct {
	fetch.Asker
	now   func() time.Time
	files map[string]string // by host

	mu    sync.Mutex
	asked map[string]int // requests by host, but for the file
}

func (f *filed) Do(ctx context.Context, req exchange.Request, rule fetch.Rule) (exchange.Exchange, error) {
	for host, file := range f.files {
		if req.URL == declarations.Start(host) && file != "" {
			return exchange.Exchange{Request: exchange.Request{Method: http.MethodGet, URL: req.URL},
				StartedAt: f.now(),
				Response:  exchange.Response{Status: 200, Proto: "HTTP/1.1", Body: []byte(file)}}, nil
		}
		if strings.HasPrefix(req.URL, "https://"+host+"/") && req.URL != declarations.Start(host) {
			f.mu.Lock()
			f.asked[host]++
			f.mu.Unlock()
		}
	}
	return f.Asker.Do(ctx, req, rule)
}

// A host whose own file asks for it is not walked: its row says so, with evidence that a stranger
// can check. A file that says something else, or that is not the host's, asks for nothing; and who
// takes the word out of the file is walked again.
func TestWhoOptsOutIsNotWalked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, quoted, elsewhere := hostOf("ready-many"), hostOf("ready-bare"), hostOf("ready-dual")
	f := &filed{Asker: w.client(), now: func() time.Time { return w.now }, asked: map[string]int{},
		files: map[string]string{out: `{"census":"no","payTo":"0x1"}`, quoted: `{"census":"never"}`, elsewhere: ""}}
	run := func() map[string]record.Row {
		cfg := w.config(lists(urls("ready-many", "ready-bare", "ready-dual")...)...)
		cfg.Client, cfg.AskFirst = f, true
		return w.rows(w.run(cfg).Sequence)
	}
	rows := run()
	if r := rows[out]; r.Verdict != record.VerdictNotProbed || r.Reason != record.ReasonOptedOut ||
		r.Fault != record.FaultNone || r.EvidenceDigest == "" || f.asked[out] != 0 {
		t.Errorf("who opted out: %+v, after %d requests", r, f.asked[out])
	}
	for _, host := range []string{quoted, elsewhere} {
		if r := rows[host]; r.Verdict != record.VerdictReady || f.asked[host] == 0 {
			t.Errorf("%s: %+v", host, r)
		}
	}
	w.verify()
	rec, err := w.record()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := rec.RawEvidence(1, out)
	if err != nil || !strings.Contains(string(raw), "store-opt-out/v1") || strings.Contains(string(raw), "payTo") {
		t.Errorf("the evidence is %s, %v", raw, err)
	}
	row := rows[out]
	if err := (rejudge.Batteries{}).Row(row, nil, raw); err != nil {
		t.Error(err)
	}
	row.Host = quoted
	if err := (rejudge.Batteries{}).Row(row, nil, raw); err == nil {
		t.Error("it is taken for the word of another host")
	}
	f.files[out] = `{"version":1,"resources":[]}`
	w.now = w.now.Add(7 * 24 * time.Hour)
	if r := run()[out]; r.Verdict != record.VerdictReady {
		t.Errorf("a week later: %+v", r)
	}
	w.verify()
}
