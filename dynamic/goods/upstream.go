package goods

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// Upstreams ask the addresses that a keeper allows, within the bounds of what reaches strangers.
type Upstreams interface {
	// Allows reports whether an address may be asked.
	Allows(url string) bool
	// Ask asks once. A *NoAnswer says that nothing came that could be sold; any other error is of
	// the store.
	Ask(ctx context.Context, q Question) (body []byte, err error)
}

// Question is one request to an upstream.
type Question struct {
	content.Upstream
	// Inputs are the good's own, by name, as their types have them in JSON.
	Inputs map[string]any
	// Key is the Idempotency-Key: the same of all requests for one order, and of no other's.
	Key string
}

// MaxAnswer bounds an answer, in bytes.
const MaxAnswer = 4 << 20

// NoAnswer is what an upstream gave in place of an answer. None of its words are in it.
type NoAnswer struct {
	Why   string // a phrase of ours, for buyers and the keeper
	Final bool   // asking again gives the same
}

// Error implements error.
func (e *NoAnswer) Error() string { return "no answer: " + e.Why }

// CodeUpstream is the problem that tells a buyer that an upstream gave no answer.
const CodeUpstream = "upstream_failed"

// A good of an upstream is asked for at least once, always with the key of its order, and the first
// answer is the one that is sold:
//
//	goods/answer/<purchase>         the answer, until it stands in the delivery; for ever where it is a file
//	goods/unpaid/<item>/<purchase>  when an order was taken whose request is not paid for; it goes when that settles
//	goods/served/<payer>            that a wallet paid for such a good
//
// What a payer who never pays can have asked is bounded twice: three payments in a day that fail by
// its doing close the till to it (M5), and all wallets that never bought such a good have
// content.Upstream.Unpaid requests within 24 hours together. Who bought one may go on to twice as
// many, so that nobody closes the good to its buyers for nothing.

type answered struct {
	Answer json.RawMessage `json:"answer,omitzero"`
	Fetched
	sealed
}

// upstream asks before the payment is settled; asksAfter does once it is.
var upstream = Kind{
	Name: content.KindUpstream, Delivers: answered{}, Able: Maker.canAsk, Available: upstreamAvailable,
	Reserve: func(m Maker, tx ledger.Tx, o *Order) error {
		if err := m.canAsk(o.Good); err != nil {
			return err
		}
		if err := roomToAsk(tx, o); err != nil {
			return err
		}
		return tx.Set(unpaidKey(o.Good.ID, o.ID), []byte(ledger.Number(uint64(max(tx.Now().Unix(), 0)))))
	},
	// The request was made, whatever came of it: only its answer is given up.
	Release: func(_ Maker, tx ledger.Tx, o *Order) error { return tx.Delete(answerKey(o.ID)) },
	Make: func(ctx context.Context, m Maker, o *Order) (*Made, error) {
		body, err := m.ask(ctx, o)
		if no, is := errors.AsType[*NoAnswer](err); is {
			return nil, &Unread{Code: CodeUpstream, Sent: true, Detail: "The service behind this good gave no " +
				no.Why + "answer: ."}
		}
		if err != nil {
			return nil, err
		}
		return answeredWith(o, body), nil
	},
	// The answer joins its deliverable once it is paid for, so that what is not leaves nothing.
	Settle: func(_ Maker, tx ledger.Tx, o *Order, g *Made) error {
		if err := tx.Delete(unpaidKey(o.Good.ID, o.ID)); err != nil || o.Good.Upstream.File {
			return err
		}
		body, err := tx.Get(answerKey(o.ID))
		if err != nil {
			return fmt.Errorf("the answer of %s: %w", o.ID, err)
		}
		return tell(g, body)
	},
	Complete: completeAnswer, Undo: undoAnswer, Open: openAnswer,
	For: func(good content.Good) *Kind {
		if good.Upstream != nil && !good.Upstream.Repeatable {
			return &asksAfter
		}
		return nil
	},
}

var asksAfter = Kind{
	Name: content.KindUpstream, Delivers: answered{}, Able: Maker.canAsk, Available: upstreamAvailable,
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		if err := m.canAsk(o.Good); err != nil {
			return nil, err
		}
		return MadeOf(o, answered{}, "It is asked for once your payment has settled.", ""), nil
	},
	Paid: func(ctx context.Context, m Maker, o *Order) (*Made, error) {
		body, err := m.ask(ctx, o)
		if err != nil {
			return nil, err
		}
		g := answeredWith(o, body)
		if !o.Good.Upstream.File {
			err = tell(g, body)
		}
		return g, err
	},
	Complete: completeAnswer, Undo: undoAnswer, Open: openAnswer,
}

func upstreamAvailable(m Maker, _ ledger.Tx, good content.Good, _ map[string]string) error {
	return m.canAsk(good)
}

func (m Maker) canAsk(good content.Good) error {
	if m.Upstreams == nil || good.Upstream == nil || !m.Upstreams.Allows(good.Upstream.URL) {
		return &Away{Item: good.ID, Lacks: "the service behind it"}
	}
	return nil
}

