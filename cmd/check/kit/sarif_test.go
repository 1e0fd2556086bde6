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

// Each form tells a declaration that contradicts its door with both values, and SARIF with the line
// of the document; a description that is larger than an answer of a door is read all the same, and
// one document is asked for once for all doors of a host.
func TestDriftInEachForm(t *testing.T) {
	const agreeing = `{"url":"/dust-correct","network":"base"}`
	asked := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		switch r.URL.Path {
		case "/openapi.json":
			w.Write([]byte("{\"x\":\"" + strings.Repeat("x", 300<<10) + "\",\n" +
				"\"paths\":{\"/dust-correct\":{\"get\":\n{\"x-payment-info\":{\n\"network\":\"eip155:137\\u001b\"}}}}}"))
		case "/.well-known/x402":
			w.Write([]byte(`{"resources":[` + agreeing + `]}`))
		case "/.well-known/agent-card.json":
			w.Write([]byte("<!doctype html>"))
		default:
			practiceDoor(w, r, "http", strings.TrimPrefix(r.URL.Path, "/"))
		}
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	door, junit := s.URL+"/dust-correct", filepath.Join(dir, "a.xml")
	const says = "declares network eip155:137"
	for _, at := range []string{"", "README.md"} {
		file := filepath.Join(dir, "a.sarif"+at)
		code, out, errs := run(t, "-local", "-drift", "-sarif", file, "-at", at, "-junit", junit, door, door+"?a=b")
		raw, err := os.ReadFile(file)
		var log struct {
			Runs []struct {
				Results []struct {
					RuleID              string
					Message             struct{ Text string }
					Locations           []sarifPlace
					RelatedLocations    []sarifPlace
					PartialFingerprints map[string]string
				}
			}
		}
		if err != nil || json.Unmarshal(raw, &log) != nil || code != kit.ExitDrift || errs != "" {
			t.Fatalf("exit %d, %v %s\n%s", code, err, errs, out)
		}
		drifted, unread := 0, 0
		for _, r := range log.Runs[0].Results {
			place := append(r.RelatedLocations, r.Locations...)[0].PhysicalLocation
			switch r.RuleID {
			case "drift":
				if drifted++; place.ArtifactLocation.URI != s.URL+"/openapi.json" || place.Region.StartLine != 4 ||
					!strings.Contains(r.Message.Text, says) {
					t.Errorf("at %q: %+v", at, r)
				}
			case "declaration-unread":
				unread++
			}
		}
		if drifted != 2 || unread != 2 || !strings.Contains(out, says) || strings.Contains(out, "\x1b") ||
			!strings.Contains(out, "says nothing else than the door: x402") ||
			!strings.Contains(out, "agent-card.json") {
			t.Errorf("at %q: %d and %d results\n%s", at, drifted, unread, out)
		}
	}
	if asked["/openapi.json"] != 2 {
		t.Errorf("two runs asked %d times", asked["/openapi.json"])
	}
	if xml, err := os.ReadFile(junit); err != nil || !strings.Contains(string(xml), `name="drift openapi network"`) {
		t.Errorf("JUnit: %v\n%s", err, xml)
	}
	_, out, _ := run(t, "-local", "-drift", "-json", door)
	var report struct {
		Drift struct{ Findings []map[string]any }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Drift.Findings) != 1 ||
		report.Drift.Findings[0]["live"] != "eip155:8453" || report.Drift.Findings[0]["line"] != 4.0 {
		t.Errorf("JSON: %v\n%s", err, out)
	}
}

type sarifPlace struct {
	PhysicalLocation struct {
		ArtifactLocation struct{ URI string }
		Region           struct{ StartLine int }
	}
}
