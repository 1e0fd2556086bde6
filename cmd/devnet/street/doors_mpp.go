package street

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"store.example/agentstore/corpus/probe"
)

// mppParams is one challenge of the scheme Payment.
type mppParams struct {
	id, realm, method, intent, expires string
	request                            object
	now                                time.Time
	encoded                            string // instead of request
	more                               string // further parameters, as text
}

// String is the challenge as WWW-Authenticate has it; empty parameters are left out.
func (p *mppParams) String() string {
	if p.encoded == "" {
		p.encoded = base64.RawURLEncoding.EncodeToString(encode(p.request))
	}
	var parts []string
	for _, kv := range [][2]string{{"id", p.id}, {"realm", p.realm}, {"method", p.method}, {"intent", p.intent},
		{"request", p.encoded}, {"expires", p.expires}} {
		if kv[1] != "" {
			parts = append(parts, fmt.Sprintf("%s=%q", kv[0], kv[1]))
		}
	}
	return "Payment " + strings.Join(parts, ", ") + p.more
}

// later is a time so many minutes from now.
func (p *mppParams) later(minutes int) string {
	return p.now.UTC().Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339)
}

// mppDoors speak MPP alone, so both batteries of x402 fail them at the header, and what is wrong
// with the MPP challenge is an observation.
func mppDoors() []Door {
	add := func(name, doc, advisory string, change func(*mppParams)) Door {
		want := fails("L2", "payment-required-header", strings.Fields(advisory)...).speaks(probe.ProtocolMPP)
		return Door{Name: name, Doc: doc, Want: want, serve: func(v *visit) {
			v.ResponseWriter.Header().Set("Www-Authenticate", payment(v, change).String())
			v.ResponseWriter.Header().Set("Cache-Control", "no-store")
			v.json(402, object{"type": "about:blank", "title": "Payment Required", "status": 402})
		}}
	}
	set := func(name string, value any) func(*mppParams) {
		return func(p *mppParams) {
			if p.request[name] = value; value == nil {
				delete(p.request, name)
			}
		}
	}
	// paid is a challenge that is paid, or whose method nobody judges: x402 is not spoken, and that
	// is no fault.
	paid := func(d Door) Door {
		d.Want = d.Want.blameless()
		return d
	}
	silent := func(d Door) Door {
		d.Want.Protocols = nil
		return d
	}
	plain := paid(add("mpp-plain", "An MPP challenge without TLS.", "mpp-challenge-over-http", nil))
	plain.Plain, plain.Want.Level = true, "L0"
	return []Door{
		paid(add("mpp", "Speaks MPP alone, and well.", "", nil)),
		add("mpp-without-id", "No id.", "mpp-challenge-id", func(p *mppParams) { p.id = "" }),
		add("mpp-id-twice", "Two ids.", "mpp-challenge-id", func(p *mppParams) { p.more = `, id="other"` }),
		add("mpp-without-realm", "No realm.", "mpp-challenge-realm", func(p *mppParams) { p.realm = "" }),
		paid(add("mpp-method", "A method that nobody registered.", "mpp-method-unregistered",
			func(p *mppParams) { p.method = "barter" })),
		add("mpp-without-intent", "No intent.", "mpp-intent-unregistered-or-missing",
			func(p *mppParams) { p.intent = "" }),
		silent(add("mpp-undecodable", "A request that is no base64.", "mpp-request-undecodable",
			func(p *mppParams) { p.encoded = "{}" })),
		add("mpp-not-canonical", "A request whose names are out of order.", "mpp-request-not-canonical",
			func(p *mppParams) {
				p.encoded = base64.RawURLEncoding.EncodeToString([]byte(`{"recipient":"` + payee +
					`","currency":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","amount":"10000","methodDetails":{"chainId":8453}}`))
			}),
		paid(add("mpp-padded", "A request in padded base64.", "mpp-request-not-canonical", func(p *mppParams) {
			p.request["description"] = "x"
			for p.encoded = ""; !strings.HasSuffix(p.encoded, "="); p.encoded = base64.URLEncoding.EncodeToString(
				encode(p.request)) {
				p.request["description"] = p.request["description"].(string) + "x"
			}
		})),
		add("mpp-amount", "An amount with a point.", "mpp-amount-not-integer", set("amount", "0.01")),
		add("mpp-without-currency", "No currency.", "mpp-currency-unnamed", set("currency", nil)),
		add("mpp-without-recipient", "No recipient.", "mpp-recipient-missing", set("recipient", nil)),
		add("mpp-expired", "A challenge that had expired.", "mpp-challenge-expired-at-issue",
			func(p *mppParams) { p.expires = p.later(-60) }),
		plain,
	}
}
