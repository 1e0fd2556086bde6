// Package launch buys at strangers' doors for whoever paid for it: one purchase, of at most
// goods.LaunchCap, from a wallet of the store's own, and a signed report of what came back.
//
// A purchase begins in the transaction that promises it ([Queue.Want]). Its payment is signed once,
// whichever process makes it and whenever one of them dies: the buyer's journal is in the ledger,
// under the order's id, and whoever goes on with the order presents the same payment again. What a
// door can take is one authorization over an amount that the ledger has set aside before; it is
// valid for five minutes, and nothing that a door answers makes the store sign another.
//
// That money moved is read on its network, at finality, and nowhere else: a door's word for it is
// told as its word. Until the payment has moved, or can move no more, nothing is reported. A
// purchase whose money moved is put on the public record as a paid walk.
//
// Where nothing could be signed within Patience (the door asks for more now, for another token, or
// does not answer), the order is completed with the reason. Where the store's wallet could not pay,
// what was paid for it is owed; what the door did is the answer that was bought.
//
//	launch/<order_id>   Record
//	bought/launch/…     the payments (package buyer)
package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"slices"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// Job is the name of the work in the ledger's queue, and of the journal.
const Job = "launch"

const (
	// MaxValidity is for how long a payment is good.
	MaxValidity = 5 * time.Minute
	// Patience is for how long it is tried to sign a payment.
	Patience = time.Hour
	// askAgain is when a door is tried again at which nothing was signed, lookAgain when a payment
	// that was is presented, or looked for, again.
	askAgain, lookAgain = 10 * time.Minute, 15 * time.Second
	// buyFor bounds one try at the door, AskFor one request there.
	buyFor, AskFor = 100 * time.Second, 45 * time.Second
	// clocks is how far past its end a payment is held to be good still.
	clocks = time.Minute
)

// Record is a purchase at a door, and what became of it so far.
type Record struct {
	goods.Launch
	Marks   map[string]uint64 `json:"marks,omitzero"` // by network, the head before the first signature could be made
	Sent    *Sent             `json:"sent,omitzero"`
	Outcome *Outcome          `json:"outcome,omitzero"`
	Closed  bool              `json:"closed,omitzero"`
}

// Sent is the payment, and what the door answered.
type Sent struct {
	Network     string    `json:"network"`
	Asset       string    `json:"asset"`
	Payer       string    `json:"payer"`
	PayTo       string    `json:"pay_to"`
	Nonce       string    `json:"nonce"`
	Amount      int64     `json:"amount"` // atomic units
	SignedAt    time.Time `json:"signed_at"`
	ValidBefore time.Time `json:"valid_before"`
	Answer      *Answer   `json:"answer,omitzero"` // nil where none came while the payment was good
}

// Answer is what a door gave for its money.
type Answer struct {
	At          time.Time `json:"at"`
	Status      int       `json:"status"`
	ContentType string    `json:"content_type,omitzero"` // type and subtype
	BodySHA256  string    `json:"body_sha256"`
	BodyBytes   int       `json:"body_bytes"`
	Cut         bool      `json:"cut,omitzero"` // it went on
	// Settled is the door's word: yes, no or unknown. Receipt says what its signed receipt is
	// worth.
	Settled  string `json:"settled"`
	Verified bool   `json:"receipt_verified"`
	Receipt  string `json:"receipt"`
}

// Outcome is what came of a purchase, and when.
type Outcome struct {
	goods.LaunchOutcome
	At time.Time `json:"at"`
}

// Queue is the package as goods use it, inside their transactions.
type Queue struct {
	Purse *Purse
	Limit int64 // atomic USDC within 24 hours
}

// Ready implements goods.Launches.
func (q Queue) Ready() error {
	if !q.Purse.Empty() {
		return nil
	}
	return &goods.Unread{Code: goods.CodeBudget, Detail: "The wallet that buys for launch checks is empty on every " +
		"network. The keeper is told."}
}

// Daily implements goods.Launches.
func (q Queue) Daily() int64 { return q.Limit }

