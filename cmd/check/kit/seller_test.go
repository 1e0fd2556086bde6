package kit_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
)

// practiceDoor answers as a practice door does.
func practiceDoor(w http.ResponseWriter, r *http.Request, scheme, id string) {
	for _, p := range practice.All() {
		if p.ID == id {
			a := p.Answer(scheme + "://" + r.Host + r.URL.Path)
			maps.Copy(w.Header(), a.Header)
			w.WriteHeader(a.Status)
			w.Write(a.Body)
			return
		}
	}
	http.NotFound(w, r)
}

// A seller reads his own server before it is anywhere: http, localhost, any port. What -local may
// not read stays refused.
func TestLocalDoors(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		practiceDoor(w, r, "http", strings.TrimPrefix(r.URL.Path, "/"))
	}))
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, c := range []struct {
		name string
		args []string
		want int
		says string
	}{
		{"localhost", []string{"-local", "http://localhost:" + port + "/dust-correct"}, kit.ExitFine, "READY"},
		{"an address", []string{"-local", "http://127.0.0.1:" + port + "/dust-correct"}, kit.ExitFine, "READY"},
		{"not ready", []string{"-local", "http://localhost:" + port + "/empty-accepts"}, kit.ExitFound, "FAIL"},
		{"without -local", []string{"http://localhost:" + port + "/dust-correct"}, kit.ExitTrouble, "target_refused"},
		{"another machine", []string{"-local", "http://10.1.2.3:" + port + "/"}, kit.ExitTrouble, "target_refused"},
		{"a public name", []string{"-local", "https://door.example/"}, kit.ExitTrouble,
			"leave it out for a public door"},
	} {
		code, out, errs := run(t, c.args...)
		if code != c.want || !strings.Contains(out+errs, c.says) {
			t.Errorf("%s: exit %d, want %d, and %q in\n%s%s", c.name, code, c.want, c.says, out, errs)
		}
	}
	// One that cannot be read hides nothing of the others.
	for door, want := range map[string]int{"/dust-correct": kit.ExitTrouble, "/empty-accepts": kit.ExitBoth} {
		code, out, errs := run(t, "-local", "https://door.example/", "http://localhost:99999/", s.URL+door)
		if code != want || !strings.Contains(out, s.URL+door) || strings.Count(errs, "reading http") != 2 {
			t.Errorf("beside two others %s: exit %d, want %d\n%s%s", door, code, want, out, errs)
		}
	}
}

// A token goes to the seller's own networks, is in no recording, and never to another's.
func TestHeadersForStaging(t *testing.T) {
	const token = "Bearer staging-token"
	var seen atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization"))
		if r.Header.Get("Signature") != "" || r.Header.Get("Signature-Agent") != "" {
			t.Error("it signs as somebody, and has no address at which that could be verified")
		}
		practiceDoor(w, r, "http", "dust-correct")
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "door.recording")
	code, out, errs := run(t, "-local", "-save", file, "-header", "authorization: "+token, s.URL+"/paid")
	raw, err := os.ReadFile(file)
	if code != kit.ExitFine || seen.Load() != token || err != nil {
		t.Fatalf("exit %d, the door saw %v, %v\n%s%s", code, seen.Load(), err, out, errs)
	}
	if strings.Contains(string(raw)+out+errs, "staging-token") {
		t.Error("the token is in the recording or in the text")
	}
	for _, args := range [][]string{{"-header", "X-Token: a", "https://door.example/"},
		{"-local", "-header", "no colon staging-token", s.URL}, {"-local", "-header", "Host: evil.example", s.URL},
		{"-local", "-header", "X-A: staging-token\r\nX-B: c", s.URL}} {
		if code, _, errs := run(t, args...); code != kit.ExitUsage ||
			strings.Contains(errs, "takes Name: value: staging") {
			t.Errorf("%q: exit %d %s", args, code, errs)
		}
	}
}

