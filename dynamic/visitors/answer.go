package visitors

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// forms are those in which answers are given, the first where nothing else is wanted.
var forms = []string{api.JSON, "text/markdown", "text/html"}

// answer gives v as JSON, or what sheet makes of it as a page or its twin, by Accept. The page gets
// its chrome here.
func (d *Desk) answer(w http.ResponseWriter, r *http.Request, status int, v any,
	sheet func() *templates.SheetView) error {
	mediaType, render := api.JSON, func() ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }
	if i := route.Negotiate(strings.Join(r.Header.Values("Accept"), ","), forms); i > 0 {
		mediaType = forms[i] + "; charset=utf-8"
		render = func() ([]byte, error) {
			view := sheet()
			view.Chrome, view.Page.NoIndex = d.cfg.Chrome(), true
			if i == 1 {
				return templates.Markdown(view)
			}
			return templates.HTML(view)
		}
	}
	b, err := render()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	h.Set("Vary", "Accept, Accept-Encoding, User-Agent")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client went away: nobody is left to tell
	return nil
}
