package street

import (
	"strings"

	"store.example/agentstore/corpus/networks"
)

// advisoryDoors are payable, and each gives cause for an observation.
func advisoryDoors() []Door {
	beside := func(change func(e object)) func(*terms) {
		return func(t *terms) {
			e := entry(networks.Tokens()[0], "10000")
			change(e)
			t.accepts = append(t.accepts, e)
		}
	}
	return []Door{
		selling("scheme-beside", "A scheme of its own beside exact.",
			ready("L5", "nonstandard-scheme", "inputs-declared"), beside(func(e object) { e["scheme"] = "barter" })),
		selling("upto-beside", "A metered payment beside exact.",
			ready("L5", "spec-scheme-not-exact", "inputs-declared"), beside(func(e object) {
				e["scheme"], e["extra"] = "upto", object{"assetTransferMethod": "permit2"}
			})),
		selling("upfront", "Takes the money before the good is made.",
			ready("L5", "settles-before-delivery", "inputs-declared"),
			func(t *terms) { t.extra()["paymentFlow"] = "upfront" }),
		selling("escrow", "Takes the money into escrow.", ready("L5", "settles-before-delivery", "inputs-declared"),
			func(t *terms) { t.extra()["paymentFlow"] = "escrow" }),
		selling("testnet-beside", "A test network beside a real one.",
			ready("L5", "testnet-network", "inputs-declared"),
			func(t *terms) { t.accepts = append(t.accepts, entry(networks.Tokens()[1], "10000")) }),
		selling("two-amounts", "An amount of version 1 beside another of version 2.",
			ready("L5", "conflicting-amounts", "inputs-declared"),
			func(t *terms) { t.first()["maxAmountRequired"] = "20000" }),
		selling("two-prices", "The body asks for more than the header.",
			ready("L5", "conflicting-amounts", "inputs-declared"), func(t *terms) {
				t.body = func(t *terms) any {
					dear := entry(networks.Tokens()[0], "20000")
					return object{"x402Version": 2, "accepts": []any{dear}}
				}
			}),
		selling("dear", "Asks for five dollars.", ready("L5", "above-default-client-cap", "inputs-declared"),
			func(t *terms) { t.first()["amount"] = "5000000" }),
		selling("other-rail-in-body", "The body asks on another network than the header.",
			ready("L5", "placement-mismatch", "inputs-declared"), func(t *terms) {
				t.body = func(t *terms) any {
					return object{"x402Version": 2, "accepts": []any{entry(networks.Tokens()[2], "10000")}}
				}
			}),
		selling("resource-elsewhere", "resource.url names an inner host.",
			ready("L5", "resource-host-mismatch", "inputs-declared"),
			func(t *terms) { t.top["resource"].(object)["url"] = "https://inner.example/paid" }),
		selling("resource-plain", "resource.url is plain http.",
			ready("L5", "resource-host-mismatch", "inputs-declared"), func(t *terms) {
				r := t.top["resource"].(object)
				r["url"] = "http" + strings.TrimPrefix(r["url"].(string), "https")
			}),
		selling("resource-silent", "Does not say what it sells.", ready("L5", "resource-description-absent",
			"inputs-declared"), func(t *terms) { t.top["resource"].(object)["description"] = "" }),
		selling("example-fails", "The example does not hold under its own schema.",
			ready("L4", "discovery-info-fails-schema", "inputs-declared"), func(t *terms) {
				t.ext["bazaar"].(object)["info"].(object)["input"].(object)["queryParams"] = object{"town": "Berlin"}
			}),
		selling("contract-of-post", "The input contract is that of POST, and GET is answered.",
			ready("L4", "inputs-declared"), func(t *terms) { t.ext["bazaar"] = bazaar("POST") }),
		selling("contract-missing", "A discovery block without a schema.", ready("L4", "no-input-contract"),
			func(t *terms) { delete(t.ext["bazaar"].(object), "schema") }),
		selling("offer-of-another-price", "The signed offer names another amount.",
			ready("L4", "offer-contradicts-challenge", "inputs-declared"), func(t *terms) {
				t.offers = func(offers []any) any { t.first()["amount"] = "20000"; return offers }
				t.top["accepts"] = t.accepts // the same objects, changed after they are signed
			}),
		selling("offers-in-body", "Signed offers stand in the body alone.",
			ready("L4", "inputs-declared", "signed-offers-not-in-challenge"), func(t *terms) {
				t.unsigned = true
				t.body = func(t *terms) any {
					offers := []any{object{"format": "jws", "signature": "a.b.c"}}
					return object{"x402Version": 2, "accepts": t.accepts,
						"extensions": object{"offer-receipt": object{"info": object{"offers": offers}}}}
				}
			}),
		selling("retry-key-in-cors", "Takes a retry key and says so to browsers alone.",
			ready("L5", "inputs-declared", "retry-key-not-in-challenge"), func(t *terms) {
				t.header.Set("Access-Control-Allow-Headers", "Content-Type, Idempotency-Key")
			}),
		selling("large-terms", "Terms of 17 kB, more than the head that a stock client reads.",
			fails("L3", "transfer-method-signable", "inputs-declared", "large-body"), func(t *terms) {
				t.top["error"] = strings.Repeat("Payment required. ", 900)
			}),
		selling("large-answer", "An answer of 100 kB.", ready("L5", "inputs-declared", "large-body"), func(t *terms) {
			t.body = func(*terms) any { return object{"page": strings.Repeat("lorem ipsum ", 9000)} }
		}),
	}
}
