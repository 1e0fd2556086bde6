package counter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// stockCeiling is the stock client's limit per payment, 1 USD.
const stockCeiling = content.USDC

// offerMinutes is how long a signed offer stands: the minute it was made in, and the time to pay.
const offerMinutes = time.Minute

// challengeKey names a challenge in the cache.
type challengeKey struct {
	item             string
	post, meta, hold bool
}

// cachedTerms are an offer's 402 for one UTC minute and one method, ready but for what differs
// between answers.
type cachedTerms struct {
	minute  time.Time
	site    *content.Site // whose offer it is: the keeper may change it meanwhile
	leftOut []till.LeftOut
	url     string // of the resource
	varying pay.Varying
	terms   []pay.Terms // one a protocol
	body    pay.Form    // without its last brace
}

// challengeFor returns the challenge of this minute for a quote, a method and a way of asking, made
// once for a site as it stands, and again when another network can settle than before.
func (c *Counter) challengeFor(q *till.Quote, post, meta bool, now time.Time) (*cachedTerms, error) {
	minute, key := now.UTC().Truncate(time.Minute), challengeKey{q.Offer.ID, post, meta, q.Offer.Hold}
	if v, ok := c.challenges.Load(key); ok {
		if ch := v.(*cachedTerms); ch.minute.Equal(minute) && ch.site == q.Site && slices.Equal(ch.leftOut, q.LeftOut) {
			return ch, nil
		}
	}
	ch := &cachedTerms{minute: minute, site: q.Site, leftOut: q.LeftOut}
	method := http.MethodGet
	if post {
		method = http.MethodPost
	}
	asked := c.asked(q, method, minute)
	if asked.Meta = meta; !meta {
		asked.SignIn = c.signInChains()
	}
	ch.url, ch.varying = asked.URL, pay.VaryingOf(asked.Accepts)
	for _, by := range c.protocols {
		t, err := by.Terms(asked)
		if err != nil {
			return nil, fmt.Errorf("terms of %s: %w", q.Offer.ID, err)
		}
		ch.terms = append(ch.terms, t)
	}
	body, err := c.challengeBody(q, ch.terms)
	if err != nil {
		return nil, err
	}
	ch.body = pay.NewForm(body)
	c.challenges.Store(key, ch)
	return ch, nil
}

// quote is an offer as protocols see it.
func (c *Counter) quote(o *till.Offer, method string) *pay.Quote {
	q := &pay.Quote{URL: c.BaseURL + o.Path, Description: o.Description, MediaType: "application/json", Method: method,
		OffersURL: c.BaseURL + OffersPath + "?item=" + url.QueryEscape(o.ID)}
	for _, in := range o.Inputs {
		q.Inputs = append(q.Inputs, pay.Input{Name: in.Name, Type: in.Type, Max: in.Max, Required: in.Required,
			Example: in.Example})
	}
	return q
}

// asked is a quote in full, as it stands for a minute.
func (c *Counter) asked(q *till.Quote, method string, minute time.Time) *pay.Quote {
	asked := c.quote(q.Offer, method)
	asked.Service, asked.Accepts, asked.Until = serviceName(q.Site), c.till.Accepts(q), minute.Add(offerMinutes)
	return asked
}

// unpaid is the 402 of one answer.
type unpaid struct {
	*cachedTerms
	fill pay.Fill
	body []byte // without its last brace
}

// unpaid makes the 402 of an answer to a request, now.
func (c *Counter) unpaid(r request, q *till.Quote) (*unpaid, error) {
	now := c.Now().UTC()
	cached, err := c.challengeFor(q, r.Method == http.MethodPost, r.Meta, now)
	if err != nil {
		return nil, err
	}
	nonce := c.nonces.New()
	ch := &unpaid{cachedTerms: cached, fill: pay.Fill{
		Nonce: nonce, Varying: cached.varying.Fill(nonce, cached.url), Key: till.Suggested(q.Fingerprint, now),
		At: now, Query: r.Inputs.Query, Body: r.Inputs.Body, Asks: r.Asks, Channel: r.channel,
	}}
	if !r.Meta {
		op := till.Operation{Method: http.MethodGet, Path: q.Offer.Path, Print: q.Fingerprint} // also of HEAD
		if r.Method == http.MethodPost {
			op.Method = r.Method
		}
		if ch.fill.SignIn, err = signInInfo(c.till.SignInTo(op)); err != nil {
			return nil, err
		}
	}
	ch.body = cached.body.Fill(ch.fill)
	if q.Bare {
		ch.body, err = appendInputs(ch.body, q.Offer)
	}
	return ch, err
}

