package corpus

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentstore/corpus/attest"
)

// cosign is what a witness answers with.
func cosign(k *attest.Key, name string, c Checkpoint, at uint64) []byte {
	b := binary.BigEndian.AppendUint32(nil, keyID(name, algCosigned, k.Public()))
	b = binary.BigEndian.AppendUint64(b, at)
	b = append(b, k.Sign(fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, c.Text))...)
	return fmt.Appendf(nil, "— %s %s\n", name, base64.StdEncoding.EncodeToString(b))
}

func TestCosignatures(t *testing.T) {
	w := smallRecord(t)
	head := open(t, w).Log.Head()
	k := fixedKey(t, 7)
	witness, err := ParseWitness(Witness{Name: "witness.example", Public: k.Public()}.Key())
	if err != nil {
		t.Fatal(err)
	}
	line := cosign(k, witness.Name, head, 1_790_000_000)
	stranger := cosign(fixedKey(t, 8), "stranger.example", head, 1)
	got, err := w.Cosign(t.Context(), append(bytes.Clone(stranger), line...), []Witness{witness})
	if err != nil || len(got) != 1 || got[0].Witness != witness.Name || got[0].At.Unix() != 1_790_000_000 {
		t.Fatalf("%v, %v", got, err)
	}
	if again, err := w.Cosign(t.Context(), line, []Witness{witness}); err != nil || again != nil {
		t.Errorf("the same again: %v, %v", again, err)
	}
	published, err := open(t, w).Log.Published()
	if err != nil || string(published) != string(head.Raw)+string(line) {
		t.Errorf("published %q, %v", published, err)
	}
	if report := check(t, w); len(report.Problems) > 0 {
		t.Error(report.Problems)
	}
	everyByteChange(t, line, func(raw []byte) bool {
		got, err := Cosignatures(head, raw, []Witness{witness})
		return err == nil && len(got) == 1
	})
	if _, err := Cosignatures(head, append(bytes.Clone(line), line...), []Witness{witness}); err == nil {
		t.Error("a witness signs twice")
	}
	for _, bad := range []string{"", "a+b", witness.Key() + "A", strings.Replace(witness.Key(), "witness", "other", 1), VerifierKey("x", k.Public())} {
		if _, err := ParseWitness(bad); err == nil {
			t.Errorf("%q is a witness", bad)
		}
	}
	body, err := open(t, w).Log.WitnessRequest(5)
	if err != nil {
		t.Fatal(err)
	}
	top, rest, _ := strings.Cut(string(body), "\n\n")
	if lines := strings.Split(top, "\n"); lines[0] != "old 5" || len(lines) < 2 || rest != string(head.Raw) {
		t.Errorf("request %q", body)
	}
}

// TestWitnessesThatAStrangerKnows: what they signed is checked and counted; what others signed is theirs.
func TestWitnessesThatAStrangerKnows(t *testing.T) {
	w := smallRecord(t)
	k := fixedKey(t, 7)
	known, silent := Witness{Name: "witness.example", Public: k.Public()}, Witness{Name: "silent.example", Public: fixedKey(t, 9).Public()}
	first := open(t, w).Log.Head()
	sign := func(at uint64) {
		t.Helper()
		head := open(t, w).Log.Head()
		lines := append(cosign(fixedKey(t, 8), "stranger.example", head, 1), cosign(k, known.Name, head, at)...)
		if _, err := w.Cosign(t.Context(), lines, []Witness{known, {Name: "stranger.example", Public: fixedKey(t, 8).Public()}}); err != nil {
			t.Fatal(err)
		}
	}
	sign(1_790_000_000)
	observe(t, w, "synergy")
	sign(1_790_000_060)
	tree := mapFS(t, w.Dir)
	report, err := VerifyRecord(t.Context(), tree, w.Ring, RecordOptions{Witnesses: []Witness{known, silent}})
	if err != nil {
		t.Fatal(err)
	}
	want := []CosignedReport{{Witness: known.Name, Checkpoints: 2, Size: first.Size + 1, At: time.Unix(1_790_000_060, 0).UTC()}, {Witness: silent.Name}}
	if diff := cmp.Diff(want, report.Cosigned); diff != "" || len(report.Problems) > 0 {
		t.Errorf("%v (-want +got):\n%s", report.Problems, diff)
	}
	// The lines of one checkpoint stand under the other, or were made for another log.
	a, b := inLog(fmt.Sprintf("cosignatures/%d", first.Size)), inLog(fmt.Sprintf("cosignatures/%d", first.Size+1))
	tree[a], tree[b] = tree[b], tree[a]
	for _, witnesses := range [][]Witness{nil, {silent}, {known}} {
		report, err := VerifyRecord(t.Context(), tree, w.Ring, RecordOptions{Witnesses: witnesses})
		if err != nil {
			t.Fatal(err)
		}
		if found := len(report.Problems) == 2 && report.Problems[0].Path == a && report.Problems[1].Path == b; found != (len(witnesses) == 1 && witnesses[0].Name == known.Name) {
			t.Errorf("moved cosignatures, by %v: %v", witnesses, report.Problems)
		}
	}
}
