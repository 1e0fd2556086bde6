package kit_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/cmd/devnet/laboratory"
)

// payTo is where nobody holds a key.
const payTo = "0x000000000000000000000000000000000000dEaD"

// A seller's build is red because his POST door is not found with GET. He does what the fix says,
// and nothing more, and it is green.
func TestLongFixOfAPostDoor(t *testing.T) {
	for _, stack := range []string{"express-post", "fastify-post"} {
		t.Run(stack, func(t *testing.T) {
			port := laboratory.FreePort(t)
			door := "http://localhost:" + port + "/paid"
			stop := laboratory.Sell(t, stack, port, payTo, "DECLARE=none")
			junit := filepath.Join(t.TempDir(), "junit.xml")
			code, out, errs := run(t, "-local", "-sarif", "-", "-junit", junit, door)
			xml, err := os.ReadFile(junit)
			if code != kit.ExitFound || err != nil {
				t.Fatalf("undeclared: exit %d, %v\n%s%s", code, err, out, errs)
			}
			// On the word of its owner it is asked all the same, and the word is marked.
			code, said, errs := run(t, "-local", "-method", "post", door)
			if code != kit.ExitFine || !strings.Contains(said, "asked with POST, declared by caller") {
				t.Errorf("on the owner's word: exit %d\n%s%s", code, said, errs)
			}
			stop()

			for _, form := range []string{out, string(xml)} {
				declare := regexp.MustCompile(`\{(?:\\?"|&#34;)version.*?\}`).FindString(form)
				declare = strings.NewReplacer("&#34;", `"`, `\"`, `"`, "/path/of/the/door", "/paid").Replace(declare)
				if !strings.Contains(declare, "/paid") {
					t.Fatalf("no fix that can be done in\n%s", form)
				}
				port := laboratory.FreePort(t)
				stop := laboratory.Sell(t, stack, port, payTo, "DECLARE="+declare)
				code, out, errs := run(t, "-local", "http://localhost:"+port+"/paid")
				if code != kit.ExitFine || !strings.Contains(out, "declared by /.well-known/x402") {
					t.Errorf("mended by %s: exit %d\n%s%s", declare, code, out, errs)
				}
				stop()
			}
		})
	}
}

// What a seller says of his own door is asked, with his data, once, and is judged again from its
// recording; of a stranger's door nobody's word is taken.
func TestMethodAndData(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.Header.Get("Content-Type")+" "+string(body))
		if r.Method == http.MethodPost && strings.Contains(string(body), "Lisbon") {
			practiceDoor(w, r, "http", "dust-correct")
			return
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	file, saved := filepath.Join(dir, "data.json"), filepath.Join(dir, "recording")
	if err := os.WriteFile(file, []byte(`{"city":"Lisbon"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{`{"city":"Lisbon"}`, "@" + file} {
		asked = nil
		code, out, errs := run(t, "-local", "-json", "-data", data, "-save", saved, s.URL+"/paid")
		if want := `POST application/json {"city":"Lisbon"}`; code != kit.ExitFine || len(asked) != 1 ||
			asked[0] != want {
			t.Errorf("%s: exit %d, asked %q, want %q\n%s%s", data, code, asked, want, out, errs)
		}
		_, again, errs := run(t, "-json", "-method", "POST", "-exchange", saved)
		if again != out {
			t.Errorf("judged again: %s\n%s\nwant\n%s", errs, again, out)
		}
		var report struct {
			Method struct {
				Declared string `json:"declared_by"`
			} `json:"probe_method"`
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil || report.Method.Declared != "caller" {
			t.Errorf("%v, declared by %q", err, report.Method.Declared)
		}
	}
	if code, out, _ := run(t, "-local", "-method", "POST", s.URL+"/paid"); code != kit.ExitFound {
		t.Errorf("without the data that the door needs: exit %d\n%s", code, out)
	}
	large := filepath.Join(dir, "large.json")
	if err := os.WriteFile(large, fmt.Appendf(nil, "%q", strings.Repeat("x", 256<<10)), 0o600); err != nil {
		t.Fatal(err)
	}
	asked = nil
	for _, c := range []struct{ says, args string }{
		{"with -local or -allow-network", "-method POST https://door.example/"},
		{"with -local or -allow-network", "-data {} https://door.example/"},
		{"GET or POST", "-local -method DELETE " + s.URL},
		{"goes with -method POST", "-local -method GET -data {} " + s.URL},
		{"own files", "-local -method POST -discover " + s.URL},
		{"not JSON", "-local -data {city} " + s.URL},
		{"no such file", "-local -data @" + dir + "/none " + s.URL},
		{"larger than", "-local -data @" + large + " " + s.URL},
	} {
		if code, out, errs := run(t, strings.Fields(c.args)...); code != kit.ExitUsage ||
			!strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, no %q in\n%s%s", c.args, code, c.says, out, errs)
		}
	}
	if len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
}
