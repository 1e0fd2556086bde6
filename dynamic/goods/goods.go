// Package goods makes what is sold. A kind of goods is a row of Kinds: what it takes from the pool
// when an order is claimed, how it is made before the payment is settled, and what changes in the
// world once it is paid.
//
// Before settlement a kind computes, reads and reserves only (package till, M5): Reserve runs
// inside the ledger transaction that claims the payment, Make outside of any, and Release undoes
// Reserve when no money came. Settle and Complete run inside the transactions that record the
// settlement and the delivery.
//
// Goods know no patron number, no certificate id and no purchase id: these stand on the certificate
// alone.
package goods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// Order is one claimed order.
type Order struct {
	ID     string            // the purchase; a key in the ledger, never shown in goods
	Good   content.Good      // what was ordered
	Inputs map[string]string // validated
	Payer  string            // wallet, one spelling per wallet
	Paid   int64             // atomic USDC, tip included
	Tip    int64
	At     time.Time // the ledger's clock at the claim
	Until  time.Time // when what it holds comes back at the latest, if it is not paid for; zero notes no hold
	// Entry is the digest of the pool entry that Reserve chose, Word the word it reserved.
	Entry string
	Word  string
	// Settled is when the payment's block was made, zero before. Artifact is the id of what is
	// signed beside the certificate, where the kind leaves something; empty before it is settled.
	Settled  time.Time
	Artifact string
}

// Made is the finished good: what the buyer gets and what the public certificate says of it.
type Made struct {
	Message     string          `json:"message"`     // one line for people
	Deliverable json.RawMessage `json:"deliverable"` // to the buyer alone: the kind's own struct, with its name as kind
	Note        string          `json:"note,omitzero"`
	Win         string          `json:"win,omitzero"` // the strength on a card
	Attests     string          `json:"attests,omitzero"`
	Purpose     string          `json:"purpose,omitzero"`
	// what the good is called in public: the claimed idea, the name, the word
	Tag string `json:"tag,omitzero"`
	Saw string `json:"saw,omitzero"` // the host that was looked at
	// Audit is the report of a reading, but for what only the till knows; it is not in the answer.
	Audit *attest.Audit `json:"audit,omitzero"`
	// Provenance is likewise what the record holds about an address.
	Provenance *attest.Provenance `json:"provenance,omitzero"`
	// which it is of its item, where those are numbered as they are paid for
	Number int64 `json:"number,omitzero"`
}

// Maker is what every kind may use. A kind that needs more of the world outside closes over it.
type Maker struct {
	Pools   Pools
	Observe Observe
	// Tell has the buyer of an order told of it once the transaction is committed; nil where no
	// word is sent.
	Tell func(tx ledger.Tx, n Notice) error
	// Files is nil where no files are kept.
	Files Files
	// Upstreams is nil where no addresses are asked.
	Upstreams Upstreams
	// DB keeps what Make has read, outside of any transaction; kinds that read nothing leave it
	// alone.
	DB ledger.DB
}

// Pools are the texts of a site that goods draw from.
type Pools interface {
	Pool(name string) content.Pool
}

// Observe puts on the public record what a good leaves there.
type Observe func(tx ledger.Tx, o record.Observation) error

