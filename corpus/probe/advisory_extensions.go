package probe

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
)

const paymentIdentifier = "payment-identifier"

// extensionAdvisories are about what stands beside the terms: the resource, the extensions and the
// size of it all.
var extensionAdvisories = []Advisory{
	{
		Name: "resource-host-mismatch", Since: advisoriesSince,
		Doc: Doc{"The challenge is for another host",
			"Receipts, offers and catalogues are keyed by resource.url; behind a proxy it often names an inner host " +
				"or plain http.", "x402 v2, ResourceInfo.url"},
		Fix: "Configure the public base URL, so that resource.url is the https address that buyers call.",
		Run: func(v *View) string {
			if v.terms == nil {
				return ""
			}
			asked, err := url.Parse(v.Evidence.URL)
			if err != nil {
				return ""
			}
			named, err := url.Parse(v.resource())
			switch {
			case v.resource() == "":
				return "resource.url is " + shown(obj(v.terms, "resource"), "url")
			case err != nil || named.Host == "":
				return "resource.url is no absolute URL: " + quoted(v.resource())
			case !strings.EqualFold(named.Hostname(), asked.Hostname()):
				return fmt.Sprintf("asked %s, and resource.url names %s", quoted(asked.Hostname()),
					quoted(named.Hostname()))
			case !strings.EqualFold(named.Scheme, asked.Scheme):
				return fmt.Sprintf("asked over %s, and resource.url says %s", asked.Scheme, quoted(named.Scheme))
			}
			return ""
		},
	},
	{
		Name: "discovery-info-fails-schema", Since: advisoriesSince,
		Doc: Doc{"The bazaar example fails its own schema",
			"Facilitators validate info against schema and refuse to list what fails.",
			"x402 extensions: bazaar; JSON Schema 2020-12"},
		Fix: "Make extensions.bazaar.info valid under extensions.bazaar.schema, input and output both.",
		Run: (*View).bazaarViolation,
	},
	{
		Name: "resource-description-absent", Since: advisoriesSince,
		Doc: Doc{"Nothing says what is sold", "A buyer that reads only the challenge cannot tell what the money is " +
			"for.", "x402 v2, ResourceInfo.description"},
		Fix: "Say in resource.description what the buyer gets, in one sentence.",
		Run: func(v *View) string {
			if v.terms == nil || strings.TrimSpace(str(obj(v.terms, "resource"), "description")) != "" {
				return ""
			}
			return "resource.description is " + shown(obj(v.terms, "resource"), "description")
		},
	},
	{
		Name: "offer-contradicts-challenge", Since: advisoriesSince,
		Doc: Doc{"A signed offer and the challenge around it disagree",
			"One of the two is not what the seller means, and a dispute will turn on which. Compared are scheme, " +
				"network, asset, amount, payTo and resource.", "x402 extensions: offer-receipt"},
		Fix: "Sign exactly the entries that are served, for the same resource, with a validity that has not run out.",
		Run: (*View).contradictingOffer,
	},
	{
		Name: "no-bazaar-extension", Since: advisoriesSince,
		Doc: Doc{"No bazaar extension", "Catalogues of the bazaar kind will not list the door, and no input contract " +
			"stands in the challenge.", "x402 extensions: bazaar"},
		Fix: "Declare extensions.bazaar with info and schema.",
		Run: func(v *View) string {
			if v.terms == nil || v.declares("bazaar") {
				return ""
			}
			return "extensions.bazaar is absent"
		},
	},
	{
		Name: "inputs-declared", Since: advisoriesSince,
		Doc: Doc{"The door declares its inputs",
			"To the door's credit: a buyer can send the right input with the payment instead of paying for a refusal.",
			"x402 extensions: bazaar, schema"},
		Fix: "Nothing to put right.",
		Run: func(v *View) string {
			if c := v.contract(); len(c.parts) > 0 {
				return "the schema describes " + strings.Join(c.parts, ", ")
			}
			return ""
		},
	},
	{
		Name: "no-input-contract", Since: advisoriesSince,
		Doc: Doc{"A bazaar extension without an input contract",
			"The buyer must guess what to send, and a wrong guess is often refused after payment.",
			"x402 extensions: bazaar, schema"},
		Fix: "Describe the input in extensions.bazaar.schema.properties.input: the method, and queryParams or body " +
			"where there are any.",
		Run: func(v *View) string {
			if !v.declares("bazaar") || v.contract().declared {
				return ""
			}
			return "extensions.bazaar.schema describes no input"
		},
	},
	{
		Name: "no-signed-offers", Since: advisoriesSince,
		Doc: Doc{"No signed offers", "Without one a buyer cannot prove afterwards which terms were shown.",
			"x402 extensions: offer-receipt"},
		Fix: "Sign an offer for each entry of accepts and put it into extensions.offer-receipt.info.offers.",
		Run: func(v *View) string {
			if v.terms == nil || len(v.offers()) > 0 || v.offersInBody() > 0 {
				return ""
			}
			return "extensions.offer-receipt holds no offer"
		},
	},
	{
		Name: "signed-offers-not-in-challenge", Since: advisoriesSince,
		Doc: Doc{"Signed offers stand in the body alone",
			"Stock clients read and keep the header's challenge, and so lose them.", "x402 extensions: offer-receipt"},
		Fix: "Put at least the offer of the first entry into PAYMENT-REQUIRED.",
		Run: func(v *View) string {
			if n := v.offersInBody(); v.terms != nil && len(v.offers()) == 0 && n > 0 {
				return fmt.Sprintf("%d in the body", n)
			}
			return ""
		},
	},
	{
		Name: "retry-key-declared", Since: advisoriesSince,
		Doc: Doc{"The door takes a retry key",
			"To the door's credit: a buyer that repeats a request under one payment-identifier is not charged twice.",
			"x402 extensions: payment-identifier"},
		Fix: "Nothing to put right.",
		Run: func(v *View) string {
			if v.declares(paymentIdentifier) {
				return "extensions.payment-identifier is declared"
			}
			return ""
		},
	},
	{
		Name: "retry-key-not-in-challenge", Since: advisoriesSince,
		Doc: Doc{"A retry key that the challenge does not mention",
			"Buyers read the challenge; a key that is known from the body or from CORS alone is used by nobody.",
			"x402 extensions: payment-identifier; Idempotency-Key header field draft"},
		Fix: "Declare extensions.payment-identifier in PAYMENT-REQUIRED.",
		Run: func(v *View) string {
			switch {
			case v.terms == nil || v.declares(paymentIdentifier):
				return ""
			case has(obj(v.bodyForm, "extensions"), paymentIdentifier):
				return "payment-identifier is declared in the body alone"
			}
			words := strings.FieldsFunc(strings.ToLower(v.Evidence.List("Access-Control-Allow-Headers")),
				func(r rune) bool { return r == ',' || r == ' ' })
			if slices.Contains(words, "idempotency-key") {
				return "CORS allows Idempotency-Key, and the challenge does not say so"
			}
			return ""
		},
	},
	{
		Name: "large-body", Since: advisoriesSince,
		Doc: Doc{"A large answer to an unpaid request",
			"Clients in Node refuse responses whose head reaches 16 KiB, proxies buffer 4 to 8 KiB of it, and a body " +
				"of many pages is carried for nothing.", "undici maxHeaderSize; nginx proxy_buffer_size"},
		Fix: "Keep PAYMENT-REQUIRED under 7 kB and the unpaid body under 64 KiB: leave schemas and further offers " +
			"out first.",
		Run: func(v *View) string {
			const mostBody, mostHeader = 64 << 10, 7 << 10
			var said []string
			for _, c := range v.Evidence.Challenges {
				if c.From == exchange.FromHeader && c.Bytes > mostHeader {
					said = append(said, fmt.Sprintf("PAYMENT-REQUIRED has %d bytes", c.Bytes))
				}
			}
			if b := v.Evidence.Body; b.Truncated || b.Bytes > mostBody {
				said = append(said, fmt.Sprintf("the body has %s%d bytes",
					map[bool]string{true: "more than "}[b.Truncated], b.Bytes))
			}
			return strings.Join(said, "; ")
		},
	},
}

