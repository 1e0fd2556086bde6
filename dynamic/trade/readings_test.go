package trade_test

import (
	"context"
	"encoding/json/jsontext"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/services"
	"store.example/agentstore/dynamic/till"
)

// street has one door, and counts who comes by.
type street struct {
	visits int // one order at a time
	says   error
}

func (*street) Target(string, map[string]string) (string, string, error) {
	return "https://door.example/", "door.example", nil
}

func (*street) Room(ledger.Tx, string, string) error { return nil }

func (s *street) Read(context.Context, string, map[string]string) (*goods.Reading, error) {
	if s.visits++; s.says != nil {
		return nil, s.says
	}
	at := time.Now().UTC().Format(time.RFC3339)
	return &goods.Reading{Target: "https://door.example/", Host: "door.example", ReadAt: at, Verdict: "ready",
		Says: "Read.", Findings: []attest.Finding{{Checker: "preflight/v2", Report: jsontext.Value(`{}`)}},
		Evidence: []attest.Seen{{Method: "GET", URL: "https://door.example/", At: at, Status: 402}}}, nil
}

// during has the store do what is due for a time.
func (s shop) during(d time.Duration, jobs ...schedule.Job) {
	ctx, stop := context.WithCancel(s.t.Context())
	time.AfterFunc(d, stop)
	_ = s.till.Run(ctx, jobs...) // it ends with ctx
}

const door = `,"url":"https://door.example/"`

// A reading is made once for an order on account, however often it is sent and whatever becomes of
// the process; one that comes to nothing is billed to nobody.
func TestReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, dies := &street{}, false
		db := mem()
		s := open(t, db, options{till: func(c *till.Config) {
			c.Kinds = services.New(services.Config{DB: db, Readings: here}).Kinds()
			c.SettleWait, c.RepeatWait = time.Second, time.Second
			c.AfterStep = func(step string) {
				if dies && step == "claimed" {
					dies = false
					runtime.Goexit() // it dies with its process
				}
			}
		}})
		for range 2 {
			if code, v := s.buy("service_audit", "R-1", door); code != 200 || text(v, "certificate",
				"saw") != "door.example" || text(v, "certificate", "trade_price_usd") != "6.32" {
				t.Fatalf("%d %v", code, v)
			}
		}
		here.says = &goods.Unread{Code: goods.CodeOptedOut, Sent: true, Detail: "Its own file says so."}
		if code, v := s.buy("service_audit", "R-2", door); code != 409 || at(v, "billed") != false {
			t.Errorf("a host that opted out: %d %v", code, v)
		}
		time.Sleep(goods.UnpaidKept) // for whoever orders the same; then the host is asked again
		here.says, dies = nil, true
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.buy("service_audit", "R-3", door)
		}()
		<-done
		s.during(2 * time.Minute)
		if code, v := s.buy("service_audit", "R-3", door); code != 200 || at(v, "idempotent_replay") != true {
			t.Errorf("after its process died: %d %v", code, v)
		}
		if b := s.book("bazaar"); here.visits != 3 || b.Orders != 2 || b.Owed != 2*6_010_000 {
			t.Errorf("%d visits, the book %+v", here.visits, b)
		}
	})
}

// A term is billed when it begins and delivered when it is over; its certificate says then to whom
// it was sold.
func TestATermOnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, here := mem(), &street{}
		later := services.New(services.Config{BaseURL: base, DB: db, Readings: here})
		s := open(t, db, options{till: func(c *till.Config) { c.Kinds, c.Poll = later.Kinds(), time.Minute }})
		code, v := s.buy("standing_watch", "T-1", door)
		order := text(v, "order_id")
		if code != 200 || at(v, "delivered") != false || at(v, "billed") != true || at(v, "certificate") != nil {
			t.Fatalf("%d %v", code, v)
		}
		s.during(7*24*time.Hour+time.Hour, later.Jobs(s.till)...)
		if here.visits != 168 {
			t.Errorf("read %d times", here.visits)
		}
		code, v = s.buy("standing_watch", "T-1", door)
		if code != 200 || text(v, "order_id") != order || at(v, "billed") != true {
			t.Errorf("asked again: %d %v", code, v)
		}
		id := ""
		for k := range keys(t, s.db) {
			if len(k) > 5 && k[:5] == "cert/" {
				id = k[5:]
			}
		}
		c := s.get("/api/verify/" + id)
		if at(c, "valid") != true || text(c, "certificate", "settled_via") != "trade" || text(c, "certificate",
			"trade_partner") != "The Bazaar" || text(c, "certificate", "trade_price_usd") != "6.32" {
			t.Errorf("its certificate: %v", c)
		}
		if b := s.book("bazaar"); b.Orders != 1 || b.Owed != 6_010_000 {
			t.Errorf("the book: %+v", b)
		}
	})
}
