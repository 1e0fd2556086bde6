package kit_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
)

// A door that does not say which method it takes has one thing to mend: it is one result, which
// says once what to do, and the text and JUnit say it once too.
func TestAMissingMethodIsToldOnce(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	for status, rule := range map[string]string{"404": "status-402", "405": "method_unresolved",
		"501": "method_unresolved"} {
		junit := filepath.Join(t.TempDir(), "junit.xml")
		code, out, errs := run(t, "-local", "-sarif", "-", "-junit", junit, s.URL+"/"+status)
		var log struct {
			Runs []struct {
				Results []struct {
					RuleID  string
					Message struct{ Text string }
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &log); err != nil || code != kit.ExitFound || len(log.Runs) != 1 {
			t.Fatalf("%s: exit %d, %v %s", status, code, err, errs)
		}
		xml, err := os.ReadFile(junit)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := run(t, "-local", s.URL+"/"+status)
		results := log.Runs[0].Results
		if len(results) != 1 || results[0].RuleID != rule {
			t.Errorf("%s: %+v, want one result of %s", status, results, rule)
		}
		for form, said := range map[string]string{"SARIF": results[0].Message.Text, "text": text,
			"JUnit": string(xml)} {
			fixes := strings.Count(said, "declare POST in /.well-known/x402") +
				strings.Count(said, "Declare the method on the door")
			if fixes != 1 || strings.Contains(said, "..") {
				t.Errorf("%s as %s says %d times what to do:\n%s", status, form, fixes, said)
			}
		}
	}
}
