// Mutate plants small faults in the code that money and signatures depend on, one at a time, and says which of them no
// test sees. It touches no file: the fault is laid over the source for one run of go test.
//
//	go run ./cmd/devnet/mutate [-n 25] [-seed 1] [-only dynamic/till] [-json]
//
// A fault that no test sees is a hole in the tests, or is explained in explained.txt beside this file: a line for each,
// as this program prints it, then " # " and the reason. It exits with 1 when a fault survives that is not explained.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// subject is a package whose tests are tried, and what is run to find a fault in it.
type subject struct {
	dir   string
	files []string // nil: all
	tests []string // packages whose tests are run, one after the other until one fails; nil: its own
}

// subjects is the table of what is tried.
var subjects = []subject{
	{dir: "dynamic/till"},
	{dir: "dynamic/counter", tests: []string{"dynamic/counter", "dynamic/till"}},
	{dir: "dynamic/pay/x402", tests: []string{"dynamic/pay/x402", "dynamic/till"}},
	{dir: "dynamic/settle", tests: []string{"dynamic/settle", "dynamic/rail/facilitator", "dynamic/till"}},
	{dir: "dynamic/settle/gas", tests: []string{"dynamic/settle/gas", "dynamic/till"}},
	{dir: "dynamic/rail/evm"},
	{dir: "dynamic/rail/facilitator"},
	{dir: "dynamic/goods", tests: []string{"dynamic/goods", "dynamic/till"}},
	{dir: "dynamic/budget"},
	{dir: "dynamic/schedule"},
	{dir: "corpus/attest"},
	{dir: "corpus/derive", tests: []string{"corpus/derive", "generator"}},
	{dir: "corpus/fetch"},
	{dir: "corpus/record", files: []string{"seal.go", "row.go", "round.go", "rowfrom.go", "hosts.go"}, tests: []string{"corpus/record", "corpus/audit"}},
}

//go:embed explained.txt
var explanations string

// outcome is what became of one fault.
type outcome struct {
	Package string `json:"package"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	What    string `json:"what"`
	Killed  bool   `json:"killed"`
	Why     string `json:"why,omitempty"` // of one that survives, where it is explained
	id      string
}

func main() {
	n := flag.Int("n", 25, "faults planted in each package")
	seed := flag.Uint64("seed", 1, "which ones")
	only := flag.String("only", "", "one package alone")
	asJSON := flag.Bool("json", false, "print a JSON line for each")
	patience := flag.Duration("timeout", 3*time.Minute, "for one run of the tests; a fault that makes them hang is seen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := &run{n: *n, seed: *seed, json: *asJSON, patience: *patience, explained: explained(explanations)}
	for _, s := range subjects {
		if *only != "" && s.dir != *only {
			continue
		}
		if err := r.subject(ctx, s); err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			os.Exit(1)
		}
	}
	fmt.Printf("%d planted, %d killed, %d survived and explained, %d survived\n", r.planted, r.killed, r.known, r.survived)
	if r.survived > 0 {
		os.Exit(1)
	}
}

// run is one run over the table.
type run struct {
	n                                int
	seed                             uint64
	json                             bool
	patience                         time.Duration
	explained                        map[string]string
	planted, killed, known, survived int
}

// subject plants faults in one package, the same ones for a seed as long as the package is the same.
func (r *run) subject(ctx context.Context, s subject) error {
	all, err := mutantsOf(s)
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(r.seed, 0))
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	left := r.n
	for _, m := range all {
		if left == 0 {
			break
		}
		killed, err := r.try(ctx, s, m)
		if errors.Is(err, errNoGo) {
			continue
		}
		if err != nil {
			return err
		}
		left--
		r.tell(outcome{Package: s.dir, File: filepath.Base(m.file), Line: m.line, What: m.in + ": " + m.what, Killed: killed, id: m.id(s.dir)})
	}
	return nil
}

func (r *run) tell(o outcome) {
	r.planted++
	switch why, ok := r.explained[o.id]; {
	case o.Killed:
		r.killed++
	case ok:
		r.known++
		o.Why = why
	default:
		r.survived++
	}
	if r.json {
		b, _ := json.Marshal(o) // strings and numbers
		fmt.Println(string(b))
		return
	}
	word := "killed"
	if !o.Killed {
		word = cmp.Or(o.Why, "SURVIVED")
	}
	fmt.Printf("%s/%s:%d: %s: %s\n", o.Package, o.File, o.Line, o.What, word)
	if word == "SURVIVED" {
		fmt.Println("  " + o.id)
	}
}

func mutantsOf(s subject) (all []mutant, err error) {
	names, err := filepath.Glob(filepath.Join(filepath.FromSlash(s.dir), "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || s.files != nil && !slices.Contains(s.files, filepath.Base(name)) {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list, err := mutants(name, src)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds nothing to plant a fault in; run from the repository's root", s.dir)
	}
	return all, nil
}

// errNoGo says that a fault is none that compiles.
var errNoGo = errors.New("does not compile")

// try runs the tests over one fault.
func (r *run) try(ctx context.Context, s subject, m mutant) (killed bool, err error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	planted, overlay := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json")
	file, err := filepath.Abs(m.file)
	if err != nil {
		return false, err
	}
	with := string(src[:m.from]) + m.with + string(src[m.to:])
	list, _ := json.Marshal(map[string]any{"Replace": map[string]string{file: planted}}) // strings
	if err := errors.Join(os.WriteFile(planted, []byte(with), 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return false, err
	}
	if out, err := exec.CommandContext(ctx, "go", "vet", "-overlay", overlay, "-printf=false", "./"+s.dir).CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		_ = out
		return false, errNoGo
	}
	tests := s.tests
	if tests == nil {
		tests = []string{s.dir}
	}
	for _, t := range tests {
		cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-short", "-failfast", "-timeout", r.patience.String(), "./"+t)
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil && bytes.Contains(out, []byte("[build failed]")) {
			return false, errNoGo
		}
		if err != nil {
			return true, nil
		}
	}
	return false, nil
}

// explained reads the list of faults that no test can see.
func explained(text string) map[string]string {
	out := make(map[string]string)
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if id, why, ok := strings.Cut(s.Text(), " # "); ok {
			out[id] = why
		}
	}
	return out
}
