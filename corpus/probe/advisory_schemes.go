package probe

import (
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/stockclient"
)

const schemesSince = "2026-11-30"

// The delays between which the escrow of batch-settlement takes a channel, and the one below which
// a seller that claims once a day comes too late; in seconds.
const (
	leastDelay = 900
	mostDelay  = 2_592_000
	shortDelay = 86_400
)

// mostDeposit is what a stock client deposits at most that nobody configured, in whole dollars.
const mostDeposit = 5

// schemeAdvisories are about entries by which more is signed than a price: vouchers out of a
// deposit, and holds. They say what stock code with the scheme registered does (@x402/evm 2.27.0),
// and what the escrow contracts refuse.
var schemeAdvisories = []Advisory{
	{
		Name: "batch-not-signable", Since: schemesSince, Scheme: stockclient.Batch,
		Doc: Doc{"A batch-settlement entry at which the client throws",
			"The client chooses it by its place and signs nothing then, nor the entries behind it: the buyer loses " +
				"the call, and no money.", citeBatch},
		Fix: `Give extra.receiverAuthorizer the address of a key of yours, which claims and refunds, and the token's ` +
			`"name" and "version"; leave extra.assetTransferMethod out, or set it to eip3009 or permit2.`,
		Run: thrownAlone(stockclient.Batch),
	},
	{
		Name: "batch-withdraw-delay", Since: schemesSince, Scheme: stockclient.Batch,
		Doc: Doc{"A withdrawDelay that is not what the client or the escrow takes",
			"What is no number is read as 900 seconds, and the seller then finds another channel than its own; one " +
				"outside 900 to 2592000 is signed, and its deposit reverts. Either way the call is refused, and no " +
				"money moves.", citeBatch},
		Fix: "Write extra.withdrawDelay as a number of seconds from 900 to 2592000, such as 1209600.",
		Run: ofScheme(stockclient.Batch, func(_ *View, r Requirement) string {
			delay, isNumber := member(r.Extra, "withdrawDelay").(float64)
			switch {
			case !isNumber:
				return "extra.withdrawDelay is " + shown(r.Extra, "withdrawDelay") + ", and the client reads 900"
			case delay < leastDelay || delay > mostDelay:
				return fmt.Sprintf("extra.withdrawDelay is %s, and the escrow takes 900 to 2592000",
					shown(r.Extra, "withdrawDelay"))
			}
			return ""
		}),
	},
	{
		Name: "batch-withdraw-delay-short", Since: schemesSince, Scheme: stockclient.Batch,
		Doc: Doc{"A withdrawDelay of less than a day",
			"After it a payer is gone with the deposit, whatever vouchers say that were not claimed. It costs the " +
				"payer nothing but calls that a careful seller refuses meanwhile.", citeBatch},
		Fix: "Ask for a day or more, or claim vouchers well within the delay and watch WithdrawInitiated.",
		Run: ofScheme(stockclient.Batch, func(_ *View, r Requirement) string {
			delay, isNumber := member(r.Extra, "withdrawDelay").(float64)
			if isNumber && delay >= leastDelay && delay < shortDelay {
				return fmt.Sprintf("extra.withdrawDelay is %s seconds", shown(r.Extra, "withdrawDelay"))
			}
			return ""
		}),
	},
	{
		Name: "batch-min-deposit", Since: schemesSince, Scheme: stockclient.Batch,
		Doc: Doc{"A minDeposit that the client does not deposit",
			"It passes over one that is no text of digits, or below the amount, and deposits five times the amount; " +
				"of one above five times its ceiling, which is 5 USD unless somebody raised it, it deposits that " +
				"much. A seller that enforces its minDeposit refuses the call; no money moves.", citeBatch},
		Fix: `Write extra.minDeposit as text of digits, at least the amount and at most 5 USD ("5000000" of USDC), ` +
			`or take smaller deposits.`,
		Run: ofScheme(stockclient.Batch, func(_ *View, r Requirement) string { return r.depositProblem() }),
	},
	{
		Name: "batch-on-several-networks", Since: schemesSince, Scheme: stockclient.Batch,
		Doc: Doc{"Entries of batch-settlement on more than one network",
			"After a lost answer the client reads the first of them, whatever the network of its channel: it does " +
				"not recover, and its deposit on the other network waits for its way out.", citeBatch},
		Fix: "Offer batch-settlement on one network at a door, and on others at addresses of their own.",
		Run: func(v *View) string {
			var seen []string
			for _, r := range v.entries() {
				if isOf(r, stockclient.Batch) && !slices.Contains(seen, r.Network) {
					seen = append(seen, r.Network)
				}
			}
			if len(seen) < 2 {
				return ""
			}
			return fmt.Sprintf("%d networks, %s first", len(seen), quoted(seen[0]))
		},
	},
	{
		Name: "batch-without-exact", Since: schemesSince, Scheme: stockclient.Batch,
		Doc: Doc{"batch-settlement without exact beside it",
			"A client whose owner did not register the scheme passes the entry over, which most are; the buyer " +
				"cannot pay, and loses nothing.", citeBatch},
		Fix: `Offer an entry with scheme "exact" before it.`,
		Run: func(v *View) string {
			for _, r := range v.entries() {
				if isOf(r, stockclient.Batch) && !v.offersExact() {
					return fmt.Sprintf("accepts[%d], and no entry by exact", r.Index)
				}
			}
			return ""
		},
	},
	{
		Name: "batch-refund-by-get", Since: schemesSince, Scheme: stockclient.Batch,
		Doc: Doc{"A refund that is asked for by GET at a door that takes POST",
			"The client asks for what is left of a deposit with GET at the door's address. Where that is no route, " +
				"the money comes back by the payer's own withdrawal alone, after the delay and for gas.", citeBatch},
		Fix: "Answer GET at the same address with the same terms, and a refund with the answer of the scheme.",
		Run: ofScheme(stockclient.Batch, func(v *View, _ Requirement) string {
			if v.Evidence.Method == http.MethodPost {
				return "the terms were read by POST; whether GET takes a refund cannot be known"
			}
			return ""
		}),
	},
	{
		Name: "capture-not-signable", Since: schemesSince, Scheme: stockclient.Capture,
		Doc: Doc{"An auth-capture entry at which the client throws",
			"The client signs nothing at such an entry: the buyer loses the call, and no money.", citeCapture},
		Fix: "Give extra the token's name and version, captureAuthorizer and feeRecipient as addresses, and " +
			"captureDeadline, refundDeadline (seconds since 1970), minFeeBps and maxFeeBps as numbers.",
		Run: func(v *View) string {
			if capturedElsewhere(v) != "" {
				return ""
			}
			return thrownAlone(stockclient.Capture)(v)
		},
	},
	{
		Name: "capture-escrow-foreign", Since: schemesSince, Scheme: stockclient.Capture,
		Doc: Doc{"An escrow contract that the client does not know",
			"It knows two, of commerce-payments v1.1 and v1.0, and throws at any other: the buyer loses the call, " +
				"and no money. An older copy of the specification names a third.", citeCapture},
		Fix: "Leave extra.authCaptureEscrow out, or name " + stockclient.EscrowV11 + ".",
		Run: capturedElsewhere,
	},
	{
		Name: "capture-deadlines", Since: schemesSince, Scheme: stockclient.Capture,
		Doc: Doc{"Deadlines under which the escrow takes no hold",
			"The client signs without looking at them, and the escrow reverts: the end of the signature must come " +
				"before captureDeadline, and that not behind refundDeadline. The buyer loses the call, and no money.",
			citeCapture},
		Fix: "Put captureDeadline beyond now + maxTimeoutSeconds and the time that the order takes, and " +
			"refundDeadline at it or behind it; both in seconds since 1970.",
		Run: ofScheme(stockclient.Capture, func(v *View, r Requirement) string { return r.deadlineProblem(v.metAt()) }),
	},
	{
		Name: "capture-fees", Since: schemesSince, Scheme: stockclient.Capture,
		Doc: Doc{"A fee is taken out of what is captured",
			"The buyer pays no more than the amount; the fee is the seller's, and a refund of all of it has to be " +
				"made up by the operator.", citeCapture},
		Fix: "Set extra.minFeeBps and extra.maxFeeBps to 0 where nobody takes one.",
		Run: ofScheme(stockclient.Capture, func(_ *View, r Requirement) string { return r.feeProblem() }),
	},
	{
		Name: "capture-behind-exact", Since: schemesSince, Scheme: stockclient.Capture,
		Doc: Doc{"auth-capture beside an entry that the client prefers",
			"paymentFlow escrow loses against every authorization, and without the field the first entry is signed. " +
				"The buyer then pays at once what could have been held.", citeCapture},
		Fix: "List auth-capture alone at an address of its own, and exact at another.",
		Run: ofScheme(stockclient.Capture, func(v *View, r Requirement) string { return r.outdone(v.accepts) }),
	},
}

