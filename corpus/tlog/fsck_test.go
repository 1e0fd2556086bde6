package tlog

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sumdb "golang.org/x/mod/sumdb/tlog"

	"store.example/agentstore/corpus/attest"
)

// buildFsck builds tessera's checker of logs, an implementation of the format that is not ours,
// from a module file of its own.
func buildFsck(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "fsck")
	cmd := exec.Command("go", "build", "-modfile="+filepath.Join("..", "..", ".tools", "fsck.mod"), "-o", bin,
		"github.com/transparency-dev/tessera/cmd/fsck")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building fsck: %v: %s", err, out)
	}
	return bin
}

// fsck says whether tessera accepts the log in dir. On a damaged log it tries again for ever, so
// that it is stopped.
func fsck(t *testing.T, bin, dir, vkey string, patience time.Duration) (bool, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-storage_url=file://"+dir+"/", "-public_key="+vkey, "-ui=false", "-v=1",
		"-logtostderr")
	out, err := cmd.CombinedOutput()
	return err == nil && strings.Contains(string(out), "Completed ranges") && !strings.Contains(string(out), "failed"),
		string(out)
}

func TestLongTesseraAcceptsTheLog(t *testing.T) {
	bin := buildFsck(t)
	key := attest.SpecimenKeyFor(attest.PurposeLog)
	vkey := filepath.Join(t.TempDir(), "vkey")
	if err := os.WriteFile(vkey, []byte(VerifierKey(logName, key.Public())), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, log := logOf(t, 0)
	var heads []Checkpoint
	for _, size := range []int64{1, 3, 256, 300, 700, 70_000} {
		var err error
		if log, err = Append(t.Context(), dir, log, Signer{logName, key}, leavesFrom(log.head.Size, size)); err != nil {
			t.Fatal(err)
		}
		if ok, out := fsck(t, bin, filepath.Join(dir.Root.Name(), "log"), vkey, 10*time.Minute); !ok {
			t.Fatalf("size %d: %s", size, out)
		}
		// Every leaf by x/mod's own client where that is cheap, some of them otherwise.
		step := max(1, size/400)
		for i := int64(0); i < size; i += step {
			h, err := log.hashes().ReadHashes([]int64{sumdb.StoredHashIndex(0, i)})
			if err != nil || h[0] != sumdb.RecordHash(fmt.Appendf(nil, `{"leaf":%d}`, i)) {
				t.Fatalf("size %d, leaf %d: %v", size, i, err)
			}
		}
		for _, old := range heads {
			proof, err := log.Consistency(old.Size, size)
			if err == nil {
				err = CheckConsistency(proof, old, log.head)
			}
			if err != nil {
				t.Fatalf("from %d to %d: %v", old.Size, size, err)
			}
		}
		heads = append(heads, log.head)
	}
	again, err := Append(t.Context(), dir, log, Signer{logName, key}, leavesFrom(0, 0))
	if err != nil || string(again.head.Raw) != string(log.head.Raw) {
		t.Errorf("nothing appended: %v", err)
	}
	bundle := filepath.Join(dir.Root.Name(), "log", bundlePath(3, TileWidth))
	raw, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	raw[9] ^= 1
	if err := os.Remove(bundle); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bundle, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if ok, _ := fsck(t, bin, filepath.Join(dir.Root.Name(), "log"), vkey, 5*time.Second); ok {
		t.Error("a damaged log is accepted")
	}
}
