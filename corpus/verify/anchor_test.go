package verify

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/corpus/seal"
)

// anchored is a record with two counts of artifacts around a handover of the identity, and the key
// that follows.
func anchored(t *testing.T) *seal.Writer {
	t.Helper()
	w := recordtest.Writer(t)
	issued := func(at string, n int64) record.Observation {
		return record.Observation{At: at, Kind: record.ObservationArtifactsIssued,
			Issued: &record.Issued{Total: n, Classes: []record.IssuedClass{{Class: "certificate", Total: n}}}}
	}
	if _, err := w.Observe(t.Context(), issued("2026-10-01T00:00:00Z", 3)); err != nil {
		t.Fatal(err)
	}
	next := recordtest.Key(t, 9)
	ring, err := w.Ring.Handover(attest.Change{Purpose: attest.PurposeIdentity, Effective: "2026-11-01",
		Reason: "it was time"}, w.Identity, next.Public())
	if err != nil {
		t.Fatal(err)
	}
	w.Ring, w.Identity = ring, next
	if _, err := w.Observe(t.Context(), record.Observation{At: "2026-11-01T10:00:00Z", Kind: record.ObservationKeyEvent,
		Handover: &ring.Handovers[len(ring.Handovers)-1]},
		record.Observation{At: "2026-11-02T00:00:00Z", Kind: record.ObservationRetiredWord,
			Word: &record.Said{Text: "synergy"}}, issued("2026-11-08T00:00:00Z", 7)); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAnchorsFollowTheKeys(t *testing.T) {
	w := anchored(t)
	chain, err := recordtest.Open(t, w).Anchors()
	if err != nil || len(chain) != 4 {
		t.Fatalf("%d anchors: %v", len(chain), err)
	}
	old, next := attest.SpecimenKey().Public(), w.Identity.Public()
	for i, want := range []struct {
		at      string
		key     string
		retired int
		issued  int64
	}{
		{attest.SpecimenRing().Identity().Since + "T00:00:00Z", string(old), 0, 0},
		{"2026-10-01T00:00:00Z", string(old), 0, 3},
		{"2026-11-01T10:00:00Z", string(next), 1, 3},
		{"2026-11-08T00:00:00Z", string(next), 1, 7},
	} {
		a := chain[i]
		if a.Sequence != int64(i+1) || a.TakenAt != want.at || string(a.CurrentPublicKey) != want.key ||
			len(a.RetiredKeys) != want.retired || a.ArtifactsIssuedTotal != want.issued {
			t.Errorf("anchor %d is %+v", i+1, a)
		}
		var previous attest.Digest
		if i > 0 {
			if previous, err = chain[i-1].Digest(); err != nil {
				t.Fatal(err)
			}
		}
		if a.PreviousDigest != previous {
			t.Errorf("anchor %d follows %s", i+1, a.PreviousDigest)
		}
	}
	if a := chain[2].RetiredKeys[0]; string(a.PublicKey) != string(old) || a.RetiredOn != "2026-11-01" {
		t.Errorf("retired is %+v", a)
	}
	// A ring that the handover does not lead through has another history.
	twice := record.Observation{Handover: &w.Ring.Handovers[len(w.Ring.Handovers)-1]}
	if _, err := record.Anchors(attest.SpecimenRing(), []record.Observation{twice, twice}); err == nil {
		t.Error("a key was handed over twice")
	}
}

func TestAnchorsAreProved(t *testing.T) {
	w := anchored(t)
	chain, err := recordtest.Open(t, w).Anchors()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := chain[2].Digest()
	if err != nil {
		t.Fatal(err)
	}
	full, header := inBlock(t, digest, 7)
	for _, p := range []ots.Proof{pendingAt(t, digest, "http://a.example"), full} {
		if name, err := w.AddAnchorProof(t.Context(), 3, "a.example", p, map[int64]ots.Header{7: header}); err != nil ||
			!strings.HasPrefix(name, "proofs/anchor-3/a.example-") {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, n := range []int64{0, 2, 5} {
		if _, err := w.AddAnchorProof(t.Context(), n, "a.example", full, nil); err == nil {
			t.Errorf("the proof of anchor 3 was added to %d", n)
		}
	}
	report, err := Record(t.Context(), os.DirFS(w.Dir), w.Ring,
		RecordOptions{Judge: rejudge.Batteries{}, Difficulty: 1e-12})
	if err != nil || len(report.Problems) > 0 || len(report.Proofs) != 2 || report.Proofs[1].Anchor != 3 ||
		report.Proofs[1].State != ots.StateVerified {
		t.Fatalf("%+v, %v", report, err)
	}
	feed, err := recordtest.Open(t, w).Observations()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	report.print(&said)
	if !strings.Contains(said.String(), "proofs/anchor-3/a.example-2.ots: anchor 3 existed by ") {
		t.Errorf("it says %s", said.String())
	}
	l, err := recordtest.Open(t, w).AnchorLog(feed)
	if err != nil || len(l.Entries) != 4 || l.Entries[2].OTS.Status != ots.StateUnchecked ||
		l.Entries[2].OTS.Proof == "" || l.Entries[1].OTS.Status != "none" {
		t.Fatalf("%+v, %v", l, err)
	}
	// The same proof under another anchor is refused with its name.
	if err := os.Rename(w.Dir+"/proofs/anchor-3", w.Dir+"/proofs/anchor-2"); err != nil {
		t.Fatal(err)
	}
	report, err = Record(t.Context(), os.DirFS(w.Dir), w.Ring, judging)
	if err != nil || len(report.Problems) != 2 || !strings.HasPrefix(report.Problems[0].Path, "proofs/anchor-2/") {
		t.Errorf("%+v, %v", report.Problems, err)
	}
}

func TestPublishedAnchorLog(t *testing.T) {
	w := anchored(t)
	r := recordtest.Open(t, w)
	feed, err := r.Observations()
	if err != nil {
		t.Fatal(err)
	}
	chain, err := r.Anchors()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := chain[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.AddAnchorProof(t.Context(), 1, "a.example", pendingAt(t, digest, "http://a.example"),
		nil); err != nil {
		t.Fatal(err)
	}
	l, err := recordtest.Open(t, w).AnchorLog(feed)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := record.CheckAnchorLog(raw, w.Ring, feed); err != nil {
		t.Fatal(err)
	}
	older := l
	older.Entries = l.Entries[:2]
	if raw, _ := older.Encode(); record.CheckAnchorLog(raw, w.Ring, feed) != nil {
		t.Error("a tree that is older than the record is refused")
	}
	if record.CheckAnchorLog(raw, w.Ring, feed[:2]) == nil {
		t.Error("more entries than the record gives are taken")
	}
	for i := range raw {
		bad := append([]byte(nil), raw...)
		bad[i] ^= 1
		// What describes the chain in words is covered by the tree's manifest alone, and so is what
		// a proof says behind the digest that it is about.
		if err := record.CheckAnchorLog(bad, w.Ring, feed); err == nil && !inWords(string(raw), i) {
			t.Fatalf("byte %d changed, near %q", i, raw[max(0, i-20):min(len(raw), i+20)])
		}
	}
	l.Entries[0].OTS, l.Entries[1].OTS = l.Entries[1].OTS, l.Entries[0].OTS
	if other, err := l.Encode(); err != nil || record.CheckAnchorLog(other, w.Ring, feed) == nil {
		t.Errorf("the proof of another entry is taken: %v", err)
	}
	// In a clone, the tree's own manifest covers the file; a store that signs what does not follow
	// is found out.
	tree := fstest.MapFS{record.AnchorFile: {Data: raw}}
	var report CloneReport
	if err := report.anchorLog(tree, os.DirFS(w.Dir), w.Ring); err != nil || len(report.Problems) != 0 {
		t.Fatalf("%v %v", report.Problems, err)
	}
	l.Entries[1].Snapshot.ArtifactsIssuedTotal = 4
	l.Entries[1].Digest, _ = l.Entries[1].Snapshot.Digest()
	if raw, err = l.Encode(); err != nil {
		t.Fatal(err)
	}
	tree[record.AnchorFile].Data = raw
	if err := report.anchorLog(tree, os.DirFS(w.Dir), w.Ring); err != nil || len(report.Problems) != 1 ||
		report.Problems[0].Path != record.AnchorFile {
		t.Errorf("%v %v", report.Problems, err)
	}
}

// inWords says whether a byte of an anchor log stands in a text for people, or in what repeats the
// proof.
func inWords(raw string, i int) bool {
	line := raw[strings.LastIndexByte(raw[:i], '\n')+1:]
	for _, name := range []string{`  "description": "`, `    "digest is`, `    "current_public_key and`,
		`    "proof_base64 is`, `        "status": "pending"`, `        "calendars": [`, `          "http://a.example"`,
		`        "proof_base64": "`} {
		if strings.HasPrefix(line, name) {
			return true
		}
	}
	return false
}
