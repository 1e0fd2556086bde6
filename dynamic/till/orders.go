package till

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
)

// The limits of what the keeper delivers.
const (
	MaxAnswer     = 16_000  // characters of text
	MaxAnswerFile = 1 << 20 // bytes
	maxFileName   = 80
)

// HumanOrder is an order of the keeper's work, as it stands at a time of the ledger's clock.
type HumanOrder struct {
	ID       string
	At       time.Time
	Purchase *Purchase
	Work     goods.Handwork
	Window   int // hours from its date to when it is due, as its artifact has them
	Name     string
	Term     *goods.Watched  // of what is kept by itself over a term; nil for the keeper's own work
	Launch   *goods.Launched // of a purchase at a door, likewise
}

// Owed reports whether what was paid is owed back: the window was missed, or what was promised
// could not be done.
func (o HumanOrder) Owed() bool {
	return o.Purchase.Held == nil && o.Late() > 0 || o.Launch != nil && o.Launch.Owed() && o.Status() != OrderReversed
}

// The states of an order.
const (
	OrderQueued    = "queued"
	OrderCompleted = "completed"
	OrderReversed  = "reversed"  // the chain took its payment back
	OrderCapturing = "capturing" // it is completed, and handed over once what was held for it is taken
	OrderReleased  = "released"  // what was held for it goes back, or went
)

// Status is where the order stands.
func (o HumanOrder) Status() string {
	switch {
	case o.Purchase.State == Reversed:
		return OrderReversed
	case o.Purchase.State == Voiding || o.Purchase.State == Released:
		return OrderReleased
	case o.Purchase.State == Capturing || o.Purchase.Held != nil && o.Purchase.State == Settled:
		return OrderCapturing
	case o.Work.CompletedAt.IsZero():
		return OrderQueued
	}
	return OrderCompleted
}

// Late is how long past its window the order was completed, or is still open; at most 0 for one
// that was not late, for one whose payment was taken back, and for a term.
func (o HumanOrder) Late() time.Duration {
	switch status := o.Status(); {
	case status == OrderReversed || o.Term != nil:
		return 0
	case status == OrderCompleted:
		return o.Work.CompletedAt.Sub(o.Work.DueAt)
	}
	return o.At.Sub(o.Work.DueAt)
}

// errNoOrder says that no order has an id.
var errNoOrder = errors.New("no order has this id")

// humanOrder reads an order in a transaction.
func (t *Till) humanOrder(tx ledger.Tx, id string) (HumanOrder, error) {
	of, err := ledger.GetJSON[creditOf](tx, ledger.OrderKey(id))
	if errors.Is(err, errNotFound) {
		return HumanOrder{}, errNoOrder
	}
	if err != nil {
		return HumanOrder{}, err
	}
	p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(of.Purchase))
	if err != nil {
		return HumanOrder{}, err
	}
	o := HumanOrder{ID: id, At: tx.Now(), Purchase: &p, Name: p.Item}
	if offer, err := t.offerOf(&p); err == nil { // off the shelf it is an order all the same
		o.Name = offer.Name
	}
	if o.Work, err = goods.ReadHandwork(p.Made); err != nil {
		return o, err
	}
	ordered, err := time.Parse(time.RFC3339, p.Date)
	if p.Held != nil {
		ordered, err = p.Held.Proof.BlockTime, nil
	}
	if err != nil {
		return o, fmt.Errorf("order %s: %w", id, err)
	}
	o.Window = int(o.Work.DueAt.Sub(ordered).Hours())
	if o.Term, err = goods.ReadWatched(p.Made); err != nil {
		return o, err
	}
	o.Launch, err = goods.ReadLaunched(p.Made)
	return o, err
}

