package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"time"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/dynamic/buyer"
	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// walk takes a purchase one step on: the payment, what the chain says of it, the report, the order.
func (s *Services) walk(ctx context.Context, task schedule.Task) error {
	marks, err := s.cfg.Launches.Purse.Open(ctx)
	if err != nil {
		s.cfg.Log.Warn("a network cannot be read to buy on", "err", err)
	}
	// Before anything can be signed its place counts, and the heads of the networks are noted.
	rec, now, ok, err := launches.begin(ctx, s.cfg.DB, task,
		func(tx ledger.Tx, r *LaunchRecord, _ time.Time) (then, error) {
			if r.Closed {
				return over, nil
			}
			if r.Outcome != nil || r.Sent != nil {
				return underWay, nil
			}
			for _, m := range marks {
				if _, noted := r.Marks[m.Network]; !noted {
					if r.Marks == nil {
						r.Marks = map[string]uint64{}
					}
					r.Marks[m.Network] = m.Block
				}
			}
			return underWay, launchBegins(tx, r.Launch)
		})
	switch {
	case err != nil || !ok:
		return err
	case rec.Outcome != nil:
		return s.endLaunch(ctx, task, rec)
	case rec.Sent == nil || rec.Sent.Answer == nil && now.Before(rec.Sent.ValidBefore):
		return s.buy(ctx, task, rec, marks, now)
	}
	return s.settle(ctx, task, rec, now)
}

// buy buys at the door, or goes on with what was signed.
func (s *Services) buy(ctx context.Context, task schedule.Task, rec LaunchRecord, marks []PayableNetwork,
	now time.Time) error {
	b, err := s.cfg.Launches.Buyer(Tokens(marks))
	if err != nil {
		return err
	}
	trying, cancel := context.WithTimeout(ctx, buyFor)
	defer cancel()
	o := LaunchOptions(rec.Launch)
	o.Signed = len(marks) == 0
	res, err := b.Buy(trying, rec.Door, o)
	switch {
	case errors.Is(err, buyer.ErrNone):
		return s.laterLaunch(ctx, task, rec, now, goods.LaunchOutcome{
			NotWalked: "the store's wallet could pay on no network at the time"})
	case res != nil && res.Free:
		return s.laterLaunch(ctx, task, rec, now, goods.LaunchOutcome{
			NotWalked: "it delivers without asking for a payment", AtDoor: true})
	case res == nil && errors.Is(err, buyer.ErrBusy): // a process that died holds it for some minutes yet
		return s.putLaunch(ctx, task, rec, now.Add(lookAgain))
	case res == nil:
		s.cfg.Log.Info("a door could not be bought at", "order", rec.Order, "err", err)
		return s.laterLaunch(ctx, task, rec, now, goods.LaunchOutcome{NotWalked: WhyUnsigned(err), AtDoor: true})
	case !slices.Contains([]buyer.State{buyer.Signed, buyer.Delivered, buyer.Refused, buyer.Unknown}, res.State):
		return fmt.Errorf("launch: a payment is %s: %w", res.State, err)
	}
	rec.Sent = sent(res)
	return s.putLaunch(ctx, task, rec, now.Add(lookAgain))
}

// LaunchOptions are those of an order's purchase. The door learns nothing of the order.
func LaunchOptions(l Launch) buyer.Options {
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
	p := &Sent{Network: r.Network, Asset: r.Asset, Payer: r.Payer, PayTo: r.PayTo, Nonce: r.Nonce, Amount: r.Amount,
		SignedAt: r.SignedAt, ValidBefore: r.ValidBefore}
	if r.AnsweredAt.IsZero() {
		return p
	}
	sum := sha256.Sum256(r.Body)
	p.Took = max(0, r.AnsweredAt.Sub(r.SignedAt).Milliseconds())
	p.Answer = &Answer{At: r.AnsweredAt.UTC().Truncate(time.Second), Status: r.Status,
		ContentType: record.ContentType(r.ContentType), BodySHA256: hex.EncodeToString(sum[:]), BodyBytes: len(r.Body),
		Cut: r.Truncated || len(r.Body) >= MaxBody, Settled: r.Billed, Verified: r.Receipt.Verified,
		Receipt: screen.Text(r.Receipt.Note)}
	for _, w := range r.Words {
		p.Answer.Passed = append(p.Answer.Passed, feed.Word(w).Screened())
	}
	return p
}

