package probe

// singleProbeNote stands in every report.
const singleProbeNote = "One look, from one place, at one moment, paying nothing. A stock seller whose facilitator was down when it started answers its first request with 500 and recovers by itself: look again before you act on a failure."

// cannotTell is what no unpaid look can see.
func cannotTell() []string {
	return []string{
		"whether what is paid for is delivered, or is any good",
		"whether the door was or will be reachable at another time or from another place",
		"whether verification or settlement succeeds: balances, allowances, token accounts and facilitators are not asked",
		"whether the signatures of signed offers verify: their form alone was judged",
		"who receives the money, and whether other doors share the address",
	}
}

// nextSteps says what to do with a verdict.
func nextSteps(verdict Verdict, version string) []string {
	switch verdict {
	case Ready:
		steps := []string{"Buyers: POST /api/before-you-pay/v1 says which entry your client would sign, or why it would not.", "Sellers: read the advisories; none of them changes the verdict."}
		if version == V1 {
			steps = append(steps, "POST /api/preflight/v2 asks whether the terms can be paid.")
		}
		return steps
	case Unreachable, NotProbed:
		return []string{"Look again in a few minutes.", "Sellers: see that name, certificate and port are right from outside your own network."}
	case MethodUnresolved:
		return []string{"Sellers: send Allow with the 405, or declare the method in /.well-known/x402 or /openapi.json; then POST /api/preflight/v2 can ask the door as it wants to be asked."}
	}
	return []string{"Buyers: do not pay at this door today.", "Sellers: remediation says what to change for each failed check; then look again.", "GET /defects.json names what these failures cost and what would refute them."}
}
