package counter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
	"store.example/agentstore/templates/drawing"
)

// Verification is the answer of GET /api/verify/{id}. It is checked anew at every read, from the
// exact bytes that were signed.
type Verification struct {
	Valid         bool                `json:"valid"`
	Reason        string              `json:"reason,omitempty"` // unknown_id, signature, no_published_key
	ArtifactClass string              `json:"artifact_class,omitempty"`
	Status        string              `json:"status,omitempty"` // active | reversed
	ReversedOn    string              `json:"reversed_on,omitempty"`
	Certificate   *attest.Certificate `json:"certificate,omitempty"`
	Anchor        map[string]any      `json:"anchor,omitempty"` // what was signed
	// Report is what was signed otherwise: a pass, an order, a round's header, a row or an
	// observation.
	Report map[string]any `json:"report,omitempty"`
	*attest.Proof
	SignedBy        *attest.Signer `json:"signed_by,omitempty"`
	NotCovered      []string       `json:"not_covered"`
	ArtifactHash    string         `json:"artifact_hash,omitempty"` // SHA-256 of signed_payload, hex
	Voucher         *till.Paid     `json:"voucher,omitempty"`       // what it was paid by, out of a channel
	PredatesPayment bool           `json:"predates_payment_fields,omitempty"`
	DoesNotProve    string         `json:"does_not_prove,omitempty"`
	HowTo           string         `json:"how_to_check,omitempty"`
	Inclusion       *Inclusion     `json:"inclusion,omitempty"` // where the public record holds what was sold
	Issued          *IssuedIn      `json:"issued,omitempty"`    // where the public record counts a certificate
	BadgeURL        string         `json:"badge_url,omitempty"`
}

// Recorded is what an artifact may have left on the public record.
type Recorded struct {
	Word    string // that it retired
	Attests string // what its certificate says it attests, such as sha256:…
}

// Inclusion shows that something is a leaf of the log of the public record: an observation that an
// artifact left there, or what is verified itself.
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

// IssuedIn shows that a certificate is a leaf of a tree whose root stands in an observation, a leaf
// of the log itself: it was made no later than that.
type IssuedIn struct {
	Through     string          `json:"through"` // the ISO week of the last deliveries in the tree
	Size        int64           `json:"size"`    // leaves
	Root        string          `json:"root"`    // hex
	Index       int64           `json:"index"`   // of artifact_hash among the leaves
	Hashes      []attest.Digest `json:"hashes"`  // hex, beside the way up, the lowest first
	Observation *Inclusion      `json:"observation"`
	How         string          `json:"how_to_check"`
}

// Class is one class of artifacts that the store signs.
type Class struct {
	Name   string // artifact_class
	Prefix string // of its ids
	// Load finds and verifies one, nil for an unknown id.
	Load func(c *Counter, ctx context.Context, id string) (*Verification, error)
	// Page renders its verification for a browser; nil answers JSON to everybody.
	Page func(id string, v Verification) ([]byte, error)
	// Markdown renders it for those who ask for that; nil answers JSON to them.
	Markdown func(id string, v Verification) ([]byte, error)
	// DoesNotProve is said of those that say nothing of it themselves.
	DoesNotProve string
	// Private says that they are their buyer's: no cache on the way keeps one (package till, M8).
	Private bool
	// Issued is the ledger's counter of those that were issued, "" for what the record counts
	// itself.
	Issued string
}

// Certificates are what goods are delivered with.
var Certificates = Class{
	Name: "certificate", Prefix: "cert_", Load: (*Counter).certificate, Issued: till.CounterPatron,
	DoesNotProve: "A certificate proves only that this store issued it with these fields on this date.",
}

// serveVerify answers GET /api/verify/{id}.
func (c *Counter) serveVerify(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	class, v, err := c.verification(r.Context(), id)
	if err != nil {
		return c.problem(err, request{})
	}
	h := w.Header()
	h.Set("Vary", "Accept, Accept-Encoding, User-Agent")
	h.Set("Cache-Control", "no-cache")
	if class.Private {
		h["Cache-Control"] = privateNoStore
	}
	if shown, err := class.show(w, r, id, v); shown || err != nil {
		return err
	}
	if v.Reason == unknownID {
		return &problem.Error{Code: "not_found",
			Detail: "No artifact of this store has this id. Ids begin with " + prefixes(c.cfg.Classes) + " and go on " +
				"with a number or twenty characters.",
			Extra: map[string]any{"valid": false, "reason": unknownID}}
	}
	return WriteJSON(w, v)
}

// show answers with a verification in the form that Accept prefers, where that is another than JSON
// and the class has it.
func (k Class) show(w http.ResponseWriter, r *http.Request, id string, v Verification) (shown bool, err error) {
	types, renders := []string{api.JSON}, []func(string, Verification) ([]byte, error){nil}
	if k.Page != nil {
		types, renders = append(types, "text/html"), append(renders, k.Page)
	}
	if k.Markdown != nil {
		types, renders = append(types, "text/markdown"), append(renders, k.Markdown)
	}
	i := route.Prefer(r, types...)
	if i <= 0 { // below /api/ nothing is refused for its Accept
		return false, nil
	}
	b, err := renders[i](id, v)
	if err != nil {
		return false, err
	}
	status := http.StatusOK
	if v.Reason == unknownID {
		status = http.StatusNotFound
	}
	return true, route.Send(w, status, types[i]+"; charset=utf-8", b)
}

