package probe

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/stockclient"
)

// addedByV2 are the checks that battery v2 asks besides: whether the terms can be paid.
var addedByV2 = []Check{
	{
		Name: "payto-payable",
		Doc: Doc{
			Title: "The payTo that is signed for is an address of its own network",
			Reason: "A transfer to a name, to an address of another rail, to the zero address or to one with a " +
				"broken checksum is refused by the wallet or lost.",
			Citation: "x402 schemes: exact (EVM, SVM); ERC-55; CAIP-10",
		},
		Fix: "Put the receiving address itself into payTo: 0x and 40 hexadecimal digits (lower case or ERC-55) on " +
			"eip155 networks, base58 of 32 bytes on solana networks.",
		After: "accepts",
		Since: "2026-08-23",
		Run:   ofChosen(stockclient.AboutPayTo, func(_ *View, r Requirement) string { return r.payToProblem() }),
	},
	{
		Name: "amount-atomic",
		Doc: Doc{
			Title: "The amount that is signed is a whole number of atomic units",
			Reason: "Amounts are digits of the token's smallest unit. A decimal point is read as a million times " +
				"too little or makes the client throw, and then the payable entries beside it are lost too.",
			Citation: "x402 v2, PaymentRequirements.amount",
		},
		Fix:   `Write amounts as strings of digits in atomic units: 0.01 USDC is "10000".`,
		After: "accepts",
		Since: "2026-08-23",
		Run:   ofChosen(stockclient.AboutAmount, func(_ *View, r Requirement) string { return r.amountProblem() }),
	},
	{
		Name: "network-mainnet",
		Doc: Doc{
			Title: "The entry that is signed is on a main network, named as in CAIP-2",
			Reason: "Test tokens buy nothing, and a door that takes only them is a rehearsal. A network without a " +
				"colon is version 1 spelling, which no version 2 client finds.",
			Citation: "CAIP-2; x402 v2, PaymentRequirements.network",
		},
		Fix:   "Offer a main network, such as eip155:8453 (Base) or " + networks.Solana + " (Solana).",
		After: "accepts",
		Since: "2026-08-23",
		Run:   ofChosen(stockclient.AboutNetwork, func(_ *View, r Requirement) string { return r.networkProblem() }),
	},
	{
		Name: "transfer-method-signable",
		Doc: Doc{
			Title: "A stock client can sign the transfer that is asked for",
			Reason: "EIP-3009 is signed under the token's EIP-712 name and version, which the challenge must " +
				"bring, and not under another than the token's own; what is signed under another is void, " +
				"and an authorization that ends within six seconds is taken by no facilitator. The client takes " +
				"the first entry that survives its filters and tries no second one.",
			Citation: "x402 schemes: exact (EVM); EIP-712; EIP-3009; Permit2",
		},
		Fix:   `Put the token's own EIP-712 domain into extra, for USDC on Base {"name":"USD Coin","version":"2"}, or set extra.assetTransferMethod to "permit2"; use scheme "exact", the token's address on the network that is named, and a whole number of seconds in maxTimeoutSeconds, such as 300. Keep the answer's head below 16 KiB.`,
		After: "accepts",
		Since: "2026-08-23",
		Run:   ofChosen(stockclient.AboutMethod, (*View).unsignable),
	},
	{
		Name: "solana-rail-receivable",
		Doc: Doc{
			Title: "A Solana entry that is signed can be received",
			Reason: "A cluster under an unknown name makes the stock client throw for the whole offer. Without a " +
				"fee payer the transaction has nobody to carry it, and a mint or fee payer that is no account makes " +
				"it void; it opens no token account of payTo, which must be there. Accounts stand on chain: where no " +
				"node was asked for them, or none answered, the entry is not judged.",
			Citation: "x402 schemes: exact (SVM); CAIP-2 namespace solana",
		},
		Fix: "Name the cluster by its genesis reference (" + networks.Solana +
			"), the mint as asset, and put the facilitator's fee payer into extra.feePayer; own a token account for " +
			"each mint that is offered.", After: "accepts",
		Since: "2026-08-23",
		Run: func(v *View) Finding {
			if r, picked := v.chosen(); picked && family(r.Network) != familySolana {
				return nothing("the stock client picks no Solana entry")
			}
			f := ofChosen(stockclient.AboutSolana, func(v *View, r Requirement) string {
				if family(r.Network) != familySolana {
					return ""
				}
				return cmp.Or(v.solanaProblem(r), v.accountsProblem())
			})(v)
			if r, picked := v.chosen(); f.State == Pass && picked && v.accounts == nil {
				return notJudged("accepts[%d]: token account of payTo, mint and fee payer are not judged%s", r.Index,
					after(": ", v.unread))
			}
			return f
		},
	},
}

