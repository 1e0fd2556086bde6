package main

import (
	"bytes"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// asVerify makes the test binary the program verify, for commands that a page names.
const asVerify = "STORE_TEST_AS_VERIFY"

// commands are the lines of code blocks of a page in Markdown.
func commands(page []byte) []string {
	var out []string
	fenced := false
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSuffix(line, "\n")
		switch code, indented := strings.CutPrefix(line, "    "); {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced:
			out = append(out, line)
		case indented:
			out = append(out, code)
		}
	}
	return out
}

// TestCommandsOfTheVerifyPages runs every command that /verify and /verify/run name, as a script
// and in their order, on a shop that was just made, on one with rounds and no key for the
// repository of its record, and on the specimen. A page that cannot name commands that work says
// so.
func TestCommandsOfTheVerifyPages(t *testing.T) {
	made := func(rounds int64) string {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "site")
		say := func(call string) {
			t.Helper()
			var said bytes.Buffer
			if code := run(t.Context(), strings.Fields(call), &said, &said); code != 0 {
				t.Fatalf("store %s: exit code %d: %s", call, code, &said)
			}
		}
		say("init " + dir)
		say("key init -on 2026-01-01 -dir " + filepath.Join(dir, "var", "keys"))
		config := filepath.Join(dir, "store.toml")
		if rounds > 0 {
			raw, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(config, regexp.MustCompile(`(?m)^git = .*$`).ReplaceAll(raw, []byte(`git = ""`)),
				0o644); err != nil {
				t.Fatal(err)
			}
		}
		c, err := shop.Load(config)
		if err != nil {
			t.Fatal(err)
		}
		w, err := shop.RecordWriter(c)
		if err != nil {
			t.Fatal(err)
		}
		for n := range rounds {
			at := time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(n))
			var rows iter.Seq2[record.Row, error] = func(yield func(record.Row, error) bool) {
				yield(record.Row{Host: "a.example", URL: "https://a.example/", Source: record.SourceRevisit,
					Verdict: record.VerdictNotProbed, Reason: "interrupted",
					Battery: "v2", Fault: record.FaultInstrument, Failed: []string{}, Advisories: []string{},
					Protocols: []string{}}, nil)
			}
			if _, err := w.Seal(t.Context(), seal.Draft{Sequence: n + 1, Week: record.ISOWeek(at), TakenAt: at,
				Battery: "v2", Rows: rows}); err != nil {
				t.Fatal(err)
			}
		}
		if err := shop.CoverRecord(t.Context(), c, w); err != nil {
			t.Fatal(err)
		}
		say("build -config " + config)
		return filepath.Join(c.Public, "current")
	}
	specimen, err := specimenConfig()
	if err != nil {
		t.Fatal(err)
	}
	example := shop.Example()
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "verify"), fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec %q \"$@\"\n", asVerify,
		self), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tree, base string
		programs   []string // that the commands of both pages begin with
		says       string
	}{
		"a fresh shop":                  {made(0), example.BaseURL, nil, "has no rounds yet"},
		"a shop with rounds and no key": {made(2), example.BaseURL, nil, "not published as a git repository here"},
		"the specimen": {filepath.Join("..", "..", "public"), specimen.BaseURL,
			[]string{"git", "curl", "git", "git", "verify", "verify", "verify"}, "nobody can take back"},
	} {
		server := httptest.NewServer(http.FileServer(http.Dir(c.tree)))
		var programs []string
		for _, page := range []string{"verify.md", "verify/run.md"} {
			raw, err := os.ReadFile(filepath.Join(c.tree, filepath.FromSlash(page)))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(raw), c.says) && page == "verify.md" {
				t.Errorf("%s, %s: it does not say %q:\n%s", name, page, c.says, raw)
			}
			lines := commands(raw)
			for _, line := range lines {
				programs = append(programs, strings.Fields(line)[0])
			}
			script := strings.ReplaceAll(strings.Join(lines, "\n"), c.base, server.URL)
			shell := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
			shell.Dir = t.TempDir()
			shell.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
				"HOME="+shell.Dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
			if out, err := shell.CombinedOutput(); err != nil {
				t.Errorf("%s, %s: %v\n%s\n%s", name, page, err, script, out)
			}
		}
		server.Close()
		if !slices.Equal(programs, c.programs) {
			t.Errorf("%s: the commands of its pages are %q, want %q", name, programs, c.programs)
		}
	}
}