const (
	citeBatch   = "x402 schemes: batch-settlement (EVM)"
	citeCapture = "x402 schemes: auth-capture (EVM)"
	schemeExact = "exact"
)

// isOf reports whether an entry is of a scheme on an EVM network.
func isOf(r Requirement, scheme string) bool {
	return r.Scheme == scheme && family(r.Network) == familyEVM
}

// offersExact reports whether there is an entry by exact.
func (v *View) offersExact() bool {
	return slices.ContainsFunc(v.accepts, func(r Requirement) bool { return r.Scheme == schemeExact })
}

// ofScheme makes an observation of the first entry of a scheme that find speaks about.
func ofScheme(scheme string, find func(*View, Requirement) string) func(*View) string {
	return perEntry(func(v *View, r Requirement) string {
		if !isOf(r, scheme) {
			return ""
		}
		return find(v, r)
	})
}

// metAt is when the answer ended.
func (v *View) metAt() time.Time {
	return v.startedAt().Add(time.Duration(v.Evidence.DurationMS) * time.Millisecond)
}

// thrownAlone is what the stock client throws at the first entry of a scheme at which it throws.
func thrownAlone(scheme string) func(*View) string {
	return ofScheme(scheme, func(v *View, r Requirement) string {
		if _, err := stockclient.Alone(r.Index, r.fields, v.metAt()); err != nil {
			said, _, _ := strings.Cut(err.Error(), "\n")
			return "the client throws: " + after("", said)
		}
		return ""
	})
}

