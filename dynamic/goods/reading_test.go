package goods

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// reader counts how often each target is read.
type reader struct {
	visits map[string]int
	says   map[string]error // by target
	room   error
	during func()
	large  int // bytes of the finding
}

func (r *reader) Target(_ string, inputs map[string]string) (string, string, error) {
	host, _, _ := strings.Cut(strings.TrimPrefix(inputs["url"], "https://"), "/")
	if host == "own.example" {
		return "", "", &Unread{Code: CodeOwnHost, Detail: "It is ours."}
	}
	return inputs["url"], host, nil
}

func (r *reader) Room(ledger.Tx, string, string) error { return r.room }

func (r *reader) Read(ctx context.Context, battery string, inputs map[string]string) (*Reading, error) {
	target, host, err := r.Target(battery, inputs)
	if err != nil {
		return nil, err
	}
	r.visits[target]++
	if r.during != nil {
		r.during()
	}
	if err := r.says[target]; err != nil {
		return nil, err
	}
	at := time.Now().UTC().Format(time.RFC3339)
	return &Reading{Target: target, Host: host, ReadAt: at, Verdict: "ready", Says: "Read.",
		Findings: []attest.Finding{{Checker: battery,
			Report: jsontext.Value(`{"x":"` + strings.Repeat("x", r.large) + `"}`)}},
		Evidence: []attest.Seen{{Method: "GET", URL: target, At: at, Status: 402}}}, nil
}

// stand is a kind that reads, with a ledger of its own.
type stand struct {
	t    *testing.T
	db   ledger.DB
	m    Maker
	rd   Reader
	r    *reader
	seen []record.Observation
}

func newStand(t *testing.T) *stand {
	s := &stand{t: t, db: ledger.NewMem(ledger.MemOptions{}), r: &reader{visits: map[string]int{},
		says: map[string]error{}}}
	s.rd = Reader{Readings: s.r, DB: s.db}
	s.m = Maker{Observe: func(_ ledger.Tx, o record.Observation) error {
		s.seen = append(s.seen, o)
		return nil
	}}
	return s
}

func (s *stand) spot() Kind { return s.rd.kind(content.KindSpot, attest.ClassServiceAudit) }

func (s *stand) in(f func(tx ledger.Tx) error) error {
	s.t.Helper()
	return s.db.Update(s.t.Context(), f)
}

// order claims a reading of a URL.
func (s *stand) order(id, url string) (*Order, error) {
	s.t.Helper()
	o := &Order{ID: id, Good: content.Good{ID: "spot_check", Kind: content.KindSpot}, At: time.Now(),
		Inputs: map[string]string{"url": url, "agent_name": id}, Until: time.Now().Add(2 * time.Minute)}
	return o, s.in(func(tx ledger.Tx) error { return s.spot().Reserve(s.m, tx, o) })
}

func (s *stand) make(o *Order) (*Made, error) { return s.spot().Make(s.t.Context(), s.m, o) }

func (s *stand) giveUp(o *Order) {
	s.t.Helper()
	if err := s.in(func(tx ledger.Tx) error { return s.spot().Release(s.m, tx, o) }); err != nil {
		s.t.Fatal(err)
	}
}

const door = "https://door.example/paid"

// refusedAs demands that an order was refused with a code.
func refusedAs(t *testing.T, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*Unread](err); !ok || e.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}

// TestNobodyAimsTheWalkerForNothing: whoever does not pay has a host read once in ten minutes, and
// who pays then for the same gets what was read, not another visit.
func TestNobodyAimsTheWalkerForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		first, err := s.order("a", door)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.order("b", door)
		refusedAs(t, err, CodeTargetHeld) // one unpaid reading of a host
		_, err = s.order("b", "https://door.example/other")
		refusedAs(t, err, CodeTargetHeld)
		if _, err := s.order("c", "https://another.example/"); err != nil {
			t.Errorf("another host: %v", err)
		}
		m, err := s.make(first)
		if err != nil {
			t.Fatal(err)
		}
		s.giveUp(first)
		_, err = s.order("b", "https://door.example/other")
		refusedAs(t, err, CodeTargetHeld)
		time.Sleep(UnpaidKept - time.Second)
		again, err := s.order("b", door)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := s.make(again)
		if err != nil || kept.Audit.ReadAt != m.Audit.ReadAt || s.r.visits[door] != 1 {
			t.Errorf("%+v, %v after %d visits", kept, err, s.r.visits[door])
		}
		if err := s.in(func(tx ledger.Tx) error { return s.spot().Complete(s.m, tx, again, kept) }); err != nil {
			t.Fatal(err)
		}
		fresh, err := s.order("d", door)
		if err != nil {
			t.Fatalf("once it is paid for: %v", err)
		}
		if m, err = s.make(fresh); err != nil || s.r.visits[door] != 2 {
			t.Errorf("%+v, %v after %d visits", m, err, s.r.visits[door])
		}
		s.giveUp(fresh)
		time.Sleep(UnpaidKept)
		if _, err := s.order("e", "https://door.example/other"); err != nil {
			t.Errorf("when it is forgotten: %v", err)
		}
	})
}

