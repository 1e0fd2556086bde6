package services

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// street has one door, which says at each time what says has it.
type street struct {
	t     *testing.T
	db    ledger.DB
	began time.Time

	mu     sync.Mutex // guards what follows
	says   func(n int) (verdict string, err error)
	visits []time.Duration
	closed []goods.WatchSummary
	down   time.Duration // how long a reading takes
}

func openStreet(t *testing.T, says func(n int) (string, error)) *street {
	t.Helper()
	return &street{t: t, says: says, db: ledger.NewMem(ledger.MemOptions{}), began: time.Now()}
}

func (*street) Target(_ string, inputs map[string]string) (string, string, error) {
	url := cmp.Or(inputs["url"], "https://door.example.com/")
	return url, hostOf(url), nil
}

func (*street) Room(ledger.Tx, string, string) error { return nil }

func (s *street) Read(context.Context, string, map[string]string) (*goods.Reading, error) {
	at := time.Now().UTC()
	s.mu.Lock()
	s.visits = append(s.visits, at.Sub(s.began).Round(time.Minute))
	n := len(s.visits)
	took := s.down
	s.mu.Unlock()
	time.Sleep(took)
	verdict, err := s.says(n)
	if err != nil {
		return nil, err
	}
	read := at.Format(time.RFC3339)
	return &goods.Reading{Target: "https://door.example.com/", Host: "door.example.com", ReadAt: read,
		Verdict:  verdict,
		Findings: []attest.Finding{{Checker: "preflight/v2", Verdict: verdict, Report: jsontext.Value(`{}`)}},
		Evidence: []attest.Seen{{Method: "GET", URL: "https://door.example.com/", At: read, Status: 402}},
	}, nil
}

// report signs as the till does.
func (s *street) report(_ context.Context, purchase string, a attest.Audit, at time.Time) (*till.SignedArtifact,
	error) {
	a.AuditID = fmt.Sprintf("audit_aaaaaaaaaaaaaaa%05d", a.Slot.Number)
	a.Date, a.PatronNumber = at.Format(time.RFC3339), 1
	a.AuditID = strings.NewReplacer("0", "a", "1", "b", "8", "c", "9", "d").Replace(a.AuditID) // base32
	proof, err := attest.SignPayload(attest.SpecimenKey(), a)
	if err == nil {
		_, err = attest.ParseArtifact([]byte(proof.SignedPayload))
	}
	return &till.SignedArtifact{ID: a.AuditID, Class: a.Class, Purchase: purchase, Proof: proof}, err
}

// run runs processes until the returned function is called.
func (s *street) run(n int) (stop func()) {
	s.t.Helper()
	return run(s.t, s.db, 10*time.Second, &signs{report: s.report, closed: func(g *goods.Made) {
		d, err := goods.Delivered[goods.Watched](g)
		if s.mu.Lock(); err == nil {
			s.closed = append(s.closed, *d.Summary)
		}
		s.mu.Unlock()
	}}, several(n, Config{DB: s.db, Readings: s, Log: quiet})...)
}

func (s *street) update(f func(ledger.Tx) error) {
	s.t.Helper()
	if err := s.db.Update(context.Background(), f); err != nil {
		s.t.Fatal(err)
	}
}

const order = "order_abcdefghij2345672345"

// sold begins a watch as the till's transactions do.
func (s *street) sold(hours, of, grace int64) {
	s.t.Helper()
	proof, err := attest.SignPayload(attest.SpecimenKey(), attest.Order{OrderID: order, Class: attest.ClassOrder})
	if err != nil {
		s.t.Fatal(err)
	}
	s.update(func(tx ledger.Tx) error {
		starts := s.began.UTC().Truncate(time.Second)
		return errors.Join(watches.put(tx, order, Watch{Slots: []Slot{}, Order: order, Purchase: "p1",
			Item: "standing_watch", Target: "https://door.example.com/", Starts: starts, Hours: hours, Of: of,
			Minutes: grace}, starts),
			ledger.SetJSON(tx, ledger.PurchaseKey("p1"), till.Purchase{ID: "p1", State: till.Promised}),
			ledger.SetJSON(tx, ledger.ArtifactKey(order, "p1"), till.SignedArtifact{ID: order, Proof: proof}))
	})
}

func (s *street) record() (rec Watch, tasks int) {
	s.t.Helper()
	s.update(func(tx ledger.Tx) (err error) {
		all, err := schedule.Tasks(tx, watches.job)
		tasks = len(all)
		if err != nil {
			return err
		}
		if rec, err = ReadWatch(tx, order); errors.Is(err, ledger.ErrNotFound) {
			return nil
		}
		// Every slot has a report of its own, signed, which says the same.
		for _, slot := range rec.Slots {
			a, err := ledger.GetJSON[till.SignedArtifact](tx, ledger.ArtifactKey(slot.Audit, "p1"))
			if err != nil {
				return err
			}
			var r attest.Audit
			if err := attest.ParseCanonical([]byte(a.Proof.SignedPayload), &r); err != nil {
				return err
			}
			if r.Slot.Number != slot.Number || r.Slot.Missed != slot.Missed || r.Verdict != slot.Verdict ||
				r.Slot.Watch == "" || r.Slot.Due != slot.Due.Format(time.RFC3339) || r.Date < r.Slot.Due ||
				r.ReadAt != "" && r.ReadAt < r.Slot.Due {
				s.t.Errorf("slot %+v is reported as %+v", slot, r)
			}
		}
		return err
	})
	return rec, tasks
}

