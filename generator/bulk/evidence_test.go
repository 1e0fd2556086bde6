package bulk

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/judge"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/seal"
)

// judgedRecord has rounds of six hosts, made of walks that are kept.
func judgedRecord(t testing.TB, rounds int64) *seal.Writer {
	t.Helper()
	w := recordtest.Writer(t)
	for n := range rounds {
		recordtest.Seal(t, w, recordtest.Judged(t, n+1, recordtest.Hosts(6)...))
	}
	return w
}

// packed is all that the packs of a record hold, by digest, as the standard library reads them
// without any index.
func packed(t testing.TB, dir string) map[string]string {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "evidence", "*", "*"+record.PackSuffix))
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, name := range packs {
		rest := bytes.NewReader(read(t, name))
		for rest.Len() > 0 {
			z, err := gzip.NewReader(rest)
			if err != nil {
				t.Fatal(err)
			}
			z.Multistream(false)
			raw, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(raw)
			out[hex.EncodeToString(sum[:])] = string(raw)
		}
	}
	return out
}

// joined are the blocks of a WARC file joined by the digest that they tell, as a reader of it would
// do that who has nothing else, and where it says that each digest is signed.
func joined(t testing.TB, name string) (walks, signed map[string]string) {
	t.Helper()
	walks, signed = make(map[string]string), make(map[string]string)
	var head string
	lines := 0
	for i, r := range warcRecords(t, name) {
		if i == 0 {
			if r.Type().String() != "warcinfo" || r.field("WARC-Filename") != filepath.Base(name) {
				t.Errorf("it begins with %s", r.WarcHeader())
			}
			continue
		}
		digest, ok := strings.CutPrefix(r.field("Store-Evidence-Digest"), "sha256:")
		if !ok || r.Type().String() != "metadata" {
			t.Fatalf("record %d: %s", i, r.WarcHeader())
		}
		if _, going := walks[digest]; !going {
			head, lines = r.RecordId(), 0
		}
		lines++
		of, _, _ := strings.Cut(r.field("Store-Evidence-Line"), "/")
		var told struct {
			URL       string
			StartedAt string `json:"started_at"`
		}
		if err := json.Unmarshal(r.block, &told); err != nil || of != fmt.Sprint(lines) {
			t.Fatalf("record %d is line %s: %v", i, r.field("Store-Evidence-Line"), err)
		}
		linked := lines == 1 && !r.WarcHeader().Has("WARC-Concurrent-To") ||
			lines > 1 && r.WarcHeader().GetId("WARC-Concurrent-To") == head && r.field("WARC-Date") == told.StartedAt
		if !linked || r.field("WARC-Target-URI") != told.URL {
			t.Errorf("record %d: %s", i, r.WarcHeader())
		}
		walks[digest] += string(r.block)
		signed[digest] = r.field("Store-Signed-In")
	}
	return walks, signed
}

// TestEvidenceOfTheSpecimen finds all that the packs hold once, and each digest in a signed file.
func TestEvidenceOfTheSpecimen(t *testing.T) {
	const specimen = "../../corpus"
	rec, err := record.Open(os.DirFS(specimen), attest.SpecimenRing())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := Write(t.Context(), os.DirFS(specimen), rec, dir); err != nil {
		t.Fatal(err)
	}
	want := packed(t, specimen)
	rows, ids, lines := make(map[string]bool), make(map[string]bool), 0
	for _, round := range rec.Rounds() {
		for row, err := range rec.Rows(round.Sequence) {
			if err != nil {
				t.Fatal(err)
			}
			for _, digest := range row.JudgedBy() {
				rows[digest] = true
			}
		}
		name := filepath.Join(dir, evidenceName(round.Week, endingWARC))
		walks, signed := joined(t, name)
		for digest, raw := range walks {
			sum := sha256.Sum256([]byte(raw))
			if hex.EncodeToString(sum[:]) != digest || want[digest] != raw {
				t.Errorf("%s, %s: %d bytes, packed %d", round.Week, digest, len(raw), len(want[digest]))
			}
			if !bytes.Contains(read(t, specimen, signed[digest]), []byte(digest)) {
				t.Errorf("%s does not name %s", signed[digest], digest)
			}
			if strings.HasSuffix(signed[digest], ".jsonl") != rows[digest] {
				t.Errorf("%s is said to be signed in %s", digest, signed[digest])
			}
			delete(want, digest)
			delete(rows, digest)
		}
		for _, r := range warcRecords(t, name) {
			if ids[r.RecordId()] {
				t.Errorf("two records are %s", r.RecordId())
			}
			ids[r.RecordId()] = true
		}
		lines += checkIndex(t, dir, round.Week)
	}
	feed, err := rec.Observations()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range feed { // what is behind the last round waits for the next
		if leaf, _ := rec.ObservationLeaf(o.Number); leaf >= rec.Rounds()[len(rec.Rounds())-1].LeavesEnd() {
			delete(want, o.JudgedBy())
		}
	}
	if len(want) > 0 {
		t.Errorf("in no file: %v", slices.Sorted(maps.Keys(want)))
	}
	if lines != len(ids)-len(rec.Rounds()) {
		t.Errorf("%d lines lead to %d records", lines, len(ids))
	}
	t.Logf("%d records, %d lines; %d rows whose evidence is not kept", len(ids), lines, len(rows))
}

