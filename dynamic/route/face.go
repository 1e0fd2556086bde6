package route

import (
	"net/http"

	"store.example/agentstore/content/api"
)

// Face is a route as plain data: its description, and a handler of a T that is bound to one later.
// So the routes of a part can be described where there is no such part.
type Face[T any] struct {
	api.Route
	Handle       func(T, http.ResponseWriter, *http.Request) error
	ValidateLate bool // as of Row
	SpendLate    bool // as of Row
	OnAccount    bool // as of Row
}

// Routes returns the descriptions of faces.
func Routes[T any](faces []Face[T]) []api.Route {
	routes := make([]api.Route, len(faces))
	for i, f := range faces {
		routes[i] = f.Route
	}
	return routes
}

// Bind makes the rows of faces that to answers.
func Bind[T any](to T, faces []Face[T]) []Row {
	rows := make([]Row, len(faces))
	for i, f := range faces {
		rows[i] = Row{Route: f.Route, ValidateLate: f.ValidateLate, SpendLate: f.SpendLate,
			OnAccount: f.OnAccount,
			Handle:    func(w http.ResponseWriter, r *http.Request) error { return f.Handle(to, w, r) }}
	}
	return rows
}
