package onchaintest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/core/types"
)

// hostileCode is how rows of railtest.Hostile are met on a chain: by code that is called without
// data before it signs, or when its settlement is in the pool.
var hostileCode = map[string]struct {
	code          []byte
	before, after bool
	// creates is what its payment creates it with, in the place of code.
	creates []byte
}{
	"accepts then reverts":      {code: token.Turncoat},
	"burns":                     {code: token.Burner},
	"burns in the estimate":     {code: token.Glutton},
	"looks at the block number": {code: token.Weathercock, before: true},
	"flips":                     {code: token.Switch, after: true},
	"is deployed and reverts":   {creates: token.Creation(token.Turncoat)},
	"drains its deployment":     {creates: token.Drain},
	"holds stock with code":     {code: token.Turncoat},
}

// A payer with code that reverts in a block costs one settlement of capped gas an authorization, is
// never asked again, and is told that nothing was billed.
func TestHostileContractsCostOneRevert(t *testing.T) {
	t.Parallel()
	for _, row := range railtest.Hostile {
		kind := hostileCode[row.Name]
		code := kind.code
		if kind.creates != nil {
			code = token.Deployer
		}
		if code == nil {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			net := chaintest.New(t, chaintest.Options{Manual: true, Code: [][]byte{code}})
			wallet := net.Coded[0].Address
			s := newShop(t, shopOptions{net: net, config: func(c *till.Config) { c.SettleWait = 4 * time.Second },
				evm: func(c *evm.Config) {
					if kind.creates != nil {
						c.Factories = []string{wallet.Hex()}
					}
				}})
			const path = "/api/buy/hello"
			if kind.before {
				s.net.Send(s.net.Minter, wallet, nil)
				s.net.MustSeal()
			}
			p := s.signAs(s.challenge(path), 0, s.net.Buyers[0], wallet, nil)
			if kind.creates != nil {
				p = s.undeployed(s.challenge(path), wallet, kind.creates)
			}
			answered := make(chan tilltest.Reply, 1)
			h := map[string]string{"PAYMENT-SIGNATURE": p.header(t)}
			go func() {
				r, _ := s.try("GET", path, h)
				answered <- r
			}()
			var r tilltest.Reply
			for done, turned := false, false; !done; {
				pending, err := s.net.RPC.PendingTransactionCount(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if pending > 0 {
					if kind.after && !turned {
						turned = true
						s.net.MustSealTxs(s.foreign(s.net.Minter, wallet, 0, nil))
					}
					s.net.MustSeal()
				}
				select {
				case r = <-answered:
					done = true
				case <-time.After(20 * time.Millisecond):
				}
			}
			n, gas := s.reverted()
			t.Logf("%d reverted, %d gas, answered %d %s", n, gas, r.Status, r.Code())
			if n > row.Reverts || gas > row.Measured {
				t.Errorf("%d settlements reverted and burnt %d gas, want %d and %d at most", n, gas, row.Reverts,
					row.Measured)
			}
			if r.Str("billed") != "no" || r.Status == 503 {
				t.Errorf("answered %d %s, want that nothing was billed", r.Status, r.Raw)
			}
		})
	}
}

