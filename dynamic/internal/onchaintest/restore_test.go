package onchaintest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/channels"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/ledger/bolt"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/till"

	"github.com/google/go-cmp/cmp"
)

// sale is what must never be given to anybody else.
type sale struct {
	path string
	p    payment
	r    tilltest.Reply
}

// distinct notes what a sale gave, and complains where it was given before.
func distinct(t *testing.T, seen map[string]string, what string, r tilltest.Reply) {
	t.Helper()
	note := func(key string) {
		t.Helper()
		if other := seen[key]; other != "" {
			t.Errorf("%s was given to %s and to %s", key, other, what)
		}
		seen[key] = what
	}
	note(fmt.Sprintf("patron number %v", r.Body["patron_number"]))
	d, _ := r.Body["deliverable"].(map[string]any)
	switch r.Str("item_id") {
	case "jar_of_tuesday":
		note(fmt.Sprintf("jar %v", d["number"]))
		note(fmt.Sprintf("the Tuesday of %v", d["date"]))
	case "a_secret":
		note(fmt.Sprintf("the secret %v", d["text"]))
	}
}

func TestRestoreDrill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx := context.Background()
	marks := filepath.Join(dir, "high-water")
	high, err := restore.OpenHighWater(marks, attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	defer high.Close()
	base := func(c *till.Config) { c.BaseURL, c.HighWater = childBase, high }
	s := newShop(t, shopOptions{networks: []uint64{8453, 137}, config: base, chain: chaintest.Options{Lead: 200}})
	seen := map[string]string{}
	sell := func(s *shop, item string, buyer int) sale {
		path := "/api/buy/" + item
		p := s.sign(s.challenge(path), 0, s.net.Buyers[buyer], nil)
		r := s.present(path, p)
		s.want("a sale of "+item, r, 200, "")
		return sale{path, p, r}
	}
	items := []string{"jar_of_tuesday", "a_secret", "hello"}
	var before []sale
	for i := range 3 {
		before = append(before, sell(s, items[i], 1))
		distinct(t, seen, "a buyer before the backup", before[i].r)
	}

	// One purchase is on its way when the backup is made, and arrives after the twenty sales that
	// follow.
	s.net.On(137).SetAutomine(false)
	const lingers = "/api/buy/jar_of_tuesday"
	late := s.sign(s.challenge(lingers), 1, s.net.Buyers[2], nil)
	answer := make(chan tilltest.Reply, 1)
	go func() { answer <- s.present(lingers, late) }()
	until(t, "the lingering purchase to be sent", func() bool {
		n, err := s.net.On(137).RPC.PendingNonceAt(ctx, s.net.Relayer.Address)
		return err == nil && n == 1
	})
	var backup bytes.Buffer
	if err := ledger.Backup(ctx, s.db, &backup); err != nil {
		t.Fatal(err)
	}
	var lost []sale
	for i := range 20 {
		x := sell(s, items[i%3], 0)
		distinct(t, seen, fmt.Sprintf("buyer %d after the backup", i), x.r)
		lost = append(lost, x)
	}
	s.net.On(137).SetAutomine(true)
	lingering := <-answer
	s.want("the lingering purchase", lingering, 200, "")
	distinct(t, seen, "the lingering buyer", lingering)
	s.audit()
	s.stop()

	restored, err := bolt.Open(ctx, filepath.Join(dir, "restored"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { restored.Close() })
	db := &watched{DB: restored}
	if err := ledger.Restore(ctx, db, &backup, ledger.Shut); err != nil {
		t.Fatal(err)
	}
	read := tilltest.Noted(t, db)
	s2 := newShop(t, shopOptions{net: s.net, db: db, config: base})

	// Closed: nothing is sold, what the backup knows is still answered, what it does not know is
	// never paid again.
	shut := s2.do("GET", "/api/buy/hello", nil)
	s2.want("terms of a closed store", shut, 503, "store_closed")
	fresh := s2.sign(tilltest.DecodeChallenge(t, s.openTerms(s2)), 0, s2.net.Buyers[3], tenMinutes)
	r := s2.present("/api/buy/hello", fresh)
	s2.want("a payment at a closed store", r, 503, "store_closed")
	if r.Str("billed") != "no" {
		t.Errorf("a closed store says billed %s", r.Str("billed"))
	}
	s2.sameAnswer("a buyer from before the backup", before[0].r, s2.present(before[0].path, before[0].p))
	known := func(when string) {
		for i, x := range lost {
			s2.silent(fmt.Sprintf("lost sale %d %s", i, when), s2.present(x.path, x.p), nil)
		}
	}
	known("before the chain was read")
	looks := db.looks.Load()
	until(t, "looks at what is due", func() bool { return db.looks.Load() > looks+2 })
	if got := tilltest.Noted(t, db); !cmp.Equal(got, read) {
		t.Errorf("a closed store noted that it read up to %v over %v of the backup: sales in between would not be "+
			"looked for", got, read)
	}
	for _, p := range tilltest.Purchases(t, db) {
		if p.Payment.Nonce == late.Nonce.Hex() && p.State != till.Settling && p.State != till.Unknown {
			t.Errorf("a closed store moved a purchase to %s", p.State)
		}
	}
	if _, err := restore.Reopen(ctx, db, s2.rails, restore.Options{}); err == nil || errors.Is(err, restore.ErrNotYet) {
		t.Fatalf("a restored store opened before it was compared with the chain: %v", err)
	}
	high2, err := restore.ReadHighWater(marks, attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	for round, want := range []int{20, 0} {
		found, err := restore.Reconcile(ctx, s2.till, high2, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, f := range found {
			got += f.FromChain
		}
		if got != want {
			t.Errorf("reconciling for the time %d found %d unknown purchases, want %d: %+v", round+1, got, want, found)
		}
	}
	known("after the chain was read")
	c := s2.claims(s2.net.Buyers[0], s2.net.Buyers[0].Address.Hex(), "")
	s2.want("claims of the lost buyer", c, 200, "")
	listed := map[string]string{}
	for _, p := range c.Body["purchases"].([]any) {
		m := p.(map[string]any)
		if m["state"] != "from_chain" || m["billed"] != "yes" {
			t.Errorf("claims list %v", m)
		}
		listed[m["settlement"].(map[string]any)["tx"].(string)] = m["owed_usdc"].(string)
	}
	want := map[string]string{}
	for _, x := range lost {
		want[x.r.Str("certificate", "settlement_tx")] = x.r.Str("paid_usdc")
	}
	if d := cmp.Diff(want, listed); d != "" {
		t.Errorf("claims do not list what was paid: %s", d)
	}
	if p := s2.journalled(late); p.Number != 0 {
		t.Errorf("a closed store gave the number %d", p.Number)
	}

	if _, err := restore.Reopen(ctx, db, s2.rails, restore.Options{}); !errors.Is(err, restore.ErrNotYet) {
		t.Fatalf("a restored store opened while what was sent could still land: %v", err)
	}
	restoredEarlier(t, db, 15*time.Minute)
	s2.reopens()
	arrived := s2.state(s2.journalled(late).ID, till.Delivered)
	if holder := seen[fmt.Sprintf("patron number %d", arrived.Number)]; holder != "" {
		t.Errorf("the purchase that lingered got the number %d of %s", arrived.Number, holder)
	}
	seen[fmt.Sprintf("patron number %d", arrived.Number)] = "the lingering buyer, again"
	seen[fmt.Sprintf("jar %d", arrived.Made.Number)] = "the lingering buyer, again"
	until(t, "the store to notice that it is open",
		func() bool { return s2.do("GET", "/api/buy/hello", nil).Status == 402 })
	for i := range 24 {
		distinct(t, seen, fmt.Sprintf("buyer %d after the restore", i), sell(s2, items[i%3], 4).r)
	}
	known("after reopening")
	s2.want("the payment that was refused while closed", s2.present("/api/buy/hello", fresh), 200, "")
	auditCredits(t, s2.net, tilltest.Purchases(t, db))
}

// restoredEarlier makes a restored ledger one that was restored some time before.
func restoredEarlier(t *testing.T, db ledger.DB, by time.Duration) {
	t.Helper()
	err := db.Update(context.Background(), func(tx ledger.Tx) error {
		v, err := tx.Get(ledger.ClosedKey())
		if err != nil {
			return err
		}
		at, err := time.Parse(time.RFC3339, string(v))
		if err != nil {
			return err
		}
		return tx.Set(ledger.ClosedKey(), []byte(at.Add(-by).Format(time.RFC3339)))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reopens opens a restored shop on every network.
func (s *shop) reopens() {
	s.t.Helper()
	got, err := restore.Reopen(s.t.Context(), s.db, s.rails, restore.Options{})
	if err != nil || len(got) != len(s.rails) {
		s.t.Fatalf("Reopen = %+v, %v", got, err)
	}
	for _, r := range got {
		if !r.Open {
			s.t.Errorf("%+v, want it open", r)
		}
		err := s.db.View(s.t.Context(), func(tx ledger.Tx) error {
			w, err := channels.ReadWatch(tx, r.Network)
			if err == nil && w.Restored.IsZero() {
				s.t.Errorf("%s: what payers spent by voucher is not doubted", r.Network)
			}
			return err
		})
		if err != nil {
			s.t.Error(err)
		}
	}
}

// watched is a ledger that counts the looks at what is due.
type watched struct {
	ledger.DB
	looks atomic.Int64
}

func (w *watched) View(ctx context.Context, f func(ledger.Tx) error) error {
	return w.DB.View(ctx, func(tx ledger.Tx) error { return f(watchedTx{tx, w}) })
}

type watchedTx struct {
	ledger.Tx
	w *watched
}

func (tx watchedTx) Scan(from, to []byte) iter.Seq2[ledger.Entry, error] {
	if bytes.HasPrefix(from, ledger.Key("due", "purchase")) {
		tx.w.looks.Add(1)
	}
	return tx.Tx.Scan(from, to)
}

// openTerms is the PAYMENT-REQUIRED that the store gave while it was open. Terms do not change with
// a restore.
func (s *shop) openTerms(now *shop) string {
	s.t.Helper()
	// The first shop is stopped; a till of the same configuration on an empty ledger quotes the
	// same.
	twin := newShop(s.t, shopOptions{net: now.net, db: ledger.NewMem(ledger.MemOptions{}),
		config: func(c *till.Config) { c.BaseURL = childBase }})
	defer twin.stop()
	return twin.do("GET", "/api/buy/hello", nil).Header.Get("PAYMENT-REQUIRED")
}

// journalled is the purchase of a payment.
func (s *shop) journalled(p payment) till.Purchase {
	s.t.Helper()
	for _, q := range tilltest.Purchases(s.t, s.db) {
		if q.Payment.Nonce == p.Nonce.Hex() {
			return q
		}
	}
	s.t.Fatal("the journal does not hold the payment")
	return till.Purchase{}
}
