package settle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// node is a network that says what the test wants.
type node struct {
	rail.Rail // what is not asked of it
	id        string

	mu       sync.Mutex // guards what follows
	check    error
	err      error // of everything
	mute     error // of Standing
	standing rail.Standing
	age      time.Duration // of the head
	asked    int
}

func (n *node) Info() rail.Info {
	return rail.Info{Network: n.id, Name: "Name of " + n.id, Accounts: []string{"0xrelayer"}, Unit: "wei"}
}

func (n *node) Check(context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return n.err
	}
	return n.check
}

func (n *node) Standing(context.Context) (rail.Standing, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	s := n.standing
	s.Head = time.Now().Add(-n.age)
	return s, errors.Join(n.err, n.mute)
}

func (n *node) set(f func(*node)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n)
}

const one, two = "eip155:1", "eip155:2"

// street is a guard over two networks that are well, and its log.
type street struct {
	*settle.GasGuard
	t    *testing.T
	db   *ledger.Mem
	a, b *node
	log  *strings.Builder
}

func newStreet(t *testing.T, c settle.GasConfig) *street {
	well := rail.Standing{Cost: 1000, Priced: true, Balance: big.NewInt(1e9), Need: big.NewInt(1e6)}
	s := &street{t: t, db: ledger.NewMem(ledger.MemOptions{}), log: new(strings.Builder),
		a: &node{id: one, standing: well}, b: &node{id: two, standing: well}}
	c.DB, c.Rails, c.Log = s.db, []rail.Rail{s.a, s.b}, slog.New(slog.NewTextHandler(s.log, nil))
	g, err := settle.NewGasGuard(c)
	if err != nil {
		t.Fatal(err)
	}
	s.GasGuard = g
	return s
}

// run keeps reading for the rest of a bubble.
func (s *street) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	synctest.Wait()
	return func() { cancel(); wg.Wait() }
}

// offered demands that a network is offered, or left out with a word.
func (s *street) offered(what, id string, price int64, out string) {
	s.t.Helper()
	o := s.Offer(context.Background(), id, price)
	taken := s.Take(context.Background(), id, price, 0)
	switch {
	case out == "" && (o != nil || taken != nil):
		s.t.Errorf("%s: %s is out: %v, %v", what, id, o, taken)
	case out != "" && (o == nil || !strings.Contains(o.Reason, out)):
		s.t.Errorf("%s: %s is offered (%v), want it out for %q", what, id, o, out)
	}
}

func (s *street) update(f func(ledger.Tx) error) error {
	return s.db.Update(context.Background(), f)
}

// What takes a network out leaves the others, is told to buyers and keeper, and is over when it is
// over.
func TestOutagesEndByThemselves(t *testing.T) {
	for _, c := range []struct {
		name, out, log string
		ill            func(*node)
	}{
		{"node down", "does not answer", "connection refused",
			func(n *node) { n.err = errors.New("connection refused") }},
		{"wrong chain", "not on the chain", "chain 5",
			func(n *node) { n.err = fmt.Errorf("chain 5 (%w)", rail.ErrWrongChain) }},
		{"no account", "does not exist", "make the account", func(n *node) {
			n.err = &rail.Unready{Out: "the store's account there does not exist", Do: "make the account"}
		}},
		{"old head", "more than a minute old", "network takes no payments", func(n *node) { n.age = 61 * time.Second }},
		{"paused", "is paused", "is paused", func(n *node) { n.standing.Out = "its USDC is paused" }},
		{"no price", "no price of its coin", "no price", func(n *node) { n.standing.Priced = false }},
		{"no gas", "is empty", "fund=0xrelayer wei_held=5 wei_needed=10000000", func(n *node) {
			n.standing.Balance, n.standing.Out = big.NewInt(5), "the account is empty"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStreet(t, settle.GasConfig{})
				stop := s.run()
				defer stop()
				s.offered("before", one, 5000, "")
				s.a.set(c.ill)
				time.Sleep(26 * time.Second) // four readings in vain at most
				s.offered("ill", one, 5000, c.out)
				s.offered("its neighbour", two, 5000, "")
				if err := s.Take(t.Context(), one, 5000, 0); err == nil {
					t.Error("a payment is taken")
				}
				if !strings.Contains(s.log.String(), c.log) {
					t.Errorf("the log does not say %q: %s", c.log, s.log)
				}
				if n := strings.Count(s.log.String(), "takes no payments"); n != 1 {
					t.Errorf("the alarm sounded %d times, want once: %s", n, s.log)
				}
				s.a.set(func(n *node) { n.err, n.age, n.standing = nil, 0, s.b.standing })
				time.Sleep(6 * time.Second)
				s.offered("well again", one, 5000, "")
			})
		})
	}
}

