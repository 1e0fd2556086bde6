package dynamic_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"store.example/agentstore/dynamic"
)

// A process that answers is alive; it is ready while everything that buyers need is, and says what
// is not.
func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	var away error
	s, err := dynamic.New(dynamic.Config{BaseURL: "https://store.example", Ready: []func(context.Context) error{
		func(context.Context) error { return nil }, func(context.Context) error { return away }}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path string) (int, string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "127.0.0.1:4021"
		s.Debug().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, err := range []error{nil, errors.New("no network takes payments"), nil} {
		away = err
		if code, body := ask("/healthz"); code != 200 {
			t.Errorf("healthz with %v: %d %s", err, code, body)
		}
		if code, body := ask("/readyz"); (code == 200) != (err == nil) || err != nil && !strings.Contains(body,
			err.Error()) {
			t.Errorf("readyz with %v: %d %s", err, code, body)
		}
	}
	s.Debug()
	m := dynamic.NewMetrics()
	m.Money("eip155:8453", "delivered", 500_000)
	m.Money("eip155:8453", "delivered", 1)
	all, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	told := false
	for _, f := range all {
		if f.GetName() == "store_usdc_atomic_total" {
			told = f.GetMetric()[0].GetCounter().GetValue() == 500_001
		}
	}
	if !told {
		t.Error("the money is not counted")
	}
}
