package street

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/networks"
)

// Shapes are the shapes of discovery files that roles have, which are those that sellers publish.
func Shapes() []string {
	return []string{"strings", "methods", "objects", "mixed", "items", "proposal", "openapi", "pointed", "foreign",
		"empty", "words"}
}

// serve answers what is no door: discovery files of roles, and the APIs of lists. It reports
// whether it did.
func (st *stage) serve(v *visit) bool {
	week := weekOf(st.clock.Now())
	a := st.byHost[v.door.Host]
	if a.list != nil {
		if v.URL.Path == "/discovery/resources" {
			st.serveList(v, a.list, week)
		} else {
			http.NotFound(v.ResponseWriter, v.Request)
		}
		return true
	}
	shape := has(a.role.File, week)
	switch {
	case v.URL.Path == "/.well-known/x402" && v.door.Declares == "":
		if shape == "" || shape == "pointed" || shape == "openapi" {
			http.NotFound(v.ResponseWriter, v.Request)
		} else {
			v.json(http.StatusOK, file(shape, a.role, a.role.method(week)))
		}
	case v.URL.Path == "/.well-known/agent.json" && shape == "pointed":
		v.json(http.StatusOK, object{"name": a.role.Host, "x402Discovery": "/x402.json"})
	case v.URL.Path == "/x402.json" && shape == "pointed":
		v.json(http.StatusOK, file("strings", a.role, a.role.method(week)))
	case v.URL.Path == "/openapi.json" && shape == "openapi":
		v.json(http.StatusOK, file(shape, a.role, a.role.method(week)))
	default:
		return false
	}
	return true
}

// method is the one by which a role's door takes requests.
func (r *Role) method(week int) string {
	if strings.HasPrefix(has(r.Plot, week), "post-") {
		return http.MethodPost
	}
	return http.MethodGet
}

// file is a discovery file of a shape. Nothing in it is signed.
func file(shape string, r *Role, method string) object {
	url := r.URL()
	switch shape {
	case "strings":
		return object{"version": 1, "resources": []any{url}}
	case "methods":
		return object{"version": 1, "resources": []any{method + " " + url}, "description": "What this host sells."}
	case "objects":
		return object{"version": 1, "resources": []any{object{"resource": url, "method": method, "type": "http"}}}
	case "mixed":
		return object{"version": 1, "resources": []any{object{"resource": url, "method": method, "type": "http"},
			method + " /" + path}}
	case "proposal":
		return object{"x402Version": 1, "kind": "merchant", "facilitator": object{"baseUrl": "https://facilitator." +
			Domain}, "resources": []any{url}}
	case "items":
		return object{"x402Version": 2, "lastUpdated": "2026-08-20T00:00:00Z",
			"items": []any{object{"resource": object{"url": url}, "type": "http",
				"input": object{"method": method}, "accepts": []any{}}}}
	case "openapi":
		operation := object{"summary": "The weather of one city.",
			"responses": object{"200": object{"description": "the weather"}, "402": object{"description": "terms"}},
			"x-payment-info": object{"price": object{"mode": "fixed", "currency": "USD", "amount": "0.01"},
				"protocols": []any{object{"x402": object{}}}}}
		return object{"openapi": "3.1.0", "info": object{"title": r.Host, "version": "1"},
			"paths": object{"/" + path: object{strings.ToLower(method): operation}}}
	case "foreign":
		return object{"version": 1, "resources": []any{url, "https://elsewhere." + Domain + "/" + path,
			"https://further." + Domain + "/" + path}}
	case "empty":
		return object{"version": 1, "resources": []any{}}
	default: // words
		return object{"hello": "we take x402"}
	}
}

// serveList answers a page of a catalogue in the form of the bazaar's API.
func (st *stage) serveList(v *visit, l *List, week int) {
	number := func(name string, or int) int {
		if n, err := strconv.Atoi(v.URL.Query().Get(name)); err == nil && n >= 0 {
			return n
		}
		return or
	}
	offset, limit := number("offset", 0), min(number("limit", 20), l.Page)
	if limit == 0 {
		limit = l.Page
	}
	if at, breaks := l.Breaks[week]; breaks && offset >= at {
		v.json(http.StatusServiceUnavailable, object{"error": "the index is being rebuilt"})
		return
	}
	all := st.listed(l.Host, week)
	items := []any{}
	for _, r := range all[min(offset, len(all)):min(offset+limit, len(all))] {
		a := networks.Tokens()[0]
		items = append(items, object{"resource": r.URL(), "type": "http", "x402Version": 2,
			"lastUpdated": st.clock.Now().Truncate(24 * time.Hour).Format(time.RFC3339),
			"accepts":     []any{entry(a, "10000")},
			"extensions": object{"bazaar": object{"info": object{"input": object{"type": "http",
				"method": r.method(week)}}}}})
	}
	v.json(http.StatusOK, object{"x402Version": 2, "items": items,
		"pagination": object{"limit": limit, "offset": offset, "total": len(all)}})
}
