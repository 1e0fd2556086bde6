package route

import (
	"net/http"
	"testing"
)

// TestSignedBody: only a covered digest that is the body's makes the body signed.
func TestSignedBody(t *testing.T) {
	const empty = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
	covers := func(covered string) *Agent {
		return &Agent{Name: "a.example k", Covers: func(field string) bool { return field == covered }}
	}
	for name, c := range map[string]struct {
		by     *Agent
		digest []string
		body   string
		want   bool
	}{
		"its digest":       {covers("content-digest"), []string{empty}, "", true},
		"one of several":   {covers("content-digest"), []string{"sha-512=:AA==:", "x=:AA==: , " + empty}, "", true},
		"another body":     {covers("content-digest"), []string{empty}, "x", false},
		"no digest":        {covers("content-digest"), nil, "", false},
		"part of a member": {covers("content-digest"), []string{"a" + empty}, "", false},
		"not covered":      {covers("content-type"), []string{empty}, "", false},
		"nobody":           {nil, []string{empty}, "", false},
	} {
		if got := c.by.SignedBody(http.Header{"Content-Digest": c.digest}, []byte(c.body)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
