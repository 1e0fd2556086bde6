package till

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
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

// quote is what is asked for a good: the entries of accepts, what was left out and why, all fixed by configuration.
type quote struct {
	accepts []rail.Requirement
	leftOut []leftOut
}

type leftOut struct {
	Network string `json:"network"`
	Name    string `json:"name"`
	Reason  string `json:"reason"`
}

// quote asks the minimum on every network, the first network first, then the higher amounts on the first network
// only. A network is offered where the price is at least twice its cost of settling; the first always (decisions §3).
func (t *Till) quote(g content.Good) quote {
	var q quote
	for i, r := range t.cfg.Rails {
		info := r.Info()
		if i > 0 && g.Price < 2*info.SettleCost {
			q.leftOut = append(q.leftOut, leftOut{info.Network, info.Name, fmt.Sprintf(
				"settling there costs about %s USDC, more than half the price", content.FormatUSDC(info.SettleCost))})
			continue
		}
		q.accepts = append(q.accepts, r.Requirement(g.Price))
	}
	for _, tier := range g.Tiers()[1:] {
		q.accepts = append(q.accepts, t.cfg.Rails[0].Requirement(tier.Amount))
	}
	return q
}

// cachedChallenge is a good's challenge for one UTC minute.
type cachedChallenge struct {
	minute    time.Time
	good      content.Good // as it was then
	title     string       // of the site
	quote     quote
	required  x402.Required
	body      []byte // of the 402, with a hole for the nonce
	challenge *x402.Challenge
}

// resourceURL is what a payment for a good is for: base_url + path, never the query.
func (t *Till) resourceURL(g content.Good) string { return t.cfg.BaseURL + "/api/buy/" + g.ID }

// suggestedKey is guessable on purpose and is never a secret: store, item and UTC minute (decisions §3).
func suggestedKey(item string, minute time.Time) string {
	return "store-" + item + "-" + minute.UTC().Format(suggestedMinute)
}

const suggestedMinute = "200601021504"

// suggestedAt is the minute for which a key was suggested. A client that read its terms late in a minute pays in the
// next one, so the key and not the clock says which minute it was.
func suggestedAt(item, key string) (time.Time, bool) {
	s, ok := strings.CutPrefix(key, "store-"+item+"-")
	if !ok {
		return time.Time{}, false
	}
	minute, err := time.Parse(suggestedMinute, s)
	return minute, err == nil
}

// challengeFor returns the good's challenge of this minute, made once for a good as it stands.
func (t *Till) challengeFor(g content.Good, now time.Time) (*cachedChallenge, error) {
	minute, title := now.UTC().Truncate(time.Minute), serviceName(t.cfg.Site.Now())
	if v, ok := t.challenges.Load(g.ID); ok {
		// The keeper may have changed the good meanwhile.
		if c := v.(*cachedChallenge); c.minute.Equal(minute) && c.title == title && reflect.DeepEqual(c.good, g) {
			return c, nil
		}
	}
	c := &cachedChallenge{minute: minute, good: g, title: title, quote: t.quote(g)}
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
			URL: t.resourceURL(g), Description: g.Description, MimeType: "application/json", ServiceName: title,
		},
		Accepts: c.quote.accepts,
		Extensions: map[string]x402.Extension{
			x402.ExtBazaar:    bazaar(g),
			x402.ExtOffers:    offerExt,
			x402.ExtPaymentID: x402.PaymentIDExtension(),
			x402.ExtChallenge: x402.ChallengeExtension(),
		},
	}
	if c.body, err = t.challengeBody(g, c, offers); err != nil {
		return nil, err
	}
	if c.challenge, err = x402.NewChallenge(&c.required, c.body); err != nil {
		return nil, err
	}
	t.challenges.Store(g.ID, c)
	return c, nil
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
}

type recoveryHow struct {
	How string `json:"how"`
}

func (t *Till) challengeBody(g content.Good, c *cachedChallenge, offers []x402.Offer) ([]byte, error) {
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
		Idempotency: suggestion(g, c.minute),
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

// suggestion is what every 402 says of idempotency.
func suggestion(g content.Good, at time.Time) idempotency {
	return idempotency{SuggestedKey: suggestedKey(g.ID, at), Header: "Idempotency-Key", WindowHours: int(slotWindow.Hours())}
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

// bazaar declares the true input contract of a good (x402 extension bazaar), as short as it can be said.
func bazaar(g content.Good) x402.Extension {
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
	query := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	input := map[string]any{"type": "http", "method": "GET"}
	inputRequired := []string{"type", "method"}
	if len(required) > 0 {
		query["required"] = required
		input["queryParams"] = example
		inputRequired = append(inputRequired, "queryParams")
	}
	// These marshal: they hold strings, maps and lists only.
	info, _ := json.Marshal(map[string]any{"input": input})
	schema, _ := json.Marshal(map[string]any{
		"type": "object", "required": []string{"input"},
		"properties": map[string]any{"input": map[string]any{
			"type": "object", "required": inputRequired, "additionalProperties": false,
			"properties": map[string]any{
				"type": map[string]string{"const": "http"}, "method": map[string]any{"enum": []string{"GET"}}, "queryParams": query,
			},
		}},
	})
	return x402.Extension{Info: info, Schema: schema}
}

// writeChallenge answers 402. It writes nothing to the ledger and reserves nothing.
func (t *Till) writeChallenge(w http.ResponseWriter, g content.Good, now time.Time) error {
	c, err := t.challengeFor(g, now)
	if err != nil {
		return err
	}
	var buf [x402.NonceLen]byte
	nonce := t.nonces.Append(buf[:0])
	h := w.Header()
	h[canonicalRequired] = []string{c.challenge.Header(nonce)}
	h["Content-Type"] = problemType
	h["Cache-Control"] = privateNoStore
	h["Content-Length"] = []string{strconv.Itoa(c.challenge.BodyLen())}
	w.WriteHeader(http.StatusPaymentRequired)
	_ = c.challenge.WriteBody(w, nonce) // the client went away; there is nobody to tell
	return nil
}

var (
	canonicalRequired = http.CanonicalHeaderKey(x402.HeaderRequired)
	problemType       = []string{"application/problem+json"}
	privateNoStore    = []string{"private, no-store"}
)

// freshTerms are a PAYMENT-REQUIRED that says why a presented payment was not taken, and the members of a challenge's
// body that say the same terms, beside those of problem details.
func (t *Till) freshTerms(g content.Good, reason string, now time.Time) (header string, members map[string]any, err error) {
	c, err := t.challengeFor(g, now)
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
	nonce := t.nonces.Append(nil)
	var body bytes.Buffer
	if err := ch.WriteBody(&body, nonce); err != nil {
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
	return ch.Header(nonce), members, nil
}
