package counter

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/content/api"
)

// The routes are described as they are served, and each says what it answers to a body that it
// cannot take.
func TestRoutesAreDescribed(t *testing.T) {
	described := Described(nil).Rows()
	if len(described) == 0 {
		t.Fatal("no route is described")
	}
	for _, r := range described {
		var said []int
		for _, a := range r.Responses {
			// The terms are said to programs and to people.
			again := slices.Contains(said, a.Status) && a.Status >= 400 && a.ContentType != api.HTML
			if again || http.StatusText(a.Status) == "" {
				t.Errorf("%s: status %d is said twice, or is none", r.Name, a.Status)
			}
			said = append(said, a.Status)
		}
		// Whoever holds no token learns of nothing.
		missing := slices.Contains(said, http.StatusNotFound) || slices.Contains(said, http.StatusUnauthorized)
		if strings.Contains(r.Pattern, "id}") && r.Tag != "buy" && !missing {
			t.Errorf("%s does not say what it answers where there is none: %v", r.Name, said)
		}
		if r.Body == nil {
			continue
		}
		if !slices.Contains(said, http.StatusBadRequest) {
			t.Errorf("%s takes a body and does not say what it answers to a bad one: %v", r.Name, said)
		}
	}
}
