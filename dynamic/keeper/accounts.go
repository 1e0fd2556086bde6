package keeper

import (
	"context"
	"fmt"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// AccountBooks compare what an account owes with what it is owed for: the lines of its statement,
// and the sales that are under way. Amounts are millionths of a US dollar.
type AccountBooks struct {
	Account  string `json:"account" doc:"Its id."`
	Owed     int64  `json:"owed"`
	OwedUSD  string `json:"owed_usd" doc:"What it owes."`
	Lines    int    `json:"lines" doc:"Lines of its statement."`
	Billed   int64  `json:"billed" doc:"What they come to, less what was received, in millionths."`
	UnderWay int64  `json:"under_way" doc:"What is held and not billed."`
	Kinds    []Kind `json:"kinds,omitzero" doc:"Differences."`
}

// accounts compares the books of all accounts, as they stand.
func (d *Inbox) accounts(ctx context.Context) (list []AccountBooks, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		list = []AccountBooks{}
		held := map[string]int64{}
		for p, err := range ledger.Values[till.Purchase](tx.Scan(ledger.Purchases())) {
			if err != nil {
				return err
			}
			if a := p.Account; a != nil && a.Billed.IsZero() && p.Open() {
				held[a.Account] += a.Terms.Net
			}
		}
		ids, err := account.All(tx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			b, err := account.ReadBook(tx, id)
			if err != nil {
				return err
			}
			a := AccountBooks{Account: id, Owed: b.Owed, OwedUSD: content.FormatUSDC(b.Owed), UnderWay: held[id]}
			if a.Billed, a.Lines, err = account.Sum(tx, id); err != nil {
				return err
			}
			if a.Owed != a.Billed+a.UnderWay {
				a.Kinds = []Kind{"account_differs"}
			}
			list = append(list, a)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading what accounts owe: %w", err)
	}
	return list, nil
}

// owing are the accounts that owe something.
func owing(ctx context.Context, d *Inbox) (list []Entry, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		list = nil
		ids, err := account.All(tx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			b, err := account.ReadBook(tx, id)
			if err != nil {
				return err
			}
			if b.Owed > 0 {
				list = append(list, Entry{ID: id, Times: b.Orders, USDC: content.FormatUSDC(b.Owed),
					Says: id + " owes " + content.FormatUSDC(b.Owed) + " USD."})
			}
		}
		return nil
	})
	return list, err
}