// laterLaunch puts off a purchase for which nothing was signed, until there is no more patience
// with it.
func (s *Services) laterLaunch(ctx context.Context, task schedule.Task, rec LaunchRecord, now time.Time,
	out goods.LaunchOutcome) error {
	if now.Before(rec.Starts.Add(launchPatience)) {
		return s.putLaunch(ctx, task, rec, now.Add(askAgain))
	}
	rec.Outcome = &Outcome{At: now, LaunchOutcome: out}
	return s.putLaunch(ctx, task, rec, now)
}

// putLaunch writes down how far a purchase is, and when it goes on.
func (s *Services) putLaunch(ctx context.Context, task schedule.Task, rec LaunchRecord, at time.Time) error {
	return launches.step(ctx, s.cfg.DB, task, func(_ ledger.Tx, r *LaunchRecord) (then, error) {
		*r = rec
		return again(at), nil
	})
}

// settle asks the chain what became of a payment, and once that can change no more reports it.
func (s *Services) settle(ctx context.Context, task schedule.Task, rec LaunchRecord, now time.Time) error {
	p := rec.Sent
	red, err := s.cfg.Launches.Purse.redeemed(ctx, &rail.Payment{Network: p.Network, Asset: p.Asset, Method: "eip3009",
		Payer: p.Payer, Nonce: p.Nonce, PayTo: p.PayTo, Amount: big.NewInt(p.Amount),
		ValidBefore: p.ValidBefore.Unix()}, rec.Marks[p.Network])
	if err != nil {
		s.cfg.Log.Warn("what became of a payment could not be read", "order", rec.Order, "err", err)
		return s.putLaunch(ctx, task, rec, now.Add(lookAgain))
	}
	spent := red.Proof != nil || red.Used && red.Trouble != "" // on something else: the wallet's own cancel
	if !spent && (red.Used || !red.Final.After(p.ValidBefore.Add(clocks))) {
		return s.putLaunch(ctx, task, rec, now.Add(lookAgain))
	}
	audit, err := report(rec, red.Proof)
	if err != nil {
		return err
	}
	signed, err := s.till.SignReport(ctx, rec.Purchase, audit, now)
	if err != nil {
		return err
	}
	out := goods.LaunchOutcome{AuditID: signed.ID, ReportURL: s.reportURL(signed.ID), ReportSHA: signed.Digest(),
		Evidence: audit.EvidenceSHA256, Verdict: audit.Verdict}
	if red.Proof != nil {
		out.Network, out.Transaction, out.USDC = p.Network, red.Proof.Tx, buyer.USDC(p.Amount)
	}
	rec.Outcome = &Outcome{out, now}
	return launches.step(ctx, s.cfg.DB, task, func(tx ledger.Tx, r *LaunchRecord) (then, error) {
		*r = rec
		if err := s.cfg.Launches.Observe(tx, walked(rec, red.Proof)); err != nil {
			return underWay, err
		}
		if a := p.Answer; a != nil && len(a.Passed) > 0 {
			err := feed.KeepPassed(tx, rec.Host, feed.Passed{At: a.At, Door: rec.bare(), Words: a.Passed})
			if err != nil {
				return underWay, err
			}
		}
		return again(tx.Now()), till.KeepReport(tx, signed)
	})
}

// endLaunch completes the order.
func (s *Services) endLaunch(ctx context.Context, task schedule.Task, rec LaunchRecord) error {
	err := s.till.Complete(ctx, rec.Purchase, func(promise *goods.Made) (*goods.Made, error) {
		return launchOver(promise, rec.Outcome.LaunchOutcome, rec.Outcome.At)
	})
	if err == nil {
		err = launches.step(ctx, s.cfg.DB, task, func(_ ledger.Tx, r *LaunchRecord) (then, error) {
			r.Closed = true
			return over, nil
		})
	}
	if err == nil {
		s.cfg.Launches.Ended(rec.Outcome.name())
	}
	return err
}

func (o Outcome) name() string {
	if o.NotWalked != "" {
		return "not_walked"
	}
	return o.Verdict
}

// WhyUnsigned says in words of our own why nothing was signed.
func WhyUnsigned(err error) string {
	_, answered := errors.AsType[*buyer.DoorError](err)
	switch {
	case errors.Is(err, buyer.ErrCeiling):
		return "it asks for more than " + buyer.USDC(LaunchCap) + " USDC"
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