// front is a node of which single calls fail. It returns the address to use.
func front(t *testing.T, target string, meddle *atomic.Pointer[func(body string, w http.ResponseWriter) bool]) string {
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if f := meddle.Load(); f != nil && (*f)(string(body), w) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

type meddler = func(body string, w http.ResponseWriter) bool

// One answer that a node fails to give at the draft is asked for again, within the buyer's wait.
func TestHiccupAtTheDraft(t *testing.T) {
	t.Parallel()
	var meddle atomic.Pointer[meddler]
	const wait = 45 * time.Second
	s := newShop(t, shopOptions{config: func(c *till.Config) { c.Patience, c.SettleWait = 20*time.Second, wait },
		evm: func(c *evm.Config) { c.RPC = []string{front(t, c.RPC[0], &meddle)} }})
	var failed atomic.Int64
	hiccup := meddler(func(body string, w http.ResponseWriter) bool {
		if !strings.Contains(body, "eth_estimateGas") || failed.Add(1) > 2 {
			return false
		}
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	meddle.Store(&hiccup)
	began := time.Now()
	r, _ := s.buy("/api/buy/hello", s.net.Buyers[0], nil)
	took := time.Since(began)
	s.want("a purchase with a hiccup at its draft", r, 200, "")
	t.Logf("%d failures, %s", failed.Load(), took)
	if failed.Load() < 2 || took > wait { // who hears nothing of it is answered after that
		t.Errorf("%d failures and %s, want two and no wait", failed.Load(), took)
	}
}

// closely is a guard that reads its networks all the time.
func closely(c *till.Config) {
	g, err := settle.NewGasGuard(settle.GasConfig{DB: c.DB, Rails: c.Rails, Every: 50 * time.Millisecond, Log: c.Log})
	if err != nil {
		panic(err)
	}
	c.Gas = g
}

// out waits until a path answers without terms, and returns that answer.
func (s *shop) out(path, why string) tilltest.Reply {
	s.t.Helper()
	var r tilltest.Reply
	until(s.t, "the network to be out: "+why, func() bool {
		r = s.do("GET", path, nil)
		return r.Status == 503
	})
	s.want("terms while nothing can be settled", r, 503, "settlement_unavailable")
	if left, _ := r.Body["left_out"].([]any); len(left) != 1 || !strings.Contains(string(r.Raw), why) ||
		r.Header.Get("Retry-After") == "" ||
		r.Header.Get("PAYMENT-REQUIRED") != "" || r.Body["accepts"] != nil {
		s.t.Errorf("without terms: %s, want %q", r.Raw, why)
	}
	return r
}

// back waits until a path has terms again.
func (s *shop) back(path string) {
	s.t.Helper()
	until(s.t, "terms again", func() bool { return s.do("GET", path, nil).Status == 402 })
}

// notTaken presents a payment that was signed before its network was out: nothing is claimed.
func (s *shop) notTaken(path string, p payment, why string) {
	s.t.Helper()
	before := len(tilltest.Purchases(s.t, s.db))
	r := s.present(path, p)
	s.want("a payment on a network that is out", r, 503, "settlement_unavailable")
	if r.Str("billed") != "no" || r.Str("retry") != "same_payment" || r.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(r.Raw), why) {
		s.t.Errorf("answered %s, want billed no, the same payment, %q", r.Raw, why)
	}
	if n := len(tilltest.Purchases(s.t, s.db)); n != before {
		s.t.Errorf("%d purchases, want the %d before: it was claimed", n, before)
	}
}

// A relayer without gas takes no payment; what was signed before is refused before the claim, and
// taken once there is gas.
func TestWithoutGasNothingIsTaken(t *testing.T) {
	t.Parallel()
	relayer := chaintest.NewKey(t)
	s := newShop(t, shopOptions{evm: func(c *evm.Config) { c.Relayer = relayer.Private }, config: closely})
	const path = "/api/buy/hello"
	s.out(path, "pays for gas there is empty")
	fund := func() {
		if err := s.net.RPC.SendTransaction(t.Context(), s.foreign(s.net.Minter, relayer.Address, 1e17,
			nil)); err != nil {
			t.Fatal(err)
		}
	}
	fund()
	s.back(path)
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	has, err := s.net.RPC.BalanceAt(t.Context(), relayer.Address, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.drain(relayer, has)
	s.out(path, "pays for gas there is empty")
	s.notTaken(path, p, "pays for gas there is empty")
	fund()
	s.back(path)
	s.want("the same payment once there is gas", s.present(path, p), 200, "")
	s.audit()
}

// drain sends what an account has to nobody, but for a little.
func (s *shop) drain(k chaintest.Key, has *big.Int) {
	s.t.Helper()
	n, err := s.net.RPC.NonceAt(s.t.Context(), k.Address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	id := new(big.Int).SetUint64(s.net.Chain.ChainID())
	price := big.NewInt(3e9)
	value := new(big.Int).Sub(has, new(big.Int).Mul(price, big.NewInt(21_000)))
	tx, err := types.SignNewTx(k.Private, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: n, GasTipCap: big.NewInt(1e9), GasFeeCap: price, Gas: 21_000, To: &s.net.Minter.Address,
		Value: value})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.net.RPC.SendTransaction(s.t.Context(), tx); err != nil {
		s.t.Fatal(err)
	}
}

// broke is a rail whose relayer turns out to be empty at the draft.
type broke struct {
	rail.Rail
	on *atomic.Bool
}

func (b broke) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if b.on.Load() {
		return nil, fmt.Errorf("relayer 0x1: %w", rail.ErrNoGas)
	}
	return b.Rail.Draft(ctx, ps)
}

// A relayer that runs out between claim and draft ends the purchase with billed no, not unknown,
// and the payer is not the one to blame (M5), however often.
func TestOurOwnFaultsBanNobody(t *testing.T) {
	t.Parallel()
	on := new(atomic.Bool)
	s := newShop(t, shopOptions{rail: func(r rail.Rail) rail.Rail { return broke{r, on} }})
	const path = "/api/buy/hello"
	ch := s.challenge(path)
	on.Store(true)
	for range 4 {
		r := s.present(path, s.sign(ch, 0, s.net.Buyers[0], nil))
		s.want("a payment that we cannot send", r, 402, "payment_invalid")
		if r.Str("billed") != "no" || r.Str("reason") != "settlement_unavailable" {
			t.Errorf("answered %s", r.Raw)
		}
	}
	on.Store(false)
	r, _ := s.buy(path, s.net.Buyers[0], nil)
	s.want("the payer of four that we could not send", r, 200, "")
	s.audit()
}

// A paused token, and a token that blocks the account to be paid, take the network out; nobody is
// banned for it, and what was signed before is taken when it is over.
func TestPausedAndBlocked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ill, well func(*shop) []byte
		why       string
	}{
		"paused": {func(*shop) []byte { return token.PauseCall() }, func(*shop) []byte { return token.UnpauseCall() },
			"is paused"},
		"blocked": {func(s *shop) []byte { return token.BlacklistCall(s.net.PayTo) }, nil,
			"does not move to this store's account"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, shopOptions{config: closely})
			const path = "/api/buy/hello"
			p := s.sign(s.challenge(path), 0, s.net.Buyers[0], tenMinutes)
			offers, _ := s.usdcOffers(path, nil)
			byUSDC := s.answerUSDC(usdcOn(t, offers, s.net.ID()), s.net.Buyers[1], nil)
			s.net.Await(s.net.Send(s.net.Minter, s.net.Asset, c.ill(s)).Hash())
			s.out(path, c.why)
			for range 4 {
				s.notTaken(path, p, c.why)
			}
			r := s.show(path, byUSDC)
			s.want("by method usdc", r, 503, "settlement_unavailable")
			if r.Str("billed") != "no" || !strings.Contains(string(r.Raw), c.why) {
				t.Errorf("by method usdc: %s", r.Raw)
			}
			if c.well == nil {
				return
			}
			s.net.Await(s.net.Send(s.net.Minter, s.net.Asset, c.well(s)).Hash())
			s.back(path)
			s.want("the payment when it is over", s.present(path, p), 200, "")
			s.audit()
		})
	}
}

