package settle_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/settle"
)

// Who reads an order by its own id gets the settlement that it was joined to, whether he changes
// it or not.
func TestAnOrderIsReadWhereItWasJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.busy()
		os := orders("payer", 5)
		for i := range os {
			os[i].ID = "of-" + os[i].Members[0].ID
		}
		q.begin(t.Context(), os...)
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		q.waited(300 * time.Millisecond)
		for _, o := range os {
			err := q.db.View(t.Context(), func(tx ledger.Tx) error {
				own, err := settle.Read(tx, o.ID)
				shared, err2 := q.d.Read(tx, o.ID)
				if err := errors.Join(err, err2); err != nil {
					return err
				}
				want := q.settlement(o.Members[0].ID).ID
				if own.ID != want || shared.ID != want || len(own.Members) != 5 || own == shared {
					t.Errorf("%s is read as %s of %d and as %s, want %s of 5", o.ID, own.ID, len(own.Members),
						shared.ID, want)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if err := q.db.View(t.Context(), func(tx ledger.Tx) error {
			_, err := settle.Read(tx, "of-nobody")
			return err
		}); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("of nobody: %v", err)
		}
	})
}

// A record of fifty is read by fifty, and parsed as often as it changes. Nobody may change what is
// shared.
func TestRecordsOfManyAreParsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		q.know("payer", 50)
		q.busy()
		q.begin(t.Context(), orders("payer", 50)...)
		q.waited(0)
		id := q.settlement("payer-0").ID
		a, err := q.d.Load(t.Context(), id)
		b, err2 := q.d.Load(t.Context(), id)
		if a != b || errors.Join(err, err2) != nil || len(a.Members) != 50 {
			t.Errorf("read twice: %p, %p, %v, %v", a, b, err, err2)
		}
		before, _ := json.Marshal(a)
		err = q.db.Update(t.Context(), func(tx ledger.Tx) error {
			s, err := settle.Read(tx, id)
			if err != nil {
				return err
			}
			s.Version++
			return ledger.SetJSON(tx, ledger.SettlementKey(id), s)
		})
		c, err2 := q.d.Load(t.Context(), id)
		after, _ := json.Marshal(a)
		if errors.Join(err, err2) != nil || c == a || c.Version != a.Version+1 || string(before) != string(after) {
			t.Errorf("a change is not seen: version %d after %d, %v, %v", c.Version, a.Version, err, err2)
		}
	})
}
