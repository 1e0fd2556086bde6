package onchaintest_test

import (
	"errors"
	"testing"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// An order may be read again at once when something happened to it, a new reading as well as
// another status, and not otherwise.
func TestAnOrderIsPolledForNews(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{buyers: 1})
	_, id, _ := s.ordered("quick_judgment", "Well?")
	readings := ""
	read := func() error {
		further := func(ledger.Tx, till.HumanOrder) (string, error) { return readings, nil }
		_, _, err := s.till.Poll(t.Context(), id, further)
		return err
	}
	soon := func(err error) bool {
		e, is := errors.AsType[*till.Error](err)
		return is && e.Code == till.CodePolled && e.Retry > 0
	}
	for _, readings = range []string{"", "1", "2"} {
		if err := read(); err != nil {
			t.Errorf("with %q readings: %v", readings, err)
		}
		if err := read(); !soon(err) {
			t.Errorf("the same again: %v", err)
		}
	}
}