// A network that is down at the start is taken in when it answers, on the right chain only, and
// nothing it says is believed before.
func TestDownAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet(t, settle.GasConfig{})
		s.a.err = errors.New("connection refused")
		stop := s.run()
		defer stop()
		s.offered("down", one, 5000, "does not answer")
		s.offered("the other", two, 5000, "")
		if err := s.Ready(t.Context(), one); !errors.Is(err, settle.ErrGasUnchecked) {
			t.Errorf("Ready = %v, want ErrUnchecked", err)
		}
		s.a.set(func(n *node) { n.err, n.check = nil, fmt.Errorf("chain 5 (%w)", rail.ErrWrongChain) })
		time.Sleep(6 * time.Second)
		s.offered("on a wrong chain", one, 5000, "not on the chain")
		if err := s.Ready(t.Context(), one); !errors.Is(err, settle.ErrGasUnchecked) {
			t.Errorf("Ready = %v, want ErrUnchecked", err)
		}
		s.a.set(func(n *node) { n.check = nil })
		time.Sleep(6 * time.Second)
		s.offered("up", one, 5000, "")
	})
}

// A node that is on the right chain, but does not say what settling costs, is believed about
// purchases that are under way.
func TestReadyWithoutACost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet(t, settle.GasConfig{})
		s.a.mute = errors.New("execution reverted")
		stop := s.run()
		defer stop()
		for range 3 {
			s.offered("without a cost", one, 5000, "does not answer")
			if err := s.Ready(t.Context(), one); err != nil {
				t.Errorf("Ready = %v", err)
			}
			time.Sleep(25 * time.Second)
		}
	})
}

// One failed reading closes nothing.
func TestHiccupClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet(t, settle.GasConfig{})
		stop := s.run()
		defer stop()
		for range 5 {
			s.a.set(func(n *node) { n.err = errors.New("bad gateway") })
			time.Sleep(10 * time.Second)
			s.offered("during a hiccup", one, 5000, "")
			s.a.set(func(n *node) { n.err = nil })
			time.Sleep(10 * time.Second)
			s.offered("after it", one, 5000, "")
		}
	})
}

// The relayer has to be able to pay for all that is under way, and one more.
func TestEnoughForAllUnderWay(t *testing.T) {
	s := newStreet(t, settle.GasConfig{})
	for under, taken := range map[int]bool{0: true, 999: true, 1000: false} {
		if err := s.Take(t.Context(), one, 5000, under); (err == nil) != taken {
			t.Errorf("with %d under way Take = %v, want taken %v", under, err, taken)
		}
	}
}

// A price below twice the cost is asked on the first network only, and only until the day's subsidy
// is spent; a draft above the full price is signed only out of it.
func TestSubsidy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet(t, settle.GasConfig{Subsidy: 2500})
		stop := s.run()
		defer stop()
		const price = 1000 // half of twice the cost
		s.offered("the first", one, price, "")
		s.offered("the second", two, price, "more than half the price")
		sign := func(id string, cost int64) error {
			return s.update(func(tx ledger.Tx) error {
				_, err := s.Sign(tx, id, "payer", price, rail.Price{Cost: cost})
				return err
			})
		}
		if err := sign(two, 1000); err != nil {
			t.Errorf("a draft at its price: %v", err)
		}
		if err := sign(two, 1001); !errors.Is(err, settle.ErrGasDear) {
			t.Errorf("a draft above its price: %v, want ErrDear", err)
		}
		if err := errors.Join(sign(one, 1000), sign(one, 1001)); err != nil { // 1000 + 1002 of the subsidy
			t.Errorf("drafts out of the subsidy: %v", err)
		}
		time.Sleep(6 * time.Second)
		s.offered("with the subsidy spent", one, price, "more than half the price")
		s.offered("at twice the cost", one, 2000, "")
		if err := sign(one, 1000); err != nil {
			t.Errorf("what was offered before: %v", err)
		}
		if err := sign(one, 1001); !errors.Is(err, settle.ErrGasDear) {
			t.Errorf("what was offered before, above its price: %v, want ErrDear", err)
		}
		time.Sleep(24 * time.Hour)
		s.offered("the next day", one, price, "")
	})
}

