package till

import (
	"net/http"
	"strings"
)

// prefersHTML reports whether a client is a browser asking for a page.
func prefersHTML(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}
