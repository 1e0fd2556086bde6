package railtest

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// MostGas is what one settlement may take at most (package till, M15).
const MostGas = 300_000

// MostDeploying is the same of one that deploys the payer's wallet.
const MostDeploying = 600_000

// MostLost is what the store loses to reverts of payers with code on one network a day, and
// MostLostPlain to those of all payers, atomic units. Of plain payers, whose reverts are known when
// they are made, what was under way when the first budget was reached comes on top.
const (
	MostLost      = 1_000_000
	MostLostPlain = 4 * MostLost
)

// What payers of channels can cost on one network a day (M17), atomic units: gas for channels that
// buy nothing, and what is sold before their money is beyond doubt.
const (
	MostFunding = 1_000_000
	MostDoubted = 50_000_000
)

// What payments cost that are refused, or that come again.
const (
	MostChecked  = 600     // refused in a minute by a process
	MostAtOnce   = 4       // then, of one client
	MostRead     = 300_000 // gas of a node, for one signature that a contract reads
	MostAnswered = 40      // of one purchase
)

// HostilePayer is a kind of payer that means to make the store lose gas, or to keep its stock from
// others, with what it can make it lose at most. The conformance test of rails shows what a rail
// can show of it, the till's tests the rest, and the till's package comment has a line of each.
type HostilePayer struct {
	Name  string
	Does  string
	Payer Payer
	// Reverts is how many settlements of one authorization revert at most, and Gas what they burn
	// together.
	Reverts int
	Gas     uint64
	// Measured is what they burn on a local chain, rounded up.
	Measured uint64
	// Open is how many of its authorizations may be under way at once, whatever it presents: of one
	// wallet, or of all wallets where Does speaks of several.
	Open int
	// Holds is for how long each of them keeps a unit of a counted good from others; 0: none is
	// asked for.
	Holds time.Duration
	// Day is what it makes the store lose in a day on one network, atomic units.
	Day int64
	// Checks is how many payments of it are checked and refused in a minute, by a process and
	// whatever it is called, before AtOnce of each client are at a time; 0: they are not many.
	Checks, AtOnce int
	// Call is what a node spends on its code for each of them, in gas that nobody pays.
	Call uint64
	// Rows is how many records it leaves for one purchase that it pays for.
	Rows int

	needs Trait
	shows func(*suite, HostilePayer)
}

