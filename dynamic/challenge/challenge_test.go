package challenge

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"agentstore/dynamic/ledger"
)

// TestChallengesAreSingleUse opens more than may be open, answers by nonce and without, twice, late, and for another
// use and address.
func TestChallengesAreSingleUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := ledger.NewMem(ledger.MemOptions{})
		defer db.Close()
		open := func(n string) {
			t.Helper()
			err := db.Update(t.Context(), func(tx ledger.Tx) error {
				return Open(tx, "claims", "0xa", Challenge{Nonce: n, Message: "sign " + n, Network: "eip155:1", Expires: tx.Now().Add(Life)})
			})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // the bubble's clock
		}
		burn := func(use, address, nonce, want string) {
			t.Helper()
			err := db.Update(t.Context(), func(tx ledger.Tx) error {
				c, ok, err := Burn(tx, use, address, nonce)
				if got := fmt.Sprint(ok, " ", c.Message); err == nil && got != want {
					t.Errorf("Burn(%s, %s, %q) = %s, want %s", use, address, nonce, got, want)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range MaxOpen + 2 {
			open(fmt.Sprint("n", i))
		}
		burn("claims", "0xa", "n1", "false ")
		burn("provenance", "0xa", "n4", "false ")
		burn("claims", "0xb", "n4", "false ")
		burn("claims", "0xa", "n4", "true sign n4")
		burn("claims", "0xa", "n4", "false ")
		burn("claims", "0xa", "", "true sign n6")
		time.Sleep(Life)
		burn("claims", "0xa", "n3", "false sign n3")
		open("late")
		burn("claims", "0xa", "n2", "false ") // expired ones went when the new one came
		burn("claims", "0xa", "", "true sign late")
	})
}
