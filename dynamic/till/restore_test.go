package till_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/till"
)

// What was given once is not given again after a restore, though the good that it was sold as is
// off the shelf when the marks are read.
func TestMarksOfGoodsOffTheShelf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site := tilltest.Scarce(t, map[string]int{"secrets": 1})
		m := bubble(t, site, nil)
		defer func() { m.stop() }()
		m.restore(site, m.backup())
		told := till.HighMark{Patron: 1, Item: "a_secret_of_last_year", Pool: "secrets",
			Entry: site.Pools["secrets"].Entries[0].Digest}
		if _, err := restore.Reconcile(t.Context(), m.till, []till.HighMark{told}, nil); err != nil {
			t.Fatal(err)
		}
		if r, _ := m.do(secret, nil); r.Status != 409 || !strings.Contains(string(r.Raw), "will not come back") {
			t.Errorf("a secret that was told before the restore = %d %s", r.Status, r.Raw)
		}
		// Nor is it missing in marks that are made anew.
		if err := m.db.Update(t.Context(),
			func(tx ledger.Tx) error { return goods.MarkTaken(tx, "pool_of_last_year", "told") }); err != nil {
			t.Fatal(err)
		}
		marks, _, err := restore.Marks(t.Context(), m.till)
		if err != nil || !slices.ContainsFunc(marks,
			func(h till.HighMark) bool { return h.Pool == "pool_of_last_year" && h.Entry == "told" }) {
			t.Errorf("HighMarks = %+v, %v, want an entry of a pool that no good on the shelf gives", marks, err)
		}
	})
}
