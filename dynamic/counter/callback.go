package counter

import (
	"context"
	"errors"
	"net/http"
	"time"

	"store.example/agentstore/dynamic/callback"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/till"
)

// Callbacks are what a counter asks of who sends word of orders.
type Callbacks interface {
	// Check says why no word can be sent to an address, "" where it can.
	Check(ctx context.Context, client, url string) string
	// PublicKey is the receiver's key, whpk_….
	PublicKey() string
}

// CallbackView is how word of an order stands, for its buyer.
type CallbackView struct {
	Host      string         `json:"host"`  // where it goes
	State     string         `json:"state"` // when_completed | waiting | delivered | given_up
	WebhookID string         `json:"webhook_id,omitzero"`
	TriesMade int            `json:"tries_made"`
	Tries     []callback.Try `json:"tries"` // the newest
	NextTryAt string         `json:"next_try_at,omitzero"`
	PublicKey string         `json:"public_key,omitzero"` // that signs it
	NextStep  string         `json:"next_step"`
}

// checkCallback refuses an address that no word can be sent to, before anybody pays.
func (c *Counter) checkCallback(ctx context.Context, client, url string) []problem.Field {
	if url == "" {
		return nil
	}
	why := "is not taken by this store, which sends no word: read the order in place of it"
	if c.cfg.Callbacks != nil {
		why = c.cfg.Callbacks.Check(ctx, client, url)
	}
	if why == "" {
		return nil
	}
	return []problem.Field{{Field: "callback_url", Problem: why}}
}

// callbackSteps is what to do about a callback, by its state.
var callbackSteps = map[string]string{
	whenCompleted: "Nothing to do: word is sent once the order is completed.",
	callback.Waiting: "Nothing to do: it is sent again at next_try_at, until the receiver answers 2xx. What a " +
		"receiver has to check is at /spec/store-callback/v1.",
	callback.Delivered: "Nothing to do. POST replay-callback sends it once more.",
	callback.GivenUp: "Everything is in the order itself. POST replay-callback, with the status token of the " +
		"purchase, sends it once more.",
}

const whenCompleted = "when_completed"

// callbackOf is how word of an order stands, nil where no address came with it.
func (c *Counter) callbackOf(ctx context.Context, o till.HumanOrder) (*CallbackView, error) {
	url := o.Purchase.Inputs["callback_url"]
	if url == "" {
		return nil, nil
	}
	rec := callback.Record{URL: url, State: whenCompleted}
	var next time.Time
	err := c.DB.View(ctx, func(tx ledger.Tx) error {
		r, err := callback.Read(tx, o.ID)
		if errors.Is(err, ledger.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		rec = r
		next, err = callback.NextTry(tx, o.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.callbackView(rec, next), nil
}

func (c *Counter) callbackView(rec callback.Record, next time.Time) *CallbackView {
	v := &CallbackView{Host: rec.Host(), State: rec.State, WebhookID: rec.ID, TriesMade: rec.Made, Tries: rec.Tries,
		NextTryAt: stampOf(next), NextStep: callbackSteps[rec.State]}
	if v.Tries == nil {
		v.Tries = []callback.Try{}
	}
	if c.cfg.Callbacks != nil {
		v.PublicKey = c.cfg.Callbacks.PublicKey()
	}
	return v
}

// serveReplay answers POST /api/order/{order_id}/replay-callback. A wrong token and an unknown
// order get the same answer.
func (c *Counter) serveReplay(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("order_id")
	o, ok, err := c.till.HumanOrder(r.Context(), id)
	if err == nil {
		purchase := id // of an order that is none, no token is right
		if ok {
			purchase = o.Purchase.ID
		}
		_, err = c.till.Status(r.Context(), purchase, bearer(r))
	}
	if err != nil {
		return c.problem(err, request{})
	}
	var rec callback.Record
	err = c.DB.Update(r.Context(), func(tx ledger.Tx) (err error) {
		rec, err = callback.Replay(tx, id)
		return err
	})
	if soon, is := errors.AsType[*callback.TooSoon](err); is {
		return &problem.Error{Code: "poll_too_soon", Retry: soon.Wait,
			Detail: "This callback was replayed less than a minute ago. How that went stands in the order."}
	}
	if errors.Is(err, ledger.ErrNotFound) {
		return &problem.Error{Code: "no_callback", Detail: "There is no word of this order to send again: it came " +
			"without a callback_url, or it is not completed yet."}
	}
	if err != nil {
		return err
	}
	return writeJSON(w, c.callbackView(rec, rec.Replayed))
}
