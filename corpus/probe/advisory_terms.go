package probe

import (
	"fmt"
	"slices"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/stockclient"
)

// termAdvisories are about the ways of paying and where they stand.
var termAdvisories = []Advisory{
	{
		Name: "nonstandard-scheme", Since: advisoriesSince,
		Doc: Doc{"A scheme without a specification", "Stock clients filter such an entry out without a word.",
			"x402 v2, schemes"},
		Fix: `Use scheme "exact", or publish what yours means and offer "exact" beside it.`,
		Run: perEntry(func(_ *View, r Requirement) string {
			if r.Scheme == "" || slices.Contains(Schemes(), r.Scheme) {
				return ""
			}
			return "scheme " + quoted(r.Scheme)
		}),
	},
	{
		Name: "spec-scheme-not-exact", Since: advisoriesSince,
		Doc: Doc{"A specified scheme other than exact",
			"A client pays with it only if its owner registered that scheme; most register exact alone.",
			"x402 v2, schemes"},
		Fix: `Offer an entry with scheme "exact" beside it.`,
		Run: perEntry(func(v *View, r Requirement) string {
			if r.Scheme == "exact" || !slices.Contains(Schemes(), r.Scheme) {
				return ""
			}
			said := "scheme " + quoted(r.Scheme)
			if v.offersExact() {
				said += ", with exact beside it"
			}
			return said
		}),
	},
	{
		Name: "settles-before-delivery", Since: advisoriesSince,
		Doc: Doc{"The money moves before the good is made",
			"With the flows upfront and escrow a failing door keeps the payment, and what comes back must be argued " +
				"about.", "x402 v2, extra.paymentFlow"},
		Fix: "Leave extra.paymentFlow out: verify, make the good, settle, release.",
		Run: perEntry(func(_ *View, r Requirement) string {
			switch flow := str(r.Extra, "paymentFlow"); {
			case flow == "escrow" && isOf(r, stockclient.Capture):
				return "paymentFlow escrow: a contract holds the money, and gives back what is not captured in time"
			case flow == "upfront", flow == "escrow":
				return "paymentFlow " + flow
			}
			return ""
		}),
	},
	{
		Name: "testnet-network", Since: advisoriesSince,
		Doc: Doc{"An entry on a test network", "Some test tokens stand in the stock client's table, so a client may " +
			"choose this entry first and pay with nothing of worth.", "CAIP-2; table " + networks.Version},
		Fix: "Take test networks out of a door that sells.",
		Run: perEntry(func(_ *View, r Requirement) string {
			if n, ok := networks.Find(r.Network); ok && n.Testnet {
				return n.Name + " (" + n.ID + ")"
			}
			return ""
		}),
	},
	{
		Name: "payto-is-a-name", Since: advisoriesSince,
		Doc: Doc{"payTo is a name", "Clients sign addresses; a name of ENS or another register is resolved by nobody " +
			"on the way.", "CAIP-10"},
		Fix: "Put the address that the name stands for into payTo.",
		Run: perEntry(func(_ *View, r Requirement) string {
			if r.PayToForm == exchange.FormName {
				return "payTo has the form of a name"
			}
			return ""
		}),
	},
	{
		Name: "payto-wrong-rail", Since: advisoriesSince,
		Doc: Doc{"payTo belongs to another rail", "A base58 account cannot receive on an EVM network, nor the reverse.",
			"CAIP-10"},
		Fix: "Give each entry the address of its own network.",
		Run: perEntry(func(_ *View, r Requirement) string {
			switch f := family(r.Network); {
			case f == familyEVM && r.PayToForm == exchange.FormSolana, f == familySolana && isEVMForm(r.PayToForm):
				return r.payToProblem()
			}
			return ""
		}),
	},
	{
		Name: "payto-not-an-address", Since: advisoriesSince,
		Doc: Doc{"payTo is no address that can be paid",
			"Neither an address of a known rail nor a name: the zero address, a wrong checksum, a word.",
			"CAIP-10; ERC-55"},
		Fix: "Put the receiving address itself into payTo.",
		Run: perEntry(func(_ *View, r Requirement) string {
			switch r.PayToForm {
			case exchange.FormOther, exchange.FormEmpty, exchange.FormNotAString, exchange.FormEVMZero,
				exchange.FormEVMBadChecksum:
				return r.payToProblem()
			}
			return ""
		}),
	},
	{
		Name: "amount-not-atomic", Since: advisoriesSince,
		Doc: Doc{"An amount that is not a whole number of atomic units",
			"Clients disagree about it: some throw, some read dollars, some read a millionth of that.",
			"x402 v2, PaymentRequirements.amount"},
		Fix: "Write digits only.",
		Run: perEntry(func(_ *View, r Requirement) string { return r.amountProblem() }),
	},
	{
		Name: "missing-eip712-domain-extra", Since: advisoriesSince,
		Doc: Doc{"The token's EIP-712 domain is not in extra",
			"The stock client selects such an entry and then throws: it signs under extra.name and extra.version and " +
				"looks nothing up.", "EIP-3009; EIP-712; x402 schemes: exact (EVM)"},
		Fix: `For USDC on Base: "extra": {"name":"USD Coin","version":"2"}.`,
		Run: perEntry(func(_ *View, r Requirement) string {
			if family(r.Network) != familyEVM || r.Scheme != "exact" || r.transferMethod() != "eip3009" {
				return ""
			}
			return r.missingDomain()
		}),
	},
	{
		Name: "nonstandard-transfer-method", Since: advisoriesSince,
		Doc: Doc{"A transfer method that stock clients do not know", "They know eip3009 and permit2, and sign the " +
			"first for every other word.",
			"x402 schemes: exact (EVM)"},
		Fix: "Leave extra.assetTransferMethod out, or set it to eip3009 or permit2.",
		Run: perEntry(func(_ *View, r Requirement) string {
			if method := r.transferMethod(); family(r.Network) != familyEVM || method == "eip3009" ||
				method == "permit2" {
				return ""
			}
			return "extra.assetTransferMethod is " + shown(r.Extra, "assetTransferMethod")
		}),
	},
	{
		Name: "conflicting-amounts", Since: advisoriesSince,
		Doc: Doc{"One way of paying, two amounts",
			"The buyer signs the one in accepts of the header; whoever reads the other expects something else.",
			"x402 v2, PaymentRequirements; version 1, maxAmountRequired"},
		Fix: "Say each price once; let the body repeat the header exactly.",
		Run: func(v *View) string {
			for _, r := range v.entries() {
				if old := str(r.fields, "maxAmountRequired"); old != "" && old != r.Amount {
					return fmt.Sprintf("accepts[%d]: amount %s and maxAmountRequired %s", r.Index, quoted(r.Amount),
						quoted(old))
				}
				for _, m := range v.mirrored {
					if m.Index == r.Index && m.sameRail(r) && m.Amount != "" && m.Amount != r.Amount {
						return fmt.Sprintf("accepts[%d]: %s in the header and %s in the body", r.Index,
							quoted(r.Amount), quoted(m.Amount))
					}
				}
			}
			return ""
		},
	},
	{
		Name: "above-default-client-cap", Since: advisoriesSince,
		Doc: Doc{"Above the stock client's ceiling",
			"Left alone, the stock client pays at most 1 USD at once; a dearer door is paid only by buyers who " +
				"raised that.", "stock x402 client, spendControls"},
		Fix: "Offer an amount of at most 1 USD first where the good allows it, and say in the terms that a ceiling " +
			"must be raised.",
		Run: func(v *View) string {
			var dear string
			for _, r := range v.accepts {
				a, ok := networks.FindToken(r.Network, r.Asset)
				if !ok || !a.Stock() || r.amountProblem() != "" {
					continue
				}
				if withinCap(r.Amount, a.Decimals) {
					return ""
				}
				if dear == "" {
					dear = fmt.Sprintf("accepts[%d]: %s atomic units of %s, and no entry asks for less than the "+
						"ceiling", r.Index, r.Amount, a.Symbol)
				}
			}
			return dear
		},
	},
	{
		Name: "placement-mismatch", Since: advisoriesSince,
		Doc: Doc{"Terms stand where their readers do not look, or twice and unlike",
			"Version 2 clients read the header, version 1 clients the body, people and tools whichever they find " +
				"first.", "x402 v2, HTTP transport; x402 v1"},
		Fix: "Put version 2 terms into PAYMENT-REQUIRED, version 1 terms into the body, and let a copy be equal to " +
			"its original.",
		Run: func(v *View) string {
			headerVersion, bodyVersion := number(v.terms, "x402Version"), number(v.bodyForm, "x402Version")
			switch {
			case bodyVersion == 2 && len(v.headers) == 0:
				return "version 2 terms stand in the body and not in PAYMENT-REQUIRED"
			case headerVersion == 1:
				return "version 1 terms stand in PAYMENT-REQUIRED"
			case headerVersion == 2 && bodyVersion == 2 && !sameTerms(v.accepts, v.mirrored):
				return "header and body name different ways of paying"
			}
			return ""
		},
	},
}

// sameRail compares everything but the amount.
func (r Requirement) sameRail(o Requirement) bool {
	return r.Scheme == o.Scheme && r.Network == o.Network && networks.SameAddress(r.Network, r.Asset, o.Asset) &&
		networks.SameAddress(r.Network, r.payTo, o.payTo)
}

// sameTerms compares two lists of ways to pay, amounts left to conflicting-amounts. A body may hold
// fewer.
func sameTerms(header, body []Requirement) bool {
	for _, b := range body {
		if !slices.ContainsFunc(header, b.sameRail) {
			return false
		}
	}
	return true
}
