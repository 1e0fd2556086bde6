package railtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"store.example/agentstore/dynamic/rail"
)

const price = 500_000

// waited is longer than any rail leaves a settlement alone.
const waited = 20 * time.Second

// cases is every case, in the order of a payment's life.
var cases = []struct {
	name  string
	needs Trait
	run   func(*suite)
}{
	{"requirement is byte-stable", 0, requirementIsStable},
	{"check accepts the chain", 0, checkAccepts},
	{"paid once", 0, paidOnce},
	{"replay is used", 0, replayIsUsed},
	{"tampered payments are refused", 0, tampered},
	{"expired", Windowed, expired},
	{"not yet valid", Windowed, notYetValid},
	{"valid too long", Windowed, validTooLong},
	{"valid longer than firm terms", Windowed, validLongerThanFirm},
	{"insufficient funds", 0, insufficientFunds},
	{"front-run before sending", Public, frontRunBefore},
	{"front-run after sending", Public, frontRunAfter},
	{"used before the claim", Public, usedBeforeClaim},
	{"spent on something else", Public, spentElsewhere},
	{"cancelled", Cancelled, cancelled},
	{"never sent", 0, neverSent},
	{"many in one transaction", Public, manyInOne},
	{"look-alike events", 0, lookAlike},
	{"reorganised and sent again", 0, reorganised},
	{"reorganised into an earlier block", Own, reorganisedEarlier},
	{"crash before sending", 0, crashBeforeSend},
	{"crash after sending", 0, crashAfterSend},
	{"dropped by the network", Own, dropped},
	{"sequence number lost", Numbered, sequenceLost},
	{"stuck and replaced", Numbered, stuck},
	{"dead and filled", Numbered | Cancelled, filled},
	{"forty at once", 0, fortyAtOnce},
	{"several together", Own, togetherPaid},
	{"several together, and each does something", Own, togetherBut},
	{"several together, one without money", Own, togetherWithPoor},
	{"what goes apart", Own, apart},
	{"several together, replaced", Own, togetherReplaced},
	{"several together, reorganised", Own, togetherReorganised},
	{"contract wallet", 0, contractWallet},
	{"delegated account", 0, delegated},
	{"hostile payers", Own, hostile},
	{"what settling costs", Own, costs},
	{"signers are proved", 0, proved},
	{"incoming transfers", 0, incoming},
	{"funds at one block", 0, funds},
}

// Firm terms take what was asked and nothing beyond, but for a clock that is a little ahead.
func validLongerThanFirm(s *suite) {
	want := s.r.Requirement(price).Within(2 * time.Minute)
	if want.MaxTimeoutSeconds != 120 {
		s.Fatalf("firm terms ask for %d seconds, want 120", want.MaxTimeoutSeconds)
	}
	for _, c := range []struct {
		valid time.Duration
		taken bool
	}{{2 * time.Minute, true}, {2*time.Minute + rail.Skew + 5*time.Second, false}} {
		t := s.terms(price)
		t.Before = s.now().Add(c.valid)
		x := s.sign(t)
		_, err := s.r.Verify(s.Context(), x.p, want, s.now())
		if ref, ok := errors.AsType[*rail.Refusal](err); (err == nil) != c.taken || !c.taken &&
			(!ok || ref.Reason != reason(s, "valid_before")) {
			s.Errorf("Verify of a payment valid for %s where 120 s are asked = %v, want taken %v", c.valid, err,
				c.taken)
		}
	}
}

// The balance and what had left it are of one block, so that what was paid is in one of the two and
// never in both.
func funds(s *suite) {
	x, y := s.claim(s.terms(price)), s.claim(s.terms(price))
	read := func() rail.Funds {
		s.Helper()
		f, err := s.r.Funds(s.Context(), x.p.Payer, []string{x.p.Nonce, y.p.Nonce})
		if err != nil {
			s.Fatalf("Funds: %v", err)
		}
		return f
	}
	before := read()
	if before.Spent[x.p.Nonce] || before.Spent[y.p.Nonce] {
		s.Errorf("open authorizations are called spent: %v", before.Spent)
	}
	s.settle(x)
	s.h.Seal()
	f := s.expect(x, rail.Paid)
	after := read()
	if got := new(big.Int).Sub(before.Balance, after.Balance); got.Int64() != price || !after.Spent[x.p.Nonce] ||
		after.Spent[y.p.Nonce] {
		s.Errorf("after one payment of %d the payer has %s less and spent %v", price, got, after.Spent)
	}
	s.h.Finalize()
	if m, err := s.r.Final(s.Context()); err != nil || m.Block < f.Proof.Block || m.Time.Before(f.Proof.BlockTime) {
		s.Errorf("Final = %+v, %v; want the payment's block %d or a later one", m, err, f.Proof.Block)
	}
}

