package till_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"go/parser"
	gotoken "go/token"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"

	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/till"
)

// hostileKinds is how each row of railtest.Hostile is met on the fake chain: %d is a fresh number,
// and what it does while its settlement waits for a block. What has neither is met on a real one.
var hostileKinds = map[string]struct {
	payer string
	does  func(c *fakeChain, p fakePayload)
}{
	"accepts then reverts":      {"code-%d:payer", traps},
	"burns":                     {},
	"burns in the estimate":     {},
	"looks at the block number": {},
	"flips":                     {},
	"shares its code":           {"code:payer-%d", traps},
	"is deployed and reverts":   {},
	"drains its deployment":     {},
	"cancels": {"payer-%d",
		func(c *fakeChain, p fakePayload) { c.pool = append([]*fakeTx{{Cancels: &p}}, c.pool...) }},
	"spends elsewhere":      {"payer-%d", empties},
	"holds stock":           {"payer-%d", empties},
	"holds stock with code": {"code-%d:payer", traps},
	"floods":                {}, // TestMoneyForOnePaysForOne
	"withholds":             {}, // the conformance test of rails
	// TestOneOfSeveralSinksNobody has one among others.
	"burns among others":     {},
	"changes among others":   {},
	"re-enters among others": {},
	// The tests that railtest names.
	"cancels its deposit":     {},
	"funds and takes back":    {},
	"unmakes its deposit":     {},
	"denies its voucher":      {},
	"withdraws what it spent": {},
	// TestPaymentsThatAreRefusedHaveABound, and the rail's TestAWrongSignatureCostsOneQuestion and
	// TestACallIntoAContractHasItsGas.
	"signs for others":       {},
	"burns in its signature": {},
	"repeats":                {}, // TestAnsweredAuthorizationsHaveABound
	"cancels a hold":         {}, // TestHostileHolds
	"burns a hold":           {},
}

func traps(c *fakeChain, p fakePayload) { c.traps[p.Payer] = true }

func empties(c *fakeChain, p fakePayload) { c.poor[p.Payer] = true }

// The table of the package comment has the figures that the tests hold the store to.
func TestPackageCommentStatesWhatHostilePayersCost(t *testing.T) {
	t.Parallel()
	coded, all := settle.MostReverts(settle.DefaultReverts)
	for what, n := range map[string][2]int64{"payers with code": {coded, railtest.MostLost},
		"all payers": {all, railtest.MostLostPlain}, "refused payments": {settle.DefaultProcess, railtest.MostChecked},
		"refused payments at a time": {settle.Places, railtest.MostAtOnce},
		"answered payments":          {till.MaxAnswered, railtest.MostAnswered},
		"channels that buy nothing":  {channels.DefaultGas, railtest.MostFunding},
		"sales in doubt":             {channels.DefaultDay, railtest.MostDoubted}} {
		if n[0] != n[1] {
			t.Errorf("the limit of %s is %d, stated is %d", what, n[0], n[1])
		}
	}
	f, err := parser.ParseFile(gotoken.NewFileSet(), "till.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(f.Doc.Text(), "\n\tpayer ")
	table, _, ended := strings.Cut("\tpayer "+rest, "\n\n")
	want := "\t" + strings.Join(railtest.Table(all+railtest.MostFunding+railtest.MostDoubted), "\n\t")
	if d := cmp.Diff(want, table); !found || !ended || d != "" {
		t.Errorf("the table of till.go's package comment is not what the limits come to (-want +found):\n%s", d)
	}
	for _, row := range railtest.Hostile {
		if _, ok := hostileKinds[row.Name]; !ok {
			t.Errorf("no test of the till meets a payer that %s", row.Name)
		}
	}
}

// Fresh hostile wallets come one after the other. All of them together cost the store its budget
// for reverts and no more; then strangers with code are refused, and those without where they are
// who spent it, who has bought here is served, and the next day everybody is.
func TestHostilePayersCostTheirBudget(t *testing.T) {
	t.Parallel()
	for _, row := range railtest.Hostile {
		kind := hostileKinds[row.Name]
		if kind.does == nil {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				site := tilltest.Scarce(t, nil)
				path := hello
				if row.Holds > 0 {
					path = secret
				}
				m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true})}
				m.calm.Store(true)
				const lost = fakeLimit * 800 // of one revert
				budget := int(row.Day)
				m.chain.gasPrice = 800
				m.start(site)
				defer func() { m.stop() }()
				sealed, pay := m.sealed, m.pay
				if r := pay(hello, "friend", nil); r.Status != 200 {
					t.Fatalf("an honest wallet = %d %s", r.Status, r.Raw)
				}
				answers := map[string]int{}
				for i := range 50 {
					r := pay(path, fmt.Sprintf(kind.payer, i), kind.does)
					answers[fmt.Sprint(r.Status, " ", r.Str("billed"))]++
					if r.Status == 503 {
						t.Fatalf("hostile wallet %d closes the shop: %s", i, r.Raw)
					}
				}
				m.chain.mu.Lock()
				reverted := len(m.chain.reverted)
				m.chain.mu.Unlock()
				t.Logf("%d settlements reverted, %d of %d lost; answers %v", reverted, reverted*lost, budget, answers)
				// A plain wallet's loss is known when it is made, so the one that reaches the
				// budget may pass it.
				if reverted == 0 || reverted*lost > budget+lost*(row.Reverts-1) {
					t.Errorf("%d settlements reverted, which cost %d of %d", reverted, reverted*lost, budget)
				}
				for _, p := range tilltest.Purchases(t, m.db) {
					if n := len(tilltest.SettlementOf(t, m.db, p).Reverts); n > row.Reverts {
						t.Errorf("%d settlements of one authorization reverted, want %d at most", n, row.Reverts)
					}
				}
				want := map[bool]int{true: 429, false: 200}[row.Day == railtest.MostLostPlain]
				if r := pay(hello, "stranger", nil); r.Status != want {
					t.Errorf("a stranger when the budget is spent = %d %s, want %d", r.Status, r.Raw, want)
				}
				if r := pay(hello, "code:stranger", nil); r.Status != 429 {
					t.Errorf("a stranger with code when the budget is spent = %d %s", r.Status, r.Raw)
				}
				if r := pay(hello, "friend", nil); r.Status != 200 {
					t.Errorf("one who has bought here = %d %s", r.Status, r.Raw)
				}
				m.stop() // not to follow the chain through the night
				time.Sleep(time.Until(time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)))
				sealed()
				m.start(site)
				if r := pay(hello, "stranger", nil); r.Status != 200 {
					t.Errorf("a stranger on the next day = %d %s", r.Status, r.Raw)
				}
				for _, p := range tilltest.Purchases(t, m.db) {
					if p.State == till.Delivered && p.Payment.Payer != "friend" && p.Payment.Payer != "stranger" {
						t.Errorf("%s was delivered to %s", p.ID, p.Payment.Payer)
					}
				}
			})
		})
	}
}

