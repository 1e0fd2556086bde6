package till

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"agentstore/corpus/attest"
	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
	"agentstore/templates/drawing"
)

// Verification is the answer of GET /api/verify/{id} (decisions §5). It is checked anew at every read, from the exact
// bytes that were signed.
type Verification struct {
	Valid         bool                `json:"valid"`
	Reason        string              `json:"reason,omitempty"` // unknown_id, signature, no_published_key
	ArtifactClass string              `json:"artifact_class,omitempty"`
	Status        string              `json:"status,omitempty"` // active | reversed
	ReversedOn    string              `json:"reversed_on,omitempty"`
	Certificate   *attest.Certificate `json:"certificate,omitempty"`
	Report        map[string]any      `json:"report,omitempty"` // a round's header, a row or an observation
	*attest.Proof
	SignedBy        *attest.Signer `json:"signed_by,omitempty"`
	NotCovered      []string       `json:"not_covered"`
	ArtifactHash    string         `json:"artifact_hash,omitempty"` // SHA-256 of signed_payload, hex
	PredatesPayment bool           `json:"predates_payment_fields,omitempty"`
	DoesNotProve    string         `json:"does_not_prove,omitempty"`
	HowTo           string         `json:"how_to_check,omitempty"`
	Inclusion       *Inclusion     `json:"inclusion,omitempty"` // where the public record holds what was sold
	BadgeURL        string         `json:"badge_url,omitempty"`
}

// Recorded is what an artifact may have left on the public record.
type Recorded struct {
	Word    string // that it retired
	Attests string // what its certificate says it attests, such as sha256:…
}

// Inclusion shows that something is a leaf of the log of the public record: an observation that an artifact left there,
// or what is verified itself.
type Inclusion struct {
	ID      string `json:"id"`           // under which it can be verified by itself, such as observation_3
	Kind    string `json:"kind"`         // of an observation: retired_word, paid_refresh, …; or row, round
	At      string `json:"at,omitempty"` // of an observation
	Leaf    int64  `json:"leaf"`         // log index
	LogSize int64  `json:"log_size"`     // of the checkpoint
	Entry   string `json:"entry"`        // the exact bytes of the leaf
	Proof   string `json:"proof"`        // the text of c2sp.org/tlog-proof
	How     string `json:"how_to_check"`
}

