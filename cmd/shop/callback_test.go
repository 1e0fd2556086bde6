package shop

import (
	"testing"
	"time"

	"store.example/agentstore/dynamic/callback"
	"store.example/agentstore/dynamic/ledger"
)

// Word that no receiver took is told to the keeper, by host alone, for a month; what waits or was
// taken is not.
func TestFailedCallbacksAreTold(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{Calm: true})
	now := time.Now().UTC().Truncate(time.Second)
	for id, c := range map[string]struct {
		state string
		ago   time.Duration
	}{"order_failed": {callback.GivenUp, time.Hour}, "order_old": {callback.GivenUp, 31 * 24 * time.Hour},
		"order_waits": {callback.Waiting, time.Hour}, "order_told": {callback.Delivered, time.Hour}} {
		rec := callback.Record{Order: id, URL: "https://a.example.com/hook?secret=1", State: c.state, Made: 8,
			Tries: []callback.Try{{Number: 8, At: now.Add(-c.ago)}}}
		if err := db.Update(t.Context(), func(tx ledger.Tx) error {
			return ledger.SetJSON(tx, ledger.CallbackKey(id), rec)
		}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := (&Shop{DB: db}).callbackRow().Read(t.Context(), nil)
	if err != nil || len(list) != 1 || list[0].ID != "order_failed" || !list[0].Since.Equal(now.Add(-time.Hour)) ||
		list[0].Says != "8 attempts at a.example.com: the buyer was not told, reads it in the order, and may ask for "+
			"it again." {
		t.Errorf("%+v, %v", list, err)
	}
}
