package counter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"

	"github.com/google/jsonschema-go/jsonschema"
)

// offered are the media types of every answer, the default first, and those that they are sent as.
var (
	offered = []string{api.JSON, "text/markdown", "text/html"}
	sent    = []string{api.JSON, api.Markdown, api.HTML}
)

func forms(says string, schema *jsonschema.Schema, more ...api.Response) []api.Response {
	headers := []string{"Cache-Control", "ETag", "Vary"}
	return append([]api.Response{
		{Status: http.StatusOK, ContentType: api.JSON, Schema: schema, Headers: headers, Description: says},
		{Status: http.StatusOK, ContentType: api.Markdown, Headers: headers, Description: says},
		{Status: http.StatusOK, ContentType: api.HTML, Headers: headers, Description: says},
	}, more...)
}

// edition is what every answer follows from beside its address.
type edition struct {
	site    *content.Site
	chrome  *templates.Chrome
	hour    int64 // Unix seconds
	weather content.Weather
}

func (c *Clock) edition(site *content.Site, hour time.Time) edition {
	return edition{site, c.Chrome(), hour.Unix(), c.Weather(hour)}
}

// keptFor is what is kept of an edition: an address in one of the forms.
type keptFor struct {
	path string
	form int
}

// kept is a form as it is sent.
type kept struct {
	body []byte
	etag string
}

// clockPage is an address whose answer holds until a moment.
type clockPage struct {
	path  string
	now   time.Time
	until time.Time
}

// answer writes one of the forms of what holds until a moment: for longer no cache may give it out.
// A reader's own copy is asked about after a minute, so that no window stays open on an old hour.
func (c *Clock) answer(w http.ResponseWriter, r *http.Request, e edition, p clockPage,
	says func() (any, templates.View)) error {
	h := w.Header()
	h.Set("Vary", "Accept, Accept-Encoding, User-Agent")
	form := route.Prefer(r, offered...)
	if form < 0 {
		return &problem.Error{Code: "not_acceptable",
			Detail: "This address answers with " + strings.Join(offered, ", ") + ", and Accept refuses all of them."}
	}
	k, err := c.made.Get(e, keptFor{p.path, form}, func() (k kept, err error) {
		data, page := says()
		switch form {
		case 0:
			k.body, err = api.Marshal(data)
		case 1:
			k.body, err = templates.Markdown(page)
		case 2:
			k.body, err = templates.HTML(page)
		}
		sum := sha256.Sum256(k.body)
		k.etag = `"` + hex.EncodeToString(sum[:16]) + `"`
		return k, err
	})
	if err != nil {
		return err
	}
	h.Set("Content-Type", sent[form])
	h.Set("ETag", k.etag)
	mayCache(h, p.now, p.until)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(k.body))
	return nil
}

// mayCache says for how long an answer may be kept: in whole seconds, rounded down.
func mayCache(h http.Header, now, until time.Time) {
	left := max(0, int(until.Sub(now)/time.Second))
	h["Cache-Control"] = []string{"public, max-age=" + strconv.Itoa(min(60, left)) + ", s-maxage=" + strconv.Itoa(left)}
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }
