package till_test

import (
	"testing"

	"store.example/agentstore/dynamic/settle"
	"store.example/agentstore/dynamic/till"
)

// TestReasonsForNoRoomAreCodes: what package settle says reaches the counter as it is.
func TestReasonsForNoRoomAreCodes(t *testing.T) {
	for why, code := range map[settle.Why]till.Code{
		settle.HoldsUnit: till.CodeHoldsUnit, settle.ManyOpen: till.CodeManyOpen, settle.ManyCoded: till.CodeManyCoded,
		settle.FundsMoving: till.CodeFundsMoving, settle.OneAtATime: till.CodeOneAtATime,
	} {
		if string(why) != string(code) {
			t.Errorf("%s is not %s", why, code)
		}
	}
}
