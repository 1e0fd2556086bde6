package onchaintest_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// solanaKillSteps are the steps of a purchase on Solana after which a process is killed. Nothing is
// signed anew there, and nothing fills a number.
var solanaKillSteps = []string{"claimed", "settling", "sent", "settled", "delivered", "unknown", "not_settled"}

func newSolanaVictims(t testing.TB, buyers int) *victims {
	return &victims{t: t, kills: map[string]int{}, ledger: filepath.Join(t.TempDir(), "ledger.bolt"),
		solana: newSolanaNet(t, slot, buyers)}
}

// killOnSolana runs one child until it dies after a step, with whatever brings that step about.
func (v *victims) killOnSolana(step string, nth, buyers int) {
	v.t.Helper()
	n := v.solana
	c := childConfig{Step: step, Nth: nth}
	lost := step == "unknown" || step == "not_settled" // what is broadcast gets nowhere
	if lost {
		c.SettleWait, c.Nth, buyers = 500*time.Millisecond, 1, 1
	}
	k := v.start(c)
	if lost {
		v.rested(k) // what was left behind must not be taken for what is to come
		n.Do(nil, "dev_dropNext", 1_000_000)
		defer n.Do(nil, "dev_dropNext", 0)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := 0; i < buyers || i < 2*buyers && !lost && !k.dead(); i++ {
		if i >= buyers { // who is refused is followed by another
			wg.Wait()
		}
		v.buys(k, &wg)
	}
	if step == "not_settled" {
		wg.Wait() // until the buyer was told that it is not known
		payer := n.buyers[v.buyer%len(n.buyers)]
		has := n.balance(payer)
		n.give(payer, 0) // who spends the money elsewhere
		defer n.give(payer, has)
		n.Do(nil, "dev_dropNext", 0)
	}
	v.killed(k, step)
}

// A process that sells on Solana is killed at every step, and each buyer gets what was paid for, or
// keeps the money.
func TestKillsOnSolana(t *testing.T) {
	t.Parallel()
	v := newSolanaVictims(t, 40)
	v.run(1, solanaKillSteps, v.killOnSolana)
}

func TestSoakKillsOnSolana(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("200 kills take minutes; set STORE_SOAK=1")
	}
	v := newSolanaVictims(t, 300)
	v.run(28, solanaKillSteps, v.killOnSolana)
}
