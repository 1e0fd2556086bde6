package till_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agentstore/cmd/devnet/clients"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/till"
)

// losses are the ways in which the answer to a payment is lost on its way, but for the death of the process that gives it.
// Each gets the answer of the store, the terms of a new challenge and the client's connection.
var losses = []struct {
	name string
	lose func(w http.ResponseWriter, r *http.Request, answer answered, fresh func() answered)
}{
	{"connection lost", func(http.ResponseWriter, *http.Request, answered, func() answered) { panic(http.ErrAbortHandler) }},
	{"502", func(w http.ResponseWriter, _ *http.Request, _ answered, _ func() answered) {
		http.Error(w, "bad gateway", http.StatusBadGateway)
	}},
	{"504", func(w http.ResponseWriter, _ *http.Request, _ answered, _ func() answered) {
		http.Error(w, "gateway timeout", http.StatusGatewayTimeout)
	}},
	{"a fresh 402", func(w http.ResponseWriter, _ *http.Request, _ answered, fresh func() answered) { fresh().write(w) }},
	{"time-out at the client", func(_ http.ResponseWriter, r *http.Request, _ answered, _ func() answered) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}},
	{"body cut", func(w http.ResponseWriter, _ *http.Request, a answered, _ func() answered) {
		maps.Copy(w.Header(), a.header)
		w.WriteHeader(a.status)
		w.Write(a.body[:len(a.body)/2])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}},
}

// Two more ways are not of the answer: the request itself is late.
const (
	lossEarly = "lost before it was answered" // the retry comes while the first is under way
	lossLate  = "overtaken by its retry"
)

type answered struct {
	status int
	header http.Header
	body   []byte
}

func (a answered) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	w.Write(a.body)
}

// lossy stands between clients and a store and loses the first answer to a payment. The first two parts of a path say how
// it is lost and how much later the client calls again, which is how far the store's clocks are put forward then.
type lossy struct {
	*httptest.Server
	t     *testing.T
	store string
	clock *shifted

	mu    sync.Mutex
	paid  map[string]int             // payments by case; guarded by mu
	first map[string]func() answered // of lossLate: the request that is held back
	late  map[string]answered        // of lossLate: what it was answered at last
	wg    sync.WaitGroup
}

