package railtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// EscrowRail is a rail on a network with both escrow contracts.
type EscrowRail interface {
	rail.Rail
	rail.Channels
	rail.Captures
}

// Escrows are two escrow contracts on a chain under the test's control, with one payer of each of
// two channels, and one of holds. What payers do by themselves is in a block when it returns, and
// ok says that it did not revert.
type Escrows interface {
	Rail() EscrowRail
	// Seal seals a block with everything that was broadcast.
	Seal()
	// Pass moves the chain's clock and seals an empty block.
	Pass(time.Duration)
	// Balance is what payTo has received.
	Balance() int64
	// Deposit is a payment into a channel, signed by its payer.
	Deposit(channel int, amount int64) *rail.Payment
	// Voucher is a channel and a voucher of its signer's.
	Voucher(channel int, most int64) (rail.Channel, rail.Voucher)
	Withdraw(channel int, amount int64) (ok bool)
	Finalize(channel int) (ok bool)
	// Authorize is a payment into a hold until an hour from the beginning, verified.
	Authorize(salt int) *rail.Authorization
	Reclaim(rail.Hold) (ok bool)
}

// escrows is a run of the tables below.
type escrows struct {
	*testing.T
	h     Escrows
	seq   *Sequence
	holds map[int]*rail.Authorization
}

// lands has a payment settled, and reports whether it went through.
func (s *escrows) lands(p *rail.Payment, err error) bool {
	s.Helper()
	ctx, r := s.Context(), s.h.Rail()
	head, err2 := r.Head(ctx)
	if err = errors.Join(err, err2); err != nil {
		s.Fatal(err)
	}
	d, err := r.Draft(ctx, []*rail.Payment{p})
	if _, refused := errors.AsType[*rail.Refusal](err); refused {
		return false
	}
	if err != nil {
		s.Fatal(err)
	}
	signed, err := d.Sign(s.seq)
	if err == nil {
		err = r.Send(ctx, signed)
	}
	s.h.Seal()
	f, err2 := r.Status(ctx, p, []rail.Signed{signed}, rail.Verified{Head: head}, time.Now())
	if err = errors.Join(err, err2); err != nil {
		s.Fatal(err)
	}
	return f.State == rail.Paid
}

// row is a row of a claim; forged has another signature than its signer's.
func (s *escrows) row(channel int, most, total int64, forged bool) rail.VoucherClaim {
	c, v := s.h.Voucher(channel, most)
	if forged {
		_, v = s.h.Voucher(channel, most+1)
		v.Max = most
	}
	return rail.VoucherClaim{Channel: c, Voucher: v, Total: total}
}

func (s *escrows) claim(rows ...rail.VoucherClaim) bool { return s.lands(s.h.Rail().Claims(rows, 1)) }

func (s *escrows) refund(total, amount int64, nonce uint64) bool {
	return s.lands(s.h.Rail().Refund(s.row(0, total, total, false), amount, nonce))
}

// stands is how both channels stand, what was claimed and moved, and what came to payTo.
func (s *escrows) stands() string {
	s.Helper()
	a, _ := s.h.Voucher(0, 1)
	b, _ := s.h.Voucher(1, 1)
	list, err := s.h.Rail().ReadChannels(s.Context(), []string{a.ID, b.ID}, false)
	claimed, moved, err2 := s.h.Rail().Claimed(s.Context())
	if err = errors.Join(err, err2); err != nil {
		s.Fatal(err)
	}
	x, y := list[0], list[1]
	return fmt.Sprintf("%d/%d/%d/%d %d/%d %d/%d %d", x.Balance, x.Claimed, x.Withdrawing, x.RefundNonce, y.Balance,
		y.Claimed, claimed, moved, s.h.Balance())
}

func (s *escrows) end(salt int, does func(EscrowRail, rail.Hold) *rail.Payment) bool {
	return s.lands(does(s.h.Rail(), s.hold(salt).Hold), nil)
}

func (s *escrows) hold(salt int) *rail.Authorization {
	if s.holds[salt] == nil {
		s.holds[salt] = s.h.Authorize(salt)
	}
	return s.holds[salt]
}

// held is how some holds stand, and what came to payTo.
func (s *escrows) held(salts ...int) (out string) {
	s.Helper()
	for _, salt := range salts {
		st, err := s.h.Rail().ReadHold(s.Context(), s.hold(salt).Hold.Hash, false)
		if err != nil {
			s.Fatal(err)
		}
		out += fmt.Sprintf("%v/%d/%d ", st.Collected, st.Capturable, st.Refundable)
	}
	return out + fmt.Sprint(s.h.Balance())
}

