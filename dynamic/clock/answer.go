package clock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

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

func problems(codes ...int) []api.Response {
	var out []api.Response
	for _, code := range codes {
		out = append(out, api.Response{Status: code, ContentType: problem.ContentType,
			Description: http.StatusText(code)})
	}
	return out
}

// answer writes one of the forms of what holds until a moment: for longer no cache may give it out.
// A reader's own copy is asked about after a minute, so that no window stays open on an old hour.
func answer(w http.ResponseWriter, r *http.Request, now, until time.Time, data any,
	page func() templates.View) error {
	h := w.Header()
	h.Set("Vary", "Accept, Accept-Encoding, User-Agent")
	form := route.Negotiate(strings.Join(r.Header.Values("Accept"), ","), offered)
	if form < 0 {
		return &problem.Error{Code: "not_acceptable",
			Detail: "This address answers with " + strings.Join(offered, ", ") + ", and Accept refuses all of them."}
	}
	var body []byte
	var err error
	switch form {
	case 0:
		body, err = api.Marshal(data)
	case 1:
		body, err = templates.Markdown(page())
	case 2:
		body, err = templates.HTML(page())
	}
	if err != nil {
		return err
	}
	left := max(0, int(until.Sub(now)/time.Second)) // whole seconds, rounded down
	sum := sha256.Sum256(body)
	h.Set("Content-Type", sent[form])
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(min(60, left))+", s-maxage="+strconv.Itoa(left))
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	return nil
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }
