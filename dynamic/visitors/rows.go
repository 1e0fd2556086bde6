package visitors

import (
	"net/http"
	"slices"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/route"
)

// tag groups these routes in the API description.
const tag = "free shelf"

// Rows are the routes of this service.
func (d *Service) Rows() []route.Row {
	return slices.Concat(d.guestbookRows(), d.bellRows(), d.stampRows(), d.letterRows(), d.tipRows(), d.requestRows())
}

// write makes the row of something that a visitor leaves. Nothing of it may be cached.
func write(r api.Route, b *api.Body, responses []api.Response, h route.Handler) route.Row {
	r.Method, r.Serve, r.Tag, r.Body, r.Responses = http.MethodPost, api.Private, tag, b, responses
	return route.Row{Route: r, Handle: h}
}

// reading makes the row of what anybody may read.
func reading(r api.Route, responses []api.Response, h route.Handler) route.Row {
	r.Method, r.Tag, r.Responses = http.MethodGet, tag, responses
	return route.Row{Route: r, Handle: h}
}

func body[T any](what string) *api.Body {
	return &api.Body{ContentType: api.JSON, Schema: api.StrictSchemaFor[T](), Limit: maxBody, Description: what}
}

// created describes a 201 with a T, and what may go wrong.
func created[T any](description string) []api.Response {
	return route.Answers[T](http.StatusCreated, description, 400, 409, 413, 415, 429, 503)
}

func idParam(name, prefix, what string) api.Param {
	return api.Param{Name: name, In: api.Path, Type: "string", Required: true, MinLength: len(prefix) + 20,
		MaxLength: len(prefix) + 20, Pattern: "^" + prefix + "[a-z2-7]{20}$", Description: what}
}
