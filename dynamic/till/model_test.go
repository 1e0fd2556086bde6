package till_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"

	"github.com/google/go-cmp/cmp"
)

// model runs a till on a chain and a ledger that both misbehave by chance, in a bubble whose clock
// jumps, and holds the end of every purchase against the rules of money.
type model struct {
	t      *testing.T
	dice   *dice
	mu     sync.Mutex // guards sales, serve, history
	chain  *fakeChain
	db     *ledger.Mem
	calm   atomic.Bool
	sales  []*modelSale
	serve  http.Handler
	stop   func()
	starts int
	wrap   func(rail.Rail) rail.Rail // between till and chain; nil for nothing
	dies   func(step string) bool    // whether who took a step ends there; nil for never
	till   *till.Till                // of the process that runs
	payers int
	most   int       // open payments at once
	began  time.Time // of the newest block before the store was there
	rush   int       // how many times as fast the clients come; 0 is once
	shared int       // payments that one transaction may settle

	both     bool                // whether it takes vouchers and holds
	poll     time.Duration       // between two looks for what is due; 0 is the default
	age      time.Duration       // for how long something stays unclaimed; 0 is the default
	spenders map[string]*spender // by payer
	kept     map[string]keeping  // orders; guarded by mu
	wallets  sync.WaitGroup      // of payers who withdraw

	history []string // what happened, a line each, with the time; guarded by mu
}

// modelSale is one signed payment and every answer to it.
type modelSale struct {
	path, key, header string
	payload           fakePayload
	answers           []tilltest.Reply
	calls             []call // of a world

	most int64      // of the channel in all, by a voucher
	hold *rail.Hold // nil for what is paid at once
}

