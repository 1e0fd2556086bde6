package trade

import (
	"net/http"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/budget"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

const (
	maxBody      = 1 << 20
	checksAnHour = 120
)

// BudgetCheck is the budget of the check desk.
const BudgetCheck = "trade_check"

// Budgets are the limits of the counter.
func Budgets() []budget.Limit {
	return []budget.Limit{{Name: BudgetCheck, Window: time.Hour, Client: checksAnHour,
		Doc: "Signatures that are tried out at the check desk of the trade counter."}}
}

const tag = "trade"

var (
	accountParam = api.Param{Name: "account", In: api.Path, Type: "string", Required: true, MaxLength: 40,
		Description: "The id of an account.", Example: Sandbox}
	itemParam = api.Param{Name: "item_id", In: api.Path, Type: "string", Required: true, MaxLength: 60,
		Description: "The id of a good of the account's catalogue.", Example: "hello"}
)

// signed are the headers of the dialects. Which of them are needed the checks say, not the row.
func signed(path ...api.Param) []api.Param {
	for _, d := range Dialects {
		for _, h := range []struct{ name, what string }{{d.Timestamp, "Unix seconds"}, {d.Nonce, "the nonce"},
			{d.Signature, d.Form}} {
			path = append(path, api.Param{Name: h.name, In: api.Header, Type: "string", MaxLength: 1024,
				Description: "Dialect " + d.Name + ": " + h.what + ". The signature covers " + d.Covers + "."})
		}
	}
	return append(path, api.Param{Name: keyLabel, In: api.Header, Type: "string", MaxLength: 40,
		Description: "The account again, optional."})
}

// door completes the row of a route that takes signed bodies. Its inputs are judged after its
// signature.
func door(f route.Row) route.Row {
	f.Method, f.Tag, f.Serve, f.Params = http.MethodPost, tag, api.Private, signed(f.Params...)
	f.ValidateLate, f.OnAccount = true, true
	return f
}

// Rows are the routes of this counter.
func (d *Counter) Rows() []route.Row {
	return []route.Row{
		{Name: "trade_contract", Method: http.MethodGet, Pattern: "/api/trade/contract", Tag: tag,
			Serve: api.Ledger, Summary: "How marketplaces order on account",
			Description: "Door, dialects of signatures, checks, pricing rule, open accounts, named refusals.",
			Responses:   route.OK[Contract]("The contract"), Handle: d.serveContract},
		{Name: "trade_catalog", Method: http.MethodGet, Pattern: "/api/trade/catalog", Tag: tag,
			Serve: api.Ledger, Summary: "What is sold on account, and at which prices",
			Params: []api.Param{{Name: "account", In: api.QueryP, Type: "string", MaxLength: 40,
				Description: "The id of an account, for its own prices and items."}},
			Responses: route.OK[Catalog]("The catalogue", 400, 404, 503), Handle: d.serveCatalog},
		withBudget(door(route.Row{Name: "trade_check", Pattern: "/api/trade/{account}/check",
			Summary: "Try a signature out",
			Description: "Send the headers and the body that are meant for the order door. Each of the four checks " +
				"is reported by name; for the account sandbox with the expected signature. Nothing is delivered, " +
				"spent or kept.",
			Params: []api.Param{accountParam}, Body: &api.Body{ContentType: api.JSON, Limit: maxBody, Optional: true,
				Description: "What will be sent to the order door."},
			Responses: route.OK[Checked]("What each check came to", 403, 413, 415, 429,
				503), Handle: d.serveCheck})),
		door(route.Row{Name: "trade_statement", Pattern: "/api/trade/{account}/statement",
			Summary: "What an account owes, and for what", Description: "Signed like an order.",
			Params: []api.Param{accountParam}, Body: &api.Body{ContentType: api.JSON,
				Schema: api.StrictSchemaFor[StatementRequest](), Limit: maxBody, Description: "account, month, after"},
			Responses: route.OK[Statement]("The statement", 400, 401, 403, 404, 409, 413, 415, 503),
			Handle:    d.serveStatement}),
		door(route.Row{Name: "trade_order", Pattern: "/api/trade/{account}/{item_id}",
			Summary: "Order a good on account",
			Description: "One signed webhook, and the goods in the answer, billed to the account. The same order_ref " +
				"with the same body gets the first answer again, for ever. Every refusal says delivered: false and " +
				"billed: false.",
			Params: []api.Param{accountParam, itemParam}, Body: &api.Body{ContentType: api.JSON,
				Schema: api.SchemaFor[Instruction](), Limit: maxBody,
				Description: "account, item_id, order_ref, and the inputs of the item"},
			Responses: route.OK[till.AccountDelivery]("What was delivered", 400, 401, 403, 404, 409, 410, 413, 415, 422,
				429, 500, 503),
			Handle: d.serveOrder, Timeout: time.Minute}),
	}
}

func withBudget(f route.Row) route.Row {
	f.Budget, f.SpendLate = BudgetCheck, true
	return f
}

func statusOf(code string) int {
	row, _ := problem.Lookup(code)
	return row.Status
}
