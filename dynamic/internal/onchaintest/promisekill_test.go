package onchaintest_test

import (
	"testing"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/till"
)

// A process that is killed around a promise, whether it makes it or keeps it, leaves one that the
// next keeps: each buyer has one promise and one delivery, and the keeper's word counts once.
func TestKillsAroundAPromise(t *testing.T) {
	t.Parallel()
	v := newVictims(t, 5)
	v.longer = 120
	steps := []string{"settled", "promised"}
	for _, step := range steps {
		k := v.start(childConfig{Step: step, Nth: 1})
		if k.url != "" { // else it was killed over what the one before had left, or will be
			if o, ok := v.order(k, judgment); ok {
				if err := v.present(k, o); err != nil {
					t.Fatal(err)
				}
			}
		}
		v.killed(k, step)
	}
	k := v.start(childConfig{})
	v.rested(k)
	v.shut(k)
	if len(v.kills) != len(steps) || len(v.orders) == 0 {
		t.Fatalf("%d orders, killed %v", len(v.orders), v.kills)
	}
	ids := make([]string, len(v.orders))
	for i, o := range v.orders {
		if o.body == nil || o.body["certificate"] != nil {
			t.Fatalf("order %d is answered %v", i, o.body)
		}
		ids[i], _ = o.body["recovery"].(map[string]any)["purchase_id"].(string)
	}

	// The keeper's process dies when the delivery is durable, and before it could say so.
	k = v.start(childConfig{Step: "delivered", Nth: 1})
	if _, err := k.try("POST", "/fulfil/"+ids[0], nil); err == nil {
		t.Error("a process that was to be killed answered")
	}
	v.killed(k, "delivered")
	k = v.start(childConfig{})
	k.want("what was completed already", k.do("POST", "/fulfil/"+ids[0], nil), 412, "precondition_failed")
	for _, id := range ids[1:] {
		if r := k.do("POST", "/fulfil/"+id, nil); r.Status != 204 {
			t.Errorf("completing %s = %d %s", id, r.Status, r.Raw)
		}
	}
	numbers := map[any]bool{}
	for i, o := range v.orders {
		r := k.do("GET", o.path, o.header)
		k.want("the goods", r, 200, "")
		if n := r.Body["patron_number"]; numbers[n] || r.Str("certificate", "note") != "Tea." {
			t.Errorf("order %d is answered %s", i, r.Raw)
		} else {
			numbers[n] = true
		}
		if c := k.do("GET", "/api/verify/"+r.Str("cert_id"), nil); c.Body["valid"] != true {
			t.Errorf("verify = %s", c.Raw)
		}
	}
	for range chain.DefaultFinalDepth + 1 {
		v.net.MustSealTxs()
	}
	v.shut(k)
	k = v.start(childConfig{})
	v.rested(k)
	v.shut(k)
	db := v.open()
	for _, p := range tilltest.Purchases(t, db) {
		if p.State != till.Delivered {
			t.Errorf("%s is %s", p.ID, p.State)
		}
	}
	if n := auditLedger(t, v.net, db); n != len(v.orders) {
		t.Errorf("%d patron numbers for %d orders", n, len(v.orders))
	}
}
