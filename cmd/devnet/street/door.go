package street

import (
	"context"
	"encoding/base64"
	"encoding/json/v2"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
)

// path is where every door is.
const path = "paid"

// A Door is one row: what stands at an address, and what a look at it must say.
type Door struct {
	Name string // of the row, and of its host when Host is ""
	Host string // in ASCII
	// Spelled is the URL as a person would write it, where that is not the plain one.
	Spelled string
	Doc     string // what is wrong or right with it
	// Plain is for a door without TLS, on port 80.
	Plain bool
	// Slow is for a door that leaves the caller waiting until he gives up.
	Slow bool
	// Declares is the method that the host's own discovery file at /.well-known/x402 names.
	Declares string
	Want     Want

	serve     func(*visit)                                // over HTTP, nil for the doors below
	beside    func(*visit) bool                           // serves other paths of its host, and says whether it did
	conn      func(*visit, net.Conn)                      // after TLS
	wire      func(*visit, net.Conn)                      // before TLS, on a listener of its own
	cert      certFault                                   // what is wrong with the certificate
	lookup    func(context.Context) ([]netip.Addr, error) // instead of its addresses
	dial      func(context.Context) error                 // instead of a connection
	addresses []netip.Addr
	at        string // the path of a sight, which is no door
}

// Want is what a look at a door must say.
type Want struct {
	Refused    string // the code of the refusal, for a door that is not contacted; then nothing else is wanted
	V1, V2     probe.Verdict
	FailedV1   []string
	FailedV2   []string
	Advisories []string // under v2, in their order, all of them
	Level      string
	Fault      probe.Fault // under v2
	Stage      string      // where the last exchange stopped, "" for an answer that came whole
	Protocols  []string
}

// URL is the door's address.
func (d Door) URL() string {
	scheme := "https://"
	if d.Plain {
		scheme = "http://"
	}
	return scheme + d.Host + "/" + path
}

// Doors returns every row: those that sell for one token each, and those of rows.txt.
func Doors() []Door {
	all := append(tokenDoors(), written()...)
	for i := range all {
		if all[i].Host == "" {
			all[i].Host = all[i].Name + "." + Domain
		}
	}
	return all
}

// mainnet tells whether an asset's network is one for real money.
func mainnet(a networks.Token) bool {
	return slices.ContainsFunc(networks.Chains(),
		func(n networks.Chain) bool { return n.ID == a.Network && !n.Testnet })
}

// tokenDoors sell as they should, one for every token that a stock client pays in unasked.
func tokenDoors() []Door {
	var rows []Door
	for _, a := range networks.Tokens() {
		if !mainnet(a) {
			continue
		}
		name := "ready-" + strings.ToLower(strings.NewReplacer(":", "-", ".", "").Replace(a.Network+"-"+a.Symbol))
		if strings.HasPrefix(a.Network, "solana:") {
			name = "ready-solana-" + strings.ToLower(a.Symbol)
		}
		cent := "1" + strings.Repeat("0", a.Decimals-2)
		rows = append(rows, Door{Name: name, Doc: "Sells for " + a.Symbol + " on " + a.Network + ".",
			Want:  ready("L5", "inputs-declared"),
			serve: sells(func(t *terms) { t.accepts = []any{entry(a, cent)} })})
	}
	return rows
}

// v1Checks are the names that the frozen battery asks.
var v1Checks = []string{"reachable", "status-402", "payment-required-header", "x402-version", "accepts",
	"bazaar-extension", "signed-offers"}

// ready is what is wanted of a door that sells: under both batteries, on the highest level but for
// what is named.
func ready(level string, advisories ...string) Want {
	return Want{V1: probe.Ready, V2: probe.Ready, Advisories: advisories, Level: level, Fault: probe.FaultNone,
		Protocols: []string{probe.ProtocolX402}}
}

// fails is what is wanted of a door that answers 402 and fails checks.
func fails(level string, checks []string, advisories ...string) Want {
	w := Want{V1: probe.Ready, V2: probe.NotReady, FailedV2: checks, Advisories: advisories,
		Level: level, Fault: probe.FaultDoor, Protocols: []string{probe.ProtocolX402}}
	for _, name := range checks {
		if slices.Contains(v1Checks, name) {
			w.V1, w.FailedV1 = probe.NotReady, append(w.FailedV1, name)
		}
	}
	return w
}

// visit is one request to a door.
type visit struct {
	http.ResponseWriter
	*http.Request
	street *Street
	door   *Door
	role   *Role // who stands at the host, on a street with a play
}

// now is when the door is asked.
func (v *visit) now() time.Time { return v.street.Moment(v.door.Host) }

// url is the address under which the door was asked.
func (v *visit) url() string {
	scheme := "https://"
	if v.door.Plain {
		scheme = "http://"
	}
	return scheme + v.Host + "/" + path
}

func (v *visit) json(status int, body any) {
	v.ResponseWriter.Header().Set("Content-Type", "application/json")
	v.WriteHeader(status)
	v.ResponseWriter.Write(encode(body))
}

// encode writes JSON with its names in order.
func encode(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // the rows' own literals
	}
	return b
}

// object is any JSON object: rows spoil members in every way.
type object = map[string]any

// terms is a challenge before it is sent.
type terms struct {
	top      object // everything but accepts and extensions
	accepts  []any  // objects, but for rows that want it otherwise
	ext      object
	unsigned bool                   // no offers
	offers   func(offers []any) any // changes the signed offers
	header   http.Header            // further headers of the answer
	body     func(t *terms) any     // the body, {} by default
	padding  bool                   // base64 without padding
}

