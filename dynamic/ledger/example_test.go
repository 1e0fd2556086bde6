package ledger_test

import (
	"context"
	"fmt"

	"store.example/agentstore/dynamic/ledger"
)

// What must be decided once is decided inside one Update: the number and what it was given for are
// written together, or neither is.
func Example() {
	db := ledger.NewMem(ledger.MemOptions{})
	defer db.Close()
	type patron struct{ CertID string }
	for _, id := range []string{"cert_a", "cert_b"} {
		err := db.Update(context.Background(), func(tx ledger.Tx) error {
			n, err := ledger.Next(tx, "patron")
			if err != nil {
				return err
			}
			return ledger.SetJSON(tx, ledger.PatronKey(n), patron{id})
		})
		if err != nil {
			panic(err)
		}
	}
	err := db.View(context.Background(), func(tx ledger.Tx) error {
		for e, err := range tx.Scan(ledger.Prefix(ledger.Key("patron"))) {
			if err != nil {
				return err
			}
			p, err := ledger.DecodeJSON[patron](e)
			if err != nil {
				return err
			}
			fmt.Println(ledger.KeyText(e.Key), p.CertID)
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// patron/00000000000000000001 cert_a
	// patron/00000000000000000002 cert_b
}
