package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runner runs one check in Node.js: the folder of the program, then the files of one check.
const runner = `
const fs = require("fs"), path = require("path");
const [program, folder, ...names] = process.argv.slice(2);
require(path.join(program, "wasm_exec.js"));
(async () => {
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(fs.readFileSync(path.join(program, "verify.wasm")), go.importObject);
  go.run(instance);
  const files = names.map((name) => ({ name, bytes: new Uint8Array(fs.readFileSync(path.join(folder, name))) }));
  let rows = 0;
  try {
    const answer = await verifyStore(files, { keys: "", checkpoint: "", asOf: process.env.AS_OF || "" }, (done, all) => { rows = all; });
    console.log(JSON.stringify({ ...answer, rows }));
  } catch (e) {
    console.log(JSON.stringify({ error: e.message }));
  }
  process.exit(0);
})();
`

type answered struct {
	Sound, Unproven           bool
	Text, Report, Head, Error string
	Rows                      int
}

// TestVerifierInNode gives the program a bundle, a clone and spoilt ones, outside of a browser.
func TestVerifierInNode(t *testing.T) {
	dir, evidence, part := writeRecord(t)
	prog := program(t)
	script := filepath.Join(t.TempDir(), "run.js")
	if err := os.WriteFile(script, []byte(runner), 0o644); err != nil {
		t.Fatal(err)
	}
	check := func(folder string, names ...string) answered {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "node",
			append([]string{script, prog, folder}, names...)...).Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var a answered
		if err := json.Unmarshal(out, &a); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return a
	}
	bundles := t.TempDir()
	put := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bundles, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("good.json", evidence)
	put("part.json", part)
	put("bad.json", []byte(strings.Replace(string(evidence), "not_ready", "not_reads", 1)))
	if a := check(bundles, "good.json"); !a.Sound || !strings.Contains(a.Text, "verified: 2 rounds, 2 rows") ||
		!strings.Contains(a.Report, `"judged_again": 2`) {
		t.Errorf("a good bundle: %+v", a)
	}
	if a := check(bundles, "part.json"); a.Sound || !a.Unproven ||
		!strings.Contains(a.Text, "UNPROVEN: door03.example: its history: 1 of its 2 rows not here, of round 1") ||
		!strings.Contains(a.Report, `"from": 1`) {
		t.Errorf("a part of a history: %+v", a)
	}
	t.Setenv("AS_OF", "2026-W40")
	if a := check(bundles, "good.json"); a.Sound || !a.Unproven ||
		!strings.Contains(a.Text, "UNPROVEN: anything as of 2026-W40") {
		t.Errorf("a good bundle as of a later week: %+v", a)
	}
	t.Setenv("AS_OF", "")
	if a := check(bundles, "bad.json"); a.Sound || a.Unproven || a.Error != "" ||
		!strings.Contains(a.Text, "NOT verified") {
		t.Errorf("a changed bundle: %+v", a)
	}
	var names []string
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != ".lock" {
			name, err = filepath.Rel(filepath.Dir(dir), name)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := check(filepath.Dir(dir), names...); !a.Sound || !strings.Contains(a.Text, "44 rows") ||
		!strings.Contains(a.Head, "store.example/corpus\n") || a.Rows != 44 {
		t.Errorf("a clone: %+v", a)
	}
	if a := check(filepath.Dir(dir), names[1:]...); a.Sound || a.Error == "" && !strings.Contains(a.Text, "missing") {
		t.Errorf("a clone without %s: %+v", names[0], a)
	}
}