// One network whose node is down at the start leaves the other selling, is named, and is taken in
// when it answers.
func TestOneNetworkDownAtTheStart(t *testing.T) {
	t.Parallel()
	var meddle atomic.Pointer[meddler]
	down := meddler(func(_ string, w http.ResponseWriter) bool { w.WriteHeader(http.StatusBadGateway); return true })
	meddle.Store(&down)
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}, config: closely, unchecked: true,
		evm: func(c *evm.Config) {
			if c.ChainID == 8453 {
				c.RPC = []string{front(t, c.RPC[0], &meddle)}
			}
		}})
	const path = "/api/buy/the_drawer"
	r := s.do("GET", path, nil)
	s.want("terms with one network down", r, 402, "payment_required")
	left := r.Body["left_out"].([]any)
	if len(left) != 1 || left[0].(map[string]any)["network"] != "eip155:8453" ||
		left[0].(map[string]any)["reason"] != "its node does not answer" {
		t.Errorf("left_out = %v", left)
	}
	ch := s.challenge(path)
	for _, a := range ch["accepts"].([]any) {
		if a.(map[string]any)["network"] != "eip155:137" {
			t.Errorf("offered on %v", a)
		}
	}
	s.want("a purchase on the other", s.present(path, s.sign(ch, 0, s.net.Buyers[0], nil)), 200, "")
	meddle.Store(nil)
	until(t, "the network to be taken in", func() bool {
		return s.challenge(path)["accepts"].([]any)[0].(map[string]any)["network"] == "eip155:8453"
	})
	again, _ := s.buy(path, s.net.Buyers[1], nil)
	s.want("a purchase on it", again, 200, "")
}