// serveVerifyForm answers GET /api/verify?id=, which a form can ask for, with the address of what
// is asked for.
func (c *Counter) serveVerifyForm(w http.ResponseWriter, r *http.Request) error {
	id := strings.TrimSpace(r.FormValue("id"))
	if id == "" || id == "." || id == ".." { // which are other addresses
		return &problem.Error{Code: "invalid_input", Detail: "An id is wanted. It begins with " +
			prefixes(c.cfg.Classes) + "."}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", "/api/verify/"+url.PathEscape(id))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

const unknownID = "unknown_id"

// Verify finds what the store signed under an id, verified; false for an unknown one.
func (c *Counter) Verify(ctx context.Context, id string) (Verification, bool, error) {
	_, v, err := c.verification(ctx, id)
	if err != nil {
		return v, false, c.problem(err, request{})
	}
	return v, v.Reason != unknownID, nil
}

// verification finds the artifact of an id in its class.
func (c *Counter) verification(ctx context.Context, id string) (Class, Verification, error) {
	for _, class := range c.cfg.Classes {
		if !strings.HasPrefix(id, class.Prefix) {
			continue
		}
		v, err := class.Load(c, ctx, id)
		if err != nil {
			return class, Verification{}, err
		}
		if v == nil {
			continue // classes may share a prefix
		}
		if v.DoesNotProve == "" {
			v.DoesNotProve = class.DoesNotProve
		}
		return class, *v, nil
	}
	return c.cfg.Classes[0], Verification{Reason: unknownID, NotCovered: []string{}}, nil
}

// certificate verifies a certificate of this store.
func (c *Counter) certificate(ctx context.Context, id string) (*Verification, error) {
	rec, word, ok, err := c.till.Certificate(ctx, id)
	if err != nil || !ok {
		return nil, err
	}
	v, err := c.verified(rec)
	if err != nil {
		return nil, err
	}
	if v.Voucher, err = c.till.PaidBy(ctx, rec.Purchase); err != nil {
		return nil, err
	}
	// The certificate is good or not without the record, which must not stand in its way.
	if c.cfg.Issued != nil {
		if v.Issued, err = c.cfg.Issued(ctx, rec); err != nil {
			c.Log.Error("the tree of a certificate cannot be read", "id", id, "err", err)
		}
	}
	if c.cfg.Recorded == nil {
		return &v, nil
	}
	if v.Inclusion, err = c.cfg.Recorded(Recorded{Word: word, Attests: rec.Certificate.Attests}); err != nil {
		c.Log.Error("the record cannot be asked about an artifact", "id", id, "err", err)
	}
	return &v, nil
}

// verified checks a stored certificate and says what a stranger should know of it.
func (c *Counter) verified(rec till.CertRecord) (Verification, error) {
	v := Verification{ArtifactClass: "certificate", Status: "active", Certificate: &rec.Certificate, Proof: &rec.Proof,
		NotCovered: []string{}}
	if rec.Reversed {
		v.Status, v.ReversedOn = "reversed", rec.ReversedOn
	}
	v.PredatesPayment = rec.Certificate.PredatesPayment()
	sum := sha256.Sum256([]byte(rec.Proof.SignedPayload))
	v.ArtifactHash = hex.EncodeToString(sum[:])
	if g, ok := c.Site.Now().Good(rec.Certificate.Item); ok {
		v.DoesNotProve = g.DoesNotProve
	}
	v.HowTo = c.howToCheck()
	signer, err := signerOf(attest.Signed{Certificate: rec.Certificate, Proof: rec.Proof}, c.Ring)
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
	left, err := notCovered(rec.Proof, displayed)
	if err != nil {
		v.Reason = "signature"
		return v, nil
	}
	if left != nil {
		v.NotCovered = left
	}
	v.Valid = true
	return v, nil
}

func fieldsOf(cert attest.Certificate) (map[string]any, error) {
	b, err := json.Marshal(cert)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(b, &m)
}

// serveBadge answers GET /badges/{patron_number}.svg.
func (c *Counter) serveBadge(w http.ResponseWriter, r *http.Request) error {
	s := r.PathValue("patron_number")
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != s {
		return noBadge()
	}
	rec, ok, err := c.till.Patron(r.Context(), n)
	if err != nil {
		return c.problem(err, request{})
	}
	if !ok {
		return noBadge()
	}
	date, err := time.Parse(time.RFC3339, rec.Certificate.Date)
	if err != nil {
		return err
	}
	svg := drawing.Badge(drawing.Patron{Number: n, Name: rec.Certificate.Name, Item: c.goodName(rec.Certificate.Item),
		Date:  date,
		Nicer: rec.Nicer, Reversed: rec.Reversed})
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, _ = w.Write([]byte(svg))
	return nil
}

func (c *Counter) goodName(id string) string {
	if request, ok := goods.IsCommission(id); ok {
		return goods.CommissionGood(request).Name
	}
	if g, ok := c.Site.Now().Good(id); ok {
		return g.Name
	}
	return id
}

func noBadge() error {
	return &problem.Error{Code: "not_found",
		Detail: "There is no patron with this number yet. Numbers begin at 1 and have no gaps."}
}
