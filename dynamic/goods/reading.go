package goods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// Readings read what is somebody else's, through the guarded client, with the checkers of the free
// instruments. A battery is the name of a kind of goods that reads (content.KindSpot, …).
type Readings interface {
	// Target is what an order asks to have read in its one spelling, and the host that it is at. A
	// target that is never read is a *BadInput or an *Unread. It sends nothing and asks no name
	// service.
	Target(battery string, inputs map[string]string) (target, host string, err error)
	// Room refuses with an *Unread a reading for which a host would be asked more often than it may
	// be now. It looks at the ledger alone, so it comes before a 402.
	Room(tx ledger.Tx, battery, host string) error
	// Read reads a target once. An *Unread says that there is nothing to sell; anything else that
	// is wrong at the other end is a finding.
	Read(ctx context.Context, battery string, inputs map[string]string) (*Reading, error)
}

// Reader reads for orders: a host for one unpaid order at a time.
type Reader struct {
	Readings Readings  // nil: nothing is read
	DB       ledger.DB // keeps what was read, outside of the transactions of orders
}

// Reading is what one reading found.
type Reading struct {
	Target   string           `json:"target"`
	Host     string           `json:"host"`
	ReadAt   string           `json:"read_at"` // RFC 3339 UTC
	Verdict  string           `json:"verdict"`
	Findings []attest.Finding `json:"findings"`
	Evidence []attest.Seen    `json:"evidence"`
	Cannot   []string         `json:"cannot"`
	Says     string           `json:"says"` // one line for people, of our own words
	// Door is the URL that was read and Method how it is asked, of a door that is to be bought at.
	Door   string `json:"door,omitzero"`
	Method string `json:"method,omitzero"`
	// Observation is what the record is told of the reading once it is paid for; nil for nothing.
	Observation *record.Observation `json:"observation,omitzero"`
}

// Audit is the report of a reading as it is signed, but for what the till knows: id, patron number
// and store. class is one of package attest, item the good. What would be larger than
// attest.MaxAudit is an error.
func (r *Reading) Audit(class, item string) (attest.Audit, error) {
	digest, err := attest.EvidenceDigest(r.Evidence)
	if err != nil {
		return attest.Audit{}, err
	}
	a := attest.Audit{Class: class, Item: item, Target: r.Target, ReadAt: r.ReadAt, Verdict: r.Verdict,
		Findings: r.Findings, Evidence: r.Evidence, EvidenceSHA256: digest, CannotTell: r.Cannot}
	if o := r.Observation; o != nil && o.Refresh != nil {
		a.PublishedSHA256 = "sha256:" + o.Refresh.EvidenceDigest
	}
	if err := a.Check(); err != nil {
		return a, err
	}
	b, err := attest.Canonical(a)
	if err == nil && len(b) > attest.MaxAudit-reserved {
		err = attest.ErrAuditTooLarge
	}
	return a, err
}

// reserved is how many bytes of a report are kept for what the till adds.
const reserved = 1 << 10

// Unread refuses an order for a target that is not read, or not now. Nothing is charged for it.
type Unread struct {
	Code   string    // of package problem: target_refused, own_host_refused, opted_out, …
	Detail string    // a sentence, of our own words
	Until  time.Time // when it may be otherwise, zero for never or at once
	// Sent says that the host was asked for something: whoever orders the same gets this answer,
	// and the host is left alone as if it had been read.
	Sent bool
}

// Error implements error.
func (e *Unread) Error() string { return e.Code + ": " + e.Detail }

// The codes of Unread, which are those of the problem that is told.
const (
	CodeTargetRefused = "target_refused"
	CodeOwnHost       = "own_host_refused"
	CodeOptedOut      = "opted_out"    // the host's own file says that it is not to be read
	CodeTargetHeld    = "target_held"  // its host is being read for another order
	CodeBudget        = "budget_spent" // the store's own, of the instrument
	CodeNotRead       = "not_read"     // something before the door answered, or our side is in doubt
)

// ErrUnderWay is returned by Make where another process makes the good at this moment.
var ErrUnderWay = errors.New("another process is making it")

// The times of readings.
const (
	// ReadingTime bounds one reading. One that began longer ago and left nothing was interrupted.
	ReadingTime = 45 * time.Second
	// UnpaidKept is for how long a reading that was not paid for is kept: whoever orders the same
	// gets it, and nothing else at its host is read before it is paid for.
	UnpaidKept = 10 * time.Minute
	// orphan is how long after the end of its authorization an order may still be on its way, and
	// the most of that end that is believed.
	orphan = 30 * time.Minute
)

// A host is read for one unpaid order at a time, so that nobody aims our walker for nothing, and
// once for an order, whatever becomes of the process:
//
//	goods/reading/<host>   the reading that is not paid for
type unpaid struct {
	Order   string    `json:"order"`   // "" once that order was given up: whoever orders the same has it
	Asked   string    `json:"asked"`   // battery and inputs
	Begun   time.Time `json:"begun"`   // zero before the first request
	Until   time.Time `json:"until"`   // when it is forgotten
	Reading *Reading  `json:"reading"` // nil before it is made
	Unread  *Unread   `json:"unread"`  // why there is nothing to sell, where a request was sent
}

func readingKey(host string) []byte { return ledger.GoodsKey("reading", host) }

// asked tells orders for different readings apart.
func asked(battery string, inputs map[string]string) (string, error) {
	only := make(map[string]string, len(inputs))
	for name, v := range inputs {
		if name != "agent_name" && name != "callback_url" && name != "source" {
			only[name] = v
		}
	}
	b, err := json.Marshal(only) // names are sorted
	return battery + " " + string(b), err
}

