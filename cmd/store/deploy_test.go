package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/dynamic"
)

var metricForm = regexp.MustCompile(`\bstore_[a-z_]+`)

// Every metric that the dashboard and the alert rules name is one that the store has.
func TestDashboardsNameWhatIsMeasured(t *testing.T) {
	t.Parallel()
	names := dynamic.NewMetrics().Names()
	for file, least := range map[string]int{"grafana.json": 12, "alerts.yml": 9} {
		b, err := os.ReadFile(filepath.Join("deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, name := range metricForm.FindAllString(string(b), -1) {
			found[name] = true
			if name = strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"); !slices.Contains(names, name) {
				t.Errorf("%s names %s, which is not measured", file, name)
			}
		}
		if len(found) < least {
			t.Errorf("%s names %d metrics", file, len(found))
		}
	}
	b, err := os.ReadFile("deploy/grafana.json")
	if err != nil || !json.Valid(b) {
		t.Errorf("the dashboard is no JSON: %v", err)
	}
}

var execForm = regexp.MustCompile(`(?m)^ExecStart=(?:/bin/sh -c 'exec )?/usr/local/bin/(store [^\n']*)`)

// The commands of the units, and of the container, are calls that the store understands.
func TestUnitsCallWhatThereIs(t *testing.T) {
	t.Parallel()
	units, err := filepath.Glob("deploy/*.service")
	if err != nil || len(units) < 4 {
		t.Fatal(units, err)
	}
	for _, unit := range units {
		b, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		m := execForm.FindSubmatch(b)
		if m == nil {
			t.Errorf("%s calls nothing", unit)
			continue
		}
		words := strings.Fields(string(m[1]))[1:]
		if i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "backup-") }); i >= 0 {
			words = words[:i] // the file, which comes after the flags
		}
		var out, said bytes.Buffer
		if code := run(t.Context(), append(words, "-h"), &out, &said); code != 0 ||
			!strings.Contains(said.String(), "usage: store "+words[0]) {
			t.Errorf("%s: store %q: exit code %d: %s", unit, words, code, said.String())
		}
		if timer := strings.TrimSuffix(unit, ".service") + ".timer"; unit != "deploy/store.service" {
			if _, err := os.Stat(timer); err != nil {
				t.Error(err)
			}
		}
	}
	b, err := os.ReadFile("deploy/Containerfile")
	if err != nil || !strings.Contains(string(b), `CMD ["serve", "-listen", "0.0.0.0:4020", "-config",`) || !strings.Contains(string(b), "USER 65532") {
		t.Errorf("the container: %v", err)
	}
}

// systemd understands the units, where there is one to ask.
func TestSystemdReadsTheUnits(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze")
	}
	units, err := filepath.Glob("deploy/*.*e*r*")
	if err != nil {
		t.Fatal(err)
	}
	units = slices.DeleteFunc(units, func(u string) bool {
		return filepath.Ext(u) != ".service" && filepath.Ext(u) != ".timer"
	})
	out, _ := exec.CommandContext(t.Context(), program, append([]string{"verify", "--man=no"},
		units...)...).CombinedOutput()
	dir := t.TempDir()
	var said bytes.Buffer
	shopDir := filepath.Join(dir, "shop")
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"init", "-base-url", "http://127.0.0.1:4020", shopDir}, 0},
		{[]string{"install-service", "-config", shopDir + "/store.toml", "-user", "keeper", "-to", dir}, 0},
		{[]string{"install-service", "-config", shopDir + "/store.toml", "-user", "keeper", "-to", dir}, 0},
		{[]string{"install-service", "-config", shopDir + "/store.toml", "-to", dir}, 1},
		{[]string{"install-service", "-config", shopDir + "/store.toml", "-user", "a b", "-to", dir}, 2},
		{[]string{"install-service", "-config", shopDir + "/store.toml", "-to", dir, "-force", "-user", "keeper"}, 0},
	} {
		said.Reset()
		if code := run(t.Context(), c.args, &said, &said); code != c.want {
			t.Fatalf("store %q: exit code %d: %s", c.args, code, said.String())
		}
	}
	if !strings.Contains(said.String(), "systemctl enable --now store.service store-backup.timer") {
		t.Errorf("it does not say how they are turned on: %s", said.String())
	}
	var installed []string
	for _, u := range units {
		at := filepath.Join(dir, filepath.Base(u))
		b, err := os.ReadFile(at)
		if err != nil || strings.Contains(string(b), "/var/lib/store") || strings.Contains(string(b), unitProgram) {
			t.Errorf("%s, %v:\n%s", u, err, b)
		}
		installed = append(installed, at)
	}
	more, _ := exec.CommandContext(t.Context(), program, append([]string{"verify", "--man=no"},
		installed...)...).CombinedOutput()
	out = append(out, more...)
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "store") && !strings.Contains(line, "is not executable") &&
			!strings.Contains(line, "No such file") {
			t.Error(line)
		}
	}
}

