package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/attest/filetree"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
	"store.example/agentstore/corpus/tlog"
)

// writeRecord writes a record of two rounds in which the hosts were not probed.
func writeRecord(t *testing.T, hosts ...string) *seal.Writer {
	t.Helper()
	w := &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
	for n := range int64(2) {
		grow(t, w, n+1, hosts...)
	}
	return w
}

// grow seals the round of a number.
func grow(t *testing.T, w *seal.Writer, sequence int64, hosts ...string) {
	t.Helper()
	at := time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(sequence))
	var rows iter.Seq2[record.Row, error] = func(yield func(record.Row, error) bool) {
		for _, h := range hosts {
			if !yield(record.Row{Host: h, URL: "https://" + h + "/", Source: record.SourceRevisit,
				Verdict: record.VerdictNotProbed, Reason: "interrupted",
				Battery: "v2", Fault: record.FaultInstrument, Failed: []string{}, Advisories: []string{},
				Protocols: []string{}}, nil) {
				return
			}
		}
	}
	if _, err := w.Seal(t.Context(), seal.Draft{Sequence: sequence, Week: record.ISOWeek(at), TakenAt: at,
		Battery: "v2", Rows: rows}); err != nil {
		t.Fatal(err)
	}
	if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
}

func TestRecordIsRemembered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "remembered")
	w := writeRecord(t, "a.example", "b.example")
	runs := func(dir string, want int) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := judging([]string{"-remember", file, dir}, &out, &errs); code != want {
			t.Fatalf("exit %d, want %d: %s%s", code, want, out.String(), errs.String())
		}
		return out.String()
	}
	if out := runs(w.Dir, 0); !strings.Contains(out, "2 rounds (2026-W37 to 2026-W38), 4 rows and 0 observations") ||
		strings.Contains(out, "seen before") {
		t.Errorf("the first time: %s", out)
	}
	older := filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(w.Dir)); err != nil {
		t.Fatal(err)
	}
	grow(t, w, 3, "a.example")
	if out := runs(w.Dir, 0); !strings.Contains(out, "goes on from the checkpoint of size 8") {
		t.Errorf("grown: %s", out)
	}
	held, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rewritten := writeRecord(t, "a.example", "c.example")
	grow(t, rewritten, 3, "a.example")
	if out := runs(rewritten.Dir, 5); !strings.Contains(out, "log/checkpoint: rewritten") {
		t.Errorf("rewritten: %s", out)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(held, now) {
		t.Errorf("what was refused is remembered: %v", err)
	}
	if out := runs(older, 4); !strings.Contains(out, "UNPROVEN: that its log is the beginning of the one that "+
		"was seen") {
		t.Errorf("an older copy: %s", out)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(held, now) {
		t.Errorf("an older copy is remembered: %v", err)
	}
	part := filepath.Join(w.Dir, "rounds/1/part-0001.jsonl")
	if err := os.Remove(part); err != nil {
		t.Fatal(err)
	}
	refuses(t, w.Dir, "rounds/1/part-0001.jsonl", "a missing part")
	if out := runs(w.Dir, 3); !strings.Contains(out, "missing") {
		t.Errorf("missing: %s", out)
	}
}

// TestWitnessByCommand names a witness to the command: its cosignature of the log's head is checked
// and told.
func TestWitnessByCommand(t *testing.T) {
	w := writeRecord(t, "a.example")
	key := attest.SpecimenKeyFor(attest.PurposeGit)
	witness := tlog.Witness{Name: "witness.example", Public: key.Public()}
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	head := r.Log.Head()
	id, err := strconv.ParseUint(strings.Split(witness.Key(), "+")[1], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	const at = 1_790_000_000
	line := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, uint32(id)), at)
	line = append(line, key.Sign(fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, head.Text))...)
	if _, err := w.Cosign(t.Context(), fmt.Appendf(nil, "— %s %s\n", witness.Name,
		base64.StdEncoding.EncodeToString(line)), []tlog.Witness{witness}); err != nil {
		t.Fatal(err)
	}
	if err := w.Cover(t.Context(), filetree.Meta{BaseURL: "https://store.example",
		ContentDigest: strings.Repeat("0", 64)}); err != nil {
		t.Fatal(err)
	}
	other := tlog.Witness{Name: "other.example", Public: attest.SpecimenKey().Public()}
	code, out := checkWith(w.Dir, "-witness", witness.Key(), "-witness", other.Key())
	for _, want := range []string{fmt.Sprintf("Witness witness.example cosigned 1 of its checkpoints, the newest of "+
		"size %d at 2026-09-21T14:13:20Z", head.Size), "Witness other.example cosigned none of its checkpoints"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, and it does not say %q: %s", code, want, out)
		}
	}
	if code, out := checkWith(w.Dir, "-witness", "nonsense"); code != 2 || !strings.Contains(out, "not name+id+key") {
		t.Errorf("no key: exit %d: %s", code, out)
	}
	file := filepath.Join(t.TempDir(), "bundle.json")
	if code, out := checkWith(w.Dir, "-export", "a.example", "-o", file); code != 0 {
		t.Fatal(out)
	}
	if code, out := checkWith(file, "-witness", witness.Key()); code != 1 ||
		!strings.Contains(out, "holds no cosignatures") {
		t.Errorf("of a bundle: exit %d: %s", code, out)
	}
}
