package rail

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// Each question to each node is told of, with what came of it; one that its caller gave up is not.
func TestAskedIsTold(t *testing.T) {
	says := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, "{}")
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	down, up := says(http.StatusBadGateway), says(http.StatusOK)
	nodes, err := NewNodes([]string{down, up}, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer nodes.Close()
	var told []string
	nodes.Asked = func(a Asked) { told = append(told, a.Outcome) }
	fine := func([]byte) error { return nil }
	if err := nodes.Ask(t.Context(), nil, fine); err != nil {
		t.Fatal(err)
	}
	if err := nodes.Ask(t.Context(), nil, func([]byte) error { return errors.New("no") }); err == nil {
		t.Error("an answer of no use was taken")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := nodes.Ask(gone, nil, fine); err == nil {
		t.Error("a caller who is gone was answered")
	}
	// The one that failed is asked last while it rests.
	if want := []string{Silent, Answered, Refused, Silent}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