// Hostile are the hostile payers.
var Hostile = []HostilePayer{
	{Name: "accepts then reverts", Does: "code that accepts while simulated, then reverts", Payer: Turncoat,
		Reverts: 1, Gas: MostGas, Measured: 43_000, Open: 8, Day: MostLost, shows: reverts(nil)},
	{Name: "burns", Does: "the same, and burns all it is given", Payer: Burner,
		Reverts: 1, Gas: MostGas, Measured: 118_600, Open: 8, Day: MostLost, shows: reverts(nil)},
	{Name: "burns in the estimate", Does: "an estimate made to burn", Payer: Glutton,
		shows: refusedUnclaimed},
	{Name: "looks at the block number", Does: "code that looks at the block number", Payer: Weathercock,
		Reverts: 1, Gas: MostGas, Measured: 45_100, Open: 8, Day: MostLost, shows: reverts(nil)},
	{Name: "flips", Does: "code that flips when it sees the settlement", Payer: Switch,
		Reverts: 1, Gas: MostGas, Measured: 45_100, Open: 8, Day: MostLost, shows: reverts(turn)},
	{Name: "shares its code", Does: "one code for any number of wallets", Payer: Twin,
		Reverts: 1, Gas: MostGas, Measured: 43_000, Open: 24, Day: MostLost, shows: sharesCode},
	{Name: "is deployed and reverts", Does: "a wallet that its payment deploys, then reverts", Payer: Unbuilt,
		Reverts: 1, Gas: MostDeploying, Measured: 111_000, Open: 8, Day: MostLost, shows: reverts(nil)},
	{Name: "drains its deployment", Does: "the same, and its creation burns all it is given", Payer: UnbuiltDrain,
		Reverts: 1, Gas: MostDeploying, Measured: MostDeploying, Open: 8, Day: MostLost, shows: reverts(nil)},
	{Name: "cancels", Does: "a plain wallet that cancels", Payer: Plain,
		Reverts: 2, Gas: 2 * MostGas, Measured: 39_600, Open: 8, Day: MostLostPlain, needs: Cancelled,
		shows: reverts(withdraw)},
	{Name: "spends elsewhere", Does: "a plain wallet that spends the money elsewhere", Payer: Poor,
		Reverts: 2, Gas: 2 * MostGas, Measured: 140_000, Open: 8, Day: MostLostPlain, shows: reverts(spend)},
	{Name: "withholds", Does: "a plain wallet that moves account or allowance", Payer: Plain,
		Reverts: 1, Gas: MostGas, Measured: 60_000, Open: 8, Day: MostLostPlain, shows: withholds},
	{Name: "holds stock", Does: "a plain wallet that holds a counted good", Payer: Poor,
		Reverts: 1, Gas: MostGas, Measured: 70_000, Open: 1, Holds: 2 * time.Minute, Day: MostLostPlain,
		shows: reverts(spend)},
	{Name: "holds stock with code", Does: "code that holds a counted good", Payer: Turncoat,
		Reverts: 1, Gas: MostGas, Measured: 43_000, Open: 1, Holds: 2 * time.Minute, Day: MostLost,
		shows: reverts(nil)},
	{Name: "floods", Does: "a plain wallet with money for one of hundreds", Payer: Poor,
		Open: 1, shows: flood},
	{Name: "burns among others", Does: "one of three with code by the block, burns", Payer: BurnerLater,
		Reverts: 1, Gas: 3 * MostGas, Measured: 226_000, Open: 8, Day: MostLost, shows: amongOthers},
	{Name: "changes among others", Does: "the same, and would accept alone", Payer: FickleLater,
		Reverts: 1, Gas: 3 * MostGas, Measured: 56_000, Open: 8, Day: MostLost, shows: amongOthers},
	{Name: "re-enters among others", Does: "the same, and calls the token back", Payer: ReentererLater,
		Reverts: 1, Gas: 3 * MostGas, Measured: 226_000, Open: 8, Day: MostLost, shows: amongOthers},
	// Payers of channels: TestDepositIsCancelled of the rail, TestSteps of package channels and
	// TestRounds of its manager.
	{Name: "cancels its deposit", Does: "a deposit into a channel that is cancelled", Payer: Plain,
		Reverts: 2, Gas: 2 * MostGas, Measured: 160_000, Open: 8, Day: MostLostPlain},
	{Name: "funds and takes back", Does: "channels that are funded, and buy nothing", Payer: Plain, Day: MostFunding},
	{Name: "unmakes its deposit", Does: "a deposit that a reorganisation takes", Payer: Plain, Day: MostDoubted},
	{Name: "denies its voucher", Does: "a contract that denies what it signed", Payer: Turncoat, Day: MostDoubted},
	{Name: "withdraws what it spent", Does: "who buys out of a channel and withdraws", Payer: Plain},
	// Of these a test on a chain shows what they cost: not every rail holds payments.
	{Name: "cancels a hold", Does: "a plain wallet that cancels what is to be held", Payer: Plain,
		Reverts: 1, Gas: MostGas, Measured: 94_000, Open: 1, Day: MostLostPlain},
	{Name: "burns a hold", Does: "code that burns what is to be held", Payer: Burner,
		Reverts: 1, Gas: MostGas, Measured: 216_000, Open: 1, Day: MostLost},
	// Of these the rail has nothing to show: nothing of them is claimed, or settled.
	{Name: "signs for others", Does: "anybody, with signatures that are not its own", Payer: Plain,
		Checks: MostChecked, AtOnce: MostAtOnce},
	{Name: "burns in its signature", Does: "code that burns when its signature is read", Payer: Burner,
		Checks: MostChecked, AtOnce: MostAtOnce, Call: MostRead},
	{Name: "repeats", Does: "who bought once, with fresh payments of its key", Payer: Poor, Rows: MostAnswered},
}

// HostileNamed returns the row of Hostile with a name, which there must be.
func HostileNamed(name string) HostilePayer {
	for _, h := range Hostile {
		if h.Name == name {
			return h
		}
	}
	panic("railtest: no hostile payer is named " + name)
}

// Table is the table of the till's package comment, a line each: what a day costs of each payer,
// and of all together, by whom so much may be lost on one network.
func Table(all int64) []string {
	lines := []string{line("payer", "reverts", "gas", "open", "a day")}
	for _, h := range Hostile {
		lines = append(lines, h.String())
	}
	return append(lines, line("all of these together, on one network", "", "", "", usdc(all)))
}

func line(does, reverts, gas, open, day string) string {
	return fmt.Sprintf("%-49s%-9s%-19s%-6s%s", does, reverts, gas, open, day)
}