// What reverts was no sale: it takes nothing of the subsidy, so that nobody can use that up for
// nothing.
func TestRevertsTakeNoSubsidy(t *testing.T) {
	s := newStreet(t, settle.GasConfig{Subsidy: 1000})
	for i := range 5 {
		err := s.update(func(tx ledger.Tx) error {
			h, err := s.Sign(tx, one, "payer", 1000, rail.Price{Cost: 1000, Most: 2000})
			if err != nil || h.Subsidy != 1000 {
				return fmt.Errorf("settlement %d: Sign = %+v, %w", i, h, err)
			}
			return s.Reverted(tx, settle.GasPayer{Network: one, Address: "payer", Code: ""}, h,
				rail.Revert{Tx: fmt.Sprint(i), Cost: 900},
				rail.Cause{Payer: true})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// signs is a settlement of a payer with code that may burn 3000, which is signed for.
func (s *street) signs(payer, code string) (h settle.GasHeld, err error) {
	err = s.update(func(tx ledger.Tx) (err error) {
		if _, err = s.Admit(tx, one, payer, code); err == nil {
			h, err = s.Sign(tx, one, payer, 5000, rail.Price{Cost: 1000, Most: 3000, Code: code})
		}
		return err
	})
	return h, err
}

// reverts counts a revert that is its payer's doing.
func (s *street) reverts(payer, code string, h settle.GasHeld, cost int64) {
	s.t.Helper()
	err := s.update(func(tx ledger.Tx) error {
		return s.Reverted(tx, settle.GasPayer{Network: one, Address: payer, Code: code}, h,
			rail.Revert{Tx: payer, Cost: cost},
			rail.Cause{Payer: true, Reason: "no"})
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *street) settled(payer, code string, paid int64, held ...settle.GasHeld) {
	s.t.Helper()
	err := s.update(func(tx ledger.Tx) error {
		return s.Settled(tx, settle.GasPayer{Network: one, Address: payer, Code: code}, paid, held)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// lost demands what a day lost.
func (s *street) lost(want int64) {
	s.t.Helper()
	err := s.db.View(s.t.Context(), func(tx ledger.Tx) error {
		if lost, limit, err := s.Lost(tx, one); lost != want || limit != 10_000 || err != nil {
			s.t.Errorf("Lost = %d of %d, %v; want %d", lost, limit, err, want)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// takes says how a payer is taken.
func (s *street) takes(id, payer, code string) (how string) {
	s.t.Helper()
	err := s.update(func(tx ledger.Tx) error {
		alone, err := s.Admit(tx, id, payer, code)
		how = map[bool]string{true: "alone", false: "taken"}[alone]
		return err
	})
	if spent, ok := errors.AsType[*settle.GasSpent](err); ok {
		if spent.Retry <= 0 || spent.Retry > 24*time.Hour {
			s.t.Errorf("Retry = %+v", spent)
		}
		return "spent"
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return how
}

// Payers with code lose the store no more than a day's budget, however many of them come at once,
// whatever their code is that of, and whatever they bought before for less than they burn. Then
// those go on that paid more than they burn themselves, and payers without code.
func TestRevertsHaveABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet(t, settle.GasConfig{Reverts: 10_000})
		s.settled("old friend", "", 5000)
		s.settled("wallet", "good code", 5000)
		s.settled("trap-0", "trap", 2000)
		held := map[string]settle.GasHeld{}
		for i := range 50 { // all at once: none has reverted yet
			payer := fmt.Sprintf("trap-%d", i)
			if h, err := s.signs(payer, "trap"); err == nil {
				held[payer] = h
			}
		}
		if len(held) != 3 {
			t.Errorf("%d settlements that may burn 3000 were signed for out of 10000, want 3", len(held))
		}
		for payer, h := range held {
			s.reverts(payer, "trap", h, 2900)
		}
		s.lost(3 * 2900)
		if _, err := s.signs("trap-9", "trap"); err == nil {
			t.Error("more may be burned than is left of the budget")
		}
		h, err := s.signs("wallet", "good code")
		if err != nil {
			t.Fatalf("one who paid more than it may burn: %v", err)
		}
		if _, err := s.signs("wallet", "good code"); err == nil {
			t.Error("what one may burn together is more than it paid")
		} // and the next is told so before it is claimed
		s.lost(3*2900 + 3000)
		for _, c := range []struct{ payer, code, how string }{
			{"stranger", "", "alone"}, {"trap-0", "trap", "spent"}, {"stranger", "other code", "spent"},
			{"old friend", "", "taken"}, {"old friend", "code since", "spent"}, {"wallet", "good code", "spent"},
			{"wallet", "other code", "spent"}, {"another wallet", "good code", "spent"},
		} {
			if how := s.takes(one, c.payer, c.code); how != c.how {
				t.Errorf("after the day's loss %s with %q is %s, want %s", c.payer, c.code, how, c.how)
			}
		}
		if how := s.takes(two, "stranger", "code"); how != "taken" {
			t.Errorf("on the other network a stranger is %s", how)
		}
		s.reverts("wallet", "good code", h, 3000)
		s.settled("wallet", "good code", 500) // 5500 in all, of which 3000 are burned
		if _, err = s.signs("wallet", "good code"); err == nil {
			t.Error("one who burned as much as is left of what it paid is taken on credit")
		}
		s.settled("wallet", "good code", 501)
		if h, err = s.signs("wallet", "good code"); err != nil {
			t.Errorf("one who paid more than it burned and may burn: %v", err)
		}
		s.settled("wallet", "good code", 1, h)
		s.lost(3*2900 + 3000)
		time.Sleep(24 * time.Hour)
		if how := s.takes(one, "stranger", "code"); how != "taken" {
			t.Errorf("the next day a stranger is %s", how)
		}
		if _, err := s.signs("wallet", "good code"); err != nil {
			t.Errorf("the next day: %v", err)
		}
	})
}

// Strangers without code go one at a time once the budget is lost, until three more are; who
// settled here goes on, but after a revert of its own doing as a stranger does.
func TestPlainPayersHaveASecondBudget(t *testing.T) {
	s := newStreet(t, settle.GasConfig{Reverts: 10_000})
	s.settled("friend", "", 5000)
	s.settled("other friend", "", 5000)
	for i := range 8 {
		want := map[bool]string{true: "taken", false: "alone"}[i < 2]
		if how := s.takes(one, "stranger", ""); how != want {
			t.Errorf("with %d lost a stranger is %s, want %s", i*5000, how, want)
		}
		s.reverts(fmt.Sprint("stranger-", i), "", settle.GasHeld{}, 5000)
	}
	s.lost(40_000)
	s.reverts("other friend", "", settle.GasHeld{}, 1)
	for payer, want := range map[string]string{"stranger": "spent", "friend": "taken", "other friend": "spent"} {
		if how := s.takes(one, payer, ""); how != want {
			t.Errorf("with both budgets lost %s is %s, want %s", payer, how, want)
		}
	}
}

// What is held for payers with code is given back when they settle.
func TestHeldIsGivenBack(t *testing.T) {
	s := newStreet(t, settle.GasConfig{Reverts: 10_000})
	for i := range 20 {
		err := s.update(func(tx ledger.Tx) error {
			h, err := s.Sign(tx, one, "wallet", 5000, rail.Price{Cost: 1000, Most: 9000, Code: "c"})
			if err != nil {
				return err
			}
			return s.Settled(tx, settle.GasPayer{Network: one, Address: "wallet", Code: "c"}, 5000, []settle.GasHeld{h})
		})
		if err != nil {
			t.Fatalf("sale %d: %v", i, err)
		}
	}
	s.db.View(t.Context(), func(tx ledger.Tx) error {
		if lost, _, err := s.Lost(tx, one); lost != 0 || err != nil {
			t.Errorf("Lost = %d, %v after sales that settled", lost, err)
		}
		return nil
	})
}

// Three payers whose settlements revert alike, none of them shown to be the cause, take the network
// out; it is tried again after a while, at first with one more chance for each pause, and a payment
// that settles ends it. Payers' own doing, and one payer alone, take nothing out.
func TestThreeRevertsAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreet(t, settle.GasConfig{})
		stop := s.run()
		defer stop()
		revert := func(payer, why string, payers bool) {
			t.Helper()
			err := s.update(func(tx ledger.Tx) error {
				return s.Reverted(tx, settle.GasPayer{Network: one, Address: payer, Code: ""}, settle.GasHeld{},
					rail.Revert{Tx: payer, Cost: 1},
					rail.Cause{Payer: payers, Reason: why})
			})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			s.Suspect(t.Context(), one)
		}
		for i := range 5 {
			revert(fmt.Sprint("trap-", i), "odd", true)
			revert("one", "odd", false)
			revert(fmt.Sprint("acted-", i), "", false)
		}
		revert("two", "odd", false)
		s.offered("after two", one, 5000, "")
		revert("three", "another way", false)
		revert("one", "odd", false)
		revert("two", "odd", false)
		s.offered("after two and another", one, 5000, "")
		revert("three", "odd", false)
		s.offered("after three", one, 5000, "in the same way")
		s.offered("the neighbour", two, 5000, "")
		time.Sleep(5*time.Minute + 6*time.Second)
		s.offered("after the pause", one, 5000, "")
		revert("four", "odd", false)
		s.offered("after one more", one, 5000, "in the same way")
		time.Sleep(6 * time.Minute)
		s.offered("in the second pause", one, 5000, "in the same way")
		time.Sleep(5 * time.Minute)
		s.offered("after it", one, 5000, "")
		if err := s.update(func(tx ledger.Tx) error {
			return s.Settled(tx, settle.GasPayer{Network: one, Address: "five", Code: ""}, 5, nil)
		}); err != nil {
			t.Fatal(err)
		}
		revert("six", "odd", false)
		s.offered("one after a payment that settled", one, 5000, "")
	})
}

func TestMayDraft(t *testing.T) {
	for _, c := range []struct {
		coded            bool
		reverts, numbers int
		want             bool
	}{
		{false, 0, 0, true}, {false, 0, 3, true}, {false, 0, 4, false}, {false, 1, 1, true}, {false, 2, 2, false},
		{true, 0, 0, true}, {true, 0, 1, true}, {true, 0, 2, false}, {true, 1, 1, false},
	} {
		if got := settle.MayDraft(c.coded, c.reverts, c.numbers); got != c.want {
			t.Errorf("MayDraft(%v, %d, %d) = %v, want %v", c.coded, c.reverts, c.numbers, got, c.want)
		}
	}
}

// Twice the cost is enough to the unit, and one unit less is not: of a price that is asked, of a
// payment that is taken, and of somebody else's that is settled for them.
func TestTwiceTheCostToTheUnit(t *testing.T) {
	for _, c := range []struct {
		subsidy      int64 // left on the first network
		id           string
		asked, taken int64 // the least of each
	}{{-1, two, 2000, 1000}, {-1, one, 2000, 1000}, {1, one, 1999, 1000}, {1500, one, 500, 500}} {
		s := newStreet(t, settle.GasConfig{Subsidy: c.subsidy})
		if o := s.Offer(t.Context(), c.id, c.asked); o != nil {
			t.Errorf("%s with a subsidy of %d: %d is not asked: %v", c.id, c.subsidy, c.asked, o)
		}
		if o := s.Offer(t.Context(), c.id, c.asked-1); o == nil ||
			!strings.Contains(o.Reason, "more than half the price") {
			t.Errorf("%s with a subsidy of %d: %d is asked: %v", c.id, c.subsidy, c.asked-1, o)
		}
		if err := s.Take(t.Context(), c.id, c.taken, 0); err != nil {
			t.Errorf("%s with a subsidy of %d: %d is not taken: %v", c.id, c.subsidy, c.taken, err)
		}
		if err := s.Take(t.Context(), c.id, c.taken-1, 0); err == nil ||
			!strings.Contains(err.Error(), "more than was paid") {
			t.Errorf("%s with a subsidy of %d: %d is taken: %v", c.id, c.subsidy, c.taken-1, err)
		}
		if n := s.Least(t.Context(), c.id); n != 2000 {
			t.Errorf("the least that is settled for others is %d, want 2000", n)
		}
	}
}
