package onchaintest_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The signed settlement must be on the disk before a byte of it leaves the process. SIGKILL cannot
// show that, because the kernel keeps what was written; the order of the system calls can.
func TestSettlementIsSyncedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	v := newVictims(t, 1)
	trace := filepath.Join(t.TempDir(), "trace")
	v.wrap = []string{strace, "-f", "-q", "-y", "-xx", "-s", "65536", "-o", trace,
		"-e", "trace=pwrite64,write,fsync,fdatasync,sendto,sendmsg,writev", "--"}
	k := v.start(childConfig{})
	o, ok := v.order(k, "/api/buy/hello")
	if !ok {
		t.Fatalf("no terms: %s", k.log)
	}
	if err := v.present(k, o); err != nil || o.body == nil {
		t.Fatalf("not delivered: %v, %s", err, k.log)
	}
	v.shut(k)
	raw, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	file := escaped(filepath.Base(v.ledger))
	var steps []string
	synced, dirty, sent := false, false, 0
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		call := callName.FindString(line)
		switch {
		case strings.Contains(line, file) && strings.HasPrefix(call, "pwrite64"):
			// The record is JSON in base64 or as text: what names it is its state.
			if strings.Contains(line, escaped(`"state":"settling"`)) {
				steps = append(steps, "the record is written")
				dirty, synced = true, false
			}
		case dirty && strings.Contains(line, file) && (strings.HasPrefix(call, "fdatasync") ||
			strings.HasPrefix(call, "fsync")) ||
			dirty && (strings.Contains(line, "fdatasync resumed") || strings.Contains(line, "fsync resumed")):
			if strings.Contains(line, "= 0") {
				steps = append(steps, "the ledger is synced")
				synced = true
			}
		case strings.Contains(line, escaped("eth_sendRawTransaction")):
			steps = append(steps, "the settlement is sent")
			sent++
			if !synced {
				t.Errorf("a settlement was sent before its record was synced: %q", steps)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%q", steps)
	if sent == 0 || !dirty {
		t.Fatalf("the trace shows %q: no settlement on its way", steps)
	}
}

var callName = regexp.MustCompile(`[a-z0-9]+\(`)

// escaped is a text as strace -xx prints it.
func escaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(`\x`)
		b.WriteByte("0123456789abcdef"[s[i]>>4])
		b.WriteByte("0123456789abcdef"[s[i]&15])
	}
	return b.String()
}
