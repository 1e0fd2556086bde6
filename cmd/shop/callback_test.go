package shop

import (
	"testing"
	"time"

	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/services"
)

// Word that no receiver took is told to the keeper, by host alone, for a month; what waits or was
// taken is not.
func TestFailedCallbacksAreTold(t *testing.T) {
	db := ledger.NewMem(ledger.MemOptions{Calm: true})
	now := time.Now().UTC().Truncate(time.Second)
	for id, c := range map[string]struct {
		state string
		ago   time.Duration
	}{"order_failed": {services.WordGivenUp, time.Hour}, "order_old": {services.WordGivenUp, 31 * 24 * time.Hour},
		"order_waits": {services.WordWaiting, time.Hour}, "order_told": {services.WordDelivered, time.Hour}} {
		rec := services.Message{Order: id, URL: "https://a.example.com/hook?secret=1", State: c.state, Made: 8,
			Tries: []counter.Try{{Number: 8, At: now.Add(-c.ago)}}}
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