// payToProblem says why an address cannot be paid on its network, "" when it can or when the
// network is of a family that is not judged.
func (r Requirement) payToProblem() string {
	form := r.PayToForm
	if r.paysToken() {
		return "payTo is the token itself"
	}
	switch form {
	case exchange.FormName:
		return "payTo is a name, not an address"
	case exchange.FormEmpty, exchange.FormNotAString, "":
		return "payTo is no address"
	}
	switch family(r.Network) {
	case familyEVM:
		switch form {
		case exchange.FormEVM:
			return ""
		case exchange.FormEVMZero:
			return "payTo is the zero address"
		case exchange.FormEVMBadChecksum:
			return "payTo is in mixed case with a wrong checksum"
		case exchange.FormSolana:
			return fmt.Sprintf("payTo is a Solana address on %s", r.Network)
		}
		return "payTo is no address"
	case familySolana:
		switch {
		case form == exchange.FormSolana:
			return ""
		case isEVMForm(form):
			return fmt.Sprintf("payTo is an Ethereum address on %s", r.Network)
		}
		return "payTo is no address"
	}
	return ""
}

// paysToken reports whether payTo is the asset. A token that is known stays in its place and is
// told by its digest, another has the stand-in of payTo.
func (r Requirement) paysToken() bool {
	return r.payTo != "" && (networks.SameAddress(r.Network, r.Asset, r.payTo) ||
		r.PayToDigest == exchange.PayToDigest(r.Network, r.Asset))
}

// amountProblem says why an amount is no number of atomic units, "" when it is.
func (r Requirement) amountProblem() string {
	const most = 78 // digits of 2^256
	bits := 256
	if family(r.Network) == familySolana {
		bits = 64
	}
	if !isDigits(r.Amount) {
		return "amount is " + shown(r.fields, "amount")
	}
	if n, ok := new(big.Int).SetString(r.Amount[:min(len(r.Amount), most+1)], 10); len(r.Amount) > most || !ok ||
		n.BitLen() > bits {
		return "amount does not fit into the token's unsigned integer"
	}
	return ""
}

// Schemes are the schemes of x402 that have a specification.
func Schemes() []string {
	return []string{"exact", "upto", "batch-settlement", "auth-capture"}
}

func isScheme(scheme string) bool { return slices.Contains(Schemes(), scheme) }

// transferMethod is how an EVM entry wants to be paid; eip3009 when it does not say. Stock clients
// sign that for every word but permit2.
func (r Requirement) transferMethod() string {
	if !has(r.Extra, "assetTransferMethod") {
		return "eip3009"
	}
	return str(r.Extra, "assetTransferMethod")
}

// networkProblem says why a network is none to be paid on, "" when it is one.
func (r Requirement) networkProblem() string {
	chain, known := networks.Find(r.Network)
	switch {
	case networks.CAIP2Name(r.Network) == networks.OtherNetwork:
		return "network " + quoted(r.Network) + " is no CAIP-2 name"
	case known && chain.Testnet:
		return r.Network + " is a test network"
	}
	return ""
}

// shortestWindow is how many seconds an authorization must last: stock facilitators refuse one that
// ends within six seconds (@x402/evm, verifyEIP3009).
const shortestWindow = 7

