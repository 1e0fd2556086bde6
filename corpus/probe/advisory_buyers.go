package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/stockclient"
)

const buyersSince = "2026-11-23"

// defaultThrows is what the newest stock client throws here that was configured with nothing, ""
// where it signs.
func (v *View) defaultThrows() string {
	a := v.buys(stockclient.Model{})
	if a.Outcome != stockclient.WouldThrow {
		return ""
	}
	return a.Package + ", configured with nothing, throws: " + after("", v.thrown(a))
}

// buyerAdvisories say what some client would do otherwise than the one by which v2 judges.
var buyerAdvisories = []Advisory{
	{
		Name: "unpayable-entry", Since: buyersSince,
		Doc: Doc{"An entry beside the payable one that nobody can sign",
			"The stock client passes it over or never comes to it; clients that look at every entry give up.",
			"x402 v2, PaymentRequirements"},
		Fix: "Mend the entry or take it out.",
		Run: func(v *View) string {
			chosen, picked := v.chosen()
			for _, r := range v.accepts {
				if !picked || r.Index == chosen.Index {
					continue
				}
				if problem := v.problemOf(r); problem != "" {
					said := fmt.Sprintf("accepts[%d]: %s", r.Index, problem)
					if throws := v.defaultThrows(); throws != "" {
						said += "; " + throws
					}
					return said
				}
			}
			return ""
		},
	},
	{
		Name: "asset-spelling", Since: buyersSince,
		Doc: Doc{"A token address that is not written as ERC-55 or in lower case",
			"The stock client compares addresses by their bytes; others compare texts, or take a wrong checksum for " +
				"a wrong address.", "ERC-55"},
		Fix: "Write the token's address with the checksum of ERC-55.",
		Run: perEntry(func(v *View, r Requirement) string {
			if exchange.PayToForm(r.Asset) == exchange.FormEVMBadChecksum {
				return "asset " + quoted(r.Asset)
			}
			return ""
		}),
	},
	{
		Name: "token-outside-default-table", Since: buyersSince,
		Doc: Doc{"A token that the stock client does not pay in unasked",
			"Left alone, the stock client pays in the tokens of its own table alone and throws for others.",
			"stock x402 client, spendControls; table " + networks.Version},
		Fix: "Offer an entry in a token of the table first, such as USDC on Base.",
		Run: func(v *View) string {
			r, picked := v.chosen()
			token, _ := networks.FindToken(r.Network, r.Asset)
			if throws := v.defaultThrows(); picked && !token.Stock() && v.problemOf(r) == "" && throws != "" {
				return fmt.Sprintf("accepts[%d]: %s, and whether it takes such a signature is not judged; %s", r.Index,
					quoted(r.Asset), throws)
			}
			return ""
		},
	},
	{
		Name: "price-zero", Since: buyersSince,
		Doc: Doc{"The price is 0", "The stock client signs it, and a transfer of nothing settles; others refuse an " +
			"amount that is not above 0.", "x402 v2, PaymentRequirements.amount"},
		Fix: "Ask for an amount above 0, or answer without asking for payment.",
		Run: perEntry(func(_ *View, r Requirement) string {
			if r.Amount != "" && strings.Trim(r.Amount, "0") == "" {
				return "amount " + quoted(r.Amount) + ": @x402/fetch signs it"
			}
			return ""
		}),
	},
	{
		Name: "maybe-other-method", Since: buyersSince,
		Doc: Doc{"The door may take another method than GET",
			"Stock sellers answer 404, some 405, to GET where only POST is sold, and this one declares no method.",
			"RFC 9110, section 15.5.6; OpenAPI 3.1, paths"},
		Fix: `Declare the method on the door's own host: answer GET /.well-known/x402 with ` +
			`{"version":1,"resources":["POST /path/of/the/door"]}, or describe the path's operation post in ` +
			`/openapi.json.`,
		Run: func(v *View) string {
			if !v.othersUntried() || v.redirected {
				return ""
			}
			if v.filesRead {
				return "404, and neither /.well-known/x402 nor /openapi.json declares POST"
			}
			return "404, and no method is declared"
		},
	},
	{
		Name: "redirects-on-its-host", Since: buyersSince,
		Doc: Doc{"The door answers with a redirect to another path of its host",
			"Clients on fetch follow it and pay; others do not, and each purchase asks twice.",
			"RFC 9110, section 15.4"},
		Fix: "List the address to which the door redirects, or answer 402 at this one.",
		Run: func(v *View) string {
			if v.redirected {
				return "judged at " + v.Evidence.URL
			}
			return ""
		},
	},
}

// problemOf says why nobody can sign an entry, or why what is signed for it does not settle; ""
// when somebody can or when its family is not judged.
func (v *View) problemOf(r Requirement) string {
	if bad := r.incomplete(); bad != "" {
		return "no text in " + bad
	}
	if problem := cmp.Or(r.payToProblem(), r.amountProblem()); problem != "" {
		return problem
	}
	if problem := r.networkProblem(); problem != "" && !testnet(r.Network) {
		return problem
	}
	switch namespace := family(r.Network); {
	case slices.Contains(unjudgedFamilies, namespace), r.Scheme != "exact":
		return ""
	case namespace != familyEVM && namespace != familySolana:
		return "no client has anything registered for " + quoted(r.Network)
	}
	if problem := v.unsignable(r); problem != "" || family(r.Network) != familySolana {
		return problem
	}
	return v.solanaProblem(r)
}