// roomToAsk refuses a wallet for which no more requests may be made that nobody has paid for.
func roomToAsk(tx ledger.Tx, o *Order) error {
	now, n, oldest := tx.Now(), 0, time.Time{}
	for e, err := range tx.Scan(ledger.Prefix(ledger.GoodsKey("unpaid", o.Good.ID))) {
		if err != nil {
			return err
		}
		sec, err := ledger.ParseNumber(string(e.Value))
		if err != nil {
			return err
		}
		at := time.Unix(int64(sec), 0)
		if now.Sub(at) >= 24*time.Hour {
			if err := tx.Delete(e.Key); err != nil {
				return err
			}
			continue
		}
		n, oldest = n+1, earlier(oldest, at)
	}
	most := o.Good.Upstream.Unpaid
	if served, err := ledger.Has(tx, servedKey(o.Payer)); err != nil {
		return err
	} else if served {
		most *= 2
	}
	if n < most {
		return nil
	}
	if oldest.IsZero() {
		oldest = now
	}
	return &Unread{Code: CodeBudget, Until: oldest.Add(24 * time.Hour), Detail: "The service behind this good was " +
		"asked as often within 24 hours as it is without a payment that settled. Wallets that bought it before go on."}
}

// ask has the answer to an order: the one that is kept, or what comes of asking. What is begun is
// finished, whoever still waits.
func (m Maker) ask(ctx context.Context, o *Order) ([]byte, error) {
	if err := m.canAsk(o.Good); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	body, err := m.answer(ctx, o.ID)
	if !errors.Is(err, ledger.ErrNotFound) {
		return body, err
	}
	q := Question{Upstream: *o.Good.Upstream, Inputs: typed(o), Key: keyOf(o.ID)}
	if body, err = m.Upstreams.Ask(ctx, q); err != nil {
		return nil, err
	}
	if !o.Good.Upstream.File {
		var line bytes.Buffer
		if err := json.Compact(&line, body); err != nil {
			return nil, &NoAnswer{Why: "what it sent is no JSON"}
		}
		body = line.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	err = m.DB.Update(ctx, func(tx ledger.Tx) error {
		switch kept, err := tx.Get(answerKey(o.ID)); {
		case err == nil:
			body = bytes.Clone(kept) // another process asked at the same time
			return nil
		case !errors.Is(err, ledger.ErrNotFound):
			return err
		}
		return tx.Set(answerKey(o.ID), body)
	})
	return body, err
}

// answer is what is kept of the answer to an order.
func (m Maker) answer(ctx context.Context, order string) (body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	err = m.DB.View(ctx, func(tx ledger.Tx) error {
		kept, err := tx.Get(answerKey(order))
		body = bytes.Clone(kept)
		return err
	})
	return body, err
}

// keyOf is the Idempotency-Key of an order's requests. It does not tell the order.
func keyOf(order string) string {
	sum := sha256.Sum256([]byte("store-upstream/v1\x00" + order))
	return "store-" + attest.Base32.EncodeToString(sum[:20])
}

// typed are an order's own inputs as JSON has them. What is the store's alone (agent_name,
// callback_url, source) is not told.
func typed(o *Order) map[string]any {
	all := make(map[string]any)
	for _, in := range o.Good.Inputs {
		v, is := o.Inputs[in.Name]
		switch {
		case !is:
		case in.Type == "number":
			all[in.Name] = json.Number(v)
		case in.Type == "boolean":
			all[in.Name] = v == "true"
		default:
			all[in.Name] = v
		}
	}
	return all
}

func answeredWith(o *Order, body []byte) *Made {
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	private, attests := sealFile(digest)
	up := o.Good.Upstream
	d := answered{MediaType: up.MediaType, Bytes: int64(len(body)), SHA256: digest, sealed: private}
	says := o.Good.Name + ": deliverable.answer has it."
	if up.File {
		d.Name, d.Fetched.HowTo = o.Good.ID+content.Ending(up.MediaType), howToFetch
		says = o.Good.Name + ", as a file: file_url has it."
	}
	g := MadeOf(o, d, says, "")
	if o.Good.Certificate.Attests == "" {
		g.Attests = attests
	}
	return g
}

// tell puts an answer into its deliverable.
func tell(g *Made, body []byte) error {
	d, err := Delivered[answered](g)
	if err != nil {
		return err
	}
	d.Answer = body
	g.Deliver(content.KindUpstream, d)
	return nil
}

func completeAnswer(_ Maker, tx ledger.Tx, o *Order, _ *Made) error {
	err := tx.Set(servedKey(o.Payer), nil)
	if !o.Good.Upstream.File { // it stands in the delivery
		err = errors.Join(err, tx.Delete(answerKey(o.ID)))
	}
	return err
}

func undoAnswer(_ Maker, tx ledger.Tx, o *Order) error { return tx.Delete(answerKey(o.ID)) }

func openAnswer(ctx context.Context, m Maker, order string, f Fetched) (io.ReadSeekCloser, error) {
	body, err := m.answer(ctx, order)
	if err != nil {
		return nil, err
	}
	return inMemory{bytes.NewReader(body)}, nil
}

type inMemory struct{ *bytes.Reader }

// Close implements io.Closer.
func (inMemory) Close() error { return nil }

func answerKey(order string) []byte       { return ledger.GoodsKey("answer", order) }
func unpaidKey(item, order string) []byte { return ledger.GoodsKey("unpaid", item, order) }
func servedKey(payer string) []byte       { return ledger.GoodsKey("served", payer) }
