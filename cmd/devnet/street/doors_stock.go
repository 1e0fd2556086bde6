package street

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
)

// stockDoors are doors at which a reading and what stock clients do went apart, or could.
func stockDoors() []Door {
	return slices.Concat(windowDoors(), domainDoors(), spellingDoors(), priceDoors(), besideDoors(), otherwiseDoors(),
		wallDoors(), postDoors())
}

const (
	signable = "transfer-method-signable"
	eurc     = "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"
)

// plainly is a door that sells and says nothing more than its inputs.
func plainly() Want { return ready("L5", "inputs-declared") }

// unsigned is what is wanted where the client signs nothing that settles.
func unsigned(check string, advisories ...string) Want {
	return fails("L3", check, append(advisories, "inputs-declared")...)
}

func member(name string, value any) func(*terms) {
	return func(t *terms) {
		if t.first()[name] = value; value == nil {
			delete(t.first(), name)
		}
	}
}

func domain(name, version any) func(*terms) {
	return func(t *terms) { t.extra()["name"], t.extra()["version"] = name, version }
}

// windowDoors give a buyer more or less time.
func windowDoors() []Door {
	var rows []Door
	for _, w := range []struct {
		name    string
		seconds any
		good    bool
	}{{"absent", nil, false}, {"zero", 0, false}, {"negative", -60, false}, {"one", 1, false}, {"five", 5, false},
		{"half", 60.5, false}, {"text", "60", false}, {"true", true, false}, {"thirty", 30, true}, {"hour", 3600, true},
		{"day", 86400, true}, {"week", 604800, true}} {
		want := plainly()
		if !w.good {
			want = unsigned(signable)
		}
		rows = append(rows, selling("window-"+w.name, fmt.Sprintf("maxTimeoutSeconds is %v.", w.seconds), want,
			member("maxTimeoutSeconds", w.seconds)))
	}
	return rows
}

