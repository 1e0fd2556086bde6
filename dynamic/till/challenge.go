package till

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentstore/content"
	"agentstore/corpus/attest"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/rail/x402"
)

// stockCeiling is the stock client's limit per payment, 1 USD.
const stockCeiling = content.USDC

// offerMinutes is how long a signed offer stands: the minute it was made in, and the time to pay.
const offerMinutes = time.Minute

// quote is what is asked for a good: the entries of accepts, what was left out and why.
type quote struct {
	accepts []rail.Requirement
	leftOut []leftOut
}

type leftOut struct {
	Network string `json:"network"`
	Name    string `json:"name"`
	Reason  string `json:"reason"`
}

// quote asks the minimum on every network that is not left out, in their order, then the higher amounts on the first of
// them only (decisions §3).
func (t *Till) quote(g content.Good, out []leftOut) quote {
	q := quote{leftOut: out}
	var first rail.Rail
	for _, r := range t.cfg.Rails {
		if slices.ContainsFunc(out, func(o leftOut) bool { return o.Network == r.Info().Network }) {
			continue
		}
		if first == nil {
			first = r
		}
		q.accepts = append(q.accepts, requirement(r, g, g.Price))
	}
	if first != nil {
		for _, tier := range g.Tiers()[1:] {
			q.accepts = append(q.accepts, requirement(first, g, tier.Amount))
		}
	}
	return q
}

// challengeKey names a challenge in the cache.
type challengeKey struct {
	item string
	post bool
}

// cachedChallenge is a good's challenge for one UTC minute and one method.
type cachedChallenge struct {
	minute    time.Time
	site      *content.Site // whose good it is: the keeper may change it meanwhile
	quote     quote
	required  x402.Required
	body      []byte // of the 402, with holes for the nonce and the suggested key
	challenge *x402.Challenge
}

// resourceURL is what a payment for a good is for: base_url + path, never the query.
func (t *Till) resourceURL(g content.Good) string { return t.cfg.BaseURL + "/api/buy/" + g.ID }

// challengeFor returns the good's challenge of this minute for a method, made once for a site as it stands, and again when
// another network can settle than before. It is an error for the client where none can.
func (t *Till) challengeFor(a asked, now time.Time) (*cachedChallenge, error) {
	g := a.good
	minute, out := now.UTC().Truncate(time.Minute), t.leftOut(g)
	key := challengeKey{g.ID, a.method == http.MethodPost}
	if v, ok := t.challenges.Load(key); ok {
		if c := v.(*cachedChallenge); c.minute.Equal(minute) && c.site == a.site && slices.Equal(c.quote.leftOut, out) {
			return c, nil
		}
	}
	c := &cachedChallenge{minute: minute, site: a.site, quote: t.quote(g, out)}
	switch {
	case len(c.quote.accepts) > 0:
	case t.allShut():
		return nil, closedError() // nobody should sign for what cannot be delivered
	default:
		return nil, nowhere(out)
	}
	offers, err := t.offers(g, c.quote, minute)
	if err != nil {
		return nil, err
	}
	offerExt, err := x402.OffersExtension(offers[0])
	if err != nil {
		return nil, err
	}
	c.required = x402.Required{
		X402Version: x402.Version,
		Error:       "Payment required",
		Resource: x402.Resource{
			URL: t.resourceURL(g), Description: g.Description, MimeType: "application/json", ServiceName: serviceName(a.site),
		},
		Accepts:    c.quote.accepts,
		Extensions: echoed(g, key.post),
	}
	c.required.Extensions[x402.ExtOffers] = offerExt
	if c.body, err = t.challengeBody(g, key.post, c, offers); err != nil {
		return nil, err
	}
	if c.challenge, err = x402.NewChallenge(&c.required, c.body); err != nil {
		return nil, err
	}
	t.challenges.Store(key, c)
	return c, nil
}

// echoed are the extensions of a good's challenge that a buyer has to send back as they were, if at all.
func echoed(g content.Good, post bool) map[string]x402.Extension {
	return map[string]x402.Extension{
		x402.ExtBazaar:    bazaar(g, post),
		x402.ExtPaymentID: x402.PaymentIDExtension(),
		x402.ExtChallenge: x402.ChallengeExtension(),
	}
}

