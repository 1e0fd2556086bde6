package till_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// fakeEscrow is what two contracts keep on a fakeChain: the money in payers' channels, and what is
// held. Each block has its own, which nothing changes once it is sealed, so that a reorganisation
// takes back what was done.
type fakeEscrow struct {
	channels map[string]rail.ChannelState // by id, without the block
	configs  map[string]rail.Channel
	holds    map[string]rail.HoldState // by hash, likewise
	claimed  int64                     // for payTo in all
	moved    int64                     // of it there
}

// fakeCall is the calldata of a call of an escrow. Its JSON is its bytes.
type fakeCall struct {
	Does    string              `json:"does"` // method of a payment, or one of the payer's own
	Channel rail.Channel        `json:"channel,omitzero"`
	Rows    []rail.VoucherClaim `json:"rows,omitzero"`
	Amount  int64               `json:"amount,omitzero"`
	Nonce   uint64              `json:"nonce,omitzero"`
	Hold    rail.Hold           `json:"hold,omitzero"`
}

// What payers call by themselves.
const (
	doesWithdraw = "initiateWithdraw"
	doesFinalize = "finalizeWithdraw"
	doesReclaim  = "reclaim"
)

// Where the escrows stand, and who is their other side.
const (
	fakeEscrowAt   = "0x00000000000000000000000000000000000000E0"
	fakeHoldsAt    = "0x00000000000000000000000000000000000000E1"
	fakeAuthorizer = "0x00000000000000000000000000000000000000E2"
	fakeOperator   = "relayer"
)

func (k *fakeCall) wire() []byte {
	b, err := json.Marshal(k)
	if err != nil {
		panic(err)
	}
	return b
}

// call is what a payment calls, nil for a plain one.
func (p fakePayload) call() *fakeCall {
	if p.Wire == "" {
		return nil
	}
	var k fakeCall
	if err := json.Unmarshal([]byte(p.Wire), &k); err != nil {
		return &fakeCall{Does: "nonsense"}
	}
	return &k
}

// fetches reports a call that has the token move a payer's money, by its signature.
func (k *fakeCall) fetches() bool {
	return k == nil || k.Does == rail.MethodDeposit || k.Does == rail.MethodHold
}

// named is where the use of a payment is found that a transaction made. What ends a hold is one
// thing, whoever does it; of a claim, a sweep or a refund only its own transaction tells.
func (p fakePayload) named(tx string) string {
	switch k := p.call(); {
	case k == nil:
	case k.Does == rail.MethodCapture || k.Does == rail.MethodVoid || k.Does == doesReclaim:
		return k.Hold.Info.Operator + "|" + k.Hold.Hash
	case k.Does == rail.MethodClaims || k.Does == rail.MethodSweep || k.Does == rail.MethodRefund:
		return p.key() + "|" + tx
	}
	return p.key()
}

// channelID is the id of a channel.
func channelID(c rail.Channel) string {
	c.ID = ""
	b, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(b)
	return "0x" + hex.EncodeToString(sum[:])
}

// voucher is a channel's voucher for a sum, as its signer signs it.
func voucher(c rail.Channel, most int64) rail.Voucher {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d by the secret of %s", c.ID, most, cmp.Or(c.Signer, c.Payer)))
	return rail.Voucher{Max: most, Signature: sum[:]}
}

// holdOf is a payment that is to be held, by what its payer agreed to; nonce is what he signs.
func holdOf(i rail.PaymentInfo) (h rail.Hold, nonce string) {
	hash := func(i rail.PaymentInfo) string {
		b, err := json.Marshal(i)
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(b)
		return "0x" + hex.EncodeToString(sum[:])
	}
	h = rail.Hold{Hash: hash(i), Info: i}
	i.Payer = ""
	return h, hash(i)
}

// done is what a call did.
type done struct {
	escrow *fakeEscrow
	to     string // whom it paid out of an escrow, "" for nobody
	amount int64
	end    string // how it ended a hold
	events []rail.ChannelEvent
}

// does is a call by somebody at a time, without the money that it fetches. why is the contract's
// error, "" where it goes through. fickle are payers whose code denies their vouchers.
func (e *fakeEscrow) does(k *fakeCall, by string, at time.Time, fickle map[string]bool) (d done, why string) {
	next := *e
	d.escrow = &next
	next.channels, next.holds = maps.Clone(e.channels), maps.Clone(e.holds)
	switch k.Does {
	case rail.MethodDeposit:
		why = next.deposit(k, &d)
	case rail.MethodClaims:
		if len(k.Rows) == 0 {
			return d, "EmptyBatch"
		}
		why = next.claim(k.Rows, fickle, &d)
	case rail.MethodSweep:
		d.to, d.amount, next.moved = fakePayTo, next.claimed-next.moved, next.claimed
	case rail.MethodRefund:
		why = cmp.Or(next.claim(k.Rows, fickle, &d), next.refund(k, &d))
	case doesWithdraw, doesFinalize:
		why = next.withdraw(k, by, at, &d)
	case rail.MethodHold, rail.MethodCapture, rail.MethodVoid, doesReclaim:
		why = next.hold(k, by, at, &d)
	default:
		why = "no such function"
	}
	return d, why
}

