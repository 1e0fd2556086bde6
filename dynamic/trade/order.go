package trade

import (
	"context"
	"encoding/json/jsontext"
	jsonx "encoding/json/v2"
	"errors"
	"net/http"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

// How long an order_ref and a purpose may be, in characters.
const (
	maxRef     = 120
	maxPurpose = 120
)

// Instruction is the body of an order, beside the inputs of the item, which are members of the same
// object.
type Instruction struct {
	Account  string `json:"account" jsonschema:"the account's id, as in the path"`
	ItemID   string `json:"item_id" jsonschema:"the good's id, as in the path"`
	OrderRef string `json:"order_ref,omitzero" jsonschema:"your own name of the order, at most 120 characters, unique for ever; may be left out where webhook-id says it"`
	Purpose  string `json:"purpose,omitzero" jsonschema:"what your customer wants it for, at most 120 characters; it takes the place of the good's own purpose on the certificate"`

	inputs []byte // the other members, as an object
}

// verified is a request whose signature is an account's.
func (d *Counter) verified(r *http.Request) (*attempt, error) {
	a, err := d.attempted(r)
	if err != nil {
		return nil, err
	}
	all, err := a.findings()
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if !f.OK {
			return nil, refuse(f.Code, f.Detail)
		}
	}
	return a, nil
}

// instruction reads the body of an order for an item.
func (a *attempt) instruction(item string) (i Instruction, err error) {
	var members map[string]jsontext.Value
	if jsonx.Unmarshal(a.body, &members) != nil || members == nil {
		return i, refuse("bad_request", "The body must be one JSON object in which no member stands twice.")
	}
	var bad []problem.Field
	text := func(name string, required bool) (s string) {
		v, there := members[name]
		delete(members, name)
		switch {
		case !there && required:
			bad = append(bad, problem.Field{Field: name, Problem: "is required"})
		case there && jsonx.Unmarshal(v, &s) != nil || there && v.Kind() != '"':
			bad = append(bad, problem.Field{Field: name, Problem: "must be a string"})
		}
		return s
	}
	i = Instruction{Account: text("account", true), ItemID: text("item_id", true),
		OrderRef: text("order_ref", !a.dialect.Refs),
		Purpose:  text("purpose", false)}
	named := a.header.Get(a.dialect.Nonce)
	switch {
	case len(bad) > 0:
	case utf8.RuneCountInString(i.Purpose) > maxPurpose || !printable(i.Purpose):
		bad = append(bad, problem.Field{Field: "purpose", Problem: "must be at most 120 characters that can be seen"})
	case i.Account != a.id:
		bad = append(bad, problem.Field{Field: "account", Problem: "is not the account of the path"})
	case i.ItemID != item:
		bad = append(bad, problem.Field{Field: "item_id", Problem: "is not the item of the path"})
	case a.dialect.Refs && i.OrderRef != "" && i.OrderRef != named:
		bad = append(bad, problem.Field{Field: "order_ref", Problem: "is not that of " + a.dialect.Nonce})
	case a.dialect.Refs:
		i.OrderRef = named
	case i.OrderRef == "" || utf8.RuneCountInString(i.OrderRef) > maxRef || !printable(i.OrderRef):
		bad = append(bad, problem.Field{Field: "order_ref", Problem: "must be 1 to 120 characters that can be seen"})
	}
	if len(bad) > 0 {
		first := bad[0].Field + " " + bad[0].Problem
		return i, refuse("bad_request", "The body is no instruction for this door: "+first+".", bad...)
	}
	i.inputs, err = jsonx.Marshal(members)
	return i, err
}

func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

// spend takes the nonce of a verified request, while the counter is open.
func (d *Counter) spend(ctx context.Context, a *attempt) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTime)
	defer cancel()
	return down(d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if until, err := till.AccountsOpen(tx); err != nil {
			return err
		} else if !until.IsZero() {
			e := refuse("counter_closed", "The store was restored from a backup. Orders on account are taken again "+
				"once it is open and every nonce of before is void.")
			e.Retry = until.Sub(tx.Now())
			return e
		}
		if a.id == Sandbox {
			// Its secret is everybody's, so what its requests write is bounded by its day.
			if left, err := till.SamplesLeft(tx); err != nil || left < 1 {
				return errors.Join(err, d.sandboxSpent(left, tx.Now()))
			}
		}
		fresh, err := account.Spend(tx, a.id, a.nonce(), a.at.Add(nonceKept))
		if err == nil && !fresh {
			err = refuse("replayed", "This nonce was used before. Nothing was done.")
		}
		return err
	}))
}

