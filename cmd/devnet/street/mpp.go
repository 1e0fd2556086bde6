package street

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"time"

	"store.example/agentstore/corpus/networks"
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

// mpp is a door that speaks MPP alone, so that both batteries of x402 fail it at the header, and
// what is wrong with the MPP challenge is an observation.
func mpp(change func(*mppParams)) func(*visit) {
	return func(v *visit) {
		v.ResponseWriter.Header().Set("Www-Authenticate", payment(v, change).String())
		v.ResponseWriter.Header().Set("Cache-Control", "no-store")
		v.json(402, object{"type": "about:blank", "title": "Payment Required", "status": 402})
	}
}

// payment is an MPP challenge, good but for a change of its parameters or of its request.
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
