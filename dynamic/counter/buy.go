package counter

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

// Request is an order as it came, over whatever carries it.
type Request struct {
	Item string
	// Hold says that it came to the door at which what is paid is held.
	Hold bool
	// Method is that of the terms: GET, or POST for inputs in a JSON object.
	Method string
	// Payment is where a payment may stand; nil where none is taken.
	Payment pay.Fields
	// Asks is where a request says how it would pay; nil for nothing.
	Asks pay.Fields
	// SignIn are the SIGN-IN-WITH-X that came in place of a payment, of which there may be one; nil
	// where none is taken.
	SignIn []string
	// Keys are the idempotency keys that the carrier names, of which there may be one.
	Keys []string
	// Inputs are those of the order.
	Inputs *Inputs
	// Meta says that the answer goes out over MCP: what stands beside it is for _meta, not for a
	// header.
	Meta bool
	// Agent signed the request, nil for nobody; with Meta it signed the payment in it.
	Agent *route.Agent
	// Client is the address that it came from (route.Address).
	Client string
}

// signer names who signed the payment of a request and not merely the request: then its certificate
// says so. It is "" for nobody.
func (r Request) signer(row *pay.Row) string {
	if r.Agent == nil {
		return ""
	}
	if r.Meta {
		return r.Agent.Name
	}
	for _, p := range row.Params {
		if len(r.Payment.Values(p.Name)) > 0 && !r.Agent.Covers(strings.ToLower(p.Name)) {
			return ""
		}
	}
	return r.Agent.Name
}

// Answer is what a request is answered with.
type Answer struct {
	Status  int
	Type    string // media type of Body
	Body    []byte
	Carrier pay.Carrier // what stands beside it, also beside an error
	Replay  bool        // it was given to an earlier request
	Refund  bool        // nothing was sold: money went back
	of      *till.Purchase
}

// payment is one that came with a request, and its protocol; the zero value is none.
type payment struct {
	row *pay.Row
	by  pay.Protocol
	p   *pay.Presented // nil where it could not be read
}

// Buy answers a request in process, with the gates of every other. An error that is no
// *problem.Error is a fault of ours.
func (c *Counter) Buy(ctx context.Context, r Request) (*Answer, error) {
	a := &Answer{Status: http.StatusOK, Type: "application/json", Carrier: carrier(r.Meta)}
	ch, err := c.buy(ctx, r, a)
	if err != nil || ch == nil {
		return a, err
	}
	a.Status, a.Type, a.Body = http.StatusPaymentRequired, problem.ContentType, ch.whole()
	return a, nil
}

func carrier(meta bool) pay.Carrier {
	if meta {
		return pay.Carrier{Meta: make(pay.Meta)}
	}
	return pay.Carrier{Header: make(http.Header)}
}

// buy answers a request: with a delivery in a, or with the challenge whose body is still to be
// written, what stands beside it being in a already.
func (c *Counter) buy(ctx context.Context, r Request, a *Answer) (*unpaid, error) {
	key, badKey := idempotencyKey(r.Keys)
	order := till.Order{Item: r.Item, Hold: r.Hold, Key: key, BadKey: badKey, Client: r.Client}
	order.Inputs = func(o *till.Offer) (map[string]string, error) {
		r.Inputs.offer, r.Inputs.client = o, r.Client
		return c.readInputs(ctx, o, r.Inputs)
	}
	if !r.Meta { // a model is told at once what its call lacks
		order.Bare = r.Inputs.bare
	}
	came, presented, err := c.read(r)
	if err != nil {
		return nil, err
	}
	order.Payment = presented
	if order.SignIn = readSignIn(r.Method, r.SignIn); order.SignIn != nil && presented != nil {
		return nil, unfit(&pay.Unfit{Reason: "sign_in_beside_payment",
			Message: "There are a sign-in and a payment in this request. Send one of them."})
	}
	sale, err := c.till.Buy(ctx, order)
	q := request{came: came, Request: r, to: a.Carrier}
	if err != nil {
		return nil, c.problem(err, q)
	}
	if sale.Refunded != nil {
		return nil, c.refunded(a, came, sale.Refunded)
	}
	if sale.Quote == nil {
		return nil, c.delivered(a, came, sale)
	}
	ch, err := c.unpaid(q, sale.Quote)
	if err != nil {
		return nil, err
	}
	return ch, c.say(ch, q, "")
}