// inputRequired is an input that has to come before anything is sold, told to whoever brought none.
type inputRequired struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Required  bool   `json:"required"` // false where another one may come in its place
	MaxLength int    `json:"max_length,omitzero"`
	Help      string `json:"help"`
	Example   string `json:"example,omitzero"`
}

// appendInputs appends inputs_required to the body of a 402: an offer's inputs that are required,
// or all where one of several is.
func appendInputs(b []byte, o *till.Offer) ([]byte, error) {
	all := []inputRequired{}
	required := slices.ContainsFunc(o.Inputs, func(in content.Input) bool { return in.Required })
	for _, in := range o.Inputs {
		if in.Required || !required {
			all = append(all, inputRequired{in.Name, in.Type, in.Required, in.Max, in.Help, in.Example})
		}
	}
	list, err := json.Marshal(all)
	if err != nil {
		return b, err
	}
	return pay.Member{Name: "inputs_required", Value: list}.Append(b), nil
}

// say puts the terms of every protocol beside the body. reason is why the payment that came was not
// taken, empty where none did.
func (c *Counter) say(ch *unpaid, r request, reason string) error {
	for i, t := range ch.terms {
		why := ""
		if r.came.row == &c.rows[i] {
			why = reason
		}
		said, err := t.Say(r.to, ch.fill, why, ch.body)
		if err == nil && i > 0 && !c.fits(r.to.Header, i) {
			said, err = t.Say(pay.Carrier{}, ch.fill, why, ch.body)
		}
		if err != nil {
			return err
		}
		ch.body = said
	}
	return nil
}

// maxTerms is how long the header fields of a 402 that say its terms may be together, in bytes.
// Proxies take 8 kB for a header as they come.
const maxTerms = 8000

// fits takes the terms of the i-th protocol out of a header that is too long with them, and reports
// whether it did not have to. The body has what the header has no room for.
func (c *Counter) fits(h http.Header, i int) bool {
	sum := 0
	for _, names := range c.fields[:i+1] {
		for _, name := range names {
			for _, v := range h[name] {
				sum += len(name) + len(": ") + len(v) + len("\r\n")
			}
		}
	}
	if sum <= maxTerms {
		return true
	}
	for _, name := range c.fields[i] {
		delete(h, name)
	}
	return false
}

// whole is the body.
func (ch *unpaid) whole() []byte { return append(ch.body, '}') }

