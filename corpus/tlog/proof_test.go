package tlog_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"store.example/agentstore/corpus/attest/attesttest"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/tlog"
	"store.example/agentstore/corpus/verify"
)

func FuzzOpenCheckpoint(f *testing.F) {
	w := recordtest.Small(f)
	log, err := tlog.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(log.Head().Raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, others, err := tlog.OpenCheckpoint(raw, w.Ring)
		if err == nil && len(raw) != len(c.Raw)+len(others) {
			t.Errorf("%q opens, and is not its parts", raw)
		}
	})
}

func FuzzParseProof(f *testing.F) {
	w := recordtest.Small(f)
	log, err := tlog.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		f.Fatal(err)
	}
	p, err := log.Prove(3, 15, w.Ring)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Text())
	f.Add(p.File([]byte("leaf")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if p, extra, err := tlog.ParseProofFile(raw); err == nil && extra != nil && !bytes.Equal(p.File(extra), raw) {
			t.Errorf("%q is written %q", raw, p.File(extra))
		}
		if p, err := tlog.ParseProof(raw); err == nil && !bytes.Equal(p.Text(), raw) {
			t.Errorf("%q is written %q", raw, p.Text())
		}
	})
}

func TestLogProofs(t *testing.T) {
	w := recordtest.Small(t)
	r := recordtest.Open(t, w)
	for _, size := range []int64{5, 6, 10, 11, 15} {
		for index := range size {
			p, err := r.Log.Prove(index, size, w.Ring)
			if err != nil {
				t.Fatal(err)
			}
			back, err := tlog.ParseProof(p.Text())
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := r.Log.Entry(index)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := back.Verify(leaf, w.Ring); err != nil || c.Size != size {
				t.Errorf("leaf %d of %d: %v", index, size, err)
			}
			if _, err := back.Verify(append(leaf, ' '), w.Ring); err == nil {
				t.Errorf("another leaf is proved at %d", index)
			}
		}
		old, err := r.Log.Checkpoint(size, w.Ring)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := r.Log.Consistency(size, 15)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckConsistency(proof, old, r.Log.Head()); err != nil {
			t.Error(err)
		}
		old.Root[0] ^= 1
		if err := tlog.CheckConsistency(proof, old, r.Log.Head()); err == nil {
			t.Error("another history is consistent")
		}
	}
	p, err := r.Log.Prove(7, 15, w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	leaf, _ := r.Log.Entry(7)
	attesttest.EveryByteChange(t, p.Text(), func(raw []byte) bool {
		p, err := tlog.ParseProof(raw)
		if err == nil {
			_, err = p.Verify(leaf, w.Ring)
		}
		return err == nil
	})
}

func TestCheckpointsAreStrict(t *testing.T) {
	w := recordtest.Small(t)
	head := recordtest.Open(t, w).Log.Head()
	attesttest.EveryByteChange(t, head.Raw, func(raw []byte) bool {
		_, others, err := tlog.OpenCheckpoint(raw, w.Ring)
		return err == nil && len(others) == 0
	})
	// What x/mod's own verifier says of the same bytes.
	v, err := note.NewVerifier(tlog.VerifierKey(recordtest.Origin, w.LogKey.Public()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.Open(head.Raw, note.VerifierList(v)); err != nil {
		t.Error(err)
	}
	line := head.Raw[len(head.Text)+1:]
	if _, _, err := tlog.OpenCheckpoint(append(slices.Clone(head.Raw), line...), w.Ring); err == nil {
		t.Error("a checkpoint that the log signed twice opens")
	}
	alien := []byte("— witness.example AAAAAAAA\n")
	c, others, err := tlog.OpenCheckpoint(append(slices.Clone(head.Raw), alien...), w.Ring)
	if err != nil || !bytes.Equal(others, alien) || !bytes.Equal(c.Raw, head.Raw) {
		t.Errorf("a line of somebody else: %q, %v", others, err)
	}
}

// TestPartialTilesStayUntilTheFullOneExists: whoever holds any checkpoint that was signed reads its
// tree, by its own partial tiles or by the full ones that took their places.
func TestPartialTilesStayUntilTheFullOneExists(t *testing.T) {
	w := recordtest.Writer(t)
	recordtest.Seal(t, w, recordtest.Judged(t, 1, recordtest.Hosts(230)...))
	fsys := os.DirFS(w.Dir)
	there := func(name string) bool {
		_, err := fs.Stat(fsys, name)
		return err == nil
	}
	var sizes []int64
	for i := range 40 {
		recordtest.Observe(t, w, fmt.Sprintf("word%d", i))
		sizes = append(sizes, recordtest.Open(t, w).Log.Head().Size)
		now := sizes[len(sizes)-1]
		for _, size := range sizes {
			for _, name := range tlog.PartialFiles(size) {
				full := strings.TrimSuffix(path.Dir(name), ".p")
				if !there(name) && !there(full) {
					t.Fatalf("at size %d, %s of size %d is gone, and there is no %s", now, name, size, full)
				}
				// Whoever reads while the head moves still finds his.
				if len(sizes) > 1 && size == sizes[len(sizes)-2] && !there(name) {
					t.Errorf("at size %d, %s of the head before is gone", now, name)
				}
			}
		}
	}
	// What a full tile has made needless goes.
	left := 0
	for _, size := range sizes {
		for _, name := range tlog.PartialFiles(size) {
			if there(name) && there(strings.TrimSuffix(path.Dir(name), ".p")) {
				left++
			}
		}
	}
	if last := sizes[len(sizes)-1]; last < tlog.TileWidth+10 || left > 0 {
		t.Errorf("%d partial files are left beside full ones at size %d", left, last)
	}
	if report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring,
		verify.RecordOptions{Judge: rejudge.Batteries{}}); err != nil ||
		len(report.Problems) > 0 {
		t.Error(err, report.Problems)
	}
}

func TestCosignatures(t *testing.T) {
	w := recordtest.Small(t)
	head := recordtest.Open(t, w).Log.Head()
	k := recordtest.Key(t, 7)
	witness, err := tlog.ParseWitness(tlog.Witness{Name: "witness.example", Public: k.Public()}.Key())
	if err != nil {
		t.Fatal(err)
	}
	line := recordtest.Cosign(k, witness.Name, head, 1_790_000_000)
	stranger := recordtest.Cosign(recordtest.Key(t, 8), "stranger.example", head, 1)
	got, err := w.Cosign(t.Context(), append(bytes.Clone(stranger), line...), []tlog.Witness{witness})
	if err != nil || len(got) != 1 || got[0].Witness != witness.Name || got[0].At.Unix() != 1_790_000_000 {
		t.Fatalf("%v, %v", got, err)
	}
	if again, err := w.Cosign(t.Context(), line, []tlog.Witness{witness}); err != nil || again != nil {
		t.Errorf("the same again: %v, %v", again, err)
	}
	published, err := recordtest.Open(t, w).Log.Published()
	if err != nil || string(published) != string(head.Raw)+string(line) {
		t.Errorf("published %q, %v", published, err)
	}
	if report, err := verify.Record(t.Context(), os.DirFS(w.Dir), w.Ring,
		verify.RecordOptions{Judge: rejudge.Batteries{}}); err != nil ||
		len(report.Problems) > 0 {
		t.Error(err, report.Problems)
	}
	attesttest.EveryByteChange(t, line, func(raw []byte) bool {
		got, err := tlog.Cosignatures(head, raw, []tlog.Witness{witness})
		return err == nil && len(got) == 1
	})
	if _, err := tlog.Cosignatures(head, append(bytes.Clone(line), line...), []tlog.Witness{witness}); err == nil {
		t.Error("a witness signs twice")
	}
	for _, bad := range []string{"", "a+b", witness.Key() + "A", strings.Replace(witness.Key(), "witness", "other", 1),
		tlog.VerifierKey("x", k.Public())} {
		if _, err := tlog.ParseWitness(bad); err == nil {
			t.Errorf("%q is a witness", bad)
		}
	}
	body, err := recordtest.Open(t, w).Log.WitnessRequest(5)
	if err != nil {
		t.Fatal(err)
	}
	top, rest, _ := strings.Cut(string(body), "\n\n")
	if lines := strings.Split(top, "\n"); lines[0] != "old 5" || len(lines) < 2 || rest != string(head.Raw) {
		t.Errorf("request %q", body)
	}
}
