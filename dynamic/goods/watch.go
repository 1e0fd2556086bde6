package goods

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// Watches have something read again and again over a term that was bought.
type Watches interface {
	// Want begins a watch.
	Want(tx ledger.Tx, w Watch) error
	// Drop ends one whose payment was taken back.
	Drop(tx ledger.Tx, order string) error
}

// Watch is a term of readings.
type Watch struct {
	Order    string            `json:"order"` // its public id
	Purchase string            `json:"purchase"`
	Item     string            `json:"item"`
	Battery  string            `json:"battery"`
	Inputs   map[string]string `json:"inputs"`
	Target   string            `json:"target"` // in its one spelling
	Starts   time.Time         `json:"starts"`
	Hours    int64             `json:"hours"`   // between two readings
	Of       int64             `json:"of"`      // how many readings there are
	Minutes  int64             `json:"minutes"` // how late one may begin; less than there are between two
}

// Every is the time between two readings.
func (w Watch) Every() time.Duration { return time.Duration(w.Hours) * time.Hour }

// Grace is how late a reading may begin.
func (w Watch) Grace() time.Duration { return time.Duration(w.Minutes) * time.Minute }

// Ends is when the term is over.
func (w Watch) Ends() time.Time { return w.Starts.Add(time.Duration(w.Of) * w.Every()) }

// Due is when a reading is due, the first at the start.
func (w Watch) Due(number int64) time.Time {
	return w.Starts.Add(time.Duration(number-1) * w.Every())
}

// watchBattery is what a watch reads with.
const watchBattery = content.KindSpot

// maxWatches is how many watches a host may be under, so that nobody has a stranger visited by the
// thousand.
const maxWatches = 4

// Watched is the deliverable of a term: what was promised, and once it is over what it came to.
type Watched struct {
	Target      string        `json:"target,omitzero"`
	Readings    int64         `json:"readings,omitzero"`
	EveryHours  int64         `json:"every_hours,omitzero"`
	Starts      string        `json:"starts,omitzero"`
	Ends        string        `json:"ends,omitzero"`
	DueAt       string        `json:"due_at,omitzero"` // of the closing
	CompletedAt string        `json:"completed_at,omitzero"`
	Summary     *WatchSummary `json:"summary,omitzero"`
	Answer      string        `json:"answer_digest,omitzero"` // of the summary
	HowTo       string        `json:"how_to_read,omitzero"`
}

// WatchSummary is what a watch came to.
type WatchSummary struct {
	Readings int64     `json:"readings"` // that were due
	Read     int64     `json:"read"`
	Missed   int64     `json:"missed"`
	Verdicts []Verdict `json:"verdicts"` // of those that were read, in the order in which they were first seen
	Changes  int64     `json:"changes"`  // how often the verdict was another than that of the reading before
	// ReportsSHA256 is the digest of a line for each report, in their order: sha256:, the digest of
	// its signed payload, and a line feed.
	ReportsSHA256 string `json:"reports_sha256"`
}

// Verdict counts the readings that came to it.
type Verdict struct {
	Verdict  string `json:"verdict"`
	Readings int64  `json:"readings"`
}

// watchLate is how long after its end a term is closed at the latest.
const watchLate = 24 * time.Hour

// The terms of readings: seven days each, one payment, never renewed.
var (
	dailyWatch  = watches(content.KindDays, 24, 7, 6*60)
	hourlyWatch = watches(content.KindHours, 1, 168, 30)
)

