package probe

import (
	"math/big"
)

func amountAtomic() Check {
	return Check{
		Name: "amount-atomic",
		Doc: Doc{
			Title:    "Every amount is a whole number of atomic units",
			Reason:   "Amounts are digits of the token's smallest unit. A decimal point is read as a million times too little or makes the client throw, and then the payable entries beside it are lost too.",
			Citation: "x402 v2, PaymentRequirements.amount",
		},
		Fix:   `Write amounts as strings of digits in atomic units: 0.01 USDC is "10000".`,
		After: "accepts",
		Since: "2026-08-23",
		Run: func(v *View) Finding {
			for _, r := range v.accepts {
				if problem := r.amountProblem(); problem != "" {
					return fail("accepts[%d]: %s", r.Index, problem)
				}
			}
			return pass("%d of %d", len(v.accepts), len(v.accepts))
		},
	}
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
	if n, ok := new(big.Int).SetString(r.Amount[:min(len(r.Amount), most+1)], 10); len(r.Amount) > most || !ok || n.BitLen() > bits {
		return "amount does not fit into the token's unsigned integer"
	}
	return ""
}
