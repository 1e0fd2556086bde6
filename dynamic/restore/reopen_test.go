package restore_test

import (
	"testing"

	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/restore"
)

// A ledger that was never restored is open, and there is nothing to reopen.
func TestAnOpenLedgerIsNotReopened(t *testing.T) {
	list, err := restore.Reopen(t.Context(), ledger.NewMem(ledger.MemOptions{}), nil, restore.Options{})
	if list != nil || err != nil {
		t.Errorf("Reopen = %+v, %v", list, err)
	}
}
