package desk

import (
	"fmt"
	"net/http"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/declarations"
	"store.example/agentstore/dynamic/route"
)

// DeclareDoor documents the desk for declarations.
type DeclareDoor struct {
	What     string            `json:"what"`
	How      string            `json:"how"`
	Body     map[string]string `json:"body"`
	Paths    []string          `json:"paths_read"`
	Shapes   map[string]string `json:"shapes_read"` // by name
	Words    map[string]string `json:"read_kinds"`
	ThisWeek map[string]string `json:"walk_this_week"`
	Limits   DeclareLimits     `json:"limits"`
	Refusals map[string]string `json:"refusals"` // by problem code
	Record   string            `json:"what_is_recorded"`
}

// DeclareLimits are the bounds of a declaration.
type DeclareLimits struct {
	FileBytes   int `json:"file_bytes"`
	FileSeconds int `json:"file_seconds"`
	Doors       int `json:"doors_per_host"`
	ByHandHours int `json:"hours_between_readings_by_hand"`
	WalkedDoors int `json:"doors_walked_per_host_and_week"`
}

func (d *Desk) declareDoc(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	return route.JSON(w, DeclareDoor{
		What: "Reads which doors a host declares of itself and offers them to the weekly census. Anybody may ask; " +
			"the file on the host decides.",
		How:  "POST {\"host\": \"shop.example\"} as application/json to this address.",
		Body: map[string]string{"host": "bare name of the host: no scheme, no port, no path"},
		Paths: []string{declarations.FilePath, declarations.CardPath + " where there is no file at " +
			declarations.FilePath +
			": an agent card whose x402Discovery names such a file on the same host"},
		Shapes: declarations.Shapes(),
		Words: map[string]string{
			declarations.Doors: "a file was read and declares at least one door on its own host",
			declarations.None:  "there is no file at either path, or it declares no door on its own host",
			declarations.Unreadable: "a file could not be read or parsed, or redirects off the host: no finding " +
				"about the host",
		},
		ThisWeek: map[string]string{
			walkAppended: "the census takes the host on and walks its first declared door",
			walkOnRoster: "the host is on this week's roster already and is walked once a week",
			walkOverQuota: fmt.Sprintf("this week's places for hosts that declared themselves and that no list names "+
				"are taken, at most %d of a registrable domain; from says when they are dealt anew",
				census.DeclaredPerDomain),
			walkNotNow:    "nothing is walked in this week because of this reading",
			walkOptedOut:  "the file says \"census\": \"no\": the host is not walked while it does, whoever names it",
			walkNoOwnDoor: "no door on the host itself was declared; other hosts' doors are counted and never walked",
		},
		Limits: DeclareLimits{FileBytes: declarations.MaxFile, FileSeconds: 8, Doors: declarations.MaxOwn,
			ByHandHours: 24,
			WalkedDoors: 1},
		Refusals: map[string]string{
			"invalid_input": "host is not a bare name", "own_host_refused": "the host is the store's own",
			"target_refused": "the host is one that the store never reads",
			"read_today": "the host was read by hand within the day; try_after and Retry-After say when it can be " +
				"read again", "budget_spent": "the store's budget of this minute is spent",
		},
		Record: "A declaration that says something new is a signed observation of the public record: host, shape, " +
			"doors and the number of foreign ones. A file that could not be read is not recorded.",
	})
}

func (d *Desk) declareRows() []route.Row {
	return []route.Row{
		instrument(api.Route{
			Name: "declare_door", Method: http.MethodPost, Pattern: "/api/declare-door", Serve: api.Metered,
			Budget: BudgetDeclare, Summary: "Have a host's own list of its doors read",
			Description: "Reads /.well-known/x402 of the host, or the file that the x402Discovery of its agent card " +
				"names, and says in one of three words what is there (doors, none, unreadable) and what the census " +
				"does next. Once in 24 hours for each host. Doors on other hosts are counted and never walked.",
			Body: &api.Body{ContentType: api.JSON, Schema: api.StrictSchemaFor[DeclareRequest](), Limit: 4 << 10,
				Description: "host"},
			Responses: route.OK[Declaring]("What was read", meteredProblems...),
		}, d.declare),
		instrument(api.Route{
			Name: "declare_door_doc", Method: http.MethodGet, Pattern: "/api/declare-door", Serve: api.Clock,
			Summary: "How a host declares its doors", Responses: route.OK[DeclareDoor]("The desk's own description"),
		}, d.declareDoc),
	}
}