// A door that needs inputs is asked with those that the host's own description gives as an example;
// one without is not called broken for wanting them.
func inputs(t *testing.T, s *httptest.Server, files map[string]string) {
	t.Helper()
	const parameter = `{"get":{"responses":{"402":{}},"parameters":[{"name":"city","in":"query","required":true%s}]}}`
	for _, c := range []struct {
		file, example string
		want          int
		says          string
	}{
		{"well-known", `,"example":"Lisbon"`, kit.ExitFine, "/need?city=Lisbon"},
		{"openapi alone", `,"schema":{"examples":["Lisbon"]}`, kit.ExitFine, "/need?city=Lisbon"},
		{"no example", ``, kit.ExitTrouble, "not judged: inputs needed"},
		{"a wrong one", `,"schema":{"enum":["Faro"]}`, kit.ExitFound, "/need?city=Faro"},
	} {
		files["/.well-known/x402"] = `{"version":1,"resources":["/a"]}`
		if c.file == "well-known" {
			files["/.well-known/x402"] = `{"version":1,"resources":["/a","/need"]}`
		}
		files["/openapi.json"] = `{"paths":{"/need":` + fmt.Sprintf(parameter, c.example) + `}}`
		code, out, errs := run(t, "-local", "-discover", s.URL)
		if code != c.want || !strings.Contains(out+errs, c.says) || !strings.Contains(out, s.URL+"/a\n") {
			t.Errorf("%s: exit %d, want %d, and %q in\n%s%s", c.file, code, c.want, c.says, out, errs)
		}
	}
	files["/openapi.json"] = `{"paths":{"/by-post-need":{"post":{"responses":{"402":{}}}}}}`
	if code, out, errs := run(t, "-local", "-discover", s.URL); code != kit.ExitTrouble ||
		!strings.Contains(errs, "not judged: inputs needed") {
		t.Errorf("a body: exit %d\n%s%s", code, out, errs)
	}
}

// A host's own files name its doors and how each is asked.
func TestDiscover(t *testing.T) {
	files := map[string]string{}
	var posts atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if file, ok := files[r.URL.Path]; ok {
			fmt.Fprint(w, file)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/need" && r.URL.Query().Get("city") != "Lisbon" ||
			r.URL.Path == "/by-post-need" && r.Method == http.MethodPost && string(body) != `{"city":"Lisbon"}` {
			http.Error(w, "city lacks", http.StatusBadRequest)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/by-post") && r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodPost {
			posts.Add(1)
		}
		practiceDoor(w, r, "http", "dust-correct")
	}))
	t.Cleanup(s.Close)
	if code, _, errs := run(t, "-local", "-discover", s.URL); code != kit.ExitTrouble ||
		!strings.Contains(errs, "name no door") {
		t.Errorf("without files: exit %d %s", code, errs)
	}
	files["/.well-known/x402"] = `{"version":1,"resources":[{"resource":"` + s.URL +
		`/a","type":"http"},"https://elsewhere.example/b"]}`
	files["/openapi.json"] = `{"openapi":"3.1.0","paths":{
		"/a":{"get":{"responses":{"402":{}}}},
		"/c":{"get":{"responses":{"200":{},"402":{}}}},
		"/free":{"get":{"responses":{"200":{}}}},
		"/items/{id}":{"get":{"responses":{"402":{}}}}}}`
	code, out, errs := run(t, "-local", "-json", "-discover", s.URL)
	var reports []probe.Report
	if err := json.Unmarshal([]byte(out), &reports); err != nil || code != kit.ExitFine || len(reports) != 2 ||
		reports[0].URL != s.URL+"/a" || reports[1].URL != s.URL+"/c" {
		t.Errorf("exit %d, %v, %d reports\n%s%s", code, err, len(reports), out, errs)
	}
	inputs(t, s, files)
	if code, _, errs := run(t, "-discover", "host/with/path"); code != kit.ExitTrouble ||
		!strings.Contains(errs, "takes a host") {
		t.Errorf("a path: exit %d %s", code, errs)
	}
	if code, _, _ := run(t, "-discover", "a.example", "https://b.example/"); code != kit.ExitUsage {
		t.Errorf("both: exit %d", code)
	}
}

