package services

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
)

// What an address is given. They belong into the client that is handed to New.
const (
	WordTimeout  = 10 * time.Second
	WordMaxBytes = 4 << 10 // of an answer's body
)

const (
	wordWorkers = 8
	// lookups is how many addresses of orders are looked up at once, lookFor how long one may take.
	lookups = 16
	// lookupsEach is how many of these are one client's.
	lookupsEach = 4
	lookFor     = 3 * time.Second
)

// CallbackConfig is what word is sent with.
type CallbackConfig struct {
	Client *fetch.Client // with WordTimeout and WordMaxBytes
	Key    *attest.Key   // of purpose webhook; nil: no word is sent
	// Spend takes one request to the host of a URL; false says that it is asked no more often for
	// now, and after how long it may be. nil: it always may be.
	Spend func(ctx context.Context, url string) (granted bool, reset time.Duration, err error)
}

// sending is what a process has in hand of word.
type sending struct {
	lookups chan struct{}

	mu     sync.Mutex      // guards what follows
	busy   map[string]bool // hosts that are being told something
	asking map[string]int  // addresses that are looked up, by client
}

// skipWord leaves what goes to a host that is being told something where it lies.
func (s *Services) skipWord(tx ledger.Tx, order string) (bool, error) {
	m, err := ReadMessage(tx, order)
	if errors.Is(err, ledger.ErrNotFound) { // to be told as an error of its own, that stops no other work
		return false, nil
	}
	s.words.mu.Lock()
	defer s.words.mu.Unlock()
	return s.words.busy[m.Host()], err
}

// CheckCallback implements counter.Later: why no word can be sent to an address, "" where it can.
// It looks the name up and connects to nothing. A client has some of the places where that is done,
// so that names which take their time keep nobody else waiting.
func (s *Services) CheckCallback(ctx context.Context, client, url string) string {
	const busy = "could not be checked, because many are being checked: try again"
	if s.cfg.Callbacks.Key == nil {
		return counter.NoWord
	}
	if !s.words.ask(client, 1) {
		return busy
	}
	defer s.words.ask(client, -1)
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	select {
	case s.words.lookups <- struct{}{}:
		defer func() { <-s.words.lookups }()
	case <-ctx.Done():
		return busy
	}
	err := s.cfg.Callbacks.Client.Check(ctx, url, fetch.Rule{})
	if _, no := errors.AsType[*fetch.Refusal](err); no {
		return "is refused: " + err.Error()
	}
	if err != nil {
		return "has a host that cannot be looked up at the moment"
	}
	return ""
}

// ask counts a look of a client's, or with -1 its end; false where it has as many as it may.
func (s *sending) ask(client string, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 0 && s.asking[client] >= lookupsEach {
		return false
	}
	if s.asking[client] += n; s.asking[client] == 0 {
		delete(s.asking, client)
	}
	return true
}

func (s *sending) enter(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[host] {
		return false
	}
	s.busy[host] = true
	return true
}

func (s *sending) leave(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, host)
}

// tell makes one try.
func (s *Services) tell(ctx context.Context, task schedule.Task) error {
	var m Message
	err := s.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		m, err = ReadMessage(tx, task.ID)
		return err
	})
	if err != nil {
		return err
	}
	host := m.Host()
	if !s.words.enter(host) {
		return nil // it comes again in seconds, and is no try
	}
	defer s.words.leave(host)
	if spend := s.cfg.Callbacks.Spend; spend != nil {
		granted, reset, err := spend(ctx, m.URL)
		if err != nil || !granted { // put off: nothing was begun
			return errors.Join(err, messages.step(ctx, s.cfg.DB, task, func(tx ledger.Tx, _ *Message) (then, error) {
				return again(tx.Now().Add(max(reset, time.Second))), nil
			}))
		}
	}
	at, err := s.beginTry(ctx, task, &m)
	if err != nil || at.IsZero() {
		return err
	}
	try := s.send(ctx, m, at)
	if ctx.Err() != nil {
		return ctx.Err() // cut off by us: what came of it is unknown
	}
	return s.endTry(ctx, task, try)
}

// beginTry notes that a try is made, and when, before it is. The time is zero where none is left:
// the process that made the last one did not survive it.
func (s *Services) beginTry(ctx context.Context, task schedule.Task, m *Message) (at time.Time, err error) {
	err = messages.step(ctx, s.cfg.DB, task, func(tx ledger.Tx, rec *Message) (then, error) {
		at = time.Time{}
		if n := len(rec.Tries); n > 0 && rec.Tries[n-1].Outcome == TryBegun {
			rec.Tries[n-1].Outcome = TryUnknown
		}
		if rec.Left == 0 {
			rec.State = WordGivenUp
			return over, nil
		}
		at = tx.Now().UTC().Truncate(time.Second)
		rec.Made, rec.Left = rec.Made+1, rec.Left-1
		rec.Tries = append(rec.Tries, counter.Try{Number: rec.Made, At: at, Outcome: TryBegun})
		rec.Tries = rec.Tries[max(0, len(rec.Tries)-triesKept):]
		*m = *rec
		return underWay, nil
	})
	return at, err
}

// send makes one request and says what came of it.
func (s *Services) send(ctx context.Context, m Message, at time.Time) counter.Try {
	header := map[string][]string{
		"Content-Type":      {"application/json"},
		"Webhook-Id":        {m.ID},
		"Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
		"Webhook-Signature": {Sign(s.cfg.Callbacks.Key, m.ID, at, m.Body) + " " +
			SignShared(s.till.Recovery(m.Purchase).StatusToken, m.ID, at, m.Body)},
	}
	x, err := s.cfg.Callbacks.Client.Do(ctx, exchange.Request{Method: "POST", URL: m.URL, Header: header, Body: m.Body},
		fetch.Rule{Headers: []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"}})
	try := counter.Try{Outcome: TryFailed, Status: x.Response.Status, Millis: x.Duration.Milliseconds()}
	switch {
	case err != nil:
		try.Problem = err.Error()
	case try.Status == 0:
		try.Problem = x.Error.Text
	case try.Status/100 == 2:
		try.Outcome = TryTaken // whatever became of its body
	default:
		try.Outcome, try.Problem = TryRefused, "the receiver answered "+strconv.Itoa(try.Status)
		if try.Status/100 == 3 {
			try.Problem += "; redirects are not followed"
		}
	}
	return try
}

// endTry writes down what came of the try that was begun, and when the next one is due.
func (s *Services) endTry(ctx context.Context, task schedule.Task, try counter.Try) error {
	return messages.step(ctx, s.cfg.DB, task, func(tx ledger.Tx, m *Message) (then, error) {
		last := &m.Tries[len(m.Tries)-1]
		try.Number, try.At = last.Number, last.At
		*last = try
		switch {
		case try.Outcome == TryTaken:
			m.State = WordDelivered
		case m.Left == 0 || try.Status == http.StatusGone:
			m.State = WordGivenUp
			s.cfg.Log.Warn("a callback was given up", "order", m.Order, "tries", m.Made)
		default:
			return again(tx.Now().Add(pauses[len(pauses)-m.Left])), nil
		}
		m.Left = 0
		return over, nil
	})
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

// SignShared is a further value of webhook-signature for receivers whose library knows shared
// secrets alone (v1, HMAC-SHA256). The secret is the bytes of the purchase's status token, which
// the buyer has and nobody else.
func SignShared(token, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(signed(id, at, body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
