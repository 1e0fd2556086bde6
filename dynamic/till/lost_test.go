package till_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest/wallet"
	"store.example/agentstore/corpus/networks"
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

// lossy stands between clients and a store and loses the first answer to a payment. The first two
// parts of a path say how it is lost and how much later the client calls again, which is how far
// the store's clocks are put forward then.
type lossy struct {
	*httptest.Server
	t     *testing.T
	store string
	clock *shifted

	mu    sync.Mutex
	paid  map[string]int             // payments by case; guarded by mu
	first map[string]func() answered // of lossLate: the request that is held back
	late  map[string]answered        // what a request was answered that its client had given up
	wg    sync.WaitGroup
}

func newLossy(t *testing.T, s *shop, clock *shifted) *lossy {
	p := &lossy{t: t, store: s.url, clock: clock, paid: map[string]int{}, first: map[string]func() answered{},
		late: map[string]answered{}}
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
func (p *lossy) keep(which string, a answered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late[which] = a
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
	if !counter.Paying(r.Header) {
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
			p.keep(which, first())
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
		p.wg.Go(func() { p.keep(which, send()) })
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
				unpaid.Del("Authorization")
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

// spender is a buyer whose answers are lost, and the network that is paid on.
type spender struct {
	clients.Options
	has     func() int64 // the buyer's balance, in atomic units
	settled func() int   // settlements in blocks
	audit   func()       // compares chain and ledger
}

// loseAnswers is loseAnswersOf the first buyer on the first chain.
func loseAnswers(t *testing.T, first, second stock, cases []lostCase) {
	t.Helper()
	loseAnswersOf(t, first, second, cases, nil, firstBuyer)
}

// firstBuyer pays on the first chain.
func firstBuyer(s *shop) spender {
	buyer := s.net.Buyers[0]
	return spender{Options: clients.Options{Key: buyer.Hex()}, audit: func() { s.audit() },
		has:     func() int64 { return s.net.Balance(buyer.Address) },
		settled: func() int { return int(s.relayed()) }}
}

// loseAnswersOf has an unmodified stock client buy through a proxy that loses each first answer,
// and call again as an application does: the same call, nothing kept, perhaps by another client.
// Each case must be charged once and end with the goods. more are rails behind that of the chain.
func loseAnswersOf(t *testing.T, first, second stock, cases []lostCase, more []rail.Rail, by func(*shop) spender) {
	t.Helper()
	loseAnswersFor(t, blessings, first, second, cases, more, by)
}

// A lostSale is what is bought while answers are lost.
type lostSale struct {
	price int64
	at    func(i int) string // path and query, another for each order
	text  func(i int) string // the answer to a page; nil for goods with certificates
}

var blessings = lostSale{price: 5000, at: func(i int) string {
	return fmt.Sprintf("/api/buy/small_blessing?agent_name=case%d", i)
}}

// loseAnswersFor is loseAnswersOf for something that is sold.
func loseAnswersFor(t *testing.T, sale lostSale, first, second stock, cases []lostCase, more []rail.Rail,
	by func(*shop) spender) {
	t.Helper()
	clock := &shifted{DB: ledger.NewMem(ledger.MemOptions{})}
	s := newShop(t, shopOptions{db: clock, more: more, config: func(c *till.Config) { c.Now = clock.now }})
	p := newLossy(t, s, clock)
	buyer := by(s)
	before, o := buyer.has(), buyer.Options
	var urls []string
	for i, c := range cases {
		u := fmt.Sprintf("%s/%s/%s%s", p.URL, strings.ReplaceAll(c.kind, " ", "%20"), c.delay, sale.at(i))
		urls = append(urls, u, u)
		give := time.Duration(0)
		if c.kind == "time-out at the client" {
			give = 2 * time.Second
		}
		o.Timeouts = append(o.Timeouts, give, 0)
	}
	var results []clients.Result
	if first.name == second.name {
		results = first.buy(t, o, urls...)
	} else {
		for i, u := range urls {
			results = append(results,
				[]stock{first, second}[i%2].buy(t, clients.Options{Key: o.Key, Timeouts: o.Timeouts[i : i+1]}, u)...)
		}
	}
	p.wg.Wait()
	for i, c := range cases {
		lost, again := results[2*i], results[2*i+1]
		want := 2
		if first.insists && c.kind == "a fresh 402" {
			want = 3
		} else if lost.Status == 200 && lost.Settled && c.kind != "body cut" {
			t.Errorf("%s: the first answer arrived", c.kind)
		}
		which := c.kind + " " + c.delay.String()
		if n := p.paid[which]; n != want {
			t.Errorf("%s after %v: %d payments were presented, want %d", c.kind, c.delay, n, want)
		}
		if sale.text != nil {
			if late, ok := p.late[which]; again.Status != 200 || !again.Settled || again.Body != sale.text(i) ||
				ok && string(late.body) != again.Body {
				t.Errorf("%s after %v: the call again is answered %d %s %.300s", c.kind, c.delay, again.Status,
					again.Error, again.Body)
			}
			continue
		}
		var body map[string]any
		json.Unmarshal([]byte(again.Body), &body)
		if again.Status != 200 || !again.Settled || body["certificate"] == nil {
			t.Errorf("%s after %v: the call again is answered %d %s %.300s", c.kind, c.delay, again.Status, again.Error,
				again.Body)
			continue
		}
		repeat := body
		if late, ok := p.late[which]; ok {
			var first map[string]any
			json.Unmarshal(late.body, &first)
			if late.status != 200 || first["cert_id"] != body["cert_id"] {
				t.Errorf("%s after %v: the first is answered %d %.300s", c.kind, c.delay, late.status, late.body)
			}
			// Which of two that are under way at once is the first, only the store knows.
			if c.kind == lossLate || first["idempotent_replay"] == true {
				repeat = first
			}
		}
		if repeat["idempotent_replay"] != true || repeat["charged_now"] != false || repeat["to_buy_another"] == nil {
			t.Errorf("%s after %v: the call again says %.300s, the late one %.300s", c.kind, c.delay, again.Body,
				p.late[which].body)
		}
	}
	if n := buyer.settled(); n != len(cases) {
		t.Errorf("%d settlements on chain for %d orders", n, len(cases))
	}
	if paid := before - buyer.has(); paid != int64(len(cases))*sale.price {
		t.Errorf("the buyer paid %d for %d orders of %d", paid, len(cases), sale.price)
	}
	buyer.audit()
}

var lostDelays = []time.Duration{0, 70 * time.Second, 4 * time.Minute}

func lostKinds() []string {
	kinds := []string{lossEarly, lossLate}
	for _, l := range losses {
		kinds = append(kinds, l.name)
	}
	return kinds
}

// TestLostAnswersAreChargedOnce has each way to lose an answer once; TestSoakLostAnswers has each
// at each time.
func TestLostAnswersAreChargedOnce(t *testing.T) {
	t.Parallel()
	var cases []lostCase
	for i, k := range lostKinds() {
		cases = append(cases, lostCase{k, lostDelays[i%len(lostDelays)]})
	}
	loseAnswers(t, stockX402, stockX402, cases)
}

// The same for pages, which mint nothing and are answered as text.
func TestLostPagesAreChargedOnce(t *testing.T) {
	t.Parallel()
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	var cases []lostCase
	for i, k := range lostKinds() {
		cases = append(cases, lostCase{k, []time.Duration{0, 70 * time.Second, 0, 0, 150 * time.Second}[i%5]})
	}
	files, err := filepath.Glob("../../content/paid/almanac/*.md")
	if err != nil || len(files) < len(cases) {
		t.Fatalf("%d pages for %d ways: %v", len(files), len(cases), err)
	}
	at := func(i int) string { return "/almanac/" + strings.TrimSuffix(filepath.Base(files[i]), ".md") }
	pages := lostSale{price: 10_000, at: at, text: func(i int) string {
		issue, _ := site.Issue(at(i)[1:])
		return issue.Body
	}}
	for _, client := range []stock{stockX402, stockMPP} {
		loseAnswersFor(t, pages, client, client, cases, nil, firstBuyer)
	}
}

// The same on Solana.
func TestAnswersLostOnSolanaAreChargedOnce(t *testing.T) {
	t.Parallel()
	var cases []lostCase
	for i, k := range lostKinds() {
		cases = append(cases, lostCase{k, lostDelays[(i+1)%len(lostDelays)]})
	}
	n := newSolanaNet(t, slot, 1)
	loseAnswersOf(t, stockX402, stockX402, cases, []rail.Rail{n.rail()}, func(s *shop) spender {
		return spender{audit: func() { n.audit(s.db) }, settled: n.landed,
			has:     func() int64 { return n.balance(n.buyers[0]) },
			Options: clients.Options{Key: wallet.EncodeBase58(n.buyers[0]), Network: networks.Solana, RPC: n.URL}}
	})
}

// The same by MPP, and by one protocol after the other. A challenge's time is the store's, so
// clocks are put forward for less than an authorization may be valid.
func TestAnswersLostByMPPAreChargedOnce(t *testing.T) {
	t.Parallel()
	var cases []lostCase
	for i, k := range lostKinds() {
		cases = append(cases, lostCase{k, []time.Duration{0, 70 * time.Second, 0, 0, 150 * time.Second}[i%5]})
	}
	loseAnswers(t, stockMPP, stockMPP, cases)
	loseAnswers(t, stockMPP, stockX402, []lostCase{{lossEarly, 0}, {"body cut", 70 * time.Second}})
	loseAnswers(t, stockX402, stockMPP, []lostCase{{lossEarly, 0}, {"502", 70 * time.Second}})
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
			loseAnswers(t, stockX402, stockX402, cases)
			if d < 2*time.Minute {
				loseAnswers(t, stockMPP, stockMPP, cases[:min(len(cases), 3)])
			}
		})
	}
	for _, step := range []string{"claimed", "settling", "sent", "settled", "delivered"} {
		for _, d := range lostDelays {
			t.Run(step+" "+d.String(), func(t *testing.T) { loseProcess(t, stockX402, step, d, plainly) })
		}
		for _, w := range killedWallets {
			t.Run(step+" "+w.name, func(t *testing.T) { loseProcess(t, stockX402, step, 70*time.Second, w.pays) })
		}
	}
}

