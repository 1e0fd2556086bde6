// Package railtest is the conformance test of rails: what the till relies on, shown against a chain
// that the test controls. A network's own test implements Harness and calls Run.
//
//	func TestRail(t *testing.T) { Run(t, open) }
//
// Every case runs twice, on fresh chains: once with nobody following the chain, so that each Status
// reads it directly, and once with Run following it. A case is left out where it needs what a
// network, or a third party that settles, does not have (Trait).
package railtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// Payer is a kind of account that pays.
type Payer int

// The kinds of payers. Every harness has Plain ones; Sign returns nil for a kind that the network
// does not have.
const (
	Plain          Payer = iota // an ordinary funded account
	Poor                        // an ordinary account without money
	Contract                    // a contract wallet with one owner (EIP-1271)
	Delegated                   // an ordinary account with code whose signature is accepted (EIP-7702)
	Refusing                    // the same with code that accepts no signature
	Turncoat                    // accepts while it is simulated, and reverts in a block
	Burner                      // the same, and burns all the gas it is given there
	Glutton                     // the same, and is satisfied in a simulation only with millions of gas
	Weathercock                 // accepts at one block number, and reverts at every later one
	Switch                      // accepts until Turn, and reverts from then on
	Twin                        // another account with the Turncoat's code
	BurnerLater                 // an ordinary account until Turn, and from then on a Burner (EIP-7702)
	FickleLater                 // the same, and then accepts where it is given the gas of one payment alone
	ReentererLater              // the same, and then calls the token back
	Unbuilt                     // a Turncoat that its payment deploys (ERC-6492)
	UnbuiltDrain                // the same, and burns all the gas that its deployment is given
)

// Terms is a payment to be signed.
type Terms struct {
	Payer         Payer
	Buyer         int // which of the plain payers, from 0; there are at least two
	Amount        int64
	After, Before time.Time
	Nonce         string // of another payment, to spend the same authorization twice; empty for a fresh one
	To            string // empty is the rail's payTo
}

// Tamper is a payment that must be refused.
type Tamper struct {
	Name    string
	Payload []byte
	Reason  string // expected reason code; empty accepts any
}

// Trait is something that not every network has.
type Trait uint

// The traits.
const (
	// Own: transactions of our own settle. Lacking where a third party does.
	Own Trait = 1 << iota
	// Numbered: they have sequence numbers, so that a later one waits for the one before it.
	// Lacking with Own.
	Numbered
	// Windowed: the payer says from when until when an authorization is valid.
	Windowed
	// Public: whoever has an authorization can make it land.
	Public
	// Cancelled: the payer can withdraw an authorization.
	Cancelled
)

// Lacking is a Harness whose network lacks some traits.
type Lacking interface{ Lacks() Trait }

// Withholder is a Harness whose payers can take away what a payment draws on beside money, such as
// an account that can be handed on, or an allowance.
type Withholder interface {
	// Withhold takes it away from the payer of a payment, in a block with nothing else, until
	// restore does the opposite.
	Withhold(payload []byte) (restore func())
}

// Worded is a Harness whose rail has other reason codes: Reason returns the one for what the cases
// call insufficient_balance, nonce_already_used, signature, valid_after or valid_before.
// More is how much more gas a revert takes than the rows of Hostile say.
type Worded interface {
	Reason(what string) string
	More() uint64
}

