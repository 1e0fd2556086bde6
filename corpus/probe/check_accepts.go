package probe

import (
	"slices"
	"strings"

	"agentstore/corpus/exchange"
)

func accepts() Check {
	return Check{
		Name: "accepts",
		Doc: Doc{
			Title:    "Every entry of accepts says scheme, network, amount, asset and payTo as strings",
			Reason:   "A client signs what these five say. One malformed entry can make a stock client throw away the whole offer, payable entries with it.",
			Citation: "x402 v2, PaymentRequirements",
		},
		Fix:   "List at least one entry, and write scheme, network, amount, asset and payTo as non-empty strings in each; amounts too.",
		After: "x402-version",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			list, ok := v.terms["accepts"].([]any)
			switch {
			case !ok:
				return fail("accepts is %s", shown(v.terms, "accepts"))
			case len(list) == 0:
				return fail("accepts is empty")
			}
			for _, r := range v.accepts {
				if r.fields == nil {
					return fail("accepts[%d] is no object", r.Index)
				}
				var bad []string
				for _, name := range []string{"scheme", "network", "amount", "asset"} {
					if str(r.fields, name) == "" {
						bad = append(bad, name)
					}
				}
				if slices.Contains([]string{"", exchange.FormNotAString, exchange.FormEmpty}, r.PayToForm) {
					bad = append(bad, "payTo")
				}
				if len(bad) > 0 {
					return fail("accepts[%d]: no text in %s", r.Index, strings.Join(bad, ", "))
				}
			}
			return pass("%d", len(list))
		},
	}
}
