package street

import (
	"encoding/base64"
	"fmt"
	"strings"

	"store.example/agentstore/corpus/networks"
)

// changedRows are the rows of rows.txt whose terms are changed in a way that no line says.
func changedRows() map[string]func(*terms) {
	offer := func(change func(o object)) func(*terms) {
		return func(t *terms) {
			t.offers = func(offers []any) any { change(offers[0].(object)); return offers }
		}
	}
	body := func(make func(t *terms) any) func(*terms) { return func(t *terms) { t.body = make } }
	padded := func(n int) func(*terms) { return func(t *terms) { t.header.Set("X-Padding", strings.Repeat("a", n)) } }
	return map[string]func(*terms){
		"ready-many": func(t *terms) {
			t.accepts = nil
			for _, a := range networks.Tokens() {
				if a.Symbol == "USDC" && (a.Network == "eip155:8453" || a.Network == "eip155:137" ||
					a.Network == networks.Solana) {
					t.accepts = append(t.accepts, entry(a, "10000"))
				}
			}
		},
		"ready-without-padding": func(t *terms) { t.padding = true; t.top["error"] = "Payment required." },
		"ready-eip712-offer": func(t *terms) {
			t.offers = func([]any) any {
				return []any{object{"format": "eip712", "acceptIndex": 0, "signature": "0x" + strings.Repeat("1b", 65),
					"payload": object{"version": 1, "resourceUrl": t.top["resource"].(object)["url"],
						"scheme": "exact", "network": t.first()["network"], "asset": t.first()["asset"],
						"payTo": payee, "amount": "10000", "validUntil": 0}}}
			}
		},

		"accepts-empty":   func(t *terms) { t.accepts = []any{} },
		"accepts-missing": func(t *terms) { t.top["accepts"] = nil },
		"accepts-object":  func(t *terms) { t.top["accepts"] = t.accepts[0] },
		"accepts-text":    func(t *terms) { t.accepts = []any{"exact"} },
		"offers-object":   func(t *terms) { t.offers = func([]any) any { return object{} } },
		"offers-alg-none": offer(func(o object) {
			_, signed, _ := strings.Cut(o["signature"].(string), ".")
			o["signature"] = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"x"}`)) + "." + signed
		}),
		"offers-padded":          offer(func(o object) { o["signature"] = o["signature"].(string) + "==" }),
		"domain-version-missing": func(t *terms) { t.extra()["version"] = nil },
		"solana-memo":            func(t *terms) { t.extra()["memo"] = strings.Repeat("m", 300) },
		"everything": func(t *terms) {
			t.first()["payTo"], t.first()["amount"], t.first()["network"], t.first()["extra"] = "shop.eth", "1.5",
				"eip155:84532", object{}
			t.top["resource"], t.ext, t.unsigned = nil, nil, true
		},

		"testnet-beside": func(t *terms) { t.accepts = append(t.accepts, entry(networks.Tokens()[1], "10000")) },
		"before-testnet": func(t *terms) {
			t.accepts = append([]any{entry(networks.Tokens()[1], "10000")}, t.accepts...)
		},
		"two-prices": body(func(*terms) any {
			return object{"x402Version": 2, "accepts": []any{entry(networks.Tokens()[0], "20000")}}
		}),
		"other-rail-in-body": body(func(*terms) any {
			return object{"x402Version": 2, "accepts": []any{entry(networks.Tokens()[2], "10000")}}
		}),
		"resource-plain": func(t *terms) {
			r := t.top["resource"].(object)
			r["url"] = "http" + strings.TrimPrefix(r["url"].(string), "https")
		},
		"contract-of-post": func(t *terms) { t.ext["bazaar"] = bazaar("POST") },
		"offer-of-another-price": func(t *terms) {
			t.offers = func(offers []any) any { t.first()["amount"] = "20000"; return offers }
			t.top["accepts"] = t.accepts // the same objects, changed after they are signed
		},
		"offers-in-body": func(t *terms) {
			t.unsigned = true
			t.body = func(t *terms) any {
				offers := []any{object{"format": "jws", "signature": "a.b.c"}}
				return object{"x402Version": 2, "accepts": t.accepts,
					"extensions": object{"offer-receipt": object{"info": object{"offers": offers}}}}
			}
		},
		"large-terms":  func(t *terms) { t.top["error"] = strings.Repeat("Payment required. ", 900) },
		"large-answer": body(func(*terms) any { return object{"page": strings.Repeat("lorem ipsum ", 9000)} }),

		"head-16k":  padded(16 << 10),
		"head-100k": padded(100 << 10),
		"head-300-fields": func(t *terms) {
			for i := range 300 {
				t.header.Add("A", fmt.Sprint(i))
			}
		},
		"cookies": func(t *terms) {
			for i := range 100 {
				t.header.Add("Set-Cookie", fmt.Sprintf("a%d=b; Domain=%s", i, Domain))
			}
		},
		"terms-hostile": func(t *terms) {
			t.unsigned, t.accepts = true, nil
			for i := range 64 {
				unlike := string([]rune{rune(1 + i%7), rune(1 + i/7%7), rune(1 + i/49)})
				t.accepts = append(t.accepts, object{"scheme": unlike + "\u202e" + strings.Repeat("\x01", 24),
					"network": unlike + strings.Repeat("\x02", 45),
					"payTo":   fmt.Sprintf("0x%040x", 0xbad000+i)})
			}
		},
	}
}
