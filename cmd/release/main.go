// Release makes what a release holds, of the commit that is checked out: for every platform one
// archive with the programs, the licence, the README with the pages that it links to, the units of
// systemd, and the verifier for browsers; the npm package, as npm install takes it; a file of the
// archives' digests, and with a key that file's signature.
//
//	release [-o DIR] [-platforms LIST] [-programs LIST] [-key FILE]
//
// It is reproducible: the same commit with its tags and the same Go give the same bytes on every
// machine, in every folder and at every time, so that whoever wants to know what was released
// builds it again and compares SHA256SUMS. It refuses a checkout with changes, whose archives
// nobody could make again.
//
// The signature is one of OpenSSH (PROTOCOL.sshsig, namespace "file"), for which -key is a private
// key of ssh-keygen, or a public one whose other half an agent holds. It is checked by
//
//	ssh-keygen -Y verify -f allowed_signers -I WHO -n file -s SHA256SUMS.sig < SHA256SUMS
//
// Exit codes: 0 done; 1 failed; 2 called wrongly.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platforms are where a release runs, as GOOS/GOARCH.
var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64"}

// programs are the commands of a release. devnet is what store demo and practice run.
var programs = []string{"check", "devnet", "store", "verify"}

// sums is the file of the archives' digests, in the form that sha256sum reads.
const sums = "SHA256SUMS"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command: what it made goes to stdout, one line each.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	fs.SetOutput(stderr)
	r := release{said: stdout}
	fs.StringVar(&r.out, "o", filepath.Join("var", "release"), "write into `DIR`, which must not exist or be empty")
	where := fs.String("platforms", strings.Join(platforms, ","), "build for `LIST`, each GOOS/GOARCH")
	what := fs.String("programs", strings.Join(programs, ","), "build `LIST`")
	fs.StringVar(&r.key, "key", "", "sign the digests with the OpenSSH key in `FILE`")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	r.platforms, r.programs = strings.Split(*where, ","), strings.Split(*what, ",")
	if err := r.wellFormed(fs.Args()); err != nil {
		fmt.Fprintln(stderr, "release:", err)
		return 2
	}
	if err := r.make(ctx); err != nil {
		fmt.Fprintln(stderr, "release:", err)
		return 1
	}
	return 0
}

// release is one run of the command.
type release struct {
	out, key            string
	platforms, programs []string
	said                io.Writer

	version string    // of the commit: its tag, or what git describes it by
	made    time.Time // when the commit was made, UTC
	files   []member  // of every archive
}

// wellFormed says what of the arguments cannot be built.
func (r *release) wellFormed(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("%q is no flag: see release -h", rest[0])
	}
	for _, p := range r.platforms {
		if system, arch, ok := strings.Cut(p, "/"); !ok || system == "" || arch == "" {
			return fmt.Errorf("-platforms: %q is not GOOS/GOARCH, such as linux/amd64", p)
		}
	}
	for _, p := range r.programs {
		if !slices.Contains(programs, p) {
			return fmt.Errorf("-programs: %q is none of %s", p, strings.Join(programs, ", "))
		}
	}
	return nil
}

// make makes the release. The file of digests comes last: without it a folder is no release.
func (r *release) make(ctx context.Context) error {
	if err := r.describe(ctx); err != nil {
		return err
	}
	if there, err := os.ReadDir(r.out); len(there) > 0 {
		return fmt.Errorf("%s holds files already: name another folder with -o, or remove it", r.out)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	var err error
	if r.files, err = r.common(ctx); err != nil {
		return err
	}
	var list strings.Builder
	keep := func(name string, archive []byte) error {
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(archive), name)
		fmt.Fprintf(r.said, "%s, %d bytes\n", filepath.Join(r.out, name), len(archive))
		return os.WriteFile(filepath.Join(r.out, name), archive, 0o644)
	}
	for _, p := range slices.Sorted(slices.Values(r.platforms)) {
		name, archive, err := r.archive(ctx, p)
		if err == nil {
			err = keep(name, archive)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	name, archive, err := r.npm()
	if err == nil {
		err = keep(name, archive)
	}
	if err != nil {
		return fmt.Errorf("the npm package: %w", err)
	}
	file := filepath.Join(r.out, sums)
	if err := os.WriteFile(file, []byte(list.String()), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(r.said, file)
	if r.key == "" {
		fmt.Fprintln(r.said, "nothing is signed: -key names the key to sign with")
		return nil
	}
	// It asks for a passphrase where the key has one.
	sign := exec.CommandContext(ctx, "ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", r.key, file)
	sign.Stdin, sign.Stderr = os.Stdin, os.Stderr
	if err := sign.Run(); err != nil {
		return fmt.Errorf("signing with ssh-keygen: %w", err)
	}
	fmt.Fprintln(r.said, file+".sig")
	return nil
}

// describe reads what is checked out.
func (r *release) describe(ctx context.Context) error {
	changed, err := output(ctx, nil, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	if changed != "" {
		return errors.New("the checkout has changes, and a release is made of a commit: commit them, or put them aside")
	}
	if r.version, err = output(ctx, nil, "git", "describe", "--tags", "--always"); err != nil {
		return err
	}
	text, err := output(ctx, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("reading the time of the commit: %w", err)
	}
	r.made = time.Unix(seconds, 0).UTC()
	return nil
}

// output runs a program, with env beside the process's own, and returns what it printed without the
// line's end.
func output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), env...)
	out, err := c.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, exit.Stderr)
	} else if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}
