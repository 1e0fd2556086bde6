package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestStart(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	t.Run("while the test runs", func(t *testing.T) {
		script := `echo $$ > ` + pidFile + `; echo begins; echo "it listens on 127.0.0.1:7 " >&2; exec tail -f ` +
			pidFile
		if at := Start(t, "listens on ", "/bin/sh", "-c", script); at != "127.0.0.1:7" {
			t.Errorf("it listens at %q", at)
		}
		if err := syscall.Kill(pid(t, pidFile), 0); err != nil {
			t.Errorf("it does not run: %v", err)
		}
	})
	if err := syscall.Kill(pid(t, pidFile), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("it runs after the test: %v", err)
	}
}

func pid(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