// start starts a process: a till that knows nothing but its ledger.
func (m *model) start(site *content.Site) {
	ctx, cancel := context.WithCancel(context.Background())
	m.starts++
	var r rail.Rail = fakeRail{m.chain}
	if m.wrap != nil {
		r = m.wrap(r)
	}
	var db ledger.DB = m.db
	if m.dice != nil {
		db = moodyLedger{m.db, m}
	}
	calm := m.calm.Swap(true) // a process that cannot read its ledger does not start
	cfg := till.Config{
		BaseURL: childBase, Site: site, DB: db, Rails: []rail.Rail{r}, Keys: []*attest.Key{attest.SpecimenKey()},
		Ring: attest.SpecimenRing(), Secret: []byte(strings.Repeat("s", 32)), Log: slog.New(slog.DiscardHandler),
		Exclusive: m.starts%2 == 0,
		// Nothing ends in the very moment of a look at it.
		RepeatWait: 20*time.Second + 77*time.Millisecond, SettleWait: 45*time.Second + 33*time.Millisecond,
		OpenWait: 5*time.Second + 11*time.Millisecond,
		// Tasks that are begun together do not end together.
		Late: func(d schedule.Task, _ time.Duration) {
			if m.dice != nil {
				m.dice.wait("begins "+d.Job+" "+d.ID, time.Millisecond)
			}
		},
		// A step may be the last thing that its goroutine does.
		AfterStep: func(step string) {
			if m.dies != nil && m.dies(step) || !m.calm.Load() && m.dice.chance("dies "+step, 2) {
				runtime.Goexit()
			}
		},
		Holds: m.both, Poll: m.poll,
	}
	if m.both {
		cfg.Vouchers = &channels.Limits{}
	}
	tl, err := till.New(cfg)
	var jobs []schedule.Job
	if m.both && err == nil {
		jobs, err = m.looksAfter(tl, db, r)
	}
	m.calm.Store(calm)
	if err != nil {
		m.t.Error(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.till = tl
	done := make(chan struct{})
	m.serve = tilltest.Handler(tl, childBase, func(_ http.ResponseWriter, r *http.Request, err error) {
		if !errors.Is(err, errDisk) && !errors.Is(err, ledger.ErrUnknown) {
			m.t.Errorf("%s: %v", r.URL.Path, err)
		}
	})
	go func() {
		defer close(done)
		for ctx.Err() == nil { // a failing ledger may end it
			tl.Run(ctx, jobs...)
			time.Sleep(time.Second)
		}
	}()
	m.stop = func() { cancel(); <-done; tl.Drain(context.Background()) }
}

// do makes a request whose connection may break.
func (m *model) do(path string, header map[string]string) (tilltest.Reply, bool) {
	m.mu.Lock()
	serve := m.serve
	m.mu.Unlock()
	rec := httptest.NewRecorder()
	answered := false
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := httptest.NewRequest("GET", path, nil)
		for k, v := range header {
			r.Header.Set(k, v)
		}
		serve.ServeHTTP(rec, r)
		answered = true
	}()
	<-done
	out := tilltest.Reply{Status: rec.Code, Header: rec.Header(), Raw: rec.Body.Bytes()}
	json.Unmarshal(out.Raw, &out.Body)
	return out, answered && (m.calm.Load() || !m.dice.chance("connection of "+header["PAYMENT-SIGNATURE"], 10))
}

// client buys once, and comes back with the same payment until it has an answer that ends it or
// tires.
func (m *model) client(i int) {
	me := fmt.Sprint("client ", i)
	m.dice.wait(me, time.Millisecond)
	switch n := m.dice.intN(me+" pays", 10); {
	case m.both && n < 3:
		m.spends(me, m.spenders[[]string{"spender", "another", "code:spender"}[n]])
		return
	case m.both && n < 5:
		m.orders(me, fmt.Sprintf("patron-%d", i%12))
		return
	}
	items := []string{"hello", "small_blessing", "the_drawer", "the_drawer", "jar_of_tuesday"}
	s := &modelSale{path: "/api/buy/" + items[m.dice.intN(me, len(items))]}
	if m.dice.chance(me, 50) {
		s.key = fmt.Sprintf("the-key-of-an-order-%d", m.dice.intN(me, 6))
	}
	r, ok := m.do(s.path, nil)
	m.note("%s: terms %d %s", me, r.Status, r.Code())
	if !ok || r.Status != 402 {
		return
	}
	key := s.key
	ch := tilltest.DecodeChallenge(m.t, r.Header.Get("PAYMENT-REQUIRED"))
	payer := fmt.Sprintf("payer-%d", i%m.payers)
	if i%m.payers == 1 {
		payer = "code:" + payer
	}
	s = m.signed(s.path, payer, fmt.Sprintf("nonce-%d", i), ch, time.Duration(40+m.dice.intN(me, 500))*time.Second)
	s.key = key
	m.mu.Lock()
	m.sales = append(m.sales, s)
	m.mu.Unlock()
	for range 1 + m.dice.intN(me, 6) {
		over := m.present(s)
		if n := len(s.answers); n > 0 {
			m.note("%s: %d %s", me, s.answers[n-1].Status, s.answers[n-1].Raw)
		}
		if over {
			return
		}
		m.dice.wait(me, time.Minute)
	}
}

// signed is a payment for the first terms of a challenge.
func (m *model) signed(path, payer, nonce string, ch map[string]any, valid time.Duration) *modelSale {
	accepted := ch["accepts"].([]any)[0].(map[string]any)
	s := &modelSale{path: path, payload: fakePayload{Payer: payer, Nonce: nonce, To: accepted["payTo"].(string),
		Amount: accepted["amount"].(string), Before: time.Now().Add(valid).Unix()}}
	s.payload.Sig = s.payload.signature()
	s.header = header(ch, accepted, s.payload)
	return s
}

// present sends a sale's payment once and judges the answer; true when it ends the matter.
func (m *model) present(s *modelSale) bool {
	h := map[string]string{"PAYMENT-SIGNATURE": s.header}
	if s.key != "" {
		h["Idempotency-Key"] = s.key
	}
	r, ok := m.do(s.path, h)
	if !ok {
		return false
	}
	if r.Status >= 500 && r.Status != 503 {
		if !m.calm.Load() {
			return false // a ledger that fails in the middle of an answer
		}
		m.t.Errorf("a payment is answered %d %s", r.Status, r.Raw)
	}
	if err := tilltest.AnswersPayment(r, true); err != nil {
		m.t.Errorf("%d %s: %v", r.Status, r.Raw, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Status == 200 {
		for _, old := range s.answers {
			if d := cmp.Diff(tilltest.PlainBody(old), tilltest.PlainBody(r)); old.Status == 200 && d != "" {
				m.t.Errorf("one payment has two bodies: %s", d)
			}
		}
	}
	s.answers = append(s.answers, r)
	return r.Status == 200 || r.Status == 202
}

// bounded holds the open payments against their bound: eight of a payer, at every moment.
func (m *model) bounded() (open int) {
	n := map[string]int{}
	m.db.View(context.Background(), func(tx ledger.Tx) error {
		clear(n)
		for e, err := range tx.Scan(ledger.Prefix(ledger.BudgetKey("open_payments"))) {
			if err != nil {
				clear(n) // the ledger fails now and then
				return err
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				m.t.Error(err)
				return err
			}
			n[parts[2]]++
		}
		return nil
	})
	for payer, k := range n {
		if open += k; k > 8 {
			m.t.Errorf("%s has %d open payments", payer, k)
		}
	}
	return open
}

// weather does something to the chain.
func (m *model) weather() {
	const me = "weather"
	sky := m.dice.intN(me, 100)
	var victim *modelSale
	m.mu.Lock()
	if len(m.sales) > 0 {
		victim = m.sales[m.dice.intN(me, len(m.sales))]
	}
	m.mu.Unlock()
	n := 1 + m.dice.intN(me, 3)
	lost := m.dice.chance(me, 50)
	m.note("%s %d", me, sky)
	c := m.chain
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case sky < 66:
		c.seal(false)
	case sky < 70:
		c.vague = !c.vague
	case sky < 71:
		c.seal(true)
	case sky < 72:
		c.empty = !c.empty
	case sky < 73:
		c.paused = !c.paused
	case sky < 74 && victim != nil: // simulations lie about this payer, or tell the truth again
		c.traps[victim.payload.Payer] = !c.traps[victim.payload.Payer]
	case sky < 78:
		c.pool = nil
	case sky < 83:
		c.reorg(n, lost)
	case sky < 85:
		c.divert()
	case sky < 88:
		c.silent = !c.silent
	case victim == nil:
	case sky < 93: // a stranger submits it
		c.pool = append([]*fakeTx{{Pays: []fakePayload{victim.payload}, Salt: "stranger"}}, c.pool...)
	case sky < 97: // the payer withdraws it
		c.pool = append([]*fakeTx{{Cancels: &victim.payload}}, c.pool...)
	default: // the payer spends the money elsewhere, or gets some
		c.poor[victim.payload.Payer] = !c.poor[victim.payload.Payer]
	}
}

// past is what happened on the chain before the store was there: payTo has been somebody's wallet.
// The node may be slow to name a final block while the store begins, and its first buyers come.
func (m *model) past() {
	const me = "past"
	for i := range 1 + m.dice.intN(me, 8) {
		p := fakePayload{Payer: "of-old", Nonce: fmt.Sprint("nonce-", i), To: fakePayTo, Amount: "500000",
			Before: time.Now().Add(time.Hour).Unix()}
		p.Sig = p.signature()
		m.chain.pool = append(m.chain.pool, &fakeTx{Pays: []fakePayload{p}})
		m.chain.seal(m.dice.chance(me, 50))
		m.dice.wait(me, 4*time.Second)
	}
	m.chain.pool = nil
	m.began = m.chain.head().time
	m.chain.vague = m.dice.chance(me, 30)
}

func (m *model) run() {
	site, err := content.Load(content.Sources{})
	if err != nil {
		m.t.Fatal(err)
	}
	p := site.Pools["drawer"]
	p.Entries = p.Entries[:6]
	site.Pools["drawer"] = p
	for i := range site.Goods {
		if g := &site.Goods[i]; g.ID == "quick_judgment" {
			g.WindowHours, g.WeeklyInventory = modelWindow, 40
		}
	}
	m.chain = newFakeChain()
	m.both, m.chain.delay, m.chain.holds = m.shared == 0, modelDelay, true
	if m.dice.seed%2 == 0 {
		m.age = 2 * time.Minute
	}
	m.spenders, m.kept = spenders(modelDelay, "spender", "another", "code:spender"), map[string]keeping{}
	m.chain.lag = func(who string) { m.dice.wait(who, 20*time.Millisecond) }
	m.chain.together = m.shared
	m.db = ledger.NewMem(ledger.MemOptions{Calm: true})
	m.past()
	m.start(site)
	var clients sync.WaitGroup
	if m.both {
		clients.Go(func() { m.keeps(time.Now().Add(8*time.Minute), false) })
	}
	const me = "driver"
	for i := range 60 {
		m.dice.wait(me, 4*time.Second/time.Duration(max(1, m.rush)))
		if i == 6 { // what was slow to begin has begun: a store that sells nothing shows nothing
			m.chain.mu.Lock()
			m.chain.vague, m.chain.silent = false, false
			m.chain.mu.Unlock()
		}
		clients.Go(func() { m.client(i) })
		if m.rush == 0 || i%m.rush == 0 {
			m.weather()
		}
		m.most = max(m.most, m.bounded())
		if m.dice.chance(me, 4) { // the process ends and another begins
			m.stop()
			m.start(site)
		}
	}
	for range 200 {
		m.dice.wait(me, 4*time.Second)
		m.weather()
	}
	clients.Wait()

	// The storm is over: half an hour of a chain that seals, and everything must have ended.
	m.calm.Store(true)
	m.chain.mu.Lock()
	m.chain.silent, m.chain.vague = false, false
	m.chain.empty, m.chain.paused = false, false
	clear(m.chain.poor)
	clear(m.chain.traps)
	m.chain.mu.Unlock()
	for range 900 {
		time.Sleep(2 * time.Second)
		m.chain.mu.Lock()
		m.chain.seal(false)
		m.chain.mu.Unlock()
	}
	if m.both {
		m.evening(site)
		m.wallets.Wait()
	}
	if n := m.bounded(); n != 0 {
		m.t.Errorf("%d payments are open after the storm", n)
	}
	m.judge()
	m.stop()
	m.record()
}

// record writes the chain and the ledger as they are into the history.
func (m *model) record() {
	for _, b := range m.chain.blocks {
		m.note("block %d %s of %s with %d", b.number, b.hash, b.time.Format(time.RFC3339Nano), b.mined)
		for _, x := range b.txs {
			m.note("transaction %s", x.id())
		}
	}
	m.db.View(context.Background(), func(tx ledger.Tx) error {
		for e, err := range tx.Scan(nil, nil) {
			m.note("%s %s %v", ledger.KeyText(e.Key), e.Value, err)
		}
		return nil
	})
}

// storm runs the model of one seed, and says how to run it again if it fails.
func storm(t *testing.T, seed uint64) []string {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again: STORE_SEED=%d go test ./dynamic/till -run 'TestModel$'", seed)
		}
	})
	return played(t, seed, (*model).run)
}