// Want implements goods.Launches.
func (Queue) Want(tx ledger.Tx, l goods.Launch) error {
	return errors.Join(ledger.SetJSON(tx, ledger.LaunchKey(l.Order), Record{Launch: l}),
		schedule.Put(tx, Job, l.Order, tx.Now()))
}

// Drop implements goods.Launches.
func (Queue) Drop(tx ledger.Tx, order string) error {
	return errors.Join(tx.Delete(ledger.LaunchKey(order)), schedule.Drop(tx, Job, order))
}

// Read is a purchase; ledger.ErrNotFound where there is none.
func Read(tx ledger.Tx, order string) (Record, error) {
	return ledger.GetJSON[Record](tx, ledger.LaunchKey(order))
}

// Buyer buys; *buyer.Buyer is one.
type Buyer interface {
	Buy(ctx context.Context, url string, o buyer.Options) (*buyer.Result, error)
}

// Config is what a Walker stands on. All fields are required.
type Config struct {
	DB    ledger.DB
	Purse *Purse
	// Buyer is a buyer that pays in no other tokens.
	Buyer func(tokens []buyer.Token) (Buyer, error)
	// Report signs a report for a purchase (till.Till.SignReport), Close completes its order
	// (till.Till.CloseLaunch), Observe puts it on the record (feed.Observe).
	Report  func(ctx context.Context, purchase string, a attest.Audit, at time.Time) (*till.SignedArtifact, error)
	Close   func(ctx context.Context, purchase string, o goods.LaunchOutcome, at time.Time) error
	Observe goods.Observe
	// URL is where a report is read.
	URL func(audit string) string
	// Ended is told of each outcome: its verdict, or not_walked.
	Ended func(verdict string)
	Log   *slog.Logger
}

// Walker does the work.
type Walker struct{ cfg Config }

// New checks the configuration.
func New(cfg Config) (*Walker, error) {
	if cfg.DB == nil || cfg.Purse == nil || cfg.Buyer == nil || cfg.Report == nil || cfg.Close == nil ||
		cfg.Observe == nil || cfg.URL == nil || cfg.Ended == nil || cfg.Log == nil {
		return nil, errors.New("launch: a field of the configuration is missing")
	}
	return &Walker{cfg}, nil
}

// Row is the work as the scheduler does it.
func (w *Walker) Row() schedule.Job {
	return schedule.Job{Name: Job, Workers: 4, Timeout: buyFor + 30*time.Second, Do: w.do}
}

// do takes a purchase one step on: the payment, what the chain says of it, the report, the order.
func (w *Walker) do(ctx context.Context, task schedule.Task) error {
	marks, err := w.cfg.Purse.Open(ctx)
	if err != nil {
		w.cfg.Log.Warn("a network cannot be read to buy on", "err", err)
	}
	rec, now, err := w.begin(ctx, task, marks)
	switch {
	case err != nil || rec.Order == "":
		return err
	case rec.Outcome != nil:
		return w.close(ctx, task, rec)
	case rec.Sent == nil || rec.Sent.Answer == nil && now.Before(rec.Sent.ValidBefore):
		return w.buy(ctx, task, rec, marks, now)
	}
	return w.settle(ctx, task, rec, now)
}

// begin reads a purchase, and before anything can be signed for it has its place count and the
// heads of the networks noted. Nothing is left to do for a record without an order.
func (w *Walker) begin(ctx context.Context, task schedule.Task, marks []Mark) (rec Record, now time.Time, err error) {
	err = w.cfg.DB.Update(ctx, func(tx ledger.Tx) (err error) {
		if err := task.Check(tx); err != nil {
			return err
		}
		if rec, err = Read(tx, task.ID); err != nil {
			return err
		}
		now = tx.Now().UTC().Truncate(time.Second)
		stands, err := till.Stands(tx, rec.Purchase)
		if err != nil {
			return err
		}
		if !stands || rec.Closed {
			if err, rec.Order = schedule.Drop(tx, Job, task.ID), ""; !stands {
				err = errors.Join(err, tx.Delete(ledger.LaunchKey(task.ID)))
			}
			return err
		}
		if rec.Outcome != nil || rec.Sent != nil {
			return nil
		}
		for _, m := range marks {
			if _, noted := rec.Marks[m.Network]; !noted {
				if rec.Marks == nil {
					rec.Marks = map[string]uint64{}
				}
				rec.Marks[m.Network] = m.Block
			}
		}
		return errors.Join(goods.LaunchBegins(tx, rec.Launch), ledger.SetJSON(tx, ledger.LaunchKey(task.ID), rec))
	})
	return rec, now, err
}

