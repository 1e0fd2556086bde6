package keeper

import (
	"context"
	"testing"

	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// What an account owes stands among what waits and in the books, and a book that is not the sum of
// its lines and of what is under way is a difference.
func TestAccountsAreInTheBooks(t *testing.T) {
	w := newWorld(t)
	hold := func(p *till.Purchase) {
		w.write(func(tx ledger.Tx) (err error) {
			p.Account.Terms, err = account.Hold(tx, "bazaar", 500_000, account.Limits{Credit: 1e9, Daily: 1e9})
			return err
		})
		w.set(ledger.PurchaseKey(p.ID), p)
	}
	under := &till.Purchase{ID: w.id("pur_"), State: till.Claimed, Item: "hello",
		Account: &till.OnAccount{Account: "bazaar"}}
	hold(under)
	hold(&till.Purchase{ID: w.id("pur_"), State: till.Delivered, Item: "hello", Final: true,
		Account: &till.OnAccount{Account: "bazaar", Billed: began}})
	w.write(func(tx ledger.Tx) error {
		return account.Bill(tx, "bazaar", account.Line{ID: "pur_x", At: began, Net: 610_000})
	})
	books := func() Books {
		b, err := w.desk.Books(context.Background(), "2026-11")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := books()
	if len(b.Accounts) != 1 || b.Accounts[0].Owed != 1_220_000 || b.Accounts[0].UnderWay != 610_000 ||
		b.Accounts[0].Billed != 610_000 || len(b.Accounts[0].Kinds) != 0 {
		t.Errorf("the books: %+v", b.Accounts)
	}
	waits, err := owing(context.Background(), w.desk)
	if err != nil || len(waits) != 1 || waits[0].USDC != "1.22" {
		t.Errorf("what waits: %+v, %v", waits, err)
	}
	differences := b.Differences
	under.State = till.Failed // and nobody released it
	w.set(ledger.PurchaseKey(under.ID), under)
	if b := books(); b.Differences != differences+1 || len(b.Accounts[0].Kinds) != 1 {
		t.Errorf("a hold that nobody gave back: %+v", b.Accounts)
	}
}
