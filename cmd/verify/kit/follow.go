package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"store.example/agentstore/corpus/durable"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/verify"
)

// The bounds of one step.
const (
	maxStep       = 10 * time.Minute
	maxCall       = time.Minute // of the program of -exec
	maxRemembered = 64 << 20    // bytes
)

// mirrorsTime leaves a step the time for the record itself, whatever mirrors do. Tests have less.
var mirrorsTime = 2 * time.Minute

// followFlags are the flags of -follow.
func (s *settings) followFlags(flags *flag.FlagSet) {
	flags.StringVar(&s.follow, "follow", "", "address of a published record, such as https://store.example/corpus, or "+
		"the folder of a clone, to go on with; static files are read and nothing else")
	flags.Func("host", "with -follow, a host whose rows are checked and whose changes are told: its row, verdict, "+
		"addresses and tier; may be given several times", func(v string) error {
		v = strings.ToLower(v)
		_, err := record.HostEntry{Host: v}.Encode()
		s.hosts = append(s.hosts, v)
		return err
	})
	flags.Func("mirror", "with -follow, the monitoring prefix (`URL`) of a mirror or a witness of the log, such as "+
		"https://mirror.example: the head it shows has to be of the same history; may be given several times",
		func(v string) error {
			if s.mirrors = append(s.mirrors, v); len(s.mirrors) > verify.MaxMirrors {
				return fmt.Errorf("at most %d mirrors are asked", verify.MaxMirrors)
			}
			return nil
		})
	flags.StringVar(&s.exec, "exec", "", "with -follow, program that is run, without arguments and without a shell, "+
		"when something does not hold: STORE_EVENT is fork or refused, and its standard input the report as JSON")
}

// wellCalled reports whether flags and arguments go together.
func (s *settings) wellCalled(flags *flag.FlagSet) bool {
	if s.follow == "" {
		return flags.NArg() == 1 && len(s.hosts) == 0 && len(s.mirrors) == 0 && s.exec == "" &&
			(s.record == "" || s.single && s.ring != "")
	}
	return flags.NArg() == 0 && s.remember != "" && s.proof == "" && s.leaf == "" && len(s.exports) == 0 && !s.single &&
		s.record == "" && !s.noJudge && len(s.witnesses) == 0
}

// step goes on from what the file of -remember holds, and keeps there what is to be remembered
// next. Of a fork it keeps both heads beside it.
func (s *settings) step(ctx context.Context, stdout, stderr io.Writer) (code int, err error) {
	ctx, stop := context.WithTimeout(ctx, maxStep)
	defer stop()
	o := verify.FollowOptions{Hosts: s.hosts, Policy: s.policy, AsOf: s.asOf, Now: time.Now()}
	if s.ring != "" {
		if o.Ring, err = os.ReadFile(s.ring); err != nil {
			return ExitTrouble, err
		}
	}
	source, err := verify.OpenLogSource(ctx, s.follow)
	if err != nil {
		return ExitTrouble, err
	}
	dir, name := filepath.Split(s.remember)
	folder, err := durable.Hold(filepath.Clean(dir), "."+name+".lock")
	if err != nil {
		return ExitTrouble, fmt.Errorf("%s: %w", s.remember, err)
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	held, err := readFile(s.remember, maxRemembered)
	var before *verify.FollowState
	if err == nil {
		before, err = verify.ParseFollowState(held)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ExitTrouble, fmt.Errorf("%s: %w", s.remember, err)
	}
	asked := []*verify.LogSource{source}
	mirrored, done := context.WithTimeout(ctx, mirrorsTime)
	defer done()
	for _, address := range s.mirrors {
		files, err := verify.OpenMirror(mirrored, address)
		if err != nil {
			return ExitTrouble, err
		}
		asked, o.Mirrors = append(asked, files), append(o.Mirrors, verify.Mirror{Address: address, Files: files})
	}
	report, next, err := verify.Follow(source, before, o)
	for _, a := range asked {
		requests, bytes := a.Fetched()
		report.Requests, report.Bytes = report.Requests+requests, report.Bytes+bytes
	}
	if err != nil {
		return ExitTrouble, err
	}
	if s.json {
		err = json.NewEncoder(stdout).Encode(report)
	} else {
		report.Print(stdout, s.follow)
	}
	if err == nil && next != nil {
		var raw []byte
		if raw, err = next.Encode(); err == nil && !bytes.Equal(raw, held) {
			err = errors.Join(folder.Put(name, raw), folder.Sync("."))
		}
	}
	switch {
	case report.Fork != nil:
		err = errors.Join(err, s.evidence(folder, name, report, stderr))
		return ExitForked, errors.Join(err, s.call(ctx, "fork", report, stderr))
	case report.Refused():
		return ExitRefused, errors.Join(err, s.call(ctx, "refused", report, stderr))
	case !report.Sound():
		return ExitUnproven, err
	}
	return ExitVerified, err
}

// evidence keeps what shows that a log forked: both heads, each in a file of its own, and the
// report.
func (s *settings) evidence(folder *durable.Folder, name string, r verify.FollowReport, stderr io.Writer) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	for _, f := range []struct{ kind, text string }{
		{"seen.checkpoint", r.Fork.Seen}, {"shown.checkpoint", r.Fork.Shown}, {"json", string(raw) + "\n"},
	} {
		// The roots at one size name the fork.
		file := fmt.Sprintf("%s.fork-%d-%.12s-%.12s.%s", name, r.Fork.Size, r.Fork.Roots[0], r.Fork.Roots[1], f.kind)
		if err := folder.Put(file, []byte(f.text)); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "kept %s\n", filepath.Join(filepath.Dir(s.remember), file))
	}
	return folder.Sync(".")
}

// call runs the program of -exec. What a stranger wrote reaches it by its standard input alone.
func (s *settings) call(ctx context.Context, event string, r verify.FollowReport, stderr io.Writer) error {
	if s.exec == "" {
		return nil
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, maxCall)
	defer stop()
	program := exec.CommandContext(ctx, s.exec)
	program.Env = append(os.Environ(), "STORE_EVENT="+event)
	program.Stdin, program.Stdout, program.Stderr = bytes.NewReader(append(raw, '\n')), stderr, stderr
	program.WaitDelay = time.Second
	if err := program.Run(); err != nil {
		return fmt.Errorf("running %s: %w", s.exec, err)
	}
	return nil
}
