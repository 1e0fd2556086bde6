package kit_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
)

// walked are doors whose answers change between two runs: each is the practice door that is named.
func walked(t *testing.T) (base string, answers map[string]string) {
	t.Helper()
	answers = map[string]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if file, ok := answers[r.Host+r.URL.Path]; ok {
			w.Write([]byte(file))
			return
		}
		practiceDoor(w, r, "http", answers[r.URL.Path])
	}))
	t.Cleanup(s.Close)
	return s.URL, answers
}

// Each exit code is reached, and what was found hides nothing of what could not be found out, nor
// the other way about: with and without a baseline, and where a file could not be written.
func TestEveryExitCode(t *testing.T) {
	base, answers := walked(t)
	dir := t.TempDir()
	file, nowhere := filepath.Join(dir, "baseline.json"), filepath.Join(dir, "none", "file")
	a, b, refused := base+"/a", base+"/b", "https://10.0.0.1/"
	answers["/a"], answers["/b"] = "testnet-network", "dust-correct"
	host := strings.TrimPrefix(base, "http://")
	answers[host+"/.well-known/x402"] = `{"resources":[{"url":"/b","network":"base","payTo":"` + "0x" +
		strings.Repeat("1", 40) + `"}]}`
	_, out, errs := run(t, "-local", "-drift", "-json", a, b)
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil || errs != "" {
		t.Fatal(err, errs)
	}
	reached := map[int]bool{}
	for _, c := range []struct {
		name, now string // what /a and /b answer now
		args      []string
		want      int
	}{
		{"nothing named", "testnet-network dust-correct", []string{"-fail-on", "never", a, b}, kit.ExitFine},
		{"ready", "testnet-network dust-correct", []string{b}, kit.ExitFine},
		{"found", "testnet-network dust-correct", []string{a, b}, kit.ExitFound},
		{"trouble", "testnet-network dust-correct", []string{b, refused}, kit.ExitTrouble},
		{"trouble first", "testnet-network dust-correct", []string{refused, b}, kit.ExitTrouble},
		{"both", "testnet-network dust-correct", []string{a, refused}, kit.ExitBoth},
		{"both, trouble first", "testnet-network dust-correct", []string{refused, a, b}, kit.ExitBoth},
		{"drift", "testnet-network dust-correct", []string{"-drift", b}, kit.ExitDrift},
		{"drift and more", "testnet-network dust-correct", []string{"-drift", a, b}, kit.ExitFound},
		{"drift and trouble", "testnet-network dust-correct", []string{"-drift", b, refused}, kit.ExitBoth},
		{"drift, not asked of", "testnet-network dust-correct", []string{"-drift", "-fail-on", "never", b},
			kit.ExitFine},
		{"drift, as before", "testnet-network dust-correct", []string{"-drift", "-baseline", file, a, b}, kit.ExitFine},
		{"drift of a recording", "testnet-network dust-correct", []string{"-drift", "-exchange", file}, kit.ExitUsage},
		{"all refused", "testnet-network dust-correct", []string{refused}, kit.ExitTrouble},
		{"usage", "testnet-network dust-correct", []string{"-colour", a}, kit.ExitUsage},
		{"found, and not written", "testnet-network dust-correct", []string{"-sarif", nowhere, a}, kit.ExitBoth},
		{"found, and no JUnit", "testnet-network dust-correct", []string{"-junit", nowhere, a}, kit.ExitBoth},
		{"fine, and not written", "testnet-network dust-correct", []string{"-sarif", nowhere, b}, kit.ExitTrouble},

		{"as before", "testnet-network dust-correct", []string{"-baseline", file, a, b}, kit.ExitFine},
		{"better", "dust-correct dust-correct", []string{"-baseline", file, a, b}, kit.ExitFine},
		{"one worse", "testnet-network empty-accepts", []string{"-baseline", file, a, b}, kit.ExitFound},
		{"one better, one worse", "dust-correct empty-accepts", []string{"-baseline", file, a, b}, kit.ExitFound},
		{"bad in another way", "empty-accepts dust-correct", []string{"-baseline", file, a, b}, kit.ExitFound},
		{"as before, and trouble", "testnet-network dust-correct", []string{"-baseline", file, a, b, refused},
			kit.ExitTrouble},
		{"worse, and trouble", "testnet-network empty-accepts", []string{"-baseline", file, a, b, refused},
			kit.ExitBoth},
		{"no baseline, and trouble", "dust-correct dust-correct", []string{"-baseline", nowhere, a, refused},
			kit.ExitUsage},
	} {
		answers["/a"], answers["/b"], _ = strings.Cut(c.now, " ")
		code, out, errs := run(t, append([]string{"-local"}, c.args...)...)
		if code != c.want {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.name, code, c.want, out, errs)
		}
		if strings.Contains(strings.Join(c.args, " "), "-baseline") && c.want != kit.ExitUsage {
			junit := filepath.Join(t.TempDir(), "junit.xml")
			run(t, append([]string{"-local", "-junit", junit}, c.args...)...)
			xml, err := os.ReadFile(junit)
			if found := c.want == kit.ExitFound || c.want == kit.ExitBoth; err != nil ||
				found != strings.Contains(string(xml), "<failure") {
				t.Errorf("%s: found is %v, and JUnit says %v\n%s", c.name, found, err, xml)
			}
		}
		trouble := slices.Contains([]int{kit.ExitTrouble, kit.ExitUsage, kit.ExitBoth}, c.want)
		if trouble != (errs != "") {
			t.Errorf("%s: says %q of trouble", c.name, errs)
		}
		reached[code] = true
	}
	for code := kit.ExitFine; code <= kit.ExitDrift; code++ {
		if !reached[code] {
			t.Errorf("nothing leads to exit %d", code)
		}
	}
}

// What a purchase found before is found again only where it got worse.
func TestBaselineOfAPurchase(t *testing.T) {
	base, answers := walked(t)
	answers["/a"] = "dust-correct"
	file := filepath.Join(t.TempDir(), "baseline.json")
	args := []string{"-local", "-json", "-pay", keyFile(t), "-journal", t.TempDir()}
	code, out, errs := run(t, append(args, base+"/a")...) // it sells nothing: goods fails
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil || code != kit.ExitFound || errs != "" {
		t.Fatalf("exit %d, %v %s", code, err, errs)
	}
	for _, c := range []struct {
		name, before string
		want         int
	}{
		{"as before", out, kit.ExitFine},
		{"goods came before", strings.Replace(out, `"name": "goods",
      "state": "fail"`, `"name": "goods",
      "state": "pass"`, 1), kit.ExitFound},
		{"nothing was bought before", strings.Replace(out, `"purchase"`, `"bought"`, 1), kit.ExitFound},
	} {
		if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.want != kit.ExitFine && c.before == out {
			t.Fatalf("%s: nothing was changed in\n%s", c.name, out)
		}
		junit := filepath.Join(t.TempDir(), "junit.xml")
		if code, out, errs := run(t, append(args, "-junit", junit, "-baseline", file, base+"/a")...); code != c.want {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.name, code, c.want, out, errs)
		}
		if xml, err := os.ReadFile(junit); err != nil || strings.Contains(string(xml), "<failure") !=
			(c.want == kit.ExitFound) {
			t.Errorf("%s: exit %d, and JUnit says %v\n%s", c.name, c.want, err, xml)
		}
	}
}
