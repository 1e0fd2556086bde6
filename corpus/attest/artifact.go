package attest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base32"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The classes of what is signed. A certificate has no member class; every other payload has one, so
// that no signature over one thing is good for another.
const (
	ClassCertificate   = "certificate"
	ClassContextAnchor = "context_anchor"
	ClassBitcoinAnchor = "bitcoin_anchor"
	ClassPass          = "patronage_pass"
	ClassNote          = "patronage_note"
	ClassOrder         = "order"
	ClassCheck         = "phantom_check"
	ClassServiceAudit  = "service_audit"
	ClassOnpageAudit   = "onpage_audit"
	ClassProvenance    = "provenance_check"
	ClassDebt          = "debt"
	ClassPorchLine     = "porch_line"
	ClassBounty        = "bounty"
)

// The prefixes of the ids of what is paid out.
const (
	PrefixDebt   = "debt_"
	PrefixBounty = "bty_"
)

// ContextAnchor is a text as a buyer wrote it, to be read back later. The store never follows it.
type ContextAnchor struct {
	AnchorID     string `json:"anchor_id,omitzero"`
	Class        string `json:"class,omitzero"` // ClassContextAnchor
	PatronNumber int64  `json:"patron_number,omitzero"`
	Date         string `json:"date,omitzero"`    // block time of the payment, RFC 3339 UTC
	Summary      string `json:"summary,omitzero"` // exactly as it was written
	Name         string `json:"name,omitzero"`
	FromTheStore string `json:"from_the_store,omitzero"`
}

// BitcoinAnchor is a digest that the store has handed in to be timestamped by Bitcoin. The proof of
// time is a file of its own, which nobody has to take from the store.
type BitcoinAnchor struct {
	AnchorID     string `json:"anchor_id,omitzero"`
	Class        string `json:"class,omitzero"` // ClassBitcoinAnchor
	PatronNumber int64  `json:"patron_number,omitzero"`
	Date         string `json:"date,omitzero"`   // block time of the payment
	Digest       string `json:"digest,omitzero"` // SHA-256, hex, that the buyer computed
	Label        string `json:"label,omitzero"`  // as the buyer sent it
	Name         string `json:"name,omitzero"`
	FromTheStore string `json:"from_the_store,omitzero"`
}

// Pass is one paid period of a patronage pass. A pass that was extended has several.
type Pass struct {
	PassID       string `json:"pass_id,omitzero"`
	Class        string `json:"class,omitzero"` // ClassPass
	PatronNumber int64  `json:"patron_number,omitzero"`
	Date         string `json:"date,omitzero"` // block time of the payment
	Name         string `json:"name,omitzero"`
	Starts       string `json:"starts,omitzero"` // RFC 3339 UTC; the pass is current from then
	Ends         string `json:"ends,omitzero"`   // until then
	FromTheStore string `json:"from_the_store,omitzero"`
}

// Note is the keeper's monthly note to those with a pass.
type Note struct {
	Month        string `json:"month,omitzero"` // YYYY-MM
	Class        string `json:"class,omitzero"` // ClassNote
	Date         string `json:"date,omitzero"`  // when it was signed
	Text         string `json:"text,omitzero"`
	MadeBy       string `json:"made_by,omitzero"`
	FromTheStore string `json:"from_the_store,omitzero"`
}

// Order is what the keeper has promised, and, once it is done, that it was and when. Asked and
// Answer are salted digests of private texts; the buyer has the salt.
type Order struct {
	OrderID      string `json:"order_id,omitzero"`
	Class        string `json:"class,omitzero"` // ClassOrder
	PatronNumber int64  `json:"patron_number,omitzero"`
	Date         string `json:"date,omitzero"` // block time of the payment
	Item         string `json:"item,omitzero"`
	Status       string `json:"status,omitzero"` // queued | completed
	PaidUSDC     string `json:"paid_usdc,omitzero"`
	WindowHours  int    `json:"window_hours,omitzero"`
	DueAt        string `json:"due_at,omitzero"`
	Asked        string `json:"asked,omitzero"`
	CompletedAt  string `json:"completed_at,omitzero"`
	Answer       string `json:"answer,omitzero"`
	FromTheStore string `json:"from_the_store,omitzero"`
}

// Debt is what the store owes for a payment, and the authorization by which it pays it back
// (EIP-3009). Whoever hands that to the token moves the money to its creditor, once.
type Debt struct {
	DebtID       string `json:"debt_id,omitzero"`
	Class        string `json:"class,omitzero"` // ClassDebt
	Date         string `json:"date,omitzero"`  // when it was signed, RFC 3339 UTC
	Kind         string `json:"kind,omitzero"`  // refund | window
	OwedUSDC     string `json:"owed_usdc,omitzero"`
	Value        string `json:"value,omitzero"` // of the authorization, atomic units
	Network      string `json:"network,omitzero"`
	Asset        string `json:"asset,omitzero"`
	From         string `json:"from,omitzero"`
	To           string `json:"to,omitzero"`
	ValidAfter   string `json:"valid_after,omitzero"`  // Unix seconds
	ValidBefore  string `json:"valid_before,omitzero"` // Unix seconds
	Nonce        string `json:"nonce,omitzero"`
	Signature    string `json:"signature,omitzero"`     // of the authorization, hex
	SettlementTx string `json:"settlement_tx,omitzero"` // of the payment that is paid back
	FromTheStore string `json:"from_the_store,omitzero"`
}

