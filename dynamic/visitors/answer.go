package visitors

import (
	"encoding/json/v2"
	"net/http"
	"strconv"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// forms are those in which answers are given, the first where nothing else is wanted.
var forms = []string{api.JSON, "text/markdown", "text/html"}

// wants is the form that a request asks for.
func wants(r *http.Request) (form int) {
	return max(0, route.Negotiate(strings.Join(r.Header.Values("Accept"), ","), forms))
}

// answer gives v as JSON, or what sheet makes of it as a page or its twin, by Accept.
func (d *Desk) answer(w http.ResponseWriter, r *http.Request, status int, v any,
	sheet func() *templates.SheetView) error {
	form := wants(r)
	return respond(w, status, form, func() ([]byte, error) { return d.render(form, v, sheet) })
}

// render makes a form of an answer. The page gets its chrome here.
func (d *Desk) render(form int, v any, sheet func() *templates.SheetView) ([]byte, error) {
	if form == 0 {
		return json.Marshal(v, json.Deterministic(true))
	}
	view := sheet()
	view.Chrome, view.Page.NoIndex = d.cfg.Chrome(), true
	if form == 1 {
		return templates.Markdown(view)
	}
	return templates.HTML(view)
}

// respond writes what render makes of an answer in a form.
func respond(w http.ResponseWriter, status, form int, render func() ([]byte, error)) error {
	b, err := render()
	if err != nil {
		return err
	}
	h, mediaType := w.Header(), forms[form]
	if form > 0 {
		mediaType += "; charset=utf-8"
	}
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	h.Set("Vary", "Accept, Accept-Encoding, User-Agent")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client went away: nobody is left to tell
	return nil
}
