package counter

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/till"
)

// Later is what a counter asks of who completes orders later; *services.Services is one.
type Later interface {
	// Term is how the term of an order stands, nil for an order that is none.
	Term(tx ledger.Tx, o till.HumanOrder) (*TermView, error)
	// Callback is how word of an order stands, nil where no address came with it.
	Callback(tx ledger.Tx, o till.HumanOrder) (*CallbackView, error)
	// CheckCallback says why no word can be sent to an address, "" where it can.
	CheckCallback(ctx context.Context, client, url string) string
}

// TermView is how a term of readings stands.
type TermView struct {
	Target     string              `json:"target"`
	EveryHours int64               `json:"every_hours"`
	Readings   int64               `json:"readings"` // how many there are
	Starts     string              `json:"starts"`
	Ends       string              `json:"ends"`
	Slots      []SlotView          `json:"slots"` // those that are over, in their order
	NextDueAt  string              `json:"next_due_at,omitzero"`
	Summary    *goods.WatchSummary `json:"summary,omitempty"` // once the term is over
}

// SlotView is one reading, or why there was none.
type SlotView struct {
	Number  int64  `json:"number"`
	Due     string `json:"due"`
	Verdict string `json:"verdict,omitzero"`
	Missed  string `json:"missed,omitzero"`
	AuditID string `json:"audit_id"`
	URL     string `json:"url"` // of its signed report
	SHA256  string `json:"report_sha256"`
}

// CallbackView is how word of an order stands, for its buyer.
type CallbackView struct {
	Host      string `json:"host"`  // where it goes
	State     string `json:"state"` // when_completed | waiting | delivered | given_up
	WebhookID string `json:"webhook_id,omitzero"`
	TriesMade int    `json:"tries_made"`
	Tries     []Try  `json:"tries"` // the newest
	NextTryAt string `json:"next_try_at,omitzero"`
	PublicKey string `json:"public_key,omitzero"` // that signs it
	NextStep  string `json:"next_step"`
}

// Try is one try to send word.
type Try struct {
	Number  int       `json:"number"`
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome"`
	Status  int       `json:"status,omitzero"` // of the answer
	Problem string    `json:"problem,omitzero"`
	Millis  int64     `json:"milliseconds,omitzero"`
}

// slots says how many readings of a term are over, "" for what is none: a new one is news of an
// order.
func (c *Counter) slots(tx ledger.Tx, o till.HumanOrder) (string, error) {
	if c.cfg.Later == nil {
		return "", nil
	}
	v, err := c.cfg.Later.Term(tx, o)
	if v == nil || err != nil {
		return "", err
	}
	return strconv.Itoa(len(v.Slots)), nil
}

// stands is an order as its buyer may read it, with what is kept of it beside the purchase.
func (c *Counter) stands(ctx context.Context, o till.HumanOrder) (v OrderView, err error) {
	v = c.orderView(o)
	if v.Held, err = c.till.HeldView(o.Purchase); err != nil || c.cfg.Later == nil {
		return v, err
	}
	err = c.DB.View(ctx, func(tx ledger.Tx) (err error) {
		if v.Term, err = c.cfg.Later.Term(tx, o); err == nil {
			v.Callback, err = c.cfg.Later.Callback(tx, o)
		}
		return err
	})
	return v, err
}

// NoWord says of a callback_url that this store sends no word.
const NoWord = "is not taken by this store, which sends no word: read the order in place of it"

// checkCallback refuses an address that no word can be sent to, before anybody pays.
func (c *Counter) checkCallback(ctx context.Context, client, url string) []problem.Field {
	if url == "" {
		return nil
	}
	why := NoWord
	if c.cfg.Later != nil {
		why = c.cfg.Later.CheckCallback(ctx, client, url)
	}
	if why == "" {
		return nil
	}
	return []problem.Field{{Field: "callback_url", Problem: why}}
}

// Held is the id of the order in the path of a request that its holder sent: who has the status
// token of its purchase, or signs in as the wallet that paid. A wrong token and an unknown order
// get the same answer.
func (c *Counter) Held(r *http.Request) (order string, err error) {
	order = r.PathValue("order_id")
	o, ok, err := c.till.HumanOrder(r.Context(), order)
	if err == nil {
		purchase := order // of an order that is none, no token is right
		if ok {
			purchase = o.Purchase.ID
		}
		_, err = c.holder(r, purchase)
	}
	return order, c.problem(err, request{})
}
