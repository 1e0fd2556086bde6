package callback

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
)

// What an address is given. Fetch puts them into the client that it hands to [New].
const (
	Timeout  = 10 * time.Second
	MaxBytes = 4 << 10 // of an answer's body
)

const (
	workers = 8
	gone    = 410
	// looks is how many addresses of orders are looked up at once, lookFor how long one may take.
	looks = 16
	// looksEach is how many of these are one client's.
	looksEach = 4
	lookFor   = 3 * time.Second
)

// Config is what a Sender stands on. All fields but Spend are required.
type Config struct {
	DB     ledger.DB
	Client *fetch.Client // with Timeout and MaxBytes
	Key    *attest.Key   // of purpose webhook
	// Token is the status token of a purchase, which its buyer has.
	Token func(purchase string) string
	// Spend takes one request to the host of a URL; false says that it is asked no more often for
	// now, and after how long it may be. nil: it always may be.
	Spend func(ctx context.Context, url string) (granted bool, reset time.Duration, err error)
	Log   *slog.Logger
}

// Sender does the work.
type Sender struct {
	cfg   Config
	looks chan struct{}

	mu     sync.Mutex      // guards what follows
	busy   map[string]bool // hosts that are being told something
	asking map[string]int  // addresses that are looked up, by client
}

// New checks the configuration.
func New(cfg Config) (*Sender, error) {
	if cfg.DB == nil || cfg.Client == nil || cfg.Key == nil || cfg.Token == nil || cfg.Log == nil {
		return nil, errors.New("callback: a ledger, a client, a key, tokens and a log are required")
	}
	return &Sender{cfg: cfg, looks: make(chan struct{}, looks), busy: make(map[string]bool),
		asking: make(map[string]int)}, nil
}

// Row is the work as the scheduler does it.
func (s *Sender) Row() schedule.Job {
	return schedule.Job{Name: Job, Workers: workers, Timeout: 2 * Timeout, Skip: s.skip, Do: s.do}
}

// skip leaves what goes to a host that is being told something where it lies.
func (s *Sender) skip(tx ledger.Tx, order string) (bool, error) {
	rec, err := Read(tx, order)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy[rec.Host()], nil
}

// PublicKey is the receiver's key.
func (s *Sender) PublicKey() string { return PublicKey(s.cfg.Key.Public()) }

// Check says why no word can be sent to an address, "" where it can. It looks the name up and
// connects to nothing. A client has some of the places where that is done, so that names which take
// their time keep nobody else waiting.
func (s *Sender) Check(ctx context.Context, client, url string) string {
	const busy = "could not be checked, because many are being checked: try again"
	if !s.ask(client, 1) {
		return busy
	}
	defer s.ask(client, -1)
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	select {
	case s.looks <- struct{}{}:
		defer func() { <-s.looks }()
	case <-ctx.Done():
		return busy
	}
	err := s.cfg.Client.Check(ctx, url, fetch.Rule{})
	if _, no := errors.AsType[*fetch.Refusal](err); no {
		return "is refused: " + err.Error()
	}
	if err != nil {
		return "has a host that cannot be looked up at the moment"
	}
	return ""
}

// ask counts a look of a client's, or with -1 its end; false where it has as many as it may.
func (s *Sender) ask(client string, n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 0 && s.asking[client] >= looksEach {
		return false
	}
	if s.asking[client] += n; s.asking[client] == 0 {
		delete(s.asking, client)
	}
	return true
}

// do makes one try.
func (s *Sender) do(ctx context.Context, task schedule.Task) error {
	var rec Record
	err := s.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		rec, err = Read(tx, task.ID)
		return err
	})
	if err != nil {
		return err
	}
	host := rec.Host()
	if !s.enter(host) {
		return nil // it comes again in seconds, and is no try
	}
	defer s.leave(host)
	if s.cfg.Spend != nil {
		granted, reset, err := s.cfg.Spend(ctx, rec.URL)
		if err != nil || !granted {
			return errors.Join(err, s.later(ctx, task, max(reset, time.Second)))
		}
	}
	at, err := s.begin(ctx, task, &rec)
	if err != nil || at.IsZero() {
		return err
	}
	try := s.send(ctx, rec, at)
	if ctx.Err() != nil {
		return ctx.Err() // cut off by us: what came of it is unknown
	}
	return s.note(ctx, task, try)
}