// oneRevert is a day's budget, in atomic units, that one hostile contract on a local chain fits
// into and a second one does not.
const oneRevert = 70

// Once hostile payers have cost a day's budget, contracts that are strangers are refused before the
// claim; plain strangers, and who has bought here, are served.
func TestBudgetSpentTakesWhoIsKnown(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{chain: chaintest.Options{Code: [][]byte{token.Turncoat, token.Burner}},
		config: func(c *till.Config) {
			g, err := settle.NewGasGuard(settle.GasConfig{DB: c.DB, Rails: c.Rails, Reverts: oneRevert})
			if err != nil {
				t.Fatal(err)
			}
			c.Gas = g
		}})
	const path = "/api/buy/hello"
	r, _ := s.buy(path, s.net.Buyers[0], nil)
	s.want("the first purchase", r, 200, "")
	ch := s.challenge(path)
	r = s.present(path, s.signAs(ch, 0, s.net.Buyers[0], s.net.Coded[0].Address, nil))
	s.want("a turncoat", r, 402, "payment_invalid")
	before := len(tilltest.Purchases(t, s.db))
	r = s.present(path, s.signAs(ch, 0, s.net.Buyers[0], s.net.Coded[1].Address, nil))
	s.want("a contract when the budget is spent", r, 429, "payment_refused_for_now")
	if r.Str("billed") != "no" || r.Str("retry") != "after" || r.Header.Get("Retry-After") == "" {
		t.Errorf("answered %s", r.Raw)
	}
	if n := len(tilltest.Purchases(t, s.db)); n != before {
		t.Errorf("%d purchases, want %d: a stranger was claimed", n, before)
	}
	for who, buyer := range map[string]int{"one who has bought here": 0, "a plain stranger": 1} {
		r, _ = s.buy(path, s.net.Buyers[buyer], nil)
		s.want(who, r, 200, "")
	}
	s.audit()
}

