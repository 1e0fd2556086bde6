package onchaintest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
)

// losses are the ways in which the answer to a payment is lost on its way, but for the death of the
// process that gives it. Each gets the answer of the store, the terms of a new challenge and the
// client's connection.
var losses = []struct {
	name string
	lose func(w http.ResponseWriter, r *http.Request, answer answered, fresh func() answered)
}{
	{"connection lost", func(http.ResponseWriter, *http.Request, answered,
		func() answered) {
		panic(http.ErrAbortHandler)
	}},
	{"502", func(w http.ResponseWriter, _ *http.Request, _ answered, _ func() answered) {
		http.Error(w, "bad gateway", http.StatusBadGateway)
	}},
	{"504", func(w http.ResponseWriter, _ *http.Request, _ answered, _ func() answered) {
		http.Error(w, "gateway timeout", http.StatusGatewayTimeout)
	}},
	{"a fresh 402", func(w http.ResponseWriter, _ *http.Request, _ answered,
		fresh func() answered) {
		fresh().write(w)
	}},
	{"time-out at the client", func(_ http.ResponseWriter, r *http.Request, _ answered, _ func() answered) {
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second): // a runtime may forget the signal that should end its request
		}
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

// lossy stands between clients and a store and loses the first answer to each payment of its cases,
// whose number a path begins with. When its client calls again the store's clocks are put forward.
type lossy struct {
	*httptest.Server
	t     *testing.T
	store string
	clock *shifted
	cases []lostCase

	mu    sync.Mutex
	paid  map[int]int             // payments by case; guarded by mu
	first map[int]func() answered // of lossLate: the request that is held back
	late  map[int]answered        // what a request was answered that its client had given up
	wg    sync.WaitGroup
}

func newLossy(t *testing.T, s *shop, clock *shifted, cases []lostCase) *lossy {
	p := &lossy{t: t, store: s.url, clock: clock, cases: cases, paid: map[int]int{}, first: map[int]func() answered{},
		late: map[int]answered{}}
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

// keep keeps the answer that nobody waited for.
func (p *lossy) keep(which int, a answered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late[which] = a
}

func (p *lossy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	which, err := strconv.Atoi(number)
	if err != nil || which >= len(p.cases) {
		p.t.Errorf("%s is of no case", r.URL)
		panic(http.ErrAbortHandler)
	}
	c, path := p.cases[which], "/"+rest+"?"+r.URL.RawQuery
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	header := r.Header.Clone()
	send := func() answered { return p.send(r, path, header, body) }
	if !counter.Paying(r.Header) {
		send().write(w)
		return
	}
	p.mu.Lock()
	p.paid[which]++
	nth, first := p.paid[which], p.first[which]
	delete(p.first, which)
	p.mu.Unlock()
	if nth > 1 {
		a := send()
		if first != nil {
			p.keep(which, first())
		}
		a.write(w)
		return
	}
	forward := func() { p.clock.by.Add(int64(c.delay)) }
	switch c.kind {
	case lossLate:
		p.mu.Lock()
		p.first[which] = send
		p.mu.Unlock()
		forward()
		http.Error(w, "bad gateway", http.StatusBadGateway)
		return
	case lossEarly:
		p.wg.Go(func() { p.keep(which, send()) })
		forward()
		panic(http.ErrAbortHandler)
	}
	a := send()
	forward()
	for _, l := range losses {
		if l.name == c.kind {
			l.lose(w, r, a, func() answered {
				unpaid := header.Clone()
				unpaid.Del("PAYMENT-SIGNATURE")
				unpaid.Del("Authorization")
				unpaid.Del("Payment-Authorization")
				return p.send(r, path, unpaid, body)
			})
			return
		}
	}
	p.t.Errorf("no loss %q", c.kind)
}

// stock is an unmodified stock client of a protocol.
type stock struct {
	name string
	buy  func(testing.TB, clients.Options, ...string) []clients.Result
	// insists says that it answers a challenge that comes after its payment by paying again,
	// without being called again.
	insists bool
}

var (
	stockX402 = stock{name: "x402", buy: clients.Buy}
	stockMPP  = stock{name: "mpp", buy: clients.BuyMPP, insists: true}
)

// A spender loses answers: by what clients it calls and calls again, where it pays, what it sends.
type spender struct {
	first, second stock
	solana        bool
	bearer        string // in Authorization, beside which the payment has its own field
	body          string // of a POST
}

// spenders are in the order in which they buy. A challenge by MPP has the store's time, so those
// come before clocks were put forward for longer than an authorization may be valid.
var spenders = []spender{
	{first: stockMPP, second: stockMPP},
	{first: stockMPP, second: stockMPP, bearer: "a-token"},
	{first: stockMPP, second: stockX402},
	{first: stockX402, second: stockMPP},
	{first: stockX402, second: stockX402},
	{first: stockX402, second: stockX402, body: `{"summary":"` + strings.Repeat("漢", 4000) + `","max_usd":1.5}`},
	{first: stockX402, second: stockX402, solana: true},
}

const (
	byMPP = iota
	byMPPApart
	byMPPThenX402
	byX402ThenMPP
	byX402
	byPost
	bySolana
)

// A lostCase is one purchase whose first answer is lost.
type lostCase struct {
	by    int // of spenders
	kind  string
	delay time.Duration
	path  string
	price int64
}

func (c lostCase) String() string {
	return fmt.Sprintf("%s after %v by %d of %s", c.kind, c.delay, c.by, c.path)
}

// buys has a spender buy, and call again as an application does: the same call, nothing kept,
// perhaps by another client. The results are two of each case.
func (c spender) buys(t *testing.T, o clients.Options, p *lossy, which []int) (results []clients.Result) {
	t.Helper()
	var urls []string
	for _, i := range which {
		u := fmt.Sprintf("%s/%d/%s", p.URL, i, p.cases[i].path)
		if p.cases[i].path == blessing { // which is bought more than once
			u += fmt.Sprint("?agent_name=case", i)
		}
		give := time.Duration(0)
		if p.cases[i].kind == "time-out at the client" {
			give = 2 * time.Second
		}
		urls, o.Timeouts = append(urls, u, u), append(o.Timeouts, give, 0)
	}
	if c.first.name == c.second.name {
		return c.first.buy(t, o, urls...)
	}
	timeouts := o.Timeouts
	for i, u := range urls {
		o.Timeouts = timeouts[i : i+1]
		results = append(results, []stock{c.first, c.second}[i%2].buy(t, o, u)...)
	}
	return results
}

// loseAnswers has unmodified stock clients buy through a proxy that loses each first answer. Each
// case must be charged once and end with the goods.
func loseAnswers(t *testing.T, cases []lostCase) {
	t.Helper()
	clock := &shifted{DB: ledger.NewMem(ledger.MemOptions{})}
	n := newSolanaNet(t, slot, 1)
	var logged writes
	s := newShop(t, shopOptions{networks: []uint64{8453}, buyers: len(spenders), db: clock, site: talkative(t),
		more: []rail.Rail{n.rail()}, config: func(c *till.Config) {
			c.Now = clock.now
			c.Log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}})
	p := newLossy(t, s, clock, cases)
	for i, by := range spenders {
		var mine []int
		due := int64(0)
		for k, c := range cases {
			if c.by == i {
				mine, due = append(mine, k), due+c.price
			}
		}
		if len(mine) == 0 {
			continue
		}
		o := clients.Options{Key: s.net.Buyers[i].Hex(), Body: by.body, Bearer: by.bearer}
		settled, has := s.relayed, func() int64 { return s.net.Balance(s.net.Buyers[i].Address) }
		if by.solana {
			o = clients.Options{Key: wallet.EncodeBase58(n.buyers[0]), Network: networks.Solana, RPC: n.URL}
			settled, has = func() uint64 { return uint64(n.landed()) }, func() int64 { return n.balance(n.buyers[0]) }
		}
		before, money := settled(), has()
		results := by.buys(t, o, p, mine)
		p.wg.Wait()
		for k, which := range mine {
			p.judge(s, which, results[2*k], results[2*k+1])
		}
		if n := settled() - before; n != uint64(len(mine)) {
			t.Errorf("spender %d: %d settlements on chain for %d orders", i, n, len(mine))
		}
		if paid := money - has(); paid != due {
			t.Errorf("spender %d paid %d for orders of %d", i, paid, due)
		}
	}
	s.audit()
	n.audit(s.db)
	log := logged.text()
	for _, c := range cases {
		if i, page := s.site.Issue(c.path); page && strings.Contains(log, i.Body[:40]) {
			t.Errorf("the log of %d bytes tells of %s", len(log), c.path)
		}
	}
}

// judge looks at what a client was answered whose first answer was lost, and who called again.
func (p *lossy) judge(s *shop, which int, lost, again clients.Result) {
	c, want := p.cases[which], 2
	by := spenders[c.by]
	if by.first.insists && c.kind == "a fresh 402" {
		want = 3
	} else if lost.Status == 200 && lost.Settled && c.kind != "body cut" {
		p.t.Errorf("%v: the first answer arrived", c)
	}
	if n := p.paid[which]; n != want {
		p.t.Errorf("%v: %d payments were presented, want %d", c, n, want)
	}
	late, ok := p.late[which]
	if issue, page := s.site.Issue(c.path); page {
		if again.Status != 200 || !again.Settled || again.Body != issue.Body || ok && string(late.body) != again.Body {
			p.t.Errorf("%v: the call again is answered %d %s %.300s", c, again.Status, again.Error, again.Body)
		}
		return
	}
	var body map[string]any
	json.Unmarshal([]byte(again.Body), &body)
	if again.Status != 200 || !again.Settled || body["certificate"] == nil && body["artifact"] == nil {
		p.t.Errorf("%v: the call again is answered %d %s %.300s", c, again.Status, again.Error, again.Body)
		return
	}
	repeat := body
	if ok {
		var first map[string]any
		json.Unmarshal(late.body, &first)
		if late.status != 200 || first["cert_id"] != body["cert_id"] {
			p.t.Errorf("%v: the first is answered %d %.300s", c, late.status, late.body)
		}
		// Which of two that are under way at once is the first, only the store knows.
		if c.kind == lossLate || first["idempotent_replay"] == true {
			repeat = first
		}
	}
	if repeat["idempotent_replay"] != true || repeat["charged_now"] != false || repeat["to_buy_another"] == nil {
		p.t.Errorf("%v: the call again says %.300s, the late one %.300s", c, again.Body, late.body)
	}
}

const (
	blessing = "api/buy/small_blessing"
	cent     = 10_000
)

// lostCases have each way to lose an answer by each protocol, over networks, over goods and pages
// of each shelf, and over what passes until the client calls again.
var lostCases = []lostCase{
	{byMPP, lossEarly, 0, "almanac/a-cent", cent},
	{byMPP, lossLate, 70 * time.Second, blessing, cent / 2},
	{byMPP, "connection lost", 0, blessing, cent / 2},
	{byMPP, "502", 0, "gazette/issue-3", cent},
	{byMPP, "504", 150 * time.Second, "tips/send-your-own-key", cent},
	{byMPP, "a fresh 402", 0, till.PorchLine, cent / 10},
	{byMPP, "time-out at the client", 0, "zodiac/archive/bell/week-2026-W42", cent},
	{byMPP, "body cut", 0, blessing, cent / 2},
	{byMPPApart, lossEarly, 0, blessing, cent / 2},
	{byMPPApart, "connection lost", 0, "almanac/a-cent", cent},
	{byMPPApart, "a fresh 402", 0, blessing, cent / 2},
	{byMPPThenX402, lossEarly, 0, blessing, cent / 2},
	{byX402ThenMPP, "body cut", 70 * time.Second, blessing, cent / 2},
	{byX402, lossEarly, 0, blessing, cent / 2},
	{byX402, "connection lost", 70 * time.Second, "zodiac/archive/bell/week-2026-W42", cent},
	{byX402, "502", 0, till.PorchLine, cent / 10},
	{byX402, "time-out at the client", 4 * time.Minute, "gazette/issue-3", cent},
	{byX402, "body cut", 70 * time.Second, "tips/send-your-own-key", cent},
	{byPost, "504", 70 * time.Second, "api/buy/hello", 50 * cent},
	{bySolana, lossLate, 4 * time.Minute, blessing, cent / 2},
	{bySolana, "502", 70 * time.Second, "almanac/a-cent", cent},
	{bySolana, "a fresh 402", 0, blessing, cent / 2},
	{bySolana, "body cut", 4 * time.Minute, blessing, cent / 2},
}

// TestLostAnswersAreChargedOnce has each way to lose an answer once by each protocol;
// TestSoakLostAnswers has each at each time.
func TestLostAnswersAreChargedOnce(t *testing.T) {
	t.Parallel()
	loseAnswers(t, lostCases)
}

var lostDelays = []time.Duration{0, 70 * time.Second, 4 * time.Minute}

func TestSoakLostAnswers(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("a soak test: set STORE_SOAK")
	}
	for _, d := range lostDelays {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			var cases []lostCase
			kinds := []string{lossEarly, lossLate}
			for _, l := range losses {
				kinds = append(kinds, l.name)
			}
			for i, k := range kinds {
				for _, by := range []int{byMPP, byX402, bySolana} {
					if by != byMPP || d < 2*time.Minute && i < 3 {
						cases = append(cases, lostCase{by, k, d, blessing, cent / 2})
					}
				}
			}
			loseAnswers(t, cases)
		})
	}
	for _, step := range []string{"claimed", "settling", "sent", "settled", "delivered"} {
		for _, d := range lostDelays {
			t.Run(step+" "+d.String(), func(t *testing.T) {
				v := newVictims(t, len(killedWallets))
				for i, w := range killedWallets {
					v.loseProcess(i, w.by, step, d, w.pays)
				}
			})
		}
	}
}

