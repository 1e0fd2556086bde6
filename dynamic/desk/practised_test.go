package desk_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"store.example/agentstore/corpus/practice"
)

// TestAPersonTriesAPracticeDoor: the page reads this store's own practice doors, as their rows say
// and by asking nobody; it reads nothing else of this store.
func TestAPersonTriesAPracticeDoor(t *testing.T) {
	h := openTest(t, street(t, http.NotFoundHandler()))
	try := func(at, battery string) (int, string) {
		form := url.Values{"url": {at}, "battery": {battery}}.Encode()
		r := httptest.NewRequest("POST", base+"/try", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	if len(practice.Shown()) != 3 {
		t.Fatalf("%d examples", len(practice.Shown()))
	}
	for _, p := range practice.Shown() {
		code, said := try(base+"/api/practice/"+p.ID, "v2")
		if want := `"verdict":"` + string(p.Verdict) + `"`; code != 200 || !strings.Contains(strings.ReplaceAll(said, " ", ""), want) {
			t.Errorf("%s: %d %.300s, want %s", p.ID, code, said, want)
		}
		if code, said = try(base+"/api/practice/"+p.ID, "v1"); code != 200 {
			t.Errorf("%s under v1: %d %.300s", p.ID, code, said)
		}
	}
	for _, at := range []string{"/", "/api/practice/", "/api/practice/none", "/api/practice/dust-correct/../../try",
		"/api/practice/dust-correct?x", "/try"} {
		if code, said := try(base+at, "v2"); code != 400 || !strings.Contains(said, "own_host_refused") {
			t.Errorf("%s: %d %.200s", at, code, said)
		}
	}
}
