package probe

import (
	"fmt"
	"slices"

	"agentstore/corpus/exchange"
)

func transferMethodSignable() Check {
	return Check{
		Name: "transfer-method-signable",
		Doc: Doc{
			Title:    "A stock client can sign the transfer that is asked for",
			Reason:   "EIP-3009 is signed under the token's EIP-712 name and version, which the challenge must bring; a method that no client knows cannot be signed at all. The client takes the first entry that survives its filters and tries no second one.",
			Citation: "x402 schemes: exact (EVM); EIP-712; EIP-3009; Permit2",
		},
		Fix:   `Put the token's own EIP-712 domain into extra, for USDC on Base {"name":"USD Coin","version":"2"}, or set extra.assetTransferMethod to "permit2"; use scheme "exact".`,
		After: "accepts",
		Since: "2026-08-23",
		Run: func(v *View) Finding {
			known := false
			for _, r := range v.accepts {
				if !slices.Contains(specSchemes(), r.Scheme) {
					continue // stock clients filter it out
				}
				known = true
				if problem := v.unsignable(r); problem != "" {
					return fail("accepts[%d]: %s", r.Index, problem)
				}
			}
			if !known {
				return fail("no entry has a scheme that clients know: %s", quoted(v.accepts[0].Scheme))
			}
			return pass("signable")
		},
	}
}

// specSchemes are the schemes with a published specification.
// Schemes are the schemes of x402 that have a specification.
func Schemes() []string { return specSchemes() }

func specSchemes() []string {
	return []string{"exact", "upto", "batch-settlement", "auth-capture"}
}

// transferMethod is how an EVM entry wants to be paid; eip3009 when it does not say.
func (r Requirement) transferMethod() string {
	if !has(r.Extra, "assetTransferMethod") {
		return "eip3009"
	}
	return str(r.Extra, "assetTransferMethod")
}

// unsignable says why no stock client can sign for an entry, "" when one can or when the entry's family is not judged.
func (v *View) unsignable(r Requirement) string {
	if family(r.Network) != familyEVM || r.Scheme != "exact" && r.Scheme != "upto" {
		return ""
	}
	switch method := r.transferMethod(); {
	case !isChainID(r.Network):
		return fmt.Sprintf("network %s has no chain number", quoted(r.Network))
	case v.addressForm(r.Asset) != exchange.FormEVM:
		return "asset is no token address: " + quoted(r.Asset)
	case method != "eip3009" && method != "permit2":
		return "extra.assetTransferMethod is " + shown(r.Extra, "assetTransferMethod")
	case r.Scheme == "upto" && method != "permit2":
		return "scheme upto needs extra.assetTransferMethod permit2"
	case method == "eip3009" && r.missingDomain() != "":
		return r.missingDomain()
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
