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

// Routes describe what every desk serves.
func Routes() []api.Route { return route.Routes(faces()) }

// Rows are the routes of this desk.
func (d *Desk) Rows() []route.Row { return route.Bind(d, faces()) }

func faces() []route.Face[*Desk] {
	var rows []route.Face[*Desk]
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
			func(d *Desk, w http.ResponseWriter, r *http.Request) error { return d.preflight(b.Version)(w, r) }))
	}
	rows = append(rows,
		metered(api.Route{
			Name: "look_v1", Pattern: "/api/look/v1", Version: "v1", Since: ruleDated, Budget: BudgetPreflight,
			Tool: "look_at_door", Summary: "Probe a door and set it against the record",
			Description: "One live probe under v2 folded with what the signed record holds about the host, with what " +
				"each discovery list says of the door, and one comparison. A host that no round named comes back as " +
				"never met. Spends the preflight budget.",
			Body: urlBody[LookRequest]("url and since"), Responses: route.OK[Look]("The look", meteredProblems...),
		}, (*Desk).look),
		metered(api.Route{
			Name: "before_you_pay_v1", Pattern: "/api/before-you-pay/v1", Version: "v1", Since: api.ContractSince,
			Budget: BudgetPreflight, Tool: "check_before_you_pay",
			Summary: "Which of a door's terms a stock client would sign",
			Description: "Probes the door and replays a stock x402 client's selection over its terms: default " +
				"assets, ceiling, policies, preference for authorizations, first survivor. Nothing is signed. Spends " +
				"the preflight budget.",
			Body: buyerBody(), Responses: route.OK[Buyer]("What would be signed, or the error the client would throw",
				meteredProblems...),
		}, (*Desk).beforeYouPay),
		cardFace(),
		route.Face[*Desk]{Route: catalogRoute(), ValidateLate: true, Handle: (*Desk).catalog},
		practiceFace(),
		badgeFace(),
		hostBadgeFace(),
		hostFeedFace(),
		tryFace(),
		route.Face[*Desk]{Route: directoryRoute(), Handle: (*Desk).signatureDirectory},
	)
	return slices.Concat(rows, readingFaces(), recordingFaces(), conformanceFaces(), provenanceFaces(),
		declareFaces(), noteFaces(),
		discoveryFaces())
}

// instrument makes the row of a route. Its budget, if it has one, is spent after its input was
// judged.
func instrument(r api.Route, h func(*Desk, http.ResponseWriter, *http.Request) error) route.Face[*Desk] {
	r.Tags = []string{tagInstruments}
	return route.Face[*Desk]{Route: r, SpendLate: r.Budget != "", Handle: h}
}

// metered makes the row of an instrument that reads what somebody names.
func metered(r api.Route, h func(*Desk, http.ResponseWriter, *http.Request) error) route.Face[*Desk] {
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
