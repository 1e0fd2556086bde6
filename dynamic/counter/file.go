package counter

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"time"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// fileRow is the route of goods that are fetched.
func (c *Counter) fileRow() route.Row {
	return route.Row{
		Name: "purchase_file", Method: http.MethodGet, Pattern: "/api/purchase-status/{purchase_id}/file",
		Tag: "purchase", Serve: api.Private, Summary: "The file that was bought",
		Description: "The bytes of a good that is a file, as often as its buyer likes, for the holder of the " +
			"status token. At most 64 MiB, to be saved and never shown: its own type, an attachment, sandboxed. " +
			"Parts of it by Range, with the SHA-256 of the whole as ETag, so that what broke off goes on.",
		Params: []api.Param{
			{Name: "purchase_id", In: api.Path, Type: "string", Required: true, MinLength: 1, MaxLength: 64,
				Pattern: "^[a-z0-9_]+$", Description: "recovery.purchase_id"},
			{Name: "Authorization", In: api.Header, Type: "string", MaxLength: bearerLength,
				Description: "Bearer and recovery.status_token; in a header alone"},
		},
		Responses: append([]api.Response{
			{Status: http.StatusOK, ContentType: "application/octet-stream",
				Headers: append([]string{"Content-Disposition", "ETag"}, private...), Description: "The file"},
			{Status: http.StatusPartialContent, ContentType: "application/octet-stream",
				Headers: append([]string{"Content-Disposition", "ETag"}, private...), Description: "A part of it"},
		}, route.Problems(401, 404, 412, 416, 503)...),
		Handle: c.serveFile,
	}
}

// Within how long a file is fetched, and each piece of it: a client that reads nothing is let go.
const (
	fileTime  = time.Hour
	pieceTime = 30 * time.Second
)

// serveFile answers GET /api/purchase-status/{purchase_id}/file. What is in the file is the
// keeper's, or an upstream's: nothing in a browser shows or runs it here.
func (c *Counter) serveFile(w http.ResponseWriter, r *http.Request) error {
	f, body, err := c.till.File(r.Context(), r.PathValue("purchase_id"), bearer(r))
	if errors.Is(err, fs.ErrNotExist) {
		return &problem.Error{Code: "not_found", Detail: "This purchase has no file here: it is not delivered yet, " +
			"it bought something else, or its file was taken away. Its state stands without /file."}
	}
	if err != nil {
		return c.problem(err, request{})
	}
	defer body.Close()
	h := w.Header()
	h["Content-Type"] = []string{f.MediaType}
	h["Cache-Control"] = privateNoStore
	h["Content-Security-Policy"] = []string{"default-src 'none'; sandbox"}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["Content-Disposition"] = []string{mime.FormatMediaType("attachment", map[string]string{"filename": f.Name})}
	h["Etag"] = []string{`"` + f.SHA256 + `"`}
	to := &pieces{ResponseWriter: w, control: http.NewResponseController(w), until: time.Now().Add(fileTime)}
	http.ServeContent(to, r, "", time.Time{}, body)
	if !to.refused {
		return nil
	}
	for _, name := range []string{"Content-Type", "Content-Disposition", "Etag", "Accept-Ranges", "Content-Length"} {
		h.Del(name)
	}
	if to.status != http.StatusRequestedRangeNotSatisfiable {
		return &problem.Error{Code: "precondition_failed", Detail: "The file is another than your condition names. " +
			"Fetch it without the condition."}
	}
	return &problem.Error{Code: "range_not_satisfiable",
		Header: http.Header{"Content-Range": {fmt.Sprintf("bytes */%d", f.Bytes)}},
		Detail: "The range is beyond the end of the file or malformed; Content-Range has its length."}
}

// pieces writes a file piece by piece, each within its time, and withholds the refusals of
// http.ServeContent, which speaks plain text.
type pieces struct {
	http.ResponseWriter
	control *http.ResponseController
	until   time.Time
	status  int
	refused bool
}

// WriteHeader implements http.ResponseWriter.
func (p *pieces) WriteHeader(status int) {
	p.status = status
	if p.refused = status >= 400; !p.refused {
		p.ResponseWriter.WriteHeader(status)
	}
}

var errSlow = errors.New("counter: the file was fetched for too long")

// Write implements io.Writer.
func (p *pieces) Write(b []byte) (int, error) {
	if p.refused {
		return len(b), nil
	}
	now := time.Now()
	if now.After(p.until) {
		return 0, errSlow
	}
	// A writer without a connection has no deadline.
	if err := p.control.SetWriteDeadline(now.Add(pieceTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return p.ResponseWriter.Write(b)
}