// buy buys at the door, or goes on with what was signed.
func (w *Walker) buy(ctx context.Context, task schedule.Task, rec Record, marks []Mark, now time.Time) error {
	b, err := w.cfg.Buyer(Tokens(marks))
	if err != nil {
		return err
	}
	trying, cancel := context.WithTimeout(ctx, buyFor)
	defer cancel()
	o := Options(rec.Launch)
	o.Signed = len(marks) == 0
	res, err := b.Buy(trying, rec.Door, o)
	switch {
	case errors.Is(err, buyer.ErrNone):
		return w.later(ctx, task, rec, now, goods.LaunchOutcome{
			NotWalked: "the store's wallet could pay on no network at the time"})
	case res != nil && res.Free:
		return w.later(ctx, task, rec, now, goods.LaunchOutcome{NotWalked: "it delivers without asking for a payment",
			AtDoor: true})
	case res == nil && errors.Is(err, buyer.ErrBusy): // a process that died holds it for some minutes yet
		return w.put(ctx, task, rec, now.Add(lookAgain))
	case res == nil:
		w.cfg.Log.Info("a door could not be bought at", "order", rec.Order, "err", err)
		return w.later(ctx, task, rec, now, goods.LaunchOutcome{NotWalked: Why(err), AtDoor: true})
	case !slices.Contains([]buyer.State{buyer.Signed, buyer.Delivered, buyer.Refused, buyer.Unknown}, res.State):
		return fmt.Errorf("launch: a payment is %s: %w", res.State, err)
	}
	rec.Sent = sent(res)
	return w.put(ctx, task, rec, now.Add(lookAgain))
}

// Options are those of an order's purchase. The door learns nothing of the order.
func Options(l goods.Launch) buyer.Options {
	sum := sha256.Sum256([]byte("store-launch/v1\x00" + l.Order))
	o := buyer.Options{ID: l.Order, Again: true, Method: l.Method,
		IdempotencyKey: "launch-" + hex.EncodeToString(sum[:16])}
	if l.Method == http.MethodPost {
		o.Body, o.Header = []byte("{}"), http.Header{"Content-Type": {"application/json"}}
	}
	return o
}

// sent is a payment with what its buyer knows of it.
func sent(r *buyer.Result) *Sent {
	s := &Sent{Network: r.Network, Asset: r.Asset, Payer: r.Payer, PayTo: r.PayTo, Nonce: r.Nonce, Amount: r.Amount,
		SignedAt: r.SignedAt, ValidBefore: r.ValidBefore}
	if r.AnsweredAt.IsZero() {
		return s
	}
	sum := sha256.Sum256(r.Body)
	s.Answer = &Answer{At: r.AnsweredAt.UTC().Truncate(time.Second), Status: r.Status,
		ContentType: record.ContentType(r.ContentType), BodySHA256: hex.EncodeToString(sum[:]), BodyBytes: len(r.Body),
		Cut: r.Truncated || len(r.Body) >= MaxBody, Settled: r.Billed, Verified: r.Receipt.Verified,
		Receipt: r.Receipt.Note}
	return s
}

// later puts off a purchase for which nothing was signed, until there is no more patience with it.
func (w *Walker) later(ctx context.Context, task schedule.Task, rec Record, now time.Time,
	out goods.LaunchOutcome) error {
	if now.Before(rec.Starts.Add(Patience)) {
		return w.put(ctx, task, rec, now.Add(askAgain))
	}
	rec.Outcome = &Outcome{At: now, LaunchOutcome: out}
	return w.put(ctx, task, rec, now)
}