// HumanOrder finds an order by its id; ok is false where there is none such.
func (t *Till) HumanOrder(ctx context.Context, id string) (o HumanOrder, ok bool, err error) {
	err = t.view(ctx, func(tx ledger.Tx) (err error) {
		o, err = t.humanOrder(tx, id)
		return err
	})
	if errors.Is(err, errNoOrder) {
		return o, false, nil
	}
	if err != nil {
		return o, false, ledgerDown(err)
	}
	return o, true, nil
}

// polled is when an order was read last, and as what. Further is what stood beside its status.
type polled struct {
	At      time.Time `json:"at"`
	Status  string    `json:"status"`
	Further string    `json:"further,omitzero"`
}

// PollEvery is how often an order may be read, unless its status has changed.
const PollEvery = time.Minute

// Poll reads an order for its buyer. It is an error of CodePolled to read it again within a minute
// while nothing has changed: neither its status nor what further says of it.
func (t *Till) Poll(ctx context.Context, id string, further func(ledger.Tx, HumanOrder) (string, error)) (o HumanOrder,
	ok bool, err error) {
	// Who guesses at ids writes nothing and waits for no writer.
	if o, ok, err = t.HumanOrder(ctx, id); !ok || err != nil {
		return o, ok, err
	}
	err = t.update(ctx, func(tx ledger.Tx) (err error) {
		if o, err = t.humanOrder(tx, id); err != nil {
			return err
		}
		key := ledger.BudgetKey("order_poll", id)
		last, _, err := ledger.FindJSON[polled](tx, key)
		if err != nil {
			return err
		}
		stands := polled{At: tx.Now().Truncate(time.Second), Status: o.Status()}
		if stands.Further, err = further(tx, o); err != nil {
			return err
		}
		if wait := last.At.Add(PollEvery).Sub(stands.At); wait > 0 && last.Status == stands.Status &&
			last.Further == stands.Further {
			return &Error{Code: CodePolled, Retry: wait}
		}
		return ledger.SetJSON(tx, key, stands)
	})
	if _, said := errors.AsType[*Error](err); err != nil && !said {
		err = ledgerDown(err)
	}
	return o, err == nil, err
}

// HumanOrders are the orders that the keeper sees: those whose payment is beyond reorganisation
// (M6), and of them, unless all are asked for, those that wait for him. What is due first comes
// first.
func (t *Till) HumanOrders(ctx context.Context, all bool) ([]HumanOrder, error) {
	return t.orders(ctx, func(o HumanOrder) bool {
		return o.Launch == nil && (all || o.Status() == OrderQueued)
	})
}

// orders are those with a window whose payment is beyond reorganisation, of them those that are
// wanted, what is due first first.
func (t *Till) orders(ctx context.Context, want func(HumanOrder) bool) (list []HumanOrder, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		list = nil
		for e, err := range tx.Scan(ledger.Orders()) {
			if err != nil {
				return err
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return err
			}
			o, err := t.humanOrder(tx, parts[1])
			if err != nil {
				return fmt.Errorf("order %s: %w", parts[1], err)
			}
			if o.Term == nil && o.Purchase.Final && want(o) {
				list = append(list, o)
			}
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b HumanOrder) int { return a.Work.DueAt.Compare(b.Work.DueAt) })
	return list, err
}

// Answer is what the keeper delivers: at least one of the three.
type Answer struct {
	Text string
	Link string // https
	File *AnswerFile
}

// AnswerFile is a file that the keeper delivers.
type AnswerFile struct {
	Name string
	Data []byte
}