// The process dies in the middle of a sale, another takes over, and the stock client calls again,
// whatever it pays by: a payer who is no ordinary account, another protocol, another transfer.
func TestAKilledStoreChargesOnce(t *testing.T) {
	t.Parallel()
	v := newVictims(t, len(killedWallets))
	for i, w := range killedWallets {
		v.loseProcess(i, w.by, w.step, 70*time.Second, w.pays)
	}
}

// killedWallets are kinds of payers, after which step the process is killed to which one pays, and
// how one's client and the store are readied. Each has a buyer of its own.
var killedWallets = []struct {
	name, step string
	by         stock
	pays       func(*victims, chaintest.Key, *childConfig) clients.Options
}{
	{"MPP", "delivered", stockMPP, plainly},
	{"a plain account", "settling", stockX402, plainly},
	{"a contract (EIP-1271)", "settling", stockX402,
		func(v *victims, _ chaintest.Key, _ *childConfig) clients.Options {
			return clients.Options{Key: v.net.Wallet.Owner.Hex(), Wallet: v.net.Wallet.Address.Hex()}
		}},
	{"an account with code (EIP-7702)", "sent", stockX402,
		func(v *victims, b chaintest.Key, _ *childConfig) clients.Options {
			v.net.Await(v.net.Delegate(b, chain.Delegate).Hash())
			return clients.Options{Key: b.Hex(), Delegate: chain.Delegate.Hex(), RPC: v.net.URL}
		}},
	{"a wallet that is not deployed (ERC-6492)", "settled", stockX402,
		func(v *victims, b chaintest.Key, c *childConfig) clients.Options {
			c.Factories = []string{chain.Factory.Hex()}
			salt := common.Hash{31: 1}
			wallet := v.net.CounterfactualWallet(b.Address, salt)
			v.net.Await(v.net.Send(v.net.Minter, v.net.Asset, v.net.SignTransfer(b, wallet, 5000).Call()).Hash())
			return clients.Options{Key: b.Hex(), Factory: chain.Factory.Hex(), Salts: []string{salt.Hex()},
				RPC: v.net.URL}
		}},
	{"Permit2", "claimed", stockX402, func(v *victims, b chaintest.Key, c *childConfig) clients.Options {
		c.Transfer = "permit2"
		v.net.Await(v.net.Send(b, v.net.Asset, token.ApproveCall(token.Permit2Address, big.NewInt(5000))).Hash())
		return clients.Options{Key: b.Hex()}
	}},
}

