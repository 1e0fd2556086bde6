package onchaintest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/go-cmp/cmp"
)

// child is a shop in a process of its own.
type child struct {
	*shop
	cmd   *exec.Cmd
	stdin io.Closer
	log   *bytes.Buffer
	ended chan struct{}
}

// victims sells in one child after another, on one chain and one ledger file.
type victims struct {
	t      testing.TB
	net    *chaintest.Net
	solana *solanaNet // instead of net, where it is given
	ledger string
	wrap   []string // a command that runs the child, such as strace
	env    []string // for the child
	orders []*order
	kills  map[string]int
	buyer  int
	longer uint64 // seconds for which payments are valid beyond five minutes
}

// order is one payment and what became of it.
type order struct {
	path   string
	header map[string]string
	p      payment
	body   map[string]any // of the first 200
	ended  bool           // without goods and without money
	late   bool           // its money landed after it had ended: it must be delivered
}

func newVictims(t testing.TB, buyers int) *victims {
	return &victims{t: t, kills: map[string]int{}, ledger: filepath.Join(t.TempDir(), "ledger.bolt"),
		net: chaintest.New(t, chaintest.Options{Buyers: buyers, Lead: 120})}
}

// start starts a child and returns when it sells.
func (v *victims) start(c childConfig) *child {
	v.t.Helper()
	c.Ledger = v.ledger
	if v.solana != nil {
		c.RPC, c.PayTo, c.FeePayer = v.solana.URL, solanaAddress(v.solana.payTo), v.solana.feePayer
	} else {
		c.PayTo, c.Relayer = v.net.PayTo.Hex(), v.net.Relayer.Hex()
	}
	if c.RPC == "" {
		c.RPC = v.net.URL
	}
	if c.SettleWait == 0 {
		c.SettleWait = patience
	}
	config, err := json.Marshal(c)
	if err != nil {
		v.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		v.t.Fatal(err)
	}
	argv := append(append([]string{}, v.wrap...), exe)
	k := &child{cmd: exec.Command(argv[0], argv[1:]...), log: new(bytes.Buffer), ended: make(chan struct{})}
	k.cmd.Env = append(append(os.Environ(), childEnv+"="+string(config)), v.env...)
	k.cmd.Stderr = k.log
	if k.stdin, err = k.cmd.StdinPipe(); err != nil {
		v.t.Fatal(err)
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := k.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	go func() { defer close(k.ended); k.cmd.Wait() }()
	v.t.Cleanup(func() { k.stdin.Close(); <-k.ended })
	k.shop = &shop{net: v.net}
	k.shop.t, _ = v.t.(*testing.T)
	if line == "" {
		<-k.ended
		if c.Step == "" {
			v.t.Fatalf("the child did not start: %s", k.log)
		}
		return k // killed while it took up what lay there
	}
	k.shop.url = line[:len(line)-1]
	return k
}

// killed waits until the child is dead by its own hand.
func (v *victims) killed(k *child, step string) {
	v.t.Helper()
	select {
	case <-k.ended:
		v.kills[step]++
	case <-time.After(patience):
		v.t.Fatalf("not killed by itself after %s: %s", step, k.log)
	}
}

// dead reports whether a child has ended.
func (k *child) dead() bool {
	select {
	case <-k.ended:
		return true
	default:
		return false
	}
}

// kill kills a child from outside, and reports whether it had not died before.
func (k *child) kill() bool {
	_, err := k.try("GET", "/api/buy/hello", nil)
	k.cmd.Process.Kill()
	<-k.ended
	return err == nil
}

// shut ends a child in good order.
func (v *victims) shut(k *child) {
	v.t.Helper()
	k.stdin.Close()
	<-k.ended
	if !k.cmd.ProcessState.Success() {
		v.t.Fatalf("the child ended with %s: %s", k.cmd.ProcessState, k.log)
	}
}

// order signs a payment for a path; false when the child died meanwhile.
func (v *victims) order(k *child, path string) (*order, bool) {
	v.t.Helper()
	r, err := k.try("GET", path, nil)
	if err != nil || r.Status != 402 {
		return nil, false
	}
	terms := tilltest.DecodeChallenge(v.t, r.Header.Get("PAYMENT-REQUIRED"))
	v.buyer++
	o := &order{path: path}
	var pay string
	if n := v.solana; n != nil {
		pay = n.pay(terms, n.buyers[v.buyer%len(n.buyers)])
	} else {
		o.p = k.sign(terms, 0, v.net.Buyers[v.buyer%len(v.net.Buyers)],
			func(a *token.Authorization) { a.ValidBefore += v.longer })
		pay = o.p.header(v.t)
	}
	o.header = map[string]string{"PAYMENT-SIGNATURE": pay}
	v.orders = append(v.orders, o)
	return o, true
}

// buys has a buyer order the next good, and presents the payment.
func (v *victims) buys(k *child, wg *sync.WaitGroup) (o *order, ok bool) {
	v.t.Helper()
	o, ok = v.order(k, "/api/buy/"+killItems[len(v.orders)%len(killItems)])
	if !ok { // what is counted may be sold out by now
		o, ok = v.order(k, "/api/buy/hello")
	}
	if ok {
		wg.Go(func() {
			if err := v.present(k, o); err != nil {
				v.t.Error(err)
			}
		})
	}
	return o, ok
}

// present sends an order's payment and takes note of the answer, if there is one.
func (v *victims) present(k *child, o *order) error {
	r, err := k.try("GET", o.path, o.header)
	if err != nil {
		return nil // the child died: the buyer comes back
	}
	switch {
	case o.late && r.Status == 402 && o.body == nil:
		return nil // the landing is yet to be noticed
	case r.Status == 200 && o.ended:
		return fmt.Errorf("an order that had ended without goods was delivered: %s", r.Raw)
	case r.Status == 200:
		body := tilltest.PlainBody(r)
		if o.body != nil {
			if d := cmp.Diff(o.body, body); d != "" {
				return fmt.Errorf("the buyer got two bodies: %s", d)
			}
		}
		o.body = body
	case o.body != nil && r.Status != 503:
		return fmt.Errorf("a delivered order is answered %d %s", r.Status, r.Raw)
	case r.Str("billed") == "no" && (r.Status == 402 || r.Status == 409 || r.Status == 429):
		o.ended = true
	case r.Status != 503:
		return fmt.Errorf("an order is answered %d %s", r.Status, r.Raw)
	}
	return nil
}

// finish lets a child that nobody kills bring everything to an end, and compares ledger, chain and
// answers. It returns the ledger.
func (v *victims) finish() ledger.DB {
	v.t.Helper()
	if v.net != nil {
		v.net.SetAutomine(true)
	}
	k := v.start(childConfig{})
	v.rested(k)
	v.shut(k)
	db := v.open()
	jars, given := map[float64]bool{}, map[string]string{}
	delivered := 0
	for _, p := range tilltest.Purchases(v.t, db) {
		if !tilltest.Resting(p) {
			v.t.Errorf("purchase %s is still %s", p.ID, p.State)
		}
		if p.Item == "jar_of_tuesday" && p.State == till.Delivered {
			if other := given[p.Entry]; other != "" {
				v.t.Errorf("one Tuesday is in the jars of %s and %s", p.ID, other)
			}
			given[p.Entry] = p.ID
		}
		if p.State == till.Delivered {
			delivered++
		}
	}
	bodies := 0
	for _, o := range v.orders {
		if o.body == nil {
			if v.net != nil && v.net.Used(o.p.From, o.p.Nonce) && !v.cancelled(o) {
				v.t.Errorf("an order without goods was charged: %s", o.path)
			}
			continue
		}
		bodies++
		if n, ok := o.body["deliverable"].(map[string]any)["number"].(float64); ok {
			if jars[n] {
				v.t.Errorf("jar %v was sold twice", n)
			}
			jars[n] = true
		}
	}
	for n := range len(jars) {
		if !jars[float64(n+1)] {
			v.t.Errorf("jar %d is missing among %d", n+1, len(jars))
		}
	}
	numbers, landed := 0, delivered
	if v.solana != nil {
		numbers, landed = v.solana.audit(db), v.solana.landed()
	} else {
		numbers = auditLedger(v.t, v.net, db)
	}
	if numbers != delivered || bodies != delivered || landed != delivered {
		v.t.Errorf("%d patron numbers, %d deliveries, %d bodies, %d landed", numbers, delivered, bodies, landed)
	}
	return db
}

// open opens the ledger, which no child has open.
func (v *victims) open() ledger.DB {
	v.t.Helper()
	if strings.HasPrefix(v.ledger, "postgres:") {
		return openPostgres(v.t, v.ledger)
	}
	db, err := bolt.Open(context.Background(), v.ledger)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { db.Close() })
	return db
}