func (e *fakeEscrow) deposit(k *fakeCall, d *done) string {
	c := k.Channel
	switch {
	case c.Payer == "" || c.Receiver == "" || c.Authorizer == "" || c.Token == "":
		return "InvalidChannel"
	case c.Delay < 900 || c.Delay > 2_592_000:
		return "WithdrawDelayOutOfRange"
	case k.Amount == 0:
		return "ZeroDeposit"
	}
	s := e.channels[c.ID]
	if s.Balance += k.Amount; s.Balance == k.Amount && s.Claimed == 0 {
		d.events = append(d.events, rail.ChannelEvent{Kind: rail.ChannelFunded, ID: c.ID, Channel: c})
	}
	e.channels[c.ID] = s
	e.configs = maps.Clone(e.configs)
	e.configs[c.ID] = c
	return ""
}

// claim claims rows: all of them or none.
func (e *fakeEscrow) claim(rows []rail.VoucherClaim, fickle map[string]bool, d *done) string {
	for _, r := range rows {
		s := e.channels[r.Channel.ID]
		switch {
		case r.Total <= s.Claimed:
			continue // whatever its signature says
		case r.Total > r.Voucher.Max:
			return "ClaimExceedsCeiling"
		case r.Total > s.Balance:
			return "ClaimExceedsBalance"
		case !r.Voucher.Equal(voucher(r.Channel, r.Voucher.Max)), r.Channel.Signer == "" && fickle[r.Channel.Payer]:
			return "InvalidSignature"
		}
		e.claimed += r.Total - s.Claimed
		s.Claimed = r.Total
		e.channels[r.Channel.ID] = s
		d.events = append(d.events, rail.ChannelEvent{Kind: rail.ChannelClaimed, ID: r.Channel.ID, Total: r.Total})
	}
	return ""
}

func (e *fakeEscrow) refund(k *fakeCall, d *done) string {
	s := e.channels[k.Channel.ID]
	switch {
	case k.Nonce != s.RefundNonce:
		return "InvalidRefundNonce"
	case k.Amount == 0:
		return "ZeroRefund"
	}
	s.RefundNonce++
	d.to, d.amount = k.Channel.Payer, min(k.Amount, s.Balance-s.Claimed)
	s.Balance -= d.amount
	if s.Withdrawing -= min(d.amount, s.Withdrawing); s.Withdrawing == 0 {
		s.Asked = time.Time{}
	}
	e.channels[k.Channel.ID] = s
	return ""
}

func (e *fakeEscrow) withdraw(k *fakeCall, by string, at time.Time, d *done) string {
	c, s := k.Channel, e.channels[k.Channel.ID]
	begins, mine := k.Does == doesWithdraw, by == c.Payer || by == c.Signer
	switch {
	case !mine && begins:
		return "InvalidChannel"
	case !mine:
		return "NotAuthorizedToFinalizeWithdraw"
	case begins && k.Amount == 0:
		return "NothingToWithdraw"
	case begins && s.Withdrawing > 0:
		return "WithdrawalAlreadyPending"
	case begins && k.Amount > s.Balance-s.Claimed:
		return "WithdrawAmountExceedsAvailable"
	case begins:
		s.Withdrawing, s.Asked = k.Amount, at.Truncate(time.Second).UTC()
		d.events = append(d.events, rail.ChannelEvent{Kind: rail.ChannelWithdrawn, ID: c.ID})
	case s.Withdrawing == 0:
		return "WithdrawalNotPending"
	case at.Before(s.Asked.Add(time.Duration(c.Delay) * time.Second)):
		return "WithdrawDelayNotElapsed"
	default:
		d.to, d.amount = c.Payer, min(s.Withdrawing, s.Balance-s.Claimed)
		s.Balance, s.Withdrawing, s.Asked = s.Balance-d.amount, 0, time.Time{}
	}
	e.channels[c.ID] = s
	return ""
}

func (e *fakeEscrow) hold(k *fakeCall, by string, at time.Time, d *done) string {
	i, s, now := k.Hold.Info, e.holds[k.Hold.Hash], at.Unix()
	operates := slices.Contains([]string{rail.MethodHold, rail.MethodCapture, rail.MethodVoid}, k.Does)
	switch {
	case operates && by != i.Operator || k.Does == doesReclaim && by != i.Payer:
		return "InvalidSender"
	case k.Does == rail.MethodHold && now >= i.PreApprovalExpiry:
		return "AfterPreApprovalExpiry"
	case k.Does == rail.MethodHold && (i.PreApprovalExpiry > i.AuthorizationExpiry ||
		i.AuthorizationExpiry > i.RefundExpiry):
		return "InvalidExpiries"
	case k.Does == rail.MethodHold && s.Collected:
		return "PaymentAlreadyCollected"
	case k.Does == rail.MethodHold:
		e.holds[k.Hold.Hash] = rail.HoldState{Collected: true, Capturable: k.Amount}
		return ""
	case k.Does == rail.MethodCapture && now >= i.AuthorizationExpiry:
		return "AfterAuthorizationExpiry"
	case k.Does == rail.MethodCapture && k.Amount > s.Capturable:
		return "InsufficientAuthorization"
	case k.Does == doesReclaim && now < i.AuthorizationExpiry:
		return "BeforeAuthorizationExpiry"
	case s.Capturable == 0:
		return "ZeroAuthorization"
	}
	d.to, d.amount = i.Payer, s.Capturable
	switch s.Capturable = 0; k.Does {
	case rail.MethodCapture:
		d.to, d.end, s.Refundable = i.Receiver, rail.EndCaptured, d.amount
	case rail.MethodVoid:
		d.end = rail.EndVoided
	default:
		d.end = rail.EndReclaimed
	}
	e.holds[k.Hold.Hash] = s
	return ""
}
