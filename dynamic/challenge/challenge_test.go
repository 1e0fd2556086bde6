package challenge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/dynamic/ledger"
)

// TestNoncesAreStatelessAndBound: a nonce is recognised for its own use, address and network, by
// whoever shares the secret, until its end, and in its one spelling; asking for more changes
// nothing of it.
func TestNoncesAreStatelessAndBound(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 5e8, time.UTC)
	m := NewMaker(bytes.Repeat([]byte("s"), 32))
	c := m.New("claims", "0xa", "eip155:1", now)
	if c.Issued() != now.Truncate(time.Second) || len(c.Nonce) != NonceLen ||
		strings.Trim(c.Nonce, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		t.Fatalf("made %+v", c)
	}
	for range 1000 {
		if other := m.New("claims", "0xa", "eip155:1", now); other.Nonce == c.Nonce {
			t.Fatal("two challenges of one second have one nonce")
		}
	}
	swapped := []byte(c.Nonce)
	swapped[0] ^= 1 // a later end
	for _, test := range []struct {
		what                        string
		maker                       *Maker
		use, address, network, says string
		at                          time.Time
		ok                          bool
	}{
		{"its own", m, "claims", "0xa", "eip155:1", c.Nonce, now, true},
		{"a replica's", NewMaker(bytes.Repeat([]byte("s"), 32)), "claims", "0xa", "eip155:1", c.Nonce,
			now.Add(Life - time.Second), true},
		{"at its end", m, "claims", "0xa", "eip155:1", c.Nonce, c.Expires, false},
		{"of another store", NewMaker(bytes.Repeat([]byte("t"), 32)), "claims", "0xa", "eip155:1", c.Nonce, now, false},
		{"for another use", m, "provenance", "0xa", "eip155:1", c.Nonce, now, false},
		{"for another address", m, "claims", "0xb", "eip155:1", c.Nonce, now, false},
		{"on another network", m, "claims", "0xa", "eip155:10", c.Nonce, now, false},
		{"with its parts moved", m, "claims", "0xae", "ip155:1", c.Nonce, now, false},
		{"with another end", m, "claims", "0xa", "eip155:1", string(swapped), now, false},
		{"in capitals", m, "claims", "0xa", "eip155:1", strings.ToUpper(c.Nonce), now, false},
		{"cut", m, "claims", "0xa", "eip155:1", c.Nonce[:39], now, false},
		{"longer", m, "claims", "0xa", "eip155:1", c.Nonce + "aaaaaaaa", now, false},
		{"none", m, "claims", "0xa", "eip155:1", "", now, false},
	} {
		got, ok := test.maker.Read(test.use, test.address, test.network, test.says, test.at)
		if ok != test.ok || ok && got != c {
			t.Errorf("a nonce %s: Read = %+v, %v, want %v", test.what, got, ok, test.ok)
		}
	}
}

// TestOnlySuccessSpends: once, until its end, and what is over is forgotten again.
func TestOnlySuccessSpends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		defer db.Close()
		m := NewMaker([]byte("secret"))
		spend := func(use string, c Challenge) (fresh bool) {
			t.Helper()
			if err := db.Update(t.Context(), func(tx ledger.Tx) (err error) {
				fresh, err = Spend(tx, use, c)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return fresh
		}
		one := m.New("claims", "0xa", "", time.Now())
		if !spend("claims", one) || spend("claims", one) || spend("claims", one) {
			t.Error("a challenge is not spent exactly once")
		}
		if !spend("provenance", one) || !spend("claims", m.New("claims", "0xa", "", time.Now())) {
			t.Error("one challenge spends another")
		}
		for i := range 40 {
			time.Sleep(time.Minute) // the bubble's clock
			if !spend("claims", m.New("claims", fmt.Sprint("0x", i), "", time.Now())) {
				t.Fatal("a fresh challenge was spent already")
			}
		}
		kept := 0
		if err := db.View(t.Context(), func(tx ledger.Tx) error {
			kept = 0
			for _, err := range tx.Scan(ledger.Prefix(ledger.NonceKey(spent, "claims"))) {
				if err != nil {
					return err
				}
				kept++
			}
			return nil
		}); err != nil || kept > 12 || kept < 5 {
			t.Errorf("%d spent challenges are kept (%v), want those of the last ten minutes", kept, err)
		}
	})
}