// Bounty is the reward for a purchase that was shown to have been made, and the authorization by
// which it is paid (EIP-3009), as of a Debt.
type Bounty struct {
	BountyID          string `json:"bounty_id,omitzero"`
	Class             string `json:"class,omitzero"`      // ClassBounty
	Date              string `json:"date,omitzero"`       // when it was signed, RFC 3339 UTC
	TargetURL         string `json:"target_url,omitzero"` // the door at which it was bought
	RewardUSDC        string `json:"reward_usdc,omitzero"`
	Value             string `json:"value,omitzero"` // of the authorization, atomic units
	Network           string `json:"network,omitzero"`
	Asset             string `json:"asset,omitzero"`
	From              string `json:"from,omitzero"`
	To                string `json:"to,omitzero"`
	ValidAfter        string `json:"valid_after,omitzero"`  // Unix seconds
	ValidBefore       string `json:"valid_before,omitzero"` // Unix seconds
	Nonce             string `json:"nonce,omitzero"`
	Signature         string `json:"signature,omitzero"`          // of the authorization, hex
	SettlementNetwork string `json:"settlement_network,omitzero"` // of the purchase
	SettlementTx      string `json:"settlement_tx,omitzero"`      // of the purchase
	FromTheStore      string `json:"from_the_store,omitzero"`
}

// PorchLine is what was said on the porch in one hour, as a keepsake.
type PorchLine struct {
	StampID      string `json:"stamp_id,omitzero"`
	Class        string `json:"class,omitzero"` // ClassPorchLine
	Date         string `json:"date,omitzero"`  // block time of the payment
	Line         string `json:"line,omitzero"`
	Hour         string `json:"hour,omitzero"`        // when the hour of the line began, RFC 3339 UTC
	Weather      string `json:"weather,omitzero"`     // of the shop, a word
	SealedWeek   string `json:"sealed_week,omitzero"` // that the weather is of
	FromTheStore string `json:"from_the_store,omitzero"`
}

// Artifact is what every signed payload says of itself.
type Artifact struct{ Class, ID, Date string }

// payload is one class as it is read back.
type payload struct {
	class, prefix string // prefix of the id, "" for one that has none of its own
	parse         func(raw []byte) (Artifact, error)
}

// payloads is every class, certificates first.
var payloads = append([]payload{
	{ClassCertificate, "cert_", func(raw []byte) (Artifact, error) {
		c, err := ParseCertificate(raw)
		return Artifact{ClassCertificate, c.CertID, c.Date}, err
	}},
	{ClassContextAnchor, "anchor_", read(func(a ContextAnchor) (Artifact, error) {
		return Artifact{a.Class, a.AnchorID, a.Date}, demand(a.Summary != "" && a.PatronNumber > 0,
			"summary and patron_number must be present")
	})},
	{ClassBitcoinAnchor, "anchor_", read(func(a BitcoinAnchor) (Artifact, error) {
		return Artifact{a.Class, a.AnchorID, a.Date}, demand(len(a.Digest) == 64 && strings.Trim(a.Digest,
			"0123456789abcdef") == "" && a.PatronNumber > 0, "digest and patron_number must be present")
	})},
	{ClassPass, "pass_", read(func(p Pass) (Artifact, error) {
		return Artifact{p.Class, p.PassID, p.Date}, demand(isTime(p.Starts) && isTime(p.Ends) && p.Starts < p.Ends,
			"starts and ends must be times in their order")
	})},
	{ClassNote, "", read(func(n Note) (Artifact, error) {
		return Artifact{n.Class, n.Month, n.Date}, demand(isDate(n.Month+"-01") && n.Text != "",
			"month and text must be present")
	})},
	{ClassOrder, "order_", read(func(o Order) (Artifact, error) {
		done := o.Status == "completed"
		return Artifact{o.Class, o.OrderID, o.Date}, demand(o.Item != "" && isTime(o.DueAt) && isDecimal(o.PaidUSDC) &&
			(done || o.Status == "queued") && done == isTime(o.CompletedAt) && done == (o.Answer != ""),
			"item, due_at, paid_usdc, and what its status asks for must be present")
	})},
	{ClassCheck, "check_", read(func(l Look) (Artifact, error) {
		return Artifact{l.Class, l.CheckID, l.Date}, l.Check()
	})},
	audit(ClassServiceAudit),
	audit(ClassOnpageAudit),
	{ClassProvenance, "prov_", func(raw []byte) (Artifact, error) {
		if len(raw) > MaxAudit {
			return Artifact{}, ErrAuditTooLarge
		}
		return read(func(p Provenance) (Artifact, error) {
			return Artifact{p.Class, p.ProvID, p.Date}, demand(p.Address != "" && p.Reading.Kind() == '{' &&
				p.PatronNumber > 0, "address, reading and patron_number must be present")
		})(raw)
	}},
	{ClassDebt, PrefixDebt, read(func(d Debt) (Artifact, error) {
		return Artifact{d.Class, d.DebtID, d.Date}, demand((d.Kind == "refund" || d.Kind == "window") &&
			isDecimal(d.OwedUSDC) && d.To != "" && d.Nonce != "" && d.Signature != "",
			"kind, owed_usdc, to, nonce and signature must be present")
	})},
	{ClassBounty, PrefixBounty, read(func(b Bounty) (Artifact, error) {
		return Artifact{b.Class, b.BountyID, b.Date}, demand(isDecimal(b.RewardUSDC) && b.To != "" && b.Nonce != "" &&
			b.Signature != "" && b.SettlementTx != "",
			"reward_usdc, to, nonce, signature and settlement_tx must be present")
	})},
	{ClassPorchLine, "stamp_", read(func(l PorchLine) (Artifact, error) {
		return Artifact{l.Class, l.StampID, l.Date}, demand(l.Line != "" && isTime(l.Hour),
			"line and hour must be present")
	})},
}, visitorPayloads...)

