package pages

import (
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
)

// atlas is /atlas.json: everything here, by what one wants to do. Addresses, methods and prices
// come from the same rows as the routes, so that it cannot name what is not there.
type atlas struct {
	Context  string         `json:"@context"`
	Type     string         `json:"@type"`
	Name     string         `json:"name"`
	URL      string         `json:"url"`
	Says     string         `json:"description"`
	Tasks    []atlasTask    `json:"tasks"`
	Journeys []atlasJourney `json:"journeys"`
	Doors    []atlasDoor    `json:"doors"`
}

type atlasTask struct {
	Goal string   `json:"goal"`
	Call []string `json:"call"` // method and path
	Note string   `json:"note"`
}

type atlasJourney struct {
	Name  string      `json:"name"`
	When  string      `json:"when"`
	Steps []atlasStep `json:"steps"`
}

type atlasStep struct {
	Do       string `json:"do"`
	Endpoint string `json:"endpoint"`
	Method   string `json:"method"`
	Cost     string `json:"cost"` // USDC, 0 for free
	Expect   string `json:"expect"`
}

type atlasDoor struct {
	Path    string `json:"path"`
	Name    string `json:"name"`
	Access  string `json:"access"` // free or paid
	Price   string `json:"price_usdc"`
	Method  string `json:"method"`
	Purpose string `json:"purpose"`
	Caution string `json:"caution,omitzero"`
}

// goals are tasks by the names of the routes they need, in the order in which one asks.
var goals = []struct {
	goal, note string
	routes     []string
}{
	{"Decide whether to pay a door", "Read the door now, beside what was seen of it before. A reading is one answer " +
		"at one moment.", []string{"look_v1", "before_you_pay_v1", "host"}},
	{"Find doors that were ready this week", "Only ready doors are named, with their cheapest ask.",
		[]string{"fresh_set", "registry"}},
	{"See how a host did over the weeks", "The page cites signed rows and carries a proof that the newest stands in " +
		"the log.", []string{"host", "round"}},
	{"Check my own door", "The same battery that the census uses.", []string{"preflight_v2", "preflight_v1", "try",
		"defects"}},
	{"Have my door walked by the census", "Publish a file at your own host, then say so.",
		[]string{"declare_door", "declare_door_doc"}},
	{"Follow what changed", "From any known week to the newest, or week by week.",
		[]string{"corpus_diff", "corpus_changes", "corpus_brief", "feed"}},
	{"Work with the whole record", "Everything derived here can be worked out again from it.",
		[]string{"corpus", "corpus_index", "round", "log_checkpoint"}},
	{"Check what this store signed", "No call to the store is needed once you hold its key.",
		[]string{"verify_guide", "verify_artifact", "signing_key", "store_attestation_v1"}},
	{"Buy something", "Never sign a second payment while the outcome of the first is unknown.",
		[]string{"menu", "menu_item", "buy_item", "purchase_status"}},
	{"Practise paying", "Doors that are wrong on purpose; none settles.", []string{"practice", "conformance_guide"}},
}

// travels are journeys of several steps, by the names of routes.
var travels = []struct {
	name, when string
	steps      []struct{ route, do, expect string }
}{
	{"A first purchase", "An agent with a few cents wants to see a signed certificate.",
		[]struct{ route, do, expect string }{
			{"menu", "Choose a good and read its price.", "200 with the catalogue"},
			{"buy_item", "Ask its door without a payment.", "402 with the terms"},
			{"buy_item", "Sign one of the offers and repeat the identical request.",
				"200 with the goods and a certificate"},
			{"verify_artifact", "Check the certificate.", "200, valid is true"},
		}},
	{"Before paying a stranger", "A door asks for money and nobody here knows it.",
		[]struct{ route, do, expect string }{
			{"look_v1", "Read the door and what the record holds of its host.", "200 with now and held"},
			{"before_you_pay_v1", "Ask whether your client would sign these terms.", "200, would_sign or why not"},
			{"host", "Read the weeks in which it was not ready, and those in which we did not look.", "200"},
		}},
	{"From a broken door to a ready one", "A seller's door is refused by buyers.", []struct{ route, do, expect string }{
		{"preflight_v2", "Read the door with the census's battery.", "200 with the failed checks"},
		{"defects", "Look the failed check up.", "200"},
		{"preflight_v2", "Read it again after the repair.", "200, verdict ready"},
		{"declare_door", "Have it walked by the census.", "200, doors"},
	}},
}

// waysIn are all routes by name.
func (s *Source) waysIn() map[string]api.Route {
	all := make(map[string]api.Route)
	for _, d := range s.docs {
		for _, r := range d.Routes() {
			if !r.Internal {
				all[r.Name] = r
			}
		}
	}
	for _, r := range s.API {
		if !r.Internal {
			all[r.Name] = r
		}
	}
	return all
}

func depsAtlas(s *Source, _ int, d *Digester) {
	depsCatalogue(s, 0, d)
	d.digest(s.api)
}

func renderAtlas(s *Source, _ Unit, _ string, _ attest.Digest) ([]byte, error) {
	routes := s.waysIn()
	out := atlas{Context: "https://schema.org", Type: "Collection", Name: s.Site.Config.Title, URL: s.Base +
		"/atlas.json",
		Says: "What can be done here, by what one wants to do. Paths in braces take a value.", Tasks: []atlasTask{},
		Journeys: []atlasJourney{}, Doors: []atlasDoor{}}
	least := s.leastPrice()
	for _, g := range goals {
		task := atlasTask{Goal: g.goal, Note: g.note}
		for _, name := range g.routes {
			if r, ok := routes[name]; ok {
				task.Call = append(task.Call, r.Method+" "+r.Pattern)
			}
		}
		if task.Call != nil {
			out.Tasks = append(out.Tasks, task)
		}
	}
	for _, t := range travels {
		journey := atlasJourney{Name: t.name, When: t.when}
		for _, step := range t.steps {
			r, ok := routes[step.route]
			if !ok {
				break
			}
			cost := "0"
			if r.Paid {
				cost = "from " + least
			}
			journey.Steps = append(journey.Steps, atlasStep{Do: step.do, Endpoint: r.Pattern, Method: r.Method,
				Cost: cost, Expect: step.expect})
		}
		if len(journey.Steps) == len(t.steps) { // a site without these routes has no such journey
			out.Journeys = append(out.Journeys, journey)
		}
	}
	for _, g := range s.Site.Goods {
		out.Doors = append(out.Doors, atlasDoor{Path: "/api/buy/" + g.ID, Name: g.Name, Access: "paid",
			Price: g.PriceUSDC(), Method: "GET", Purpose: g.Description, Caution: g.DoesNotProve})
	}
	var names []string
	for name := range routes {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(routes[a].Pattern+" "+a, routes[b].Pattern+
			" "+b)
	})
	for _, name := range names {
		if r := routes[name]; !r.Paid {
			out.Doors = append(out.Doors, atlasDoor{Path: r.Pattern, Name: r.Name, Access: "free", Price: "0",
				Method: r.Method, Purpose: r.Summary})
		}
	}
	return indented(out)
}

// leastPrice is the price of the cheapest good.
func (s *Source) leastPrice() string {
	if len(s.Site.Goods) == 0 {
		return "0"
	}
	least := s.Site.Goods[0]
	for _, g := range s.Site.Goods {
		if g.Price < least.Price {
			least = g
		}
	}
	return least.PriceUSDC()
}
