package dynamic

import (
	"time"

	"agentstore/dynamic/budget"
	"agentstore/dynamic/desk"
)

// Budgets is the table of budgets that rows may name.
func Budgets() []budget.Limit {
	return append([]budget.Limit{
		{Name: "claims", Window: time.Minute, Client: 30, Process: 600,
			Doc: "Wallet challenges and claims: each challenge is a record in the ledger and each claim a signature check."},
		{Name: "purchase_status", Window: time.Minute, Client: 240, Process: 6000,
			Doc: "Reading what became of a purchase: generous, since a buyer who does not know polls it."},
	}, desk.Budgets()...)
}
