package desk

import (
	"net/http"
	"slices"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/dynamic/route"
)

// tagInstruments groups the desk's routes in the API description.
const tagInstruments = "instruments"

// Rows are the routes of this desk.
func (d *Desk) Rows() []route.Row {
	var rows []route.Row
	for _, b := range probe.Batteries() {
		r := api.Route{
			Name: "preflight_" + b.Version, Pattern: "/api/preflight/" + b.Version, Version: b.Version, Since: b.Since,
			Budget: BudgetPreflight, Summary: "Probe a door under the frozen battery " + b.Version,
			Description: b.About, Body: urlBody[URLRequest]("url"),
			Responses: route.OK[Preflight]("The report", meteredProblems...),
		}
		if b.Version == probe.Current() {
			r.Summary, r.Tool = "Probe a door under battery "+b.Version, "preflight_endpoint"
		}
		rows = append(rows, metered(r,
			d.preflight(b.Version)))
	}
	rows = append(rows,
		metered(api.Route{
			Name: "look_v1", Pattern: "/api/look/v1", Version: "v1", Since: ruleDated, Budget: BudgetPreflight,
			Tool: "look_at_door", Summary: "Probe a door and set it against the record",
			Description: "One live probe under v2 folded with what the signed record holds about the host, with what " +
				"each discovery list says of the door, and one comparison. A host that no round named comes back as " +
				"never met. Spends the preflight budget.",
			Body: urlBody[LookRequest]("url and since"), Responses: route.OK[Look]("The look", meteredProblems...),
		}, d.look),
		metered(api.Route{
			Name: "before_you_pay_v1", Pattern: "/api/before-you-pay/v1", Version: "v1", Since: api.ContractSince,
			Budget: BudgetPreflight, Tool: "check_before_you_pay",
			Summary: "Which of a door's terms a stock client would sign",
			Description: "Probes the door and replays a stock x402 client's selection over its terms: default " +
				"assets, ceiling, policies, preference for authorizations, first survivor. Nothing is signed. Spends " +
				"the preflight budget.",
			Body: buyerBody(), Responses: route.OK[Buyer]("What would be signed, or the error the client would throw",
				meteredProblems...),
		}, d.beforeYouPay),
		d.cardRow(),
		route.Row{Route: catalogRoute(), ValidateLate: true, Handle: d.catalog},
		d.practiceRow(),
		d.badgeRow(),
		d.hostBadgeRow(),
		d.hostFeedRow(),
		d.tryRow(),
		route.Row{Route: directoryRoute(), Handle: d.signatureDirectory},
	)
	return slices.Concat(rows, d.readingRows(), d.recordingRows(), d.conformanceRows(), d.provenanceRows(),
		d.declareRows(), d.noteRows(),
		d.discoveryRows())
}

// instrument makes the row of a route. Its budget, if it has one, is spent after its input was
// judged.
func instrument(r api.Route, h route.Handler) route.Row {
	r.Tag = tagInstruments
	return route.Row{Route: r, SpendLate: r.Budget != "", Handle: h}
}

// metered makes the row of an instrument that reads what somebody names.
func metered(r api.Route, h route.Handler) route.Row {
	r.Method, r.Serve = http.MethodPost, api.Metered
	return instrument(r, h)
}

var meteredProblems = []int{400, 413, 415, 429, 503}

// bodyLimit holds what is asked for with each character escaped.
const bodyLimit = 256 << 10

func body[T any](what string) *api.Body {
	return &api.Body{ContentType: api.JSON, Schema: api.StrictSchemaFor[T](), Limit: bodyLimit, Description: what}
}

// urlBody is the body of a route that is about a URL: where it is no JSON, none was given.
func urlBody[T any](what string) *api.Body {
	b := body[T](what)
	b.NotJSON = fetch.CodeMissing
	return b
}