// later puts a try off that was not begun, and is none.
func (s *Sender) later(ctx context.Context, task schedule.Task, by time.Duration) error {
	return s.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		return schedule.Put(tx, Job, task.ID, tx.Now().Add(by))
	})
}

func (s *Sender) enter(host string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[host] {
		return false
	}
	s.busy[host] = true
	return true
}

func (s *Sender) leave(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, host)
}

// begin notes that a try is made, and when, before it is. The time is zero where none is left: the
// process that made the last one did not survive it.
func (s *Sender) begin(ctx context.Context, task schedule.Task, rec *Record) (at time.Time, err error) {
	err = s.cfg.DB.Update(ctx, func(tx ledger.Tx) (err error) {
		at = time.Time{}
		if err := task.Check(tx); err != nil {
			return err
		}
		if *rec, err = Read(tx, task.ID); err != nil {
			return err
		}
		if n := len(rec.Tries); n > 0 && rec.Tries[n-1].Outcome == Begun {
			rec.Tries[n-1].Outcome = Unknown
		}
		if rec.Left == 0 {
			rec.State = GivenUp
			return errors.Join(ledger.SetJSON(tx, ledger.CallbackKey(task.ID), rec), schedule.Drop(tx, Job, task.ID))
		}
		at = tx.Now().UTC().Truncate(time.Second)
		rec.Made, rec.Left = rec.Made+1, rec.Left-1
		rec.Tries = append(rec.Tries, Try{Number: rec.Made, At: at, Outcome: Begun})
		rec.Tries = rec.Tries[max(0, len(rec.Tries)-kept):]
		return ledger.SetJSON(tx, ledger.CallbackKey(task.ID), rec)
	})
	return at, err
}

// send makes one request and says what came of it.
func (s *Sender) send(ctx context.Context, rec Record, at time.Time) Try {
	header := map[string][]string{
		"Content-Type":      {"application/json"},
		"Webhook-Id":        {rec.ID},
		"Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
		"Webhook-Signature": {Sign(s.cfg.Key, rec.ID, at, rec.Body) + " " +
			SignShared(s.cfg.Token(rec.Purchase), rec.ID, at, rec.Body)},
	}
	x, err := s.cfg.Client.Do(ctx, exchange.Request{Method: "POST", URL: rec.URL, Header: header, Body: rec.Body},
		fetch.Rule{Headers: []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"}})
	try := Try{Outcome: Failed, Status: x.Response.Status, Millis: x.Duration.Milliseconds()}
	switch {
	case err != nil:
		try.Problem = err.Error()
	case try.Status == 0:
		try.Problem = x.Error.Text
	case try.Status/100 == 2:
		try.Outcome = Taken // whatever became of its body
	default:
		try.Outcome, try.Problem = Refused, "the receiver answered "+strconv.Itoa(try.Status)
		if try.Status/100 == 3 {
			try.Problem += "; redirects are not followed"
		}
	}
	return try
}

// note writes down what came of the try that was begun, and when the next one is due.
func (s *Sender) note(ctx context.Context, task schedule.Task, try Try) error {
	return s.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		rec, err := Read(tx, task.ID)
		if err != nil {
			return err
		}
		last := &rec.Tries[len(rec.Tries)-1]
		try.Number, try.At = last.Number, last.At
		*last = try
		switch {
		case try.Outcome == Taken:
			rec.State = Delivered
		case rec.Left == 0 || try.Status == gone:
			rec.State = GivenUp
		default:
			at := tx.Now().Add(pauses[len(pauses)-rec.Left])
			return errors.Join(ledger.SetJSON(tx, ledger.CallbackKey(task.ID), rec),
				schedule.Put(tx, Job, task.ID, at))
		}
		if rec.State == GivenUp {
			s.cfg.Log.Warn("a callback was given up", "order", rec.Order, "tries", rec.Made)
		}
		rec.Left = 0
		return errors.Join(ledger.SetJSON(tx, ledger.CallbackKey(task.ID), rec), schedule.Drop(tx, Job, task.ID))
	})
}

// SignShared is a further value of webhook-signature for receivers whose library knows shared
// secrets alone (v1, HMAC-SHA256). The secret is the bytes of the purchase's status token, which
// the buyer has and nobody else.
func SignShared(token, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(signed(id, at, body))
	return fmt.Sprintf("v1,%s", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