// offers signs one offer for every entry of accepts. They stand until the buyer can no longer pay on them.
func (t *Till) offers(g content.Good, q quote, minute time.Time) ([]x402.Offer, error) {
	key := t.signer()
	out := make([]x402.Offer, len(q.accepts))
	for i, a := range q.accepts {
		jws, err := attest.SignOffer(key, t.kidURL(key), attest.Offer{
			Version: 1, ResourceURL: t.resourceURL(g), Scheme: a.Scheme, Network: a.Network, Asset: a.Asset, PayTo: a.PayTo,
			Amount: a.Amount, ValidUntil: minute.Add(offerMinutes).Unix() + int64(a.MaxTimeoutSeconds),
		})
		if err != nil {
			return nil, fmt.Errorf("signing an offer for %s: %w", g.ID, err)
		}
		out[i] = x402.Offer{Format: "jws", AcceptIndex: i, Signature: jws}
	}
	return out, nil
}

// challengeBody is the 402's body: problem details, the terms in plain words, and the header's object beside them.
// Types first, so that a reader sees what happened before the machine parts.
type challengeBody struct {
	Type        string                    `json:"type"`
	Title       string                    `json:"title"`
	Status      int                       `json:"status"`
	Detail      string                    `json:"detail"`
	Instance    string                    `json:"instance"`
	Error       string                    `json:"error"`
	Note        string                    `json:"note"`
	Price       price                     `json:"price"`
	Warning     string                    `json:"warning"`
	LeftOut     []leftOut                 `json:"left_out"`
	Idempotency idempotency               `json:"idempotency"`
	Recovery    recoveryHow               `json:"recovery"`
	NextSteps   []string                  `json:"next_steps"`
	X402Version int                       `json:"x402Version"`
	Resource    x402.Resource             `json:"resource"`
	Accepts     []rail.Requirement        `json:"accepts"`
	Offers      []x402.Offer              `json:"offers"`
	Extensions  map[string]x402.Extension `json:"extensions"`
}

type price struct {
	USDC   string `json:"usdc"`
	Atomic string `json:"atomic"`
	Tiers  []tier `json:"tiers"`
}

type tier struct {
	Name   string `json:"name"`
	USDC   string `json:"usdc"`
	Atomic string `json:"atomic"`
}

type idempotency struct {
	SuggestedKey string `json:"suggested_key"`
	Header       string `json:"header"`
	WindowHours  int    `json:"window_hours"`
	Note         string `json:"note"` // when two equal orders are one
}

type recoveryHow struct {
	How string `json:"how"`
}

func (t *Till) challengeBody(g content.Good, post bool, c *cachedChallenge, offers []x402.Offer) ([]byte, error) {
	atomic := func(n int64) string { return strconv.FormatInt(n, 10) }
	b := challengeBody{
		Type: t.cfg.BaseURL + "/problems/payment_required", Title: "Payment required", Status: http.StatusPaymentRequired,
		Detail:   fmt.Sprintf("%s costs %s USDC. Nothing was charged and nothing is reserved.", g.Name, g.PriceUSDC()),
		Instance: "/api/buy/" + g.ID, Error: "Payment required",
		Note: fmt.Sprintf("Sign one of the offers in accepts and send the same request again with %s. The goods are made first and your payment is settled after; if they cannot be made, nothing is taken.",
			x402.HeaderSignature),
		Warning:     ceilingWarning(g),
		Price:       price{USDC: g.PriceUSDC(), Atomic: atomic(g.Price)},
		LeftOut:     c.quote.leftOut,
		Idempotency: suggestion(),
		Recovery: recoveryHow{How: "If the answer is lost, send the identical request again with the identical " + x402.HeaderSignature +
			": it is recognised and never charged twice. Without it, prove your wallet at POST /api/claims/challenge and POST /api/claims."},
		NextSteps: []string{
			"Pay with a stock x402 client: it reads the " + x402.HeaderRequired + " header and pays accepts[0].",
			"Or run: store buy " + t.resourceURL(g),
			"Read the good first, free: " + t.cfg.BaseURL + "/menu/" + g.ID,
		},
		X402Version: x402.Version, Resource: c.required.Resource, Accepts: c.quote.accepts, Offers: offers, Extensions: c.required.Extensions,
	}
	if b.LeftOut == nil {
		b.LeftOut = []leftOut{}
	}
	for _, tr := range g.Tiers() {
		b.Price.Tiers = append(b.Price.Tiers, tier{tr.Name, tr.USDC(), atomic(tr.Amount)})
	}
	return json.Marshal(b)
}

