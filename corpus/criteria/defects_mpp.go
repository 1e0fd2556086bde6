package criteria

// mppDefect is a defect of an MPP challenge, which the advisory of the same name shows.
func mppDefect(id, title, asserts, costs, falsifiedBy, repair, buyer string) Defect {
	return Defect{ID: id, Title: title, Detectable: Unpaid, Signals: []string{id}, Asserts: asserts, Costs: costs,
		FalsifiedBy: falsifiedBy, RepairHint: repair, BuyerHint: buyer}
}

func defectsMPP() []Defect {
	return []Defect{
		mppDefect("mpp-challenge-id", "No usable challenge id",
			"A Payment challenge has no id, or a parameter stands twice.",
			"No credential can be bound to the challenge; one malformed challenge makes some clients drop the others.",
			"A challenge with exactly one non-empty id in the recorded header.",
			"Send one id, an HMAC over the other parameters.", "Skip the challenge."),
		mppDefect("mpp-challenge-realm", "No realm", "A Payment challenge has no realm.",
			"Clients that follow the draft refuse it.",
			"A realm in the recorded header.", "Send realm.", "Skip the challenge."),
		mppDefect("mpp-method-unregistered", "Unregistered method", "method is missing or has no published draft.",
			"No stock client can pay.",
			"A published draft of the method.", "Use a published method.", "Skip the challenge."),
		mppDefect("mpp-intent-unregistered-or-missing", "Unregistered or missing intent",
			"intent is missing or has no published draft.", "No stock client can pay.",
			"A published draft of the intent.", "Send intent charge for a single payment.", "Skip the challenge."),
		mppDefect("mpp-request-undecodable", "The request cannot be decoded",
			"request is not base64url of one strict JSON object.", "There are no terms to agree to.",
			"The same value decoded to an object by a stock client.", "Encode one object, each name once.",
			"Do not guess terms."),
		mppDefect("mpp-request-not-canonical", "The request is not canonical",
			"request is not RFC 8785 JSON in unpadded base64url.",
			"The echo of a stock client differs from what was sent, and payments are refused.",
			"The canonical form of the decoded request equal to what was sent.", "Encode with RFC 8785.",
			"A refusal after payment may be the door's fault: keep the challenge."),
		mppDefect("mpp-amount-not-integer", "The amount is no integer", "request.amount is not a string of digits.",
			"Clients throw or read another price.",
			"Digits only in the recorded request.", "Write base units.", "Do not convert."),
		mppDefect("mpp-currency-unnamed", "No currency", "request.currency is missing.",
			"Nobody can know what is owed.",
			"A currency in the recorded request.", "Send the token's address for method evm.", "Skip the challenge."),
		mppDefect("mpp-recipient-missing", "No recipient",
			"request.recipient is missing for a method that pays an address.", "There is nobody to pay.",
			"A recipient in the recorded request.", "Send recipient.", "Skip the challenge."),
		mppDefect("mpp-challenge-expired-at-issue", "Expired when served",
			"expires lies before the recorded time of the answer.", "Every payment is refused.",
			"A clock that puts the recorded time before expires.", "Set the clock; do not cache 402 answers.",
			"Ask again; do not sign for an expired challenge."),
		mppDefect("mpp-challenge-over-http", "Served over plain HTTP", "A Payment challenge came without TLS.",
			"Anyone on the way can change payee and price.",
			"A recorded exchange over https.", "Serve https alone.", "Do not pay."),
		mppDefect("mpp-header-unknown", "Another field for the credential",
			"header is neither absent nor Payment-Authorization.",
			"Clients that follow the draft pass the challenge over; others put a payment where it may be logged.",
			"header absent or Payment-Authorization in the recorded challenge.",
			"Send Payment-Authorization, or leave header out.", "Skip the challenge."),
	}
}
