package dynamic

import (
	"time"

	"store.example/agentstore/dynamic/bounty"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/desk"
	"store.example/agentstore/dynamic/trade"
)

// Budgets is the table of budgets that rows may name.
func Budgets() []budget.Limit {
	return append(append([]budget.Limit{
		{Name: bounty.BudgetClaims, Window: time.Minute, Client: 10, Process: 120,
			Doc: "Claims of bounties, right or wrong: each reads a chain."},
		{Name: bounty.BudgetReports, Window: time.Minute, Client: 3, Process: 20,
			Doc: "Purchases that are told of, right or wrong: each reads a door and a chain."},
		{Name: "claims", Window: time.Minute, Client: 30,
			Doc: "Wallet challenges and claims, right or wrong. By client alone, so that nobody crowds out another."},
		{Name: "purchase_status", Window: time.Minute, Client: 240, Process: 6000,
			Doc: "Reading what became of a purchase: generous, since a buyer who does not know polls it."},
	}, trade.Budgets()...), desk.Budgets()...)
}
