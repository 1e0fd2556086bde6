package settle

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// unnumbered is a node of a network where no transaction waits for another.
type unnumbered struct{ node }

func (*unnumbered) Info() rail.Info { return rail.Info{Network: "solana:test", Unnumbered: true} }

// What has no number is sent as it comes: nobody waits for the round trips of the others.
func TestUnnumberedTransactionsGoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, n := new(Driver), new(unnumbered)
		began := time.Now()
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				sent := Sent{ID: string(rune('0' + i)), Account: "one", Sequence: 7}
				if err := d.post(t.Context(), n, sent); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != 50*time.Millisecond || n.trips != 64 {
			t.Errorf("%d round trips of 50 ms took %v", n.trips, took)
		}
	})
}
