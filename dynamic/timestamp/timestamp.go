// Package timestamp has digests of buyers timestamped by Bitcoin: it hands each in at every
// calendar once, however often it is asked for, and keeps what the calendars answer, merged, as one
// OpenTimestamps proof that becomes more as they learn more.
//
// A digest is written down in the transaction that delivers what was bought ([Want]), and a task is
// due with it; everything else happens in the worker, after the money. Calendars that are away are
// asked again for thirty days, and nothing is lost meanwhile. What a calendar says is bounded and
// parsed strictly by package ots, and only the keeper's calendars are ever asked.
//
//	timestamp/<digest, hex>   Record
package timestamp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
)

// Job is the name of the work in the ledger's queue.
const Job = "timestamp"

// States of a digest, beside those of ots.Status.
const (
	Waiting   = "waiting"   // for the first calendar's answer
	Abandoned = "abandoned" // no calendar answered in thirty days
)

// Patience is how long calendars that do not answer are asked again.
const Patience = 30 * 24 * time.Hour

// Told is what became of a digest at one calendar.
type Told struct {
	URI     string    `json:"uri"`
	State   string    `json:"state"` // submitted | failed
	At      time.Time `json:"at"`    // of that
	Problem string    `json:"problem,omitzero"`
}

// Record is what is known of a digest.
type Record struct {
	Digest    string     `json:"digest"` // SHA-256, hex
	Since     time.Time  `json:"since"`  // when it was asked for first
	Calendars []Told     `json:"calendars"`
	Proof     []byte     `json:"proof,omitempty"` // the detached proof, nil before the first answer
	Status    ots.Status `json:"status"`
}

// Known reports whether a digest was asked for before.
func Known(tx ledger.Tx, digest string) (bool, error) {
	_, err := tx.Get(ledger.TimestampKey(digest))
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Want asks for a digest, SHA-256 in lower-case hex. One that was asked for is left as it is.
func Want(tx ledger.Tx, digest string) error {
	known, err := Known(tx, digest)
	if err != nil || known {
		return err
	}
	now := tx.Now().Truncate(time.Second)
	return errors.Join(
		ledger.SetJSON(tx, ledger.TimestampKey(digest), Record{Digest: digest, Since: now, Calendars: []Told{},
			Status: ots.Status{State: Waiting}}),
		schedule.Put(tx, Job, digest, now))
}

// Read is what is known of a digest; ledger.ErrNotFound for one that was not asked for.
func Read(tx ledger.Tx, digest string) (Record, error) {
	return ledger.GetJSON[Record](tx, ledger.TimestampKey(digest))
}

// Config is what a Stamper stands on. DB, Calendars and Log are required.
type Config struct {
	DB        ledger.DB
	Calendars []ots.Calendar // where digests are handed in
	Upgrades  []ots.Calendar // who is asked besides what became of them
	// Header finds the header of a block. nil finds none, and no proof is checked here.
	Header func(ctx context.Context, height int64) (ots.Header, error)
	// Difficulty is the least work of a header; 0 is what Bitcoin's main chain asks.
	Difficulty float64
	Log        *slog.Logger
}

// Stamper does the work.
type Stamper struct{ cfg Config }

// New checks the configuration.
func New(cfg Config) (*Stamper, error) {
	if cfg.DB == nil || cfg.Log == nil || len(cfg.Calendars) == 0 {
		return nil, errors.New("timestamp: a ledger, calendars and a log are required")
	}
	return &Stamper{cfg}, nil
}

// Row is the work as the scheduler does it.
func (s *Stamper) Row() schedule.Job {
	return schedule.Job{Name: Job, Workers: 4, Timeout: 2 * time.Minute, Pause: 10 * time.Minute, Do: s.do}
}

// do takes one digest as far as it goes now.
func (s *Stamper) do(ctx context.Context, task schedule.Task) error {
	var rec Record
	var now time.Time
	if err := s.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		now = tx.Now()
		rec, err = Read(tx, task.ID)
		return err
	}); err != nil {
		return err
	}
	proof, err := rec.proof()
	if err != nil {
		return err
	}
	if now.Before(rec.Since.Add(Patience)) {
		if proof, err = s.submit(ctx, &rec, proof, now); err != nil {
			return err
		}
	}
	if proof != nil {
		if proof, err = s.upgrade(ctx, proof); err != nil {
			return err
		}
		rec.Proof = proof.Encode()
		rec.Status = proof.Check(s.headers(ctx, *proof), s.cfg.Difficulty)
	}
	return s.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if err := task.Check(tx); err != nil {
			return err
		}
		at := rec.next(tx.Now(), s.cfg.Header != nil)
		if at.IsZero() && rec.Proof == nil {
			rec.Status.State = Abandoned
		}
		err := ledger.SetJSON(tx, ledger.TimestampKey(rec.Digest), rec)
		if at.IsZero() {
			return errors.Join(err, schedule.Drop(tx, Job, task.ID))
		}
		return errors.Join(err, schedule.Put(tx, Job, task.ID, at))
	})
}

