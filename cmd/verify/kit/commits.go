package kit

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"store.example/agentstore/corpus/verify"
)

// The bounds of a history: one commit a day for three hundred years, and a long message.
const (
	maxCommits = 100_000
	maxCommit  = 1 << 20 // bytes
)

// commits yields the commits of a clone by git; nil where there is none, or no git to ask. Git
// reads them, as the packs it keeps them in are its own; what is signed is checked without it.
func commits(ctx context.Context, dir string) iter.Seq2[verify.Commit, error] {
	place := filepath.Join(dir, ".git")
	if info, err := os.Lstat(place); err != nil || !info.IsDir() {
		return nil
	}
	program, err := exec.LookPath("git")
	if err != nil {
		return nil
	}
	// The folder is a stranger's, and so is its configuration: no command that is called here reads
	// a program's name from it, none may fetch what is missing, and nothing stands in the place of
	// a commit.
	git := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, append([]string{"--no-replace-objects"}, args...)...)
		cmd.Env = []string{"GIT_DIR=" + place, "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
			"GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_GRAFT_FILE=" + os.DevNull, "PATH=" + os.Getenv("PATH")}
		return cmd
	}
	return func(yield func(verify.Commit, error) bool) {
		ids, err := git("rev-list", fmt.Sprintf("--max-count=%d", maxCommits), "HEAD", "--").Output()
		if err != nil {
			yield(verify.Commit{}, fmt.Errorf("git rev-list: %w", err))
			return
		}
		// What is read is not held: a pack may hold more than there is memory.
		cat := git("cat-file", "--batch")
		cat.Stdin = bytes.NewReader(ids)
		out, err := cat.StdoutPipe()
		if err == nil {
			err = cat.Start()
		}
		if err != nil {
			yield(verify.Commit{}, fmt.Errorf("git cat-file: %w", err))
			return
		}
		defer func() {
			_ = out.Close() // what was not read makes it stop
			_ = cat.Wait()  // each commit was looked at by itself
		}()
		in := bufio.NewReader(out)
		for id := range strings.Lines(string(ids)) {
			c, err := readCommit(in, strings.TrimSpace(id))
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// readCommit reads what git cat-file --batch says of one commit.
func readCommit(in *bufio.Reader, id string) (verify.Commit, error) {
	var size int
	head, err := in.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscanf(head, id+" commit %d\n", &size)
	}
	if err != nil || size < 0 || size > maxCommit {
		return verify.Commit{}, fmt.Errorf("reading commit %s: git says %.100q", id, head)
	}
	raw := make([]byte, size+1) // and a line's end
	_, err = io.ReadFull(in, raw)
	return verify.Commit{ID: id, Raw: raw[:size]}, err
}
