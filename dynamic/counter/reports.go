package counter

import (
	"net/http"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// reportRow is the route that gives the reports of a class by their ids.
func (c *Counter) reportRow(name, pattern, of, class string) route.Row {
	return route.Row{
		Name: name, Method: http.MethodGet, Pattern: pattern, Tag: "artifacts", Serve: api.Ledger,
		Summary: "The signed report of " + of,
		Description: "Free, for ever, for whoever has the address. As JSON it is what verify answers: the report " +
			"with its exact signed bytes, checked at every read. Browsers get a page, and Accept: text/markdown " +
			"the same as text. What strangers wrote stands in it as data.",
		Params: IDParam("audit_id", "audit_"),
		Responses: ok(api.Response{Schema: api.SchemaFor[Verification](), Description: "The report"},
			append([]api.Response{
				{Status: http.StatusOK, ContentType: api.HTML, Description: "The same, for people"},
				{Status: http.StatusOK, ContentType: api.Markdown, Description: "The same, as text"}},
				route.Problems(404, 503)...)...),
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			return c.serveReport(w, r, class)
		},
	}
}

// serveReport answers with a report of one class in the form that is wanted.
func (c *Counter) serveReport(w http.ResponseWriter, r *http.Request, name string) error {
	id := r.PathValue("audit_id")
	class, v, err := c.verification(r.Context(), id)
	if err != nil {
		return c.problem(err, request{})
	}
	if v.Reason == unknownID || v.ArtifactClass != name {
		return &problem.Error{Code: "not_found", Detail: "There is no such report with this id. It stands in the " +
			"answer to the purchase, and POST /api/claims finds it again."}
	}
	h := w.Header()
	h.Set("Vary", "Accept, Accept-Encoding, User-Agent")
	h.Set("Cache-Control", "no-cache")
	if shown, err := class.show(w, r, id, v); shown || err != nil {
		return err
	}
	return WriteJSON(w, v)
}
