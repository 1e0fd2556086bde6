package goods

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/ledger"
)

// CommissionHours is the window of what the keeper quoted.
const CommissionHours = 168

// CommissionPrefix begins the id of what is sold for a request: commission/<request id>.
const CommissionPrefix = "commission/"

// Quote is quote/<request id>: what the keeper asks for work that a visitor requested. Amount is
// fixed once it is there.
type Quote struct {
	Amount   int64 `json:"amount,omitzero"` // atomic USDC; 0: not quoted
	Declined bool  `json:"declined,omitzero"`
}

// QuoteOf reads the quote for a request; ok is false where there is no such request.
func QuoteOf(tx ledger.Tx, request string) (q Quote, ok bool, err error) {
	return ledger.FindJSON[Quote](tx, ledger.QuoteKey(request))
}

// Set stores the quote for a request.
func (q Quote) Set(tx ledger.Tx, request string) error {
	return ledger.SetJSON(tx, ledger.QuoteKey(request), q)
}

// NotQuoted refuses to sell what the keeper did not quote, or declined to do.
type NotQuoted struct{ Declined bool }

// Error implements error.
func (e *NotQuoted) Error() string {
	if e.Declined {
		return "the request was declined"
	}
	return "the request is not quoted yet"
}

// ErrNoRequest says that nobody filed a request of an id.
var ErrNoRequest = errors.New("no request has this id")

// Commission is the kind of the work that was asked for by a request. It is paid for once: the
// request is held from the claim on, and taken when it settles. Where the chain takes the payment
// back it may be paid for again.
//
//	goods/commission/<request id>        the purchase that has it
//	goods/held_commission/<request id>   until when that is a hold
func Commission(request string) Kind {
	taken, held := ledger.GoodsKey("commission", request), ledger.GoodsKey("held_commission", request)
	free := func(tx ledger.Tx) error {
		if _, err := CommissionPrice(tx, request); err != nil {
			return err
		}
		if is, err := ledger.Has(tx, taken); err != nil || !is {
			return err
		}
		until, err := heldUntil(tx, held)
		return errors.Join(err, &SoldOut{Item: CommissionPrefix + request, HeldUntil: until})
	}
	release := func(_ Maker, tx ledger.Tx, o *Order) error {
		holder, err := tx.Get(taken)
		if errors.Is(err, ledger.ErrNotFound) || err == nil && string(holder) != o.ID {
			return nil
		}
		return errors.Join(err, tx.Delete(taken), tx.Delete(held))
	}
	k := human
	k.Name, k.Unit, k.Left = "commission", "", nil
	k.Available = func(_ Maker, tx ledger.Tx, _ content.Good, _ map[string]string) error { return free(tx) }
	k.Reserve = func(_ Maker, tx ledger.Tx, o *Order) error {
		if err := free(tx); err != nil {
			return err
		}
		return errors.Join(tx.Set(taken, []byte(o.ID)), hold(tx, held, o))
	}
	k.Release, k.Undo = release, release
	k.Make = func(_ context.Context, _ Maker, o *Order) (*Made, error) {
		private, attests := seal(request)
		g := MadeOf(o, handwork{sealed: private, WindowHours: o.Good.WindowHours},
			fmt.Sprintf("Commissioned. The keeper has %d hours.", o.Good.WindowHours), "")
		g.Attests = attests
		return g, nil
	}
	k.Settle = Settled(func(tx ledger.Tx, o *Order, d *handwork) error {
		d.DueAt = moment(o.Settled.Add(time.Duration(d.WindowHours) * time.Hour))
		return tx.Delete(held)
	})
	return k
}

// CommissionPrice is what is asked for a request, in atomic USDC. It is ErrNoRequest or a
// *NotQuoted where nothing is.
func CommissionPrice(tx ledger.Tx, request string) (int64, error) {
	q, ok, err := QuoteOf(tx, request)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, ErrNoRequest
	case q.Amount <= 0:
		return 0, &NotQuoted{q.Declined}
	}
	return q.Amount, nil
}

// CommissionGood is the good that a commission is made from.
func CommissionGood(request string) content.Good {
	return content.Good{ID: CommissionPrefix + request, Name: "A commission", Kind: content.KindHuman,
		WindowHours: CommissionHours, Description: "Work that was asked for and quoted, done by the keeper."}
}

// IsCommission reports whether an id is that of a commission, and of which request.
func IsCommission(id string) (request string, ok bool) {
	request, ok = strings.CutPrefix(id, CommissionPrefix)
	return request, ok && len(request) == len("req_")+20 && strings.HasPrefix(request, "req_") &&
		strings.Trim(request[4:], "abcdefghijklmnopqrstuvwxyz234567") == ""
}