// unsignable says why what a stock client signs for an entry is not taken, or why it can sign
// nothing; "" when it can or when the entry's family is not judged.
func (v *View) unsignable(r Requirement) string {
	if seconds, ok := member(r.fields, "maxTimeoutSeconds").(float64); !ok || seconds != math.Trunc(seconds) {
		return "maxTimeoutSeconds is " + shown(r.fields, "maxTimeoutSeconds") + ", not a whole number"
	} else if seconds < shortestWindow {
		return fmt.Sprintf("maxTimeoutSeconds is %v, and an authorization that ends within six seconds is taken by "+
			"nobody", seconds)
	}
	if family(r.Network) != familyEVM {
		return ""
	}
	method, form := r.transferMethod(), exchange.PayToForm(r.Asset)
	token, known := networks.FindToken(r.Network, r.Asset)
	switch {
	case !isChainID(r.Network):
		return fmt.Sprintf("network %s has no chain number", quoted(r.Network))
	case form != exchange.FormEVM && form != exchange.FormEVMBadChecksum:
		return "asset is no token address: " + quoted(r.Asset)
	case !known && r.elsewhereToken() != "":
		return r.elsewhereToken()
	case method == "permit2":
		return ""
	case r.missingDomain() != "":
		return r.missingDomain()
	case known && token.Method == networks.Permit2:
		return fmt.Sprintf("%s on %s is paid by permit2 alone, and extra.assetTransferMethod does not say so",
			token.Symbol, token.Network)
	case known && (str(r.Extra, "name") != token.Name || str(r.Extra, "version") != token.Version):
		return fmt.Sprintf("extra.name %s and extra.version %s are not those of %s on %s, %q and %q: what is signed "+
			"under them does not settle", quoted(str(r.Extra, "name")), quoted(str(r.Extra, "version")), token.Symbol,
			token.Network, token.Name, token.Version)
	}
	return ""
}

// elsewhereToken says on which network the asset is a known token, which is not the entry's own.
func (r Requirement) elsewhereToken() string {
	for _, t := range networks.Known() {
		if strings.EqualFold(t.Address, r.Asset) && strings.HasPrefix(t.Network, familyEVM+":") {
			return fmt.Sprintf("asset is %s of %s, and the entry is on %s", t.Symbol, t.Network, quoted(r.Network))
		}
	}
	return ""
}

// missingDomain says which part of the token's EIP-712 domain an EIP-3009 entry leaves out.
func (r Requirement) missingDomain() string {
	for _, name := range []string{"name", "version"} {
		if str(r.Extra, name) == "" {
			return fmt.Sprintf("extra.%s is %s, and EIP-3009 cannot be signed without it", name, shown(r.Extra, name))
		}
	}
	return ""
}

func (v *View) solanaProblem(r Requirement) string {
	const maxMemo = 256
	if _, ok := networks.Find(r.Network); !ok {
		return fmt.Sprintf("no cluster is named %s", quoted(r.Network))
	}
	if r.Scheme != "exact" {
		return "" // signed otherwise, or by nobody
	}
	switch {
	case r.paysToken(), exchange.HasStandIn(r.Asset):
		return "asset is the address that is to be paid"
	case exchange.PayToForm(r.Asset) != exchange.FormSolana:
		return "asset is no mint: " + quoted(r.Asset)
	case exchange.PayToForm(str(r.Extra, "feePayer")) != exchange.FormSolana:
		return "extra.feePayer is " + shown(r.Extra, "feePayer")
	case has(r.Extra, "memo") && (str(r.Extra, "memo") == "" || len(str(r.Extra, "memo")) > maxMemo):
		return fmt.Sprintf("extra.memo is no text of at most %d bytes", maxMemo)
	}
	return ""
}

// checksOfV2 are all that v2 asks: the checks of v1, of which it asks two in its own way, and its
// own. v1 itself stays as it is.
func checksOfV2() []Check {
	all := slices.Concat(checksV1, addedByV2)
	for i := range all {
		switch before := all[i].Run; all[i].Name {
		case "status-402":
			all[i].Run = func(v *View) Finding {
				if wall := v.wall(); wall != "" {
					return nothing("%s: this caller was turned away, which says nothing about the door", wall)
				}
				if v.inputsLacking() {
					return nothing("POST of an empty object answered %d: it was not asked as its buyers ask",
						v.Evidence.Status)
				}
				return before(v)
			}
		case "payment-required-header":
			all[i].Run = func(v *View) Finding {
				if v.headUnread() {
					return notJudged("the answer's head has more fields than are read here, and clients read more")
				}
				return before(v)
			}
		case "accepts":
			all[i].Run = func(v *View) Finding {
				if r, picked := v.chosen(); picked && r.incomplete() == "" {
					return pass("accepts[%d], which the stock client picks, is complete", r.Index)
				}
				return before(v)
			}
		}
	}
	return all
}
