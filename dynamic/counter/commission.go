package counter

import (
	"net/http"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/route"
)

// commissionRows is the door at which quoted work is paid for.
func (c *Counter) commissionRows(doors spoken) []route.Row {
	params := buyParams(doors)
	params[0] = api.Param{Name: "request_id", In: api.Path, Type: "string", Required: true, MinLength: 24,
		MaxLength: 24,
		Pattern:   "^req_[a-z2-7]{20}$", Description: "of the answer to POST /api/request"}
	return []route.Row{{
		Name: "commission", Method: http.MethodGet, Pattern: "/api/commission/{request_id}",
		Tag:   "purchase",
		Serve: api.Paid, Paid: true, Quoted: true,
		Summary: "Commission the work that a request asked for, at the quoted price",
		Description: "Before the keeper has quoted: 409 not_quoted. Then it is bought as any good is, once, and " +
			"the answer has the order under which the work is delivered.",
		Params: params, Responses: doorResponses(doors),
		ValidateLate: true,
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			return c.Sell(w, r, goods.CommissionPrefix+r.PathValue("request_id"))
		},
	}}
}
