// Package goods makes what is sold. A kind of goods is a row of Kinds: what it takes from the pool when an order is
// claimed, how it is made before the payment is settled, and what changes in the world once it is paid.
//
// Before settlement a kind computes, reads and reserves only (decisions §4 M5): Reserve runs inside the ledger
// transaction that claims the payment, Make outside of any, and Release undoes Reserve when no money came. Settle and
// Complete run inside the transactions that record the settlement and the delivery.
//
// Goods know no patron number, no certificate id and no purchase id: these stand on the certificate alone.
package goods

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"agentstore/content"
	"agentstore/dynamic/ledger"
)

// Order is one claimed order.
type Order struct {
	ID      string            // the purchase; a key in the ledger, never shown in goods
	Good    content.Good      // what was ordered
	Inputs  map[string]string // validated
	Payer   string            // wallet, one spelling per wallet
	Network string            // CAIP-2
	Paid    int64             // atomic USDC, tip included
	Tip     int64
	At      time.Time // the ledger's clock at the claim
	Until   time.Time // when what it holds comes back at the latest, if it is not paid for; zero notes no hold
	// Entry is the digest of the pool entry that Reserve chose, Word the word it reserved.
	Entry string
	Word  string
}

// Made is the finished good: what the buyer gets and what the public certificate says of it.
type Made struct {
	Message     string      `json:"message"`     // one line for people
	Deliverable Deliverable `json:"deliverable"` // to the buyer alone
	Note        string      `json:"note,omitzero"`
	Win         string      `json:"win,omitzero"` // the strength on a card
	Attests     string      `json:"attests,omitzero"`
	Purpose     string      `json:"purpose,omitzero"`
	Tag         string      `json:"tag,omitzero"` // what the good is called in public: the claimed idea, the name, the word
}

// Deliverable is the `deliverable` of a purchase answer. Fields that a kind does not use are left out.
type Deliverable struct {
	Kind        string `json:"kind"`
	Text        string `json:"text,omitzero"`
	Name        string `json:"name,omitzero"`
	Animal      string `json:"animal,omitzero"`
	Strength    string `json:"strength,omitzero"`
	Temperament string `json:"temperament,omitzero"`
	Word        string `json:"word,omitzero"`
	Date        string `json:"date,omitzero"`   // ISO 8601
	Number      int64  `json:"number,omitzero"` // of a jar; not the patron number
	Day         string `json:"day,omitzero"`    // the UTC day a fortune is for
	SVG         string `json:"svg,omitzero"`
	// Digest is SHA-256(salt ‖ text) of the buyer's private text, hex; Salt is 32 bytes in hex and in nobody else's
	// hands: with both the buyer can show what was said, without them nobody can.
	Digest  string `json:"digest,omitzero"`
	Salt    string `json:"salt,omitzero"`
	HowTo   string `json:"how_to_check,omitzero"`
	HeldFor string `json:"held_for,omitzero"` // wallet
}

// Maker is what a kind may use while it makes: the site's pools.
type Maker struct{ Site *content.Site }

// Kind is one way of making goods.
type Kind struct {
	Name string // a content.Kind… constant
	Doc  string
	// Counted says that Reserve takes a unit which nobody else can have meanwhile: such an order is held for a short time
	// only, and a payer holds one of a good at a time (decisions §4 M16).
	Counted bool
	// Available refuses an order that cannot be filled, before anybody is asked to pay. nil: always available.
	Available func(m Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error
	// Reserve takes what the order needs and notes it in o.Entry and o.Word. It decides again what Available said.
	Reserve func(m Maker, tx ledger.Tx, o *Order) error
	// Release gives back what Reserve took. nil: nothing to give back.
	Release func(m Maker, tx ledger.Tx, o *Order) error
	// Make computes the good.
	Make func(ctx context.Context, m Maker, o *Order) (*Made, error)
	// Settle fixes what only a paid order gets (a number); it may change made. nil: nothing.
	Settle func(m Maker, tx ledger.Tx, o *Order, made *Made) error
	// Complete changes the world: registers, remembers. nil: nothing.
	Complete func(m Maker, tx ledger.Tx, o *Order, made *Made) error
}

// Kinds is every kind, by name.
var Kinds = []Kind{
	blessing,
	claim,
	confession,
	daily,
	drawer,
	greeting,
	grudge,
	luckies,
	name,
	patronage,
	portrait,
	rock,
	secret,
	tuesday,
	word,
}

// Of returns the kind of a good.
func Of(g content.Good) (Kind, error) {
	for _, k := range Kinds {
		if k.Name == g.Kind {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("goods: no kind %q for %s", g.Kind, g.ID)
}

// SoldOut refuses an order whose good cannot be had. Reopens is zero where nothing will be added. HeldUntil is the earliest
// end of a hold on a unit by a payment that is not settled yet, zero where all are gone.
type SoldOut struct {
	Item      string
	Reopens   time.Time
	HeldUntil time.Time
}

// Error implements error.
func (e *SoldOut) Error() string { return e.Item + " is sold out" }

// Taken refuses a word that stands on the register already, or that a payment holds until HeldUntil.
type Taken struct {
	Word      string
	HeldUntil time.Time
}

// Error implements error.
func (e *Taken) Error() string { return fmt.Sprintf("%q is retired already", e.Word) }

// BadInput refuses an input that only the kind can judge.
type BadInput struct{ Field, Problem string }

// Error implements error.
func (e *BadInput) Error() string { return e.Field + ": " + e.Problem }

// errNoEntry is a pool that lost the entry an order reserved: the keeper took a text off the shelf meanwhile.
var errNoEntry = errors.New("the reserved text is no longer in the pool")

// entry is the pool entry that an order reserved.
func (m Maker) entry(o *Order) (content.Entry, error) {
	e, ok := m.Site.Pools[o.Good.Pool].Entry(o.Entry)
	if !ok {
		return content.Entry{}, fmt.Errorf("%s: %w", o.Good.ID, errNoEntry)
	}
	return e, nil
}

// made starts a Made from the good's own certificate texts.
func made(o *Order, d Deliverable, message, note string) *Made {
	m := &Made{Message: message, Deliverable: d, Note: note, Attests: o.Good.Certificate.Attests, Purpose: o.Good.Certificate.Purpose}
	m.Deliverable.Kind = o.Good.Kind
	if o.Good.Certificate.Note != "" {
		m.Note = o.Good.Certificate.Note
	}
	return m
}

// seal puts the salted digest of a private text on the deliverable and on the certificate.
func seal(m *Made, text string) {
	var salt [32]byte
	rand.Read(salt[:])
	h := sha256.New()
	h.Write(salt[:])
	h.Write([]byte(text))
	d := hex.EncodeToString(h.Sum(nil))
	m.Deliverable.Digest, m.Deliverable.Salt = d, hex.EncodeToString(salt[:])
	m.Deliverable.HowTo = "digest = SHA-256(salt bytes followed by the UTF-8 text you sent). Keep the salt: only you have it."
	m.Attests = "sha256-salted:" + d
}