func (v *victims) cancelled(o *order) bool {
	out, err := v.net.RPC.FilterLogs(v.t.Context(), usedLogs(v.net, o.p))
	if err != nil {
		v.t.Fatal(err)
	}
	return len(out) == 0
}

// pooled waits until the node has a transaction of the relayer's waiting, or the child is dead.
func (v *victims) pooled(k *child) bool {
	found := false
	until(v.t, "a settlement in the pool", func() bool {
		if k.dead() {
			return true
		}
		pending, err1 := v.net.RPC.PendingNonceAt(v.t.Context(), v.net.Relayer.Address)
		mined, err2 := v.net.RPC.NonceAt(v.t.Context(), v.net.Relayer.Address, nil)
		found = err1 == nil && err2 == nil && pending > mined
		return found
	})
	return found
}

// relayerTx is a transaction of the relayer's at its next mined nonce that does nothing.
func (v *victims) relayerTx() *types.Transaction {
	n, err := v.net.RPC.NonceAt(v.t.Context(), v.net.Relayer.Address, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	id := new(big.Int).SetUint64(v.net.Chain.ChainID())
	tx, err := types.SignNewTx(v.net.Relayer.Private, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: n, GasTipCap: big.NewInt(2e9), GasFeeCap: big.NewInt(100e9), Gas: 21000,
		To: &v.net.Minter.Address,
	})
	if err != nil {
		v.t.Fatal(err)
	}
	return tx
}