// read finds the payment that came with a request, in any protocol.
func (c *Counter) read(r Request) (payment, *till.Presented, error) {
	var came payment
	var out *till.Presented
	if r.Payment == nil {
		return came, nil, nil
	}
	for i, by := range c.protocols {
		p, err := by.Read(r.Payment)
		if p == nil && err == nil {
			continue
		}
		if out != nil {
			err = &pay.Unfit{Reason: "two_payments",
				Message: "There are payments of two protocols in this request. Send one."}
		}
		if u, ok := errors.AsType[*pay.Unfit](err); ok {
			return came, nil, unfit(u)
		}
		came = payment{&c.rows[i], by, p}
		out = &till.Presented{Protocol: c.rows[i].Name, Agent: r.signer(&c.rows[i])}
		if err != nil {
			if !errors.As(err, &out.Refusal) {
				return came, nil, err
			}
			continue
		}
		out.Accepted, out.Payload, out.Key, out.BadKey = p.Accepted, p.Payload, p.Key, p.BadKey
		out.Payer, out.Order, out.Shared = p.Payer, p.Order, p.Shared
		if c.nonces.Valid(p.Nonce) {
			out.Proof = hex.EncodeToString(p.Digest[:])
		}
		out.Match = func(o *till.Offer, accepts []rail.Requirement) (rail.Requirement, error) {
			q := c.quote(o, r.Method)
			q.Accepts, q.Query, q.Body, q.At = accepts, r.Inputs.Query, r.Inputs.Body, c.Now()
			return by.Match(p, q)
		}
	}
	if seen, at := pay.Misplaced(r.Payment); out == nil && seen != "" {
		came = payment{&c.rows[0], c.protocols[0], nil}
		out = &till.Presented{Protocol: c.rows[0].Name, Refusal: &rail.Refusal{Reason: "payment_not_read",
			Message: "this request has a payment in " + seen + ", which is not read; it is read in " + at}}
	}
	return came, out, nil
}

// delivered answers with what a purchase delivered, and its signed receipt beside it.
func (c *Counter) delivered(a *Answer, came payment, sale *till.Sale) error {
	// The receipt is in the body already; protocols carry it where their clients look.
	var d struct {
		Receipt string `json:"receipt"`
	}
	if err := json.Unmarshal(sale.Body, &d); err != nil {
		return err
	}
	p := sale.Purchase
	if came.by != nil && !sale.Unspent { // who signed in paid nothing now
		o := pay.Outcome{Success: true, Payer: p.Payment.Payer, Transaction: p.Tx(), Network: p.Payment.Network,
			Amount: p.Amount, At: p.SettledAt(), Receipt: d.Receipt}
		if s := p.Spent; s != nil {
			o.Amount = 0
			if s.Deposit != nil {
				o.Amount = rail.Atomic(s.Deposit.Amount)
			}
			o.Channel = &pay.Channel{State: s.State, Charged: s.Max, Amount: p.Amount}
		}
		err := came.by.Answer(a.Carrier, came.p, o)
		if err != nil {
			return err
		}
	}
	a.Body, a.Replay, a.of = sale.Body, sale.Replay, p
	if p.InEscrow() {
		a.Status = http.StatusAccepted // the order stands, and is not done
	}
	if a.Replay {
		a.Body = Replayed(sale.Body, p.DeliveredAt, anotherOne)
	}
	return nil
}

// refunded answers a payer whose channel was refunded, as stock sellers do.
func (c *Counter) refunded(a *Answer, came payment, row *channels.Row) (err error) {
	if a.Body, err = json.Marshal(Refunded{"Refund acknowledged", row.Channel.ID}); err != nil {
		return err
	}
	a.Refund = true
	return came.by.Answer(a.Carrier, came.p, pay.Outcome{Success: true, Payer: row.Channel.Payer,
		Transaction: row.Returned.Tx, Network: came.p.Accepted.Network, Amount: row.Returned.Amount,
		Channel: &pay.Channel{State: row.Seen, Charged: row.Charged}})
}

// Refunded is the body of the answer to a payer whose channel was refunded.
type Refunded struct {
	Message   string `json:"message"`
	ChannelID string `json:"channelId"`
}

// notReplay is how every stored body ends: its last field in the first answer.
var notReplay = []byte(`"idempotent_replay":false}`)