func requirementIsStable(s *suite) {
	a, errA := json.Marshal(s.r.Requirement(price))
	b, errB := json.Marshal(s.h.Restart().Requirement(price))
	if err := errors.Join(errA, errB); err != nil {
		s.Fatal(err)
	}
	if string(a) != string(b) {
		s.Errorf("Requirement changes: %s and %s", a, b)
	}
	if r := s.r.Requirement(price); r.Network != s.r.Info().Network || r.PayTo != s.r.Info().PayTo ||
		r.Amount != "500000" {
		s.Errorf("Requirement = %+v", r)
	}
}

func checkAccepts(s *suite) {
	if err := s.r.Check(s.Context()); err != nil {
		s.Errorf("Check: %v", err)
	}
	if _, low, err := s.r.Fuel(s.Context()); err != nil || low {
		s.Errorf("Fuel: low %v, %v", low, err)
	}
}

func paidOnce(s *suite) {
	x := s.claim(s.terms(price))
	s.settle(x)
	if f := s.status(x, s.now()); f.State != rail.Waiting || f.Advice != rail.Wait {
		s.Fatalf("before a block Status = %s, %s", f.State, f.Advice)
	}
	s.earned(0)
	s.h.Seal()
	f := s.expect(x, rail.Paid)
	s.earned(price)
	if f.Proof.ByOther || f.Final || f.Unfilled != nil {
		s.Errorf("Status = %+v of %+v, want our own, not final, nothing to fill", f, f.Proof)
	}
	if s.has(Own) && f.Proof.Tx != x.signed[0].ID {
		s.Errorf("paid by %s, want %s", f.Proof.Tx, x.signed[0].ID)
	}
	// Where several blocks are made in a second their times may be equal.
	if f.Proof.Block <= x.seen.Block || f.Proof.BlockTime.Before(x.seen.Time) {
		s.Errorf("paid in block %d at %s, not after the mark %v", f.Proof.Block, f.Proof.BlockTime, x.seen)
	}
	s.h.Finalize()
	g := s.until(x, "final", func(f rail.Finding) bool { return f.State == rail.Paid && f.Final })
	if *g.Proof != *f.Proof {
		s.Errorf("the final proof %v differs from the first, %v", g.Proof, f.Proof)
	}
}

func replayIsUsed(s *suite) {
	x := s.claim(s.terms(price))
	s.settle(x)
	s.h.Seal()
	s.expect(x, rail.Paid)
	_, err := s.r.Verify(s.Context(), x.p, s.r.Requirement(price), s.now())
	if !errors.Is(err, rail.ErrUsed) {
		s.Errorf("Verify of a used authorization = %v, want ErrUsed", err)
	}
	if _, err := s.r.Draft(s.Context(), []*rail.Payment{x.p}); !errors.Is(err, rail.ErrUsed) {
		s.Errorf("Draft of a used authorization = %v, want ErrUsed", err)
	}
	s.earned(price)
}

func tampered(s *suite) {
	for _, c := range s.h.Tampers(s.terms(price)) {
		want := s.r.Requirement(price)
		p, err := s.r.Parse(c.Payload, want)
		if err == nil {
			_, err = s.r.Verify(s.Context(), p, want, s.now())
		}
		ref, ok := errors.AsType[*rail.Refusal](err)
		if !ok {
			s.Errorf("%s: %v, want a refusal", c.Name, err)
		} else if c.Reason != "" && ref.Reason != c.Reason {
			s.Errorf("%s: refused with %v, want %s", c.Name, ref, c.Reason)
		}
	}
	s.h.Seal()
	s.earned(0)
}

func expired(s *suite) {
	t := s.terms(price)
	t.Before = s.now().Add(-time.Second)
	s.refused(s.sign(t), reason(s, "valid_before"))
	t.Before = s.now().Add(20 * time.Second) // inside the margin
	s.refused(s.sign(t), reason(s, "valid_before"))
	t.Before = s.now().Add(5 * time.Minute)
	x := s.claim(t)
	s.pass(290 * time.Second) // the chain's clock alone is enough
	if _, err := s.r.Verify(s.Context(), x.p, s.r.Requirement(price), time.Now()); err == nil && !s.watched {
		s.Error("Verify trusts the wall clock although the chain is ahead")
	}
	s.earned(0)
}

