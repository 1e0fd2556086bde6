// A Clock answers for what changes with the hour or the week and with nothing that anybody
// sends: the porch, and the page of a wallet's sign. What it says follows from the site, the clock
// and the record, so that replicas say the same; a cache may keep it to the end of the hour or the
// week.

package counter

import (
	"net/http"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// ClockConfig is what a Clock stands on. All fields are required.
type ClockConfig struct {
	BaseURL string
	Site    content.Editions
	Chrome  func() *templates.Chrome
	// Weather is that of the shop in the hour that begins at a time.
	Weather func(hour time.Time) content.Weather
	Now     func() time.Time
}

// Clock answers. Its methods are safe for concurrent use.
type Clock struct {
	ClockConfig
	made route.Memo[edition, keptFor, kept]
}

// Rows are the routes of this clock.
func (c *Clock) Rows() []route.Row {
	return []route.Row{
		{
			Name: "porch", Method: http.MethodGet, Pattern: "/porch", Tag: "storefront",
			Serve: api.Clock, Summary: "The porch: one line an hour, and how many seats are out",
			Description: "What is said there follows from the hour and the weather of the shop, which is what " +
				"the last sealed week of the record and its sales look like. Nothing is for sale on it. It " +
				"changes on the hour, UTC. JSON, Markdown, or a page for browsers.",
			Responses: forms("The porch in this hour", api.SchemaFor[Porch](), route.Problems(404, 406)...),
			Handle:    c.servePorch,
		},
		{
			Name: "zodiac_sign", Method: http.MethodGet, Pattern: "/zodiac/{address}", Tag: "storefront",
			Serve: api.Clock, Summary: "A wallet's sign, and the page of this ISO week for it",
			Description: "The sign is a function of the address in lower case, and permanent. The page is that " +
				"of the ISO week, UTC, and has the same bytes throughout it. JSON, Markdown, or a page for " +
				"browsers.",
			Params: []api.Param{{Name: "address", In: api.Path, Type: "string", Required: true, MinLength: 32,
				MaxLength: 44, Pattern: "^(0[xX][0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$",
				Description: "0x and 40 hexadecimal digits in any case, or the base58 of a Solana public key",
				Example:     "0x000000000000000000000000000000000000dEaD"}},
			Responses: forms("The sign and this week's page", api.SchemaFor[Reading](),
				route.Problems(400, 404, 406)...),
			Handle: c.serveSign,
		},
	}
}
