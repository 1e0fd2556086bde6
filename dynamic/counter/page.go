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

// pageRows are the routes of what is paid for by the page, a row a publication.
func (c *Counter) pageRows(doors spoken) []route.Row {
	var out []route.Row
	for _, p := range content.Publications {
		var params []api.Param
		for _, part := range p.Params {
			params = append(params, api.Param{Name: part.Name, In: api.Path, Type: "string", Required: true,
				MinLength: 1, MaxLength: 60, Pattern: part.Form, Description: part.Says, Example: part.Example})
		}
		params = append(params, buyParams(doors)[1:]...)
		responses := doorResponses(doors)
		for i := range responses {
			if responses[i].Status == http.StatusOK {
				responses[i].Headers = append(responses[i].Headers, headersOfText...)
			}
		}
		out = append(out, route.Row{
			Name: p.Name + "_" + p.One, Method: http.MethodGet, Pattern: p.Pattern, Tag: "purchase",
			Serve: api.Paid, Paid: true, Prices: []int64{p.Price},
			Summary: "One " + p.One + " of the " + p.Name + ", for " + content.FormatUSDC(p.Price) + " USDC",
			Description: "Bought as any good is, by the same terms. The answer is the " + p.One + " in Markdown, " +
				"with the way back to the purchase in its header; with Accept: application/json it is the whole " +
				"delivery, with the salt that shows that the index committed to this text. It mints nothing.",
			Params: params,
			Responses: append([]api.Response{{Status: http.StatusOK, ContentType: api.Markdown,
				Headers:     append(headersOfText, "Idempotent-Replayed", "Cache-Control"),
				Description: "The " + p.One}}, responses...),
			ValidateLate: true,
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				return c.sell(w, r, sold{item: r.URL.Path[1:]}, asMarkdown)
			},
		})
	}
	return out
}

// The fields by which who took the text alone comes back to the purchase, and by which it is bound.
// The token of its status stands in JSON only.
const (
	headerPurchase  = "X-Purchase-Id"
	headerStatusURL = "X-Status-Url"
	headerDelivery  = "X-Delivery-Receipt"
)

var headersOfText = []string{headerPurchase, headerStatusURL, headerDelivery}

// asMarkdown makes the answer of a page for who did not ask for JSON.
func asMarkdown(r *http.Request, h http.Header, a *Answer) error {
	if route.Prefer(r, "text/markdown", api.JSON) == 1 {
		return nil
	}
	var d struct {
		Deliverable goods.PageDelivered `json:"deliverable"`
		Recovery    till.Recovery       `json:"recovery"`
	}
	if err := json.Unmarshal(a.Body, &d); err != nil {
		return err
	}
	textual(h, a, d.Recovery, d.Deliverable.Body)
	return nil
}

// textual makes a text of an answer, with the way back to its purchase in the header.
func textual(h http.Header, a *Answer, back till.Recovery, text string) {
	h.Set(headerPurchase, back.PurchaseID)
	h.Set(headerStatusURL, back.StatusURL)
	a.Type, a.Body = api.Markdown, []byte(text)
}
