package till_test

import (
	"testing"

	"store.example/agentstore/dynamic/till"
)

// TestStrangersIDsOfCommissionsAreNotKept: who asks for ids that he made up costs no memory.
func TestStrangersIDsOfCommissionsAreNotKept(t *testing.T) {
	for id, want := range map[string]bool{"commission/req_abcdefghij2345672345": true, "commission/req_abc": false,
		"commission/req_ABCDEFGHIJ2345672345": false, "commission/": false, "commission": false,
		"commission/order_cdefghij2345672345": false} {
		o := till.Commissions(nil, id)
		if (o != nil) != want {
			t.Errorf("%s is sold: %v", id, o != nil)
		}
		if o != nil && (o.Ask == nil || o.Tiers != nil) {
			t.Error("its price is not the ledger's, so that the till would remember it")
		}
	}
}