// A plain wallet whose money is gone when its settlements land costs two of them at most an
// authorization, is shown to be the cause, and is refused after three.
func TestPlainWalletThatSpendsItsMoneyTwice(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true})
	const path = "/api/buy/hello"
	buyer := s.net.Buyers[0]
	ch := s.challenge(path)
	var ps []payment
	for range 3 {
		ps = append(ps, s.sign(ch, 0, buyer, nil))
	}
	answers := s.pending(path, ps...)
	all := big.NewInt(chaintest.BuyerFunds)
	s.net.MustSealTxs(s.foreign(buyer, s.net.Asset, 0, token.PayCall(s.net.Minter.Address, all)))
	s.net.SetAutomine(true)
	s.net.MustSeal()
	for _, r := range answers() {
		s.want("a payment whose money is gone", r, 402, "payment_invalid")
		if r.Str("billed") != "no" {
			t.Errorf("answered %s", r.Raw)
		}
	}
	n, burnt := s.reverted()
	t.Logf("%d settlements of 3 authorizations reverted and burnt %d gas", n, burnt)
	if n != 3 {
		t.Errorf("%d settlements reverted, want one of each: the second draft is refused", n)
	}
	s.net.Await(s.net.Send(s.net.Minter, s.net.Asset, token.PayCall(buyer.Address, all)).Hash())
	s.want("the fourth payment", s.present(path, s.sign(ch, 0, buyer, nil)), 429, "payment_refused_for_now")
	s.sells()
}

// A plain account that takes on code while its settlement waits costs one: the next draft sees the
// code (EIP-7702).
func TestAccountThatTakesOnCode(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{manual: true, chain: chaintest.Options{Code: [][]byte{token.Turncoat}}})
	const path = "/api/buy/hello"
	buyer := s.net.Buyers[0]
	p := s.sign(s.challenge(path), 0, buyer, nil)
	answers := s.pending(path, p)
	s.net.MustSealTxs(s.net.Delegate(buyer, s.net.Coded[0].Address))
	s.net.SetAutomine(true)
	s.net.MustSeal()
	r := answers()[0]
	s.want("a payment of an account that took on code", r, 402, "payment_invalid")
	if n, burnt := s.reverted(); n != 1 || r.Str("billed") != "no" {
		t.Errorf("%d settlements reverted and burnt %d gas, answered %s; want one", n, burnt, r.Raw)
	}
	s.sells()
}

// What would be settled at a loss is not offered; signed before, it is refused before the claim.
func TestGasDearerThanThePrice(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{config: closely, rail: func(r rail.Rail) rail.Rail { return &dear{Rail: r} }})
	const path = "/api/buy/hello"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], tenMinutes)
	s.rails[0].(*dear).cost.Store(10_000_000)
	s.out(path, "settling there costs about 10 USDC")
	s.notTaken(path, p, "settling there costs about 10 USDC")
	s.rails[0].(*dear).cost.Store(0)
	s.back(path)
	s.want("when it is cheap again", s.present(path, p), 200, "")
	s.audit()
}

// Where one network of two is out, a payment that was signed for it is refused before the claim and
// told of the other; a buyer who comes back with the key of an earlier purchase gets that.
func TestOutOnOneNetworkOfTwo(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}, config: closely,
		rail: func(r rail.Rail) rail.Rail { return &dear{Rail: r} }})
	const path, key = "/api/buy/hello", "the-key-of-an-order-1"
	ch := s.challenge(path)
	first := s.present(path, s.sign(ch, 0, s.net.Buyers[0], nil), "Idempotency-Key", key)
	s.want("the first purchase", first, 200, "")
	p, again := s.sign(ch, 0, s.net.Buyers[0], nil), s.sign(ch, 0, s.net.Buyers[0], nil)
	s.rails[0].(*dear).cost.Store(10_000_000)
	until(t, "the network to be left out", func() bool {
		return s.challenge(path)["accepts"].([]any)[0].(map[string]any)["network"] == "eip155:137"
	})
	s.notTaken(path, p, "pay on another network")
	s.sameAnswer("the key of the first purchase", first, s.present(path, again, "Idempotency-Key", key))
	s.want("a purchase on the other", s.present(path, s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)), 200, "")
}

// dear is a network with a cost of the test's own, 0 for none.
type dear struct {
	rail.Rail
	cost atomic.Int64
}

func (d *dear) Standing(ctx context.Context) (rail.Standing, error) {
	s, err := d.Rail.Standing(ctx)
	if c := d.cost.Load(); c != 0 {
		s.Cost = c
	}
	return s, err
}