// sealed seals a block.
func (m *model) sealed() {
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	m.chain.seal(false)
}

const hello = "/api/buy/hello"

// pay presents a payment, lets the payer act when its settlement is in the pool, and seals until
// there is an answer.
func (m *model) pay(path, payer string, does func(*fakeChain, fakePayload)) tilltest.Reply {
	r, _ := m.do(path, nil)
	if r.Status != 402 {
		return r
	}
	valid := 10 * time.Minute
	if path == secret {
		valid = 2 * time.Minute
	}
	s := m.signed(path, payer, rand.Text(), tilltest.DecodeChallenge(m.t, r.Header.Get("PAYMENT-REQUIRED")), valid)
	done := make(chan tilltest.Reply, 1)
	go func() {
		r, _ := m.do(s.path, map[string]string{"PAYMENT-SIGNATURE": s.header})
		done <- r
	}()
	synctest.Wait()
	if does != nil {
		m.chain.mu.Lock()
		does(m.chain, s.payload)
		m.chain.mu.Unlock()
	}
	for range 10 {
		m.sealed()
		time.Sleep(3 * time.Second)
		select {
		case r := <-done:
			return r
		default:
		}
	}
	return <-done
}

// Three plain payers whose settlements revert alike, though nothing shows why, take the network out
// and ban nobody. It is tried again by itself, and a payment that settles then ends the matter.
func TestThreeRevertsAlikeTakeTheNetworkOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site, err := content.Load(content.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		m := &model{t: t, chain: newFakeChain(), db: ledger.NewMem(ledger.MemOptions{Calm: true})}
		m.calm.Store(true)
		m.start(site)
		defer func() { m.stop() }()
		for i := range 3 {
			if r := m.pay(hello, fmt.Sprint("honest-", i), traps); r.Status != 402 || r.Str("billed") != "no" {
				t.Errorf("payment %d = %d %s", i, r.Status, r.Raw)
			}
		}
		reverted := len(m.chain.reverted)
		if reverted > 6 {
			t.Errorf("%d settlements reverted, want two of each at most", reverted)
		}
		time.Sleep(6 * time.Second)
		m.sealed()
		r, _ := m.do("/api/buy/hello", nil)
		left, _ := r.Body["left_out"].([]any)
		if r.Status != 503 || len(left) != 1 || !strings.Contains(string(r.Raw), "in the same way") {
			t.Fatalf("terms = %d %s", r.Status, r.Raw)
		}
		for range 17 { // more than five minutes
			time.Sleep(20 * time.Second)
			m.sealed()
		}
		clear(m.chain.traps)
		for i := range 3 {
			if r := m.pay(hello, fmt.Sprint("honest-", i), nil); r.Status != 200 {
				t.Errorf("payer %d afterwards = %d %s", i, r.Status, r.Raw)
			}
		}
	})
}

// fickle is a rail whose payers cancel between the claim of a payment and its first draft.
type fickle struct {
	rail.Rail
	chain *fakeChain
}

func (r fickle) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if p := ps[0]; strings.HasPrefix(p.Payer, "fickle") {
		r.chain.mu.Lock()
		paid := payloadOf(p)
		r.chain.pool = append(r.chain.pool, &fakeTx{Cancels: &paid, Salt: "the payer"})
		r.chain.seal(false)
		r.chain.mu.Unlock()
	}
	return r.Rail.Draft(ctx, ps)
}

// A payer who cancels after the goods were made and before anything was sent is shown to have done
// so: nothing is made ahead for it after three (M5).
func TestCancelledBeforeTheDraft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := bubble(t, nil, func(r rail.Rail) rail.Rail { return fickle{r, r.(fakeRail).c} })
		defer func() { m.stop() }()
		for i := range 4 {
			want := "402 payment_invalid"
			if i == 3 {
				want = "429 payment_refused_for_now"
			}
			r := <-m.begin(m.offered("/api/buy/hello", "fickle", fmt.Sprint("cancelled ", i), 0))
			if got := fmt.Sprint(r.Status, " ", r.Code()); got != want || r.Str("billed") != "no" {
				t.Errorf("payment %d of one who cancels is answered %s %s, want %s", i+1, got, r.Raw, want)
			}
		}
	})
}
