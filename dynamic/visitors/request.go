package visitors

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// WorkRequest is the body of POST /api/request.
type WorkRequest struct {
	Description string            `json:"description" jsonschema:"at most 1000 characters; the keeper alone reads it"`
	Offer       USDC              `json:"offer_usdc" jsonschema:"what the work is worth to you, such as 5 or \"2.50\"; the keeper names the price"`
	Contact     string            `json:"contact" jsonschema:"at most 200 characters; the keeper alone reads it"`
	Listing     string            `json:"suggest_listing,omitzero" jsonschema:"at most 200 characters: a service that the directory should review"`
	Identity    *VerifiedIdentity `json:"verified_identity,omitempty"`
}

// USDC is an amount as a JSON number or a text, with at most six decimals.
type USDC string

// MarshalJSON implements json.Marshaler.
func (u USDC) MarshalJSON() ([]byte, error) { return jsontext.AppendQuote(nil, string(u)) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *USDC) UnmarshalJSON(raw []byte) error {
	v := jsontext.Value(raw)
	switch v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		*u = USDC(text)
		return err
	case '0':
		*u = USDC(raw)
		return nil
	}
	return errors.New("an amount is a number or a text")
}

// maxOffer is the greatest offer that is written down: a million USDC.
const maxOffer = 1_000_000 * content.USDC

// atomic reads the amount in atomic units.
func (u USDC) atomic() (int64, string) {
	n, err := content.ParseUSDC(string(u))
	switch {
	case u == "":
		return 0, "is required"
	case err != nil || n < 0:
		return 0, "is not an amount of at most six decimals, such as 2.50"
	case n > maxOffer:
		return 0, "is more than a million"
	}
	return n, ""
}

// RequestFiled is the answer to a request.
type RequestFiled struct {
	Message   string  `json:"message"`
	RequestID string  `json:"request_id"`
	StatusURL string  `json:"status_url"` // 409 not_quoted, then the paid door
	VerifyURL string  `json:"verify_url"`
	NextStep  string  `json:"next_step"`
	Asked     Salted  `json:"asked"`
	Identity  *Proved `json:"identity,omitempty"`
}

// postRequest answers POST /api/request.
func (d *Service) postRequest(w http.ResponseWriter, r *http.Request) error {
	in, raw, err := readBody[WorkRequest](r)
	if err != nil {
		return err
	}
	if err := check(field{"description", in.Description, MaxDescription, true, true},
		field{"contact", in.Contact, MaxContact, true, false},
		field{"suggest_listing", in.Listing, MaxListing, false, false}); err != nil {
		return err
	}
	offer, wrong := in.Offer.atomic()
	if wrong != "" {
		return &problem.Error{Code: "invalid_input", Detail: "Nothing was kept, and nothing was counted: offer_usdc " +
			wrong + ".", Fields: []problem.Field{{Field: "offer_usdc", Problem: wrong}}}
	}
	p := Post{Kind: KindRequest, Text: in.Description, Contact: in.Contact, Offer: offer, Listing: in.Listing}
	v, err := d.begin(r, &p, in.Identity, raw)
	if err != nil {
		return err
	}
	asked := salted(p.Text)
	p.Salt = asked.Salt
	proof, err := d.sign(attest.Request{RequestID: p.ID, Class: attest.ClassRequest, Date: stampTime(p.At),
		Status: "filed",
		Asked:  asked.signed(), FromTheStore: d.cfg.BaseURL})
	if err != nil {
		return err
	}
	p.Proof = &proof
	err = d.leave(r.Context(), v, &p, func(tx ledger.Tx) error { return goods.Quote{}.Set(tx, p.ID) })
	if err != nil {
		return err
	}
	out := RequestFiled{Message: "Filed. The keeper reads it and, to take it on, names a price.", RequestID: p.ID,
		StatusURL: d.cfg.BaseURL + "/api/commission/" + p.ID, VerifyURL: d.cfg.BaseURL + "/api/verify/" + p.ID,
		Asked: asked,
		NextStep: "Ask at status_url, once a day is enough: 409 not_quoted until there is a price, then 402 with the " +
			"terms, and 410 if it is not taken on.", Identity: p.Identity.told()}
	return d.answer(w, r, http.StatusCreated, out, func() *templates.SheetView {
		return &templates.SheetView{Page: templates.Page{Title: "A request for the keeper", Summary: out.Message,
			Path: "/api/request"}, Sections: []templates.Section{{Facts: []templates.Fact{
			{Name: "Request", Value: p.ID, Mono: true}, {Name: "Where it is quoted and paid", Value: out.StatusURL,
				Mono: true},
			{Name: "Digest", Value: asked.Digest, Mono: true}, {Name: "Salt", Value: asked.Salt, Mono: true}},
			Says: []string{out.NextStep}}}}
	})
}

func (d *Service) requestRows() []route.Row {
	return []route.Row{
		write(api.Route{
			Name: "request", Pattern: "/api/request", Summary: "Ask the keeper for work that is on no shelf",
			Description: "Free, three a day for a visitor. It binds nobody: the keeper quotes by hand or declines, " +
				"and only what was quoted can be paid for, at /api/commission/{request_id}.",
		}, body[WorkRequest]("description, offer_usdc, contact, suggest_listing, verified_identity"),
			created[RequestFiled]("The request is filed"), d.postRequest),
	}
}

// Quote signs the price at which the keeper does what a request asks for, once: its door is then
// open. price is in atomic USDC.
func (d *Service) Quote(ctx context.Context, id string, price int64, dry bool) (Post, error) {
	if price < content.USDC/100 || price > maxOffer {
		return Post{}, fmt.Errorf("a price is 0.01 to %s USDC", content.FormatUSDC(maxOffer))
	}
	return d.change(ctx, id, KindRequest, dry, func(tx ledger.Tx, p *Post, now time.Time) error {
		if p.State != StateReceived {
			return fmt.Errorf("request %s is %s: it is quoted or declined once", id, p.State)
		}
		asked, err := p.digestOf()
		if err != nil {
			return err
		}
		proof, err := d.sign(attest.Request{RequestID: p.ID, Class: attest.ClassRequest, Date: stampTime(p.At),
			Status: StateQuoted, Asked: asked, QuotedAt: stampTime(now), PriceUSDC: content.FormatUSDC(price),
			WindowHours: goods.CommissionHours, FromTheStore: d.cfg.BaseURL})
		if err != nil {
			return err
		}
		p.Proof, p.Price, p.State = &proof, price, StateQuoted
		return goods.Quote{Amount: price}.Set(tx, p.ID)
	})
}

// DeclineRequest says that the keeper does not take a request on.
func (d *Service) DeclineRequest(ctx context.Context, id string, dry bool) (Post, error) {
	return d.change(ctx, id, KindRequest, dry, func(tx ledger.Tx, p *Post, _ time.Time) error {
		if p.State != StateReceived {
			return fmt.Errorf("request %s is %s: it is quoted or declined once", id, p.State)
		}
		p.State = StateDeclined
		return goods.Quote{Declined: true}.Set(tx, p.ID)
	})
}

// Decline says that a tip is not published, or a request not taken on.
func (d *Service) Decline(ctx context.Context, id string, dry bool) (Post, error) {
	if strings.HasPrefix(id, prefixTip) {
		return d.DeclineTip(ctx, id, dry)
	}
	return d.DeclineRequest(ctx, id, dry)
}