// A door is read every hour of a week, once each by any number of processes, on time, and then the
// order is completed once.
func TestEveryHourOfAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStreet(t, func(n int) (string, error) {
			if n > 100 && n <= 110 {
				return "not_ready", nil
			}
			return "ready", nil
		})
		s.down = 20 * time.Second
		s.sold(1, 168, 30)
		stop := s.run(3)
		time.Sleep(8 * 24 * time.Hour)
		stop()
		rec, tasks := s.record()
		if len(s.visits) != 168 || len(rec.Slots) != 168 || !rec.Closed || tasks != 0 || len(s.closed) != 1 {
			t.Fatalf("%d visits, %d slots, closed %v, %d tasks", len(s.visits), len(rec.Slots), s.closed, tasks)
		}
		for i, at := range s.visits {
			if want := time.Duration(i) * time.Hour; at < want || at > want+time.Minute {
				t.Errorf("visit %d after %v", i+1, at)
			}
		}
		want := goods.WatchSummary{Readings: 168, Read: 168, Changes: 2, ReportsSHA256: s.closed[0].ReportsSHA256,
			Verdicts: []goods.Verdict{{Verdict: "ready", Readings: 158}, {Verdict: "not_ready", Readings: 10}}}
		if got := s.closed[0]; fmt.Sprint(got) != fmt.Sprint(want) || len(got.ReportsSHA256) != 64 {
			t.Errorf("it came to %+v", got)
		}
	})
}

// What stood still, was stopped, had nothing to report or had no budget is told slot by slot;
// nothing is made up for.
func TestMissedSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStreet(t, func(n int) (string, error) {
			switch n {
			case 2:
				return "", &goods.Unread{Code: goods.CodeOptedOut, Detail: "its own file says so"}
			case 3, 4: // slot 3, which has a place at its third asking
				return "", errors.Join(&goods.Unread{Code: goods.CodeBudget})
			case 6: // slot 4
				return "", errors.New("planted")
			}
			return "ready", nil
		})
		s.sold(24, 7, 6*60)
		stop := s.run(2)
		time.Sleep(4*24*time.Hour - time.Hour) // slots 1 to 4
		stop()
		time.Sleep(24 * time.Hour) // slot 5 passes with its grace
		stop = s.run(2)
		time.Sleep(30 * time.Minute)
		stop()
		s.update(func(tx ledger.Tx) error { // slot 6 is begun by a process that dies
			rec, err := ReadWatch(tx, order)
			rec.Begun = rec.Due(rec.next())
			return errors.Join(err, ledger.SetJSON(tx, ledger.WatchKey(order), rec))
		})
		time.Sleep(time.Hour)
		stop = s.run(2)
		time.Sleep(3 * 24 * time.Hour)
		stop()
		rec, _ := s.record()
		var got []string
		for _, slot := range rec.Slots {
			got = append(got, slot.Verdict+slot.Missed)
		}
		want := []string{"ready", "its own file says so", "ready", "the reading went wrong at the store's own side",
			"the store stood still at the time", "the store was stopped while it read", "ready"}
		for i := range got {
			if i < len(want) && strings.HasPrefix(got[i], want[i]) {
				got[i] = want[i]
			}
		}
		if !slices.Equal(got, want) || len(s.closed) != 1 || s.closed[0].Read != 3 || s.closed[0].Missed != 4 {
			t.Errorf("slots %q, %+v", got, s.closed)
		}
	})
}

// A watch whose payment was taken back ends; a clock that is put back reads nothing twice.
func TestWatchEndsWithItsPayment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openStreet(t, func(int) (string, error) { return "ready", nil })
		s.sold(1, 168, 30)
		stop := s.run(2)
		time.Sleep(150 * time.Minute)
		s.update(func(tx ledger.Tx) error { return schedule.Put(tx, watches.job, order, tx.Now()) }) // before its time
		time.Sleep(10 * time.Minute)
		if len(s.visits) != 3 {
			t.Errorf("visits %v", s.visits)
		}
		s.update(func(tx ledger.Tx) error {
			return ledger.SetJSON(tx, ledger.PurchaseKey("p1"), till.Purchase{ID: "p1", State: till.Reversed})
		})
		time.Sleep(24 * time.Hour)
		stop()
		if rec, tasks := s.record(); len(s.visits) != 3 || rec.Order != "" || tasks != 0 || len(s.closed) != 0 {
			t.Errorf("visits %v, %+v, %d tasks, closed %v", s.visits, rec, tasks, s.closed)
		}
	})
}
