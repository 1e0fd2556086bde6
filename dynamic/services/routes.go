package services

import (
	"net/http"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/route"
)

// Rows are the routes that say how what was sold stands, at a counter, to whoever has its id.
func (s *Services) Rows(c *counter.Counter) []route.Row {
	s.counter = c
	return []route.Row{
		{
			Name: "phantom", Method: http.MethodGet, Pattern: "/api/phantom/{check_id}",
			Tag: "artifacts", Serve: api.Private, Summary: "How a phantom check stands",
			Description: "Scheduled, and then what was seen, signed, or that the look was missed and why. Free, " +
				"for ever.",
			Params: counter.IDParam("check_id", "check_"),
			Responses: answers(api.Response{ContentType: api.JSON, Schema: api.SchemaFor[CheckView](),
				Description: "The check"}),
			Handle: s.serveCheck,
		},
		{
			Name: "bitcoin_anchor", Method: http.MethodGet, Pattern: "/api/bitcoin-anchor/{anchor_id}",
			Tag: "artifacts", Serve: api.Private, Summary: "How a Bitcoin anchor stands",
			Description: "The signed anchor, the state of its proof, and what each calendar said. Free, for ever.",
			Params:      counter.IDParam("anchor_id", "anchor_"),
			Responses: answers(api.Response{ContentType: api.JSON, Schema: api.SchemaFor[BitcoinAnchorView](),
				Description: "The anchor"}),
			Handle: s.serveBitcoinAnchor,
		},
		{
			Name: "bitcoin_anchor_proof", Method: http.MethodGet,
			Pattern: "/api/bitcoin-anchor/{anchor_id}/proof.ots", Tag: "artifacts", Serve: api.Private,
			Summary: "The proof of a Bitcoin anchor", Description: "An OpenTimestamps file, merged from all " +
				"calendars and as complete as they can make it by now.",
			Params: counter.IDParam("anchor_id", "anchor_"),
			Responses: answers(api.Response{ContentType: "application/octet-stream",
				Description: "The detached proof"}),
			Handle: s.serveBitcoinProof,
		},
		{
			Name: "replay_callback", Method: http.MethodPost, Pattern: "/api/order/{order_id}/replay-callback",
			Tag: "artifacts", Serve: api.Private, Summary: "Have the callback of an order sent again",
			Description: "The same bytes under the same webhook-id, now. Once a minute, for the holder of the " +
				"status token. What comes of it stands in the order.",
			Params: append(counter.IDParam("order_id", "order_"), counter.Bearer, counter.SignInParam),
			Responses: answers(api.Response{ContentType: api.JSON, Schema: api.SchemaFor[counter.CallbackView](),
				Description: "The callback as it stands"}, 401, 409,
				429, 503),
			Handle: s.serveReplay,
		},
	}
}

// answers are what a route gives: its document, and that there is no such thing or no ledger.
func answers(document api.Response, codes ...int) []api.Response {
	document.Status, document.Headers = http.StatusOK, []string{"Cache-Control"}
	if codes == nil {
		codes = []int{http.StatusNotFound, http.StatusServiceUnavailable}
	}
	return append([]api.Response{document}, route.Problems(codes...)...)
}
