package counter

import (
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/templates"
	"store.example/agentstore/templates/drawing"
)

// Reading is the answer of GET /zodiac/{address}. Nothing in it changes within its week.
type Reading struct {
	Address     string    `json:"address"` // in lower case, as it is read
	Sign        Sign      `json:"sign"`
	Permanent   bool      `json:"permanent"` // always
	HowAssigned string    `json:"how_assigned"`
	Week        string    `json:"week"`            // ISO week
	Starts      string    `json:"starts"`          // RFC 3339 UTC, its Monday
	Until       string    `json:"until"`           // when the next week begins
	Page        *SignPage `json:"page,omitempty"`  // nil where the keeper has written none for this week
	Empty       string    `json:"empty,omitempty"` // why there is none
	ArchiveURL  string    `json:"archive_url"`
	SignsURL    string    `json:"signs_url"`
}

// Sign is one of the twelve.
type Sign struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Says string `json:"says"`
}

// SignPage is what is said to a sign in a week.
type SignPage struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

const noPage = "The keeper has not written for this week. Pages are written a season ahead or not at all."

// serveSign answers GET /zodiac/{address}.
func (c *Clock) serveSign(w http.ResponseWriter, r *http.Request) error {
	address := r.PathValue("address")
	if !isAddress(address) {
		return &problem.Error{Code: "not_found", Detail: "There is nothing at this address: it is neither that of a " +
			"wallet, 0x and 40 hexadecimal digits or the base58 of 32 bytes, nor the archive's."}
	}
	// From here on only its lower case counts: it is what a cache may keep the answer under.
	address = strings.ToLower(address)
	site, now := c.Site.Now(), c.Now().UTC()
	sign, week := content.SignOf(address), content.Week(now)
	starts, _ := content.WeekStart(week)
	until := starts.AddDate(0, 0, 7)
	path, e := "/zodiac/"+address, c.edition(site, now.Truncate(time.Hour))
	return c.answer(w, r, e, clockPage{path, now, until}, func() (any, templates.View) {
		a := Reading{Address: address, Sign: Sign(sign), Permanent: true, HowAssigned: templates.HowAssigned,
			Week: week, Starts: moment(starts), Until: moment(until), ArchiveURL: c.BaseURL + "/zodiac/archive",
			SignsURL: c.BaseURL + "/zodiac"}
		v := &templates.SignView{Chrome: e.chrome, Page: templates.Page{Title: sign.Name, Summary: sign.Says,
			Path: path, NoIndex: true}, Address: address, Week: week, Starts: starts.Format(time.DateOnly),
			Until: until.Format(time.DateOnly), Drawing: templates.Markup(drawing.Sign(sign.ID, sign.Name)),
			Empty: templates.Emptiness{Says: "Nothing is written for " + week + ".", Why: noPage}}
		if i, ok := site.ZodiacPage(sign.ID, week); ok {
			a.Page = &SignPage{Title: i.Summary, Text: site.Expand(i.Body)}
			v.Heading, v.Text = a.Page.Title, a.Page.Text
		} else {
			a.Empty = noPage
		}
		return a, v
	})
}

// isAddress reports whether a text that has the form of an address is one: the base58 of a public
// key is 32 bytes. Hexadecimal digits without their 0x are none.
func isAddress(s string) bool {
	if strings.HasPrefix(s, "0") {
		return true // which base58 does not have
	}
	key, err := wallet.DecodeBase58(s)
	return err == nil && len(key) == 32
}
