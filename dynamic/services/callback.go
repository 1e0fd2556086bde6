package services

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// Word is sent to buyers: when what was ordered is completed, the address that came with the order
// is told, as Standard Webhooks 1.0 has it. Word of an order is written down in the transaction
// that completes it ([Tell]), so that nothing is sent for what was not delivered and nothing is
// forgotten; everything else happens in the worker.
//
// It is sent at least once, always the same bytes under the same webhook-id: at most eight times
// over about 27 hours until the receiver answers 2xx, or 410, after which it is left alone. A try
// is noted before it is made, under the scheduler's fence, so that two processes make each once.
// Of one that its process did not survive the log says that its outcome is unknown, and the next is
// made.
//
// The address is the buyer's to choose and nobody's to trust. It is reached by a guarded client
// (package fetch) that checks it at every dial, follows nothing, and reads ten seconds and 4 KiB at
// most; what is answered is not kept. One message at a time goes to a host. What a receiver that
// says nothing can cost is eighty seconds of one worker for each order that was paid for.
//
//	callback/<order_id>   Message

// States of a message, beside wordLater.
const (
	WordWaiting   = "waiting"   // for its next try
	WordDelivered = "delivered" // the receiver answered 2xx
	WordGivenUp   = "given_up"  // the receiver took none of the tries

	wordLater = "when_completed" // there is none yet
)

// Outcomes of a try.
const (
	TryBegun   = "begun"   // under way, or its process died meanwhile
	TryUnknown = "unknown" // its process died before it could note what came of it
	TryTaken   = "taken"   // 2xx
	TryRefused = "refused" // another answer
	TryFailed  = "failed"  // no answer
)

// pauses are the times before each try, from the one before it.
var pauses = []time.Duration{0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 10 * time.Hour}

const (
	// ReplayEvery is how often a buyer may have a message sent again.
	ReplayEvery = time.Minute
	// triesKept is how many tries the log holds; the oldest go first.
	triesKept = 32
)

// Message is word of an order, and what became of it.
type Message struct {
	ID       string        `json:"id"` // webhook-id
	Order    string        `json:"order"`
	Purchase string        `json:"purchase"`
	URL      string        `json:"url"`
	Body     []byte        `json:"body"` // the exact bytes
	Since    time.Time     `json:"since"`
	State    string        `json:"state"`
	Left     int           `json:"left"` // tries that are left
	Made     int           `json:"made"` // tries that were begun
	Tries    []counter.Try `json:"tries"`
	Replayed time.Time     `json:"replayed,omitzero"` // when the buyer asked for it again last
}

var messages = journal[Message]{job: "callback", key: ledger.CallbackKey}

// Tell writes a message down, due now. One for each order.
func Tell(tx ledger.Tx, n goods.Notice) error {
	now := tx.Now().Truncate(time.Second)
	body, err := json.Marshal(struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
		Data      any    `json:"data"`
	}{n.Type, stamp(now), n.Data})
	if err != nil {
		return fmt.Errorf("callback: %w", err)
	}
	return messages.put(tx, n.Order, Message{ID: "msg_" + rand.Text(), Order: n.Order, Purchase: n.Purchase,
		URL: n.URL, Body: body, Since: now, State: WordWaiting, Left: len(pauses), Tries: []counter.Try{}}, now)
}

// ReadMessage is the message of an order; ledger.ErrNotFound where there is none.
func ReadMessage(tx ledger.Tx, order string) (Message, error) { return messages.read(tx, order) }

// listedFor is how long a message that was given up is listed.
const listedFor = 30 * 24 * time.Hour

// ListGivenUp lists the messages that were given up of late, in the order of the ids of their
// orders.
func ListGivenUp(tx ledger.Tx) (list []Message, err error) {
	for rec, err := range ledger.Values[Message](tx.Scan(ledger.Callbacks())) {
		if err != nil {
			return nil, err
		}
		if rec.State == WordGivenUp && tx.Now().Sub(rec.Last()) < listedFor {
			list = append(list, rec)
		}
	}
	return list, nil
}

