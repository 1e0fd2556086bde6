package goods

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// handwork is what the keeper is asked for, and, once it is done, what he made of it.
type handwork struct {
	text
	sealed
	WindowHours int        `json:"window_hours,omitzero"`
	DueAt       string     `json:"due_at,omitzero"`
	CompletedAt string     `json:"completed_at,omitzero"`
	Link        string     `json:"link,omitzero"`
	File        *HumanFile `json:"file,omitzero"`
	Answer      string     `json:"answer_digest,omitzero"`
	HowToAnswer string     `json:"how_to_check_answer,omitzero"`
}

// HumanFile is a file that the keeper made.
type HumanFile struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"` // hex
	URL    string `json:"url,omitzero"`
}

// human is what the keeper does by hand. What is asked stays private: certificate and order hold
// salted digests. There are as many a week as the good says, counted in the transaction that
// claims, by the ISO week of the ledger's clock; a place whose payment fails comes back, in its own
// week:
//
//	goods/week/<item>/<week>/<id>   a place that is taken: until when it is held, empty once paid for
//	goods/place/<id>                the week that a purchase has its place in
//
// A payer holds one place of all such goods, unsettled, at a time (package till, M6).
var human = Kind{
	Name:     content.KindHuman,
	Delivers: handwork{},
	Counted:  true,
	Unit:     "the keeper's time",
	Later:    true,
	ByHand:   true,
	Left: func(_ Maker, tx ledger.Tx, good content.Good) (int, error) {
		taken, _, err := places(tx, good.ID, tx.Now())
		return max(good.WeeklyInventory-taken, 0), err
	},
	Available: func(_ Maker, tx ledger.Tx, good content.Good, _ map[string]string) error {
		return freePlace(tx, good)
	},
	Reserve: func(_ Maker, tx ledger.Tx, o *Order) error {
		if err := freePlace(tx, o.Good); err != nil {
			return err
		}
		week := ISOWeek(tx.Now())
		key := weekKey(o.Good.ID, week, o.ID)
		return errors.Join(tx.Set(key, nil), hold(tx, key, o), tx.Set(placeKey(o.ID), []byte(week)))
	},
	Release: func(_ Maker, tx ledger.Tx, o *Order) error {
		week, err := tx.Get(placeKey(o.ID))
		if errors.Is(err, ledger.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(tx.Delete(weekKey(o.Good.ID, string(week), o.ID)), tx.Delete(placeKey(o.ID)))
	},
	Make: func(_ context.Context, _ Maker, o *Order) (*Made, error) {
		private, attests := seal(o.Inputs["detail"])
		g := MadeOf(o, handwork{sealed: private, WindowHours: o.Good.WindowHours},
			fmt.Sprintf("Taken down, and put before the keeper. There are %d hours for it.", o.Good.WindowHours), "")
		g.Attests = attests
		return g, nil
	},
	Settle: Settled(func(tx ledger.Tx, o *Order, d *handwork) error {
		d.DueAt = moment(o.Settled.Add(time.Duration(d.WindowHours) * time.Hour))
		week, err := tx.Get(placeKey(o.ID))
		if err != nil {
			return err
		}
		return tx.Set(weekKey(o.Good.ID, string(week), o.ID), nil)
	}),
	Complete: With(func(m Maker, tx ledger.Tx, o *Order, d handwork) error {
		return m.SendWord(tx, o, "order.completed", "completed", HumanGoods{d.Text, d.Link, d.File})
	}),
	Artifact: &Artifact{Class: attest.ClassOrder, Prefix: "order_", Path: "/api/order/", Payload: orderPayload},
}

// HumanGoods are what the keeper delivered.
type HumanGoods struct {
	Text string     `json:"text,omitzero"`
	Link string     `json:"link,omitzero"`
	File *HumanFile `json:"file,omitempty"`
}

func orderPayload(o *Order, g *Made, f Facts) (any, error) {
	d, err := Delivered[handwork](g)
	if err != nil {
		return nil, err
	}
	v := attest.Order{OrderID: f.ID, Class: attest.ClassOrder, PatronNumber: f.PatronNumber, Date: f.Date,
		Item: o.Good.ID, Status: "queued", PaidUSDC: f.PaidUSDC, WindowHours: d.WindowHours, DueAt: d.DueAt,
		Asked: "sha256-salted:" + d.Digest, FromTheStore: f.Store}
	if d.CompletedAt != "" {
		v.Status, v.CompletedAt, v.Answer = "completed", d.CompletedAt, "sha256-salted:"+d.Answer
	}
	return v, nil
}

// Handwork is what stands in the deliverable of a good that the keeper makes.
type Handwork struct {
	DueAt       time.Time
	CompletedAt time.Time // zero while it is queued
	Text, Link  string
	File        *HumanFile
}

// ReadHandwork reads the deliverable of an order.
func ReadHandwork(g *Made) (h Handwork, err error) {
	d, err := Delivered[handwork](g)
	if err != nil {
		return h, err
	}
	h.Text, h.Link, h.File = d.Text, d.Link, d.File
	if h.DueAt, err = time.Parse(time.RFC3339, d.DueAt); err != nil || d.CompletedAt == "" {
		return h, err
	}
	h.CompletedAt, err = time.Parse(time.RFC3339, d.CompletedAt)
	return h, err
}

// Answered completes what was promised with what the keeper made, at a time. It leaves the promise
// as it is.
func Answered(promise *Made, text, link string, file *HumanFile, at time.Time) (*Made, error) {
	d, err := Delivered[handwork](promise)
	if err != nil {
		return nil, err
	}
	d.Text, d.Link, d.File, d.CompletedAt = text, link, file, moment(at)
	answer := []string{text, link, ""}
	if file != nil {
		answer[2] = file.SHA256
	}
	if d.Answer, err = d.sealed.digestOf(strings.Join(answer, "\n")); err != nil {
		return nil, err
	}
	d.HowToAnswer = "answer_digest = SHA-256(salt bytes followed by text, a line feed, link, a line feed, and the " +
		"file's SHA-256 in hex; what is not there is empty). The signed order has it."
	g := *promise
	g.Message = "The keeper has answered."
	g.Deliver(content.KindHuman, d)
	return &g, nil
}

// freePlace refuses an order for which the week has no place, and says when there is one again:
// when the week ends, or before it, when a place that is only held may come back.
func freePlace(tx ledger.Tx, good content.Good) error {
	taken, held, err := places(tx, good.ID, tx.Now())
	if err != nil || taken < good.WeeklyInventory {
		return err
	}
	e := &SoldOut{Item: good.ID, Reopens: nextWeek(tx.Now())}
	if held.Before(e.Reopens) {
		e.HeldUntil = held
	}
	return e
}

// places counts what is taken of a good in the week of a time, and says until when the first of
// them is held, zero for none.
func places(tx ledger.Tx, item string, at time.Time) (n int, held time.Time, err error) {
	for e, err := range tx.Scan(ledger.Prefix(weekKey(item, ISOWeek(at)))) {
		if err != nil {
			return 0, held, err
		}
		n++
		if len(e.Value) == 0 {
			continue
		}
		until, err := heldUntil(tx, e.Key)
		if err != nil {
			return 0, held, err
		}
		held = earlier(held, until)
	}
	return n, held, nil
}

// Placed are the purchases that have a place of a good in the week of a time, paid for or held.
func Placed(tx ledger.Tx, item string, at time.Time) (ids []string, err error) {
	for e, err := range tx.Scan(ledger.Prefix(weekKey(item, ISOWeek(at)))) {
		if err != nil {
			return nil, err
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return nil, err
		}
		ids = append(ids, parts[len(parts)-1])
	}
	return ids, nil
}

// ISOWeek is the week of a time in UTC, such as 2026-W53.
func ISOWeek(t time.Time) string {
	year, week := t.UTC().ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, week)
}

// nextWeek is the Monday after a time, at midnight UTC.
func nextWeek(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d+7-(int(t.UTC().Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
}

func weekKey(item, week string, rest ...string) []byte {
	return ledger.GoodsKey("week", append([]string{item, week}, rest...)...)
}

func placeKey(id string) []byte { return ledger.GoodsKey("place", id) }