// TestNoRoomNoTerms: an order for a host that may not be asked now is refused where its terms would
// be made, and where it would be claimed. What was read already is sold.
func TestNoRoomNoTerms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		first, err := s.order("a", door)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.make(first); err != nil {
			t.Fatal(err)
		}
		s.giveUp(first)
		s.r.room = &Unread{Code: CodeBudget, Detail: "Asked often enough."}
		if err := s.in(func(tx ledger.Tx) error {
			refusedAs(t, s.spot().Available(s.m, tx, first.Good, map[string]string{"url": "https://another.example/"}),
				CodeBudget)
			return s.spot().Available(s.m, tx, first.Good, first.Inputs)
		}); err != nil {
			t.Errorf("what was read already: %v", err)
		}
		_, err = s.order("b", "https://another.example/")
		refusedAs(t, err, CodeBudget)
		if _, err := s.order("b", door); err != nil || s.r.visits[door] != 1 {
			t.Errorf("what was read already: %v, %d visits", err, s.r.visits[door])
		}
	})
}

// TestAHostIsReadOnceForAnOrder: whoever drives it, and however often.
func TestAHostIsReadOnceForAnOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		o, err := s.order("a", door)
		if err != nil {
			t.Fatal(err)
		}
		s.r.during = func() { // another replica takes it up
			if _, err := s.make(o); !errors.Is(err, ErrUnderWay) {
				t.Errorf("beside it: %v", err)
			}
		}
		// The one who waits is gone before it is read: it is kept all the same.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.spot().Make(ctx, s.m, o); err != nil {
			t.Errorf("nobody waits: %v", err)
		}
		for range 2 {
			if m, err := s.make(o); err != nil || m.Saw != "door.example" || m.Attests != m.Audit.EvidenceSHA256 {
				t.Errorf("%+v, %v", m, err)
			}
		}
		if s.r.visits[door] != 1 {
			t.Errorf("%d visits", s.r.visits[door])
		}
	})
}

// TestAReadingThatWasCutOff: the process was killed. Nothing is read again for this payment, and
// the next order reads anew.
func TestAReadingThatWasCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		o, err := s.order("a", door)
		if err != nil {
			t.Fatal(err)
		}
		s.r.says[door] = errors.New("killed")
		if _, err := s.make(o); err == nil {
			t.Fatal("made")
		}
		delete(s.r.says, door)
		if _, err := s.make(o); !errors.Is(err, ErrUnderWay) {
			t.Errorf("at once: %v", err)
		}
		time.Sleep(ReadingTime)
		_, err = s.make(o)
		refusedAs(t, err, CodeNotRead)
		s.giveUp(o)
		if o, err = s.order("b", door); err != nil {
			t.Fatal(err)
		}
		if _, err := s.make(o); err != nil || s.r.visits[door] != 2 {
			t.Errorf("%v after %d visits", err, s.r.visits[door])
		}
	})
}

// TestWhatThereIsNothingToSellOf is not sold, and not asked for again before its time.
func TestWhatThereIsNothingToSellOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		_, err := s.order("a", "https://own.example/")
		refusedAs(t, err, CodeOwnHost)
		s.r.says[door] = &Unread{Code: CodeOptedOut, Sent: true, Detail: "It asks not to be read."}
		for range 2 {
			o, err := s.order("a", door)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.make(o)
			refusedAs(t, err, CodeOptedOut)
			s.giveUp(o)
		}
		if s.r.visits[door] != 1 {
			t.Errorf("%d visits", s.r.visits[door])
		}
	})
}

// TestAReportThatIsTooLarge is never signed: the order is given up.
func TestAReportThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	o, err := s.order("a", door)
	if err != nil {
		t.Fatal(err)
	}
	s.r.large = attest.MaxAudit
	if _, err := s.make(o); !errors.Is(err, attest.ErrAuditTooLarge) {
		t.Errorf("%v", err)
	}
}

// TestAPaidReadingIsDelivered by a store that reads nothing any more, and what is given up there is
// given up.
func TestAPaidReadingIsDelivered(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	paid, err := s.order("a", door)
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.make(paid)
	if err != nil {
		t.Fatal(err)
	}
	given, err := s.order("b", "https://another.example/")
	if err != nil {
		t.Fatal(err)
	}
	s.rd.Readings = nil
	s.giveUp(given)
	if err := s.in(func(tx ledger.Tx) error { return s.spot().Complete(s.m, tx, paid, g) }); err != nil {
		t.Error(err)
	}
	s.rd.Readings = s.r
	if _, err := s.order("c", door); err != nil {
		t.Errorf("the host is not free: %v", err)
	}
}
