package visitors

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// Post is what a visitor left for the keeper: a letter, a guestbook entry, a tip or a request.
type Post struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	At       time.Time `json:"at"`
	State    string    `json:"state"`
	StateAt  time.Time `json:"state_at,omitzero"`
	Text     string    `json:"text"` // the letter, the message, the tip, what is asked for
	Name     string    `json:"name,omitzero"`
	Contact  string    `json:"contact,omitzero"`
	Offer    int64     `json:"offer,omitzero"`           // atomic USDC, of a request
	Listing  string    `json:"suggest_listing,omitzero"` // of a request
	Identity *Identity `json:"identity,omitempty"`
	Salt     string    `json:"salt,omitzero"` // hex; of the digest that is signed
	Reply    string    `json:"reply,omitzero"`
	Slug     string    `json:"slug,omitzero"`  // of a tip that was published
	Price    int64     `json:"price,omitzero"` // atomic USDC, of a request that was quoted
	Hours    int       `json:"hours,omitzero"` // in which it is done once it is paid for
	Sticker  string    `json:"sticker,omitzero"`
	// Proof is what was signed last: of requests, and of letters once it was asked for.
	Proof *attest.Proof `json:"proof,omitempty"`
}

// The prefixes of ids.
const (
	prefixLetter  = "let_"
	prefixEntry   = "gst_"
	prefixTip     = "tip_"
	prefixRequest = "req_"
	prefixStamp   = "stamp_"
)

// kind is what posts of a kind have in common.
type kind struct {
	name, prefix, class string
	first               string // state
}

var kinds = []kind{
	{KindLetter, prefixLetter, attest.ClassLetter, StateReceived},
	{KindGuestbook, prefixEntry, "", StateReceived},
	{KindTip, prefixTip, "", StateReceived},
	{KindRequest, prefixRequest, attest.ClassRequest, StateReceived},
}

// The states of posts. All begin as received.
const (
	StateReceived  = "received"
	StateRead      = "read"      // letters
	StateReplied   = "replied"   // letters
	StateKept      = "kept"      // guestbook entries
	StateHidden    = "hidden"    // guestbook entries
	StatePublished = "published" // tips
	StateQuoted    = "quoted"    // requests
	StateDeclined  = "declined"  // tips and requests
)

func kindOf(name string) kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	return kind{}
}

// The piles.
const (
	pileWaiting = "waiting" // for the keeper
	pileDone    = "done"
	pileShown   = "shown" // to everybody: the values are GuestbookEntry
)

const (
	partPost  = "post"
	partPile  = "pile"
	partStamp = "stamp"
	partLine  = "line"
)

func postKey(id string) []byte { return ledger.VisitKey(partPost, id) }

func pileKey(pile string, p *Post) []byte {
	return ledger.VisitKey(partPile, pile, p.Kind, ledger.Number(uint64(p.At.Unix())), p.ID)
}

// Salted is the digest of a private text: SHA-256 of 32 bytes of salt and the text behind them.
type Salted struct {
	Digest string `json:"digest"`
	Salt   string `json:"salt"`
	How    string `json:"how_to_check"`
}

func salted(text string) Salted {
	var salt [32]byte
	rand.Read(salt[:])
	sum := sha256.Sum256(append(salt[:], text...))
	return Salted{hex.EncodeToString(sum[:]), hex.EncodeToString(salt[:]), "digest is the SHA-256 of the 32 bytes of " +
		"salt and the text behind them. Keep the salt: it stands in no other answer."}
}

// signed is the word of a digest that is signed.
func (s Salted) signed() string { return "sha256-salted:" + s.Digest }

// digestOf is the signed word of a post's text.
func (p *Post) digestOf() (string, error) {
	salt, err := hex.DecodeString(p.Salt)
	if err != nil || len(salt) != 32 {
		return "", fmt.Errorf("the salt of %s is not 32 bytes of hex", p.ID)
	}
	sum := sha256.Sum256(append(salt, p.Text...))
	return "sha256-salted:" + hex.EncodeToString(sum[:]), nil
}

// sign signs a payload that can be read back.
func (d *Service) sign(payload any) (attest.Proof, error) {
	proof, err := attest.SignPayload(d.cfg.Key, payload)
	if err == nil {
		_, err = attest.ParseArtifact([]byte(proof.SignedPayload))
	}
	if err != nil {
		return proof, fmt.Errorf("signing for a visitor: %w", err)
	}
	return proof, nil
}

// leave counts the visitor's use, and stores a new post with what goes with it, all or nothing.
func (d *Service) leave(ctx context.Context, v visitor, p *Post, more func(tx ledger.Tx) error) error {
	post, err := ledger.EncodeJSON(postKey(p.ID), p)
	if err != nil {
		return err
	}
	var reads []ledger.Range
	if p.Identity != nil {
		reads = append(reads, ledger.At(signedKey(p.Identity)))
	}
	return down(d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if _, err := d.take(tx, v, p.Kind, len(post.Key)+len(post.Value), reads...); err != nil {
			return err
		}
		if err := d.once(tx, p); err != nil {
			return err
		}
		err := errors.Join(tx.Set(post.Key, post.Value), tx.Set(pileKey(pileWaiting, p), nil))
		if err == nil && more != nil {
			err = more(tx)
		}
		return err
	}))
}

// Post finds a post by its id.
func (d *Service) Post(ctx context.Context, id string) (p Post, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		p, err = postOf(tx, id)
		return err
	})
	return p, err
}

func postOf(tx ledger.Tx, id string) (Post, error) {
	p, err := ledger.GetJSON[Post](tx, postKey(id))
	if errors.Is(err, ledger.ErrNotFound) {
		return p, ErrNone
	}
	return p, err
}

// change does the keeper's work on a post: read, judged and stored in one transaction, so that of
// two who do it at once one is refused. Where dry is set nothing is stored. A post in whose state
// there is nothing left to do goes from what waits to what is done.
func (d *Service) change(ctx context.Context, id, kind string, dry bool,
	work func(tx ledger.Tx, p *Post, now time.Time) error) (p Post, err error) {
	err = d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		if p, err = postOf(tx, id); err != nil {
			return err
		}
		if p.Kind != kind {
			return ErrNone
		}
		now, before := tx.Now().UTC().Truncate(time.Second), p.State
		if err := work(tx, &p, now); err != nil {
			return err
		}
		if p.State != before {
			p.StateAt = now
		}
		if dry {
			return errDry
		}
		err := ledger.SetJSON(tx, postKey(id), p)
		if p.State == StateReceived || p.State == StateRead {
			return err
		}
		return errors.Join(err, tx.Delete(pileKey(pileWaiting, &p)), tx.Set(pileKey(pileDone, &p), nil))
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return p, err
}

// errDry undoes a transaction that was only to say what it would do.
var errDry = errors.New("dry run")
