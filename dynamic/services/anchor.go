package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/schedule"
)

// A Bitcoin anchor has a digest that the buyer computed timestamped by Bitcoin: it is handed in at
// every calendar once, however often it is asked for, and what the calendars answer is kept,
// merged, as one OpenTimestamps proof that becomes more as they learn more.
//
// A digest is written down in the transaction that delivers what was bought, and a task is due with
// it; everything else happens in the worker, after the money. Calendars that are away are asked
// again for thirty days, and nothing is lost meanwhile. What a calendar says is bounded and parsed
// strictly by package ots, and only the keeper's calendars are ever asked.
//
//	timestamp/<digest, hex>   Timestamp

// States of a digest, beside those of ots.Status.
const (
	stampWaiting   = "waiting"   // for the first calendar's answer
	stampAbandoned = "abandoned" // no calendar answered in stampPatience
)

// stampPatience is how long calendars that do not answer are asked again.
const stampPatience = 30 * 24 * time.Hour

// CalendarSays is what became of a digest at one calendar.
type CalendarSays struct {
	URI     string    `json:"uri"`
	State   string    `json:"state"` // submitted | failed
	At      time.Time `json:"at"`    // of that
	Problem string    `json:"problem,omitzero"`
}

// Timestamp is what is known of a digest.
type Timestamp struct {
	Digest    string         `json:"digest"` // SHA-256, hex
	Since     time.Time      `json:"since"`  // when it was asked for first
	Calendars []CalendarSays `json:"calendars"`
	Proof     []byte         `json:"proof,omitempty"` // the detached proof, nil before the first answer
	Status    ots.Status     `json:"status"`
}

var timestamps = journal[Timestamp]{job: "timestamp", key: ledger.TimestampKey}

// AnchorConfig is what digests are timestamped with.
type AnchorConfig struct {
	Calendars []ots.Calendar // where digests are handed in; none: no anchors are sold
	Upgrades  []ots.Calendar // who is asked besides what became of them
	// Header finds the header of a block. nil finds none, and no proof is checked here.
	Header func(ctx context.Context, height int64) (ots.Header, error)
	// Difficulty is the least work of a header; 0 is what Bitcoin's main chain asks.
	Difficulty float64
}

type stamped struct {
	Digest   string `json:"digest,omitzero"`
	Label    string `json:"label,omitzero"`
	Before   bool   `json:"proof_existed_before,omitzero"` // another asked for the same digest already
	HowToGet string `json:"how_to_get_the_proof,omitzero"`
}

// anchor is the kind of Bitcoin anchors. Nothing leaves the store before it is paid for: the digest
// goes to the calendars from the worker.
func (s *Services) anchor() goods.Kind {
	able := func(_ goods.Maker, good content.Good) error {
		if len(s.cfg.Anchors.Calendars) == 0 {
			return &goods.Away{Item: good.ID, Lacks: "an OpenTimestamps calendar"}
		}
		return nil
	}
	return goods.Kind{
		Name: content.KindBitcoin, Delivers: stamped{}, Able: able,
		Available: func(m goods.Maker, _ ledger.Tx, good content.Good, _ map[string]string) error {
			return able(m, good)
		},
		Reserve: func(m goods.Maker, _ ledger.Tx, o *goods.Order) error { return able(m, o.Good) },
		Make: func(_ context.Context, _ goods.Maker, o *goods.Order) (*goods.Made, error) {
			g := goods.MadeOf(o, stamped{Digest: o.Inputs["digest"], Label: o.Inputs["label"],
				HowToGet: "GET artifact.url says how it stands, and has the address of proof.ots: pending within the " +
					"hour, in a block typically within a few hours. The file becomes more by itself; fetch it again " +
					"then."}, "Written down. The calendars hear of it next, and then the chain.", "")
			g.Attests = "sha256:" + o.Inputs["digest"]
			return g, nil
		},
		Settle: goods.Settled(func(tx ledger.Tx, _ *goods.Order, d *stamped) (err error) {
			d.Before, err = stampKnown(tx, d.Digest)
			return err
		}),
		Complete: func(_ goods.Maker, tx ledger.Tx, o *goods.Order, _ *goods.Made) error {
			return wantStamp(tx, o.Inputs["digest"])
		},
		Artifact: &goods.Artifact{
			Class: attest.ClassBitcoinAnchor, Prefix: "anchor_", Path: "/api/bitcoin-anchor/",
			Payload: func(o *goods.Order, _ *goods.Made, f goods.Facts) (any, error) {
				return attest.BitcoinAnchor{AnchorID: f.ID, Class: attest.ClassBitcoinAnchor,
					PatronNumber: f.PatronNumber, Date: f.Date, Digest: o.Inputs["digest"], Label: o.Inputs["label"],
					Name: o.Inputs["agent_name"], FromTheStore: f.Store}, nil
			},
		},
	}
}