// String is the payer's line of Table.
func (h HostilePayer) String() string {
	var day []string
	if h.Day > 0 {
		day = append(day, usdc(h.Day))
	}
	if h.Holds > 0 {
		day = append(day, fmt.Sprintf("a unit %.0f s", h.Holds.Seconds()))
	}
	switch {
	case h.Call > 0:
		day = append(day, fmt.Sprintf("the same, of %s gas", thousands(h.Call)))
	case h.Checks > 0:
		day = append(day, fmt.Sprintf("%d checks/min, then %d", h.Checks, h.AtOnce))
	}
	if h.Rows > 0 {
		day = append(day, fmt.Sprintf("%d rows a purchase", h.Rows))
	}
	if len(day) == 0 {
		day = append(day, "nothing")
	}
	return line(h.Does, strconv.Itoa(h.Reverts), thousands(h.Gas)+" ("+thousands(h.Measured)+")", strconv.Itoa(h.Open),
		strings.Join(day, ", "))
}

func usdc(atomic int64) string {
	return strconv.FormatFloat(float64(atomic)/1e6, 'f', -1, 64) + " USDC"
}

func thousands(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// hostile shows of each hostile payer what it can make a rail burn, how much of what it signed is
// mined, and that a rail tells the reverts, their cost and whose doing they are.
func hostile(s *suite) {
	for _, h := range Hostile {
		t := s.terms(price)
		t.Payer = h.Payer
		if h.shows != nil && s.has(h.needs) && s.h.Sign(t) != nil {
			h.shows(s, h)
		}
	}
}

// What a payer does once its settlement is signed.
func turn(s *suite, h HostilePayer, _ *sale)     { s.h.Turn(h.Payer) }
func withdraw(s *suite, _ HostilePayer, x *sale) { s.h.Cancel(x.payload) }
func spend(s *suite, _ HostilePayer, _ *sale)    { s.h.Fund(0) }

// withholds shows a payer that takes away what its payment draws on once its settlement is signed.
func withholds(s *suite, h HostilePayer) {
	w, ok := s.h.(Withholder)
	if !ok {
		return
	}
	restore := func() {}
	defer func() { restore() }()
	reverts(func(_ *suite, _ HostilePayer, x *sale) { restore = w.Withhold(x.payload) })(s, h)
}

// reverts shows a payer that acts when its settlement is signed, or has code that needs no more.
func reverts(acts func(*suite, HostilePayer, *sale)) func(*suite, HostilePayer) {
	return func(s *suite, h HostilePayer) {
		had := s.h.Balance()
		t, want := s.terms(price), s.r.Requirement(price)
		t.Payer = h.Payer
		if h.Holds > 0 {
			t.Before, want = s.now().Add(h.Holds), want.Within(h.Holds)
		}
		x := s.sign(t)
		n, gas := 0, uint64(0)
		for ; n < h.Reverts; n++ {
			if h.Payer == Poor {
				s.h.Fund(price)
			}
			if n == 0 {
				if h.Payer == Weathercock {
					s.h.Turn(h.Payer)
				}
				seen, err := s.r.Verify(s.Context(), x.p, want, s.now())
				if _, ok := errors.AsType[*rail.Refusal](err); ok && h.Payer == Weathercock {
					s.Logf("%s: refused before anything is claimed: %v", h.Name, err) // nodes differ in what they show
					return
				}
				if coded := h.Payer >= Turncoat; err != nil || (seen.Code != "") != coded || seen.Local != coded {
					s.Fatalf("%s: Verify = %+v, %v; want code %v", h.Name, seen, err, coded)
				}
				x.seen = seen
			}
			d, err := s.r.Draft(s.Context(), []*rail.Payment{x.p})
			if _, ok := errors.AsType[*rail.Refusal](err); ok && n > 0 {
				break // it is found out
			}
			if err != nil {
				s.Fatalf("%s: Draft: %v", h.Name, err)
			}
			if p := d.Price(); p.Gas > h.Gas/uint64(h.Reverts) || p.Most < p.Cost || p.Cost <= 0 ||
				p.Code != x.seen.Code {
				s.Errorf("%s: the draft's price is %+v, want at most %d gas", h.Name, p, h.Gas/uint64(h.Reverts))
			}
			s.fix(x, d)
			if acts != nil {
				acts(s, h, x)
			}
			s.send(x)
			s.h.Seal()
			gas += s.reverted(x, n, h.Gas/uint64(h.Reverts)).Gas
		}
		measured := h.Measured
		if w, ok := s.h.(Worded); ok {
			measured += uint64(n) * w.More()
		}
		if gas > measured || gas > h.Gas {
			s.Errorf("%s: %d settlements burn %d gas, stated are %d measured and %d at most", h.Name, n, gas,
				measured, h.Gas)
		}
		s.Logf("%s: reverts of one authorization: %d, %d gas", h.Name, n, gas)
		// It draws nothing once its time is over, whoever has the money then.
		s.pass(t.Before.Sub(s.now()))
		if h.Payer == Poor {
			s.h.Fund(price)
		}
		s.expect(x, rail.Dead)
		if _, err := s.r.Draft(s.Context(), []*rail.Payment{x.p}); err == nil {
			s.Errorf("%s: another settlement is drafted when the authorization is over", h.Name)
		}
		s.earned(had)
	}
}

// reverted demands that the newest settlement of a payment has reverted, by its payer's doing,
// after some others, and burnt no more than so much.
func (s *suite) reverted(x *sale, others int, most uint64) rail.Revert {
	s.Helper()
	f := s.until(x, "a revert", func(f rail.Finding) bool { return len(f.Reverts) > others })
	r := f.Reverts[others]
	if len(f.Reverts) != others+1 || r.Tx != x.signed[others].ID || r.Gas == 0 || r.Gas > most || r.Cost <= 0 {
		s.Errorf("Status = %+v, want one revert more of at most %d gas", f, most)
	}
	payers := f.Payer
	if f.State == rail.Waiting {
		c, err := s.r.Explain(s.Context(), x.p, r)
		if err != nil {
			s.Fatalf("Explain: %v", err)
		}
		payers = c.Payer
	}
	if !payers {
		s.Errorf("the revert %+v is not shown to be the payer's doing", r)
	}
	return r
}

// refusedUnclaimed shows a payer that is refused before anything is claimed.
func refusedUnclaimed(s *suite, h HostilePayer) {
	t := s.terms(price)
	t.Payer = h.Payer
	x := s.sign(t)
	_, err := s.r.Verify(s.Context(), x.p, s.r.Requirement(price), s.now())
	if _, ok := errors.AsType[*rail.Refusal](err); !ok {
		s.Errorf("%s: Verify = %v, want a refusal", h.Name, err)
	}
}

// sharesCode shows that wallets which share their code can be told by it.
func sharesCode(s *suite, h HostilePayer) {
	t := s.terms(price)
	t.Payer = Turncoat
	one := s.claim(t)
	t.Payer = h.Payer
	two := s.claim(t)
	if one.p.Payer == two.p.Payer || one.seen.Code != two.seen.Code {
		s.Errorf("%s: %s has the code %s, %s has %s", h.Name, one.p.Payer, one.seen.Code, two.p.Payer, two.seen.Code)
	}
	reverts(nil)(s, h)
}

// flood shows a payer with money for one payment that signs a hundred, each of which is good by
// itself: its funds say how many may be sent. Of these nothing reverts, and of the others nothing
// is drafted once they are mined.
func flood(s *suite, h HostilePayer) {
	const signed = 100
	s.h.Fund(price)
	had := s.h.Balance()
	var xs []*sale
	var nonces []string
	for range signed {
		t := s.terms(price)
		t.Payer = h.Payer
		x := s.claim(t)
		xs, nonces = append(xs, x), append(nonces, x.p.Nonce)
	}
	f, err := s.r.Funds(s.Context(), xs[0].p.Payer, nonces)
	if err != nil {
		s.Fatalf("%s: Funds: %v", h.Name, err)
	}
	if n := new(big.Int).Div(f.Balance, big.NewInt(price)).Int64(); n != int64(h.Open) {
		s.Fatalf("%s: its funds cover %d payments, want %d", h.Name, n, h.Open)
	}
	sent, beyond := xs[:h.Open], xs[h.Open]
	for _, x := range sent {
		s.settle(x)
	}
	s.settle(beyond) // shows what the limit saves
	s.h.Seal()
	for _, x := range sent {
		if f := s.expect(x, rail.Paid); len(f.Reverts) > h.Reverts {
			s.Errorf("%s: %d settlements reverted of what its funds cover", h.Name, len(f.Reverts))
		}
	}
	saved := s.reverted(beyond, 0, MostGas).Gas
	for _, x := range xs[h.Open+1:] {
		s.refused(x, reason(s, "insufficient_balance"))
		_, err := s.r.Draft(s.Context(), []*rail.Payment{x.p})
		if ref, ok := errors.AsType[*rail.Refusal](err); !ok || !ref.Payer {
			s.Fatalf("%s: Draft without money = %v, want a refusal that is the payer's doing", h.Name, err)
		}
	}
	s.Logf("%s: %d of %d are mined; each that is sent beyond burns %d gas", h.Name, len(sent), signed, saved)
	s.earned(had + int64(len(sent))*price)
}

// amongOthers shows a payer who has code when the transaction is in a block that it shares with two
// others. Those are paid by it, or cleared of its revert and paid alone. What it makes of the gas
// of all, beyond what they would have taken, is lost once: as it has code, it goes alone from then
// on, and not a second time (settle.GasGuard).
func amongOthers(s *suite, h HostilePayer) {
	if s.several() == nil {
		return
	}
	had := s.h.Balance()
	var xs []*sale
	for _, u := range []Terms{{Payer: h.Payer}, {Buyer: 0}, {Buyer: 1}} {
		t := s.terms(price)
		t.Buyer, t.Payer = u.Buyer, u.Payer
		xs = append(xs, s.claim(t))
	}
	s.together(xs)
	s.h.Turn(h.Payer)
	s.send(xs[0])
	s.h.Seal()
	lost := uint64(0)
	of := func(x *sale, f rail.Finding) rail.Cause {
		if len(f.Reverts) != 1 || f.Reverts[0].Of != 3 || f.Reverts[0].Gas == 0 || f.Reverts[0].Cost <= 0 {
			s.Fatalf("%s: its reverts are %+v, want its part of one of three", h.Name, f.Reverts)
		}
		lost += f.Reverts[0].Gas
		c, err := s.r.Explain(s.Context(), x.p, f.Reverts[0])
		if err != nil {
			s.Fatalf("%s: Explain: %v", h.Name, err)
		}
		return c
	}
	over := func(f rail.Finding) bool { return f.State == rail.Paid || f.Advice == rail.Redraft }
	f := s.until(xs[0], "a revert", over)
	if c := of(xs[0], f); f.State == rail.Paid || c.Others || !c.Payer {
		s.Errorf("%s: it is %s, its revert is %+v; want that it is its own doing", h.Name, f.State, c)
	}
	for _, x := range xs[1:] {
		f := s.until(x, "paid, or to go alone", over)
		if f.State == rail.Paid {
			continue
		}
		if c := of(x, f); !c.Others || c.Payer {
			s.Errorf("%s: the revert of one beside it is %+v, want that others did it", h.Name, c)
		}
		s.settle(x)
		s.h.Seal()
		s.expect(x, rail.Paid)
	}
	if lost > h.Measured || lost > h.Gas {
		s.Errorf("%s: %d gas is lost, stated are %d measured and %d at most", h.Name, lost, h.Measured, h.Gas)
	}
	s.Logf("%s: %d gas lost of three payments", h.Name, lost)
	// Nobody shares with it any more, whatever it says; alone it is known for what it is.
	_, err := s.r.Draft(s.Context(), paymentsOf([]*sale{xs[0], s.claim(s.terms(price))}))
	if a, ok := errors.AsType[*rail.Apart](err); !ok || len(a.Which) != 1 || a.Which[0] != 0 {
		s.Errorf("%s: Draft with another = %v, want that it goes alone", h.Name, err)
	}
	if d, err := s.r.Draft(s.Context(), []*rail.Payment{xs[0].p}); err == nil && d.Price().Code == "" {
		s.Errorf("%s: a draft of it alone does not name its code", h.Name)
	}
	s.earned(had + 2*price)
}

// costs shows what a network says of settling on it.
func costs(s *suite) {
	st, err := s.r.Standing(s.Context())
	if err != nil || st.Out != "" || !st.Priced || st.Cost <= 0 || st.Head.IsZero() {
		s.Fatalf("Standing = %+v, %v", st, err)
	}
	x := s.claim(s.terms(price))
	d, err := s.r.Draft(s.Context(), []*rail.Payment{x.p})
	if err != nil {
		s.Fatal(err)
	}
	if p := d.Price(); p.Gas > MostGas || p.Cost <= 0 || p.Most < p.Cost || p.Code != "" {
		s.Errorf("a plain draft's price is %+v", p)
	}
	// A plain payer whose money is gone is shown to be the cause of a revert.
	poor := s.terms(price)
	poor.Payer = Poor
	p := s.sign(poor)
	if c, err := s.r.Explain(s.Context(), p.p, rail.Revert{Tx: "0x01", Block: s.head()}); err != nil || !c.Payer {
		s.Errorf("Explain of a poor payer = %+v, %v", c, err)
	}
	if c, err := s.r.Explain(s.Context(), x.p, rail.Revert{Tx: "0x01", Block: s.head()}); err != nil || c.Payer ||
		c.Reason == "" {
		s.Errorf("Explain of a payer who did nothing = %+v, %v", c, err)
	}
}

func (s *suite) head() uint64 {
	s.Helper()
	h, err := s.r.Head(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return h.Block
}
