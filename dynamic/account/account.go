// Package account keeps the books of those who buy on account: marketplaces that the keeper knows
// by a shared secret, and that pay later for what is delivered in their name. A book says what an
// account owes; the till asks it in the transactions that claim, bill and give up a sale, so that
// ceilings hold exactly over all processes that share the ledger.
//
// It knows no HTTP, no goods and no signatures. Amounts are US dollars in millionths, whole cents.
//
//	account/book/<account>                            Book
//	account/ref/<account>/<sha256 of order_ref, hex>  Ref, for ever
//	account/line/<account>/<unix seconds>/<id>        Line
//	account/spent/<account>/<sha256 of nonce, hex>    until when a nonce is kept, Unix seconds
//	account/expiry/<unix seconds>/<account>/<…>       the same, by its end
//
// Who might gain by breaking it: an account that owes more than it may (Hold), that has one order
// delivered twice or billed once for two (Ref), a stranger who sends a request again that he
// overheard (Spend), and a keeper who forgets what was paid (Line).
package account

import (
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// Limits are how far an account is trusted.
type Limits struct {
	Credit int64 // what it may owe at once, with what is under way
	Daily  int64 // what it may be billed in a day of UTC
}

// Book is how an account stands. What is under way counts as owed from its claim on.
type Book struct {
	Owed   int64  `json:"owed"`
	Day    string `json:"day"` // UTC, of Today
	Today  int64  `json:"today"`
	Month  string `json:"month"`  // UTC, of Orders
	Orders int    `json:"orders"` // of the month, given up ones left out
	Before int    `json:"before"` // of the month before
}

// ReadBook reads the book of an account at the ledger's time; an account that never bought has an
// empty one.
func ReadBook(tx ledger.Tx, id string) (Book, error) {
	b, _, err := ledger.FindJSON[Book](tx, bookKey(id))
	if err != nil {
		return b, err
	}
	now := tx.Now().UTC()
	if day := now.Format(time.DateOnly); b.Day != day {
		b.Day, b.Today = day, 0
	}
	if month := now.Format(monthForm); b.Month != month {
		first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		if b.Month != first.AddDate(0, -1, 0).Format(monthForm) {
			b.Orders = 0
		}
		b.Month, b.Before, b.Orders = month, b.Orders, 0
	}
	return b, nil
}

const monthForm = "2006-01"

// Over refuses a sale that would take an account over one of its limits.
type Over struct {
	Daily bool      // the day's; otherwise what it may owe at once
	Left  int64     // to the limit
	Until time.Time // when the day ends
}

// Error implements error.
func (e *Over) Error() string {
	if e.Daily {
		return fmt.Sprintf("the day's limit leaves %d", e.Left)
	}
	return fmt.Sprintf("the credit ceiling leaves %d", e.Left)
}

// Hold counts a sale at a retail price as owed, in the transaction that claims it, and says on what
// terms. The error is an *Over where a limit leaves too little.
func Hold(tx ledger.Tx, id string, retail int64, l Limits) (Terms, error) {
	b, err := ReadBook(tx, id)
	if err != nil {
		return Terms{}, err
	}
	t := TermsOf(retail, b.Share())
	switch left := l.Credit - b.Owed; {
	case t.Net > l.Daily-b.Today:
		return t, &Over{Daily: true, Left: max(0, l.Daily-b.Today), Until: ledger.Tomorrow(tx.Now())}
	case t.Net > left:
		return t, &Over{Left: max(0, left)}
	}
	b.Owed, b.Today, b.Orders = b.Owed+t.Net, b.Today+t.Net, b.Orders+1
	return t, ledger.SetJSON(tx, bookKey(id), b)
}

// Release takes a sale back that was held at a time and given up.
func Release(tx ledger.Tx, id string, net int64, held time.Time) error {
	b, err := ReadBook(tx, id)
	if err != nil {
		return err
	}
	b.Owed -= net
	if held.UTC().Format(time.DateOnly) == b.Day {
		b.Today -= net
	}
	switch held.UTC().Format(monthForm) {
	case b.Month:
		b.Orders--
	case tx.Now().UTC().AddDate(0, 0, -tx.Now().UTC().Day()).Format(monthForm): // the month before
		b.Before--
	}
	return ledger.SetJSON(tx, bookKey(id), b)
}

// Receive notes that an account paid, under a name of the keeper's such as a bank's reference. The
// same name is received once: then it is ErrReceived.
func Receive(tx ledger.Tx, id, name string, amount int64) (Book, error) {
	b, err := ReadBook(tx, id)
	if err != nil {
		return b, err
	}
	if err := once(tx, id, name); err != nil {
		return b, err
	}
	b.Owed -= amount
	return b, errors.Join(ledger.SetJSON(tx, bookKey(id), b),
		addLine(tx, id, Line{ID: "received:" + name, At: tx.Now().UTC().Truncate(time.Second), Kind: Received,
			Net: -amount, Owed: b.Owed}))
}

// ErrReceived says that a payment of this name was noted before.
var ErrReceived = errors.New("a payment of this name was noted before")

func once(tx ledger.Tx, id, name string) error {
	key := ledger.AccountKey("received", id, digest(name))
	_, err := tx.Get(key)
	switch {
	case err == nil:
		return ErrReceived
	case errors.Is(err, ledger.ErrNotFound):
		return tx.Set(key, nil)
	}
	return err
}

func bookKey(id string) []byte { return ledger.AccountKey("book", id) }
