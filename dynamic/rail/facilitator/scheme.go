package facilitator

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// scheme is how the payments of one scheme of x402 are read, checked and answered for. What is
// offered, verified and settled follows from its row.
type scheme struct {
	name string
	// on says whether a network has it, and what its kind says beside.
	on func(n rail.Rail) (extra map[string]any, ok bool)
	// gate are the stock facilitator's words for an accepted entry of another scheme and of another
	// network, by the namespace of the network.
	gate map[string]gate
	// read takes a payload apart, without I/O; what it returns beside a refusal names the payer.
	read func(n rail.Rail, payload []byte, want rail.Requirement) (*asked, error)
}

type gate struct{ scheme, network string }

// asked is what a request is about.
type asked struct {
	rail rail.Rail
	want rail.Requirement
	// p is what settles it, nil for what is verified only.
	p     *rail.Payment
	payer string
	// check completes p, and says what a verification tells of the channel.
	check func(ctx context.Context, now time.Time) (rail.Verified, *State, error)
	// rows is how many settlements' worth of gas it takes, and brings what it brings its seller, in
	// atomic units; 0 for the amount of p. Both are known once it is checked where late is set, and
	// which settlement it is, where unnamed is.
	rows, brings  int64
	late, unnamed bool
	client        string
	// Of a hold: who ordered it, the payments that can have made it, how many settlements' worth of
	// gas it takes, and what is asked right behind it, nil for nothing.
	authorizer string
	of         []rail.Payment
	takes      int64
	then       *asked
}

// State is a channel on the wire.
type State struct {
	Channel     string `json:"channelId"`
	Balance     string `json:"balance"`
	Claimed     string `json:"totalClaimed"`
	Withdrawing int64  `json:"withdrawRequestedAt"` // Unix seconds, 0 for none
	RefundNonce string `json:"refundNonce"`
}

// Extra is what stands beside a settlement of a channel's.
type Extra struct {
	State State `json:"channelState"`
}

// schemes are what this facilitator does.
var schemes = []scheme{
	{
		name: "exact",
		on:   func(n rail.Rail) (map[string]any, bool) { return n.Info().Kind, n.Requirement(1).Scheme == "exact" },
		gate: map[string]gate{
			"eip155": {"invalid_exact_evm_scheme", "invalid_exact_evm_network_mismatch"},
			"solana": {"invalid_exact_svm_unsupported_scheme", "invalid_exact_svm_network_mismatch"},
		},
		read: readExact,
	},
	{
		name: rail.SchemeVouchers,
		on: func(n rail.Rail) (map[string]any, bool) {
			r, ok := n.(rail.Relayed)
			return nil, ok && r.RelaysChannels()
		},
		gate: map[string]gate{"eip155": {"invalid_batch_settlement_evm_scheme",
			"invalid_batch_settlement_evm_network_mismatch"}},
		read: readChannel,
	},
	{
		name: rail.SchemeCapture,
		on: func(n rail.Rail) (map[string]any, bool) {
			r, ok := n.(rail.RelayedHolds)
			if !ok {
				return nil, false
			}
			return r.RelaysHolds()
		},
		gate: map[string]gate{"eip155": {"invalid_auth_capture_evm_scheme",
			"invalid_auth_capture_evm_network_mismatch"}},
		read: readHold,
	},
}

// schemeOn is the row of a scheme on a network; one that is not there is judged as exact, whose
// words say so.
func schemeOn(n rail.Rail, name string) scheme {
	i := slices.IndexFunc(schemes, func(s scheme) bool {
		_, ok := s.on(n)
		return s.name == name && ok
	})
	return schemes[max(0, i)]
}

func readExact(n rail.Rail, payload []byte, want rail.Requirement) (*asked, error) {
	p, err := n.Parse(payload, want)
	if p == nil {
		return nil, err
	}
	return &asked{rail: n, want: want, p: p, payer: p.Payer, rows: 1,
		check: func(ctx context.Context, now time.Time) (rail.Verified, *State, error) {
			seen, err := n.Verify(ctx, p, want, now)
			return seen, nil, err
		}}, err
}

func readChannel(n rail.Rail, payload []byte, want rail.Requirement) (*asked, error) {
	r := n.(rail.Relayed) // it is on
	c, err := r.ReadCall(payload, want)
	if c == nil {
		return nil, err
	}
	a := &asked{rail: n, want: want, p: c.Settles, rows: int64(max(1, len(c.Rows))),
		late: c.Form != rail.FormDeposit, unnamed: c.Form == rail.FormSettle}
	if c.Payment != nil {
		a.payer = c.Payment.Channel.Payer
	}
	a.check = func(ctx context.Context, now time.Time) (rail.Verified, *State, error) {
		seen, s, err := r.CheckCall(ctx, c, want, now)
		if err == nil {
			err = a.grief(c, s)
		}
		if err != nil || s.ID == "" {
			return seen, nil, err
		}
		return seen, stateOf(s), nil
	}
	return a, err
}