// Harness is a chain under the test's control and a rail on it. Nothing enters a block until Seal
// says so. Methods end the test on errors.
type Harness interface {
	// Rail is the rail under test, with a depth of one block.
	Rail() rail.Rail
	// Restart is a new rail of the same configuration that remembers nothing.
	Restart() rail.Rail
	// Remote reports that a third party settles.
	Remote() bool
	// Sign returns the network's payload for a payment.
	Sign(Terms) []byte
	// Tampers are changes of the payment that Sign makes for the terms.
	Tampers(Terms) []Tamper
	// Submit broadcasts the payments in one transaction of a stranger.
	Submit(payloads ...[]byte)
	// Cancel broadcasts the payer's withdrawal of a payment.
	Cancel(payload []byte)
	// Forge broadcasts a transaction that looks like the payment without moving money.
	Forge(payload []byte)
	// Turn makes a Switch refuse from now on, a Weathercock accept in this block for the last time,
	// or an ordinary account have the code that it is named for, and seals a block with nothing
	// else.
	Turn(Payer)
	// Fund leaves the Poor payer with just so much money, in a block with nothing else.
	Fund(amount int64)
	// Divert broadcasts a foreign transaction of the relayer's at its next sequence number.
	Divert()
	// Drop makes the network forget what is not in a block.
	Drop()
	// Seal seals a block with everything that was broadcast.
	Seal()
	// SealEmpty seals a block with nothing.
	SealEmpty()
	// Pass moves the chain's clock and seals an empty block.
	Pass(time.Duration)
	// Finalize seals blocks until what is the head now is final.
	Finalize()
	// Reorg replaces the newest n blocks by longer empty ones and forgets what they held.
	Reorg(n int)
	// Balance is what payTo has received.
	Balance() int64
	// Prove signs a message as the payer does; nil where there is no such payer.
	Prove(payer Payer, message []byte) (address string, signature []byte)
}

// Run runs every case against fresh harnesses.
func Run(t *testing.T, open func(testing.TB) Harness) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, watched := range []bool{false, true} {
				name := "direct"
				if watched {
					name = "watched"
				}
				t.Run(name, func(t *testing.T) {
					h := open(t)
					s := &suite{T: t, h: h, r: h.Rail(), watched: watched, seq: NewSequence()}
					if !s.has(c.needs) {
						return
					}
					s.follow(s.r)
					c.run(s)
				})
			}
		})
	}
}

// Sequence is a Sequencer in memory.
type Sequence struct {
	mu   sync.Mutex
	next map[string]uint64
}

// NewSequence returns a Sequence that starts where the chain is.
func NewSequence() *Sequence { return &Sequence{next: map[string]uint64{}} }

// Next implements rail.Sequencer: the first account is used.
func (q *Sequence) Next(of []rail.Account) (account string, n uint64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	account = of[0].Address
	n = max(of[0].Pending, q.next[account])
	q.next[account] = n + 1
	return account, n, nil
}

// suite is one case's run.
type suite struct {
	*testing.T
	h       Harness
	r       rail.Rail
	watched bool
	seq     *Sequence
	passed  time.Duration // how far the chain's clock was moved
}

// has reports whether the network has some traits.
func (s *suite) has(traits Trait) bool {
	var lacks Trait
	if l, ok := s.h.(Lacking); ok {
		lacks = l.Lacks()
	}
	if s.h.Remote() {
		lacks |= Own | Numbered
	}
	return lacks&traits == 0
}

// sale is one payment on its way.
type sale struct {
	payload []byte
	p       *rail.Payment
	seen    rail.Verified
	signed  []rail.Signed
}

