package schedule

import (
	"testing"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// What is put where it lies nearly is left there, unless it would come late, it was tried in vain,
// or somebody is at it.
func TestPutOrLeave(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{Calm: true})
	const early = 5 * time.Second
	var from time.Time
	put := func(name string, after time.Duration, want time.Duration) {
		t.Helper()
		var now Task
		err := db.Update(t.Context(), func(tx ledger.Tx) (err error) {
			if err := PutOrLeave(tx, "work", "one", from.Add(after), early); err != nil {
				return err
			}
			now, err = read(tx, "work", "one")
			return err
		})
		if err != nil || !now.Due.Equal(from.Add(want)) || now.Tries != 0 {
			t.Errorf("%s: due after %s, %d tries, want after %s, %v", name, now.Due.Sub(from), now.Tries, want, err)
		}
	}
	hold := func() {
		t.Helper()
		j := &job{Name: "work", Timeout: time.Minute}
		err := db.Update(t.Context(), func(tx ledger.Tx) error {
			from = tx.Now().Truncate(time.Second)
			if err := Put(tx, "work", "one", from); err != nil {
				return err
			}
			ok, err := (&taken{Job: "work", ID: "one", job: j}).hold(tx)
			if !ok {
				t.Error("not held")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	from = time.Now().UTC().Truncate(time.Second)
	put("new", time.Minute, time.Minute)
	put("the same", time.Minute, time.Minute)
	put("a little later", time.Minute+early-time.Second, time.Minute)
	put("later", time.Minute+early, time.Minute+early)
	put("sooner", time.Minute, time.Minute)
	hold()
	put("held", 3*time.Second, 3*time.Second)
}

// Two processes find the same task, and one takes it.
func TestFoundByTwo(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	j := &job{Name: "work", Timeout: time.Minute}
	first, second := taken{Job: "work", ID: "one", job: j}, taken{Job: "work", ID: "one",
		job: j}
	var one, two bool
	err := db.Update(t.Context(), func(tx ledger.Tx) (err error) {
		if err := Put(tx, "work", "one", tx.Now()); err != nil {
			return err
		}
		if one, err = first.hold(tx); err != nil {
			return err
		}
		two, err = second.hold(tx)
		return err
	})
	if err != nil || !one || two {
		t.Errorf("taken by the first: %v, by the second: %v, %v", one, two, err)
	}
}