// refundGas is how many settlements' worth of gas a channel has taken by its refund: that, a
// deposit and a claim.
const refundGas = 4

// grief keeps those who move their own money to and fro from burning gas here. Anybody can name a
// seller's account in a channel with a receiverAuthorizer of his own: a deposit and a refund need
// nobody else then, and the money comes back. So a channel has to have brought its seller what each
// of its refunds takes. And a deposit is no less than what the channel has free: to make many of
// one sum he needs many channels, each of which he empties by his own gas.
func (a *asked) grief(c *rail.ChannelCall, s rail.ChannelState) error {
	switch {
	case c.Form == rail.FormDeposit && rail.Atomic(a.p.Amount) < s.Balance-s.Claimed:
		return &rail.Refusal{Reason: reasonDeposit, Message: "the channel has more left than is deposited"}
	case c.Form == rail.FormRefund && a.p != nil:
		a.brings, a.rows = s.Claimed, refundGas*int64(1+min(s.RefundNonce, 1<<32))
		for _, row := range c.Rows {
			a.brings = max(a.brings, row.Total)
		}
		a.brings = max(a.brings, 1) // 0 would stand for the amount
	}
	return nil
}

// reasonDeposit is the stock facilitator's word for a deposit that is too small.
const reasonDeposit = "invalid_batch_settlement_evm_deposit_below_min_deposit"

func stateOf(s rail.ChannelState) *State {
	out := &State{Channel: s.ID, Balance: strconv.FormatInt(s.Balance, 10), Claimed: strconv.FormatInt(s.Claimed, 10),
		RefundNonce: strconv.FormatUint(s.RefundNonce, 10)}
	if !s.Asked.IsZero() {
		out.Withdrawing = s.Asked.Unix()
	}
	return out
}

// ofChannel reports a payment that the escrow of channels takes.
func ofChannel(p *rail.Payment) bool {
	return slices.Contains([]string{rail.MethodDeposit, rail.MethodDepositPermit, rail.MethodClaims, rail.MethodSweep,
		rail.MethodRefund}, p.Method)
}

// ofSeller reports one that no buyer pays for: the seller's own call.
func ofSeller(p *rail.Payment) bool {
	return ordersHold(p) || p.Method == rail.MethodClaims || p.Method == rail.MethodSweep ||
		p.Method == rail.MethodRefund
}

// signedFor reports whether a payment by exact is for a seller's terms. What is settled already is
// not verified again, and must not pass for a payment to whoever shows it. Of the other schemes the
// reading says so.
func signedFor(p *rail.Payment, want rail.Requirement) bool {
	if ofChannel(p) || ofHold(p) {
		return true
	}
	to := p.PayTo == want.PayTo || strings.HasPrefix(want.PayTo, "0x") && strings.EqualFold(p.PayTo, want.PayTo)
	return to && p.Amount.String() == want.Amount
}

// same reports one and the same payment, signed alike.
func same(a, b *rail.Payment) bool {
	return slices.Equal(a.Signature, b.Signature) && (!ofSeller(a) || slices.Equal(a.Wire, b.Wire))
}

// paid is the answer for a payment that a mined transaction settled. Of a channel's and of a hold's
// the events of the escrow say whether it did: a transaction that succeeds can have moved nothing.
func paid(ctx context.Context, n rail.Rail, p *rail.Payment, tx string) (Settled, error) {
	a := Settled{Success: true, Transaction: tx, Amount: p.Amount.String(), Payer: p.Payer}
	if r, ok := n.(rail.RelayedHolds); ok && ofHold(p) {
		amount, err := r.OrderDone(ctx, p, tx)
		a.Amount = strconv.FormatInt(amount, 10)
		return a, err
	}
	if !ofChannel(p) {
		return a, nil
	}
	r, ok := n.(rail.Relayed)
	if !ok {
		return a, nil
	}
	done, err := r.CallDone(ctx, p, tx)
	if err != nil {
		return a, err
	}
	if a.Amount = strconv.FormatInt(done.Amount, 10); done.Amount == 0 {
		a.Amount = "" // a claim has neither amount nor payer
	}
	if done.State.ID != "" {
		a.Extra = &Extra{State: *stateOf(done.State)}
	}
	return a, nil
}

// namespaceOf is that of a CAIP-2 network.
func namespaceOf(network string) string {
	namespace, _, _ := strings.Cut(network, ":")
	return namespace
}