// escrowStep is one transaction, whether it goes through, and how everything stands after it.
type escrowStep struct {
	what  string
	does  func(*escrows) bool
	ok    bool
	after string
}

// channelSteps are the rules of the escrow of channels. A channel stands as balance, claimed,
// withdrawing and refund nonce.
func channelSteps(delay time.Duration) []escrowStep {
	const full = 1_000_000
	return []escrowStep{
		{"a deposit", func(s *escrows) bool { return s.lands(s.h.Deposit(0, full), nil) }, true,
			"1000000/0/0/0 0/0 0/0 0"},
		{"another", func(s *escrows) bool { return s.lands(s.h.Deposit(1, full), nil) }, true,
			"1000000/0/0/0 1000000/0 0/0 0"},
		{"one bad row of two", func(s *escrows) bool {
			return s.claim(s.row(0, 300, 300, false), s.row(1, 200, 300, false))
		}, false, "1000000/0/0/0 1000000/0 0/0 0"},
		{"two rows", func(s *escrows) bool {
			return s.claim(s.row(0, 300, 300, false), s.row(1, 200, 100, false))
		}, true, "1000000/300/0/0 1000000/100 400/0 0"},
		{"a claim of nothing new, whoever signed", func(s *escrows) bool { return s.claim(s.row(0, 200, 200, true)) },
			true, "1000000/300/0/0 1000000/100 400/0 0"},
		{"a forged voucher", func(s *escrows) bool { return s.claim(s.row(0, 400, 400, true)) }, false,
			"1000000/300/0/0 1000000/100 400/0 0"},
		{"more than there is", func(s *escrows) bool { return s.claim(s.row(0, full+1, full+1, false)) }, false,
			"1000000/300/0/0 1000000/100 400/0 0"},
		{"a sweep", func(s *escrows) bool { return s.lands(s.h.Rail().Sweep("first", 400), nil) }, true,
			"1000000/300/0/0 1000000/100 400/400 400"},
		{"a sweep of nothing", func(s *escrows) bool { return s.lands(s.h.Rail().Sweep("second", 1), nil) }, true,
			"1000000/300/0/0 1000000/100 400/400 400"},
		{"a refund by another nonce", func(s *escrows) bool { return s.refund(0, 100, 1) }, false,
			"1000000/300/0/0 1000000/100 400/400 400"},
		{"a refund of nothing", func(s *escrows) bool { return s.refund(0, 0, 0) }, false,
			"1000000/300/0/0 1000000/100 400/400 400"},
		{"a refund that claims", func(s *escrows) bool { return s.refund(500, 100, 0) }, true,
			"999900/500/0/1 1000000/100 600/400 400"},
		{"withdrawing nothing", func(s *escrows) bool { return s.h.Withdraw(0, 0) }, false,
			"999900/500/0/1 1000000/100 600/400 400"},
		{"withdrawing what is claimed", func(s *escrows) bool { return s.h.Withdraw(0, 999_401) }, false,
			"999900/500/0/1 1000000/100 600/400 400"},
		{"withdrawing", func(s *escrows) bool { return s.h.Withdraw(0, 999_400) }, true,
			"999900/500/999400/1 1000000/100 600/400 400"},
		{"withdrawing twice", func(s *escrows) bool { return s.h.Withdraw(0, 1) }, false,
			"999900/500/999400/1 1000000/100 600/400 400"},
		{"a refund meanwhile", func(s *escrows) bool { return s.refund(0, 400, 1) }, true,
			"999500/500/999000/2 1000000/100 600/400 400"},
		{"ending it early", func(s *escrows) bool { return s.h.Finalize(0) }, false,
			"999500/500/999000/2 1000000/100 600/400 400"},
		{"a claim meanwhile", func(s *escrows) bool { return s.claim(s.row(0, 700, 700, false)) }, true,
			"999500/700/999000/2 1000000/100 800/400 400"},
		{"ending it", func(s *escrows) bool { s.h.Pass(delay + time.Minute); return s.h.Finalize(0) }, true,
			"700/700/0/2 1000000/100 800/400 400"},
		{"ending it again", func(s *escrows) bool { return s.h.Finalize(0) }, false,
			"700/700/0/2 1000000/100 800/400 400"},
		{"a refund of what is not left", func(s *escrows) bool { return s.refund(0, 5, 2) }, true,
			"700/700/0/3 1000000/100 800/400 400"},
		{"a claim that comes too late", func(s *escrows) bool { return s.claim(s.row(0, 800, 800, false)) }, false,
			"700/700/0/3 1000000/100 800/400 400"},
	}
}