// Last is when a message was tried last.
func (m Message) Last() time.Time {
	if len(m.Tries) == 0 {
		return m.Since
	}
	return m.Tries[len(m.Tries)-1].At
}

// TooSoon refuses to replay what was replayed within the minute.
type TooSoon struct{ Wait time.Duration }

// Error implements error.
func (e *TooSoon) Error() string { return "the callback was replayed within the last minute" }

// replay has a message sent once more, now, under its own id, whatever became of it before.
func replay(tx ledger.Tx, order string) (Message, error) {
	m, err := ReadMessage(tx, order)
	if err != nil {
		return m, err
	}
	now := tx.Now().Truncate(time.Second)
	if wait := m.Replayed.Add(ReplayEvery).Sub(now); wait > 0 && !m.Replayed.IsZero() {
		return m, &TooSoon{min(wait, ReplayEvery)}
	}
	m.Replayed, m.State, m.Left = now, WordWaiting, min(m.Left+1, len(pauses))
	return m, messages.put(tx, order, m, now)
}

// nextTry is when a message is sent again at the latest known plan; zero for one that is not.
func nextTry(tx ledger.Tx, order string) (time.Time, error) {
	t, err := ledger.GetJSON[schedule.Task](tx, ledger.TaskKey(messages.job, order))
	if errors.Is(err, ledger.ErrNotFound) {
		return time.Time{}, nil
	}
	return t.Due, err
}

// Host is where a message goes, without what the buyer put behind it.
func (m Message) Host() string { return hostOf(m.URL) }

// wordSteps is what to do about a message, by its state.
var wordSteps = map[string]string{
	wordLater: "Nothing to do: word is sent once the order is completed.",
	WordWaiting: "Nothing to do: it is sent again at next_try_at, until the receiver answers 2xx. What a receiver " +
		"has to check is at /spec/store-callback/v1.",
	WordDelivered: "Nothing to do. POST replay-callback sends it once more.",
	WordGivenUp: "Everything is in the order itself. POST replay-callback, with the status token of the " +
		"purchase, sends it once more.",
}

// Callback implements counter.Later: how word of an order stands, nil where no address came with
// it.
func (s *Services) Callback(tx ledger.Tx, o till.HumanOrder) (*counter.CallbackView, error) {
	url := o.Purchase.Inputs["callback_url"]
	if url == "" {
		return nil, nil
	}
	m, err := ReadMessage(tx, o.ID)
	if errors.Is(err, ledger.ErrNotFound) {
		return s.callbackView(Message{URL: url, State: wordLater}, time.Time{}), nil
	}
	if err != nil {
		return nil, err
	}
	next, err := nextTry(tx, o.ID)
	return s.callbackView(m, next), err
}

func (s *Services) callbackView(m Message, next time.Time) *counter.CallbackView {
	v := &counter.CallbackView{Host: m.Host(), State: m.State, WebhookID: m.ID, TriesMade: m.Made, Tries: m.Tries,
		NextStep: wordSteps[m.State]}
	if !next.IsZero() {
		v.NextTryAt = stamp(next)
	}
	if v.Tries == nil {
		v.Tries = []counter.Try{}
	}
	if key := s.cfg.Callbacks.Key; key != nil {
		v.PublicKey = PublicKey(key.Public())
	}
	return v
}

// serveReplay answers POST /api/order/{order_id}/replay-callback.
func (s *Services) serveReplay(w http.ResponseWriter, r *http.Request) error {
	id, err := s.counter.Held(r)
	if err != nil {
		return err
	}
	var m Message
	err = s.cfg.DB.Update(r.Context(), func(tx ledger.Tx) (err error) {
		m, err = replay(tx, id)
		return err
	})
	if soon, is := errors.AsType[*TooSoon](err); is {
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
	return counter.WriteJSON(w, s.callbackView(m, m.Replayed))
}
