package account

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// The kinds of lines.
const (
	Delivery = "delivery"
	Received = "received" // the account paid
	Restore  = "restored" // delivered before a restore that does not know it otherwise
)

// Line is one line of a statement.
type Line struct {
	ID     string    `json:"id"` // of the purchase, or what the line is of
	At     time.Time `json:"at"`
	Kind   string    `json:"kind"`
	Ref    string    `json:"order_ref,omitzero"`
	Item   string    `json:"item_id,omitzero"`
	CertID string    `json:"cert_id,omitzero"`
	Price  int64     `json:"price,omitzero"`
	BPS    int       `json:"share_bps,omitzero"`
	Net    int64     `json:"net"`  // what is owed by it; negative where it was received
	Owed   int64     `json:"owed"` // when the line was written, with what was under way
}

// Bill writes the line of a sale that is delivered; it was counted as owed when it was held.
func Bill(tx ledger.Tx, id string, l Line) error {
	b, err := ReadBook(tx, id)
	if err != nil {
		return err
	}
	l.Kind, l.Owed = Delivery, b.Owed
	return addLine(tx, id, l)
}

func addLine(tx ledger.Tx, id string, l Line) error {
	return ledger.SetJSON(tx, lineKey(id, l.At, l.ID), l)
}

func lineKey(id string, at time.Time, rest ...string) []byte {
	return ledger.AccountKey(append([]string{"line", id, ledger.Number(uint64(at.Unix()))}, rest...)...)
}

// MaxLines is how many lines a page of a statement has at most.
const MaxLines = 200

// Month reads a page of the lines of a month (YYYY-MM), oldest first, behind the cursor
// after, "" for the beginning. next is the cursor of the next page, "" where nothing follows.
func Month(tx ledger.Tx, id, month, after string) (lines []Line, next string, err error) {
	from, err := time.Parse(monthForm, month)
	if err != nil {
		return nil, "", fmt.Errorf("%.20q is no month", month)
	}
	begin, end := lineKey(id, from), lineKey(id, from.AddDate(0, 1, 0))
	if after != "" {
		second, of, ok := strings.Cut(after, ".")
		n, err := strconv.ParseInt(second, 10, 64)
		if !ok || err != nil || n < from.Unix() {
			return nil, "", ErrCursor
		}
		begin = append(lineKey(id, time.Unix(n, 0), of), 0)
	}
	for e, err := range tx.Scan(begin, end) {
		if err != nil {
			return nil, "", err
		}
		if len(lines) == MaxLines {
			last := lines[len(lines)-1]
			next = strconv.FormatInt(last.At.Unix(), 10) + "." + last.ID
			break
		}
		l, err := ledger.DecodeJSON[Line](e)
		if err != nil {
			return nil, "", err
		}
		lines = append(lines, l)
	}
	return lines, next, nil
}

// ErrCursor refuses a cursor that no page gave.
var ErrCursor = errors.New("the cursor is of no page of this month")

// Sum adds up all lines of an account: what it owes, but for what is under way.
func Sum(tx ledger.Tx, id string) (net int64, lines int, err error) {
	for l, err := range ledger.Values[Line](tx.Scan(ledger.Prefix(ledger.AccountKey("line", id)))) {
		if err != nil {
			return 0, 0, err
		}
		net, lines = net+l.Net, lines+1
	}
	return net, lines, nil
}

// All are the ids of the accounts that have a book.
func All(tx ledger.Tx) (ids []string, err error) {
	for e, err := range tx.Scan(ledger.Prefix(ledger.AccountKey("book"))) {
		if err != nil {
			return nil, err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return nil, err
		}
		ids = append(ids, parts[2])
	}
	return ids, nil
}
