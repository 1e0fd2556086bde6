// Package action runs the steps of the repository's GitHub Action as a runner does, for tests.
package action

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// An Action is action.yml, taken apart as far as it goes here.
type Action struct {
	Text     string
	Defaults map[string]string // of the inputs
	Steps    []Step
	dir      string
}

// A Step is a script of bash with its variables.
type Step struct {
	Script string
	Env    map[string]string
}

// Read reads the action of a name.
func Read(t testing.TB, name string) Action {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	a := Action{Defaults: map[string]string{},
		dir: filepath.Join(filepath.Dir(here), "..", "..", "..", ".github", "actions", name)}
	raw, err := os.ReadFile(filepath.Join(a.dir, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	a.Text = string(raw)
	section, input := "", ""
	for line := range strings.Lines(a.Text) {
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch depth := len(line) - len(strings.TrimLeft(line, " ")); {
		case name == "- name":
			a.Steps = append(a.Steps, Step{Env: map[string]string{}})
			section = ""
		case depth == 0 || depth == 6 && section != "inputs":
			if section = name; section == "run" && value != "|" {
				a.Steps[len(a.Steps)-1].Script = value
			}
		case section == "inputs" && depth == 2:
			input = name
			a.Defaults[input] = ""
		case section == "inputs" && name == "default":
			a.Defaults[input] = value
		case section == "run":
			a.Steps[len(a.Steps)-1].Script += strings.TrimPrefix(line, "        ") + "\n"
		case section == "env":
			a.Steps[len(a.Steps)-1].Env[name] = value
		}
	}
	return a
}

// Ran is what became of a step.
type Ran struct {
	Code           int
	Stdout, Stderr string
	Output         string // what the step wrote for later ones
}

// Run runs a step with some inputs, the others at their defaults. dir is the runner's folder for
// what ends with the job; further variables are added as they are.
func (a Action) Run(t testing.TB, step Step, dir string, inputs map[string]string, more ...string) Ran {
	t.Helper()
	output := filepath.Join(dir, "output")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", step.Script)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "RUNNER_TEMP=" + dir, "GITHUB_OUTPUT=" + output}, more...)
	for name, value := range step.Env {
		if value == "${{ github.action_path }}" {
			cmd.Env = append(cmd.Env, name+"="+a.dir)
			continue
		}
		input, ok := strings.CutPrefix(value, "${{ inputs.")
		if !ok {
			t.Fatalf("%s: %s", name, value)
		}
		input = strings.TrimSuffix(input, " }}")
		or, known := a.Defaults[input]
		if !known {
			t.Fatalf("%s is no input", input)
		}
		given, ok := inputs[input]
		if !ok {
			given = or
		}
		cmd.Env = append(cmd.Env, name+"="+given)
	}
	for name := range inputs {
		if _, known := a.Defaults[name]; !known {
			t.Fatalf("%s is no input", name)
		}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	said, _ := os.ReadFile(output)
	return Ran{cmd.ProcessState.ExitCode(), out.String(), errs.String(), string(said)}
}