// Replayed is a stored body, marked as a repeat; another says how a second one is bought.
func Replayed(body []byte, first time.Time, another string) []byte {
	head, ok := bytes.CutSuffix(body, notReplay)
	if !ok {
		return body
	}
	return fmt.Appendf(bytes.Clone(head),
		`"idempotent_replay":true,"first_served_at":%q,"charged_now":false,"to_buy_another":%q}`,
		first.UTC().Format(time.RFC3339), another)
}

// serveBuy answers GET and POST /api/buy/{item_id}.
func (c *Counter) serveBuy(w http.ResponseWriter, r *http.Request) error {
	return c.Sell(w, r, r.PathValue("item_id"))
}

// serveHold answers GET and POST /api/hold/{item_id}. A commission is named by its request.
func (c *Counter) serveHold(w http.ResponseWriter, r *http.Request) error {
	item := r.PathValue("item_id")
	if _, is := goods.IsCommission(goods.CommissionPrefix + item); is {
		item = goods.CommissionPrefix + item
	}
	return c.sell(w, r, sold{item, true}, asItIs)
}

// Sell answers a request for an offer: the handler of every route that is paid for. A HEAD never
// pays (M8).
func (c *Counter) Sell(w http.ResponseWriter, r *http.Request, item string) error {
	return c.sell(w, r, sold{item: item}, asItIs)
}

// sold is what is asked for at a door, and whether what is paid is held.
type sold struct {
	item string
	hold bool
}

func asItIs(*http.Request, http.Header, *Answer) error { return nil }

// sell has a delivery changed into the form that was asked for.
func (c *Counter) sell(w http.ResponseWriter, r *http.Request, what sold,
	form func(*http.Request, http.Header, *Answer) error) error {
	q := Request{Item: what.item, Hold: what.hold, Method: r.Method, Keys: r.Header.Values("Idempotency-Key"),
		Inputs: &Inputs{Query: r.URL.RawQuery}, Asks: r.Header, Agent: route.Of(r).Agent,
		Client: route.Address(r)}
	if r.Method != http.MethodHead {
		q.Payment, q.SignIn = r.Header, r.Header.Values(HeaderSignIn)
	}
	if r.Method == http.MethodPost {
		q.Inputs.read = func() ([]byte, error) { return route.ReadBody(r) }
	}
	h, wantsDoor := w.Header(), c.wantsDoor(r)
	h["Vary"] = varies
	a := Answer{Status: http.StatusOK, Carrier: pay.Carrier{Header: h}}
	ch, err := c.buy(r.Context(), q, &a)
	if err != nil && wantsDoor {
		return c.refuseAt(w, err, q.Inputs)
	}
	if err != nil {
		return err
	}
	h["Cache-Control"] = privateNoStore
	if ch != nil && wantsDoor {
		return c.showDoor(w, Door{Status: http.StatusPaymentRequired}, q.Inputs)
	}
	if ch != nil {
		return route.Send(w, http.StatusPaymentRequired, problem.ContentType, ch.whole())
	}
	if a.Type = api.JSON; !a.Refund {
		err = form(r, h, &a)
	}
	if err != nil {
		return err
	}
	if a.Type != api.JSON { // which has its receipt in itself
		receipt, err := c.till.Bind(a.of, "text/markdown", a.Body)
		if err != nil {
			return err
		}
		h.Set(headerDelivery, receipt)
	}
	if a.Replay {
		h.Set("Idempotent-Replayed", "true")
	}
	return route.Send(w, a.Status, a.Type, a.Body) // a client that left comes back with the same payment
}

var privateNoStore = []string{"private, no-store"}

// idempotencyKey reads the keys of a request; "" is none. One pair of double quotes around the key
// is how the IETF draft spells it (a structured field); both spellings are one key.
func idempotencyKey(vs []string) (key string, bad bool) {
	if len(vs) == 0 {
		return "", false
	}
	key = vs[0]
	if len(key) >= 2 && strings.HasPrefix(key, `"`) && strings.HasSuffix(key, `"`) {
		key = key[1 : len(key)-1]
	}
	if len(vs) > 1 || !keyPattern.MatchString(key) {
		return "", true
	}
	return key, false
}

var keyPattern = regexp.MustCompile(`^[ -~]{16,128}$`)
