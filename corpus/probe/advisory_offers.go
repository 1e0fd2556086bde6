package probe

import "fmt"

func noSignedOffers() Advisory {
	return Advisory{
		Name: "no-signed-offers", Since: advisoriesSince,
		Doc: Doc{"No signed offers", "Without one a buyer cannot prove afterwards which terms were shown.", "x402 extensions: offer-receipt"},
		Fix: "Sign an offer for each entry of accepts and put it into extensions.offer-receipt.info.offers.",
		Run: func(v *View) string {
			if v.terms == nil || len(v.offers()) > 0 || v.offersInBody() > 0 {
				return ""
			}
			return "extensions.offer-receipt holds no offer"
		},
	}
}

func signedOffersNotInChallenge() Advisory {
	return Advisory{
		Name: "signed-offers-not-in-challenge", Since: advisoriesSince,
		Doc: Doc{"Signed offers stand in the body alone", "Stock clients read and keep the header's challenge, and so lose them.", "x402 extensions: offer-receipt"},
		Fix: "Put at least the offer of the first entry into PAYMENT-REQUIRED.",
		Run: func(v *View) string {
			if n := v.offersInBody(); v.terms != nil && len(v.offers()) == 0 && n > 0 {
				return fmt.Sprintf("%d in the body", n)
			}
			return ""
		},
	}
}

// offersInBody counts the offers of the body's copy of the challenge.
func (v *View) offersInBody() int {
	list, _ := obj(obj(obj(v.bodyForm, "extensions"), offerReceipt), "info")["offers"].([]any)
	if len(list) == 0 {
		list, _ = v.bodyForm["offers"].([]any)
	}
	return len(list)
}

func offerContradictsChallenge() Advisory {
	return Advisory{
		Name: "offer-contradicts-challenge", Since: advisoriesSince,
		Doc: Doc{"A signed offer and the challenge around it disagree", "One of the two is not what the seller means, and a dispute will turn on which. Compared are scheme, network, asset, amount, payTo and resource.", "x402 extensions: offer-receipt"},
		Fix: "Sign exactly the entries that are served, for the same resource, with a validity that has not run out.",
		Run: func(v *View) string {
			for i, o := range v.offers() {
				if o.problem != "" || o.payload == nil {
					continue
				}
				if said := v.contradiction(o); said != "" {
					return fmt.Sprintf("offer %d: %s", i, said)
				}
			}
			return ""
		},
	}
}

// offersCover reports whether every entry of accepts has a well-formed offer with its terms.
func (v *View) offersCover() bool {
	offers := v.offers()
	for _, r := range v.accepts {
		covered := false
		for _, o := range offers {
			covered = covered || o.problem == "" && r.offered(o)
		}
		if !covered {
			return false
		}
	}
	return len(v.accepts) > 0
}
