package verify

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
)

func pendingAt(t testing.TB, digest attest.Digest, uri string) ots.Proof {
	t.Helper()
	return answer(t, digest, slices.Concat([]byte{0xf0, 1, 'x', 0x08, 0, 0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e,
		byte(len(uri) + 1), byte(len(uri))}, []byte(uri)))
}

func answer(t testing.TB, digest attest.Digest, tree []byte) ots.Proof {
	t.Helper()
	p, err := ots.FromAnswer(digest, tree)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// inBlock is a proof that leads to a block of its own, of the least difficulty there is.
func inBlock(t testing.TB, digest attest.Digest, height byte) (ots.Proof, ots.Header) {
	t.Helper()
	p := answer(t, digest, []byte{0x08, 0, 0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01, 1, height})
	root := sha256.Sum256(digest[:])
	var h ots.Header
	copy(h[36:], root[:])
	binary.LittleEndian.PutUint32(h[68:], 1_794_000_000) // in November 2026
	binary.LittleEndian.PutUint32(h[72:], 0x207fffff)
	for n := uint32(0); h.Work(1e-12) != nil; n++ {
		binary.LittleEndian.PutUint32(h[76:], n)
	}
	return p, h
}

func TestProofsOfTime(t *testing.T) {
	w := recordtest.Small(t)
	round, _ := recordtest.Open(t, w).Round(2)
	add := func(calendar string, p ots.Proof, headers map[int64]ots.Header) (string, error) {
		return w.AddProof(t.Context(), 2, calendar, p, headers)
	}
	a, b := pendingAt(t, round.Digest, "http://a.example"), pendingAt(t, round.Digest, "http://b.example")
	full, header := inBlock(t, round.Digest, 7)
	var names []string
	for _, step := range []struct {
		calendar string
		p        ots.Proof
		headers  map[int64]ots.Header
	}{{"a.example", a, nil}, {"b.example", b, nil}, {"a.example", a, nil},
		{"a.example", full, map[int64]ots.Header{7: header}}} {
		name, err := add(step.calendar, step.p, step.headers)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if diff := cmp.Diff([]string{"proofs/2/a.example-1.ots", "proofs/2/b.example-1.ots", "",
		"proofs/2/a.example-2.ots"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	got, ok, err := recordtest.Open(t, w).Proof(2, 1e-12)
	if err != nil || !ok || got.Status.State != ots.StateVerified || got.Status.Height != 7 ||
		len(got.Status.Calendars) != 2 || len(got.Files) != 3 {
		t.Errorf("merged: %+v, %v", got, err)
	}
	if _, ok, err := recordtest.Open(t, w).Proof(1, 0); ok || err != nil {
		t.Errorf("a round without proofs: %v, %v", ok, err)
	}
	report, err := Record(t.Context(), os.DirFS(w.Dir), w.Ring,
		RecordOptions{Judge: rejudge.Batteries{}, Difficulty: 1e-12})
	if err != nil || len(report.Problems) > 0 || len(report.Proofs) != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	other, _ := recordtest.Open(t, w).Round(1)
	if _, err := add("a.example", pendingAt(t, other.Digest, "http://a.example"), nil); err == nil {
		t.Error("a proof of another round is added")
	}
	header[40] ^= 1
	if _, err := add("c.example", full, map[int64]ots.Header{7: header}); err == nil {
		t.Error("a proof is added with a block that does not commit to it")
	}
	if _, err := add("../x", a, nil); err == nil {
		t.Error("a proof leaves its folder")
	}
	file := filepath.Join(w.Dir, "proofs/2/7.header")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, header.File(), 0o644); err != nil {
		t.Fatal(err)
	}
	if report, err := Record(t.Context(), os.DirFS(w.Dir), w.Ring, judging); err != nil ||
		len(report.Problems) != 1 || report.Problems[0].Path != "proofs/2/a.example-2.ots" {
		t.Errorf("with another block: %v, %v", report.Problems, err)
	}
}