// holdSteps are the rules of the escrow of holds, of four of them. A hold stands as collected,
// capturable and refundable.
func holdSteps() []escrowStep {
	capture := func(r EscrowRail, h rail.Hold) *rail.Payment { return r.Capture(h) }
	void := func(r EscrowRail, h rail.Hold) *rail.Payment { return r.Void(h) }
	const all, none = "true/250000/0 ", "true/0/0 "
	begin := func(salt int) func(*escrows) bool {
		return func(s *escrows) bool { return s.lands(s.hold(salt).Payment, nil) }
	}
	return []escrowStep{
		{"capturing what is not there", func(s *escrows) bool { return s.end(0, capture) }, false,
			"false/0/0 false/0/0 false/0/0 false/0/0 0"},
		{"voiding what is not there", func(s *escrows) bool { return s.end(0, void) }, false,
			"false/0/0 false/0/0 false/0/0 false/0/0 0"},
		{"a hold", begin(0), true, all + "false/0/0 false/0/0 false/0/0 0"},
		{"the same again", begin(0), false, all + "false/0/0 false/0/0 false/0/0 0"},
		{"a second", begin(1), true, all + all + "false/0/0 false/0/0 0"},
		{"a third", begin(2), true, all + all + all + "false/0/0 0"},
		{"a fourth", begin(3), true, all + all + all + all + "0"},
		{"reclaiming early", func(s *escrows) bool { return s.h.Reclaim(s.hold(0).Hold) }, false,
			all + all + all + all + "0"},
		{"capturing", func(s *escrows) bool { return s.end(0, capture) }, true,
			"true/0/250000 " + all + all + all + "250000"},
		{"capturing twice", func(s *escrows) bool { return s.end(0, capture) }, false,
			"true/0/250000 " + all + all + all + "250000"},
		{"voiding what is captured", func(s *escrows) bool { return s.end(0, void) }, false,
			"true/0/250000 " + all + all + all + "250000"},
		{"voiding", func(s *escrows) bool { return s.end(1, void) }, true,
			"true/0/250000 " + none + all + all + "250000"},
		{"capturing what is voided", func(s *escrows) bool { return s.end(1, capture) }, false,
			"true/0/250000 " + none + all + all + "250000"},
		{"capturing past the deadline", func(s *escrows) bool {
			s.h.Pass(time.Hour + time.Minute)
			return s.end(2, capture)
		}, false, "true/0/250000 " + none + all + all + "250000"},
		{"reclaiming", func(s *escrows) bool { return s.h.Reclaim(s.hold(2).Hold) }, true,
			"true/0/250000 " + none + none + all + "250000"},
		{"voiding what is reclaimed", func(s *escrows) bool { return s.end(2, void) }, false,
			"true/0/250000 " + none + none + all + "250000"},
		{"voiding after the deadline", func(s *escrows) bool { return s.end(3, void) }, true,
			"true/0/250000 " + none + none + none + "250000"},
	}
}

// RunEscrows holds two escrows against the rules that the store relies on, whether contracts keep
// them or what plays those.
func RunEscrows(t *testing.T, delay time.Duration, open func(testing.TB) Escrows) {
	run := func(name string, steps []escrowStep, stands func(*escrows) string) {
		t.Run(name, func(t *testing.T) {
			s := &escrows{T: t, h: open(t), seq: NewSequence(), holds: map[int]*rail.Authorization{}}
			for _, step := range steps {
				if ok, after := step.does(s), stands(s); ok != step.ok || after != step.after {
					t.Fatalf("%s: %v, and it stands %s; want %v, %s", step.what, ok, after, step.ok, step.after)
				}
			}
		})
	}
	run("channels", channelSteps(delay), (*escrows).stands)
	run("holds", holdSteps(), func(s *escrows) string {
		for salt := range 4 {
			s.hold(salt) // all are signed before any is over
		}
		return s.held(0, 1, 2, 3)
	})
}