// watches is a kind of term. Nothing is read before it is paid for; then each reading is a report
// of its own, signed (package watch).
//
//	goods/watched/<host>/<id>   a watch that a host is under
func watches(name string, hours, of, grace int64) Kind {
	plan := func(o *Order, target string) Watch {
		return Watch{Order: o.Artifact, Purchase: o.ID, Item: o.Good.ID, Battery: watchBattery,
			Inputs: map[string]string{"url": o.Inputs["url"]}, Target: target,
			Starts: o.Settled.UTC().Truncate(time.Second), Hours: hours, Of: of, Minutes: grace}
	}
	return Kind{
		Name: name, Delivers: Watched{}, Later: true, Able: Maker.canWatch,
		Available: func(m Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error {
			if inputs == nil {
				return m.canWatch(good)
			}
			_, err := m.freeWatch(tx, good, inputs)
			return err
		},
		Reserve: func(m Maker, tx ledger.Tx, o *Order) error {
			host, err := m.freeWatch(tx, o.Good, o.Inputs)
			if err != nil {
				return err
			}
			return tx.Set(WatchedKey(host, o.ID), nil)
		},
		Release: func(m Maker, tx ledger.Tx, o *Order) error {
			if o.Artifact != "" && m.Watches != nil { // it was promised
				if err := m.Watches.Drop(tx, o.Artifact); err != nil {
					return err
				}
			}
			return m.unwatch(tx, o)
		},
		Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
			target, host, err := m.Readings.Target(watchBattery, o.Inputs)
			if err != nil {
				return nil, err
			}
			g := made(o, Watched{Target: target, Readings: of, EveryHours: hours,
				HowTo: "order_url lists every reading with its report, as they come. It ends by itself after " +
					"seven days."},
				fmt.Sprintf("Somebody is on watch: %d readings in seven days, the first at once.", of), "")
			g.Saw = host
			return g, nil
		},
		Settle: func(_ Maker, _ ledger.Tx, o *Order, g *Made) error {
			d, err := delivered[Watched](g)
			if err != nil {
				return err
			}
			w := plan(o, d.Target)
			d.Starts, d.Ends, d.DueAt = moment(w.Starts), moment(w.Ends()), moment(w.Ends().Add(watchLate))
			g.Deliver(name, d)
			return nil
		},
		Promise: func(m Maker, tx ledger.Tx, o *Order, g *Made) error {
			d, err := delivered[Watched](g)
			if err != nil {
				return err
			}
			return m.Watches.Want(tx, plan(o, d.Target))
		},
		Complete: func(m Maker, tx ledger.Tx, o *Order, g *Made) error {
			d, err := delivered[Watched](g)
			if err != nil {
				return err
			}
			return errors.Join(m.unwatch(tx, o), m.sendWord(tx, o, "order.completed", "completed", d))
		},
		Artifact: &Artifact{Class: attest.ClassOrder, Prefix: "order_", Path: "/api/order/", Payload: watchPayload},
	}
}

func watchPayload(o *Order, g *Made, f Facts) (any, error) {
	d, err := delivered[Watched](g)
	if err != nil {
		return nil, err
	}
	asked := sha256.Sum256([]byte(d.Target))
	v := attest.Order{OrderID: f.ID, Class: attest.ClassOrder, PatronNumber: f.PatronNumber, Date: f.Date,
		Item: o.Good.ID, Status: "queued", PaidUSDC: f.PaidUSDC,
		WindowHours: int(d.Readings*d.EveryHours) + int(watchLate.Hours()),
		DueAt:       d.DueAt, Asked: "sha256:" + hex.EncodeToString(asked[:]), FromTheStore: f.Store}
	if d.CompletedAt != "" {
		v.Status, v.CompletedAt, v.Answer = "completed", d.CompletedAt, d.Answer
	}
	return v, nil
}

// ReadWatched reads the deliverable of a term, nil for what is none.
func ReadWatched(g *Made) (*Watched, error) {
	d, err := delivered[Watched](g)
	if err != nil || d.Readings == 0 {
		return nil, err
	}
	return &d, nil
}

// WatchClosed completes a term with what it came to. It leaves the promise as it is.
func WatchClosed(promise *Made, s WatchSummary, at time.Time) (*Made, error) {
	d, err := delivered[Watched](promise)
	if err != nil {
		return nil, err
	}
	b, err := attest.Canonical(s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	d.Summary, d.CompletedAt, d.Answer = &s, moment(at), "sha256:"+hex.EncodeToString(sum[:])
	g := *promise
	g.Message = fmt.Sprintf("The watch is over: %d of %d readings were made.", s.Read, s.Readings)
	var head struct {
		Kind string `json:"kind"`
	}
	if head, err = delivered[struct {
		Kind string `json:"kind"`
	}](promise); err != nil {
		return nil, err
	}
	g.Deliver(head.Kind, d)
	return &g, nil
}

func (m Maker) canWatch(good content.Good) error {
	if m.Watches == nil || m.Readings == nil {
		return &Away{Item: good.ID}
	}
	return nil
}

// freeWatch refuses a watch of a host that is under too many, and names the host of one that can be
// had.
func (m Maker) freeWatch(tx ledger.Tx, good content.Good, inputs map[string]string) (host string, err error) {
	if err := m.canWatch(good); err != nil {
		return "", err
	}
	if _, host, err = m.Readings.Target(watchBattery, inputs); err != nil {
		return "", err
	}
	n := 0
	for _, err := range tx.Scan(ledger.Prefix(WatchedKey(host))) {
		if err != nil {
			return "", err
		}
		n++
	}
	if n >= maxWatches {
		return "", &Unread{Code: CodeTargetHeld, Detail: fmt.Sprintf("This host is under %d watches already, which is "+
			"as many as one host gets.", n)}
	}
	return host, nil
}

// unwatch gives the place of a watch back.
func (m Maker) unwatch(tx ledger.Tx, o *Order) error {
	if m.Readings == nil {
		return nil
	}
	_, host, err := m.Readings.Target(watchBattery, o.Inputs)
	if err != nil {
		return nil // it had none
	}
	return tx.Delete(WatchedKey(host, o.ID))
}

// WatchedKey is the place of a purchase among the watches that a host is under.
func WatchedKey(host string, rest ...string) []byte {
	return ledger.GoodsKey("watched", append([]string{host}, rest...)...)
}