// read makes the parser of a class from its own demands.
func read[T any](of func(T) (Artifact, error)) func([]byte) (Artifact, error) {
	return func(raw []byte) (Artifact, error) {
		var v T
		if err := ParseCanonical(raw, &v); err != nil {
			return Artifact{}, err
		}
		return of(v)
	}
}

func demand(holds bool, what string) error {
	if !holds {
		return errors.New(what)
	}
	return nil
}

// isTime accepts a time in UTC in whole seconds.
func isTime(s string) bool { return isMoment(s) && !isDate(s) }

// ErrUnknownClass is returned for a signed payload of a class that this program does not know.
var ErrUnknownClass = errors.New("a class of artifact that this program does not know")

// ParseArtifact reads a signed payload of any class. Every spelling but the canonical one is
// refused.
func ParseArtifact(raw []byte) (Artifact, error) {
	var head struct {
		Class string `json:"class"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return Artifact{}, fmt.Errorf("parsing artifact: %w", err)
	}
	if head.Class == "" {
		head.Class = ClassCertificate
	}
	i := slices.IndexFunc(payloads, func(p payload) bool { return p.class == head.Class })
	if i < 0 {
		return Artifact{}, fmt.Errorf("parsing artifact: %w: %.60q", ErrUnknownClass, head.Class)
	}
	a, err := payloads[i].parse(raw)
	if err != nil {
		return Artifact{}, fmt.Errorf("parsing %s: %w", head.Class, err)
	}
	id, named := strings.CutPrefix(a.ID, payloads[i].prefix)
	switch {
	case !named || i > 0 && payloads[i].prefix != "" && !isRandom(id): // certificates once had other ids
		return Artifact{}, fmt.Errorf("parsing %s: %.60q is no id of this class", a.Class, a.ID)
	case !isMoment(a.Date):
		return Artifact{}, fmt.Errorf("parsing %s: %.60q is neither a date nor a time", a.Class, a.Date)
	}
	return a, nil
}

// Base32 is how ids and tokens are written: in lower case, without padding.
var Base32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewID is 20 characters of Base32, 100 random bits, behind a prefix.
func NewID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:20]) }

// isRandom accepts the part of an id after its prefix: 20 characters of base32, lower case.
func isRandom(s string) bool {
	return len(s) == 20 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// OpenArtifact checks a signed artifact of any class from its exact bytes, and says which published
// identity key made it. A good signature by a key the ring does not hold is ErrUnknownKey.
func OpenArtifact(p Proof, ring Ring) (Artifact, Signer, error) {
	a, err := p.Artifact()
	if err != nil {
		return a, Signer{}, err
	}
	by, ok := ring.ByPublic(ed25519.PublicKey(p.PublicKey))
	if !ok || by.Purpose != PurposeIdentity {
		return a, Signer{}, fmt.Errorf("verifying %s: %w: %s", a.Class, ErrUnknownKey, p.PublicKey)
	}
	if err := by.InForce(a.Date); err != nil {
		return a, Signer{}, fmt.Errorf("verifying %s: %w", a.Class, err)
	}
	return a, by, nil
}

// Artifact checks both signatures with the key that came with them, and reads what was signed. It
// does not say whose key that is.
func (p Proof) Artifact() (Artifact, error) {
	if err := p.Verify(ed25519.PublicKey(p.PublicKey)); err != nil {
		return Artifact{}, err
	}
	return ParseArtifact([]byte(p.SignedPayload))
}