// stampKnown reports whether a digest was asked for before.
func stampKnown(tx ledger.Tx, digest string) (bool, error) {
	_, err := timestamps.read(tx, digest)
	if errors.Is(err, ledger.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// wantStamp asks for a digest, SHA-256 in lower-case hex. One that was asked for is left as it is.
func wantStamp(tx ledger.Tx, digest string) error {
	known, err := stampKnown(tx, digest)
	if err != nil || known {
		return err
	}
	now := tx.Now().Truncate(time.Second)
	return timestamps.put(tx, digest, Timestamp{Digest: digest, Since: now, Calendars: []CalendarSays{},
		Status: ots.Status{State: stampWaiting}}, now)
}

// stampDigest takes one digest as far as it goes now.
func (s *Services) stampDigest(ctx context.Context, task schedule.Task) error {
	var rec Timestamp
	var now time.Time
	if err := s.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		now = tx.Now()
		rec, err = timestamps.read(tx, task.ID)
		return err
	}); err != nil {
		return err
	}
	proof, err := rec.proof()
	if err != nil {
		return err
	}
	if now.Before(rec.Since.Add(stampPatience)) {
		if proof, err = s.submit(ctx, &rec, proof, now); err != nil {
			return err
		}
	}
	if proof != nil {
		if proof, err = s.upgrade(ctx, proof); err != nil {
			return err
		}
		rec.Proof = proof.Encode()
		rec.Status = proof.Check(s.headers(ctx, *proof), s.cfg.Anchors.Difficulty)
	}
	return timestamps.step(ctx, s.cfg.DB, task, func(tx ledger.Tx, r *Timestamp) (then, error) {
		*r = rec
		at := rec.next(tx.Now(), s.cfg.Anchors.Header != nil)
		if at.IsZero() && rec.Proof == nil {
			r.Status.State = stampAbandoned
		}
		if at.IsZero() {
			return over, nil
		}
		return again(at), nil
	})
}

func (r *Timestamp) proof() (*ots.Proof, error) {
	if r.Proof == nil {
		return nil, nil
	}
	p, err := ots.Parse(r.Proof)
	return &p, err
}

