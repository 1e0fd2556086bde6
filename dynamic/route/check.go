package route

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"store.example/agentstore/content/api"
)

var (
	goodName    = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	placeholder = regexp.MustCompile(`\{([a-z][a-z0-9_]*)\}`)
	methods     = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
)

// Check says what a row leaves undescribed: every input has a limit, every parameter of the path is
// described, a body has a limit. The server refuses a table with such a row.
func (r Row) Check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("route %s: %s", r.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case !goodName.MatchString(r.Name):
		return fail("the name is not snake_case")
	case !slices.Contains(methods, r.Method):
		return fail("method %q", r.Method)
	case !strings.HasPrefix(r.Pattern, "/") || strings.Contains(r.Pattern, "*") || strings.Contains(r.Pattern, ":"):
		return fail("pattern %q", r.Pattern)
	case r.Summary == "":
		return fail("no summary")
	case r.Serve == "":
		return fail("does not say how it is served")
	case r.Paid != (r.Serve == api.Paid):
		return fail("paid is %v but it is served as %s", r.Paid, r.Serve)
	case r.Body != nil && (r.Body.Limit <= 0 || r.Body.ContentType == ""):
		return fail("the body has no limit or no media type")
	case (r.Version == "") != (r.Since == ""):
		return fail("version %q is served since %q", r.Version, r.Since)
	case r.Tool != "" && !slices.Contains(api.FreeTools, r.Tool):
		return fail("%s is no free tool: content/api lists them", r.Tool)
	case r.Body != nil && r.Method == http.MethodGet:
		return fail("GET has no body")
	}
	var inPath []string
	for _, m := range placeholder.FindAllStringSubmatch(r.Pattern, -1) {
		inPath = append(inPath, m[1])
	}
	if n := strings.Count(r.Pattern, "{"); n != len(inPath) {
		return fail("pattern %q", r.Pattern)
	}
	seen := make(map[string]bool)
	for _, p := range r.Params {
		key := string(p.In) + " " + p.Name
		if p.In == api.Header {
			key = strings.ToLower(key)
		}
		switch {
		case seen[key]:
			return fail("parameter %s is described twice", p.Name)
		case !slices.Contains([]api.In{api.Path, api.QueryP, api.Header}, p.In):
			return fail("parameter %s is in %q", p.Name, p.In)
		case !slices.Contains([]string{"string", "integer", "number", "boolean"}, p.Type):
			return fail("parameter %s has type %q", p.Name, p.Type)
		case p.Type == "string" && p.MaxLength <= 0 && len(p.Enum) == 0:
			return fail("parameter %s has no limit", p.Name)
		case p.Description == "":
			return fail("parameter %s is not described", p.Name)
		case p.Pattern != "" && !(strings.HasPrefix(p.Pattern, "^") && strings.HasSuffix(p.Pattern, "$")):
			return fail("the pattern of %s is not anchored", p.Name)
		case p.In == api.Path && (!p.Required || !slices.Contains(inPath, p.Name)):
			return fail("parameter %s is not in the path or not required", p.Name)
		}
		seen[key] = true
		if _, err := regexp.Compile(p.Pattern); err != nil {
			return fail("the pattern of %s: %v", p.Name, err)
		}
	}
	for _, name := range inPath {
		if !seen[string(api.Path)+" "+name] {
			return fail("path parameter %s is not described", name)
		}
	}
	return nil
}