// TestAKilledStoreChargesOnce: the process dies in the middle of a sale, another takes over, and
// the stock client calls again.
func TestAKilledStoreChargesOnce(t *testing.T) {
	t.Parallel()
	loseProcess(t, stockX402, "settling", 70*time.Second, plainly)
}

func TestAKilledStoreChargesOnceByMPP(t *testing.T) {
	t.Parallel()
	loseProcess(t, stockMPP, "settling", 70*time.Second, plainly)
}

// The same with payers who are no ordinary accounts, or pay in another way, each killed elsewhere.
func TestAKilledStoreChargesWalletsOnce(t *testing.T) {
	t.Parallel()
	for _, w := range killedWallets {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			loseProcess(t, stockX402, w.step, 70*time.Second, w.pays)
		})
	}
}

// paysBy readies a stock client's payer, and the store for it.
type paysBy func(*victims, *childConfig) clients.Options

func plainly(v *victims, _ *childConfig) clients.Options {
	return clients.Options{Key: v.net.Buyers[0].Hex()}
}

// killedWallets are kinds of payers, and after which step the process is killed to which one pays.
var killedWallets = []struct {
	name, step string
	pays       paysBy
}{
	{"a contract (EIP-1271)", "settling", func(v *victims, _ *childConfig) clients.Options {
		return clients.Options{Key: v.net.Wallet.Owner.Hex(), Wallet: v.net.Wallet.Address.Hex()}
	}},
	{"an account with code (EIP-7702)", "sent", func(v *victims, _ *childConfig) clients.Options {
		v.net.Await(v.net.Delegate(v.net.Buyers[0], chain.Delegate).Hash())
		return clients.Options{Key: v.net.Buyers[0].Hex(), Delegate: chain.Delegate.Hex(), RPC: v.net.URL}
	}},
	{"a wallet that is not deployed (ERC-6492)", "settled", func(v *victims, c *childConfig) clients.Options {
		c.Factories = []string{chain.Factory.Hex()}
		salt := common.Hash{31: 1}
		wallet := v.net.CounterfactualWallet(v.net.Buyers[0].Address, salt)
		money := v.net.SignTransfer(v.net.Buyers[0], wallet, 5000)
		v.net.Await(v.net.Send(v.net.Minter, v.net.Asset, money.Call()).Hash())
		return clients.Options{Key: v.net.Buyers[0].Hex(), Factory: chain.Factory.Hex(), Salts: []string{salt.Hex()},
			RPC: v.net.URL}
	}},
	{"Permit2", "claimed", func(v *victims, c *childConfig) clients.Options {
		c.Transfer = "permit2"
		v.net.Await(v.net.Send(v.net.Buyers[0], v.net.Asset, token.ApproveCall(token.Permit2Address,
			big.NewInt(5000))).Hash())
		return clients.Options{Key: v.net.Buyers[0].Hex()}
	}},
}

func loseProcess(t *testing.T, by stock, step string, delay time.Duration, pays paysBy) {
	v := newVictims(t, 1)
	const path = "/api/buy/small_blessing"
	var c childConfig
	o := pays(v, &c)
	before := v.net.Balance(v.net.PayTo)
	first := c
	first.Step, first.Nth = step, 1
	k := v.start(first)
	lost := by.buy(t, o, k.url+path)[0]
	if lost.Error == "" || lost.Payment == "" {
		t.Fatalf("the killed store answered %d %.300s", lost.Status, lost.Body)
	}
	v.killed(k, step)
	c.Ahead = delay
	k = v.start(c)
	again := by.buy(t, o, k.url+path)[0]
	if again.Status != 200 || !again.Settled || !strings.Contains(again.Body, `"charged_now":false`) {
		t.Errorf("killed after %s: the call again is answered %d %s %.300s", step, again.Status, again.Error,
			again.Body)
	}
	if n, paid := k.relayed(), v.net.Balance(v.net.PayTo)-before; n != 1 || paid != 5000 {
		t.Errorf("killed after %s: %d settlements on chain, want 1; %d were paid", step, n, paid)
	}
	v.shut(k)
}