// ceilingWarning is what every 402 says of the stock client's ceiling.
func ceilingWarning(g content.Good) string {
	if g.Price > stockCeiling {
		return fmt.Sprintf("A stock client refuses more than 1 USD per payment and will throw before it signs: at %s USDC, raise maxAmountPerPayment or set spendControls: false. That is your decision.", g.PriceUSDC())
	}
	return "A stock client refuses more than 1 USD per payment unless it is told otherwise; this price is within that."
}

// serviceName is the site's title as the resource's serviceName allows it: 1 to 32 printable ASCII characters.
func serviceName(s *content.Site) string {
	var b strings.Builder
	for _, r := range s.Config.Title {
		if r >= 0x20 && r <= 0x7e && b.Len() < 32 {
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "store"
	}
	return b.String()
}

// bazaar declares the true input contract of a good (x402 extension bazaar), as short as it can be said: in the query
// of a GET, or in the JSON body of a POST.
func bazaar(g content.Good, post bool) x402.Extension {
	type property struct {
		Type      string `json:"type"`
		MaxLength int    `json:"maxLength,omitempty"`
	}
	props := make(map[string]property)
	var required []string
	example := make(map[string]string)
	for _, in := range g.AllInputs() {
		props[in.Name] = property{in.Type, in.Max}
		if in.Required {
			required = append(required, in.Name)
			example[in.Name] = "…"
		}
	}
	contract := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	input := map[string]any{"type": "http", "method": http.MethodGet}
	described := map[string]any{
		"type": map[string]string{"const": "http"}, "method": map[string]any{"enum": []string{http.MethodGet}}, "queryParams": contract,
	}
	inputRequired := []string{"type", "method"}
	if len(required) > 0 {
		contract["required"] = required
	}
	switch {
	case post:
		input["method"], input["bodyType"], input["body"] = http.MethodPost, "json", example
		described["method"], described["bodyType"], described["body"] = map[string]any{"enum": []string{http.MethodPost}}, map[string]string{"const": "json"}, contract
		delete(described, "queryParams")
		inputRequired = append(inputRequired, "bodyType", "body")
	case len(required) > 0:
		input["queryParams"] = example
		inputRequired = append(inputRequired, "queryParams")
	}
	// These marshal: they hold strings, maps and lists only.
	info, _ := json.Marshal(map[string]any{"input": input})
	schema, _ := json.Marshal(map[string]any{
		"type": "object", "required": []string{"input"},
		"properties": map[string]any{"input": map[string]any{
			"type": "object", "required": inputRequired, "additionalProperties": false, "properties": described,
		}},
	})
	return x402.Extension{Info: info, Schema: schema}
}

// writeChallenge answers 402. It writes nothing to the ledger and reserves nothing.
func (t *Till) writeChallenge(w http.ResponseWriter, a asked, now time.Time) error {
	c, err := t.challengeFor(a, now)
	if err != nil {
		return err
	}
	fill := t.splice(a, now)
	h := w.Header()
	h[canonicalRequired] = []string{c.challenge.Header(fill)}
	h["Content-Type"] = problemType
	h["Cache-Control"] = privateNoStore
	h["Content-Length"] = []string{strconv.Itoa(c.challenge.BodyLen())}
	w.WriteHeader(http.StatusPaymentRequired)
	_ = c.challenge.WriteBody(w, fill) // the client went away; there is nobody to tell
	return nil
}

var (
	canonicalRequired = http.CanonicalHeaderKey(x402.HeaderRequired)
	problemType       = []string{"application/problem+json"}
	privateNoStore    = []string{"private, no-store"}
)

// freshTerms are a PAYMENT-REQUIRED that says why a presented payment was not taken, and the members of a challenge's
// body that say the same terms, beside those of problem details.
func (t *Till) freshTerms(a asked, reason string, now time.Time) (header string, members map[string]any, err error) {
	c, err := t.challengeFor(a, now)
	if err != nil {
		return "", nil, err
	}
	r := c.required
	r.Error = reason
	r.Extensions = maps.Clone(c.required.Extensions)
	ch, err := x402.NewChallenge(&r, c.body)
	if err != nil {
		return "", nil, err
	}
	fill := t.splice(a, now)
	var body bytes.Buffer
	if err := ch.WriteBody(&body, fill); err != nil {
		return "", nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body.Bytes(), &all); err != nil {
		return "", nil, err
	}
	members = make(map[string]any, len(all))
	for name, value := range all {
		if !problem.Own(name) {
			members[name] = value
		}
	}
	return ch.Header(fill), members, nil
}