// verify answers GET /api/verify/{id}.
func (t *Till) verify(w http.ResponseWriter, r *http.Request) error {
	v, err := t.verification(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Vary", "Accept, Accept-Encoding, User-Agent")
	h.Set("Cache-Control", "no-cache")
	if t.cfg.VerifyPage != nil && prefersHTML(r) {
		page, err := t.cfg.VerifyPage(r.PathValue("id"), v)
		if err != nil {
			return err
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		if !v.Valid && v.Reason == "unknown_id" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(page)
		return nil
	}
	if !v.Valid && v.Reason == "unknown_id" {
		return &problem.Error{Code: "not_found", Status: http.StatusNotFound,
			Detail: "No artifact of this store has this id. Certificates begin with cert_; what the record holds is named round_1, row_1, observation_1.",
			Extra:  map[string]any{"valid": false, "reason": "unknown_id"}}
	}
	return writeJSON(w, v)
}

func (t *Till) verification(r *http.Request, id string) (Verification, error) {
	unknown := Verification{Reason: "unknown_id", NotCovered: []string{}}
	if !strings.HasPrefix(id, prefixCert) {
		return t.sealed(id, unknown)
	}
	var rec certRecord
	var word string
	err := t.view(r.Context(), func(tx ledger.Tx) (err error) {
		if rec, err = ledger.GetJSON[certRecord](tx, ledger.CertKey(id)); err != nil || t.cfg.Recorded == nil {
			return err
		}
		p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(rec.Purchase))
		if errors.Is(err, ledger.ErrNotFound) {
			return nil // what was not bought here left nothing behind
		}
		word = p.Word
		return err
	})
	if errors.Is(err, errNotFound) {
		return unknown, nil
	}
	if err != nil {
		return unknown, ledgerDown(err)
	}
	v, err := t.verified(rec)
	if err == nil && t.cfg.Recorded != nil {
		// The certificate is good or not without the record, which must not stand in its way.
		in, err := t.cfg.Recorded(Recorded{Word: word, Attests: rec.Certificate.Attests})
		if err != nil {
			t.cfg.Log.Error("the record cannot be asked about an artifact", "id", id, "err", err)
		}
		v.Inclusion = in
	}
	return v, err
}

// sealed verifies what stands in the record under an id of its own.
func (t *Till) sealed(id string, unknown Verification) (Verification, error) {
	if t.cfg.Sealed == nil {
		return unknown, nil
	}
	v, err := t.cfg.Sealed(id)
	if err != nil || v == nil {
		return unknown, err
	}
	return *v, nil
}

// verified checks a stored certificate and says what a stranger should know of it.
func (t *Till) verified(rec certRecord) (Verification, error) {
	v := Verification{ArtifactClass: "certificate", Status: "active", Certificate: &rec.Certificate, Proof: &rec.Proof, NotCovered: []string{}}
	if rec.Reversed {
		v.Status, v.ReversedOn = "reversed", rec.ReversedOn
	}
	v.PredatesPayment = rec.Certificate.PredatesPayment()
	sum := sha256.Sum256([]byte(rec.Proof.SignedPayload))
	v.ArtifactHash = hex.EncodeToString(sum[:])
	v.DoesNotProve = "A certificate proves only that this store issued it with these fields on this date."
	if g, ok := t.cfg.Site.Now().Good(rec.Certificate.Item); ok && g.DoesNotProve != "" {
		v.DoesNotProve = g.DoesNotProve
	}
	v.HowTo = "Check signature (ed25519, hex) over the bytes of signed_payload with public_key, and find that key at " +
		t.cfg.BaseURL + "/.well-known/store-signing-key. The format is described at " + t.cfg.BaseURL + "/spec/store-attestation/v1."
	signer, err := attest.VerifySigned(attest.Signed{Certificate: rec.Certificate, Proof: rec.Proof}, t.cfg.Ring)
	switch {
	case errors.Is(err, attest.ErrUnknownKey):
		v.Reason = "no_published_key"
		return v, nil
	case err != nil:
		v.Reason = "signature"
		return v, nil
	}
	v.SignedBy = &signer
	displayed, err := fieldsOf(rec.Certificate)
	if err != nil {
		return v, err
	}
	notCovered, err := attest.Check([]byte(rec.Proof.PublicKey), rec.Proof.SignedPayload, rec.Proof.Signature, displayed)
	if err != nil {
		v.Reason = "signature"
		return v, nil
	}
	if notCovered != nil {
		v.NotCovered = notCovered
	}
	v.Valid = true
	return v, nil
}

func fieldsOf(c attest.Certificate) (map[string]any, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(b, &m)
}

// badge answers GET /badges/{patron_number}.svg.
func (t *Till) badge(w http.ResponseWriter, r *http.Request) error {
	n, err := parsePatron(r.PathValue("patron_number"))
	if err != nil {
		return noBadge()
	}
	var rec certRecord
	err = t.view(r.Context(), func(tx ledger.Tx) error {
		id, err := tx.Get(ledger.PatronKey(n))
		if err != nil {
			return err
		}
		rec, err = ledger.GetJSON[certRecord](tx, ledger.CertKey(string(id)))
		return err
	})
	if errors.Is(err, errNotFound) {
		return noBadge()
	}
	if err != nil {
		return ledgerDown(err)
	}
	date, err := time.Parse(time.RFC3339, rec.Certificate.Date)
	if err != nil {
		return err
	}
	svg := drawing.Badge(drawing.Patron{Number: n, Name: rec.Certificate.Name, Item: t.goodName(rec.Certificate.Item), Date: date,
		Nicer: rec.Nicer, Reversed: rec.Reversed})
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, _ = w.Write([]byte(svg))
	return nil
}

func (t *Till) goodName(id string) string {
	if g, ok := t.cfg.Site.Now().Good(id); ok {
		return g.Name
	}
	return id
}

func noBadge() error {
	return &problem.Error{Code: "not_found", Status: http.StatusNotFound,
		Detail: "There is no patron with this number yet. Numbers begin at 1 and have no gaps."}
}
