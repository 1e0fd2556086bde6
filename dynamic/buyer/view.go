package buyer

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"store.example/agentstore/dynamic/rail"
)

// Text is the terms for people, in plain lines. Nothing in it can move a terminal's cursor: what
// the door wrote is shown with its unprintable characters replaced.
func (t *Terms) Text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s%s\n", name, fmt.Sprintf(format, args...))
	}
	what := func(name, text string, max int) {
		if text != "" {
			line(name, "%s", printable(text, max))
		}
	}
	what("Asked", t.Method+" "+t.URL, 300)
	if t.Free {
		line("Price", "nothing: the door answered %d without asking for a payment", t.Status)
		return b.String()
	}
	what("What", t.Description, 300)
	what("Seller", t.Service, 60)
	what("Resource", t.Resource, 300)
	if t.Chosen >= 0 {
		e := t.Entries[t.Chosen]
		protocol := "x402 version 2 (" + e.Scheme + ")"
		if t.Protocol == ByMPP {
			protocol = "MPP (evm/charge)"
		}
		line("Protocol", "%s", protocol)
		line("Price", "%s %s (%d atomic units)", USDC(e.Atomic), e.Symbol, e.Atomic)
		line("Ceiling", "%s USDC for one purchase", USDC(t.Ceiling))
		if e.Scheme == rail.SchemeVouchers {
			line("Deposit", "at least %s %s where the channel holds too little; what is not spent comes back",
				USDC(max(e.MinDeposit, e.Atomic)), e.Symbol)
		}
		if e.Scheme == rail.SchemeCapture {
			line("Held", "by the escrow until the seller delivers; from %s on it can be reclaimed",
				chainTime(*e.hold.Capture))
		}
		line("Network", "%s (%s)", e.Chain, e.Network)
		line("Token", "%s", e.asset.Address)
		line("Pay to", "%s", e.payTo)
		what("Pay with", t.Payer, 60)
		line("Chosen", "%s", t.Because)
		line("Valid for", "%d s after signing at the most", t.ValidSeconds)
		line("Offer", "%s", e.Offer)
	} else {
		line("Not payable", "%s", printable(t.Why, 1000))
	}
	for i, e := range t.Entries {
		if i == t.Chosen {
			continue
		}
		price := printable(e.Amount, 40) + " atomic units"
		if e.Symbol != "" && e.Atomic > 0 {
			price = USDC(e.Atomic) + " " + e.Symbol
		}
		state := "also accepted"
		if e.Refused != "" {
			state = "not payable: " + e.Refused
		}
		line("Entry", "%d: %s on %s, %s", i, price, printable(cmp.Or(e.Chain, e.Network), 60), printable(state, 300))
	}
	for _, w := range t.Warnings {
		line("Warning", "%s", printable(w, 500))
	}
	return b.String()
}

// printable is untrusted text on one line: what has no visible form is replaced, and it is cut at
// max runes.
func printable(s string, max int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == max {
			b.WriteRune('…')
			break
		}
		if !unicode.IsPrint(r) { // also every space but U+0020, and all direction marks
			r = '\uFFFD'
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

func quoted(s string) string { return `"` + printable(s, 80) + `"` }
