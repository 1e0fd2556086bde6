package probe

// singleProbeNote stands in every report.
const singleProbeNote = "One look, from one place, at one moment, paying nothing. A stock seller whose facilitator " +
	"was down when it started answers its first request with 500 and recovers by itself: look again before you act " +
	"on a failure."

// cannotTell is what no unpaid look can see.
func cannotTell() []string {
	return []string{
		"whether what is paid for is delivered, or is any good",
		"whether the door was or will be reachable at another time or from another place",
		"whether the door serves other callers: one user agent was sent, and a door may refuse it and serve others",
		"whether verification or settlement succeeds: balances, allowances, token accounts and facilitators are not " +
			"asked",
		"whether the signatures of signed offers verify: their form alone was judged",
		"who receives the money, and whether other doors share the address",
	}
}

// nextSteps says what to do with a verdict.
func nextSteps(o outcome, v *View, version string) []string {
	again := []string{"Look again in a few minutes.",
		"Sellers: see that name, certificate and port are right from outside your own network."}
	switch o.verdict {
	case Ready:
		steps := []string{"Buyers: POST /api/before-you-pay/v1 says which entry your client would sign, or why it " +
			"would not.", "Sellers: read the advisories; none of them changes the verdict."}
		if version == V1 {
			steps = append(steps, "POST /api/preflight/v2 asks whether the terms can be paid.")
		}
		return steps
	case Unreachable:
		return again
	case NotProbed:
		switch o.reason {
		case ReasonChallenged:
			return []string{"Look again later: a bot wall answered in the door's place.",
				"Sellers: let programs reach the door; buyers are programs too."}
		case ReasonInputs:
			return []string{"Buyers: the door asks for its inputs before it asks for money; send those of your order.",
				"Sellers: answer 402 before the inputs are checked, so that who has none can read your terms; or say " +
					"check -method POST -data FILE."}
		case ReasonNotJudged:
			return []string{"Buyers: protocols and clients say what is known of the ways to pay here."}
		}
		return again
	case MethodUnresolved:
		return []string{"Sellers: send Allow with the 405, or declare POST in /.well-known/x402 or /openapi.json of " +
			"the same host; POST /api/preflight/v2 reads both after 404, 405 and 501, and then asks with POST."}
	}
	if v.othersUntried() {
		return []string{"Buyers: the door may take another method than GET, which it declares nowhere.",
			"Sellers: a door that takes POST says so in /.well-known/x402 or /openapi.json of the same host; " +
				"POST /api/preflight/v2 reads both after 404, 405 and 501."}
	}
	if v.paidOtherwise() || v.forgiven(o.failed) {
		return []string{"Buyers: protocols and clients say by what this door can be paid all the same.",
			"Sellers: remediation says what to change for each failed check; then look again."}
	}
	return []string{"Buyers: do not pay at this door today.",
		"Sellers: remediation says what to change for each failed check; then look again.",
		"GET /defects.json names what these failures cost and what would refute them."}
}
