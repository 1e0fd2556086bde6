package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// container is what the Containerfile says of the image that runs.
type container struct {
	build      []string // the command that builds the program, behind its environment
	program    string
	entrypoint []string
	cmd        []string
	env        []string
	workdir    string
}

// nobody is the user and group of the container.
const nobody = 65532

var (
	copied  = regexp.MustCompile(`^COPY --from=build (\S+) (\S+)$`)
	builds  = regexp.MustCompile(`^RUN (CGO_ENABLED=0 go build .*) -o (\S+) ./cmd/store$`)
	decided = regexp.MustCompile(`^(FROM|USER|WORKDIR|VOLUME|ENV|ENTRYPOINT|CMD|EXPOSE) (.*)$`)
)

// readContainer reads the Containerfile, and holds its lines against each other.
func readContainer(t *testing.T) (c container) {
	t.Helper()
	b, err := os.ReadFile("deploy/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	said, built, from := map[string]string{}, "", ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if m := builds.FindStringSubmatch(line); m != nil {
			c.build, built = strings.Fields(m[1]), m[2]
		} else if m := copied.FindStringSubmatch(line); m != nil && m[1] == built {
			c.program = m[2]
		} else if m := decided.FindStringSubmatch(line); m != nil {
			if said[m[1]] = m[2]; m[1] == "FROM" {
				from = m[2]
			}
		}
	}
	if err := json.Unmarshal([]byte(said["ENTRYPOINT"]), &c.entrypoint); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(said["CMD"]), &c.cmd); err != nil {
		t.Fatal(err)
	}
	c.workdir, c.env = said["WORKDIR"], strings.Fields(said["ENV"])
	if from != "scratch" || built == "" || c.program == "" || c.entrypoint[0] != c.program ||
		said["USER"] != "65532:65532" || said["VOLUME"] != c.workdir ||
		!strings.HasPrefix(c.cmd[len(c.cmd)-1], c.workdir+"/") {
		t.Fatalf("the lines of the Containerfile do not fit together: %v %+v", said, c)
	}
	return c
}

// What the container runs is a call that the store understands, by a user that is not root, with
// its one folder as the place of everything that is for the time being.
func TestContainerfile(t *testing.T) {
	t.Parallel()
	c := readContainer(t)
	var said bytes.Buffer
	if code := run(t.Context(), append(c.cmd, "-h"), &said, &said); code != 0 {
		t.Errorf("%v: exit code %d: %s", c.cmd, code, &said)
	}
	if len(c.env) != 1 || c.env[0] != "TMPDIR="+c.workdir+"/var" {
		t.Errorf("it has the environment %v", c.env)
	}
}

// inside runs the program in a root folder that holds what the image holds, as its user, with its
// environment and nothing else.
func (c container) inside(t *testing.T, root string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), c.program, args...)
	cmd.Dir, cmd.Env = c.workdir, c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

// image makes the root folder of the image, with a site in its volume.
func (c container) image(t *testing.T, site string) (root string) {
	t.Helper()
	root = t.TempDir()
	program, err := filepath.Abs(root + c.program)
	if err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", append(c.build[2:], "-o", program, ".")...)
	build.Env = append(os.Environ(), c.build[0])
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program needs a loader, and the image has none")
		}
	}
	volume := filepath.Join(root, c.workdir)
	if err := os.MkdirAll(filepath.Dir(volume), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(site, volume); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(volume, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// STORE_SOAK=1 builds the program as the Containerfile does and runs it without an engine: in a
// folder that holds nothing else, as a user who may write to its volume alone. It renders, serves,
// takes a backup, drills its restore, and ends when it is told to.
func TestSoakContainer(t *testing.T) {
	if os.Getenv("STORE_SOAK") == "" {
		t.Skip("it builds the program anew; set STORE_SOAK=1")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can change the root folder")
	}
	c := readContainer(t)
	s := newSoldHere(t)
	root := c.image(t, s.dir)
	does := func(args ...string) string {
		t.Helper()
		out, err := c.inside(t, root, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("store %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	does("build")
	var said bytes.Buffer
	// The port is the test's own.
	serving := c.inside(t, root, strings.Split(strings.Replace(strings.Join(c.cmd, " "), ":4020",
		s.base[strings.LastIndexByte(s.base, ':'):], 1), " ")...)
	serving.Stdout, serving.Stderr = &said, &said
	if err := serving.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serving.Wait() }()
	t.Cleanup(func() { _ = serving.Process.Kill() }) // it has ended, if all went well
	for open := false; !open; {
		if res, err := http.Get(s.base + "/style.css"); err == nil {
			open = res.StatusCode == http.StatusOK
			res.Body.Close()
		}
		select {
		case <-ended:
			t.Fatalf("it did not open: %s", &said)
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.get("/api/buy/hello", http.StatusPaymentRequired)
	does("backup", c.workdir+"/var/a.backup")
	if got := does("restore", "-dry-run", c.workdir+"/var/a.backup"); !strings.Contains(got, `"ledger_occupied":true`) {
		t.Errorf("the drill says %s", got)
	}
	if err := serving.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v: %s", err, &said)
	}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == filepath.Join(root, c.workdir) {
			return fs.SkipDir
		}
		if st, err := d.Info(); err != nil || st.Sys().(*syscall.Stat_t).Uid == nobody {
			t.Errorf("it wrote %s, %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
