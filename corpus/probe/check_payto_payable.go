package probe

import (
	"fmt"

	"agentstore/corpus/exchange"
)

func paytoPayable() Check {
	return Check{
		Name: "payto-payable",
		Doc: Doc{
			Title:    "Every payTo is an address of its own network",
			Reason:   "A transfer to a name, to an address of another rail, to the zero address or to one with a broken checksum is refused by the wallet or lost.",
			Citation: "x402 schemes: exact (EVM, SVM); ERC-55; CAIP-10",
		},
		Fix:   "Put the receiving address itself into payTo: 0x and 40 hexadecimal digits (lower case or ERC-55) on eip155 networks, base58 of 32 bytes on solana networks.",
		After: "accepts",
		Since: "2026-08-23",
		Run: func(v *View) Finding {
			for _, r := range v.accepts {
				if problem := r.payToProblem(); problem != "" {
					return fail("accepts[%d]: %s", r.Index, problem)
				}
			}
			return pass("%d of %d", len(v.accepts), len(v.accepts))
		},
	}
}

// payToProblem says why an address cannot be paid on its network, "" when it can or when the network is of a family that
// is not judged.
func (r Requirement) payToProblem() string {
	form := r.PayToForm
	if len(r.PayToDigest) >= markLength && r.Asset == "[pay-to "+r.PayToDigest[:markLength]+"]" {
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