// follow lets a rail follow the chain for the rest of the test and waits until it does.
func (s *suite) follow(r rail.Rail) {
	if !s.watched {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	seen := r.Changed()
	wg.Go(func() {
		if err := r.Run(ctx); err != nil {
			s.Errorf("Run: %v", err)
		}
	})
	s.Cleanup(func() { cancel(); wg.Wait() })
	s.await(seen)
}

// patience turns a hang into a failure. No machine is so slow that a rail takes as long to see a
// block.
const patience = 5 * time.Minute

func (s *suite) await(seen <-chan struct{}) {
	s.Helper()
	select {
	case <-seen:
	case <-time.After(patience):
		s.Fatalf("the rail saw no new block within %s", patience)
	}
}

func (s *suite) now() time.Time { return time.Now().Add(s.passed) }

func (s *suite) pass(d time.Duration) {
	s.passed += d
	s.h.Pass(d)
}

// terms is an ordinary payment.
func (s *suite) terms(amount int64) Terms {
	return Terms{Amount: amount, Before: s.now().Add(s.r.Info().Timeout)}
}

// sign makes a payment and parses it.
func (s *suite) sign(t Terms) *sale {
	s.Helper()
	payload := s.h.Sign(t)
	p, err := s.r.Parse(payload, s.r.Requirement(t.Amount))
	if err != nil {
		s.Fatalf("Parse: %v", err)
	}
	return &sale{payload: payload, p: p}
}

// claim makes a payment that verifies.
func (s *suite) claim(t Terms) *sale {
	s.Helper()
	x := s.sign(t)
	s.verify(x)
	return x
}

func (s *suite) verify(x *sale) {
	s.Helper()
	var err error
	x.seen, err = s.r.Verify(s.Context(), x.p, s.r.Requirement(x.p.Amount.Int64()), s.now())
	if err != nil {
		s.Fatalf("Verify: %v", err)
	}
}

// refused demands that a payment does not verify, for a reason.
func (s *suite) refused(x *sale, reason string) *rail.Refusal {
	s.Helper()
	_, err := s.r.Verify(s.Context(), x.p, s.r.Requirement(x.p.Amount.Int64()), s.now())
	ref, ok := errors.AsType[*rail.Refusal](err)
	if !ok || ref.Reason != reason {
		s.Fatalf("Verify = %v, want the refusal %s", err, reason)
	}
	return ref
}

// prepare drafts and signs a settlement.
func (s *suite) prepare(x *sale) rail.Signed {
	s.Helper()
	d, err := s.r.Draft(s.Context(), []*rail.Payment{x.p})
	if err != nil {
		s.Fatalf("Draft: %v", err)
	}
	return s.fix(x, d)
}

func (s *suite) fix(x *sale, d rail.Draft) rail.Signed {
	s.Helper()
	signed, err := d.Sign(s.seq)
	if err != nil {
		s.Fatalf("Sign: %v", err)
	}
	x.signed = append(x.signed, signed)
	return signed
}

// send broadcasts the newest settlement. A third party may be of another opinion; then the chain
// tells.
func (s *suite) send(x *sale) {
	s.Helper()
	if err := s.r.Send(s.Context(), x.signed[len(x.signed)-1]); err != nil && s.has(Own) {
		s.Fatalf("Send: %v", err)
	}
}

func (s *suite) settle(x *sale) {
	s.Helper()
	s.prepare(x)
	s.send(x)
}

func (s *suite) status(x *sale, now time.Time) rail.Finding {
	s.Helper()
	f, err := s.r.Status(s.Context(), x.p, x.signed, x.seen, now)
	if err != nil {
		s.Fatalf("Status: %v", err)
	}
	return f
}

// expect demands a state. A rail that follows the chain may need a moment to see the newest block.
func (s *suite) expect(x *sale, want rail.State) rail.Finding {
	s.Helper()
	return s.until(x, string(want), func(f rail.Finding) bool { return f.State == want })
}

func (s *suite) until(x *sale, what string, ok func(rail.Finding) bool) rail.Finding {
	s.Helper()
	for {
		seen := s.r.Changed()
		f := s.status(x, s.now())
		if ok(f) {
			if (f.Proof != nil) != (f.State == rail.Paid || f.State == rail.Seen) {
				s.Fatalf("%s with proof %v", f.State, f.Proof)
			}
			return f
		}
		if !s.watched {
			s.Fatalf("Status = %s (%s, final %v), want %s", f.State, f.Reason, f.Final, what)
		}
		s.await(seen)
	}
}

// advised demands advice for a payment that has waited for d.
func (s *suite) advised(x *sale, d time.Duration, want rail.Advice) {
	s.Helper()
	if f := s.status(x, s.now().Add(d)); f.State != rail.Waiting || f.Advice != want {
		s.Fatalf("Status after %s = %s, %s; want waiting, %s", d, f.State, f.Advice, want)
	}
}

// earned demands what payTo has.
func (s *suite) earned(want int64) {
	s.Helper()
	if got := s.h.Balance(); got != want {
		s.Fatalf("payTo has %d, want %d", got, want)
	}
}
