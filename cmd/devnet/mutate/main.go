// Mutate plants small faults in the code that money and signatures depend on, one at a time, and
// says which of them no test sees. It touches no file of the tree.
//
//	go run ./cmd/devnet/mutate [-n 25] [-seed 1] [-only dynamic/till] [-match text] [-again table.json] [-json]
//
// All faults are built into a package's tests at once, each behind a switch. Each test is run
// alone, to learn which faults it comes by; then each fault is switched on under the tests that
// come by it, the fast ones first, until one fails. A fault that no test sees is a hole in the
// tests, or is explained in explained.txt beside this file: a line for each, as this program prints
// it, then " # " and the reason. It exits with 1 when a fault survives that is not explained. A run
// that is ended early prints as JSON what was killed until then, for -again.
package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// subject is a package whose tests are tried, and what is run to find a fault in it.
type subject struct {
	dir   string
	files []string // nil: all
	tests []string // packages whose tests are run beside its own, one after the other until one fails
}

// subjects is the table of what is tried.
var subjects = []subject{
	{dir: "dynamic/settle", tests: []string{"dynamic/rail/facilitator", "dynamic/till",
		"dynamic/internal/onchaintest"}},
	{dir: "dynamic/mcp"},
	{dir: "dynamic/rail", tests: []string{"dynamic/rail/facilitator", "dynamic/rail/evm", "dynamic/till",
		"dynamic/internal/onchaintest"}},
	{dir: "dynamic/rail/evm", tests: []string{"dynamic/rail/facilitator", "dynamic/till",
		"dynamic/internal/onchaintest"}},
	{dir: "dynamic/rail/facilitator"},
	{dir: "dynamic/goods", tests: []string{"dynamic/till", "dynamic/internal/onchaintest"}},
	{dir: "dynamic/counter", tests: []string{"dynamic/till", "dynamic/internal/onchaintest"}},
	{dir: "dynamic/pay", tests: []string{"dynamic/till", "dynamic/internal/onchaintest"}},
	{dir: "dynamic/pay/x402", tests: []string{"dynamic/counter", "dynamic/till", "dynamic/internal/onchaintest"}},
	{dir: "dynamic/budget", tests: []string{"dynamic/till", "dynamic/internal/onchaintest"}},
	{dir: "dynamic/schedule", tests: []string{"dynamic/till", "dynamic/internal/onchaintest"}},
	{dir: "dynamic/ledger", tests: []string{"dynamic/ledger/bolt"}},
	{dir: "corpus/attest", tests: []string{"corpus/record"}},
	{dir: "corpus/attest/filetree", tests: []string{"corpus/attest", "corpus/record"}},
	{dir: "corpus/derive", tests: []string{"generator"}},
	{dir: "corpus/fetch"},
	{dir: "corpus/record", files: []string{"row.go", "round.go", "hosts.go", "evidence.go", "cover.go"},
		tests: []string{"corpus/verify"}},
	{dir: "corpus/seal", tests: []string{"corpus/record", "corpus/verify"}},
	// Its tests are the slowest, and the last for whatever it uses.
	{dir: "dynamic/till", tests: []string{"dynamic/internal/onchaintest"}},
}

//go:embed explained.txt
var explanations string

