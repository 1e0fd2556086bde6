package desk

import (
	"net/http"
	"net/url"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/botauth"
	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/pagecheck"
	"store.example/agentstore/dynamic/route"
)

// ReadingRequest names a document.
type ReadingRequest struct {
	URL string `json:"url" jsonschema:"public https URL of the document; at most 2048 characters"`
}

// Directory is the judgement of a signature directory or card as it is served.
type Directory struct {
	botauth.Report
	Shared    bool       `json:"shared"`
	Private   bool       `json:"private,omitzero"`
	RateLimit *RateLimit `json:"rate_limit,omitzero"`
	NextSteps []string   `json:"next_steps"`
}

// Page is the judgement of a page as it is served.
type Page struct {
	pagecheck.Report
	Shared    bool       `json:"shared"`
	Private   bool       `json:"private,omitzero"`
	RateLimit *RateLimit `json:"rate_limit,omitzero"`
	NextSteps []string   `json:"next_steps"`
}

// botAuth judges a directory or card. An origin alone means the directory at its well-known path.
func (d *Desk) botAuth(w http.ResponseWriter, r *http.Request) error {
	in, err := readBody[ReadingRequest](r)
	if err != nil {
		return err
	}
	door, rl, err := d.admit(w, r, in.URL, BudgetReadings)
	if err != nil {
		return err
	}
	u, err := url.Parse(door)
	if err != nil {
		return err
	}
	if (u.Path == "" || u.Path == "/") && u.RawQuery == "" {
		u.Path = botauth.Path
	}
	report, shared, err := readShared(d, r.Context(), "bot-auth "+u.String(), botauth.Checker{URL: u.String()},
		fetch.WalkStart{URL: u.String()})
	if err != nil {
		return d.unread(w, r, rl, err)
	}
	return route.JSON(w, Directory{Report: report, Shared: shared, Private: d.cfg.Client.Private(), RateLimit: rl,
		NextSteps: []string{"suggested_fixes says what to change.", "GET " + d.cfg.BaseURL + botauth.Path +
			" is the store's own directory, to compare with."}})
}

// page judges a page's HTML as it is served.
func (d *Desk) page(w http.ResponseWriter, r *http.Request) error {
	in, err := readBody[ReadingRequest](r)
	if err != nil {
		return err
	}
	door, rl, err := d.admit(w, r, in.URL, BudgetReadings)
	if err != nil {
		return err
	}
	report, shared, err := readShared(d, r.Context(), "onpage "+door, pagecheck.Checker{URL: door},
		fetch.WalkStart{URL: door})
	if err != nil {
		return d.unread(w, r, rl, err)
	}
	return route.JSON(w, Page{Report: report, Shared: shared, Private: d.cfg.Client.Private(), RateLimit: rl,
		NextSteps: []string{"suggested_fixes says what to change.", "GET " + d.cfg.BaseURL +
			"/api/onpage/v1 has the battery."}})
}

// PageBattery is the battery for pages.
type PageBattery struct {
	Version string          `json:"version"`
	Checks  []pagecheck.Row `json:"checks"` // in their order
	Note    string          `json:"note"`
}

func (d *Desk) pageBattery(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	return route.JSON(w, PageBattery{Version: pagecheck.Version, Checks: pagecheck.Battery(),
		Note: "Judges the HTML as it was served: no script is run, nothing else is fetched."})
}

func (d *Desk) readingRows() []route.Row {
	return []route.Row{
		metered(api.Route{
			Name: "bot_auth_check", Pattern: "/api/bot-auth/check", Budget: BudgetReadings,
			Summary: "Judge a Web Bot Auth directory or card",
			Description: "The keys, the directory's own signature and the card's members. An origin alone means its " +
				"well-known path. One GET, and a card's jwks_uri.",
			Body: urlBody[ReadingRequest]("url"), Responses: route.OK[Directory]("The judgement", meteredProblems...),
		}, d.botAuth),
		metered(api.Route{
			Name: "onpage_v1", Pattern: "/api/onpage/v1", Version: "v1", Since: api.ContractSince,
			Budget: BudgetReadings, Summary: "Judge a page's HTML as it is served",
			Description: "Twelve checks of what a crawler or an agent without a browser relies on. One GET; no " +
				"script is run.",
			Body: urlBody[ReadingRequest]("url"), Responses: route.OK[Page]("The judgement", meteredProblems...),
		}, d.page),
		instrument(api.Route{
			Name: "onpage_battery_v1", Method: http.MethodGet, Pattern: "/api/onpage/v1", Serve: api.Clock,
			Version: "v1", Since: api.ContractSince, Summary: "The battery for pages",
			Responses: route.OK[PageBattery]("Every check"),
		}, d.pageBattery),
	}
}
