package problem

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ContentType is the media type of a problem document.
const ContentType = "application/problem+json"

// members that Extra may not replace.
var members = []string{"type", "title", "status", "detail", "instance", "error", "errors", "delivered", "billed",
	"retry", "next_step"}

// Own reports whether a member belongs to the document itself, so that Extra may not hold it.
func Own(name string) bool { return slices.Contains(members, name) }

// Write answers a request with a problem document and returns its status. The fields of e.Header
// are set over those the answer has already; without a Cache-Control that forbids storing there is
// one. For HEAD the body is left out.
func Write(w http.ResponseWriter, r *http.Request, baseURL string, e *Error) int {
	status, body := Document(r.URL.EscapedPath(), baseURL, e)
	e.Send(w, r, status, ContentType, body)
	return status
}

// Send answers a request with the error in a form of its own.
func (e *Error) Send(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	e.Head(h)
	// What belonged to the answer that was asked for.
	for _, f := range []string{"ETag", "Content-Encoding", "Content-Location", "Accept-Ranges", "Last-Modified"} {
		h.Del(f)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// The client went away: nobody is left to tell.
		_, _ = w.Write(body)
	}
}

// Head sets the fields of an answer that says this, in whatever form it does.
func (e *Error) Head(h http.Header) {
	maps.Copy(h, e.Header)
	if !strings.Contains(h.Get("Cache-Control"), "no-store") {
		h.Set("Cache-Control", "no-store")
	}
	if e.Retry > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.Retry+time.Second-1)/time.Second), 10))
	}
}

// Document is the problem document about what was asked of a path, and its status, for carriers
// other than an HTTP answer.
func Document(path, baseURL string, e *Error) (int, []byte) {
	status, body, err := render(path, baseURL, e)
	if err != nil {
		// Only an Extra that is no JSON value gets here; the tests of its maker find it.
		status, body, _ = render(path, baseURL, &Error{Code: "internal", Payment: e.Payment, Header: e.Header})
	}
	return status, body
}

// render makes the document. Members stand in a fixed order: those of RFC 9457, the older error,
// then what e adds.
func render(path, baseURL string, e *Error) (int, []byte, error) {
	row, known := Lookup(e.Code)
	if !known {
		row, _ = Lookup("internal")
	}
	status := cmp.Or(e.Status, row.Status)
	detail := e.Detail
	if detail == "" || !known {
		detail = row.Title + "."
	}

	var buf bytes.Buffer
	enc := jsontext.NewEncoder(&buf)
	var failed error
	put := func(name string, value any) {
		if failed == nil {
			failed = enc.WriteToken(jsontext.String(name))
		}
		if failed == nil {
			failed = json.MarshalEncode(enc, value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		}
	}
	failed = enc.WriteToken(jsontext.BeginObject)
	put("type", baseURL+"/problems/"+row.Code)
	put("title", row.Title)
	put("status", status)
	put("detail", detail)
	put("instance", path)
	put("error", detail)
	if len(e.Fields) > 0 {
		put("errors", e.Fields)
	}
	if e.Payment == nil && e.Account == nil && e.Next != "" {
		put("next_step", e.Next)
	}
	if p := e.Payment; p != nil {
		put("delivered", p.Delivered)
		put("billed", p.Billed)
		put("retry", p.Retry)
		put("next_step", p.NextStep)
	}
	if a := e.Account; a != nil && e.Payment == nil {
		var delivered, billed any = a.Delivered, a.Billed
		if a.Unknown {
			delivered, billed = nil, nil
		}
		put("delivered", delivered)
		put("billed", billed)
		put("retry", a.Retry)
		put("next_step", a.NextStep)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Extra)) {
		if Own(name) {
			return 0, nil, fmt.Errorf("problem %s: the extra member %q is one of the document's own", row.Code, name)
		}
		put(name, e.Extra[name])
	}
	if failed == nil {
		failed = enc.WriteToken(jsontext.EndObject)
	}
	if failed != nil {
		return 0, nil, fmt.Errorf("rendering problem %s: %w", row.Code, failed)
	}
	return status, buf.Bytes(), nil
}