// outcome is what became of one fault.
type outcome struct {
	ID     string `json:"id"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Killed string `json:"killed,omitempty"` // the test that sees it
	Why    string `json:"why,omitempty"`    // of one that survives, where it is explained
	Runs   int    `json:"runs"`             // tests that came by it and were run
}

// row is a subject's line of the table.
type row struct {
	Subject   string    `json:"subject"`
	Planted   int       `json:"planted"`
	Killed    int       `json:"killed"`
	Survived  int       `json:"survived"` // the explained ones too
	Explained int       `json:"explained"`
	Faults    []outcome `json:"faults"`
}

// run is one run over the table.
type run struct {
	n         int
	seed      uint64
	match     string
	short     bool
	most      time.Duration
	explained map[string]string
	tell      func(outcome)
	before    map[string]string // of an earlier run: what was killed, and by which test
}

func main() {
	r := run{explained: explained(explanations)}
	flag.IntVar(&r.n, "n", 25, "faults planted in each package")
	flag.Uint64Var(&r.seed, "seed", 1, "which ones")
	flag.StringVar(&r.match, "match", "", "only those whose line, as it is printed, holds this")
	flag.BoolVar(&r.short, "short", true, "run the tests with -short")
	flag.DurationVar(&r.most, "most", 0, "how long the tests of one package may take together for one fault; 0: all "+
		"are run")
	only := flag.String("only", "", "these packages alone, with commas between")
	again := flag.String("again", "", "the -json of an earlier run: what was killed there is taken as killed")
	asJSON := flag.Bool("json", false, "print the table as JSON, with each fault")
	flag.Parse()
	var err error
	if r.before, err = killedBefore(*again); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	r.tell = func(o outcome) { fmt.Fprintln(os.Stderr, o) }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var chosen []subject
	for _, s := range subjects {
		if *only == "" || slices.Contains(strings.Split(*only, ","), s.dir) {
			chosen = append(chosen, s)
		}
	}
	table, err := r.run(ctx, chosen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
	}
	if *asJSON {
		b, _ := json.MarshalIndent(table, "", "  ") // strings and numbers
		fmt.Println(string(b))
	} else if err == nil {
		fmt.Print(written(table))
	}
	if err != nil || slices.ContainsFunc(table, func(w *row) bool { return w.Survived > w.Explained }) {
		os.Exit(1)
	}
}

// alive is a fault that no test has seen yet.
type alive struct {
	mutant
	outcome
	subject
	row *row
}

// run plants faults in packages, the same ones for a seed as long as the code that they are in is
// the same.
func (r run) run(ctx context.Context, chosen []subject) (table []*row, err error) {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	t := &trial{dir: dir}
	left := make(map[int]*alive)
	for _, s := range chosen {
		w := &row{Subject: s.dir}
		table = append(table, w)
		p, fixed, err := r.choose(ctx, s, 100_000*len(table))
		if err != nil {
			return nil, err
		}
		if err := t.settle(ctx, p); err != nil {
			return nil, err
		}
		t.planted = append(t.planted, p)
		for _, list := range []map[int]mutant{p.faults, fixed} {
			for n, m := range list {
				w.Planted++
				o := outcome{ID: m.id(s.dir), File: m.file, Line: m.line, Killed: r.before[m.id(s.dir)]}
				if o.Killed != "" {
					w.Killed++
					w.Faults = append(w.Faults, o)
					delete(list, n)
					continue
				}
				left[n] = &alive{m, o, s, w}
			}
		}
	}
	for _, tests := range suites(chosen) {
		if err := r.suite(ctx, t, tests, left); err != nil {
			return table, err
		}
	}
	for _, a := range left {
		a.row.Survived++
		if a.Why = r.explained[a.ID]; a.Why != "" {
			a.row.Explained++
		}
		a.row.Faults = append(a.row.Faults, a.outcome)
	}
	for _, w := range table {
		slices.SortFunc(w.Faults, func(a, b outcome) int {
			return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, cmp.Compare(a.ID, b.ID))
		})
	}
	return table, nil
}

// suites are the packages whose tests are run, in the order of the table: what is no subject comes
// last.
func suites(chosen []subject) []string {
	var own, others []string
	for _, s := range subjects {
		own = append(own, s.dir)
	}
	for _, s := range chosen {
		others = append(others, s.tests...)
	}
	wanted := func(dir string) bool {
		return slices.ContainsFunc(chosen, func(s subject) bool { return s.dir == dir }) || slices.Contains(others, dir)
	}
	var out []string
	for _, dir := range append(own, others...) {
		if wanted(dir) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// suite runs one package's tests over the faults that are alive, and takes out of them what it
// kills.
func (r run) suite(ctx context.Context, t *trial, tests string, left map[int]*alive) error {
	var mine []int
	for n, a := range left {
		// What is explained is tried under its package's own tests alone.
		if a.dir == tests || r.explained[a.ID] == "" && slices.Contains(a.tests, tests) {
			mine = append(mine, n)
		}
	}
	if len(mine) == 0 {
		return nil
	}
	slices.Sort(mine)
	if err := t.overlay(t.planted...); err != nil {
		return err
	}
	s, err := t.build(ctx, tests, "tests")
	if err != nil {
		return err
	}
	if err := s.measure(ctx, r.short); err != nil {
		return err
	}
	for _, n := range mine {
		a := left[n]
		var by string
		var reached int
		if a.fixed {
			by, reached, err = t.fixed(ctx, s, tests, a, r)
		} else {
			by, reached, err = s.try(ctx, n, r.short, r.most)
		}
		if err != nil {
			return err
		}
		if a.Runs += reached; by == "" {
			fmt.Fprintf(os.Stderr, "mutate: not seen by %s: %s:%d: %s\n", tests, a.File, a.Line, a.ID)
			continue
		}
		a.Killed = by
		a.row.Killed++
		a.row.Faults = append(a.row.Faults, a.outcome)
		r.tell(a.outcome)
		delete(left, n)
	}
	return nil
}

// choose numbers the faults to plant in one package, in the order of the source; those in constants
// are apart.
func (r run) choose(ctx context.Context, s subject, from int) (p *planting, fixed map[int]mutant, err error) {
	p, fixed = &planting{faults: make(map[int]mutant)}, make(map[int]mutant)
	var all []mutant
	if p.pkg, all, err = load(ctx, s); err != nil {
		return nil, nil, err
	}
	place := make(map[string]int)
	for i, m := range all {
		place[m.id(s.dir)] = from + i
	}
	all = slices.DeleteFunc(all, func(m mutant) bool { return !strings.Contains(m.id(s.dir), r.match) })
	drawn(all, s.dir, r.seed)
	for _, m := range all[:min(r.n, len(all))] {
		if n := place[m.id(s.dir)]; m.fixed {
			fixed[n] = m
		} else {
			p.faults[n] = m
		}
	}
	return p, fixed, nil
}

// fixed tries a fault in a constant, with a build of its own.
func (t *trial) fixed(ctx context.Context, s *suite, tests string, a *alive, r run) (by string, reached int,
	err error) {
	i := slices.IndexFunc(t.planted, func(p *planting) bool { return strings.HasSuffix(p.pkg.ImportPath, "/"+a.dir) })
	if err := t.overlay(&planting{t.planted[i].pkg, map[int]mutant{0: a.mutant}}); err != nil {
		return "", 0, err
	}
	own, err := t.build(ctx, tests, "fixed")
	if ctx.Err() != nil {
		return "", 0, ctx.Err()
	}
	if err != nil {
		return "the compiler", 0, nil
	}
	own.tests = s.tests
	return own.try(ctx, 0, r.short, r.most)
}

// killedBefore reads from the table of an earlier run which test killed what.
func killedBefore(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var table []row
	if err := json.Unmarshal(raw, &table); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	out := make(map[string]string)
	for _, w := range table {
		for _, o := range w.Faults {
			out[o.ID] = o.Killed
		}
	}
	return out, nil
}

// written is the table for people, and what survived.
func written(table []*row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %-24s | planted | killed | survived | explained "+
		"|\n|%s|---------|--------|----------|-----------|\n", "subject", strings.Repeat("-", 26))
	var sum row
	line := func(w *row) {
		fmt.Fprintf(&b, "| %-24s | %7d | %6d | %8d | %9d |\n", w.Subject, w.Planted, w.Killed, w.Survived, w.Explained)
	}
	for _, w := range table {
		line(w)
		sum.Planted, sum.Killed, sum.Survived, sum.Explained = sum.Planted+w.Planted, sum.Killed+w.Killed, sum.Survived+
			w.Survived, sum.Explained+w.Explained
	}
	sum.Subject = "all"
	line(&sum)
	for _, w := range table {
		for _, o := range w.Faults {
			if o.Killed == "" {
				fmt.Fprintln(&b, o)
			}
		}
	}
	return b.String()
}

// String is one line: what survives without a reason is said loudly.
func (o outcome) String() string {
	switch {
	case o.Killed != "":
		return fmt.Sprintf("%s:%d: %s: killed by %s", o.File, o.Line, o.ID, o.Killed)
	case o.Why != "":
		return fmt.Sprintf("%s:%d: %s # %s", o.File, o.Line, o.ID, o.Why)
	}
	return fmt.Sprintf("%s:%d: SURVIVED, %d tests came by:\n%s # ", o.File, o.Line, o.Runs, o.ID)
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
