package problem

import (
	"encoding/json/v2"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const base = "https://store.example"

func write(t *testing.T, method, target string, e *Error) (*http.Response, map[string]any) {
	t.Helper()
	rec := httptest.NewRecorder()
	status := Write(rec, httptest.NewRequest(method, target, nil), base, e)
	res := rec.Result()
	if res.StatusCode != status {
		t.Errorf("status on the wire %d, returned %d", res.StatusCode, status)
	}
	if method == http.MethodHead {
		return res, nil
	}
	var doc map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		t.Fatalf("body is not JSON: %v\n%s", err, rec.Body)
	}
	return res, doc
}

func TestEveryCodeIsWritten(t *testing.T) {
	for _, c := range Codes {
		res, doc := write(t, "GET", "/api/buy/hello?detail=private", &Error{Code: c.Code})
		if res.StatusCode != c.Status {
			t.Errorf("%s: status %d, want %d", c.Code, res.StatusCode, c.Status)
		}
		want := map[string]any{
			"type": base + "/problems/" + c.Code, "title": c.Title, "status": float64(c.Status),
			"detail": c.Title + ".", "error": c.Title + ".", "instance": "/api/buy/hello",
		}
		if d := cmp.Diff(doc, want); d != "" {
			t.Errorf("%s: got - want +\n%s", c.Code, d)
		}
		if got := res.Header.Get("Content-Type"); got != ContentType {
			t.Errorf("%s: Content-Type %q", c.Code, got)
		}
		if got := res.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control %q", c.Code, got)
		}
	}
}

func TestCodesAreUniqueAndSorted(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range Codes {
		if seen[c.Code] || c.Title == "" || c.Status < 400 || c.Status > 599 {
			t.Errorf("bad row %+v", c)
		}
		seen[c.Code] = true
	}
	if !slices.IsSortedFunc(Codes, func(a, b Code) int {
		if a.Status != b.Status {
			return a.Status - b.Status
		}
		return strings.Compare(a.Code, b.Code)
	}) {
		t.Error("Codes is not sorted by status and code")
	}
}

func TestMembersAndHeaders(t *testing.T) {
	e := &Error{
		Code: "payment_unknown", Detail: "Not known yet.", Retry: 1500 * time.Millisecond,
		Fields:  []Field{{"detail", "too long"}},
		Header:  http.Header{"Cache-Control": {"private, no-store"}, "Payment-Response": {"e30="}},
		Payment: &Payment{Billed: "unknown", Retry: "same_payment", NextStep: "Present it again."},
		Extra:   map[string]any{"recovery": map[string]any{"purchase_id": "p1"}},
		Err:     errors.New("secret cause"),
	}
	res, doc := write(t, "GET", "/x", e)
	want := map[string]any{
		"type": base + "/problems/payment_unknown", "title": "The outcome of the payment is not known yet",
		"status": 503.0, "detail": "Not known yet.", "error": "Not known yet.", "instance": "/x",
		"errors":    []any{map[string]any{"field": "detail", "problem": "too long"}},
		"delivered": false, "billed": "unknown", "retry": "same_payment", "next_step": "Present it again.",
		"recovery": map[string]any{"purchase_id": "p1"},
	}
	if d := cmp.Diff(doc, want); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	for name, want := range map[string]string{
		"Retry-After": "2", "Cache-Control": "private, no-store", "Payment-Response": "e30=",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestHeadHasNoBody(t *testing.T) {
	rec := httptest.NewRecorder()
	Write(rec, httptest.NewRequest("HEAD", "/x", nil), base, &Error{Code: "not_found"})
	if rec.Body.Len() != 0 {
		t.Errorf("HEAD answered with %d bytes", rec.Body.Len())
	}
	if rec.Header().Get("Content-Length") == "" {
		t.Error("HEAD answer has no Content-Length")
	}
}

func TestFaultsOfTheMakerBecomeInternal(t *testing.T) {
	for name, e := range map[string]*Error{
		"unknown code":       {Code: "no_such_code", Detail: "secret"},
		"reserved member":    {Code: "sold_out", Extra: map[string]any{"status": 200}},
		"value without JSON": {Code: "sold_out", Extra: map[string]any{"f": func() {}}},
	} {
		_, doc := write(t, "GET", "/x", e)
		if doc["type"] != base+"/problems/internal" || doc["error"] == "secret" {
			t.Errorf("%s: got %v", name, doc)
		}
	}
}

func TestErrorText(t *testing.T) {
	cause := errors.New("disk full")
	e := &Error{Code: "ledger_unavailable", Detail: "try later", Err: cause}
	if got, want := e.Error(), "ledger_unavailable: try later: disk full"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if !errors.Is(e, cause) {
		t.Error("the cause is not found by errors.Is")
	}
}
