package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed switch.go.txt
var switches []byte

// trial is the faults that are planted, all in one build; a variable of the environment says which
// is on.
type trial struct {
	dir     string // of what is built here
	planted []*planting
}

// planting is a package with its faults by number.
type planting struct {
	pkg    listed
	faults map[int]mutant
}

// settle gives up the faults of a package that do not compile.
func (t *trial) settle(ctx context.Context, p *planting) error {
	for {
		if err := t.overlay(p); err != nil {
			return err
		}
		out, err := exec.CommandContext(ctx, "go", "build", "-gcflags=-e", "-overlay", t.list(),
			p.pkg.ImportPath).CombinedOutput()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		before := len(p.faults)
		for _, at := range regexp.MustCompile(`(?m)([\w.]+\.go):(\d+):`).FindAllSubmatch(out, -1) {
			maps.DeleteFunc(p.faults, func(_ int, m mutant) bool {
				return m.file == string(at[1]) && strconv.Itoa(m.line) == string(at[2])
			})
		}
		if len(p.faults) == before {
			return fmt.Errorf("%s does not build: %s", p.pkg.ImportPath, out)
		}
	}
}

func (t *trial) list() string { return filepath.Join(t.dir, "overlay.json") }

// overlay writes the files that stand for packages' own.
func (t *trial) overlay(list ...*planting) error {
	replace := make(map[string]string)
	for i, p := range list {
		if err := p.write(filepath.Join(t.dir, strconv.Itoa(i)), replace); err != nil {
			return err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(t.list(), b, 0o600)
}

func (p *planting) write(dir string, replace map[string]string) error {
	text := bytes.Replace(switches, []byte("\npackage p\n"), []byte("\npackage "+p.pkg.Name+"\n"), 1)
	texts := map[string][]byte{"mutant_switch.go": text}
	byFile := make(map[string]map[int]mutant)
	for n, m := range p.faults {
		if byFile[m.file] == nil {
			byFile[m.file] = make(map[int]mutant)
		}
		byFile[m.file][n] = m
	}
	for file, faults := range byFile {
		src, err := os.ReadFile(filepath.Join(p.pkg.Dir, file))
		if err != nil {
			return err
		}
		texts[file] = planted(src, faults)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for file, text := range texts {
		replace[filepath.Join(p.pkg.Dir, file)] = filepath.Join(dir, file)
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// one is a test, how long it takes and the faults that it comes by.
type one struct {
	name    string
	took    time.Duration
	reaches map[int]bool
}

// suite is a package's tests, built with the faults.
type suite struct {
	dir, bin string
	tests    []one // the fastest first
}

// build makes a package's tests, over whatever is laid over the sources now.
func (t *trial) build(ctx context.Context, dir, name string) (*suite, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &suite{dir: abs, bin: filepath.Join(t.dir, name)}
	_, err = command(ctx, "", nil, "go", "test", "-c", "-vet=off", "-overlay", t.list(), "-o", s.bin, "./"+dir)
	return s, err
}

// measure runs each test alone, with no fault on. A test that fails so, says nothing and is left
// out.
func (s *suite) measure(ctx context.Context, short bool) error {
	out, err := command(ctx, s.dir, nil, s.bin, "-test.list", "^(Test|Fuzz|Example)")
	if err != nil {
		return err
	}
	reached := s.bin + ".reached"
	for name := range strings.FieldsSeq(string(out)) {
		if err := os.RemoveAll(reached); err != nil {
			return err
		}
		start := time.Now()
		said, err := s.command(ctx, []string{name}, short, 10*time.Minute, "MUTANTS_REACHED="+reached).CombinedOutput()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "mutate: %s fails with no fault planted and is left out\n%s\n", name, tail(said))
			continue
		}
		o := one{name, time.Since(start), make(map[int]bool)}
		list, err := os.ReadFile(reached)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		for n := range strings.FieldsSeq(string(list)) {
			i, err := strconv.Atoi(n)
			if err != nil {
				return err
			}
			o.reaches[i] = true
		}
		s.tests = append(s.tests, o)
	}
	slices.SortFunc(s.tests, func(a, b one) int { return int(a.took - b.took) })
	return nil
}

func (s *suite) command(ctx context.Context, names []string, short bool, limit time.Duration, env ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, s.bin, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.failfast",
		"-test.short="+strconv.FormatBool(short), "-test.timeout", limit.String())
	c.Dir, c.Env, c.WaitDelay = s.dir, append(os.Environ(), env...), limit
	return c
}

// steps are how long the tests may take together that are run before the next ones are begun.
var steps = []time.Duration{2 * time.Second, 20 * time.Second, time.Hour}

// try runs the tests that come by a fault, the fast ones first and for so long alone, and says
// which saw it.
func (s *suite) try(ctx context.Context, n int, short bool, most time.Duration) (by string, reached int, err error) {
	var list []one
	var sum time.Duration
	for _, o := range s.tests {
		if n != 0 && !o.reaches[n] {
			continue
		}
		if sum += o.took; most > 0 && sum > most {
			break
		}
		list = append(list, o)
	}
	reached = len(list)
	for _, limit := range steps {
		var names []string
		var all time.Duration
		for len(list) > 0 && (len(names) == 0 || all+list[0].took <= limit) {
			names, all, list = append(names, list[0].name), all+list[0].took, list[1:]
		}
		if len(names) == 0 {
			break
		}
		said, err := s.command(ctx, names, short, 20*time.Second+4*all, "MUTANT="+strconv.Itoa(n)).CombinedOutput()
		if ctx.Err() != nil {
			return "", reached, ctx.Err()
		}
		if err != nil {
			return witness(said), reached, nil
		}
	}
	return "", reached, nil
}

var failed = regexp.MustCompile(`--- FAIL: (\S+)`)

// witness is the test that failed.
func witness(said []byte) string {
	if at := failed.FindSubmatch(said); at != nil {
		return string(at[1])
	}
	if bytes.Contains(said, []byte("test timed out")) {
		return "a test that hangs"
	}
	return "a crash"
}

func tail(b []byte) []byte { return b[max(0, len(b)-500):] }
