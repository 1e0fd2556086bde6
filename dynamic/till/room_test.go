package till_test

import (
	"testing"

	"store.example/agentstore/dynamic/settle/open"
	"store.example/agentstore/dynamic/till"
)

// TestReasonsForNoRoomAreCodes: what package open says reaches the counter as it is.
func TestReasonsForNoRoomAreCodes(t *testing.T) {
	for why, code := range map[open.Why]till.Code{
		open.HoldsUnit: till.CodeHoldsUnit, open.ManyOpen: till.CodeManyOpen, open.ManyCoded: till.CodeManyCoded,
		open.FundsMoving: till.CodeFundsMoving, open.OneAtATime: till.CodeOneAtATime,
	} {
		if string(why) != string(code) {
			t.Errorf("%s is not %s", why, code)
		}
	}
}