var killItems = []string{"hello", "jar_of_tuesday", "small_blessing", "daily_fortune", "a_secret"}

// kill runs one child until it dies after the given step, with whatever brings that step about.
func (v *victims) kill(step string, nth, buyers int) {
	v.t.Helper()
	c := childConfig{Step: step, Nth: nth}
	manual := step == "unknown" || step == "filled" || step == "not_settled" || step == "resigned"
	if step == "unknown" {
		c.SettleWait = 200 * time.Millisecond
	}
	c.Refuse = step == "settled_late"
	if manual || c.Refuse {
		buyers, c.Nth = 1, 1
	}
	k := v.start(c)
	if manual || c.Refuse {
		v.rested(k) // what was left behind must not be taken for what is to come
	}
	if manual {
		v.net.SetAutomine(false)
		defer v.net.SetAutomine(true)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	var last *order
	for range buyers {
		if o, ok := v.buys(k, &wg); ok {
			last = o
		}
	}
	if last != nil {
		switch step {
		case "filled", "not_settled":
			if v.pooled(k) {
				sig := v.net.SignDigest(v.key(last), token.CancelDigest(last.p.From, last.p.Nonce,
					v.net.DomainSeparator()))
				v.net.MustSealTxs(v.net.Transaction(v.net.Minter, v.net.Asset,
					token.CancelCall(last.p.From, last.p.Nonce, sig)))
			}
		case "resigned":
			if v.pooled(k) {
				v.net.MustSealTxs(v.relayerTx())
			}
		case "settled_late":
			wg.Wait() // until the buyer was told that nothing was charged
			last.ended, last.late = false, true
			v.net.Await(v.net.Send(v.net.Minter, v.net.Asset, last.p.Call()).Hash())
		}
	}
	v.killed(k, step)
}

// rested presents every order until all are answered for good, or the child is dead.
func (v *victims) rested(k *child) {
	v.t.Helper()
	for _, o := range v.orders {
		if o.ended || o.body != nil {
			continue
		}
		until(v.t, "an order left behind to end", func() bool {
			if err := v.present(k, o); err != nil {
				v.t.Fatal(err)
			}
			return k.dead() || o.ended || o.body != nil
		})
	}
}

func (v *victims) key(o *order) chaintest.Key {
	for _, b := range v.net.Buyers {
		if b.Address == o.p.From {
			return b
		}
	}
	v.t.Fatal("no such buyer")
	return chaintest.Key{}
}

// killSteps are the steps after which a process is killed. Any is for one that only takes up what
// was left. Goods are kept in a step of their own only while there is no room among the
// transactions under way.
var killSteps = []string{"claimed", "settling", "sent", "settled", "delivered", "unknown", "filled",
	"not_settled", "resigned", "watched", "settled_late"}

// run kills after each step, so many times over, with one buyer or some.
func (v *victims) run(rounds int, steps []string, kill func(step string, nth, buyers int)) {
	v.t.Helper()
	for n := range rounds * len(steps) {
		step, buyers := steps[n%len(steps)], 1+n%4
		kill(step, 1+n/4%buyers, buyers)
		if n%4 == 0 { // twice in a row: while it takes up what the first one left
			k := v.start(childConfig{Step: "any", Nth: 1 + n/4%3})
			v.rested(k)
			if !k.kill() {
				v.kills["twice"]++
			}
		}
		if v.t.Failed() {
			v.t.FailNow()
		}
	}
	v.t.Logf("kills: %v, orders: %d", v.kills, len(v.orders))
	v.finish()
}

// A process is killed at every step, and each buyer gets what was paid for, or keeps the money.
func TestKills(t *testing.T) {
	t.Parallel()
	v := newVictims(t, 40)
	v.run(1, killSteps, v.kill)
}

func TestSoakKills(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("500 kills take minutes; set STORE_SOAK=1")
	}
	v := newVictims(t, 300)
	v.run(45, killSteps, v.kill)
}
