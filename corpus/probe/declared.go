package probe

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/exchange"
)

// Where a door's own host may declare its method.
const (
	DeclaredByWellKnown = "/.well-known/x402"
	DeclaredByOpenAPI   = "/openapi.json"
)

// ownFiles are the files of a door's host that are read after 404, 405 or 501, in their order.
func ownFiles(door string) []string {
	u, err := url.Parse(door)
	if err != nil || u.Host == "" {
		return nil
	}
	at := u.Scheme + "://" + u.Host
	return []string{at + DeclaredByWellKnown, at + DeclaredByOpenAPI}
}

// IsOwnFile reports whether an address is one of those files.
func IsOwnFile(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.RawQuery == "" && (u.Path == DeclaredByWellKnown || u.Path == DeclaredByOpenAPI)
}

// MaxTime is the most time that all the requests of a look at a door take together.
const MaxTime = 8 * time.Second

// inFile returns what one of the host's own files declares of a door.
func inFile(door string, x exchange.Exchange) Declaration {
	u, err := url.Parse(x.Request.URL)
	if err != nil || x.Response.Status != http.StatusOK || x.Response.Truncated || len(x.Response.Body) > maxItem {
		return Declaration{}
	}
	file := object(x.Response.Body)
	switch {
	case u.Path == DeclaredByWellKnown && listsPost(file, door, x.Request.URL),
		u.Path == DeclaredByOpenAPI && describesPost(file, door):
		return Declaration{Method: http.MethodPost, By: u.Path}
	}
	return Declaration{}
}

// listsPost reads the lists in which sellers name their doors, whatever they call them.
func listsPost(file *exchange.Object, door, base string) bool {
	at, err := url.Parse(base)
	if err != nil {
		return false
	}
	for _, name := range []string{"items", "resources", "endpoints", "services"} {
		list := items(file, name)
		for _, item := range list[:min(len(list), 1000)] {
			switch item := item.(type) {
			case string:
				method, ref, _ := strings.Cut(item, " ")
				u, err := at.Parse(strings.TrimSpace(ref))
				if err == nil && strings.EqualFold(method, http.MethodPost) && sameURL(u.String(), door) {
					return true
				}
			case *exchange.Object:
				if d, ok := listedDoor(item, at); ok && d.Method == http.MethodPost && sameURL(d.URL, door) {
					return true
				}
			}
		}
	}
	return false
}

// describesPost reads an OpenAPI description: the operation post of a path that is the door's,
// below the path of one of its servers (OpenAPI 3.1, sections 4.8.5 and 4.8.8).
func describesPost(file *exchange.Object, door string) bool {
	u, err := url.Parse(door)
	if err != nil {
		return false
	}
	bases := []string{""}
	servers := items(file, "servers")
	for _, s := range servers[:min(len(servers), 16)] {
		server, _ := s.(*exchange.Object)
		if b, err := u.Parse(str(server, "url")); err == nil && b.Host == u.Host {
			bases = append(bases, strings.TrimSuffix(b.Path, "/"))
		}
	}
	for template, item := range obj(file, "paths").All() {
		path, _ := item.(*exchange.Object)
		if obj(path, "post") != nil && slices.ContainsFunc(bases,
			func(base string) bool { return FitsTemplate(base+template, u.Path) }) {
			return true
		}
	}
	return false
}

// FitsTemplate reports whether a path is one of a template's, whose variables are whole segments.
func FitsTemplate(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i, w := range want {
		if w != have[i] && !(strings.HasPrefix(w, "{") && strings.HasSuffix(w, "}") && have[i] != "") {
			return false
		}
	}
	return true
}

// redirect is where a door sends its callers on its own host and scheme, "" for nowhere.
func redirect(r exchange.Redacted) string {
	at, err := url.Parse(r.URL)
	if err != nil || !exchange.IsRedirect(r.Status) || r.Header("Location") == "" {
		return ""
	}
	to, err := at.Parse(r.Header("Location"))
	if err != nil || to.Scheme != at.Scheme || to.Host != at.Host || to.String() == at.String() ||
		exchange.HasStandIn(to.String()) || len(to.String()) > exchange.MaxURL {
		return ""
	}
	to.Fragment = ""
	return to.String()
}

// refuses reports whether a status may mean that the door is asked by another method.
func refuses(status int) bool { return status == http.StatusNotFound || refusesMethod(status) }
