package stockclient

import (
	"fmt"
	"math/big"
	"time"

	"store.example/agentstore/corpus/networks"
)

// A Stake is what a buyer puts at risk who pays by a scheme in which more moves than the price, or
// the money is held: batch-settlement and auth-capture on EVM networks.
type Stake struct {
	Index   int    `json:"index"` // of the entry in accepts
	Scheme  string `json:"scheme"`
	Network string `json:"network"`
	Signs   string `json:"signs"`           // what the client signs, in words
	Atomic  string `json:"at_risk_atomic"`  // what leaves the wallet, in atomic units
	USD     string `json:"at_risk_usd"`     // a default asset counted as one dollar; "" for other assets
	Until   string `json:"at_risk_until"`   // in words, with the time where the terms name one
	Back    string `json:"how_it_is_back"`  // how what is not spent comes back
	Taker   string `json:"who_may_take_it"` // and how much
}

// Says is the stake in one sentence.
func (s Stake) Says() string {
	return fmt.Sprintf("The client signs %s. At risk %s. It may be taken by %s. It comes back %s.", s.Signs, s.Until,
		s.Taker, s.Back)
}

// Alone is what the newest stock client with an entry's scheme registered makes of that entry
// alone, if nothing was spent there before: what it signs, or the error that it throws. Its ceiling
// is its own default, or none where the price is above that. at is the time of the look. An entry
// of another scheme or network gives neither.
func Alone(index int, terms *object, at time.Time) (*Stake, error) {
	scheme, _ := maybe(terms, "scheme").(string)
	network, _ := maybe(terms, "network").(string)
	if scheme != Batch && scheme != Capture || !matches(familyEVM+":*", network) {
		return nil, nil
	}
	c := Config{Client: clients[0]}
	c.Client.Schemes = []string{scheme}
	e := entry{index, terms, network, familyEVM, scheme}
	def, err := defaultAsset(e)
	if err != nil {
		return nil, err
	}
	r := run{config: c, about: AboutMethod}
	if ceiling, _, err := r.limit(e, def); err == nil && ceiling != nil {
		n, ok := new(big.Int).SetString(text(e.get("amount")), 10)
		r.config.Controls.Off = !ok || n.Cmp(ceiling) > 0
	}
	if err := r.create(e, at); err != nil {
		return nil, err
	}
	return r.stake(e), nil
}

// stake is what the entry puts at risk that was signed; nil for exact.
func (r *run) stake(e entry) *Stake {
	if e.family != familyEVM || e.scheme != Batch && e.scheme != Capture {
		return nil
	}
	amount, err := bigInt(e.get("amount"))
	def, defErr := defaultAsset(e)
	if err != nil || defErr != nil {
		return nil
	}
	s := &Stake{Index: e.index, Scheme: e.scheme, Network: shown(e.network)}
	coins := coin{def, shown(e.get("asset"))}
	if e.scheme == Capture {
		return r.hold(e, s, amount, coins)
	}
	var ceiling *big.Int
	if !r.config.Controls.Off {
		ceiling, _, _ = r.limit(e, def)
	}
	deposit, err := depositOf(amount, maybe(e.get("extra"), "minDeposit"), ceiling)
	if err != nil {
		return nil
	}
	s.Atomic, s.USD = deposit.String(), coins.dollars(deposit)
	s.Signs = fmt.Sprintf("where it has no channel with money there yet, a deposit of %s into one, which %s, and a "+
		"voucher for %s out of it; later calls sign a voucher alone while the deposit lasts", coins.say(deposit),
		covers(deposit, amount), coins.say(amount))
	delay := 900.0
	if f, ok := maybe(e.get("extra"), "withdrawDelay").(float64); ok {
		delay = f
	}
	wait := seconds(delay)
	s.Until = fmt.Sprintf("without end, until it is spent or given back: the payer's own way out takes %s", wait)
	s.Back = fmt.Sprintf("by a refund that the seller signs, which the client asks for with GET at the door's URL "+
		"(scheme.refund), or without the seller by initiateWithdraw of the escrow contract, a wait of %s, and "+
		"finalizeWithdraw, for which the stock client has no call", wait)
	s.Taker = "payTo, as much as the newest voucher says, at any time before the money is withdrawn"
	return s
}

// covers says for how many calls a deposit is enough.
func covers(deposit, amount *big.Int) string {
	if amount.Sign() <= 0 {
		return "costs nothing to use"
	}
	n := new(big.Int).Div(deposit, amount)
	if n.Cmp(big.NewInt(1)) == 0 {
		return "pays for one call at this price"
	}
	return fmt.Sprintf("pays for %d calls at this price", n)
}

// hold is the stake of auth-capture.
func (r *run) hold(e entry, s *Stake, amount *big.Int, coins coin) *Stake {
	extra := e.get("extra")
	escrow, _ := escrowOf(maybe(extra, "authCaptureEscrow"))
	end, _ := maybe(extra, "captureDeadline").(float64)
	refund, _ := maybe(extra, "refundDeadline").(float64)
	s.Atomic, s.USD = amount.String(), coins.dollars(amount)
	s.Signs = fmt.Sprintf("a transfer of %s into the escrow %s, which holds it; nothing is paid before a capture",
		coins.say(amount), escrow)
	s.Until = "until " + moment(end) + ", when nobody can capture it any more"
	s.Back = fmt.Sprintf("if it is voided before, or by reclaim of the escrow contract, which the payer calls from %s "+
		"on; what was captured only if the operator refunds it, which ends at %s", moment(end), moment(refund))
	s.Taker = fmt.Sprintf("captureAuthorizer %s alone, all of it or a part, for payTo",
		shown(maybe(extra, "captureAuthorizer")))
	if bps, _ := maybe(extra, "maxFeeBps").(float64); bps > 0 {
		s.Taker += fmt.Sprintf(", less a fee of at most %s for feeRecipient", coins.say(share(amount, bps)))
	}
	return s
}

// share is how much of an amount so many basis points are, rounded down as the contract does.
func share(amount *big.Int, bps float64) *big.Int {
	n := new(big.Int).Mul(amount, big.NewInt(int64(bps)))
	return n.Div(n, big.NewInt(10_000))
}

// A coin says sums of a token.
type coin struct {
	def   *networks.Token // nil for a token that is not in the client's table
	asset string
}

func (c coin) dollars(n *big.Int) string {
	if c.def == nil || n.Sign() < 0 {
		return ""
	}
	return Decimal(n.String(), c.def.Decimals)
}

func (c coin) say(n *big.Int) string {
	if usd := c.dollars(n); usd != "" {
		return usd + " " + c.def.Symbol
	}
	return fmt.Sprintf("%d atomic units of %s", n, c.asset)
}

// moment is a time in seconds since 1970 for people.
func moment(f float64) string {
	const most = 253402300799 // the end of the year 9999
	if f < 0 || f > most {
		return "the second " + number(f) + " since 1970"
	}
	return time.Unix(int64(f), 0).UTC().Format("2006-01-02 15:04 UTC")
}

// seconds is a span for people: in days, hours or minutes where it is whole ones.
func seconds(f float64) string {
	for _, unit := range []struct {
		n    float64
		name string
	}{{86_400, "day"}, {3_600, "hour"}, {60, "minute"}} {
		n := f / unit.n
		switch {
		case n != float64(int64(n)) || n < 1:
		case n == 1:
			return "1 " + unit.name
		default:
			return fmt.Sprintf("%d %ss", int64(n), unit.name)
		}
	}
	return number(f) + " seconds"
}