// TestEvidenceIsTheSameEveryTime writes it twice, keeps it, and adds a week.
func TestEvidenceIsTheSameEveryTime(t *testing.T) {
	w, dir, other := judgedRecord(t, 2), t.TempDir(), t.TempDir()
	first := write(t, w, dir)
	write(t, w, other)
	before := files(t, dir)
	if before[evidenceName(first.Week, endingWARC)] == "" {
		t.Fatal("there is no evidence")
	}
	if diff := cmp.Diff(before, files(t, other)); diff != "" {
		t.Error("written twice, it differs")
	}
	if r := write(t, w, dir); len(r.Written) > 0 {
		t.Errorf("the same again: %v", r.Written)
	}
	recordtest.Seal(t, w, recordtest.Judged(t, 3, recordtest.Hosts(6)...))
	r := write(t, w, dir)
	for name := range before {
		if strings.HasPrefix(name, "evidence-") && slices.Contains(r.Written, name) {
			t.Errorf("%s was made again", name)
		}
	}
	for _, ending := range []string{endingWARC, endingCDXJ} {
		name := evidenceName(r.Week, ending)
		if !slices.Contains(r.Written, name) {
			t.Errorf("%s is missing among %v", name, r.Written)
		}
		damaged := []byte(files(t, dir)[name])
		damaged[len(damaged)/2] ^= 1
		if err := os.WriteFile(filepath.Join(dir, name), damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		if r := write(t, w, dir); !slices.Equal(r.Written, []string{name}) {
			t.Errorf("after %s was changed: %v", name, r.Written)
		}
	}
}

// TestWithdrawnEvidenceIsGone withdraws one walk of a round, puts its pack back, and then withdraws
// all others.
func TestWithdrawnEvidenceIsGone(t *testing.T) {
	w, dir := judgedRecord(t, 2), t.TempDir()
	write(t, w, dir)
	before := files(t, dir)
	week := open(t, w).Rounds()[0].Week
	name := filepath.Join(dir, evidenceName(week, endingWARC))
	walks, _ := joined(t, name)
	withdraw := func(digests ...string) {
		t.Helper()
		var fresh []record.Observation
		for _, d := range digests {
			fresh = append(fresh, record.Observation{At: "2026-11-27T10:11:12Z", Kind: record.ObservationWithdrawn,
				Withdrawn: &record.Withdrawn{SHA256: d, Reason: "asked by the host"}})
		}
		if _, err := w.Observe(t.Context(), fresh...); err != nil {
			t.Fatal(err)
		}
	}
	all := slices.Sorted(maps.Keys(walks))
	gone, rest := all[0], all[1:]
	const pack = "evidence/000000001/000001"
	held := map[string][]byte{pack + record.PackSuffix: nil, pack + record.IndexSuffix: nil}
	for path := range held {
		held[path] = read(t, w.Dir, path)
	}
	withdraw(gone)
	absent := func() {
		t.Helper()
		now, _ := joined(t, name)
		delete(walks, gone)
		if diff := cmp.Diff(walks, now); diff != "" {
			t.Errorf("after a withdrawal (-want +got):\n%s", diff)
		}
		if plain := unzip(t, read(t, name)); bytes.Contains(plain, []byte(gone)) {
			t.Error("what was withdrawn is told of")
		}
		checkIndex(t, dir, week)
	}
	r := write(t, w, dir)
	fresh := []string{fileDigests, evidenceName(week, endingCDXJ), evidenceName(week, endingWARC)}
	if !slices.Equal(r.Written, fresh) {
		t.Errorf("written %v, want %v", r.Written, fresh)
	}
	absent()
	for path, body := range held { // a copy from before is laid over the record
		if err := os.WriteFile(filepath.Join(w.Dir, path), body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if r := write(t, w, dir); len(r.Written) > 0 {
		t.Errorf("written with an old pack: %v", r.Written)
	}
	clean := t.TempDir()
	write(t, w, clean)
	if diff := cmp.Diff(files(t, dir), files(t, clean)); diff != "" {
		t.Error("a folder that had it differs from one that never did")
	}
	withdraw(rest...)
	write(t, w, dir)
	after := files(t, dir)
	for path := range before {
		here := strings.Contains(path, week) && strings.HasPrefix(path, "evidence-")
		if _, there := after[path]; there == here {
			t.Errorf("with nothing kept of %s: %s is there: %t", week, path, there)
		}
	}
}

// TestObservedEvidenceComesWithTheNextRound: what a refresh was judged by waits for a round.
func TestObservedEvidenceComesWithTheNextRound(t *testing.T) {
	w, dir := judgedRecord(t, 1), t.TempDir()
	first := write(t, w, dir)
	before := files(t, dir)
	const door = "https://h00000.example/paid"
	report, judgement := recordtest.Look(t, door, practice.All()[0].Answer(door), exchange.Error{}, recordtest.LookedAt)
	o, err := judge.RefreshFrom("h00000.example", report, judgement)
	if err != nil {
		t.Fatal(err)
	}
	logged, err := w.Observe(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	fresh := logged[0]
	if r := write(t, w, dir); len(r.Written) > 0 {
		t.Errorf("written after a refresh: %v", r.Written)
	}
	recordtest.Seal(t, w, recordtest.Judged(t, 2, recordtest.Hosts(6)...))
	second := write(t, w, dir)
	for _, week := range []string{first.Week, second.Week} {
		walks, signed := joined(t, filepath.Join(dir, evidenceName(week, endingWARC)))
		raw, there := walks[fresh.JudgedBy()]
		if there != (week == second.Week) || there && (raw != o.Judgement ||
			signed[fresh.JudgedBy()] != "observations/"+fresh.File()) {
			t.Errorf("%s: %d bytes, signed in %s", week, len(raw), signed[fresh.JudgedBy()])
		}
	}
	name := evidenceName(first.Week, endingWARC)
	if files(t, dir)[name] != before[name] {
		t.Errorf("%s was made again", name)
	}
}
