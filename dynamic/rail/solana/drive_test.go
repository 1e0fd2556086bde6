package solana_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/settle"
)

// owner hears of a settlement until its payment is paid or dead.
type owner struct {
	reverted bool
	last     settle.News
}

func (*owner) Waits(bool)                                {}
func (o *owner) Reverted(ledger.Tx, settle.Member) error { o.reverted = true; return nil }
func (o *owner) Heard(_ context.Context, _ *settle.Settlement, _ settle.Member, n settle.News) (bool, error) {
	o.last = n
	return n.State != rail.Paid && n.State != rail.Dead, nil
}

// driver drives a rail of the harness.
func (h *harness) driver(db ledger.DB, r rail.Rail, afterStep func(string)) *settle.Driver {
	g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: []rail.Rail{r}})
	if err != nil {
		h.t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: db, Rails: []rail.Rail{r}, Gas: g, Pause: 5 * time.Millisecond,
		AfterStep: afterStep})
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}

// begin verifies a payment and stores its settlement.
func (h *harness) begin(d *settle.Driver, p pay) *settle.Settlement {
	h.t.Helper()
	x, err := h.rail.Parse(payload(p.wire(h.t)), h.rail.Requirement(price))
	if err != nil {
		h.t.Fatal(err)
	}
	seen, err := h.rail.Verify(h.t.Context(), x, h.rail.Requirement(price), time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := d.Begin(h.t.Context(), settle.Order{Members: []settle.Member{{ID: "one", Payment: *x, Verified: seen}},
		Arrow: func(ledger.Tx, *settle.Settlement) error { return nil }})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// The driver of settlements needs no numbers: it sends, sends again what is lost, and stops when
// the chain has spoken.
func TestDriverSettles(t *testing.T) {
	h := open(t)
	h.dropped = 2 // broadcasts that get nowhere
	sent := 0
	d := h.driver(ledger.NewMem(ledger.MemOptions{}), h.rail, func(step string) {
		if step == "sent" {
			if sent++; sent == 3 {
				h.Seal()
			}
		}
	})
	s := h.begin(d, h.pay(price))
	if n := h.seen["sendTransaction"]; n != 0 {
		t.Errorf("%d broadcasts before the ledger has the bytes", n)
	}
	o := &owner{}
	if err := d.Drive(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	if o.last.State != rail.Paid || o.last.Proof.Tx != s.Tx(s.Members[0].ID) || h.Balance() != price || sent < 3 {
		t.Errorf("heard %+v after %d broadcasts; payTo has %d", o.last, sent, h.Balance())
	}
}

// A process that dies between signing and sending, or between sending and hearing of it, leaves
// what the next one finishes: the same bytes, paid once.
func TestDriverAfterACrash(t *testing.T) {
	for _, sent := range []bool{false, true} {
		h := open(t)
		db := ledger.NewMem(ledger.MemOptions{})
		s := h.begin(h.driver(db, h.rail, nil), h.pay(price))
		if sent {
			if err := h.rail.Send(t.Context(), s.Sent[0].Signed); err != nil {
				t.Fatal(err)
			}
			h.Seal()
		}
		r := newRail(t, h.cfg)
		d := h.driver(db, r, func(step string) {
			if step == "sent" {
				h.Seal()
			}
		})
		again, err := d.Load(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		o := &owner{}
		if err := d.Drive(t.Context(), again, o); err != nil {
			t.Fatal(err)
		}
		if o.last.State != rail.Paid || o.last.Proof.Tx != s.Sent[0].ID || h.Balance() != price {
			t.Errorf("sent before the crash: %v; heard %+v; payTo has %d", sent, o.last, h.Balance())
		}
	}
}

// A transaction that lands with an error costs its fee, which is counted once against the day's
// budget, and is never signed for again.
func TestDriverCountsAFailureAsARevert(t *testing.T) {
	h := open(t)
	db := ledger.NewMem(ledger.MemOptions{})
	d := h.driver(db, h.rail, func(step string) {
		if step == "sent" {
			h.Seal()
		}
	})
	h.Fund(price)
	p := h.pay(price)
	p.buyer = person("poor")
	s := h.begin(d, p)
	h.Fund(0)
	o := &owner{}
	if err := d.Drive(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	if !o.reverted || o.last.State != rail.Dead || !o.last.Payer || !o.last.PayersRevert ||
		o.last.Reason != "failed_on_chain" {
		t.Errorf("told of a revert: %v, heard %+v", o.reverted, o.last)
	}
	again, err := d.Load(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Sent) != 1 || len(again.Reverts) != 1 || again.Reverts[0].Cost != 1501 ||
		again.Reverts[0].Cause.Reason != "InstructionError 2 Custom 1" {
		b, _ := json.Marshal(again)
		t.Errorf("record %s", b)
	}
	if h.Balance() != 0 {
		t.Error("something was paid")
	}
}