// Check refuses what cannot be delivered.
func (a Answer) Check() error {
	if a.Text == "" && a.Link == "" && a.File == nil {
		return errors.New("an answer is a text, a link, a file, or several of them")
	}
	if !utf8.ValidString(a.Text) || utf8.RuneCountInString(a.Text) > MaxAnswer || strings.ContainsFunc(a.Text, hidden) {
		return fmt.Errorf("the text must be UTF-8 of at most %d characters, without control characters and marks of "+
			"direction", MaxAnswer)
	}
	if a.Link != "" {
		u, err := url.Parse(a.Link)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(a.Link) > 2048 ||
			strings.ContainsFunc(a.Link, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("the link must be an https URL of at most 2048 ASCII characters, without a user in it")
		}
	}
	if f := a.File; f != nil {
		ok := f.Name != "" && len(f.Name) <= maxFileName && f.Name[0] != '.' && strings.Trim(f.Name,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
		if !ok {
			return fmt.Errorf("the file's name must be of at most %d letters, digits, dots, _ and -", maxFileName)
		}
		if len(f.Data) == 0 || len(f.Data) > MaxAnswerFile {
			return fmt.Errorf("the file has %d bytes, and may have 1 to %d", len(f.Data), MaxAnswerFile)
		}
	}
	return nil
}

// hidden reports a character that moves the cursor or turns the direction of writing.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' ||
		r == '\u2029'
}

// AnswerOrder completes an order with what the keeper made, and returns it as it stands then. Where
// dry is set it says what would be and changes nothing. It is an error to answer an order that is
// answered, taken back, or not yet beyond reorganisation.
func (t *Till) AnswerOrder(ctx context.Context, id string, a Answer, dry bool) (HumanOrder, error) {
	if err := a.Check(); err != nil {
		return HumanOrder{}, err
	}
	o, ok, err := t.HumanOrder(ctx, id)
	switch {
	case err != nil:
		return o, err
	case !ok:
		return o, errNoOrder
	case o.Term != nil || o.Launch != nil:
		return o, fmt.Errorf("order %s completes itself", id)
	case o.Purchase.State != Promised && o.Purchase.State != Held:
		return o, fmt.Errorf("order %s is %s: it takes no answer", id, o.Status())
	case !o.Purchase.Final:
		return o, fmt.Errorf("order %s is not paid for beyond reorganisation yet: answer it in a few minutes", id)
	}
	if h := o.Purchase.Held; h != nil {
		if err := h.Completable(o.At); err != nil {
			return o, fmt.Errorf("order %s is not answered: %w", id, err)
		}
	}
	var file *goods.HumanFile
	if a.File != nil {
		sum := sha256.Sum256(a.File.Data)
		file = &goods.HumanFile{Name: a.File.Name, Bytes: len(a.File.Data), SHA256: hex.EncodeToString(sum[:]),
			URL: t.cfg.BaseURL + "/api/order/" + id + "/file"}
	}
	made, err := goods.Answered(o.Purchase.Made, a.Text, a.Link, file, o.At.Truncate(time.Second))
	if err != nil {
		return o, err
	}
	if dry {
		done := *o.Purchase
		done.Made = made
		o.Purchase = &done
		o.Work, err = goods.ReadHandwork(made)
		return o, err
	}
	if file != nil {
		// It is found by its digest, which only the delivery names.
		err := t.update(ctx, func(tx ledger.Tx) error {
			return tx.Set(ledger.OrderFileKey(id, file.SHA256), a.File.Data)
		})
		if err != nil {
			return o, err
		}
	}
	if o.Purchase.Held != nil {
		err = t.completeHeld(ctx, o.Purchase.ID, made)
	} else {
		err = t.Fulfil(ctx, o.Purchase.ID, made)
	}
	if err != nil {
		return o, err
	}
	o, _, err = t.HumanOrder(ctx, id)
	return o, err
}

// OrderFile is the file that an order was completed with; ok is false where there is none.
func (t *Till) OrderFile(ctx context.Context, id string) (f goods.HumanFile, data []byte, ok bool, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		o, err := t.humanOrder(tx, id)
		if err != nil || o.Status() != OrderCompleted || o.Work.File == nil {
			return err
		}
		f, ok = *o.Work.File, true
		data, err = tx.Get(ledger.OrderFileKey(id, f.SHA256))
		return err
	})
	if errors.Is(err, errNoOrder) {
		return f, nil, false, nil
	}
	if err != nil {
		return f, nil, false, ledgerDown(err)
	}
	return f, data, ok, nil
}
