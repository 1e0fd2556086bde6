package dynamic

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// query answers an address whose query names a file of a family, with the bytes and the entity tag
// of that file, or of the document that stands for all of them.
func (s *Server) query(d *document) route.Handler {
	q := d.Query
	form := regexp.MustCompile(d.Params[0].Pattern)
	head, tail, _ := strings.Cut(d.Path, "{"+d.Params[0].Name+"}")
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header()["Vary"] = varyAll
		value := route.Inputs(r).String(q.Param.Name)
		snap := w.(*call).snap
		refusal := func(code, detail string) error {
			return &problem.Error{Code: code, Detail: detail + " See " + q.Known + ".",
				Extra: map[string]any{q.Known: snap.values(head, tail)}}
		}
		at := head + value + tail
		if value == "" && q.Without != "" {
			at = q.Without
		} else if !form.MatchString(value) {
			return refusal(q.Malformed, "Nothing was read: "+q.Param.Name+" must be "+lowerFirst(q.Param.Description))
		}
		p := snap.pages[at]
		if p == nil {
			return refusal("not_found", "There is no "+q.Missing+" "+value+".")
		}
		a, err := snap.answer(p.reps[0], joined(r.Header["Accept-Encoding"]))
		if err != nil {
			return unreadable(err)
		}
		w.Header().Set("Content-Location", at)
		if _, err := s.serveContent(w, r, a); err != nil {
			return unreadable(err)
		}
		return nil
	}
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// values are those for which a family has a file, sorted. They are looked for once a snapshot.
func (snap *snapshot) values(head, tail string) []string {
	key := head + "{}" + tail
	if known, ok := snap.known.Load(key); ok {
		return known.([]string)
	}
	all := []string{}
	for urlPath := range snap.pages {
		if value, ok := strings.CutPrefix(urlPath, head); ok {
			if value, ok = strings.CutSuffix(value, tail); ok && !strings.Contains(value, "/") {
				all = append(all, value)
			}
		}
	}
	slices.Sort(all)
	snap.known.Store(key, all)
	return all
}