// domainDoors name the token otherwise, or another token.
func domainDoors() []Door {
	rows := []Door{
		selling("domain-sepolia", "The name that the token has on a test network.", unsigned(signable),
			domain("USDC", "2")),
		selling("domain-case", "The token's name in lower case.", unsigned(signable), domain("usd coin", "2")),
		selling("domain-space", "The token's name with a space behind it.",
			unsigned(signable), domain("USD Coin ", "2")),
		selling("domain-v1", "Version 1 of the token.", unsigned(signable), domain("USD Coin", "1")),
		selling("domain-number", "The token's version as a number.",
			unsigned(signable, "missing-eip712-domain-extra"), domain("USD Coin", 2)),
		selling("domain-version-missing", "No version of the token.",
			unsigned(signable, "missing-eip712-domain-extra"), domain("USD Coin", nil)),
		selling("token-of-polygon", "USDC of Polygon, on Base.", unsigned(signable),
			member("asset", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359")),
		selling("token-of-base", "USDC of Base, on Polygon.", unsigned(signable), member("network", "eip155:137")),
		selling("token-of-base-op", "USDC of Base, on OP Mainnet.", unsigned(signable), member("network", "eip155:10")),
		selling("token-short", "A token address that lacks a digit.", unsigned(signable),
			member("asset", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA0291")),
	}
	for _, a := range networks.Tokens() {
		switch a.Network {
		case "eip155:137", "eip155:42161", "eip155:43114":
			name := strings.TrimPrefix(a.Network, "eip155:")
			rows = append(rows, selling("domain-of-"+name, "USDC on "+a.Network+" under a name that it does not have.",
				unsigned(signable), func(t *terms) {
					t.accepts = []any{entry(a, "10000")}
					t.extra()["name"] = "USDC"
				}))
		}
	}
	return rows
}

// spellingDoors write what can be written in several ways.
func spellingDoors() []Door {
	usdc := networks.Tokens()[0].Address
	upper := "0x" + strings.ToUpper(usdc[2:])
	network := func(name, doc, id string, want Want) Door {
		return selling("network-"+name, doc, want, member("network", id))
	}
	return []Door{
		selling("asset-lower", "The token's address in lower case.", plainly(), member("asset", strings.ToLower(usdc))),
		selling("asset-upper", "The token's digits in upper case.", plainly(), member("asset", upper)),
		selling("asset-mixed", "The token's address in mixed case with a wrong checksum.",
			ready("L5", "inputs-declared", "asset-spelling"),
			member("asset", "0x833589FCD6eDb6E08f4c7C32D4f71b54bdA02913")),
		network("zero", "eip155:08453.", "eip155:08453", unsigned("network-mainnet "+signable)),
		network("hexadecimal", "eip155:0x2105.", "eip155:0x2105", unsigned("network-mainnet "+signable)),
		network("upper", "EIP155:8453.", "EIP155:8453", unsigned("network-mainnet")),
		network("foobar", "foobar:1.", "foobar:1", unsigned("network-mainnet")),
		network("bare", "A chain number alone.", "8453", unsigned("network-mainnet")),
		network("blank", "A name with a space behind it.", "eip155:8453 ", unsigned("network-mainnet")),
		network("stellar", "Stellar, which nobody here judges.", "stellar:pubnet", plainly().beyond()),
		network("aptos", "Aptos, which nobody here judges.", "aptos:1", plainly().beyond()),
		network("xrpl", "XRPL, which nobody here judges.", "xrpl:0", plainly().beyond()),
		selling("amount-noughts", "Noughts before the amount.", plainly(), member("amount", "00010000")),
		selling("amount-hexadecimal", "The amount in hexadecimal.",
			fails("L3", "amount-atomic", "amount-not-atomic", "inputs-declared").blameless(),
			member("amount", "0x2710")),
		selling("amount-blank", "The amount is a space.",
			fails("L3", "amount-atomic", "amount-not-atomic", "inputs-declared").blameless(), member("amount", " ")),
	}
}

// beyond is for terms that v2 cannot judge, at a door that answers as it should.
func (w Want) beyond() Want {
	w = w.notJudged()
	w.Level = "L3"
	return w
}

// priceDoors ask for what clients with their own limits do not pay unasked.
func priceDoors() []Door {
	price := func(name, amount string, advisories ...string) Door {
		return selling("price-"+name, "Asks for "+amount+" atomic units.", ready("L5", advisories...),
			member("amount", amount))
	}
	other := func(name, asset, title, version string) Door {
		return selling("token-"+name, "Sells for "+title+", which is in no client's table.",
			ready("L5", "inputs-declared", "token-outside-default-table"), func(t *terms) {
				t.first()["asset"] = asset
				domain(title, version)(t)
			})
	}
	return []Door{
		price("zero", "0", "inputs-declared", "price-zero"),
		price("one", "1", "inputs-declared"),
		price("dollar", "1000000", "inputs-declared"),
		price("above", "1000001", "above-default-client-cap", "inputs-declared"),
		price("five", "5000000", "above-default-client-cap", "inputs-declared"),
		other("eurc", eurc, "EURC", "2"),
		other("dai", "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb", "Dai Stablecoin", "1"),
		selling("flow-upfront", "Wants to be paid up front.",
			ready("L5", "settles-before-delivery", "inputs-declared"),
			func(t *terms) { t.extra()["paymentFlow"] = "upfront" }),
		selling("flow-unknown", "A flow that no client knows.", unsigned(signable),
			func(t *terms) { t.extra()["paymentFlow"] = "later" }),
	}
}

// besideDoors have an entry more, before the good one or behind it.
func besideDoors() []Door {
	usdc := networks.Tokens()[0]
	bad := []struct {
		name, member string
		value        any
		silent       bool // it is no business of a buyer's
		throws       bool // before the good one it is picked, or makes the client throw
		fails        string
	}{
		{"network", "network", "base", false, false, ""},
		{"foobar", "network", "foobar:1", false, false, ""},
		{"payto", "payTo", "shop.eth", false, true, "payto-payable"},
		{"amount", "amount", "0.01", false, true, "amount-atomic"},
		{"asset", "asset", "USDC", false, true, signable},
		{"window", "maxTimeoutSeconds", 0, false, true, signable},
		{"upto", "scheme", "upto", true, false, ""},
		{"batch", "scheme", "batch-settlement", true, false, ""},
		{"capture", "scheme", "auth-capture", true, false, ""},
		{"barter", "scheme", "barter", true, false, ""},
	}
	named := map[string]string{"upto": "spec-scheme-not-exact", "batch": "spec-scheme-not-exact",
		"capture": "spec-scheme-not-exact", "barter": "nonstandard-scheme", "payto": "payto-is-a-name",
		"amount": "amount-not-atomic"}
	var rows []Door
	for _, b := range bad {
		other := entry(usdc, "20000")
		other[b.member] = b.value
		var said []string
		if named[b.name] != "" {
			said = append(said, named[b.name])
		}
		said = append(said, "inputs-declared")
		before := ready("L5", said...)
		if !b.silent {
			said = append(said, "unpayable-entry")
		}
		rows = append(rows, selling("behind-"+b.name, "A bad entry behind a good one: "+b.member+".",
			ready("L5", said...), func(t *terms) { t.accepts = append(t.accepts, other) }))
		switch {
		case b.throws:
			before = fails("L3", b.fails, before.Advisories...)
		case !b.silent:
			before = ready("L5", said...)
		}
		rows = append(rows, selling("before-"+b.name, "A bad entry before a good one: "+b.member+".", before,
			func(t *terms) { t.accepts = append([]any{other}, t.accepts...) }))
	}
	for _, scheme := range []string{"upto", "batch-settlement", "auth-capture"} {
		want := ready("L5", "spec-scheme-not-exact", "inputs-declared").beyond()
		rows = append(rows, selling("only-"+scheme, "Sells by "+scheme+" alone.", want, func(t *terms) {
			t.first()["scheme"], t.extra()["assetTransferMethod"] = scheme, "permit2"
		}))
	}
	return append(rows, selling("before-testnet", "A test network before a real one.",
		fails("L3", "network-mainnet", "testnet-network", "inputs-declared").blameless(),
		func(t *terms) { t.accepts = append([]any{entry(networks.Tokens()[1], "10000")}, t.accepts...) }))
}

// otherwiseDoors are paid by other protocols.
func otherwiseDoors() []Door {
	macaroon := `L402 macaroon="AGIAJEemVQUTEyNCR0exk7ek90Cg==", invoice="lnbc100n1p3qqqqq"`
	alone := func(name, doc, header string, want Want) Door {
		return Door{Name: name, Doc: doc, Want: want, serve: func(v *visit) {
			v.ResponseWriter.Header().Set("Www-Authenticate", header)
			v.json(402, object{"error": "Payment required"})
		}}
	}
	return []Door{
		alone("l402", "Asks by L402 alone.", macaroon, unread().blameless()),
		alone("lsat", "Asks by LSAT, as L402 was called.", strings.Replace(macaroon, "L402", "LSAT", 1),
			unread().blameless()),
		alone("l402-without-invoice", "Asks by L402 and names no invoice.", `L402 macaroon="AGIAJEem"`, unread()),
		{Name: "l402-beside", Doc: "Asks by L402 and by x402.", Want: plainly(), serve: func(v *visit) {
			t := good(v)
			t.header.Set("Www-Authenticate", macaroon)
			v.answer402(t)
		}},
		{Name: "mpp-tempo", Doc: "Speaks MPP by the method tempo alone.",
			Want: unread().speaks(probe.ProtocolMPP).blameless(), serve: func(v *visit) {
				p := payment(v, func(p *mppParams) { p.method = "tempo" })
				v.ResponseWriter.Header().Set("Www-Authenticate", p.String())
				v.json(402, object{"error": "Payment required"})
			}},
	}
}

// wallDoors are behind something that does not let the walker in.
func wallDoors() []Door {
	walled := func(name, doc string, code int, header ...string) Door {
		return Door{Name: "wall-" + name, Doc: doc, Want: challenged(), serve: status(code, header...)}
	}
	slash := func(name string, code int) Door {
		return Door{Name: "slash-" + name, Doc: fmt.Sprintf("A %d to the same path with a slash.", code),
			Want:   unlikeV1(ready("L5", "inputs-declared", "redirects-on-its-host"), "status-402"),
			serve:  status(code, "Location", "/"+path+"/"),
			beside: func(v *visit) bool { return v.URL.Path == "/"+path+"/" && answered(sells(), v) }}
	}
	captcha := walled("aws-captcha", "AWS WAF asks for a person.", 405, "X-Amzn-Waf-Action", "captcha")
	captcha.Want.V1, captcha.Want.FailedV1 = probe.MethodUnresolved, nil
	return []Door{
		captcha,
		walled("cloudflare", "Cloudflare asks for a browser.", 403, "Cf-Mitigated", "challenge"),
		walled("vercel", "Vercel asks for a browser.", 429, "X-Vercel-Mitigated", "challenge"),
		walled("aws", "AWS WAF asks for a browser.", 202, "X-Amzn-Waf-Action", "challenge"),
		walled("akamai", "Akamai denies.", 403, "Server", "AkamaiGHost"),
		{Name: "wall-before-terms", Doc: "A mark of a bot wall beside good terms.", Want: plainly(),
			serve: func(v *visit) {
				t := good(v)
				t.header.Set("Cf-Mitigated", "challenge")
				v.answer402(t)
			}},
		{Name: "agent-refused", Doc: "Refuses the walker by its name and serves others.",
			Want: notAsked(probe.FaultNone), serve: func(v *visit) {
				if strings.Contains(v.UserAgent(), "(+") {
					status(403)(v)
					return
				}
				sells()(v)
			}},
		slash("301", 301), slash("302", 302), slash("307", 307), slash("308", 308),
	}
}

// answered serves and says that it did.
func answered(serve func(*visit), v *visit) bool {
	serve(v)
	return true
}

// postDoors sell by POST, answer GET as stock stacks do, and declare it in a file or nowhere.
func postDoors() []Door {
	posting := func(name, doc string, want Want, refusal int, file string, content any) Door {
		return Door{Name: "posting-" + name, Doc: doc, Want: want, serve: func(v *visit) {
			if v.Method != http.MethodPost {
				status(refusal)(v)
				return
			}
			sells()(v)
		}, beside: func(v *visit) bool {
			if file == "" || v.URL.Path != file {
				return false
			}
			v.json(200, content)
			return true
		}}
	}
	describes := func(path string, server ...any) object {
		return object{"openapi": "3.1.0", "info": object{"title": "A shop", "version": "1"}, "servers": server,
			"paths": object{path: object{"post": object{"responses": object{"402": object{"description": "pay"}}}}}}
	}
	byPost := unlikeV1(plainly(), "status-402")
	unresolved := Want{V1: probe.MethodUnresolved, V2: probe.MethodUnresolved, Level: "L1",
		Fault: probe.FaultInstrument}
	by405 := plainly()
	by405.V1 = probe.MethodUnresolved
	lost := observed(notAsked(probe.FaultNone), "maybe-other-method")
	const wellKnown, openAPI = "/.well-known/x402", "/openapi.json"
	return []Door{
		posting("404-openapi", "express, hono, fastify: 404 to GET; OpenAPI declares POST.", byPost, 404, openAPI,
			describes("/"+path)),
		posting("405-openapi", "Next: 405 without Allow; OpenAPI declares POST.", by405, 405, openAPI,
			describes("/"+path)),
		posting("501-openapi", "501 to GET; OpenAPI declares POST.", by405, 501, openAPI, describes("/"+path)),
		posting("404-template", "OpenAPI declares POST of a template.", byPost, 404, openAPI, describes("/{good}")),
		posting("404-server", "OpenAPI declares POST below its server's path.", byPost, 404, openAPI,
			describes("", object{"url": "/" + path})),
		posting("404-well-known", "404 to GET; its own file declares POST as a line of text.", byPost, 404, wellKnown,
			object{"version": 1, "resources": []any{"POST /" + path}}),
		posting("404-items", "404 to GET; its own file declares POST in a manifest.", byPost, 404, wellKnown,
			object{"x402Version": 2, "items": []any{object{"resource": object{"url": "/" + path},
				"input": object{"method": "POST"}}}}),
		posting("404-elsewhere", "404 to GET; OpenAPI declares POST of another path.", lost, 404, openAPI,
			describes("/other")),
		posting("404-silent", "404 to GET, and nothing is declared.", lost, 404, "", nil),
		posting("405-silent", "405 to GET, and nothing is declared.", unresolved, 405, "", nil),
		posting("404-get", "404 to GET; OpenAPI declares GET.", lost, 404, openAPI,
			object{"openapi": "3.1.0", "paths": object{"/" + path: object{"get": object{}}}}),
		posting("404-html", "404 to GET; a page stands where OpenAPI would.", lost, 404, openAPI, "<html>"),
	}
}