func notYetValid(s *suite) {
	t := s.terms(price)
	t.After = s.now().Add(time.Minute)
	s.refused(s.sign(t), reason(s, "valid_after"))
}

func validTooLong(s *suite) {
	t := s.terms(price)
	t.Before = s.now().Add(s.r.Info().Timeout + 299*time.Second)
	s.claim(t)
	t.Before = s.now().Add(s.r.Info().Timeout + 310*time.Second)
	s.refused(s.sign(t), reason(s, "valid_before"))
	t.Before = time.Unix(1<<40, 0)
	s.refused(s.sign(t), reason(s, "valid_before"))
}

func insufficientFunds(s *suite) {
	t := s.terms(price)
	t.Payer = Poor
	x := s.sign(t)
	s.refused(x, reason(s, "insufficient_balance"))
	_, err := s.r.Verify(s.Context(), x.p, s.r.Requirement(price), s.now())
	if ref, ok := errors.AsType[*rail.Refusal](err); !ok || !ref.Short {
		s.Errorf("Verify of a good signature without money = %+v, want that its payer is proved", err)
	}
}

// reason is a stock reason code of an EVM or Solana rail.
func reason(s *suite, what string) string {
	if w, ok := s.h.(Worded); ok {
		return w.Reason(what)
	}
	if strings.HasPrefix(s.r.Info().Network, "eip155:") {
		if strings.HasPrefix(what, "valid_") {
			what = "payload_authorization_" + what
		}
		return "invalid_exact_evm_" + what
	}
	switch what {
	case "insufficient_balance": // of which the stock facilitator has no word of its own
		what = "transaction_simulation_failed"
	case "signature":
		what = "payload_signature_invalid"
	}
	return "invalid_exact_svm_" + what
}

func frontRunBefore(s *suite) {
	x := s.claim(s.terms(price))
	if s.has(Own) {
		s.prepare(x)
	}
	s.h.Submit(x.payload)
	s.h.Seal()
	f := s.expect(x, rail.Paid)
	if !f.Proof.ByOther {
		s.Error("a stranger's settlement is called ours")
	}
	if s.has(Own) && (f.Unfilled == nil || f.Unfilled.ID != x.signed[0].ID) {
		s.Errorf("Unfilled = %v, want the settlement that was never sent", f.Unfilled)
	}
	s.earned(price)
}

func frontRunAfter(s *suite) {
	x := s.claim(s.terms(price))
	s.h.Submit(x.payload)
	s.settle(x)
	s.h.Seal() // whichever is first pays, the other reverts
	f := s.expect(x, rail.Paid)
	if f.Unfilled != nil {
		s.Errorf("Unfilled = %v although the number is spent", f.Unfilled)
	}
	s.earned(price)
}

func usedBeforeClaim(s *suite) {
	x := s.claim(s.terms(price))
	s.h.Submit(x.payload)
	s.h.Seal()
	_, err := s.r.Verify(s.Context(), x.p, s.r.Requirement(price), s.now())
	if !errors.Is(err, rail.ErrUsed) {
		s.Errorf("Verify = %v, want ErrUsed", err)
	}
	var err2 error
	if x.seen.Head, err2 = s.r.Head(s.Context()); err2 != nil {
		s.Fatal(err2)
	}
	if f := s.expect(x, rail.Dead); f.Reason != "used_before_claim" {
		s.Errorf("Status = %s, %s; want dead, used_before_claim", f.State, f.Reason)
	}
}

func spentElsewhere(s *suite) {
	x := s.claim(s.terms(price))
	t := s.terms(price)
	t.Nonce, t.Amount = x.p.Nonce, price-1
	other := s.h.Sign(t)
	if other == nil {
		return
	}
	s.h.Submit(other)
	s.h.Seal()
	if f := s.expect(x, rail.Dead); f.Reason != "used_elsewhere" {
		s.Errorf("Status = %s, %s; want dead, used_elsewhere", f.State, f.Reason)
	}
}

func cancelled(s *suite) {
	x := s.claim(s.terms(price))
	s.h.Cancel(x.payload)
	s.settle(x) // nothing is in a block yet, so nobody can know
	s.h.Seal()
	f := s.expect(x, rail.Dead)
	if f.Reason != "cancelled" || f.Final || f.Unfilled != nil {
		s.Errorf("Status = %+v, want dead, cancelled, not final, nothing to fill", f)
	}
	s.h.Finalize()
	s.until(x, "final", func(f rail.Finding) bool { return f.State == rail.Dead && f.Final })
	s.refused(x, reason(s, "nonce_already_used"))
	s.earned(0)
}

