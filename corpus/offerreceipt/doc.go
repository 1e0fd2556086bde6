// Package offerreceipt judges signed offers and receipts of any issuer (x402 extension
// offer-receipt): compact JWS and the EIP-712 form, offer or receipt detected, every check named.
// It also makes the fixture set with which others test their own verifiers.
//
// The artifact is the compact JWS itself, or the JSON object that a challenge or a settlement
// carries: {"format":"jws","signature":"…"} or {"format":"eip712","payload":{…},"signature":"0x…"}.
//
// An artifact conforms when every check passed that can fail it, its signature among them. What can
// merely be parsed does not conform: a key that could not be found leaves the signature
// unverifiable, and the verdict does_not_conform then says that nothing was shown, with
// key_resolution saying why.
//
//	c := Checker{Request: Request{Artifact: jws}, At: now}
//	report, next, err := c.Step(nil) // next asks for the did:web document, if one is needed
package offerreceipt
