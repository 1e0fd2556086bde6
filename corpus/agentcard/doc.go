// Package agentcard judges agent cards of the A2A protocol, version 0.3.0: nineteen checks with
// states, bounded evidence, what to change, and gaps. It also reads the neighbours that are met in
// the
// wild, 0.2 and 1.0 and hybrids of both, so that it can say what a card is rather than only what it
// is not.
//
// A card's signature is not portable, because 0.3.0 defines no canonical form. All three forms in
// use are tried: F1, all members by RFC 8785; F2, that of the Python SDK 0.3; F3, that of A2A 1.0
// and its SDKs. One form that verifies makes a signature valid, and the report says which.
//
// One GET reads the card. The key of a signature is the one thing that is fetched beside it (kinds
// did and key). The two checks that would send a POST to the agent are not_checked unless they are
// asked for.
//
//	c := Checker{URL: "https://store.example/.well-known/agent-card.json"}
//	report, next, err := c.Step(nil)
package agentcard
