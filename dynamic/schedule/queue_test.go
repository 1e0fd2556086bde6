package schedule

import (
	"testing"
	"time"

	"agentstore/dynamic/ledger"
)

// Two processes find the same task, and one takes it.
func TestFoundByTwo(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{})
	j := &job{Job: Job{Name: "work", Timeout: time.Minute}}
	first, second := taken{Task: Task{Job: "work", ID: "one"}, job: j}, taken{Task: Task{Job: "work", ID: "one"}, job: j}
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