// heldFor reads what is held of a host; nil for nothing, or what is to be forgotten.
func heldFor(tx ledger.Tx, host string) (*unpaid, error) {
	h, err := ledger.GetJSON[unpaid](tx, readingKey(host))
	if errors.Is(err, ledger.ErrNotFound) || err == nil && !tx.Now().Before(h.Until) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &h, nil
}

// Free refuses an order whose host is being read for another one, and says of which reading that
// was kept it would have the result, nil for none.
func (rd Reader) Free(tx ledger.Tx, battery string, inputs map[string]string) (host, ask string, kept *unpaid,
	err error) {
	if rd.Readings == nil {
		return "", "", nil, &Away{Item: battery}
	}
	if _, host, err = rd.Readings.Target(battery, inputs); err != nil {
		return "", "", nil, err
	}
	if ask, err = asked(battery, inputs); err != nil {
		return "", "", nil, err
	}
	h, err := heldFor(tx, host)
	if err != nil || h == nil {
		return host, ask, nil, errors.Join(err, rd.Readings.Room(tx, battery, host))
	}
	if h.Order == "" && h.Asked == ask {
		return host, ask, h, nil
	}
	until := h.Until
	if h.Order != "" { // mostly it is over when its payment is
		until = until.Add(-orphan)
	}
	if least := tx.Now().Add(5 * time.Second); until.Before(least) {
		until = least
	}
	return "", "", nil, &Unread{Code: CodeTargetHeld, Until: until, Detail: "This host is being read for another " +
		"order, or was a moment ago for one that was not paid for."}
}

// Reserve takes the host of an order.
func (rd Reader) Reserve(tx ledger.Tx, battery string, o *Order) error {
	host, ask, kept, err := rd.Free(tx, battery, o.Inputs)
	if err != nil {
		return err
	}
	h := unpaid{Asked: ask}
	if kept != nil {
		h = *kept
	}
	h.Order, h.Until = o.ID, o.Until
	if latest := tx.Now().Add(orphan); h.Until.After(latest) {
		h.Until = latest
	}
	h.Until = h.Until.Add(orphan)
	return ledger.SetJSON(tx, readingKey(host), h)
}

// Release gives a host back. What was read there is kept for whoever orders the same; what was not
// read to its end leaves nothing.
func (rd Reader) Release(tx ledger.Tx, battery string, o *Order) error {
	host, h, err := rd.heldBy(tx, battery, o)
	if away(err) || err == nil && h == nil {
		return nil // nothing is read here any more: the hold ends by itself
	}
	if err != nil {
		return err
	}
	if h.Reading == nil && h.Unread == nil {
		return tx.Delete(readingKey(host))
	}
	h.Order, h.Until = "", tx.Now().Add(UnpaidKept)
	return ledger.SetJSON(tx, readingKey(host), h)
}

// Take gives the reading of an order that was paid for, and its host back; nil where it was lost.
func (rd Reader) Take(tx ledger.Tx, host string, o *Order) (*Reading, error) {
	h, err := heldFor(tx, host)
	if err != nil || h == nil || h.Order != o.ID {
		return nil, err
	}
	return h.Reading, tx.Delete(readingKey(host))
}

// away reports that a store does not read what it once took an order for.
func away(err error) bool {
	_, gone := errors.AsType[*Away](err)
	_, unread := errors.AsType[*Unread](err)
	_, bad := errors.AsType[*BadInput](err)
	return gone || unread || bad
}

// heldBy is what is held of the host of an order, nil where that is not the order's.
func (rd Reader) heldBy(tx ledger.Tx, battery string, o *Order) (host string, h *unpaid, err error) {
	if rd.Readings == nil {
		return "", nil, &Away{Item: battery}
	}
	if _, host, err = rd.Readings.Target(battery, o.Inputs); err != nil {
		return "", nil, err
	}
	if h, err = heldFor(tx, host); h != nil && h.Order != o.ID {
		h = nil
	}
	return host, h, err
}

// Read makes the reading of an order, once: what is there already is what is sold. A process that
// ends meanwhile leaves nothing to sell, and the order is given up.
func (rd Reader) Read(ctx context.Context, battery string, o *Order) (*Reading, error) {
	var kept *unpaid
	if err := rd.hold(ctx, battery, o, func(tx ledger.Tx, h *unpaid) error {
		kept = nil
		switch {
		case h.Reading != nil || h.Unread != nil:
			kept = h
		case h.Begun.IsZero():
			h.Begun = tx.Now()
		case tx.Now().Before(h.Begun.Add(ReadingTime)):
			return ErrUnderWay
		default:
			return &Unread{Code: CodeNotRead, Detail: "The process that was reading it ended before it was done."}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if kept == nil {
		// What is begun is finished, whoever still waits: the host is asked once.
		reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), ReadingTime)
		defer cancel()
		r, err := rd.Readings.Read(reading, battery, o.Inputs)
		unread, refused := errors.AsType[*Unread](err)
		if err != nil && !(refused && unread.Sent) {
			return nil, err
		}
		if err := rd.hold(reading, battery, o, func(_ ledger.Tx, h *unpaid) error {
			h.Reading, h.Unread, kept = r, unread, h
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if kept.Unread != nil {
		return nil, kept.Unread
	}
	return kept.Reading, nil
}

// hold changes what an order holds.
func (rd Reader) hold(ctx context.Context, battery string, o *Order, change func(ledger.Tx, *unpaid) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	return rd.DB.Update(ctx, func(tx ledger.Tx) error {
		host, h, err := rd.heldBy(tx, battery, o)
		if err == nil && h == nil {
			err = fmt.Errorf("goods: order %s does not hold %s", o.ID, host)
		}
		if err == nil {
			err = change(tx, h)
		}
		if err != nil {
			return err
		}
		return ledger.SetJSON(tx, readingKey(host), h)
	})
}