func newLossy(t *testing.T, s *shop, clock *shifted) *lossy {
	p := &lossy{t: t, store: s.url, clock: clock, paid: map[string]int{}, first: map[string]func() answered{}, late: map[string]answered{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p
}

// send passes a request on and reads the whole answer, whatever becomes of the client.
func (p *lossy) send(r *http.Request, path string, header http.Header, body []byte) answered {
	req, err := http.NewRequest(r.Method, p.store+path, bytes.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return answered{status: 500}
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Error(err)
		return answered{status: 500}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Error(err)
	}
	resp.Header.Del("Content-Length")
	resp.Header.Set("Content-Length", fmt.Sprint(len(b)))
	return answered{resp.StatusCode, resp.Header, b}
}

func (p *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	delay, rest, _ := strings.Cut(rest, "/")
	path := "/" + rest + "?" + r.URL.RawQuery
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	header := r.Header.Clone()
	send := func() answered { return p.send(r, path, header, body) }
	if r.Header.Get("PAYMENT-SIGNATURE") == "" {
		send().write(w)
		return
	}
	which := kind + " " + delay
	p.mu.Lock()
	p.paid[which]++
	nth, first := p.paid[which], p.first[which]
	delete(p.first, which)
	p.mu.Unlock()
	if nth > 1 {
		a := send()
		if first != nil {
			late := first()
			p.mu.Lock()
			p.late[which] = late
			p.mu.Unlock()
		}
		a.write(w)
		return
	}
	later, err := time.ParseDuration(delay)
	if err != nil {
		p.t.Error(err)
	}
	forward := func() { p.clock.by.Add(int64(later)) }
	switch kind {
	case lossLate:
		p.mu.Lock()
		p.first[which] = send
		p.mu.Unlock()
		forward()
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	case lossEarly:
		p.wg.Go(func() { send() })
		forward()
		panic(http.ErrAbortHandler)
	}
	a := send()
	forward()
	for _, l := range losses {
		if l.name == kind {
			l.lose(w, r, a, func() answered {
				unpaid := header.Clone()
				unpaid.Del("PAYMENT-SIGNATURE")
				return p.send(r, path, unpaid, body)
			})
			return
		}
	}
	p.t.Errorf("no loss %q", kind)
}

type lostCase struct {
	kind  string
	delay time.Duration
}

// loseAnswers has an unmodified stock client buy through a proxy that loses each first answer, and call again as an
// application does: the same call, nothing kept. Each case must be charged once and end with the goods.
func loseAnswers(t *testing.T, cases []lostCase) {
	clock := &shifted{DB: ledger.NewMem(ledger.MemOptions{})}
	s := newShop(t, shopOptions{db: clock, config: func(c *till.Config) { c.Now = clock.now }})
	p := newLossy(t, s, clock)
	buyer := s.net.Buyers[0]
	const price = 5000
	before := s.net.Balance(buyer.Address)
	o := clients.Options{Key: buyer.Hex()}
	var urls []string
	for i, c := range cases {
		u := fmt.Sprintf("%s/%s/%s/api/buy/small_blessing?agent_name=case%d", p.URL, strings.ReplaceAll(c.kind, " ", "%20"), c.delay, i)
		urls = append(urls, u, u)
		give := time.Duration(0)
		if c.kind == "time-out at the client" {
			give = 2 * time.Second
		}
		o.Timeouts = append(o.Timeouts, give, 0)
	}
	results := clients.Buy(t, o, urls...)
	p.wg.Wait()
	for i, c := range cases {
		lost, again := results[2*i], results[2*i+1]
		if lost.Status == 200 && lost.Settled && c.kind != "body cut" {
			t.Errorf("%s: the first answer arrived", c.kind)
		}
		which := c.kind + " " + c.delay.String()
		if n := p.paid[which]; n != 2 {
			t.Errorf("%s after %v: %d payments were presented, want 2", c.kind, c.delay, n)
		}
		var body map[string]any
		json.Unmarshal([]byte(again.Body), &body)
		if again.Status != 200 || !again.Settled || body["certificate"] == nil {
			t.Errorf("%s after %v: the call again is answered %d %s %.300s", c.kind, c.delay, again.Status, again.Error, again.Body)
			continue
		}
		if c.kind == lossLate {
			late := p.late[which]
			var first map[string]any
			json.Unmarshal(late.body, &first)
			if late.status != 200 || first["charged_now"] != false || first["cert_id"] != body["cert_id"] {
				t.Errorf("%s after %v: the first is answered %d %.300s", c.kind, c.delay, late.status, late.body)
			}
		} else if body["idempotent_replay"] != true || body["charged_now"] != false || body["to_buy_another"] == nil {
			t.Errorf("%s after %v: the call again says %.300s", c.kind, c.delay, again.Body)
		}
	}
	if n := s.relayed(); n != uint64(len(cases)) {
		t.Errorf("%d settlements on chain for %d orders", n, len(cases))
	}
	if paid := before - s.net.Balance(buyer.Address); paid != int64(len(cases))*price {
		t.Errorf("the buyer paid %d for %d orders of %d", paid, len(cases), price)
	}
	s.audit()
}

var lostDelays = []time.Duration{0, 70 * time.Second, 4 * time.Minute}

func lostKinds() []string {
	kinds := []string{lossEarly, lossLate}
	for _, l := range losses {
		kinds = append(kinds, l.name)
	}
	return kinds
}

// TestLostAnswersAreChargedOnce has each way to lose an answer once; TestSoakLostAnswers has each at each time.
func TestLostAnswersAreChargedOnce(t *testing.T) {
	t.Parallel()
	var cases []lostCase
	for i, k := range lostKinds() {
		cases = append(cases, lostCase{k, lostDelays[i%len(lostDelays)]})
	}
	loseAnswers(t, cases)
}

func TestSoakLostAnswers(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	for _, d := range lostDelays {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			var cases []lostCase
			for _, k := range lostKinds() {
				cases = append(cases, lostCase{k, d})
			}
			loseAnswers(t, cases)
		})
	}
	for _, step := range []string{"claimed", "settling", "sent", "settled", "delivered"} {
		for _, d := range lostDelays {
			t.Run(step+" "+d.String(), func(t *testing.T) { loseProcess(t, step, d) })
		}
	}
}

// TestAKilledStoreChargesOnce: the process dies in the middle of a sale, another takes over, and the stock client calls
// again.
func TestAKilledStoreChargesOnce(t *testing.T) {
	t.Parallel()
	loseProcess(t, "settling", 70*time.Second)
}

func loseProcess(t *testing.T, step string, delay time.Duration) {
	v := newVictims(t, 1)
	const path = "/api/buy/small_blessing"
	o := clients.Options{Key: v.net.Buyers[0].Hex()}
	k := v.start(childConfig{Step: step, Nth: 1})
	lost := clients.Buy(t, o, k.url+path)[0]
	if lost.Error == "" || lost.Payment == "" {
		t.Fatalf("the killed store answered %d %.300s", lost.Status, lost.Body)
	}
	v.killed(k, step, patience)
	k = v.start(childConfig{Ahead: delay})
	again := clients.Buy(t, o, k.url+path)[0]
	if again.Status != 200 || !again.Settled || !strings.Contains(again.Body, `"charged_now":false`) {
		t.Errorf("killed after %s: the call again is answered %d %s %.300s", step, again.Status, again.Error, again.Body)
	}
	if n := k.relayed(); n != 1 {
		t.Errorf("killed after %s: %d settlements on chain, want 1", step, n)
	}
	v.shut(k)
}
