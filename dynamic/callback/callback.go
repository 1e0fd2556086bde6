// Package callback sends word to buyers: when what was ordered is completed, the address that came
// with the order is told, as Standard Webhooks 1.0 has it. Word of an order is written down in the
// transaction that completes it ([Queue.Want]), so that nothing is sent for what was not delivered
// and nothing is forgotten; everything else happens in the worker.
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
//	callback/<order_id>   Record
package callback

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
)

// Job is the name of the work in the ledger's queue.
const Job = "callback"

// States of a message.
const (
	Waiting   = "waiting"   // for its next try
	Delivered = "delivered" // the receiver answered 2xx
	GivenUp   = "given_up"  // the receiver took none of the tries
)

// Outcomes of a try.
const (
	Begun   = "begun"   // under way, or its process died meanwhile
	Unknown = "unknown" // its process died before it could note what came of it
	Taken   = "taken"   // 2xx
	Refused = "refused" // another answer
	Failed  = "failed"  // no answer
)

// pauses are the times before each try, from the one before it.
var pauses = []time.Duration{0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 10 * time.Hour}

const (
	// ReplayEvery is how often a buyer may have a message sent again.
	ReplayEvery = time.Minute
	// kept is how many tries the log holds; the oldest go first.
	kept = 32
)

// Try is one line of the log.
type Try struct {
	Number  int       `json:"number"`
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome"`
	Status  int       `json:"status,omitzero"` // of the answer
	Problem string    `json:"problem,omitzero"`
	Millis  int64     `json:"milliseconds,omitzero"`
}

// Record is a message and what became of it.
type Record struct {
	ID       string    `json:"id"` // webhook-id
	Order    string    `json:"order"`
	Purchase string    `json:"purchase"`
	URL      string    `json:"url"`
	Body     []byte    `json:"body"` // the exact bytes
	Since    time.Time `json:"since"`
	State    string    `json:"state"`
	Left     int       `json:"left"` // tries that are left
	Made     int       `json:"made"` // tries that were begun
	Tries    []Try     `json:"tries"`
	Replayed time.Time `json:"replayed,omitzero"` // when the buyer asked for it again last
}

// Queue is the package as goods use it, inside their transactions.
type Queue struct{}

// Want writes a message down, due now. One for each order.
func (Queue) Want(tx ledger.Tx, n goods.Notice) error {
	now := tx.Now().Truncate(time.Second)
	body, err := json.Marshal(struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
		Data      any    `json:"data"`
	}{n.Type, now.UTC().Format(time.RFC3339), n.Data})
	if err != nil {
		return fmt.Errorf("callback: %w", err)
	}
	rec := Record{ID: "msg_" + rand.Text(), Order: n.Order, Purchase: n.Purchase, URL: n.URL, Body: body, Since: now,
		State: Waiting, Left: len(pauses), Tries: []Try{}}
	return errors.Join(ledger.SetJSON(tx, ledger.CallbackKey(n.Order), rec), schedule.Put(tx, Job, n.Order, now))
}

// Read is the message of an order; ledger.ErrNotFound where there is none.
func Read(tx ledger.Tx, order string) (Record, error) {
	return ledger.GetJSON[Record](tx, ledger.CallbackKey(order))
}

// listedFor is how long a message that was given up is listed.
const listedFor = 30 * 24 * time.Hour

// ListGivenUp lists the messages that were given up of late, in the order of the ids of their
// orders.
func ListGivenUp(tx ledger.Tx) (list []Record, err error) {
	for e, err := range tx.Scan(ledger.Callbacks()) {
		if err != nil {
			return nil, err
		}
		rec, err := ledger.DecodeJSON[Record](e)
		if err != nil {
			return nil, err
		}
		if rec.State == GivenUp && tx.Now().Sub(rec.Last()) < listedFor {
			list = append(list, rec)
		}
	}
	return list, nil
}

// Last is when a message was tried last.
func (r Record) Last() time.Time {
	if len(r.Tries) == 0 {
		return r.Since
	}
	return r.Tries[len(r.Tries)-1].At
}

// TooSoon refuses to replay what was replayed within the minute.
type TooSoon struct{ Wait time.Duration }

// Error implements error.
func (e *TooSoon) Error() string { return "the callback was replayed within the last minute" }

// Replay has a message sent once more, now, under its own id, whatever became of it before.
func Replay(tx ledger.Tx, order string) (Record, error) {
	rec, err := Read(tx, order)
	if err != nil {
		return rec, err
	}
	now := tx.Now().Truncate(time.Second)
	if wait := rec.Replayed.Add(ReplayEvery).Sub(now); wait > 0 && !rec.Replayed.IsZero() {
		return rec, &TooSoon{min(wait, ReplayEvery)}
	}
	rec.Replayed, rec.State, rec.Left = now, Waiting, min(rec.Left+1, len(pauses))
	return rec, errors.Join(ledger.SetJSON(tx, ledger.CallbackKey(order), rec), schedule.Put(tx, Job, order, now))
}

// NextTry is when a message is sent again at the latest known plan; zero for one that is not.
func NextTry(tx ledger.Tx, order string) (time.Time, error) {
	t, err := ledger.GetJSON[schedule.Task](tx, ledger.TaskKey(Job, order))
	if errors.Is(err, ledger.ErrNotFound) {
		return time.Time{}, nil
	}
	return t.Due, err
}

// PublicKey is a key in the spelling of Standard Webhooks.
func PublicKey(pub []byte) string { return "whpk_" + base64.StdEncoding.EncodeToString(pub) }

// Sign is the value of webhook-signature for a message that is sent at a time: by the key (v1a,
// ed25519).
func Sign(key *attest.Key, id string, at time.Time, body []byte) string {
	return "v1a," + base64.StdEncoding.EncodeToString(key.Sign(signed(id, at, body)))
}

// signed are the bytes that a signature covers.
func signed(id string, at time.Time, body []byte) []byte {
	return append([]byte(id+"."+strconv.FormatInt(at.Unix(), 10)+"."), body...)
}

// hostOf is the host of an address that was parsed before.
func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest = rest[:i]
	}
	return strings.ToLower(rest)
}

// Host is where a message goes, without what the buyer put behind it.
func (r Record) Host() string { return hostOf(r.URL) }
