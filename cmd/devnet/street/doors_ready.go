package street

import (
	"io"
	"maps"
	"net"
	"net/http"
	"strings"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
)

// mainnet tells whether an asset's network is one for real money.
func mainnet(a networks.Token) bool {
	for _, n := range networks.Chains() {
		if n.ID == a.Network {
			return !n.Testnet
		}
	}
	return false
}

// cents is an amount of one cent in an asset.
func cents(a networks.Token) string { return "1" + strings.Repeat("0", a.Decimals-2) }

// readyDoors sell as they should: one for every token that a stock client pays in unasked, then the
// ways in which a door may leave things out.
func readyDoors() []Door {
	var rows []Door
	for _, a := range networks.Tokens() {
		if !mainnet(a) {
			continue
		}
		name := "ready-" + strings.ToLower(strings.NewReplacer(":", "-", ".", "").Replace(a.Network+"-"+a.Symbol))
		if strings.HasPrefix(a.Network, "solana:") {
			name = "ready-solana-" + strings.ToLower(a.Symbol)
		}
		rows = append(rows, Door{Name: name, Doc: "Sells for " + a.Symbol + " on " + a.Network + ".",
			Want:  ready("L5", "inputs-declared"),
			serve: sells(func(t *terms) { t.accepts = []any{entry(a, cents(a))} })})
	}
	return append(rows,
		Door{Name: "ready-many", Doc: "Sells on three rails, each with an offer.", Want: ready("L5", "inputs-declared"),
			serve: sells(func(t *terms) {
				t.accepts = nil
				for _, a := range networks.Tokens() {
					if a.Symbol == "USDC" && (a.Network == "eip155:8453" || a.Network == "eip155:137" ||
						a.Network == networks.Solana) {
						t.accepts = append(t.accepts, entry(a, "10000"))
					}
				}
			})},
		Door{Name: "ready-mirrored", Doc: "Repeats the terms in the body, word for word.",
			Want: ready("L5", "inputs-declared"), serve: func(v *visit) {
				t := good(v)
				c := t.challenge(v)
				t.body = func(*terms) any { return c }
				v.answer402(t)
			}},
		Door{Name: "ready-without-padding", Doc: "PAYMENT-REQUIRED is base64 without padding, which clients accept.",
			Want:  ready("L5", "inputs-declared"),
			serve: sells(func(t *terms) { t.padding = true; t.top["error"] = "Payment required." })},
		Door{Name: "ready-eip712-offer", Doc: "The offer is signed as typed data.",
			Want: ready("L5", "inputs-declared"), serve: sells(func(t *terms) {
				t.offers = func([]any) any {
					return []any{object{"format": "eip712", "acceptIndex": 0, "signature": "0x" +
						strings.Repeat("1b", 65),
						"payload": object{"version": 1,
							"resourceUrl": t.top["resource"].(object)["url"], "scheme": "exact",
							"network": t.first()["network"], "asset": t.first()["asset"], "payTo": payee,
							"amount": "10000", "validUntil": 0}}}
				}
			})},
		Door{Name: "ready-without-offers", Doc: "Signs no offers.",
			Want:  ready("L4", "inputs-declared", "no-signed-offers"),
			serve: sells(func(t *terms) { t.unsigned = true })},
		Door{Name: "ready-without-contract", Doc: "Has no discovery block.", Want: ready("L4", "no-bazaar-extension"),
			serve: sells(func(t *terms) { delete(t.ext, "bazaar") })},
		Door{Name: "ready-bare", Doc: "The least that sells: no offers, no discovery block.",
			Want:  ready("L4", "no-bazaar-extension", "no-signed-offers"),
			serve: sells(func(t *terms) { t.unsigned, t.ext = true, nil })},
		Door{Name: "ready-without-inputs", Doc: "Declares that it takes no input.", Want: ready("L5"),
			serve: sells(func(t *terms) {
				b := t.ext["bazaar"].(object)
				delete(b["info"].(object)["input"].(object), "queryParams")
				delete(b["schema"].(object)["properties"].(object)["input"].(object)["properties"].(object),
					"queryParams")
			})},
		Door{Name: "ready-retry-key", Doc: "Takes a retry key.",
			Want: ready("L5", "inputs-declared", "retry-key-declared"), serve: sells(func(t *terms) {
				t.ext["payment-identifier"] = object{"info": object{"required": false},
					"schema": object{"type": "object"}}
			})},
		Door{Name: "ready-dual", Doc: "Speaks x402 and MPP in one 402.",
			Want: ready("L5", "inputs-declared").speaks(probe.ProtocolX402, probe.ProtocolMPP), serve: func(v *visit) {
				t := good(v)
				t.header.Set("Www-Authenticate", payment(v, nil).String())
				v.answer402(t)
			}},
		Door{Name: "ready-http-10", Doc: "Speaks HTTP/1.0.", Want: ready("L5", "inputs-declared"),
			conn: raw(func(v *visit, c net.Conn) {
				io.WriteString(c, v.head("HTTP/1.0")+"\r\n{}")
			})},
	)
}

