package counter

import (
	"net/http"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/route"
)

// prefersHTML reports whether a client, such as a browser, wants a page rather than JSON.
func prefersHTML(r *http.Request) bool {
	return route.Negotiate(strings.Join(r.Header.Values("Accept"), ","), []string{api.JSON, "text/html"}) == 1
}
