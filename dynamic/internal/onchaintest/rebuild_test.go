package onchaintest_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/till"
)

// A high-water file that is lost is missed where something was sold, and what is rebuilt from
// ledger and chain keeps a store restored from before all sales from giving anything twice.
func TestRebuiltHighWater(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "high-water.jws")
	missed := func(s *shop, when string, want bool) {
		t.Helper()
		err := restore.CheckHighWater(ctx, s.db, path)
		if (err != nil) != want || want && !strings.Contains(err.Error(), "store keeper high-water rebuild") {
			t.Errorf("%s: CheckHighWater = %v, want an error with the way out %v", when, err, want)
		}
	}
	config := func(c *till.Config) { c.BaseURL = childBase }
	s := newShop(t, shopOptions{config: config})
	missed(s, "with nothing sold", false)
	var older bytes.Buffer
	if err := ledger.Backup(ctx, s.db, &older); err != nil {
		t.Fatal(err)
	}
	items := []string{"jar_of_tuesday", "a_secret", "hello", "the_drawer", "retired_word?detail=synergy",
		"jar_of_tuesday"}
	seen := map[string]string{}
	for i, item := range items {
		r, _ := s.buy("/api/buy/"+item, s.net.Buyers[i%5], nil)
		s.want("a sale of "+item, r, 200, "")
		distinct(t, seen, "a buyer of before", r)
	}
	missed(s, "with sales and no file", true)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missed(s, "with sales and an empty file", true)
	marks, got, err := restore.Marks(ctx, s.till)
	if err != nil {
		t.Fatal(err)
	}
	if got.Patron != 6 || got.Jar != 2 || got.Entries != 4 || got.Words != 1 || got.Warning != "" ||
		len(got.Unknown) != 1 || got.Unknown[0].Payments != 0 {
		t.Errorf("rebuilt from the whole ledger: %+v", got)
	}
	if err := restore.WriteHighWater(path, attest.SpecimenKey(), marks); err != nil {
		t.Fatal(err)
	}
	missed(s, "with the file rebuilt", false)
	if err := restore.WriteHighWater(path, attest.SpecimenKey(), marks); err == nil ||
		!strings.Contains(err.Error(), "nothing is rebuilt over it") {
		t.Errorf("rebuilding over it: %v", err)
	}
	s.stop()

	db := ledger.NewMem(ledger.MemOptions{Calm: true})
	if err := ledger.Restore(ctx, db, &older, ledger.Shut); err != nil {
		t.Fatal(err)
	}
	s2 := newShop(t, shopOptions{net: s.net, db: db, config: config})
	// Without the file, the chain still tells how many there were.
	_, without, err := restore.Marks(ctx, s2.till)
	if err != nil {
		t.Fatal(err)
	}
	if without.Patron != 6 || without.Jar != 6 || without.Entries != 0 || without.Unknown[0].Payments != 6 ||
		!strings.Contains(without.Warning, "6 payments") {
		t.Errorf("rebuilt from an older ledger and the chain: %+v", without)
	}
	read, err := restore.ReadHighWater(path, attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restore.Reconcile(ctx, s2.till, read, nil); err != nil {
		t.Fatal(err)
	}
	restoredEarlier(t, db, 15*time.Minute)
	s2.reopens()
	until(t, "the store to notice that it is open",
		func() bool { return s2.do("GET", "/api/buy/hello", nil).Status == 402 })
	for i, item := range []string{"jar_of_tuesday", "a_secret", "a_secret", "hello"} {
		r, _ := s2.buy("/api/buy/"+item, s2.net.Buyers[i], nil)
		s2.want("a sale of "+item, r, 200, "")
		distinct(t, seen, "a buyer after the restore", r)
	}
	r := s2.do("GET", "/api/buy/retired_word?detail=synergy", nil)
	s2.want("a word that was retired before", r, 409, "word_already_retired")
}
