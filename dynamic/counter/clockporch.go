package counter

import (
	"net/http"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/templates"
	"store.example/agentstore/templates/drawing"
)

// Porch is the answer of GET /porch.
type Porch struct {
	Line  string `json:"line"`
	Hour  string `json:"hour"`  // RFC 3339 UTC, its beginning
	Until string `json:"until"` // when the next line is said
	Part  string `json:"part"`  // night, morning, afternoon, evening
	// Season is of the north, by the month.
	Season      string `json:"season"`
	Weather     string `json:"weather"` // of the shop
	WeatherSays string `json:"weather_says"`
	// SealedWeek is the week of the record that the weather is of, "" for none.
	SealedWeek string `json:"sealed_week,omitzero"`
	Seats      int    `json:"seats"`
	SeatsSay   string `json:"seats_say"`
	ForSale    bool   `json:"for_sale"` // never
	KeepsakeAt string `json:"keepsake_url"`
}

const seatsSay = "Seats that are out at this hour. Nobody counts who sits on them."

// servePorch answers GET /porch.
func (c *Clock) servePorch(w http.ResponseWriter, r *http.Request) error {
	site, now := c.Site.Now(), c.Now().UTC()
	if !site.Porch.Open() {
		return &problem.Error{Code: "not_found", Detail: "This shop has no porch: its keeper has written no lines " +
			"for one."}
	}
	hour := now.Truncate(time.Hour)
	until, e := hour.Add(time.Hour), c.edition(site, hour)
	return c.answer(w, r, e, clockPage{"/porch", now, until}, func() (any, templates.View) {
		weather := e.weather
		p := Porch{Line: site.Porch.Line(hour, weather), Hour: moment(hour), Until: moment(until),
			Part: content.DayPart(hour), Season: content.Season(hour), Weather: weather.Word,
			WeatherSays: weather.Says(), SealedWeek: weather.Week,
			Seats: content.Seats(hour, weather), SeatsSay: seatsSay, KeepsakeAt: c.BaseURL + "/porch/line"}
		return p, &templates.PorchView{Chrome: e.chrome, Page: templates.Page{Title: "The porch", Path: "/porch",
			Summary: "A line an hour, and somewhere to sit. Nothing is for sale out here."},
			Line: p.Line, Hour: p.Hour, Until: p.Until, Season: p.Season, Weather: p.Weather,
			WeatherSays: p.WeatherSays, SealedWeek: p.SealedWeek, Seats: p.Seats,
			Drawing: templates.Markup(drawing.Porch(hour.Hour(), p.Season, p.Weather, p.Seats))}
	})
}