// put writes down how far a purchase is, and when it goes on.
func (w *Walker) put(ctx context.Context, task schedule.Task, rec Record, at time.Time) error {
	return w.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		return errors.Join(ledger.SetJSON(tx, ledger.LaunchKey(task.ID), rec), schedule.Put(tx, Job, task.ID, at))
	})
}

// settle asks the chain what became of a payment, and once that can change no more reports it.
func (w *Walker) settle(ctx context.Context, task schedule.Task, rec Record, now time.Time) error {
	s := rec.Sent
	red, err := w.cfg.Purse.redeemed(ctx, &rail.Payment{Network: s.Network, Asset: s.Asset, Method: "eip3009",
		Payer: s.Payer, Nonce: s.Nonce, PayTo: s.PayTo, Amount: big.NewInt(s.Amount),
		ValidBefore: s.ValidBefore.Unix()}, rec.Marks[s.Network])
	if err != nil {
		w.cfg.Log.Warn("what became of a payment could not be read", "order", rec.Order, "err", err)
		return w.put(ctx, task, rec, now.Add(lookAgain))
	}
	spent := red.Proof != nil || red.Used && red.Trouble != "" // on something else: the wallet's own cancel
	if !spent && (red.Used || !red.Final.After(s.ValidBefore.Add(clocks))) {
		return w.put(ctx, task, rec, now.Add(lookAgain))
	}
	audit, err := report(rec, red.Proof)
	if err != nil {
		return err
	}
	signed, err := w.cfg.Report(ctx, rec.Purchase, audit, now)
	if err != nil {
		return err
	}
	out := goods.LaunchOutcome{AuditID: signed.ID, ReportURL: w.cfg.URL(signed.ID), ReportSHA: signed.Digest(),
		Evidence: audit.EvidenceSHA256, Verdict: audit.Verdict}
	if red.Proof != nil {
		out.Network, out.Transaction, out.USDC = s.Network, red.Proof.Tx, buyer.USDC(s.Amount)
	}
	rec.Outcome = &Outcome{out, now}
	return w.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		if red.Proof != nil {
			if err := w.cfg.Observe(tx, walked(rec, red.Proof)); err != nil {
				return err
			}
		}
		return errors.Join(till.KeepReport(tx, signed), ledger.SetJSON(tx, ledger.LaunchKey(task.ID), rec),
			schedule.Put(tx, Job, task.ID, tx.Now()))
	})
}

// close completes the order.
func (w *Walker) close(ctx context.Context, task schedule.Task, rec Record) error {
	if err := w.cfg.Close(ctx, rec.Purchase, rec.Outcome.LaunchOutcome, rec.Outcome.At); err != nil {
		return err
	}
	rec.Closed = true
	err := w.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		return errors.Join(ledger.SetJSON(tx, ledger.LaunchKey(task.ID), rec), schedule.Drop(tx, Job, task.ID))
	})
	if err == nil {
		w.cfg.Ended(rec.Outcome.name())
	}
	return err
}

func (o Outcome) name() string {
	if o.NotWalked != "" {
		return "not_walked"
	}
	return o.Verdict
}

// Why says in words of our own why nothing was signed.
func Why(err error) string {
	_, answered := errors.AsType[*buyer.DoorError](err)
	switch {
	case errors.Is(err, buyer.ErrCeiling):
		return "it asks for more than " + buyer.USDC(goods.LaunchCap) + " USDC"
	case errors.Is(err, buyer.ErrNotPayable):
		return "it takes nothing that the store's wallet pays with, which is USDC by x402 and EIP-3009 on the " +
			"networks that the store sells on"
	case answered:
		return "it does not ask for a payment by x402 version 2"
	case errors.Is(err, buyer.ErrRepeated):
		return "its terms lead to a payment that was signed before"
	}
	return "it did not answer, or with terms that cannot be read"
}