// good is a challenge with everything that a buyer may want: one way to pay, a signed offer, an
// input contract.
func good(v *visit) *terms {
	t := &terms{
		top: object{"x402Version": 2, "error": "Payment required",
			"resource": object{"url": v.url(), "description": "The weather of one city.",
				"mimeType": "application/json"}},
		accepts: []any{entry(networks.Tokens()[0], "10000")},
		ext:     object{"bazaar": bazaar(v.Method)},
		header:  http.Header{},
		body:    func(*terms) any { return object{} },
	}
	return t
}

// first is the first way to pay.
func (t *terms) first() object { return t.accepts[0].(object) }

// extra is what stands beside the first way to pay.
func (t *terms) extra() object { return t.first()["extra"].(object) }

// The accounts that would be paid. Nobody is known to hold their keys.
const (
	payee       = "0x00000000000000000000000000000000c0ffee01"
	payeeSolana = "CwNc9vCe6YLnfUxUcCDeLQN2URALGaY9uWJtm8J77X8C"
	feePayer    = "4YWunxjZ2pRGKZMcM346CNoY7XBqfSEhvFEhTRZKvcyL"
)

// entry is a way to pay in one token.
func entry(a networks.Token, amount string) object {
	e := object{"scheme": "exact", "network": a.Network, "amount": amount, "asset": a.Address, "payTo": payee,
		"maxTimeoutSeconds": 120, "extra": object{}}
	extra := e["extra"].(object)
	switch {
	case strings.HasPrefix(a.Network, "solana:"):
		e["payTo"], extra["feePayer"] = payeeSolana, feePayer
	case a.Method == "permit2":
		extra["assetTransferMethod"] = "permit2"
		fallthrough
	default:
		extra["name"], extra["version"] = a.Name, a.Version
	}
	return e
}

// bazaar declares one input, the city.
func bazaar(method string) object {
	city := object{"type": "object", "properties": object{"city": object{"type": "string"}}, "required": []any{"city"}}
	input := object{"type": "http", "method": method}
	rules := object{"type": object{"type": "string", "const": "http"},
		"method": object{"type": "string", "enum": []any{method}}}
	required := []any{"type", "method"}
	if method == http.MethodPost {
		input["bodyType"], input["body"] = "json", object{"city": "Berlin"}
		rules["bodyType"], rules["body"] = object{"type": "string", "enum": []any{"json"}}, city
		required = append(required, "bodyType", "body")
	} else {
		input["queryParams"], rules["queryParams"] = object{"city": "Berlin"}, city
	}
	return object{
		"info": object{"input": input, "output": object{"type": "json", "example": object{"celsius": 21}}},
		"schema": object{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
			"required": []any{"input"},
			"properties": object{"input": object{"type": "object", "properties": rules, "required": required,
				"additionalProperties": false}, "output": object{"type": "object"}}},
	}
}

// signed returns an offer for each way to pay, as a stock seller signs them.
func (t *terms) signed(v *visit) []any {
	offers := []any{}
	resource, _ := t.top["resource"].(object)
	for i, a := range t.accepts {
		e, ok := a.(object)
		if !ok {
			continue
		}
		text := func(o object, name string) string { s, _ := o[name].(string); return s }
		jws, err := attest.SignOffer(v.street.seller, attest.DIDURL(v.Host, v.street.seller.KID()),
			attest.Offer{Version: 1, ResourceURL: text(resource, "url"),
				Scheme: text(e, "scheme"), Network: text(e, "network"), Asset: text(e, "asset"),
				PayTo: text(e, "payTo"), Amount: text(e, "amount"), ValidUntil: v.now().Unix() + 120})
		if err != nil {
			panic(err) // the rows' own literals
		}
		offers = append(offers, object{"format": "jws", "acceptIndex": i, "signature": jws})
	}
	return offers
}

// challenge is the object that is sent.
func (t *terms) challenge(v *visit) object {
	v.dress(t)
	c := maps.Clone(t.top)
	if _, spoiled := c["accepts"]; !spoiled {
		c["accepts"] = t.accepts
	}
	ext := maps.Clone(t.ext)
	if !t.unsigned {
		var offers any = t.signed(v)
		if t.offers != nil {
			offers = t.offers(offers.([]any))
		}
		ext["offer-receipt"] = object{"info": object{"offers": offers}, "schema": object{"type": "object"}}
	}
	if len(ext) > 0 {
		c["extensions"] = ext
	}
	return c
}

// answer402 sends terms in PAYMENT-REQUIRED.
func (v *visit) answer402(t *terms) {
	header := base64.StdEncoding.EncodeToString(encode(t.challenge(v)))
	if t.padding {
		header = strings.TrimRight(header, "=")
	}
	v.bare402(t, header)
}

// bare402 sends a 402 with these values of PAYMENT-REQUIRED.
func (v *visit) bare402(t *terms, values ...string) {
	h := v.ResponseWriter.Header()
	maps.Copy(h, t.header)
	for _, value := range values {
		h.Add("Payment-Required", value)
	}
	h.Set("Cache-Control", "no-store")
	v.json(http.StatusPaymentRequired, t.body(t))
}

// sells is a door whose terms are good but for the changes.
func sells(changes ...func(*terms)) func(*visit) {
	return func(v *visit) {
		t := good(v)
		for _, change := range changes {
			change(t)
		}
		v.answer402(t)
	}
}

// text is a door whose 402 holds these words in PAYMENT-REQUIRED.
func text(values ...string) func(*visit) {
	return func(v *visit) { v.bare402(good(v), values...) }
}