func (d *Counter) sandboxSpent(left int, now time.Time) error {
	if left > 0 {
		return nil
	}
	end := ledger.Tomorrow(now)
	e := refuse("daily_cap", "The sandbox has given its samples of the day. A new day begins at "+
		end.Format(time.RFC3339)+".")
	e.Retry = end.Sub(now)
	return e
}

// serveOrder answers POST /api/trade/{account}/{item_id}.
func (d *Counter) serveOrder(w http.ResponseWriter, r *http.Request) error {
	a, err := d.verified(r)
	if err != nil {
		return err
	}
	item := r.PathValue("item_id")
	i, err := a.instruction(item)
	if err != nil {
		return err
	}
	if err := d.spend(r.Context(), a); err != nil {
		return err
	}
	body, replay, err := d.deliver(r.Context(), a, i)
	if err != nil {
		return d.problem(err)
	}
	h := w.Header()
	h["Cache-Control"] = []string{"private, no-store"}
	if replay {
		h.Set("Idempotent-Replayed", "true")
	}
	return route.Send(w, http.StatusOK, api.JSON, body) // who left asks again under the same order_ref
}

const another = "To order a second one, send a new order_ref."

// deliver has an instruction carried out, once for each order_ref.
func (d *Counter) deliver(ctx context.Context, a *attempt, i Instruction) (body []byte, replay bool, err error) {
	order := till.AccountOrder{Item: i.ItemID, Account: a.id, Partner: a.account.Partner, Limits: a.account.Limits,
		Ref: i.OrderRef, Purpose: i.Purpose, Body: a.body,
		May: func(o *till.Offer) error { return d.sells(a.account, o) },
		Inputs: func(o *till.Offer) (map[string]string, error) {
			return d.cfg.Counter.ReadInputs(ctx, o, i.inputs)
		}}
	if a.id == Sandbox {
		body, first, replay, err := d.cfg.Till.Sample(ctx, order, d.cfg.Specimen)
		if replay {
			body = counter.Replayed(body, first, another)
		}
		return body, replay, err
	}
	sale, err := d.cfg.Till.OnAccount(ctx, order)
	if err != nil {
		return nil, false, err
	}
	if sale.Replay {
		return counter.Replayed(sale.Body, sale.Purchase.DeliveredAt, another), true, nil
	}
	return sale.Body, false, nil
}

// inputProblems are problems of the instruction, in the counter's word.
var inputProblems = []string{"invalid_input", "url_missing", "url_unparseable"}

// problem says an error of the till in the counter's words.
func (d *Counter) problem(err error) error {
	e, ok := errors.AsType[*till.Error](err)
	if ok && (e.Code == till.CodeUnderWay || e.Code == till.CodeEnded) {
		return ended(e)
	}
	p, ok := errors.AsType[*problem.Error](d.cfg.Counter.Problem(err))
	switch {
	case !ok:
		return err
	case p.Account != nil:
		return p
	case slices.Contains(inputProblems, p.Code):
		p.Code = "bad_request"
	case p.Code == "own_host_refused":
		p.Code = "target_refused"
	case e != nil && e.Code == till.CodeLedger:
		p.Payment = nil
		return p // whether it was billed is not known
	}
	return told(p)
}

// ended is the answer to an order that is not delivered, yet or at all.
func ended(e *till.Error) error {
	if e.Code == till.CodeUnderWay {
		out := refuse("idempotency_in_flight", "The order is being made. Nothing is billed before it is.")
		out.Retry = e.Retry
		return out
	}
	out := &problem.Error{Code: "not_read", Detail: "The order could not be made, and nothing was billed: " +
		e.Purchase.Reason + ". Its order_ref is free again."}
	return told(out)
}