func plainly(_ *victims, b chaintest.Key, _ *childConfig) clients.Options {
	return clients.Options{Key: b.Hex()}
}

// loseProcess has the ith buyer's store killed after a step; the client calls again after a delay.
func (v *victims) loseProcess(i int, by stock, step string, delay time.Duration,
	pays func(*victims, chaintest.Key, *childConfig) clients.Options) {
	v.t.Helper()
	const path = "/api/buy/small_blessing"
	c := childConfig{Ahead: time.Duration(i) * delay}
	o := pays(v, v.net.Buyers[i], &c)
	before := v.net.Balance(v.net.PayTo)
	first := c
	first.Step, first.Nth = step, 1
	k := v.start(first)
	settled := k.relayed()
	lost := by.buy(v.t, o, k.url+path)[0]
	if lost.Error == "" || lost.Payment == "" {
		v.t.Fatalf("the killed store answered %d %.300s", lost.Status, lost.Body)
	}
	v.killed(k, step)
	c.Ahead += delay
	k = v.start(c)
	again := by.buy(v.t, o, k.url+path)[0]
	if again.Status != 200 || !again.Settled || !strings.Contains(again.Body, `"charged_now":false`) {
		v.t.Errorf("payer %d, killed after %s: the call again is answered %d %s %.300s", i, step, again.Status,
			again.Error, again.Body)
	}
	if n, paid := k.relayed()-settled, v.net.Balance(v.net.PayTo)-before; n != 1 || paid != 5000 {
		v.t.Errorf("payer %d, killed after %s: %d settlements on chain, want 1; %d were paid", i, step, n, paid)
	}
	v.shut(k)
}