// Kind is one way of making goods.
type Kind struct {
	Name string // a content.Kind… constant
	// Delivers is a zero value of the kind's deliverable, for describing it.
	Delivers any
	// Counted says that Reserve takes a unit which nobody else can have meanwhile: such an order is
	// held for a short time only, and a payer holds one of a good at a time (package till, M16).
	Counted bool
	// Unit is of what a payer holds one at a time, where that is more than one good; "" is the
	// good.
	Unit string
	// Left counts the units that are still to be had. nil: such goods are not counted.
	Left func(m Maker, tx ledger.Tx, good content.Good) (int, error)
	// Artifact is what is signed beside the certificate; nil for a certificate alone.
	Artifact *Artifact
	// Able refuses what the store cannot make for anybody, as it is configured and equipped. nil:
	// it needs nothing that a store may lack.
	Able func(m Maker, good content.Good) error
	// Available refuses an order that cannot be filled, before anybody is asked to pay. nil: always
	// available.
	Available func(m Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error
	// Later says that what Make makes is a promise: the keeper, or time, completes it after it was
	// paid.
	Later bool
	// ByHand says that the keeper completes it by hand, within the hours of the good.
	ByHand bool
	// Reserve takes what the order needs and notes it in o.Entry and o.Word. It decides again what
	// Available said. nil: it needs nothing.
	Reserve func(m Maker, tx ledger.Tx, o *Order) error
	// Release gives back what Reserve took. nil: nothing to give back.
	Release func(m Maker, tx ledger.Tx, o *Order) error
	// Make computes the good.
	Make func(ctx context.Context, m Maker, o *Order) (*Made, error)
	// Paid makes the good once its payment has settled, for what must not be asked for before; what
	// Make made stands for it until then. A *NoAnswer is asked for again, or owed. nil: Make made
	// it.
	Paid func(ctx context.Context, m Maker, o *Order) (*Made, error)
	// Settle fixes what only a paid order gets (a number); it may change made. nil: nothing.
	Settle func(m Maker, tx ledger.Tx, o *Order, made *Made) error
	// Promise begins what is completed later, once it is paid for. nil: nothing begins by itself.
	Promise func(m Maker, tx ledger.Tx, o *Order, made *Made) error
	// Complete changes the world: registers, remembers. nil: nothing.
	Complete func(m Maker, tx ledger.Tx, o *Order, made *Made) error
	// Open opens the file that a delivered order is fetched as; nil: such goods are no files.
	Open func(ctx context.Context, m Maker, order string, f Fetched) (io.ReadSeekCloser, error)
	// For is the kind as it makes one good, nil for itself, where goods of a kind are made in
	// several ways. nil: all are made alike.
	For func(content.Good) *Kind
	// Undo takes back what Settle and Complete did, when the chain took the payment back after it
	// was delivered. nil: nothing is taken back.
	Undo func(m Maker, tx ledger.Tx, o *Order) error
}

// Take is Reserve, for a kind that needs nothing too.
func (k Kind) Take(m Maker, tx ledger.Tx, o *Order) error {
	if k.Reserve == nil {
		return nil
	}
	return k.Reserve(m, tx, o)
}

// Kinds is every kind of what is made at once or by the keeper, of readings too, and of what the
// record says of addresses; nil: there is no record. What is completed later by itself is in
// package services.
func Kinds(readings Reader, addresses Addresses) []Kind {
	return append(append(slices.Clone(alone), readings.kinds()...), provenance(addresses))
}

// alone are the kinds that need nothing but a Maker.
var alone = []Kind{
	anchor,
	blessing,
	claim,
	confession,
	daily,
	drawer,
	file,
	greeting,
	grudge,
	human,
	luckies,
	name,
	pass,
	patronage,
	portrait,
	rock,
	secret,
	tellsText,
	tuesday,
	upstream,
	word,
}

// Of returns the kind of a good, one of kinds.
func Of(kinds []Kind, g content.Good) (Kind, error) {
	for _, k := range kinds {
		if k.Name != g.Kind {
			continue
		}
		if k.For != nil {
			if other := k.For(g); other != nil {
				return *other, nil
			}
		}
		return k, nil
	}
	return Kind{}, fmt.Errorf("goods: no kind %q for %s", g.Kind, g.ID)
}

// SoldOut refuses an order whose good cannot be had. Reopens is zero where nothing will be added.
// HeldUntil is the earliest end of a hold on a unit by a payment that is not settled yet, zero
// where all are gone.
type SoldOut struct {
	Item      string
	Reopens   time.Time
	HeldUntil time.Time
}

// Error implements error.
func (e *SoldOut) Error() string { return e.Item + " is sold out" }

// Away refuses an order for what this store cannot make as it is configured now.
type Away struct {
	Item  string
	Lacks string // what it is made with; "" where that has no name of its own
}

// Error implements error.
func (e *Away) Error() string { return e.Item + " cannot be made here at the moment" }

// Taken refuses a word that stands on the register already, or that a payment holds until
// HeldUntil.
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

// errNoEntry is a pool that lost the entry an order reserved: the keeper took a text off the shelf
// meanwhile.
var errNoEntry = errors.New("the reserved text is no longer in the pool")

// entry is the pool entry that an order reserved.
func (m Maker) entry(o *Order) (content.Entry, error) {
	e, ok := m.Pools.Pool(o.Good.Pool).Entry(o.Entry)
	if !ok {
		return content.Entry{}, fmt.Errorf("%s: %w", o.Good.ID, errNoEntry)
	}
	return e, nil
}

// MadeOf starts a Made from the good's own certificate texts.
func MadeOf(o *Order, deliverable any, message, note string) *Made {
	m := &Made{Message: message, Note: note, Attests: o.Good.Certificate.Attests, Purpose: o.Good.Certificate.Purpose}
	m.Deliver(o.Good.Kind, deliverable)
	if o.Good.Certificate.Note != "" {
		m.Note = o.Good.Certificate.Note
	}
	return m
}
