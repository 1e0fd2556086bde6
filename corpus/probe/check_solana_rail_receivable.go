package probe

import (
	"fmt"

	"agentstore/corpus/exchange"
	"agentstore/corpus/networks"
)

func solanaRailReceivable() Check {
	return Check{
		Name: "solana-rail-receivable",
		Doc: Doc{
			Title:    "Every Solana entry can be received",
			Reason:   "A cluster under an unknown name makes the stock client throw for the whole offer. Without a fee payer the transaction has nobody to carry it, and a mint or fee payer that is no account makes it void. Whether the token account exists can be seen on chain only, not by a probe.",
			Citation: "x402 schemes: exact (SVM); CAIP-2 namespace solana",
		},
		Fix:   "Name the cluster by its genesis reference (" + networks.Solana + "), the mint as asset, and put the facilitator's fee payer into extra.feePayer; own a token account for each mint that is offered.",
		After: "accepts",
		Since: "2026-08-23",
		Run: func(v *View) Finding {
			n := 0
			for _, r := range v.accepts {
				if family(r.Network) != familySolana {
					continue
				}
				n++
				if problem := v.solanaProblem(r); problem != "" {
					return fail("accepts[%d]: %s", r.Index, problem)
				}
			}
			if n == 0 {
				return nothing("no Solana entry")
			}
			return pass("%d", n)
		},
	}
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
	case isMark(r.Asset):
		return "asset is the address that is to be paid"
	case exchange.PayToForm(r.Asset) != exchange.FormSolana:
		return "asset is no mint: " + quoted(r.Asset)
	case v.addressForm(str(r.Extra, "feePayer")) != exchange.FormSolana:
		return "extra.feePayer is " + shown(r.Extra, "feePayer")
	case has(r.Extra, "memo") && (str(r.Extra, "memo") == "" || len(str(r.Extra, "memo")) > maxMemo):
		return fmt.Sprintf("extra.memo is no text of at most %d bytes", maxMemo)
	}
	return ""
}
