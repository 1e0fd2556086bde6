package probe

func signedOffers() Check {
	return Check{
		Name: "signed-offers",
		Doc: Doc{
			Title:    "Signed offers have the form of a signed offer",
			Reason:   "An offer that cannot be taken apart binds nobody. Signatures are not verified by a probe: a well-formed offer is not thereby a verified one.",
			Citation: "x402 extensions: offer-receipt; RFC 7515, section 7.1",
		},
		Fix:   "Write each offer as {format: jws, signature: compact JWS with alg and kid} or {format: eip712, payload, signature of 65 bytes}, in unpadded base64url and plain hexadecimal.",
		After: "accepts",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			if !v.declares(offerReceipt) {
				return nothing("not declared")
			}
			list, ok := obj(v.extension(offerReceipt), "info")["offers"].([]any)
			if !ok {
				return fail("extensions.offer-receipt.info.offers is %s", shown(obj(v.extension(offerReceipt), "info"), "offers"))
			}
			if len(list) == 0 {
				return nothing("no offers")
			}
			for i, o := range readOffers(list) {
				if o.problem != "" {
					return fail("offer %d: %s", i, o.problem)
				}
			}
			return pass("%d, well-formed; signatures not verified", len(list))
		},
	}
}