// submit hands the digest in where it was not taken yet.
func (s *Services) submit(ctx context.Context, rec *Timestamp, proof *ots.Proof, now time.Time) (*ots.Proof, error) {
	raw, err := hex.DecodeString(rec.Digest)
	if err != nil || len(raw) != sha256.Size {
		return nil, fmt.Errorf("timestamp: %.80q is no digest", rec.Digest)
	}
	for _, c := range s.cfg.Anchors.Calendars {
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
		told := CalendarSays{URI: c.URI(), State: "submitted", At: now.Truncate(time.Second)}
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
func (r *Timestamp) took(uri string) bool {
	return slices.ContainsFunc(r.Calendars, func(t CalendarSays) bool { return t.URI == uri && t.State == "submitted" })
}

func (r *Timestamp) tell(t CalendarSays) {
	if i := slices.IndexFunc(r.Calendars, func(o CalendarSays) bool { return o.URI == t.URI }); i >= 0 {
		r.Calendars[i] = t
		return
	}
	r.Calendars = append(r.Calendars, t)
}

// upgrade asks what became of a proof.
func (s *Services) upgrade(ctx context.Context, p *ots.Proof) (*ots.Proof, error) {
	further, _, err := ots.Upgrade(ctx, *p, slices.Concat(s.cfg.Anchors.Calendars, s.cfg.Anchors.Upgrades))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil { // what came of the others is good
		s.cfg.Log.Warn("a calendar did not say what became of a digest", "err", err)
	}
	return &further, nil
}

// headers finds those of the blocks that a proof names, as far as they can be had.
func (s *Services) headers(ctx context.Context, p ots.Proof) map[int64]ots.Header {
	found := make(map[int64]ots.Header)
	if s.cfg.Anchors.Header == nil {
		return found
	}
	for _, c := range p.Claims() {
		if c.Kind != ots.Bitcoin {
			continue
		}
		h, err := s.cfg.Anchors.Header(ctx, c.Height)
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
func (r *Timestamp) next(now time.Time, checks bool) time.Time {
	age := now.Sub(r.Since)
	whole := age >= stampPatience || !slices.ContainsFunc(r.Calendars,
		func(c CalendarSays) bool { return c.State != "submitted" })
	switch {
	case r.Proof == nil && age >= stampPatience:
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

// BitcoinAnchorView is the answer of GET /api/bitcoin-anchor/{anchor_id}: the signed anchor, and
// how the proof of time stands.
type BitcoinAnchorView struct {
	AnchorID  string         `json:"anchor_id"`
	Digest    string         `json:"digest"`
	Label     string         `json:"label,omitzero"`
	Date      string         `json:"date"`
	Proof     ots.Status     `json:"proof"` // waiting | pending | bitcoin_unchecked | bitcoin_verified | …
	ProofURL  string         `json:"proof_url"`
	HandedIn  string         `json:"handed_in_since"` // when the digest was asked for first, by whomever
	Calendars []CalendarSays `json:"calendars"`
	NextStep  string         `json:"next_step"`
	counter.Verification
}

// nextProof is what to do about a proof, by its state.
var nextProof = map[string]string{
	stampWaiting: "Wait: no calendar has answered yet. They are asked again for thirty days, and the calendars " +
		"below say how each stands.",
	stampAbandoned: "No calendar took the digest in thirty days. Write to the keeper: what you paid is owed.",
	ots.StatePending: "GET proof_url for the pending proof. A block typically has it within a few hours; fetch the " +
		"file again then.",
	ots.StateVerified: "GET proof_url: the file leads from your digest to the block, and any OpenTimestamps " +
		"verifier checks it.",
	ots.StateUnchecked: "GET proof_url: the file leads to a block, whose header was not at hand here. Check it with " +
		"a node or an explorer of yours.",
}

// serveBitcoinAnchor answers GET /api/bitcoin-anchor/{anchor_id}.
func (s *Services) serveBitcoinAnchor(w http.ResponseWriter, r *http.Request) error {
	v, rec, err := s.bitcoinAnchor(r)
	if err != nil {
		return err
	}
	v.Proof, v.Calendars, v.HandedIn = rec.Status, rec.Calendars, stamp(rec.Since)
	if v.NextStep = nextProof[rec.Status.State]; v.NextStep == "" {
		v.NextStep = "GET proof_url for what the calendars gave. They are asked again."
	}
	return counter.WriteJSON(w, v)
}

// serveBitcoinProof answers GET /api/bitcoin-anchor/{anchor_id}/proof.ots with the detached proof,
// merged from all calendars as far as they know by now.
func (s *Services) serveBitcoinProof(w http.ResponseWriter, r *http.Request) error {
	_, rec, err := s.bitcoinAnchor(r)
	if err != nil {
		return err
	}
	if rec.Proof == nil {
		return &problem.Error{Code: "not_found", Detail: "There is no proof yet: no calendar has answered. They are " +
			"asked again; GET the anchor says how each stands."}
	}
	h := w.Header()
	h["Cache-Control"] = []string{"private, no-store"}
	h["Content-Disposition"] = []string{`attachment; filename="proof.ots"`}
	return route.Send(w, http.StatusOK, "application/octet-stream", rec.Proof)
}

// bitcoinAnchor finds an anchor with what is known of its digest.
func (s *Services) bitcoinAnchor(r *http.Request) (v BitcoinAnchorView, rec Timestamp, err error) {
	a, checked, err := s.counter.Artifact(r.Context(), r.PathValue("anchor_id"), counter.Anchors,
		attest.ClassBitcoinAnchor, "bitcoin anchor")
	if err != nil {
		return v, rec, err
	}
	var signed attest.BitcoinAnchor
	if err := json.Unmarshal([]byte(a.Proof.SignedPayload), &signed); err != nil {
		return v, rec, err
	}
	err = s.cfg.DB.View(r.Context(), func(tx ledger.Tx) (err error) {
		rec, err = timestamps.read(tx, signed.Digest)
		return err
	})
	if errors.Is(err, ledger.ErrNotFound) { // a digest that was changed in the ledger
		return v, rec, counter.NoSuch("bitcoin anchor")
	}
	v = BitcoinAnchorView{AnchorID: a.ID, Digest: signed.Digest, Label: signed.Label, Date: signed.Date,
		ProofURL: s.cfg.BaseURL + "/api/bitcoin-anchor/" + a.ID + "/proof.ots", Verification: *checked}
	return v, rec, err
}
