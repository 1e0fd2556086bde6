package counter

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/timestamp"
)

// BitcoinAnchorView is the answer of GET /api/bitcoin-anchor/{anchor_id}: the signed anchor, and
// how the proof of time stands.
type BitcoinAnchorView struct {
	AnchorID  string           `json:"anchor_id"`
	Digest    string           `json:"digest"`
	Label     string           `json:"label,omitzero"`
	Date      string           `json:"date"`
	Proof     ots.Status       `json:"proof"` // waiting | pending | bitcoin_unchecked | bitcoin_verified | …
	ProofURL  string           `json:"proof_url"`
	HandedIn  string           `json:"handed_in_since"` // when the digest was asked for first, by whomever
	Calendars []timestamp.Told `json:"calendars"`
	NextStep  string           `json:"next_step"`
	Verification
}

// nextProof is what to do about a proof, by its state.
var nextProof = map[string]string{
	timestamp.Waiting: "Wait: no calendar has answered yet. They are asked again for thirty days, and the calendars " +
		"below say how each stands.",
	timestamp.Abandoned: "No calendar took the digest in thirty days. Write to the keeper: what you paid is owed.",
	ots.StatePending: "GET proof_url for the pending proof. A block typically has it within a few hours; fetch the " +
		"file again then.",
	ots.StateVerified: "GET proof_url: the file leads from your digest to the block, and any OpenTimestamps " +
		"verifier checks it.",
	ots.StateUnchecked: "GET proof_url: the file leads to a block, whose header was not at hand here. Check it with " +
		"a node or an explorer of yours.",
}

// serveBitcoinAnchor answers GET /api/bitcoin-anchor/{anchor_id}.
func (c *Counter) serveBitcoinAnchor(w http.ResponseWriter, r *http.Request) error {
	v, rec, err := c.bitcoinAnchor(r)
	if err != nil {
		return err
	}
	v.Proof, v.Calendars, v.HandedIn = rec.Status, rec.Calendars, stamp(rec.Since)
	if v.NextStep = nextProof[rec.Status.State]; v.NextStep == "" {
		v.NextStep = "GET proof_url for what the calendars gave. They are asked again."
	}
	return writeJSON(w, v)
}

// serveBitcoinProof answers GET /api/bitcoin-anchor/{anchor_id}/proof.ots with the detached proof,
// merged from all calendars as far as they know by now.
func (c *Counter) serveBitcoinProof(w http.ResponseWriter, r *http.Request) error {
	_, rec, err := c.bitcoinAnchor(r)
	if err != nil {
		return err
	}
	if rec.Proof == nil {
		return &problem.Error{Code: "not_found", Detail: "There is no proof yet: no calendar has answered. They are " +
			"asked again; GET the anchor says how each stands."}
	}
	h := w.Header()
	h["Content-Type"] = []string{"application/octet-stream"}
	h["Cache-Control"] = privateNoStore
	h["Content-Disposition"] = []string{`attachment; filename="proof.ots"`}
	h["Content-Length"] = []string{strconv.Itoa(len(rec.Proof))}
	_, _ = w.Write(rec.Proof)
	return nil
}

// bitcoinAnchor finds an anchor with what is known of its digest.
func (c *Counter) bitcoinAnchor(r *http.Request) (v BitcoinAnchorView, rec timestamp.Record, err error) {
	a, _, err := c.artifact(r.Context(), r.PathValue("anchor_id"), attest.ClassBitcoinAnchor)
	if err != nil {
		return v, rec, err
	}
	if a == nil {
		return v, rec, noSuch("bitcoin anchor")
	}
	checked, err := c.checked(a)
	if err != nil {
		return v, rec, err
	}
	checked.DoesNotProve = Anchors.DoesNotProve
	var signed attest.BitcoinAnchor
	if err := json.Unmarshal([]byte(a.Proof.SignedPayload), &signed); err != nil {
		return v, rec, err
	}
	err = c.DB.View(r.Context(), func(tx ledger.Tx) (err error) {
		rec, err = timestamp.Read(tx, signed.Digest)
		return err
	})
	if errors.Is(err, ledger.ErrNotFound) { // a digest that was changed in the ledger
		return v, rec, noSuch("bitcoin anchor")
	}
	v = BitcoinAnchorView{AnchorID: a.ID, Digest: signed.Digest, Label: signed.Label, Date: signed.Date,
		ProofURL: c.BaseURL + "/api/bitcoin-anchor/" + a.ID + "/proof.ots", Verification: *checked}
	return v, rec, err
}