// methodDoors are asked with another method than GET.
func methodDoors() []Door {
	post := func(refusal func(*visit)) func(*visit) {
		return func(v *visit) {
			if v.Method != http.MethodPost {
				refusal(v)
				return
			}
			sells()(v)
		}
	}
	byPost := func(stage string) Want {
		w := ready("L5", "inputs-declared")
		w.V1, w.Stage = probe.MethodUnresolved, stage
		return w
	}
	unresolved := Want{V1: probe.MethodUnresolved, V2: probe.MethodUnresolved, Level: "L1",
		Fault: probe.FaultInstrument}
	return []Door{
		{Name: "post-by-allow", Doc: "Takes POST, and a 405 to GET says so.", Want: byPost(""),
			serve: post(status(405, "Allow", "OPTIONS, POST"))},
		{Name: "post-by-501", Doc: "Takes POST, and a 501 to GET says so.", Want: byPost(""),
			serve: post(status(501, "Allow", "post"))},
		{Name: "post-by-discovery", Doc: "Takes POST, answers 404 to GET, and its discovery file says so.",
			Want: byPost(""), Declares: "POST", serve: post(status(404))},
		{Name: "post-undeclared", Doc: "Takes POST and says so nowhere.", Want: unresolved, serve: post(status(405))},
		{Name: "post-not-so", Doc: "Declares POST and refuses it too.", Want: unresolved,
			serve: status(405, "Allow", "POST")},
		{Name: "put-only", Doc: "Takes PUT, which nobody asks with.", Want: unresolved,
			serve: status(405, "Allow", "PUT")},
		{Name: "get-in-spite", Doc: "Its discovery file says POST, and it answers GET with good terms.",
			Want: ready("L5", "inputs-declared"), Declares: "POST", serve: sells()},
	}
}

// nameDoors have names that software trips over.
func nameDoors() []Door {
	sold := func(d Door) Door {
		d.Want, d.serve = ready("L5", "inputs-declared"), sells()
		return d
	}
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." +
		strings.Repeat("d", 253-3*64-len("."+Domain)) + "." + Domain
	return []Door{
		sold(Door{Name: "name-md", Host: "a.md", Doc: "A host that looks like a Markdown file."}),
		sold(Door{Name: "name-com-br", Host: "a.com.br", Doc: "A host that looks like a compressed file."}),
		sold(Door{Name: "name-com", Host: "a.com", Doc: "The host beside the one that looks compressed."}),
		sold(Door{Name: "name-zip", Host: "a.zip", Doc: "A host that looks like an archive."}),
		sold(Door{Name: "name-json", Host: "index.json." + Domain, Doc: "A host that looks like a data file."}),
		sold(Door{Name: "name-long", Host: long, Doc: "A host of 253 characters."}),
		sold(Door{Name: "name-idna", Host: "xn--bcher-kva." + Domain, Spelled: "https://Bücher." + Domain + "/" + path,
			Doc: "A host with an umlaut."}),
		sold(Door{Name: "name-idna-cyrillic", Host: "xn--e1afmkfd.xn--p1ai", Spelled: "https://пример.рф./" + path,
			Doc: "A host that is Cyrillic to its end."}),
		sold(Door{Name: "name-underscore", Host: "my_shop." + Domain, Doc: "A host with an underscore."}),
		sold(Door{Name: "name-hyphens", Host: "r3---sn." + Domain, Doc: "A host with hyphens where IDNA has its own."}),
		sold(Door{Name: "name-digits", Host: "1." + Domain, Doc: "A host that begins with a number."}),
		sold(Door{Name: "name-deep", Host: strings.Repeat("a.", 60) + Domain, Doc: "A host of 62 labels."}),
	}
}

// payment is an MPP challenge, good but for a change of its parameters or of its request; see
// mppDoors.
func payment(v *visit, change func(p *mppParams)) *mppParams {
	p := &mppParams{id: "c2VjcmV0LWZyZWUtaWQ", realm: v.Host, method: "evm", intent: "charge", now: v.now(),
		request: object{
			"amount": "10000", "currency": networks.Tokens()[0].Address, "recipient": payee,
			"methodDetails": object{"chainId": 8453, "credentialTypes": []any{"authorization"}, "decimals": 6}}}
	p.expires = p.later(5)
	if change != nil {
		p.request = maps.Clone(p.request)
		change(p)
	}
	if p.request["recipient"] == payee {
		p.request["recipient"] = v.paidAt("eip155")
	}
	return p
}
