package derive

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"store.example/agentstore/corpus/record"
)

// TestPurchases counts each purchase once, by who bought and in the week in which it was known, and
// names the newest: only the store's own make the rate, whatever others tell.
func TestPurchases(t *testing.T) {
	answered := func(status int64) *record.WalkClaim { return &record.WalkClaim{Status: status} }
	walk := func(by string, claim *record.WalkClaim, twice string) record.Observation {
		return record.Observation{Walk: &record.PaidWalk{Host: "a.example", Transaction: "0x1", By: by, Claim: claim,
			ChargedTwice: twice}}
	}
	unpaid := func(claim *record.WalkClaim) record.Observation {
		return record.Observation{Unpaid: &record.UnpaidWalk{Host: "a.example", Claim: claim}}
	}
	first := []record.Observation{walk("store", answered(200), ""), walk("store", answered(299), ""),
		walk("store", answered(500), "no"), walk("store", nil, "yes"), unpaid(answered(200)), unpaid(answered(402)),
		unpaid(nil), walk("seller", answered(200), "no"), walk("seller", answered(200), "no"),
		walk("stranger", answered(0), "yes"), walk("stranger", nil, ""), walk("", answered(200), ""),
		{Note: &record.StandingNote{}}}
	var feed []record.Observation
	for i, o := range append(slices.Clone(first), unpaid(nil)) {
		o.Number, o.At = int64(i+1), "2026-11-22T23:59:59Z" // the last second of W47
		if i == len(first) {
			o.At = "2026-11-23T00:00:00Z"
		}
		feed = append(feed, o)
	}
	v := (&Book{Feed: feed}).Purchases()
	own := Purchases{Tried: 7, Delivered: 3, Charged: 4, NotDelivered: 2, NotCharged: 1, Unanswered: 1, AskedTwice: 2,
		ChargedTwice: 1}
	want := []PurchaseWeek{{Week: "2026-W47", Own: own, Rate: new(int64(5000)),
		BySellers:   Purchases{Tried: 2, Delivered: 2, Charged: 2, AskedTwice: 2},
		ByStrangers: Purchases{Tried: 1, Charged: 1, NotDelivered: 1, AskedTwice: 1, ChargedTwice: 1}, Untold: 2},
		{Week: "2026-W48", Own: Purchases{Tried: 1, Unanswered: 1}}}
	if !reflect.DeepEqual(v.Weeks, want) {
		got, _ := json.MarshalIndent(v.Weeks, "", " ")
		t.Errorf("counted %s", got)
	}
	if v.All.Own.Tried != 8 || *v.All.Rate != 5000 || len(v.Newest) != 13 || v.Newest[0].At != feed[13].At ||
		v.Newest[0].Outcome != OutcomeUnanswered || v.Newest[0].ChargedTwice != NotExercised || v.LeftOut != 0 {
		t.Errorf("all: %+v, the newest %+v", v.All, v.Newest[0])
	}
	var many []record.Observation
	for i := range PurchasesLimit + 7 {
		o := unpaid(nil)
		o.Number, o.At = int64(i+1), fmt.Sprintf("2026-11-%02dT00:00:00Z", 1+i/10)
		many = append(many, o)
	}
	if v := (&Book{Feed: many}).Purchases(); len(v.Newest) != PurchasesLimit || v.LeftOut != 7 ||
		v.Newest[0].Observation != PurchasesLimit+7 || v.All.Own.Tried != PurchasesLimit+7 {
		t.Errorf("of many: %d named, %d left out, %+v", len(v.Newest), v.LeftOut, v.All.Own)
	}
	if v := (&Book{}).Purchases(); v.Explanation != NoPurchases || v.All.Rate != nil || v.Weeks == nil ||
		v.Newest == nil {
		t.Errorf("of none: %+v", v)
	}
}