// challengeBody is the 402's body: problem details and the terms in plain words. What follows is of
// the protocols. Types first, so that a reader sees what happened before the machine parts.
type challengeBody struct {
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Status      int         `json:"status"`
	Detail      string      `json:"detail"`
	Instance    string      `json:"instance"`
	Error       string      `json:"error"`
	Note        string      `json:"note"`
	Price       price       `json:"price"`
	Warning     string      `json:"warning"`
	LeftOut     []leftOut   `json:"left_out"`
	Idempotency idempotency `json:"idempotency"`
	Recovery    recoveryHow `json:"recovery"`
	NextSteps   []string    `json:"next_steps"`
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

type leftOut struct {
	Network string `json:"network"`
	Name    string `json:"name"`
	Reason  string `json:"reason"`
}

// leftOuts says of each network that is left out why.
func leftOuts(out []till.LeftOut) []leftOut {
	said := make([]leftOut, len(out))
	for i, o := range out {
		said[i] = leftOut{o.Network, o.Name, o.Reason}
		if o.Closed {
			said[i].Reason = "it is being checked after a restore"
		}
	}
	return said
}

// challengeBody is the body of a 402 but for what is of one answer alone and its last brace.
func (c *Counter) challengeBody(q *till.Quote, terms []pay.Terms) ([]byte, error) {
	o := q.Offer
	atomic := func(n int64) string { return strconv.FormatInt(n, 10) }
	var how, carriers, steps []string
	for _, t := range terms {
		w := t.Words()
		if w.How == "" {
			continue
		}
		how, carriers, steps = append(how, w.How), append(carriers, w.Payment), append(steps, w.Steps...)
	}
	b := challengeBody{
		Type: c.BaseURL + "/problems/payment_required", Title: "Payment required", Status: http.StatusPaymentRequired,
		Detail:   fmt.Sprintf("%s costs %s USDC. Nothing was charged and nothing is reserved.", o.Name, o.PriceUSDC()),
		Instance: o.Path, Error: "Payment required",
		Note:        strings.Join(how, " ") + " If the goods cannot be made, nothing is taken.",
		Warning:     ceilingWarning(o),
		Price:       price{USDC: o.PriceUSDC(), Atomic: atomic(o.Price())},
		LeftOut:     leftOuts(q.LeftOut),
		Idempotency: suggestion(),
		Recovery: recoveryHow{How: "Answer lost: send the identical request with the identical " +
			strings.Join(carriers, " or ") +
			" again; it is never charged twice. Without it: POST /api/claims/challenge, or " + HeaderSignIn + "."},
		NextSteps: steps,
	}
	if o.Hold {
		b.NextSteps = []string{"Pay with a stock x402 client of the scheme " + rail.SchemeCapture +
			" (AuthCaptureEvmScheme of @x402/evm): the escrow holds the money until the keeper has done the work, " +
			"and from extra.captureDeadline on you can take it back alone.",
			"To pay at once instead: GET " + c.BaseURL + c.till.AtOnce(o)}
	} else if held := c.till.HoldPath(o); held != "" {
		b.NextSteps = append(b.NextSteps, "To have the money held until the keeper has done the work: GET "+c.BaseURL+
			held+", x402 scheme "+rail.SchemeCapture)
	}
	if o.About != "" {
		b.NextSteps = append(b.NextSteps, "Read of it first, free: "+c.BaseURL+o.About)
	}
	for _, tr := range o.Tiers {
		b.Price.Tiers = append(b.Price.Tiers, tier{tr.Name, tr.USDC(), atomic(tr.Amount)})
	}
	out, err := api.Marshal(b)
	if err != nil {
		return nil, err
	}
	out = out[:len(out)-1]
	for _, t := range terms {
		for _, m := range t.Members() {
			out = m.Append(out)
		}
	}
	return out, nil
}

// ceilingWarning is what every 402 says of the stock client's ceiling.
func ceilingWarning(o *till.Offer) string {
	if o.Price() > stockCeiling {
		return fmt.Sprintf("A stock client refuses more than 1 USD per payment and will throw before it signs: at %s "+
			"USDC, raise maxAmountPerPayment or set spendControls: false. That is your decision.", o.PriceUSDC())
	}
	return "Within a stock client's ceiling of 1 USD per payment."
}

// serviceName is the site's title as the resource's serviceName allows it: 1 to 32 printable ASCII
// characters.
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

// anotherOne is how a buyer who wants the same thing twice gets it.
const anotherOne = "To buy a second one, send an Idempotency-Key of your own and a new payment."

// suggestion is what every 402 says of idempotency; the key is filled in.
func suggestion() idempotency {
	return idempotency{SuggestedKey: pay.KeyBlank, Header: "Idempotency-Key", WindowHours: int(till.SlotWindow.Hours()),
		Note: fmt.Sprintf("Two equal orders of one wallet within %d minutes are one. %s",
			int(till.SameOrder.Minutes()), anotherOne)}
}

// freshTerms puts terms beside the answer to a payment that was not taken, and returns the members
// of a challenge's body that say the same, beside those of problem details. reason is empty where
// the terms stand in the body alone.
func (c *Counter) freshTerms(r request, q *till.Quote, reason string) (map[string]any, error) {
	ch, err := c.unpaid(r, q)
	if err != nil {
		return nil, err
	}
	if reason != "" {
		if err := c.say(ch, r, reason); err != nil {
			return nil, err
		}
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(ch.whole(), &all); err != nil {
		return nil, err
	}
	members := make(map[string]any, len(all))
	for name, value := range all {
		if !problem.Own(name) {
			members[name] = value
		}
	}
	return members, nil
}
