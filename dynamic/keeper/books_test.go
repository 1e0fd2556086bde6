package keeper

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// The month that these tests compare, and a time in it.
var (
	noon  = time.Date(began.Year(), began.Month()+2, 15, 12, 0, 0, 0, time.UTC)
	month = noon.Format("2006-01")
)

// swept says that everything that arrived was read.
func (w *world) swept() {
	w.set(ledger.BudgetKey("uncredited", "swept", base, payTo), till.Swept{Block: 1 << 39, Since: began, At: began})
}

func (w *world) books() Books {
	w.t.Helper()
	b, err := w.desk.Books(context.Background(), month)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, l := range b.Lines {
		if l.Chain != l.Ledger+l.Explained+l.Difference || l.Difference != 0 && len(l.Kinds) == 0 {
			w.t.Errorf("a line that is not explained: %+v", l)
		}
		for _, k := range l.Kinds {
			if Kinds[k] == "" {
				w.t.Errorf("nobody knows what %s is", k)
			}
		}
	}
	return b
}

func (b Books) kinds() (all []Kind) {
	for _, l := range b.Lines {
		all = append(all, l.Kinds...)
	}
	for _, n := range b.Networks {
		if n.Channels != nil {
			all = append(all, n.Channels.Kinds...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// last is the newest transfer on the chain.
func (w *world) last() *rail.Transfer { return &w.net.transfers[len(w.net.transfers)-1] }

// unpaid takes the newest transfer off the chain.
func (w *world) unpaid() { w.net.transfers = w.net.transfers[:len(w.net.transfers)-1] }

func (w *world) forget(key []byte) {
	w.t.Helper()
	w.write(func(tx ledger.Tx) error { return tx.Delete(key) })
}

func (w *world) creditKey(p *till.Purchase) []byte {
	return ledger.CreditKey(base, p.Proof.Tx, p.Proof.LogIndex)
}

// stranger puts a transfer on the chain that no purchase knows.
func (w *world) stranger(amount int64, nonce string) {
	w.n++
	w.net.transfers = append(w.net.transfers, rail.Transfer{Network: base, Tx: fmt.Sprintf("0x%064x", 7*w.n),
		LogIndex: uint64(w.n), Block: uint64(noon.Sub(began).Seconds()), Time: noon, Payer: ada,
		Amount: big.NewInt(amount), Nonce: nonce, Method: "eip3009"})
}

// plants are differences: each makes the ledger say something else than the chain, in a way that
// only its own kind tells.
var plants = map[Kind]func(w *world, p *till.Purchase){
	"not_on_chain": func(w *world, _ *till.Purchase) { w.unpaid() },
	"moved": func(w *world, _ *till.Purchase) {
		w.last().LogIndex += 100_000
	},
	"amount":        func(w *world, _ *till.Purchase) { w.last().Amount = big.NewInt(499_999) },
	"payer":         func(w *world, _ *till.Purchase) { w.last().Payer = "0x00000000000000000000000000000000000000ee" },
	"authorization": func(w *world, _ *till.Purchase) { w.last().Nonce = "0xother" },
	"time":          func(w *world, _ *till.Purchase) { w.last().Time = w.last().Time.Add(time.Second) },
	"block":         func(w *world, _ *till.Purchase) { w.last().Block++ },
	"given_up":      func(w *world, p *till.Purchase) { p.State, p.CertID = till.NotSettled, ""; w.save(p) },
	"reversed":      func(w *world, p *till.Purchase) { p.State, p.CertID = till.Reversed, ""; w.save(p) },
	"not_owed":      func(w *world, _ *till.Purchase) { w.stranger(500_000, "0xstrange") },
	"credit_missing": func(w *world, p *till.Purchase) {
		w.forget(w.creditKey(p))
	},
	"credited_twice": func(w *world, p *till.Purchase) {
		twin := *p
		twin.ID, twin.CertID, twin.Payment.Nonce = w.id("pur_"), "", "0xtwin"
		w.save(&twin)
		w.set(w.creditKey(p), map[string]string{"purchase": p.ID})
	},
	"credit_of_nothing": func(w *world, p *till.Purchase) {
		w.stranger(500_000, "0xstrange")
		w.set(ledger.CreditKey(base, w.last().Tx, w.last().LogIndex), map[string]string{"purchase": w.id("pur_")})
	},
	"claim_missing": func(w *world, p *till.Purchase) { w.forget(till.AuthKey(&p.Payment)) },
	"claim_other": func(w *world, p *till.Purchase) {
		w.set(till.AuthKey(&p.Payment), till.Claim{Purchase: "pur_other"})
	},
	"no_proof": func(w *world, p *till.Purchase) {
		w.unpaid()
		w.forget(w.creditKey(p))
		p.Proof, p.CertID = nil, ""
		w.save(p)
	},
	"certificate_missing": func(w *world, p *till.Purchase) { w.forget(ledger.CertKey(p.CertID)) },
	"certificate_differs": func(w *world, p *till.Purchase) {
		w.set(ledger.CertKey(p.CertID), till.CertRecord{Purchase: p.ID,
			Certificate: attest.Certificate{CertID: p.CertID,
				PaidUSDC: "0.6", Payer: ada, SettlementTx: p.Proof.Tx, PatronNumber: p.Number}})
	},
	"number_differs": func(w *world, p *till.Purchase) {
		w.write(func(tx ledger.Tx) error { return tx.Set(ledger.PatronKey(p.Number), []byte("cert_other")) })
	},
	"debt_missing": func(w *world, p *till.Purchase) { p.State, p.CertID = till.RefundOwed, ""; w.save(p) },
	"debt_of_nothing": func(w *world, _ *till.Purchase) {
		w.stranger(500_000, "0xstrange")
		w.write(func(tx ledger.Tx) error {
			return tx.Set(ledger.BudgetKey("uncredited", "owed", base, ledger.Number(w.last().Block), w.last().Tx,
				ledger.Number(w.last().LogIndex)), []byte("pur_gone"))
		})
	},
	"small_differs": func(w *world, _ *till.Purchase) { w.stranger(3, "0xtiny") },
	"tip":           func(w *world, p *till.Purchase) { p.Tip = p.Amount + 1; w.save(p) },
	"channel_differs": func(w *world, _ *till.Purchase) {
		w.forget(ledger.PurchaseKey(w.voucher(7, 500_000, false).ID))
	},
	"channel_lost": func(w *world, _ *till.Purchase) {
		p := w.voucher(7, 500_000, true)
		w.write(func(tx ledger.Tx) error {
			s := rail.ChannelState{ID: p.Spent.Channel.ID, Block: 2, Balance: 500_006}
			return channels.Observe(tx, base, s, false)
		})
	},
	"claimed_unknown": func(w *world, _ *till.Purchase) { w.net.claimed++ },
	"not_configured": func(w *world, p *till.Purchase) {
		away := *p
		away.ID, away.CertID, away.Payment.Network = w.id("pur_"), "", "eip155:1"
		w.save(&away)
	},
}

// Each of more than twenty planted differences is named, and by nothing but its name; and in books
// with all of them at once none hides another.
func TestPlantedDifferencesAreNamed(t *testing.T) {
	t.Parallel()
	if len(plants) < 20 {
		t.Fatalf("%d differences", len(plants))
	}
	all := newWorld(t)
	all.swept()
	for kind, plant := range plants {
		w := newWorld(t)
		w.swept()
		w.sold("hello", till.Delivered, 500_000, noon.Add(-time.Hour))
		p := w.sold("hello", till.Delivered, 500_000, noon)
		if got := w.books(); got.Differences != 0 || len(got.Lines) != 2 || got.Networks[0].Total.Chain != 1_000_000 {
			t.Fatalf("before: %+v", got)
		}
		plant(w, p)
		got := w.books().kinds()
		if alone := []Kind{kind}; !slices.Equal(got, alone) && !(slices.Contains(got, kind) && len(got) == 2 &&
			slices.Contains([]Kind{"credit_other", "certificate_differs"}, got[0])) {
			t.Errorf("%s is told as %v", kind, got)
		}
		plant(all, all.sold("hello", till.Delivered, 500_000, noon))
	}
	got := all.books().kinds()
	for kind := range maps.Keys(plants) {
		if !slices.Contains(got, kind) {
			t.Errorf("among others %s is not told", kind)
		}
	}
}

// What was found waits for the keeper until the month is compared without it; what cannot be read
// clears nothing.
func TestDifferencesWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.swept()
	p := w.sold("hello", till.Delivered, 500_000, noon)
	waits := func(when string, want int) {
		t.Helper()
		n := w.books().Differences
		found := 0
		for _, e := range w.waits("findings").Entries {
			if e.ID == "differences:"+month && e.Times == n {
				found++
			}
		}
		if found != want {
			t.Errorf("%s: %d of %d differences wait", when, found, n)
		}
	}
	waits("before", 0)
	p.Amount++
	w.save(p)
	waits("planted", 1)
	p.Amount--
	w.save(p)
	w.net.fails = errAway
	if w.books(); len(w.waits("findings").Entries) != 1 {
		t.Error("a node that is away clears what was found")
	}
	w.net.fails = nil
	waits("mended", 0)
}

// What is no difference: gifts, small change, what waits, what was before, and what is owed.
func TestWhatIsExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.swept()
	w.stranger(123_456, "") // a gift
	w.voucher(1000, 500_000, true)
	w.voucher(0, 20_001, false)
	w.stranger(300_000, "")
	w.last().Payer = escrow // which moves what was claimed
	w.stranger(3, "0xtiny")
	w.set(ledger.BudgetKey("uncredited", "small", base, noon.Format(time.DateOnly)), till.Small{Transfers: 1,
		Amount: 3})
	w.sold("", till.Uncredited, 500_000, noon)
	w.stranger(600_000, "0xunread")
	w.last().Block = 1<<39 + 1
	late := w.sold("hello", till.Promised, 700_000, noon)
	late.Final, late.Proof.Block = false, 1<<40+1
	w.save(late)
	w.unpaid() // not final yet
	b := w.books()
	sums := map[string]int64{}
	for _, s := range b.Networks[0].Sums {
		sums[s.Name] = s.Chain
	}
	if b.Differences != 0 || sums["gift"] != 123_456 || sums["small"] != 3 || sums["owed"] != 500_000 ||
		sums["waiting"] != 600_000 || sums["moved"] != 300_000 || sums["voucher"] != 0 ||
		b.Networks[0].Total.Difference != 0 {
		t.Errorf("%v: %+v", b.kinds(), b)
	}
	if c := b.Networks[0].Channels; c.Sold != 520_001 || c.Believed != 1000 || c.Unclaimed != 521_001 || c.Lost != 0 ||
		c.Channels != 2 {
		t.Errorf("the channels: %+v", c)
	}
	w.net.fails = errAway
	if b := w.books(); !strings.Contains(b.Networks[0].Error, errAway.Error()) {
		t.Errorf("with the node away: %+v", b)
	}
	for _, bad := range []string{"", "2026", "2026-13", "2026-1", "../2026-11"} {
		if _, err := w.desk.Books(t.Context(), bad); err != ErrMonth {
			t.Errorf("the month %q: %v", bad, err)
		}
	}
}

// Ten thousand mixed purchases with faults at random come out to the atomic unit: what the chain
// has is what the ledger has, what is explained, and the differences that were planted.
func TestSoakBooks(t *testing.T) {
	t.Parallel()
	n := 1000
	if os.Getenv("STORE_SOAK") != "" {
		n = 10_000
	}
	w := newWorld(t)
	w.swept()
	dice := rand.New(rand.NewPCG(14, 4))
	kinds := slices.Sorted(maps.Keys(plants))
	planted := map[Kind]bool{}
	states := []till.State{till.Delivered, till.Delivered, till.Delivered, till.Promised, till.Uncredited,
		till.FromChain}
	for range n {
		p := w.sold("hello", states[dice.IntN(len(states))], 1+dice.Int64N(50_000_000)+10_000, noon.Add(
			time.Duration(dice.IntN(86_400*10))*time.Second))
		if dice.IntN(50) == 0 && p.State == till.Delivered {
			k := kinds[dice.IntN(len(kinds))]
			if slices.Contains([]Kind{"time", "small_differs"}, k) {
				continue // of the total of a day there is one line
			}
			planted[k] = true
			plants[k](w, p)
		}
	}
	b := w.books()
	chain := int64(0)
	for _, tr := range w.net.transfers {
		chain += tr.Amount.Int64()
	}
	var lines, differences int64
	for _, l := range b.Lines {
		if lines += l.Chain; len(l.Kinds) > 0 {
			differences += l.Difference
		}
	}
	total := b.Networks[0].Total
	if total.Chain != chain || total.Chain != total.Ledger+total.Explained+total.Difference || lines != chain {
		t.Errorf("the chain has %d, the books %+v", chain, total)
	}
	got := b.kinds()
	for k := range planted {
		if !slices.Contains(got, k) {
			t.Errorf("%s is not told: %v", k, got)
		}
	}
	if len(planted) < 5 || len(b.Lines) < n {
		t.Errorf("%d kinds planted, %d lines", len(planted), len(b.Lines))
	}
}

// A table opens in a spreadsheet as text and numbers, whatever a stranger wrote.
func TestNoCellIsAFormula(t *testing.T) {
	t.Parallel()
	evil := []string{"=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1", `=cmd|' /C calc'!A0`, `a,"b`, "-5", "–5"}
	var b Books
	for _, s := range evil {
		b.Lines = append(b.Lines, Line{Network: s, Tx: s, State: s, Says: []string{s}, Difference: -5})
	}
	var out bytes.Buffer
	if err := b.CSV(&out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != len(evil)+1 {
		t.Fatal(len(rows), err)
	}
	for _, row := range rows[1:] {
		for _, c := range row {
			if c != "" && strings.ContainsRune("=+-@\t\r\n", rune(c[0])) && c != "-5" {
				t.Errorf("a cell begins %q", c)
			}
		}
	}
}