// capturedElsewhere names an escrow that the client does not know.
var capturedElsewhere = ofScheme(stockclient.Capture, func(_ *View, r Requirement) string {
	escrow := str(r.Extra, "authCaptureEscrow")
	if escrow == "" || stockclient.KnownEscrow(escrow) {
		return ""
	}
	return "extra.authCaptureEscrow is " + quoted(escrow)
})

// depositProblem says why a client deposits another sum than minDeposit.
func (r Requirement) depositProblem() string {
	if !has(r.Extra, "minDeposit") || r.amountProblem() != "" {
		return ""
	}
	asked := str(r.Extra, "minDeposit")
	if !isDigits(asked) {
		return "extra.minDeposit is " + shown(r.Extra, "minDeposit") + ", which the client passes over"
	}
	n, ok := new(big.Int).SetString(asked[:min(len(asked), 80)], 10)
	amount, known := new(big.Int).SetString(r.Amount, 10)
	if !ok || !known || n.Cmp(amount) < 0 {
		return fmt.Sprintf("extra.minDeposit is %s, below the amount %s, and the client passes it over", quoted(asked),
			quoted(r.Amount))
	}
	token, ok := networks.FindToken(r.Network, r.Asset)
	if !ok || !token.Stock() || !withinCap(r.Amount, token.Decimals) {
		return "" // no ceiling applies, or it has to be raised anyway
	}
	most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(token.Decimals)), nil)
	if most.Mul(most, big.NewInt(mostDeposit)); n.Cmp(most) > 0 {
		return fmt.Sprintf("extra.minDeposit is %s, and the client deposits %d at most", quoted(asked), most)
	}
	return ""
}

// deadlineProblem says why the escrow takes no hold that is signed at a time.
func (r Requirement) deadlineProblem(at time.Time) string {
	end, isNumber := member(r.Extra, "captureDeadline").(float64)
	refund, both := member(r.Extra, "refundDeadline").(float64)
	window, timed := member(r.fields, "maxTimeoutSeconds").(float64)
	now := float64(at.Unix())
	switch {
	case !isNumber || !both || !timed: // the client throws
		return ""
	case end <= now:
		return "captureDeadline was over at the time of the look, by " + inSeconds(now-end)
	case end < now+window:
		return fmt.Sprintf("captureDeadline is %s away, and a signature lasts %s", inSeconds(end-now),
			inSeconds(window))
	case refund < end:
		return "refundDeadline is " + inSeconds(end-refund) + " before captureDeadline"
	}
	return ""
}

func inSeconds(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) + " seconds" }

// feeProblem names the fees of a hold in money.
func (r Requirement) feeProblem() string {
	least, _ := member(r.Extra, "minFeeBps").(float64)
	most, _ := member(r.Extra, "maxFeeBps").(float64)
	if least <= 0 && most <= 0 || r.amountProblem() != "" {
		return ""
	}
	if least > most || most > 10_000 {
		return fmt.Sprintf("minFeeBps %s and maxFeeBps %s: no fee is allowed by them, so that nothing can be captured",
			shown(r.Extra, "minFeeBps"), shown(r.Extra, "maxFeeBps"))
	}
	amount, _ := new(big.Int).SetString(r.Amount, 10)
	unit, symbol := 0, "atomic units"
	if token, ok := networks.FindToken(r.Network, r.Asset); ok {
		unit, symbol = token.Decimals, token.Symbol
	}
	fee := new(big.Int).Mul(amount, big.NewInt(int64(most)))
	fee.Div(fee, big.NewInt(10_000))
	return fmt.Sprintf("at most %s of %s %s go to feeRecipient", stockclient.Decimal(fee.String(), unit),
		stockclient.Decimal(r.Amount, unit), symbol)
}

// outdone names an entry by exact that the client signs in the place of a hold.
func (r Requirement) outdone(accepts []Requirement) string {
	for _, other := range accepts {
		flow := str(other.Extra, "paymentFlow")
		if other.Scheme != schemeExact || flow != "" && flow != "authorization" ||
			family(other.Network) != familyEVM && family(other.Network) != familySolana {
			continue
		}
		switch {
		case str(r.Extra, "paymentFlow") == "escrow":
			return fmt.Sprintf("accepts[%d] is by exact, and goes before escrow", other.Index)
		case other.Index < r.Index:
			return fmt.Sprintf("accepts[%d] is by exact, and stands first", other.Index)
		}
	}
	return ""
}

// stakes are what entries by other schemes than exact put at risk, for clients that have them.
func (v *View) stakes() []stockclient.Stake {
	var out []stockclient.Stake
	for _, r := range v.entries() {
		if s, err := stockclient.Alone(r.Index, r.fields, v.metAt()); err == nil && s != nil && len(out) < mostStakes {
			out = append(out, *s)
		}
	}
	return out
}

// mostStakes bounds how many entries a report tells of.
const mostStakes = 8
