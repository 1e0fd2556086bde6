package till_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agentstore/content"
	"agentstore/corpus/attest"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/till"

	"github.com/google/go-cmp/cmp"
)

// model runs a till on a chain and a ledger that both misbehave by chance, in a bubble whose clock jumps, and holds the
// end of every purchase against the rules of money.
type model struct {
	t      *testing.T
	rnd    *rand.Rand
	mu     sync.Mutex // guards rnd, sales, handler
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
	most   int // open payments at once
}

// modelSale is one signed payment and every answer to it.
type modelSale struct {
	path, key, header string
	payload           fakePayload
	answers           []reply
}

func (m *model) chance(percent int) bool { return m.intN(100) < percent }

func (m *model) intN(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rnd.IntN(n)
}

// start starts a process: a till that knows nothing but its ledger.
func (m *model) start(site *content.Site) {
	ctx, cancel := context.WithCancel(context.Background())
	m.starts++
	var r rail.Rail = fakeRail{m.chain}
	if m.wrap != nil {
		r = m.wrap(r)
	}
	calm := m.calm.Swap(true) // a process that cannot read its ledger does not start
	tl, err := till.New(till.Config{
		BaseURL: childBase, Site: site, DB: m.db, Rails: []rail.Rail{r}, Keys: []*attest.Key{attest.SpecimenKey()},
		Ring: attest.SpecimenRing(), Secret: []byte(strings.Repeat("s", 32)), Log: slog.New(slog.DiscardHandler), Exclusive: m.starts%2 == 0,
		// A step may be the last thing that its goroutine does.
		AfterStep: func(step string) {
			if m.dies != nil && m.dies(step) || !m.calm.Load() && m.chance(2) {
				runtime.Goexit()
			}
		},
	})
	m.calm.Store(calm)
	if err != nil {
		m.t.Error(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.till = tl
	done := make(chan struct{})
	m.serve = handler(tl, childBase, func(_ http.ResponseWriter, r *http.Request, err error) {
		if !errors.Is(err, errDisk) && !errors.Is(err, ledger.ErrUnknown) {
			m.t.Errorf("%s: %v", r.URL.Path, err)
		}
	})
	go func() {
		defer close(done)
		for ctx.Err() == nil { // a failing ledger may end it
			tl.Run(ctx)
			time.Sleep(time.Second)
		}
	}()
	m.stop = func() { cancel(); <-done; tl.Drain(context.Background()) }
}

var errDisk = errors.New("the disk does not answer")

// fault is what the ledger does in place of what it is asked.
func (m *model) fault(op string) (bool, error) {
	switch {
	case m.calm.Load() || !m.chance(3):
		return true, nil
	case op == "commit":
		return m.chance(50), ledger.ErrUnknown // stored or not, nobody knows
	default:
		return false, errDisk
	}
}

// do makes a request as a client whose connection may break.
func (m *model) do(path string, header map[string]string) (reply, bool) {
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
	out := reply{status: rec.Code, header: rec.Header(), raw: rec.Body.Bytes()}
	json.Unmarshal(out.raw, &out.body)
	return out, answered && (m.calm.Load() || !m.chance(10))
}

// client buys once, and comes back with the same payment until it has an answer that ends it or tires.
func (m *model) client(i int) {
	items := []string{"hello", "small_blessing", "the_drawer", "the_drawer", "jar_of_tuesday"}
	s := &modelSale{path: "/api/buy/" + items[m.intN(len(items))]}
	if m.chance(50) {
		s.key = fmt.Sprintf("the-key-of-an-order-%d", m.intN(6))
	}
	r, ok := m.do(s.path, nil)
	if !ok || r.status != 402 {
		return
	}
	key := s.key
	ch := decodeChallenge(m.t, r.header.Get("PAYMENT-REQUIRED"))
	payer := fmt.Sprintf("payer-%d", i%m.payers)
	if i%m.payers == 1 {
		payer = "code:" + payer
	}
	s = m.signed(s.path, payer, fmt.Sprintf("nonce-%d", i), ch, time.Duration(40+m.intN(500))*time.Second)
	s.key = key
	m.mu.Lock()
	m.sales = append(m.sales, s)
	m.mu.Unlock()
	for range 1 + m.intN(6) {
		if m.present(s) {
			return
		}
		time.Sleep(time.Duration(m.intN(60_000)) * time.Millisecond)
	}
}

// signed is a payment for the first terms of a challenge.
func (m *model) signed(path, payer, nonce string, ch map[string]any, valid time.Duration) *modelSale {
	accepted := ch["accepts"].([]any)[0].(map[string]any)
	s := &modelSale{path: path, payload: fakePayload{Payer: payer, Nonce: nonce, To: fakePayTo, Amount: accepted["amount"].(string), Before: time.Now().Add(valid).Unix()}}
	s.payload.Sig = s.payload.signature()
	b, err := json.Marshal(map[string]any{"x402Version": 2, "payload": s.payload, "accepted": accepted, "extensions": unsuggested(ch), "resource": ch["resource"]})
	if err != nil {
		m.t.Error(err)
	}
	s.header = base64.StdEncoding.EncodeToString(b)
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
	if r.status >= 500 && r.status != 503 {
		if !m.calm.Load() {
			return false // a ledger that fails in the middle of an answer
		}
		m.t.Errorf("a payment is answered %d %s", r.status, r.raw)
	}
	if err := answersPayment(r); err != nil {
		m.t.Errorf("%d %s: %v", r.status, r.raw, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.status == 200 {
		for _, old := range s.answers {
			if d := cmp.Diff(plainBody(old), plainBody(r)); old.status == 200 && d != "" {
				m.t.Errorf("one payment has two bodies: %s", d)
			}
		}
	}
	s.answers = append(s.answers, r)
	return r.status == 200
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
	dice := m.intN(100)
	var victim *modelSale
	m.mu.Lock()
	if len(m.sales) > 0 {
		victim = m.sales[m.rnd.IntN(len(m.sales))]
	}
	m.mu.Unlock()
	n := 1 + m.intN(3)
	lost := m.chance(50)
	c := m.chain
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case dice < 70:
		c.seal(false)
	case dice < 71:
		c.seal(true)
	case dice < 72:
		c.empty = !c.empty
	case dice < 73:
		c.paused = !c.paused
	case dice < 74 && victim != nil: // simulations lie about this payer, or tell the truth again
		c.traps[victim.payload.Payer] = !c.traps[victim.payload.Payer]
	case dice < 78:
		c.pool = nil
	case dice < 83:
		c.reorg(n, lost)
	case dice < 85:
		c.divert()
	case dice < 88:
		c.silent = !c.silent
	case victim == nil:
	case dice < 93: // a stranger submits it
		c.pool = append([]*fakeTx{{Pays: []fakePayload{victim.payload}, Salt: "stranger"}}, c.pool...)
	case dice < 97: // the payer withdraws it
		c.pool = append([]*fakeTx{{Cancels: &victim.payload}}, c.pool...)
	default: // the payer spends the money elsewhere, or gets some
		c.poor[victim.payload.Payer] = !c.poor[victim.payload.Payer]
	}
}

func (m *model) run() {
	site, err := content.Load(content.Sources{})
	if err != nil {
		m.t.Fatal(err)
	}
	p := site.Pools["drawer"]
	p.Entries = p.Entries[:6]
	site.Pools["drawer"] = p
	m.chain = newFakeChain()
	m.db = ledger.NewMem(ledger.MemOptions{Fault: m.fault})
	m.start(site)
	var clients sync.WaitGroup
	for i := range 60 {
		time.Sleep(time.Duration(m.intN(4000)) * time.Millisecond)
		clients.Go(func() { m.client(i) })
		m.weather()
		m.most = max(m.most, m.bounded())
		if m.chance(4) { // the process ends and another begins
			m.stop()
			m.start(site)
		}
	}
	for range 200 {
		time.Sleep(time.Duration(500+m.intN(3000)) * time.Millisecond)
		m.weather()
	}
	clients.Wait()

	// The storm is over: half an hour of a chain that seals, and everything must have ended.
	m.calm.Store(true)
	m.chain.mu.Lock()
	m.chain.silent = false
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
	if n := m.bounded(); n != 0 {
		m.t.Errorf("%d payments are open after the storm", n)
	}
	m.judge()
	m.stop()
}

// judge holds the end against the rules.
func (m *model) judge() {
	all := purchases(m.t, m.db)
	byID := map[string]till.Purchase{}
	numbers := map[int64]bool{}
	curios := map[string]string{}
	var credited int64
	owed := map[string]int64{}
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	for _, p := range all {
		byID[p.ID] = p
		if !resting(p) || !p.Final {
			m.t.Errorf("after the storm purchase %s is %s, final %v (%s)", p.ID, p.State, p.Final, p.Reason)
		}
		if p.Number != 0 {
			if numbers[p.Number] {
				m.t.Errorf("patron number %d was given twice", p.Number)
			}
			numbers[p.Number] = true
		}
		if p.Item == "the_drawer" && (p.State == till.Delivered || p.State == till.Reversed) {
			if other := curios[p.Entry]; other != "" {
				m.t.Errorf("%s and %s got the same curio", p.ID, other)
			}
			curios[p.Entry] = p.ID
		}
		u, b := m.chain.use(p.Payment.Payer + "|" + p.Payment.Nonce)
		paid := b != nil && !u.cancelled
		switch p.State {
		case till.Uncredited:
			owed[p.Payment.Payer+"|"+p.Payment.Nonce] += p.Amount
			if !paid {
				m.t.Errorf("%s is owed for, and no money moved", p.ID)
			}
		case till.Delivered, till.RefundOwed:
			credited += p.Amount
			if !paid {
				m.t.Errorf("%s is %s, and no money moved", p.ID, p.State)
			} else if p.State == till.Delivered && (p.Proof.Tx != u.tx.id() || p.Proof.BlockHash != b.hash) {
				m.t.Errorf("%s names another payment than the chain", p.ID)
			}
		default:
			if paid {
				m.t.Errorf("%s is %s (%s), and was paid", p.ID, p.State, p.Reason)
			}
		}
	}
	for n := range int64(len(numbers)) {
		if !numbers[n+1] {
			m.t.Errorf("patron number %d is missing among %d", n+1, len(numbers))
		}
	}
	claimed, strays := map[string]till.Claim{}, int64(0)
	m.db.View(context.Background(), func(tx ledger.Tx) error {
		for _, s := range m.sales {
			c, err := ledger.GetJSON[till.Claim](tx, ledger.AuthKey(fakeNetwork, fakeAsset, "fake", s.payload.Payer, s.payload.Nonce))
			if err == nil {
				claimed[s.payload.key()] = c
			}
		}
		return nil
	})
	for _, s := range m.sales {
		c, known := claimed[s.payload.key()]
		if u, b := m.chain.use(s.payload.key()); b != nil && !u.cancelled && (!known || c.Answered || byID[c.Purchase].State == till.Uncredited) {
			if u.tx.Relayer {
				m.t.Errorf("a payment that buys nothing of its own was settled by us: %+v", c)
			}
			if owed[s.payload.key()] != u.amount {
				m.t.Errorf("a payment of %d that no purchase credits is owed as %d", u.amount, owed[s.payload.key()])
			}
			delete(owed, s.payload.key())
			strays += u.amount
		}
		for _, r := range s.answers {
			if r.status == 200 && r.purchase() != c.Purchase {
				m.t.Errorf("an answer is of purchase %s, the payment's is %s", r.purchase(), c.Purchase)
			}
		}
	}
	if len(owed) > 0 {
		m.t.Errorf("owed for what a purchase credits: %v", owed)
	}
	if got := m.chain.received(); got != credited+strays {
		m.t.Errorf("payTo received %d, the journal credits %d, strangers sent %d", got, credited, strays)
	}
	// Every number of the relayer's is used up: nothing later can be stuck behind one.
	var next uint64
	m.db.View(context.Background(), func(tx ledger.Tx) error {
		v, err := tx.Get(ledger.RelayerKey(fakeNetwork, "relayer", "next"))
		if err != nil {
			return err
		}
		next, err = ledger.ParseNumber(string(v))
		return err
	})
	if mined := m.chain.head().mined; mined < next {
		m.t.Errorf("the relayer's numbers from %d to %d are still open", mined, next-1)
	}
	if lost, reverts, held := m.lost(); held != 0 || lost != reverts {
		m.t.Errorf("%d settlements hold gas, %d counts as lost; their reverts cost %d", held, lost, reverts)
	}
	states := map[till.State]int{}
	for _, p := range all {
		states[p.State]++
	}
	m.t.Logf("%d starts, %d payments, %d open at most, %v, %d paid for nothing", m.starts, len(m.sales), m.most, states, strays)
}

func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, seed)), payers: 8}
				if seed%4 == 3 {
					m.payers = 2 // who have more open at once
				}
				m.run()
			})
		})
	}
}