// Only what got worse since the baseline fails a build.
func TestBaseline(t *testing.T) {
	answer := "testnet-network"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		practiceDoor(w, r, "http", answer)
	}))
	t.Cleanup(s.Close)
	base := filepath.Join(t.TempDir(), "baseline.json")
	_, out, _ := run(t, "-local", "-json", s.URL+"/paid")
	if err := os.WriteFile(base, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, answer, failOn string
		want                 int
	}{
		{"the same", "testnet-network", "not_ready", kit.ExitFine},
		{"better", "dust-correct", "not_ready", kit.ExitFine},
		{"another check", "empty-accepts", "not_ready", kit.ExitFound},
		{"a named check, as before", "testnet-network", "network-mainnet", kit.ExitFine},
		{"an advisory, as before", "testnet-network", "advisory", kit.ExitFine},
	} {
		answer = c.answer
		if code, out, errs := run(t, "-local", "-baseline", base, "-fail-on", c.failOn, s.URL+"/paid"); code != c.want {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.name, code, c.want, out, errs)
		}
	}
	answer = "testnet-network"
	if code, _, _ := run(t, "-local", "-baseline", base, s.URL+"/another"); code != kit.ExitFound {
		t.Errorf("a door that the baseline does not know: exit %d", code)
	}
	for _, bad := range []string{"[{}]", "{", `{"URL":"x"}`} {
		if err := os.WriteFile(base, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := run(t, "-local", "-baseline", base, s.URL); code != kit.ExitUsage ||
			!strings.Contains(errs, "not what -json writes") {
			t.Errorf("%s: exit %d %s", bad, code, errs)
		}
	}
	if code, _, errs := run(t, "-baseline", base+"x", s.URL); code != kit.ExitUsage ||
		!strings.Contains(errs, "make it with -json") {
		t.Errorf("no file: exit %d %s", code, errs)
	}
}

// A check that -fail-on names and that was not reached is not taken for one that holds.
func TestNotReachedIsFound(t *testing.T) {
	base, flags := doors(t)
	for _, c := range []struct {
		check string
		want  int
	}{{"payto-payable", kit.ExitFound}, {"reachable", kit.ExitFine}} {
		if code, out, _ := run(t, append(flags, "-fail-on", c.check, base+"/malformed-header")...); code != c.want {
			t.Errorf("%s: exit %d, want %d\n%s", c.check, code, c.want, out)
		}
	}
}

// A door that refuses GET and says nothing more has a result in each form, with what to do.
func TestMethodUnresolved(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	sarif, junit := filepath.Join(dir, "a.sarif"), filepath.Join(dir, "a.xml")
	code, out, errs := run(t, "-local", "-sarif", sarif, "-junit", junit, s.URL+"/paid")
	if code != kit.ExitFound || !strings.Contains(out, "fix: Send Allow") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	log, err := os.ReadFile(sarif)
	if err != nil || !strings.Contains(string(log), `"ruleId": "method_unresolved"`) ||
		!strings.Contains(string(log), "Send Allow with the 405") ||
		!strings.Contains(string(log), `"informationUri"`) {
		t.Errorf("SARIF: %v\n%s", err, log)
	}
	var suites struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	raw, err := os.ReadFile(junit)
	if err != nil || xml.Unmarshal(raw, &suites) != nil || len(suites.Suites) != 1 ||
		suites.Suites[0].Failures == 0 || suites.Suites[0].Cases[0].Failure == nil {
		t.Errorf("JUnit: %v\n%s", err, raw)
	}
}

// The hosts file is the only list of names that -local reads.
func TestHostsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	text := "# comment\n127.0.0.1 localhost\n10.9.8.7\tShop.test shop # ours\nfe80::1%eth0 zoned\nnonsense shop\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"shop.test": "10.9.8.7", "a.localhost": "127.0.0.1", "zoned": "",
		"else": ""} {
		got, err := kit.Hosts(file, name)
		if want == "" && err == nil || want != "" && (err != nil || got[0] != netip.MustParseAddr(want)) {
			t.Errorf("%s: %v, %v, want %q", name, got, err, want)
		}
	}
}
