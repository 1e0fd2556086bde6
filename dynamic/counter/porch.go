package counter

import (
	"encoding/json"
	"net/http"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/goods"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

// porchRows is the route of the one thing on the porch that is paid for.
func (c *Counter) porchRows(doors spoken) []route.Row {
	responses := doorResponses(doors)
	for i := range responses {
		if responses[i].Status == http.StatusOK {
			responses[i].Headers = append(responses[i].Headers, headersOfText...)
		}
	}
	return []route.Row{{
		Name: "porch_line", Method: http.MethodGet, Pattern: "/porch/line", Tag: "purchase",
		Serve: api.Paid, Paid: true, Prices: []int64{goods.PorchLinePrice},
		Summary: "This hour's line of the porch, signed as a keepsake, for " +
			content.FormatUSDC(goods.PorchLinePrice) + " USDC",
		Description: "The cheapest door here, bought as any good is, by the same terms. The line is that of the " +
			"hour in which the payment comes in: a payment sent before the hour and taken after it gets the new " +
			"one, and the same payment again the one that was signed. It mints no certificate; what is signed " +
			"can be verified at /api/verify/{id}. With Accept: text/markdown the answer is the line alone.",
		Params: buyParams(doors)[1:],
		Responses: append(responses, api.Response{Status: http.StatusOK, ContentType: api.Markdown,
			Headers:     append(headersOfText, "Idempotent-Replayed", "Cache-Control"),
			Description: "The line"}),
		ValidateLate: true,
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			return c.sell(w, r, sold{item: till.PorchLine}, lineAsMarkdown)
		},
	}}
}

// lineAsMarkdown makes the answer for who asked for text.
func lineAsMarkdown(r *http.Request, h http.Header, a *Answer) error {
	if route.Prefer(r, api.JSON, "text/markdown") != 1 {
		return nil
	}
	var d struct {
		Deliverable goods.PorchDelivered `json:"deliverable"`
		Artifact    till.Beside          `json:"artifact"`
		Recovery    till.Recovery        `json:"recovery"`
	}
	if err := json.Unmarshal(a.Body, &d); err != nil {
		return err
	}
	said := d.Deliverable
	textual(h, a, d.Recovery, "> "+said.Line+"\n\nSaid on the porch in the hour of "+said.Hour+". Signed: "+
		d.Artifact.VerifyURL+"\n")
	return nil
}