// Neither of these tests is parallel: what runs beside a model would draw from its random bytes.
func TestModel(t *testing.T) {
	if one := os.Getenv("STORE_SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			t.Fatalf("STORE_SEED: %v", err)
		}
		storm(t, seed)
		return
	}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { storm(t, seed) })
	}
}

// STORE_SOAK=1 runs a thousand seeds.
func TestSoakModel(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("STORE_SOAK is not set")
	}
	for seed := range uint64(1000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { storm(t, seed) })
	}
}

// One seed is one history: every answer, every transaction of the ledger, every block, every byte
// of the ledger at the end.
func TestModelReplays(t *testing.T) {
	seeds := uint64(2)
	if os.Getenv("STORE_SOAK") != "" {
		seeds = 100
	}
	if raced {
		seeds = 0 // two runs differ by what the detector shuffles
	}
	for seed := range seeds {
		first, again := storm(t, seed), storm(t, seed)
		for i := range max(len(first), len(again)) {
			if i >= len(first) || i >= len(again) || first[i] != again[i] {
				t.Errorf("seed %d has two histories, which part at line %d of %d and %d:\n%s\n%s",
					seed, i, len(first), len(again), strings.Join(first[i:min(i+3, len(first))], "\n"),
					strings.Join(again[i:min(i+3, len(again))], "\n"))
				break
			}
		}
	}
}
