package visitors

import (
	"net/http"

	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/templates"
)

// answer gives v as JSON, or what sheet makes of it as a page or its twin, by Accept. The page gets
// its chrome here.
func (d *Service) answer(w http.ResponseWriter, r *http.Request, status int, v any,
	sheet func() *templates.SheetView) error {
	return route.Answer(w, r, status, v, func() *templates.SheetView {
		view := sheet()
		view.Chrome, view.Page.NoIndex = d.cfg.Chrome(), true
		return view
	})
}
