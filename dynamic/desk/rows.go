package desk

import (
	"net/http"
	"slices"

	"agentstore/content/api"
	"agentstore/corpus/probe"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/route"
)

// tagInstruments groups the desk's routes in the API description.
const tagInstruments = "instruments"

// Rows are the desk's routes. They may be asked of a nil Desk by who only describes them.
func (d *Desk) Rows() []route.Row {
	var rows []route.Row
	for _, b := range probe.Batteries() {
		r := api.Route{
			Name: "preflight_" + b.Version, Pattern: "/api/preflight/" + b.Version, Version: b.Version, Since: b.Since, Budget: BudgetPreflight,
			Summary: "Probe a door under the frozen battery " + b.Version, Description: b.About,
			Body: body[URLRequest]("url"), Responses: ok[Preflight]("The report", meteredProblems...),
		}
		if b.Version == probe.Current() {
			r.Summary, r.Tool = "Probe a door under battery "+b.Version, "preflight_endpoint"
		}
		rows = append(rows, d.metered(r, d.preflight(b.Version)))
	}
	rows = append(rows,
		d.metered(api.Route{
			Name: "preflight_batch", Pattern: "/api/preflight/batch", Budget: BudgetPreflight,
			Summary:     "Probe up to twenty doors",
			Description: "Each door that is read spends one use of the preflight budget. What could not be read has an error in its place, and the others are not worse for it.",
			Body:        body[BatchRequest]("urls and battery"), Responses: ok[Batch]("What was read", meteredProblems...),
		}, d.batch),
		route.Row{
			Route: api.Route{
				Name: "preflight_checks", Method: http.MethodGet, Pattern: "/api/preflight/checks", Tags: []string{tagInstruments}, Serve: api.Clock,
				Summary:   "Every check and advisory of the batteries",
				Responses: ok[Checks]("The manifest"),
			},
			Handle: d.checks,
		},
		d.metered(api.Route{
			Name: "look_v1", Pattern: "/api/look/v1", Version: "v1", Since: ruleDated, Budget: BudgetPreflight, Tool: "look_at_door",
			Summary:     "Probe a door and set it against the record",
			Description: "One live probe under v2 folded with what the signed record holds about the host, with what each discovery list says of the door, and one comparison. A host that no round named comes back as never met. Spends the preflight budget.",
			Body:        body[LookRequest]("url and since"), Responses: ok[Look]("The look", meteredProblems...),
		}, d.look),
		d.metered(api.Route{
			Name: "before_you_pay_v1", Pattern: "/api/before-you-pay/v1", Version: "v1", Since: api.ContractSince, Budget: BudgetPreflight, Tool: "check_before_you_pay",
			Summary:     "Which of a door's terms a stock client would sign",
			Description: "Probes the door and replays a stock x402 client's selection over its terms: default assets, ceiling, policies, preference for authorizations, first survivor. Nothing is signed. Spends the preflight budget.",
			Body:        buyerBody(), Responses: ok[Buyer]("What would be signed, or the error the client would throw", meteredProblems...),
		}, d.beforeYouPay),
		d.cardRow(),
		route.Row{Route: d.catalogRoute(), ValidateLate: true, Handle: d.catalog},
		d.practiceRow(),
		d.badgeRow(),
		d.hostBadgeRow(),
		d.tryRow(),
		route.Row{Route: directoryRoute(), Handle: d.signatureDirectory},
	)
	return slices.Concat(rows, d.readingRows(), d.recordingRows(), d.conformanceRows(), d.provenanceRows(), d.declareRows())
}

// metered makes the row of an instrument that spends its budget after it has judged its input.
func (d *Desk) metered(r api.Route, h route.Handler) route.Row {
	r.Method, r.Serve, r.Tags = http.MethodPost, api.Metered, []string{tagInstruments}
	return route.Row{Route: r, SpendLate: true, Handle: h}
}

var meteredProblems = []int{400, 413, 415, 429, 503}

// bodyLimit holds twenty URLs of the greatest length, each character escaped.
const bodyLimit = 256 << 10

func body[T any](what string) *api.Body {
	return &api.Body{ContentType: api.JSON, Schema: api.StrictSchemaFor[T](), Limit: bodyLimit, Description: what}
}

func problems(codes ...int) []api.Response {
	var out []api.Response
	for _, c := range codes {
		out = append(out, api.Response{Status: c, ContentType: problem.ContentType, Description: http.StatusText(c)})
	}
	return out
}

// ok describes a 200 of JSON, a T, and the problems.
func ok[T any](description string, codes ...int) []api.Response {
	return append([]api.Response{{Status: http.StatusOK, ContentType: api.JSON, Schema: api.SchemaFor[T](), Description: description}}, problems(codes...)...)
}
