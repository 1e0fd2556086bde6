package street

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
)

// checkDoors fail a check each, or two where one cannot be failed alone.
func checkDoors() []Door {
	return append(slices.Concat(statusDoors(), headerDoors(), termsDoors(), paymentDoors(), solanaDoors()),
		selling("everything", "Wrong in every way that terms can be.",
			fails("L3", "payto-payable amount-atomic network-mainnet transfer-method-signable",
				"testnet-network", "payto-is-a-name", "amount-not-atomic", "missing-eip712-domain-extra",
				"resource-host-mismatch", "resource-description-absent", "no-bazaar-extension", "no-signed-offers"),
			func(t *terms) {
				t.first()["payTo"], t.first()["amount"], t.first()["network"], t.first()["extra"] = "shop.eth", "1.5",
					"eip155:84532", object{}
				t.top["resource"], t.ext, t.unsigned = nil, nil, true
			}))
}

// statusDoors answer with another status than 402.
func statusDoors() []Door {
	return []Door{
		{Name: "status-200", Doc: "Gives the good away.", Want: notAsked(probe.FaultDoor), serve: status(200)},
		{Name: "status-204", Doc: "Answers with nothing.", Want: notAsked(probe.FaultDoor),
			serve: func(v *visit) { v.WriteHeader(204) }},
		{Name: "status-301", Doc: "Redirects to another path of the host.",
			Want:  observed(notAsked(probe.FaultDoor), "redirects-on-its-host"),
			serve: status(301, "Location", "/elsewhere")},
		{Name: "status-401", Doc: "Wants a login first.", Want: notAsked(probe.FaultDoor),
			serve: status(401, "WWW-Authenticate", "Bearer")},
		{Name: "status-403", Doc: "Forbids.", Want: notAsked(probe.FaultNone), serve: status(403)},
		{Name: "status-404", Doc: "Is not there.",
			Want: observed(notAsked(probe.FaultNone), "maybe-other-method"), serve: status(404)},
		{Name: "status-407", Doc: "A proxy on the way wants a login.", Want: notAsked(probe.FaultPath),
			serve: status(407)},
		{Name: "status-429", Doc: "Turns the walker away for asking too often.", Want: challenged(),
			serve: status(429, "Retry-After", "60")},
		{Name: "status-500", Doc: "Breaks.", Want: notAsked(probe.FaultDoor), serve: status(500)},
		{Name: "status-503", Doc: "Is down for repairs.", Want: notAsked(probe.FaultDoor), serve: status(503)},
		{Name: "status-418", Doc: "Is a teapot, with good terms beside it.",
			Want: observed(notAsked(probe.FaultDoor).speaks(probe.ProtocolX402), "inputs-declared"),
			serve: func(v *visit) {
				t := good(v)
				v.ResponseWriter.Header().Set("Payment-Required",
					base64.StdEncoding.EncodeToString(encode(t.challenge(v))))
				v.json(http.StatusTeapot, object{})
			}},
	}
}

