// Package look visits addresses at a time that was bought, once, and has signed what it was given.
//
// A visit is written down in the transaction that delivers what was bought ([Queue.Want]). When it
// is due one of the processes notes that it begins, and only then sends its one request: a visit
// that a process did not survive is told as missed and is never made again, because a second one
// would be another look at another time. So is one that could not begin within its grace, because
// the store stood still. What is missed has a reason and is never back-dated.
//
// The address is its buyer's to choose and nobody's to trust: it is reached by a guarded client
// (package fetch) that checks it at every dial and follows nothing; plain http is allowed here and
// nowhere else. Of what comes back the store keeps a digest.
//
//	look/<check_id>   Record, until it is made or missed
package look

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// Job is the name of the work in the ledger's queue.
const Job = "look"

// Grace is how long after its time a visit may still begin.
const Grace = 3 * time.Hour

// noteFor bounds the writing down of what was seen, however the process ends.
const noteFor = 10 * time.Second

// plain is what a visit may do beyond a GET over https.
var plain = fetch.Rule{PlainHTTP: true}

// Record is a visit that is not made yet.
type Record struct {
	ID       string    `json:"id"`
	Purchase string    `json:"purchase"`
	URL      string    `json:"url"`
	Due      time.Time `json:"due"`
	Begun    time.Time `json:"begun,omitzero"` // when the request was about to be sent
}

// Queue is the package as goods use it, inside their transactions.
type Queue struct {
	Client *fetch.Client // judges addresses; nothing is sent by it here
}

// Target implements goods.Looks.
func (q Queue) Target(url string) (spelled, host string, err error) {
	spelled, err = q.Client.Parse(url, plain)
	if err != nil {
		return "", "", &goods.BadInput{Field: "url", Problem: "is refused: " + err.Error()}
	}
	return spelled, hostOf(spelled), nil
}

// Want implements goods.Looks.
func (Queue) Want(tx ledger.Tx, l goods.Look) error {
	at := l.At.UTC().Truncate(time.Second)
	return errors.Join(
		ledger.SetJSON(tx, ledger.LookKey(l.ID), Record{ID: l.ID, Purchase: l.Purchase, URL: l.URL, Due: at}),
		schedule.Put(tx, Job, l.ID, at))
}

func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// Config is what a Visitor stands on. All fields are required.
type Config struct {
	DB     ledger.DB
	Client *fetch.Client
	// Sign signs what a purchase's look found (till.Till.SignCheck).
	Sign func(ctx context.Context, purchase string, c attest.Look, at time.Time) (*till.SignedArtifact, error)
	// Spend takes one visit from the budget that all instruments share, and a request from that of
	// the URL's host; false says that one is spent, and after how long there is more.
	Spend func(ctx context.Context, url string) (granted bool, reset time.Duration, err error)
	Log   *slog.Logger
}

// Visitor does the work.
type Visitor struct{ cfg Config }

// New checks the configuration.
func New(cfg Config) (*Visitor, error) {
	if cfg.DB == nil || cfg.Client == nil || cfg.Sign == nil || cfg.Spend == nil || cfg.Log == nil {
		return nil, errors.New("look: a ledger, a client, a signer, a budget and a log are required")
	}
	return &Visitor{cfg}, nil
}

// Row is the work as the scheduler does it.
func (v *Visitor) Row() schedule.Job {
	return schedule.Job{Name: Job, Workers: 8, Timeout: 30 * time.Second, Do: v.do}
}

// do makes one visit, or tells why it is missed.
func (v *Visitor) do(ctx context.Context, task schedule.Task) error {
	rec, check, now, err := v.begin(ctx, task)
	if err != nil || rec.ID == "" {
		return err
	}
	// What is begun is ended: a process that stops waits for it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetch.DefaultTimeout+noteFor)
	defer cancel()
	if check.Status == "" {
		granted, reset, err := v.cfg.Spend(ctx, rec.URL)
		if err != nil || !granted {
			return errors.Join(err, v.later(ctx, task, rec, max(reset, time.Second)))
		}
		check = v.visit(ctx, rec, now)
	}
	signed, err := v.cfg.Sign(ctx, rec.Purchase, check, now)
	if err != nil {
		return err
	}
	return v.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		return errors.Join(till.KeepCheck(tx, signed), drop(tx, rec))
	})
}

// later puts a visit off for which nothing was sent.
func (v *Visitor) later(ctx context.Context, task schedule.Task, rec Record, by time.Duration) error {
	rec.Begun = time.Time{}
	return v.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		return errors.Join(ledger.SetJSON(tx, ledger.LookKey(rec.ID), rec),
			schedule.Put(tx, Job, rec.ID, tx.Now().Add(by)))
	})
}

// drop forgets a visit, and gives its place at the host back.
func drop(tx ledger.Tx, rec Record) error {
	return errors.Join(tx.Delete(ledger.LookKey(rec.ID)), tx.Delete(goods.AimedKey(hostOf(rec.URL), rec.Purchase)),
		schedule.Drop(tx, Job, rec.ID))
}

// begin notes that a visit is about to be made. A check with a status is what is told in place of
// one. Nothing is left to do for a record without an id: the payment was taken back.
func (v *Visitor) begin(ctx context.Context, task schedule.Task) (rec Record, check attest.Look, now time.Time,
	err error) {
	err = v.cfg.DB.Update(ctx, func(tx ledger.Tx) (err error) {
		check = attest.Look{}
		if err := task.Check(tx); err != nil {
			return err
		}
		if rec, err = ledger.GetJSON[Record](tx, ledger.LookKey(task.ID)); err != nil {
			return err
		}
		now = tx.Now().UTC().Truncate(time.Second)
		stands, err := till.Stands(tx, rec.Purchase)
		switch {
		case err != nil:
			return err
		case !stands:
			err, rec.ID = drop(tx, rec), ""
			return err
		case !rec.Begun.IsZero():
			check = missed("the store was stopped while it looked, at " + rec.Begun.Format(time.RFC3339))
			return nil
		case now.After(rec.Due.Add(Grace)):
			check = missed("the store stood still at the time")
			return nil
		}
		rec.Begun = now
		return ledger.SetJSON(tx, ledger.LookKey(task.ID), rec)
	})
	return rec, check, now, err
}

func missed(why string) attest.Look { return attest.Look{Status: attest.CheckMissed, Missed: why} }

// visit makes the one request.
func (v *Visitor) visit(ctx context.Context, rec Record, now time.Time) attest.Look {
	x, err := v.cfg.Client.Do(ctx, exchange.Request{Method: "GET", URL: rec.URL}, plain)
	if err != nil {
		v.cfg.Log.Info("a look was refused", "check", rec.ID, "err", err)
		return missed("the address is one that the store does not look at: " + err.Error())
	}
	c := attest.Look{Status: attest.CheckObserved, LookedAt: now.Format(time.RFC3339), Answer: &attest.Answer{
		HTTPStatus: x.Response.Status, BodyBytes: len(x.Response.Body), Truncated: x.Response.Truncated,
		Failed: x.Error.Stage, Problem: x.Error.Text}}
	if x.Response.Status == 0 {
		return c
	}
	sum := sha256.Sum256(x.Response.Body)
	c.Answer.BodySHA256 = hex.EncodeToString(sum[:])
	c.Answer.ContentType = printable(x.Response.Header.Get("Content-Type"))
	return c
}

// printable is the beginning of a stranger's word, if it is plain.
func printable(s string) string {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ""
		}
	}
	return s[:min(len(s), 100)]
}
