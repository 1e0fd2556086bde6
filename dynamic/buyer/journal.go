package buyer

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"
)

// A Journal keeps purchases where no crash loses them, and gives each request to one purchase at a
// time, whichever process makes it. Folder and InLedger make one.
type Journal interface {
	// hold takes a request (see request.digest) for so long, ErrBusy while somebody has it.
	hold(ctx context.Context, digest string, ttl time.Duration) (hold, error)
	// unfinished are the purchases that were begun and have no end, oldest first. One that cannot
	// be read is named in the error and hides no other.
	unfinished(ctx context.Context) ([]*purchase, error)
	// bought are all purchases, as unfinished.
	bought(ctx context.Context) ([]*purchase, error)
	// channel is a channel by its id, nil for one that is not there; channels are all.
	channel(ctx context.Context, id string) (*channel, error)
	channels(ctx context.Context) ([]*channel, error)
	// place is where a purchase is kept, for people.
	place(id string) string
}

// A hold is a request, or a channel, that nobody else buys or buys by meanwhile.
type hold interface {
	// keep makes it last for so long from now. The error is errNotHeld where somebody else may have
	// it by now.
	keep(ctx context.Context, ttl time.Duration) error
	// read returns a purchase of the request as it stands.
	read(ctx context.Context, id string) (*purchase, error)
	// find is read of a purchase that may not be there: nil then. It may be of another request.
	find(ctx context.Context, id string) (*purchase, error)
	// known reports whether a nonce is that of a purchase in the journal already.
	known(ctx context.Context, nonce string) (bool, error)
	// elsewhere reports whether an idempotency key was sent with another request.
	elsewhere(ctx context.Context, key string) (bool, error)
	// create adds a purchase and returns when it is durable. It replaces one that is Intended, for
	// which nothing was sent, and no other.
	create(ctx context.Context, p *purchase) error
	// update replaces a purchase and returns when it is durable; nothing is written by who has lost
	// the hold.
	update(ctx context.Context, p *purchase) error
	// putChannel adds or replaces a channel and returns when it is durable. The hold is that of the
	// channel.
	putChannel(ctx context.Context, c *channel) error
	release() error
}

// errNotHeld is returned where a hold ended before the purchase did, as it does with a process that
// slept.
var errNotHeld = errors.New("the purchase was left to another process")

// journalFormat is the first member of every record.
const journalFormat = "store-purchase/v1"

// State is how far a purchase is.
type State string

// The states of a purchase.
const (
	Intended  State = "intended"  // decided on; nothing was sent, so a crash here cost nothing
	Signed    State = "signed"    // signed and journalled; no answer yet
	Delivered State = "delivered" // the door answered 2xx
	Refused   State = "refused"   // the door answered something else
	Unknown   State = "unknown"   // never answered, and long past its validity
)

// purchase is one record of the journal. It is written before the payment is signed, replaced
// before it is first sent, and replaced when the answer is there.
type purchase struct {
	Format    string    `json:"format"`
	ID        string    `json:"id"`
	State     State     `json:"state"`
	CreatedAt time.Time `json:"created_at"`

	Protocol    string `json:"protocol,omitempty"` // x402 where it is left out
	Scheme      string `json:"scheme,omitempty"`   // exact where it is left out
	Network     string `json:"network"`
	Asset       string `json:"asset"`
	Amount      int64  `json:"amount"` // atomic units
	PayTo       string `json:"pay_to"`
	Payer       string `json:"payer"`
	Nonce       string `json:"nonce"`
	ValidBefore int64  `json:"valid_before"` // Unix seconds
	Resource    string `json:"resource,omitempty"`

	Voucher *voucherUse `json:"voucher,omitempty"` // of scheme batch-settlement
	Hold    *heldMoney  `json:"hold,omitempty"`    // of scheme auth-capture

	// Request is what is sent, byte for byte, with the signature.
	Request request `json:"request"`
	Answer  *answer `json:"answer,omitempty"`

	repeated bool         // presented before, by this process or another
	message  []byte       // what is signed, on Solana
	channel  *heldChannel // of a purchase by voucher, while it is under way
	trouble  []string     // what was odd about an answer to a voucher
	again    bool         // although another's answer is not known
}

func (p *purchase) validBefore() time.Time { return time.Unix(p.ValidBefore, 0).UTC() }

// open reports a purchase that has no end yet.
func (p *purchase) open() bool { return p.State == Intended || p.State == Signed }

// newID sorts by time and cannot collide.
func newID(now time.Time) string {
	var r [6]byte
	rand.Read(r[:])
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(r[:])
}

func encodePurchase(p *purchase) ([]byte, error) {
	b, err := json.Marshal(p, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(b, '\n'), err
}

// decodePurchase reads a record that is kept under an id.
func decodePurchase(b []byte, id string) (*purchase, error) {
	var p purchase
	if err := json.Unmarshal(bytes.TrimSpace(b), &p, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("reading purchase %s: %w", id, err)
	}
	if p.Format != journalFormat || p.ID != id {
		return nil, fmt.Errorf("reading purchase %s: it is not a purchase of that name", id)
	}
	return &p, nil
}
