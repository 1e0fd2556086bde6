package route

import (
	"encoding/json/v2"
	"net/http"
	"strconv"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/templates"
)

// Send answers with a body that is whole. The other fields of the head were set before. It returns
// nil, so that a handler ends with it: where the client went away, nobody is left to tell.
func Send(w http.ResponseWriter, status int, mediaType string, body []byte) error {
	h := w.Header()
	h["Content-Type"] = []string{mediaType}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}

// JSON answers 200 with v.
func JSON(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	return Send(w, http.StatusOK, api.JSON, b)
}

// Prefer is Negotiate by the Accept fields of a request.
func Prefer(r *http.Request, offers ...string) int {
	return Negotiate(strings.Join(r.Header.Values("Accept"), ","), offers)
}

// Answer gives v as JSON, or what sheet makes of it as a page or its Markdown, by Accept. JSON is
// given where all three are refused.
func Answer(w http.ResponseWriter, r *http.Request, status int, v any, sheet func() *templates.SheetView) error {
	mediaType := api.JSON
	var b []byte
	var err error
	switch Prefer(r, api.JSON, "text/markdown", "text/html") {
	case 1:
		mediaType = api.Markdown
		b, err = templates.Markdown(sheet())
	case 2:
		mediaType = api.HTML
		b, err = templates.HTML(sheet())
	default:
		b, err = json.Marshal(v, json.Deterministic(true))
	}
	if err != nil {
		return err
	}
	w.Header().Set("Vary", "Accept, Accept-Encoding, User-Agent")
	return Send(w, status, mediaType, b)
}

// Answers describes what Answer gives of a T, and the problems beside it.
func Answers[T any](status int, description string, codes ...int) []api.Response {
	return append([]api.Response{
		{Status: status, ContentType: api.JSON, Schema: api.SchemaFor[T](), Description: description},
		{Status: status, ContentType: api.Markdown, Description: description + ", in Markdown"},
		{Status: status, ContentType: api.HTML, Description: description + ", as a page"},
	}, Problems(codes...)...)
}

// OK describes a 200 of JSON, a T, and the problems beside it.
func OK[T any](description string, codes ...int) []api.Response {
	return append([]api.Response{{Status: http.StatusOK, ContentType: api.JSON, Schema: api.SchemaFor[T](),
		Description: description}}, Problems(codes...)...)
}

// Problems describes answers that are problem documents.
func Problems(codes ...int) []api.Response {
	var out []api.Response
	for _, c := range codes {
		out = append(out, api.Response{Status: c, ContentType: problem.ContentType, Description: http.StatusText(c)})
	}
	return out
}