// headerDoors spoil PAYMENT-REQUIRED itself.
func headerDoors() []Door {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	unread := unread()
	return []Door{
		{Name: "header-missing", Doc: "402 without terms.", Want: unread, serve: text()},
		{Name: "header-twice", Doc: "Two PAYMENT-REQUIRED headers, equal.", Want: unread, serve: func(v *visit) {
			value := base64.StdEncoding.EncodeToString(encode(good(v).challenge(v)))
			v.bare402(good(v), value, value)
		}},
		{Name: "header-empty", Doc: "An empty PAYMENT-REQUIRED.", Want: unread, serve: text("")},
		{Name: "header-json", Doc: "JSON without base64.", Want: unread, serve: text(`{"x402Version":2}`)},
		{Name: "header-url-alphabet", Doc: "base64 in the alphabet for URLs.",
			Want: fails("L2", "payment-required-header", "inputs-declared"), serve: func(v *visit) {
				t := good(v)
				t.top["error"] = "??>>??>>~~" // gives - and _
				v.bare402(t, base64.URLEncoding.EncodeToString(encode(t.challenge(v))))
			}},
		{Name: "header-duplicate-names", Doc: "JSON with a name twice.", Want: unread.blameless(),
			serve: text(b64(`{"x402Version":2,"x402Version":2,"accepts":[]}`))},
		{Name: "header-invalid-utf8", Doc: "JSON with bytes that are no UTF-8.", Want: unread.blameless(),
			serve: text(b64("{\"x402Version\":2,\"error\":\"\xff\xfe\"}"))},
		{Name: "header-raw-bytes", Doc: "A header value with bytes above ASCII.", Want: unread,
			serve: text("caf\xe9 \xff")},
		{Name: "header-array", Doc: "A JSON array.", Want: unread, serve: text(b64(`[{"x402Version":2}]`))},
		{Name: "header-two-values", Doc: "Two JSON values in one header.", Want: unread,
			serve: text(b64(`{"x402Version":2} {}`))},
		{Name: "header-nested", Doc: "JSON nested a thousand deep.", Want: observed(unread, "large-body").blameless(),
			serve: text(b64(strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000)))},
		{Name: "header-cut", Doc: "Terms that break off.", Want: unread, serve: func(v *visit) {
			c := encode(good(v).challenge(v))
			v.bare402(good(v), base64.StdEncoding.EncodeToString(c[:len(c)/2]))
		}},
	}
}

