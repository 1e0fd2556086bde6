package onchaintest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// ticket is a second protocol, of the shape of MPP: a challenge in WWW-Authenticate whose id is a
// MAC over what it asks, an opaque that holds what is the store's, a credential in Authorization or
// in _meta, a receipt of its own.
type ticket struct{ store pay.Store }

var ticketRow = pay.Row{
	Name:      "ticket",
	Presented: func(f pay.Fields) bool { return len(credentials(f)) > 0 },
	Params: []api.Param{{Name: "Authorization", In: api.Header, Type: "string", MaxLength: 16 << 10,
		Description: "a ticket"}},
	Terms:   []string{"WWW-Authenticate"},
	Answers: []string{"Payment-Receipt"},
	Body: api.SchemaFor[struct {
		Tickets int      `json:"tickets"`
		IDs     []string `json:"ticket_ids,omitempty"`
	}](),
	NotSettled: "payment_already_used",
	New:        func(s pay.Store) pay.Protocol { return ticket{s} },
}

const ticketMeta = "org.example/credential"

// challenge is what a ticket asks, and, sent back with a payload, the credential.
type challenge struct {
	ID      string          `json:"id"`
	Request string          `json:"request"`
	Opaque  string          `json:"opaque"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

func (t ticket) mac(c challenge, body []byte) string {
	m := hmac.New(sha256.New, t.store.Secret)
	fmt.Fprintf(m, "%s|%s|%s|%x", t.store.Realm, c.Request, c.Opaque, sha256.Sum256(body))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

func b64(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

type ticketTerms struct {
	ticket
	q *pay.Quote
}

func (t ticket) Terms(q *pay.Quote) (pay.Terms, error) { return ticketTerms{t, q}, nil }

func (t ticketTerms) Members() []pay.Member {
	return []pay.Member{{Name: "tickets", Value: json.RawMessage(fmt.Sprint(len(t.q.Accepts)))}}
}

func (t ticketTerms) Say(to pay.Carrier, f pay.Fill, _ string, body []byte) ([]byte, error) {
	var all []challenge
	for _, a := range t.q.Accepts {
		c := challenge{Request: b64(a),
			Opaque: b64(map[string]string{"nonce": f.Nonce, "key": f.Key, "for": t.q.URL})}
		c.ID = t.mac(c, f.Body)
		all = append(all, c)
		if to.Header != nil {
			to.Header.Add("WWW-Authenticate", fmt.Sprintf("Payment id=%q, request=%q, opaque=%q", c.ID, c.Request,
				c.Opaque))
		}
	}
	if to.Meta != nil {
		b, err := json.Marshal(all)
		to.Meta["org.example/payment-required"] = b
		return body, err
	}
	return fmt.Appendf(body, `,"ticket_ids":[%q]`, all[0].ID), nil
}

func (ticketTerms) Words() pay.Words {
	return pay.Words{Payment: "Authorization: Payment", How: "Or answer the challenge in WWW-Authenticate."}
}

func credentials(f pay.Fields) []string {
	return slices.DeleteFunc(slices.Clone(f.Values("Authorization")),
		func(v string) bool { return !strings.HasPrefix(v, "Payment ") })
}

func (ticket) Read(f pay.Fields) (*pay.Presented, error) {
	vs, decode := credentials(f), base64.RawURLEncoding.DecodeString
	if len(vs) == 0 {
		vs, decode = f.Values(ticketMeta), func(s string) ([]byte, error) { return []byte(s), nil }
	}
	if len(vs) == 0 {
		return nil, nil
	}
	var c challenge
	var want rail.Requirement
	var opaque struct{ Nonce, Key, For string }
	raw, err := decode(strings.TrimPrefix(vs[0], "Payment "))
	err = errors.Join(err, json.Unmarshal(raw, &c))
	for text, v := range map[string]any{c.Request: &want, c.Opaque: &opaque} {
		b, bad := base64.RawURLEncoding.DecodeString(text)
		err = errors.Join(err, bad, json.Unmarshal(b, v))
	}
	if err != nil || len(vs) > 1 {
		return nil, &rail.Refusal{Reason: "malformed-credential"}
	}
	return &pay.Presented{Accepted: want, Payload: c.Payload, Digest: sha256.Sum256(raw), Nonce: opaque.Nonce,
		Key: opaque.Key, Data: c}, nil
}

func (t ticket) Match(p *pay.Presented, q *pay.Quote) (rail.Requirement, error) {
	c := p.Data.(challenge)
	if !hmac.Equal([]byte(c.ID), []byte(t.mac(c, q.Body))) {
		return rail.Requirement{}, &rail.Refusal{Reason: "invalid-challenge"}
	}
	for _, a := range q.Accepts {
		if b64(a) == c.Request {
			return a, nil
		}
	}
	return rail.Requirement{}, &rail.Refusal{Reason: "invalid-challenge"}
}

func (ticket) Answer(to pay.Carrier, p *pay.Presented, o pay.Outcome) error {
	if !o.Success {
		return nil
	}
	receipt := map[string]any{"status": "success", "reference": o.Transaction, "challengeId": p.Data.(challenge).ID,
		"timestamp": o.At}
	if to.Header != nil {
		to.Header.Set("Payment-Receipt", b64(receipt))
		return nil
	}
	b, err := json.Marshal(receipt)
	to.Meta["org.example/receipt"] = b
	return err
}

// asked are the challenges of a 402 in WWW-Authenticate.
func (s *shop) tickets(h http.Header) []challenge {
	s.t.Helper()
	var out []challenge
	for _, v := range h.Values("WWW-Authenticate") {
		var c challenge
		if _, err := fmt.Sscanf(v, "Payment id=%q, request=%q, opaque=%q", &c.ID, &c.Request, &c.Opaque); err != nil {
			s.t.Fatalf("%s: %v", v, err)
		}
		out = append(out, c)
	}
	return out
}

func newTicketShop(t *testing.T) *shop {
	return newShop(t, shopOptions{networks: []uint64{8453}, buyers: 3,
		counter: counter.Config{Protocols: []pay.Row{x402.Row, ticketRow}}})
}

// A second protocol stands in the same 402, is paid and repeated like the first, and is one row
// more for the store.
func TestASecondProtocolInTheSame402(t *testing.T) {
	s := newTicketShop(t)
	asked := s.do("POST", "/api/buy/the_confession", nil, `{"detail":"I read the manual."}`)
	s.want("402", asked, 402, "payment_required")
	ch := tilltest.DecodeChallenge(t, asked.Header.Get("PAYMENT-REQUIRED"))
	tickets := s.tickets(asked.Header)
	if len(tickets) != 1 || asked.Body["tickets"] != 1.0 || asked.Body["x402Version"] != 2.0 ||
		!strings.Contains(asked.Str("note"), "PAYMENT-SIGNATURE. Or answer the challenge") {
		t.Fatalf("402 = %v %s", asked.Header, asked.Raw)
	}
	c := tickets[0]
	c.Payload, _ = json.Marshal(s.sign(ch, 0, s.net.Buyers[0], nil).wire["payload"])
	credential := map[string]string{"Authorization": "Payment " + b64(c)}
	if r := s.do("POST", "/api/buy/the_confession", credential, `{"detail":"I wrote the manual."}`); r.Status != 402 ||
		r.Str("reason") != "invalid-challenge" || len(s.tickets(r.Header)) != 1 {
		t.Fatalf("with another body = %d %s", r.Status, r.Raw)
	}
	r := s.do("POST", "/api/buy/the_confession", credential, `{"detail":"I read the manual."}`)
	s.want("paid by ticket", r, 200, "")
	if r.Header.Get("Payment-Receipt") == "" || r.Header.Get("PAYMENT-RESPONSE") != "" ||
		r.Str("certificate", "settled_via") != "ticket self" {
		t.Errorf("paid = %v %s", r.Header, r.Raw)
	}
	if p := s.purchase(r.Purchase()); p.Protocol != "ticket" {
		t.Errorf("the journal says %q", p.Protocol)
	}
	again := s.do("POST", "/api/buy/the_confession", credential, `{"detail":"I read the manual."}`)
	if again.Status != 200 || again.Body["idempotent_replay"] != true || again.Header.Get("Payment-Receipt") == "" {
		t.Errorf("again = %d %s", again.Status, again.Raw)
	}
	// Whoever sees the authorization on the chain has not seen the nonce in the challenge.
	c.Opaque = s.tickets(s.do("GET", "/api/buy/the_confession?detail=x", nil).Header)[0].Opaque
	thief := s.do("POST", "/api/buy/the_confession", map[string]string{"Authorization": "Payment " + b64(c)},
		`{"detail":"I read the manual."}`)
	s.want("a thief", thief, 409, "payment_already_used")

	// Stock clients of the first go on as before, and a request with both uses neither.
	pay := s.pay(s.challenge("/api/buy/hello"), 0, s.net.Buyers[1])
	both := s.do("GET", "/api/buy/hello", map[string]string{"PAYMENT-SIGNATURE": pay,
		"Authorization": credential["Authorization"]})
	if both.Status != 400 || both.Str("billed") != "no" {
		t.Errorf("both = %d %s", both.Status, both.Raw)
	}
	s.want("x402", s.do("GET", "/api/buy/hello", map[string]string{"PAYMENT-SIGNATURE": pay}), 200, "")
}

// A purchase in process goes through the gates of every other, in each protocol, with what stands
// beside the answer in _meta.
func TestBuyingInProcess(t *testing.T) {
	s := newTicketShop(t)
	ask := func(item string, meta pay.Meta, inputs string) (*counter.Answer, *problem.Error) {
		t.Helper()
		a, err := s.count.Buy(t.Context(), counter.Request{Item: item, Method: "POST", Payment: meta,
			Inputs: &counter.Inputs{Body: []byte(inputs)}, Meta: true})
		p, ok := errors.AsType[*problem.Error](err)
		if err != nil && !ok {
			t.Fatal(err)
		}
		return a, p
	}
	if _, err := ask("no_such_thing", nil, ""); err == nil || err.Code != "not_found" {
		t.Errorf("an unknown item: %v", err)
	}
	if _, err := ask("hello", nil, `{"detail":"x"}`); err == nil || err.Code != "invalid_input" {
		t.Errorf("a wrong input: %v", err)
	}
	terms, err := ask("hello", nil, `{"agent_name":"Ada"}`)
	if err != nil || terms.Status != 402 {
		t.Fatalf("terms = %+v, %v", terms, err)
	}
	var ch map[string]any
	var tickets []challenge
	if err := errors.Join(json.Unmarshal(terms.Body, &ch),
		json.Unmarshal(terms.Carrier.Meta["org.example/payment-required"], &tickets)); err != nil {
		t.Fatal(err)
	}
	first := s.sign(ch, 0, s.net.Buyers[0], nil)
	wire, _ := json.Marshal(first.wire)
	c := tickets[0]
	c.Payload, _ = json.Marshal(s.sign(ch, 0, s.net.Buyers[1], nil).wire["payload"])
	credential, _ := json.Marshal(c)
	for name, meta := range map[string]pay.Meta{x402.MetaResponse: {x402.MetaPayment: wire},
		"org.example/receipt": {ticketMeta: credential}} {
		for i := range 2 {
			a, err := ask("hello", meta, `{"agent_name":"Ada"}`)
			if err != nil || a.Status != 200 || a.Replay != (i == 1) || a.Carrier.Meta[name] == nil ||
				a.Carrier.Header != nil {
				t.Fatalf("%s, time %d: %+v, %v", name, i, a, err)
			}
			var d till.Delivery
			if err := json.Unmarshal(a.Body, &d); err != nil || d.Certificate.Name != "Ada" {
				t.Errorf("%s: %s, %v", name, a.Body, err)
			}
		}
	}
	// The same order over HTTP is not the same bytes, so the authorization proves nothing there.
	s.want("over HTTP", s.present("/api/buy/hello?agent_name=Ada", first), 409, "payment_already_used")
}

// purchase reads a purchase from the ledger.
func (s *shop) purchase(id string) till.Purchase {
	s.t.Helper()
	var p till.Purchase
	if err := s.db.View(s.t.Context(), func(tx ledger.Tx) (err error) {
		p, err = ledger.GetJSON[till.Purchase](tx, ledger.PurchaseKey(id))
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return p
}
