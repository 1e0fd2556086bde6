package kit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/cmd/check/kit"
	"store.example/agentstore/cmd/devnet/npmtest"
)

// validate compiles the schema and prints what of each log does not fit it.
const validate = `
const [schema, ...logs] = process.argv.slice(1).map(f => ({f, json: JSON.parse(require('fs').readFileSync(f))}));
const ajv = new (require('ajv/dist/2020').default)({allErrors: true, strict: false});
require('ajv-formats').default(ajv);
const valid = ajv.compile(schema.json);
for (const {f, json} of logs) if (!valid(json)) for (const e of valid.errors) console.log(f, e.instancePath, e.message);`

// readSARIF has logs read by the schema of OASIS (2.1.0) and by the validator of SARIF's authors,
// with the advice of the standard and the rules of GitHub's code scanning, whose package holds the
// schema too. It returns what they found.
func readSARIF(t *testing.T, logs ...string) (found []string) {
	t.Helper()
	modules := npmtest.Packages(t)
	folder := filepath.Join(modules, "@microsoft", "sarif-multitool-linux")
	program := filepath.Join(folder, "Sarif.Multitool")
	// Nothing that a package would run is run when it is installed, so nobody said that this one is
	// a program.
	if err := os.Chmod(program, 0o755); err != nil {
		npmtest.Unavailable(t, err)
	}
	c := exec.CommandContext(t.Context(), program, append(append([]string{"validate"}, logs...), "--rule-kind",
		"Sarif;Gh", "--output", filepath.Join(t.TempDir(), "found.sarif"))...)
	c.Env = append(os.Environ(), "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1",
		"DOTNET_BUNDLE_EXTRACT_BASE_DIR="+t.TempDir())
	out, err := c.CombinedOutput()
	if !strings.Contains(string(out), fmt.Sprint(len(logs), " files scanned")) {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, ": error ") || strings.Contains(line, ": warning ") {
			found = append(found, line)
		}
	}
	c = exec.CommandContext(t.Context(), npmtest.Node(t), append([]string{"-e", validate,
		filepath.Join(folder, "sarif-2.1.0.json")}, logs...)...)
	c.Dir = filepath.Dir(modules)
	schema, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	return append(found, slices.Collect(strings.Lines(string(schema)))...)
}

// Logs with every kind of result are valid by the official schema, and their readers have nothing
// to say about them. One that is spoiled is found.
func TestSARIFIsValid(t *testing.T) {
	base, flags := doors(t)
	post := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	t.Cleanup(post.Close)
	dir := t.TempDir()
	spoiled := filepath.Join(dir, "spoiled.sarif")
	logs := []string{spoiled}
	for _, c := range []struct {
		args []string
		want string // a result that must be there
	}{
		{append(flags, "-at", "README.md", "-pay", keyFile(t), "-journal", dir,
			base+"/dust-correct"), "goods"},
		{append(flags, "-at", "README.md", base+"/testnet-network", base+"/malformed-header", base+"/dust-correct"),
			"network-mainnet"},
		{[]string{"-local", post.URL + "/paid"}, "method_unresolved"},
	} {
		log := filepath.Join(dir, c.want+".sarif")
		logs = append(logs, log)
		if code, _, errs := run(t, append([]string{"-sarif", log}, c.args...)...); code == kit.ExitUsage || errs != "" {
			t.Fatalf("%s: exit %d %s", c.want, code, errs)
		}
		raw, err := os.ReadFile(log)
		if err != nil || !strings.Contains(string(raw), fmt.Sprintf(`"ruleId": %q`, c.want)) {
			t.Fatalf("%v, no %s in\n%s", err, c.want, raw)
		}
		bad := strings.Replace(string(raw), `"level": "error"`, `"level": "bad"`, 1)
		if err := os.WriteFile(spoiled, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := readSARIF(t, logs...)
	for _, line := range found {
		if !strings.Contains(line, spoiled) {
			t.Error(line)
		}
	}
	if !strings.Contains(strings.Join(found, ""), "must be equal to one of the allowed values") {
		t.Errorf("a level that is none was not found: %q", found)
	}
}