// termsDoors spoil the shape of the terms: the version, the ways to pay and the extensions.
func termsDoors() []Door {
	offer := func(change func(o object)) func(*terms) {
		return func(t *terms) {
			t.offers = func(offers []any) any { change(offers[0].(object)); return offers }
		}
	}
	return []Door{
		selling("version-1", "Says version 1 in the header of version 2.",
			fails("L2", "x402-version", "placement-mismatch", "inputs-declared").speaks(),
			func(t *terms) { t.top["x402Version"] = 1 }),
		selling("version-text", "Says its version as a text.", fails("L2", "x402-version", "inputs-declared").speaks(),
			func(t *terms) { t.top["x402Version"] = "2" }),
		selling("version-missing", "Says no version.", fails("L2", "x402-version", "inputs-declared").speaks(),
			func(t *terms) { delete(t.top, "x402Version") }),

		selling("accepts-empty", "No way to pay.", fails("L2", "accepts", "inputs-declared", "no-signed-offers"),
			func(t *terms) { t.accepts = []any{} }),
		selling("accepts-missing", "accepts is not there.", fails("L2", "accepts", "offer-contradicts-challenge",
			"inputs-declared"), func(t *terms) { t.top["accepts"] = nil }),
		selling("accepts-object", "accepts is an object.", fails("L2", "accepts", "offer-contradicts-challenge",
			"inputs-declared"), func(t *terms) { t.top["accepts"] = t.accepts[0] }),
		selling("accepts-text", "An entry of accepts is a text.", fails("L2", "accepts", "inputs-declared",
			"no-signed-offers"), func(t *terms) { t.accepts = []any{"exact"} }),
		selling("accepts-number", "The amount is a number.", fails("L2", "accepts", "amount-not-atomic",
			"inputs-declared").blameless(), func(t *terms) { t.first()["amount"] = 10000 }),
		selling("accepts-without-asset", "An entry without asset.", fails("L2", "accepts", "inputs-declared"),
			func(t *terms) { delete(t.first(), "asset") }),
		selling("accepts-second", "The second entry lacks a network, the first is good.",
			unlikeV1(ready("L5", "inputs-declared", "unpayable-entry"), "accepts"), func(t *terms) {
				second := entry(networks.Tokens()[0], "20000")
				delete(second, "network")
				t.accepts = append(t.accepts, second)
			}),

		selling("bazaar-array", "The discovery block is an array.",
			fails("L2", "bazaar-extension", "no-input-contract").blameless(),
			func(t *terms) { t.ext["bazaar"] = []any{} }),
		selling("bazaar-without-info", "The discovery block has no info.",
			fails("L2", "bazaar-extension", "inputs-declared").blameless(),
			func(t *terms) { delete(t.ext["bazaar"].(object), "info") }),

		selling("offers-object", "offers is an object.", fails("L2", "signed-offers", "inputs-declared",
			"no-signed-offers").blameless(), func(t *terms) { t.offers = func([]any) any { return object{} } }),
		selling("offers-form", "An offer in a form that nobody knows.",
			fails("L2", "signed-offers", "inputs-declared").blameless(),
			offer(func(o object) { o["format"] = "pgp" })),
		selling("offers-no-jws", "An offer whose signature is a word.",
			fails("L2", "signed-offers", "inputs-declared").blameless(),
			offer(func(o object) { o["signature"] = "signed" })),
		selling("offers-alg-none", "An offer with alg none.",
			fails("L2", "signed-offers", "inputs-declared").blameless(),
			offer(func(o object) {
				parts := strings.Split(o["signature"].(string), ".")
				o["signature"] = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"x"}`)) + "." +
					parts[1] +
					"." + parts[2]
			})),
		selling("offers-padded", "An offer in padded base64.",
			fails("L2", "signed-offers", "inputs-declared").blameless(),
			offer(func(o object) { o["signature"] = o["signature"].(string) + "==" })),
		selling("offers-short-eip712", "An offer as typed data with half a signature.",
			fails("L2", "signed-offers", "inputs-declared").blameless(), offer(func(o object) {
				o["format"], o["payload"], o["signature"] = "eip712", object{"version": 1},
					"0x"+strings.Repeat("00", 32)
			})),
	}
}

// paymentDoors have terms of the right shape, by which nobody can pay.
func paymentDoors() []Door {
	payTo := func(to string) func(*terms) { return func(t *terms) { t.first()["payTo"] = to } }
	amount := func(a string) func(*terms) { return func(t *terms) { t.first()["amount"] = a } }
	return []Door{
		selling("payto-name", "Wants to be paid at a name.", fails("L3", "payto-payable", "payto-is-a-name",
			"inputs-declared"), payTo("shop.eth")),
		selling("payto-wrong-rail", "A Solana account on Base.", fails("L3", "payto-payable", "payto-wrong-rail",
			"inputs-declared"), payTo(payeeSolana)),
		selling("payto-zero", "The zero address.", fails("L3", "payto-payable", "payto-not-an-address",
			"inputs-declared"), payTo("0x"+strings.Repeat("0", 40))),
		selling("payto-checksum", "An address with a wrong checksum.",
			fails("L3", "payto-payable", "payto-not-an-address", "inputs-declared").blameless(),
			payTo("0x70997970c51812dc3A010C7d01b50e0d17dc79C8")),
		selling("payto-short", "An address that lacks a digit.", fails("L3", "payto-payable", "payto-not-an-address",
			"inputs-declared"), payTo("0x70997970c51812dc3a010c7d01b50e0d17dc79c")),
		selling("payto-word", "A word.", fails("L3", "payto-payable", "payto-not-an-address", "inputs-declared"),
			payTo("me")),
		selling("payto-token", "The token itself.", fails("L3", "payto-payable", "inputs-declared"),
			func(t *terms) { t.first()["payTo"] = t.first()["asset"] }),

		selling("amount-decimal", "Writes dollars.", fails("L3", "amount-atomic", "amount-not-atomic",
			"inputs-declared"), amount("0.01")),
		selling("amount-dollar", "Writes a dollar sign.", fails("L3", "amount-atomic", "amount-not-atomic",
			"inputs-declared"), amount("$0.01")),
		selling("amount-negative", "Wants to pay the buyer.", fails("L3", "amount-atomic", "amount-not-atomic",
			"inputs-declared"), amount("-10000")),
		selling("amount-exponent", "Writes 1e4.", fails("L3", "amount-atomic", "amount-not-atomic", "inputs-declared"),
			amount("1e4")),
		selling("amount-huge", "More than fits into 256 bits.", fails("L3", "amount-atomic", "amount-not-atomic",
			"inputs-declared"), amount(strings.Repeat("9", 80))),

		selling("network-testnet", "Sells for test tokens alone.", fails("L3", "network-mainnet", "testnet-network",
			"inputs-declared").blameless(), func(t *terms) { t.accepts = []any{entry(networks.Tokens()[1], "10000")} }),
		selling("network-v1-name", "Names its network as version 1 did.",
			fails("L3", "network-mainnet", "inputs-declared"), func(t *terms) { t.first()["network"] = "base" }),

		selling("method-without-domain", "Leaves the token's name out.",
			fails("L3", "transfer-method-signable", "missing-eip712-domain-extra", "inputs-declared"),
			func(t *terms) { delete(t.extra(), "name") }),
		selling("method-unknown", "Names a transfer that nobody knows, and clients sign EIP-3009 for it.",
			ready("L5", "nonstandard-transfer-method", "inputs-declared"),
			func(t *terms) { t.extra()["assetTransferMethod"] = "iou" }),
		selling("method-scheme", "Has a scheme of its own, and no other.",
			fails("L3", "transfer-method-signable", "nonstandard-scheme", "inputs-declared"),
			func(t *terms) { t.first()["scheme"] = "barter" }),
		selling("method-asset", "asset is a symbol.", fails("L3", "transfer-method-signable", "inputs-declared"),
			func(t *terms) { t.first()["asset"] = "USDC" }),
		selling("method-chain", "The chain is a word.",
			fails("L3", "network-mainnet transfer-method-signable", "inputs-declared"),
			func(t *terms) { t.first()["network"] = "eip155:base" }),
		selling("method-upto", "Metered payment without the method that it needs.",
			fails("L3", "transfer-method-signable", "spec-scheme-not-exact", "inputs-declared").notJudged(),
			func(t *terms) { t.first()["scheme"] = "upto" }),
	}
}

// solanaDoors spoil a way to pay on Solana.
func solanaDoors() []Door {
	solana := func(change func(e object)) func(*terms) {
		return func(t *terms) {
			for _, a := range networks.Tokens() {
				if a.Network == networks.Solana && a.Symbol == "USDC" {
					e := entry(a, "10000")
					change(e)
					t.accepts = []any{e}
				}
			}
		}
	}
	const receivable = "solana-rail-receivable"
	return []Door{
		selling("solana-without-fee-payer", "Nobody carries the transaction.",
			fails("L3", receivable, "inputs-declared"), solana(func(e object) { e["extra"] = object{} })),
		selling("solana-fee-payer-evm", "The fee payer is an Ethereum address.",
			fails("L3", receivable, "inputs-declared"),
			solana(func(e object) { e["extra"] = object{"feePayer": payee} })),
		selling("solana-cluster", "Names the cluster mainnet.", fails("L3", receivable, "inputs-declared"),
			solana(func(e object) { e["network"] = "solana:mainnet" })),
		selling("solana-asset", "The mint is an Ethereum token.", fails("L3", receivable, "inputs-declared"),
			solana(func(e object) { e["asset"] = networks.Tokens()[0].Address })),
		selling("solana-payto-evm", "An Ethereum address on Solana.", fails("L3", "payto-payable", "payto-wrong-rail",
			"inputs-declared"), solana(func(e object) { e["payTo"] = payee })),
		selling("solana-memo", "A memo that is too long.", fails("L3", receivable, "inputs-declared"),
			solana(func(e object) { e["extra"].(object)["memo"] = strings.Repeat("m", 300) })),
		selling("solana-amount", "More than fits into 64 bits.", fails("L3", "amount-atomic", "amount-not-atomic",
			"inputs-declared"), solana(func(e object) { e["amount"] = fmt.Sprint(uint64(1)<<63) + "0" })),
	}
}
