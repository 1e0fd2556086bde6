package kit

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json/v2"
	"errors"
	"net/http"
	"slices"
	"strings"

	"store.example/agentstore/dynamic/buyer"
)

// An outcome is what came of an order whose answer was lost.
type outcome struct {
	first    *answer // what was lost, nil where nobody read it
	res      *buyer.Result
	err      error
	payments []payment
}

// lose makes an order, loses its answer, and goes on as a buyer does. It returns nil where the row
// is there already.
func (r *run) lose(ctx context.Context, w way) *outcome {
	switch {
	case !r.room(w.name, w.payments):
		return nil
	case slices.ContainsFunc(r.rows, func(row Row) bool { return row.Name == "goods" && row.Fix != "" }):
		r.blocked(w.name, "goods", "there is no good whose answer could be lost")
		return nil
	}
	o := r.options()
	r.client.arm(&w)
	out := &outcome{}
	out.res, out.err = r.buy(ctx, o)
	if w.payments > 1 && out.err != nil && len(r.client.payments()) > 0 {
		// What came was terms again. The order is the same, and so is its key.
		out.res, out.err = r.buy(ctx, o)
	}
	out.first, out.payments = r.client.taken(), r.client.payments()
	return out
}

// judge says what became of an order, by the chain where a node is named and by the door's words.
func (r *run) judge(ctx context.Context, w way, o *outcome) {
	delivered, before := o.err == nil && o.res != nil, transactionOf(o.first)
	charges, known := r.charges(ctx, o, delivered)
	times := ""
	switch {
	case known && charges == 0:
		times = "; the chain has no payment of it as settled"
	case known:
		times = "; the chain has " + count(charges, "payment") + " of it as settled"
	}
	switch {
	case errors.Is(o.err, buyer.ErrRepeated):
		r.blocked(w.name, "terms", o.err.Error()+": give another memo or blockhash with each 402")
	case len(o.payments) == 0:
		r.fail(w.name, "no payment was presented: %v", o.err)
	case o.first != nil && o.first.status != http.StatusOK:
		r.blocked(w.name, "goods", "the door answered "+http.StatusText(o.first.status)+": there was nothing to lose")
	case charges > 1:
		r.fail(w.name, "charged %s USDC for an order of %s USDC%s", buyer.USDC(int64(charges)*r.price),
			buyer.USDC(r.price), times)
	case !delivered && w.payments > 1:
		r.fail(w.name, "the order was paid in %s, and a second payment for it is answered: %v%s", before, o.err, times)
	case !delivered:
		r.fail(w.name, "paid%s and lost; the same payment, presented again, is answered: %v%s", in(before), o.err,
			times)
	case w.payments > 1 && len(o.payments) > 1 && !known && before != "" && o.res.Transaction != before:
		r.fail(w.name, "charged twice by the door's own words: in %s and in %s", before, o.res.Transaction)
	case w.payments > 1 && len(o.payments) > 1 && !known && o.res.Transaction == "":
		r.notFound(w.name, "the second answer names no transaction; a node would tell whether it was charged")
	case known && charges == 0:
		r.fail(w.name, "the good was given, and nobody was charged%s", times)
	default:
		r.pass(w.name, "the good came%s%s", in(before), times)
	}
}

func in(transaction string) string {
	if transaction == "" {
		return ""
	}
	return " in " + transaction
}

// charges counts the payments of an order that were settled; false where nobody can tell.
func (r *run) charges(ctx context.Context, o *outcome, delivered bool) (int, bool) {
	if r.chain == nil {
		return 0, false
	}
	least := 0
	if delivered {
		least = 1
	}
	n, err := r.used(ctx, o.payments, least)
	return n, err == nil
}

// transactionOf is what the lost answer named.
func transactionOf(a *answer) string {
	if a == nil {
		return ""
	}
	var s struct {
		Transaction string `json:"transaction"`
		Reference   string `json:"reference"` // as a receipt of MPP calls it
	}
	raw, err := base64.StdEncoding.DecodeString(a.header.Get("Payment-Response"))
	if receipt := a.header.Get(receiptHeader); receipt != "" {
		raw, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(receipt, "="))
	}
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return cmp.Or(s.Reference, s.Transaction)
}