// The completions and the manual page hold every verb and flag, and bash reads its own.
func TestCompletionsAndManual(t *testing.T) {
	t.Parallel()
	var man bytes.Buffer
	if code := run(t.Context(), []string{"man"}, &man, &man); code != 0 {
		t.Fatal(man.String())
	}
	for shell := range shells {
		var out, said bytes.Buffer
		if code := run(t.Context(), []string{"completion", shell}, &out, &said); code != 0 {
			t.Fatalf("%s: %s", shell, said.String())
		}
		for _, v := range describe() {
			for _, word := range append(v.follow(), v.name) {
				if word = strings.TrimPrefix(word, "-"); !strings.Contains(out.String(), word) ||
					!strings.Contains(man.String(), strings.ReplaceAll(word, "-", `\-`)) {
					t.Errorf("%s: %s is not completed, or not in the manual", shell, word)
				}
			}
		}
		if program, err := exec.LookPath(shell); err == nil && shell == "bash" {
			script := out.String() + "\nCOMP_WORDS=(store keeper pa); COMP_CWORD=2; _store; echo \"${COMPREPLY[*]}\""
			got, err := exec.CommandContext(t.Context(), program, "-c", script).CombinedOutput()
			if err != nil || strings.TrimSpace(string(got)) != "pay paid" {
				t.Errorf("bash completes %q, %v", got, err)
			}
		}
	}
	var help, said bytes.Buffer
	if code := run(t.Context(), []string{"keeper", "help"}, &help, &help); code != 0 {
		t.Errorf("keeper help: %d", code)
	}
	for _, v := range shop.Verbs() { // a row each, which is no wider than a screen
		row := regexp.MustCompile(`(?m)^  ` + strings.TrimSpace(v.Name+" "+v.About()) + ` +\S.{0,75}$`)
		if !row.Match(help.Bytes()) {
			t.Errorf("%s is not in the table:\n%s", v.Name, help.String())
		}
	}
	if code := run(t.Context(), []string{"completion", "tcsh"}, &said, &said); code != 2 {
		t.Errorf("an unknown shell: exit code %d", code)
	}
	if code := run(t.Context(), []string{"version"}, &said, &said); code != 0 || !strings.Contains(said.String(),
		"go1.") {
		t.Errorf("version: %d, %s", code, said.String())
	}
}

// A store is told to read its configuration again: how much it logs holds at once, and a
// configuration with a fault changes nothing.
func TestHangupReads(t *testing.T) { // not parallel: the signal is the process's
	file := filepath.Join(t.TempDir(), "store.toml")
	write := func(level string) {
		c := shop.Example()
		c.Server.LogLevel = level
		if err := os.WriteFile(file, []byte(shop.Annotated(c)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("info")
	log := make(lines, 1)
	c := &call{stderr: &bytes.Buffer{}, logger: slog.New(slog.NewTextHandler(log, nil))}
	defer c.reloads(file, func() error { return nil })()
	for _, step := range []struct {
		level, says string
		want        slog.Level
	}{{"debug", "was read again", slog.LevelDebug}, {"loud", "was not read again", slog.LevelDebug},
		{"error", "was read again", slog.LevelError}} {
		write(step.level)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if said := <-log; !strings.Contains(said, step.says) || c.level.Level() != step.want {
			t.Errorf("after %s the level is %s: %s", step.level, c.level.Level(), said)
		}
	}
}

// lines are what a logger says, one by one.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}
