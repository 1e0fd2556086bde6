package probe

import (
	"strings"

	"agentstore/corpus/networks"
)

func networkMainnet() Check {
	return Check{
		Name: "network-mainnet",
		Doc: Doc{
			Title:    "At least one entry is on a main network, named as in CAIP-2",
			Reason:   "Test tokens buy nothing, and a door that takes only them is a rehearsal. A network without a colon is version 1 spelling, which no version 2 client finds.",
			Citation: "CAIP-2; x402 v2, PaymentRequirements.network",
		},
		Fix:   "Offer a main network, such as eip155:8453 (Base) or " + networks.Solana + " (Solana).",
		After: "accepts",
		Since: "2026-08-23",
		Run: func(v *View) Finding {
			var seen []string
			for _, r := range v.accepts {
				if family(r.Network) == "" {
					seen = append(seen, quoted(r.Network)+" (no CAIP-2 name)")
					continue
				}
				if !testnet(r.Network) {
					return pass("%s", r.Network)
				}
				seen = append(seen, r.Network)
			}
			return fail("only %s", strings.Join(seen[:min(len(seen), 8)], ", "))
		},
	}
}