func (r *Record) proof() (*ots.Proof, error) {
	if r.Proof == nil {
		return nil, nil
	}
	p, err := ots.Parse(r.Proof)
	return &p, err
}

// submit hands the digest in where it was not taken yet.
func (s *Stamper) submit(ctx context.Context, rec *Record, proof *ots.Proof, now time.Time) (*ots.Proof, error) {
	raw, err := hex.DecodeString(rec.Digest)
	if err != nil || len(raw) != sha256.Size {
		return nil, fmt.Errorf("timestamp: %.80q is no digest", rec.Digest)
	}
	for _, c := range s.cfg.Calendars {
		if rec.took(c.URI()) {
			continue
		}
		proofs, problems, _ := ots.Stamp(ctx, [sha256.Size]byte(raw), []ots.Calendar{c}) // problems has the error too
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := proofs[0], problems[0]
		if err == nil && proof != nil {
			p, err = ots.Merge(*proof, p)
		}
		told := Told{URI: c.URI(), State: "submitted", At: now.Truncate(time.Second)}
		if err != nil {
			s.cfg.Log.Warn("a calendar did not take a digest", "calendar", c.URI(), "err", err)
			told.State, told.Problem = "failed", "it did not answer as a calendar does; it is asked again"
		} else {
			proof = &p
		}
		rec.tell(told)
	}
	return proof, nil
}

// took reports whether a calendar has the digest.
func (r *Record) took(uri string) bool {
	return slices.ContainsFunc(r.Calendars, func(t Told) bool { return t.URI == uri && t.State == "submitted" })
}

func (r *Record) tell(t Told) {
	if i := slices.IndexFunc(r.Calendars, func(o Told) bool { return o.URI == t.URI }); i >= 0 {
		r.Calendars[i] = t
		return
	}
	r.Calendars = append(r.Calendars, t)
}

// upgrade asks what became of a proof.
func (s *Stamper) upgrade(ctx context.Context, p *ots.Proof) (*ots.Proof, error) {
	further, _, err := ots.Upgrade(ctx, *p, slices.Concat(s.cfg.Calendars, s.cfg.Upgrades))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil { // what came of the others is good
		s.cfg.Log.Warn("a calendar did not say what became of a digest", "err", err)
	}
	return &further, nil
}

// headers finds those of the blocks that a proof names, as far as they can be had.
func (s *Stamper) headers(ctx context.Context, p ots.Proof) map[int64]ots.Header {
	found := make(map[int64]ots.Header)
	if s.cfg.Header == nil {
		return found
	}
	for _, c := range p.Claims() {
		if c.Kind != ots.Bitcoin {
			continue
		}
		h, err := s.cfg.Header(ctx, c.Height)
		if err != nil {
			s.cfg.Log.Warn("a block's header could not be had", "height", c.Height, "err", err)
			continue
		}
		found[c.Height] = h
	}
	return found
}

// next is when to look again; zero is never. A proof whose block is checked is finished, and so is
// one that leads to a block where nothing checks it here.
func (r *Record) next(now time.Time, checks bool) time.Time {
	age := now.Sub(r.Since)
	whole := age >= Patience || !slices.ContainsFunc(r.Calendars, func(t Told) bool { return t.State != "submitted" })
	switch {
	case r.Proof == nil && age >= Patience:
		return time.Time{}
	case r.Proof != nil && r.Status.State != ots.Pending && whole && (r.Status.State == ots.StateVerified || !checks):
		return time.Time{}
	case age < time.Hour:
		return now.Add(5 * time.Minute)
	case age < 24*time.Hour:
		return now.Add(20 * time.Minute)
	}
	return now.Add(6 * time.Hour)
}