// An authorization that is never sent ends at its time, or, where it names none, with the network's
// usual validity.
func neverSent(s *suite) {
	t := s.terms(price)
	most := s.r.Info().Timeout
	if s.has(Windowed) {
		most = 2 * time.Minute
		t.Before = s.now().Add(most)
	}
	x := s.claim(t)
	s.prepare(x)
	s.pass(most - 20*time.Second)
	if s.has(Windowed) {
		s.advised(x, 0, rail.Wait) // inside the margin nothing is worth trying
	}
	if f := s.status(x, s.now().Add(time.Hour)); f.State != rail.Waiting {
		s.Errorf("Status = %s while no block is past its end", f.State)
	}
	s.pass(30 * time.Second)
	f := s.expect(x, rail.Dead)
	if f.Reason != "expired" || f.Final {
		s.Errorf("Status = %s, %s, final %v; want dead, expired, not final", f.State, f.Reason, f.Final)
	}
	if s.has(Numbered) && f.Unfilled == nil {
		s.Error("the sequence number is open and nobody says so")
	}
	s.h.Finalize()
	if s.has(Numbered) {
		if f := s.expect(x, rail.Dead); f.Final {
			s.Error("final, although its sequence number is open and holds up all later ones")
		}
		d, err := s.r.Replace(s.Context(), []*rail.Payment{x.p}, *f.Unfilled, true)
		if err != nil {
			s.Fatalf("Replace to fill: %v", err)
		}
		s.fix(x, d)
		s.send(x)
		s.h.Seal()
		s.h.Finalize()
	}
	s.until(x, "final", func(f rail.Finding) bool { return f.State == rail.Dead && f.Final })
	s.earned(0)
}

func manyInOne(s *suite) {
	var xs []*sale
	var payloads [][]byte
	for i := range 4 {
		t := s.terms(price + int64(i))
		t.Buyer = i % 2
		x := s.claim(t)
		xs, payloads = append(xs, x), append(payloads, x.payload)
	}
	s.h.Submit(payloads...)
	s.h.Seal()
	places := map[string]int{}
	for i, x := range xs {
		f := s.expect(x, rail.Paid)
		if !f.Proof.ByOther {
			s.Error("a stranger's settlement is called ours")
		}
		place := fmt.Sprint(f.Proof.Tx, f.Proof.LogIndex)
		if j, twice := places[place]; twice {
			s.Errorf("payments %d and %d are proved by the same transfer", i, j)
		}
		places[place] = i
	}
	s.earned(4*price + 6)
}

func lookAlike(s *suite) {
	x := s.claim(s.terms(price))
	s.h.Forge(x.payload)
	s.h.Seal()
	s.settle(x)
	if f := s.status(x, s.now()); f.State != rail.Waiting {
		s.Errorf("Status = %s after events of another contract", f.State)
	}
	s.h.Seal()
	s.expect(x, rail.Paid)
	s.earned(price)
}

func reorganised(s *suite) {
	x := s.claim(s.terms(price))
	s.settle(x)
	s.h.Seal()
	f := s.expect(x, rail.Paid)
	s.h.Reorg(1)
	s.earned(0)
	s.expect(x, rail.Waiting)
	if s.has(Own) {
		s.advised(x, waited, rail.Resend)
	}
	s.send(x)
	s.h.Seal()
	g := s.until(x, "paid in another block", func(g rail.Finding) bool {
		return g.State == rail.Paid && g.Proof.BlockHash != f.Proof.BlockHash
	})
	if s.has(Own) && g.Proof.Tx != f.Proof.Tx {
		s.Errorf("paid by %s, want the same bytes as before, %s", g.Proof.Tx, f.Proof.Tx)
	}
	s.earned(price)
}

func reorganisedEarlier(s *suite) {
	s.h.SealEmpty()
	s.h.SealEmpty()
	x := s.claim(s.terms(price))
	s.settle(x)
	s.h.Seal()
	s.expect(x, rail.Paid)
	// Whatever head was seen, our own settlement is payment, also in a block below it.
	x.seen.Block, x.seen.Time = x.seen.Block+100, x.seen.Time.Add(time.Hour)
	if f := s.expect(x, rail.Paid); f.Proof.ByOther {
		s.Error("our own settlement is called another's")
	}
}