// contract is what a bazaar extension says about inputs.
type contract struct {
	declared bool     // there is a schema of the input
	parts    []string // of the input that the schema describes: queryParams, body, pathParams, inputSchema
	method   string   // info.input.method
}

func (v *View) contract() contract {
	bazaar := v.extension("bazaar")
	input := obj(obj(obj(bazaar, "schema"), "properties"), "input")
	c := contract{declared: input != nil, method: str(obj(obj(bazaar, "info"), "input"), "method")}
	for _, part := range []string{"queryParams", "body", "pathParams", "inputSchema"} {
		if has(obj(input, "properties"), part) {
			c.parts = append(c.parts, part)
		}
	}
	return c
}

// offersInBody counts the offers of the body's copy of the challenge.
func (v *View) offersInBody() int {
	list := items(obj(obj(obj(v.bodyForm, "extensions"), offerReceipt), "info"), "offers")
	if len(list) == 0 {
		list = items(v.bodyForm, "offers")
	}
	return len(list)
}

// offersCover reports whether every entry of accepts has a well-formed offer with its terms.
func (v *View) offersCover() bool {
	offers := v.offers()
	open := func(r Requirement) bool {
		return !slices.ContainsFunc(offers, func(o offer) bool { return o.problem == "" && r.offered(o) })
	}
	return len(v.accepts) > 0 && !slices.ContainsFunc(v.accepts, open)
}

func (v *View) bazaarViolation() string { return v.violates() }

func (v *View) contradictingOffer() string {
	for i, o := range v.offers() {
		if o.problem != "" || o.payload == nil {
			continue
		}
		if said := v.contradiction(o); said != "" {
			return fmt.Sprintf("offer %d: %s", i, said)
		}
	}
	return ""
}
