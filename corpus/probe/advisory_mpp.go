package probe

import "strconv"

const (
	mppSpec  = "draft-httpauth-payment-00"
	mppSince = "2026-09-01"
)

// mppRow is an observation of the first Payment challenge that find speaks about.
func mppRow(name, title, reason, fix string, find func(mppChallenge) string) Advisory {
	return Advisory{Name: name, Doc: Doc{title, reason, mppSpec}, Fix: fix, Since: mppSince, Run: func(v *View) string {
		for i, m := range v.mpp {
			if said := find(m); said != "" {
				return "Payment challenge " + strconv.Itoa(i) + ": " + said
			}
		}
		return ""
	}}
}

// mppAdvisories are about challenges of MPP.
var mppAdvisories = []Advisory{
	mppRow("mpp-challenge-id", "An MPP challenge without a usable id",
		"The credential echoes the id; without it no payment can be bound to the challenge.",
		"Send one id in each challenge, an HMAC over its other parameters.", mppChallenge.id),
	mppRow("mpp-challenge-realm", "An MPP challenge without a realm",
		"The realm is a required parameter and part of what is signed.",
		"Send realm, the host name by custom.", mppChallenge.realm),
	mppRow("mpp-method-unregistered", "An MPP method nobody registered",
		"Clients choose by method; one that they do not know is passed over.",
		"Use a method with a published draft, such as evm.", mppChallenge.method),
	mppRow("mpp-intent-unregistered-or-missing", "An MPP intent that is missing or that nobody registered",
		"Method and intent together select the client's code.",
		"Send intent, charge for a single payment.", mppChallenge.intent),
	mppRow("mpp-request-undecodable", "An MPP request that cannot be decoded",
		"The request holds the terms: amount, currency, recipient.",
		"Send request as base64url of one JSON object, each name once.", mppChallenge.undecodable),
	mppRow("mpp-request-not-canonical", "An MPP request that is not canonical",
		"Stock clients bring it into the form of RFC 8785 when they echo it, so a server that compares bytes or "+
			"recomputes the id finds another. Seen here are the alphabet, the order of names and the spelling of "+
			"numbers.",
		"Encode the request as RFC 8785 JSON in base64url without padding.", mppChallenge.notCanonical),
	mppRow("mpp-amount-not-integer", "An MPP amount that is no integer", "Amounts are strings of digits in base units.",
		"Write digits only.", mppChallenge.amount),
	mppRow("mpp-currency-unnamed", "An MPP request without a currency",
		"An amount of nothing in particular cannot be paid.",
		"Send currency, the token's address for method evm.", mppChallenge.currency),
	mppRow("mpp-recipient-missing", "An MPP request without a recipient",
		"The methods evm, solana, tempo and usdc pay an address, which must stand in the request.",
		"Send recipient.", mppChallenge.recipient),
	mppRow("mpp-challenge-expired-at-issue", "An MPP challenge that had expired when it was served",
		"Every payment made for it is refused. Compared with the recorded time of the look.",
		"Set expires minutes ahead of a clock that is right, and do not cache 402 answers.", mppChallenge.expired),
	mppRow("mpp-challenge-over-http", "An MPP challenge over plain HTTP",
		"Whoever stands between can change recipient and amount.",
		"Serve the door over https alone.", mppChallenge.plainHTTP),
}

// mppFieldAdvisories are about the parameter header of draft-httpauth-payment-02, which came later.
var mppFieldAdvisories = []Advisory{{
	Name: "mpp-header-unknown",
	Doc: Doc{"An MPP challenge that names another field", "A client that follows the draft takes the challenge for " +
		"one that it does not know; one that obeys sends its payment where it may be logged.",
		"draft-httpauth-payment-02"},
	Fix: "Send header=\"" + apart + "\", or leave header out.", Since: "2026-11-30",
	Run: mppRow("", "", "", "", mppChallenge.otherField).Run,
}}
