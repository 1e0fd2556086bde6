package bulk

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

func testWriter(t testing.TB) *seal.Writer {
	t.Helper()
	return &seal.Writer{Dir: t.TempDir(), Origin: "store.example/corpus", Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: attest.SpecimenRing()}
}

func taken(sequence int64) time.Time {
	return time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 7*int(sequence))
}

// seal seals the next round with rows as they come.
func sealed(t testing.TB, w *seal.Writer, sequence int64, rows iter.Seq2[record.Row, error]) record.Round {
	t.Helper()
	at := taken(sequence)
	r, err := w.Seal(t.Context(), seal.Draft{
		Sequence: sequence, Week: record.ISOWeek(at.Add(-time.Hour)), TakenAt: at, Battery: "v2", Rows: dated(rows, at),
		Roster: record.Roster{Listed: 4,
			Sources: []record.RosterSource{{Name: "bazaar", Kind: record.SourceDiscovery, Hosts: 4, Complete: true}}},
		Control: record.Control{Walks: 1},
		Inflows: record.Inflows{From: at.AddDate(0, 0, -7).Format(time.RFC3339), To: at.Format(time.RFC3339),
			Networks: []record.NetworkInflow{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// dated are rows whose walks were made an hour before their round was taken.
func dated(rows iter.Seq2[record.Row, error], taken time.Time) iter.Seq2[record.Row, error] {
	return func(yield func(record.Row, error) bool) {
		for r, err := range rows {
			if r.ObservedAt != "" {
				r.ObservedAt = taken.Add(-time.Hour).Format(time.RFC3339)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func each(rows ...record.Row) iter.Seq2[record.Row, error] {
	return func(yield func(record.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// walked is a row as a walk hands it in, with text that needs care in CSV, JSON and SQL.
func walked(host, verdict string) record.Row {
	r := record.Row{Host: host, URL: "https://" + host + "/a,b?q=\"'<&>\u2028", Source: record.SourceDiscovery,
		Catalog: "bazaar", Listed: true, Verdict: verdict,
		Failed: []string{}, Advisories: []string{}, Protocols: []string{}, Battery: "v2", Fault: record.FaultNone}
	switch verdict {
	case record.VerdictNotProbed:
		r.Reason, r.Fault, r.Catalog, r.Listed = "interrupted, \"really\"\n", record.FaultInstrument, "", false
		return r
	case record.VerdictUnreachable:
		r.Reason, r.Fault = "timeout", record.FaultInstrument
	case record.VerdictNotReady:
		r.Failed, r.Fault = []string{"status-402", "accepts"}, record.FaultDoor
	case record.VerdictReady:
		r.Protocols = []string{"x402"}
		r.Offer = &record.RowOffer{Networks: []string{"eip155:8453", "eip155:84532"}, Schemes: []string{"exact"},
			MinUSDC: "0.001", MaxUSDC: "12",
			PayTo: []record.PayTo{{Network: "eip155:8453", Digest: strings.Repeat("ab", 32)}}}
		r.AlsoUnder = []record.AlsoUnder{{Version: "v1", Verdict: record.VerdictNotReady, Difference: "v1 wants more"}}
	}
	r.ReachedLevel, r.ObservedAt, r.EvidenceDigest = "L4", "2026-11-20T10:11:12Z", strings.Repeat("cd", 32)
	r.ProbeMethod = &record.ProbeMethod{Used: "GET", Attempted: []string{"POST", "GET"}}
	return r
}

// smallRecord has three rounds: b turns ready, c is a gap of ours and then gone, d is new.
func smallRecord(t testing.TB) *seal.Writer {
	t.Helper()
	w := testWriter(t)
	sealed(t, w, 1, each(walked("a.example", record.VerdictReady), walked("b.example", record.VerdictNotReady),
		walked("c.example", record.VerdictNotProbed)))
	sealed(t, w, 2, each(walked("a.example", record.VerdictReady), walked("b.example", record.VerdictUnreachable)))
	third(t, w)
	return w
}

func third(t testing.TB, w *seal.Writer) {
	t.Helper()
	sealed(t, w, 3, each(walked("a.example", record.VerdictNotReady), walked("b.example", record.VerdictReady),
		walked("d.example", record.VerdictReady)))
}

func open(t testing.TB, w *seal.Writer) *record.Record {
	t.Helper()
	r, err := record.Open(os.DirFS(w.Dir), w.Ring)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t testing.TB, w *seal.Writer, dir string) Report {
	t.Helper()
	r, err := Write(t.Context(), os.DirFS(w.Dir), open(t, w), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t testing.TB, name ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(name...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unzip uses the standard library, which is not what packed it.
func unzip(t testing.TB, packed []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// files are all files of a folder, by name.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out[e.Name()] = string(read(t, dir, e.Name()))
	}
	return out
}

func TestLinesAreTheSignedRows(t *testing.T) {
	w, dir := smallRecord(t), t.TempDir()
	report := write(t, w, dir)
	rec := open(t, w)
	for _, round := range rec.Rounds() {
		var want []byte
		for row, err := range rec.Rows(round.Sequence) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(append(want, row.Raw...), '\n')
		}
		got := unzip(t, read(t, dir, partName(round.Week, ".jsonl.gz")))
		if !bytes.Equal(got, want) {
			t.Errorf("rows of %s\n got %s\nwant %s", round.Week, got, want)
		}
		for line := range bytes.Lines(got) {
			if _, err := record.VerifyRow(bytes.TrimSuffix(line, []byte("\n")), w.Identity.Public()); err != nil {
				t.Error(err)
			}
		}
	}
	if report.Rows != 8 || report.Rounds != 3 || len(report.Written) != 3*3+1+3 {
		t.Errorf("report %+v", report)
	}
	for _, f := range append(report.Files, report.Head) {
		if now, err := entry(filepath.Join(dir, f.Path)); err != nil || now.SHA256 != f.SHA256 || now.Bytes != f.Bytes {
			t.Errorf("%s is %+v, reported %+v", f.Path, now, f)
		}
	}
}

// records are those of all CSV files, behind the names of the columns.
func records(t testing.TB, w *seal.Writer, dir string) (all [][]string) {
	t.Helper()
	for _, round := range open(t, w).Rounds() {
		week, err := csv.NewReader(bytes.NewReader(unzip(t, read(t, dir, partName(round.Week, ".csv.gz"))))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			week = week[1:]
		}
		all = append(all, week...)
	}
	return all
}

func TestTableIsTheRows(t *testing.T) {
	w, dir := smallRecord(t), t.TempDir()
	write(t, w, dir)
	records := records(t, w, dir)
	var want []map[string]any // rows as they were signed
	for _, round := range open(t, w).Rounds() {
		for line := range bytes.Lines(unzip(t, read(t, dir, partName(round.Week, ".jsonl.gz")))) {
			var row map[string]any
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			want = append(want, row)
		}
	}
	if len(records) != len(want)+1 {
		t.Fatalf("%d lines", len(records))
	}
	for i, row := range want {
		for j, c := range columns {
			got, member := records[i+1][j], at(row, c.member)
			if records[0][j] != c.name {
				t.Fatalf("column %d is %s", j, records[0][j])
			}
			if same := sameValue(got, member); !same && c.member != "" && !strings.Contains(c.name, "micro") {
				t.Errorf("row %d, %s: got %q, want %v", i, c.name, got, member)
			}
		}
	}
	column := func(row int, name string) string {
		return records[row][slices.IndexFunc(columns, func(c column) bool { return c.name == name })]
	}
	if got := column(1, "offer_min_micro_usdc") + " " + column(1, "offer_max_micro_usdc") + " " +
		column(2, "offer_min_micro_usdc"); got != "1000 12000000 " {
		t.Errorf("amounts %q", got)
	}
	if got := column(4, "leaf") + " " + column(4, "previous_leaf"); got != "5 0" {
		t.Errorf("leaves %q", got)
	}
}

// at is the member at a path of a decoded row, nil if it is absent.
func at(row map[string]any, path string) any {
	var v any = row
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

func sameValue(got string, want any) bool {
	switch want := want.(type) {
	case nil:
		return got == ""
	case string:
		return got == want
	case float64, bool:
		return got == fmt.Sprint(want)
	}
	var v any
	return json.Unmarshal([]byte(got), &v) == nil && cmp.Equal(v, want)
}

// TestEveryMemberHasAColumn finds a member that a row has and the dictionary does not.
func TestEveryMemberHasAColumn(t *testing.T) {
	var walk func(of reflect.Type, at string)
	walk = func(of reflect.Type, at string) {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			kind := f.Type
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			if kind.Kind() == reflect.Struct {
				walk(kind, at+name+".")
				continue
			}
			known := slices.Contains(inEvery, at+name) ||
				slices.ContainsFunc(columns, func(c column) bool { return c.member == at+name })
			if !known {
				t.Errorf("no column has %s", at+name)
			}
		}
	}
	walk(reflect.TypeFor[record.Row](), "")
	text := string(dictionary().markdown())
	names := make(map[string]bool)
	for _, c := range columns {
		if names[c.name] || !strings.Contains(text, "| `"+c.name+"` |") || c.meaning == "" {
			t.Errorf("column %s", c.name)
		}
		names[c.name] = true
	}
}

func TestAWeekAddsItsFiles(t *testing.T) {
	w, dir := testWriter(t), t.TempDir()
	sealed(t, w, 1, each(walked("a.example", record.VerdictReady), walked("b.example", record.VerdictNotReady),
		walked("c.example", record.VerdictNotProbed)))
	sealed(t, w, 2, each(walked("a.example", record.VerdictReady), walked("b.example", record.VerdictUnreachable)))
	write(t, w, dir)
	if r := write(t, w, dir); len(r.Written) != 0 || r.Rows != 5 {
		t.Errorf("the same again: %+v", r)
	}
	third(t, w)
	week := record.ISOWeek(taken(3).Add(-time.Hour))
	year := partName(week[:4], ".sqlite")
	fresh := []string{fileDigests, partName(week, ".csv.gz"), partName(week, ".jsonl.gz"), partName(week, ".parquet"),
		year}
	r := write(t, w, dir)
	slices.Sort(fresh)
	if diff := cmp.Diff(fresh, r.Written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	after := files(t, dir)
	clean := t.TempDir()
	write(t, w, clean)
	if diff := cmp.Diff(files(t, clean), after); diff != "" {
		t.Error("a week later differs from a first time")
	}

	// A file that was meddled with is made again, and no other.
	for _, name := range append(fresh[1:], fileMarkdown) {
		damaged := []byte(after[name])
		damaged[len(damaged)/2] ^= 1
		if err := os.WriteFile(filepath.Join(dir, name), damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		if r := write(t, w, dir); !slices.Equal(r.Written, []string{name}) {
			t.Errorf("after %s was changed: %v", name, r.Written)
		}
		if diff := cmp.Diff(after, files(t, dir)); diff != "" {
			t.Errorf("%s is not what it was", name)
		}
	}
	// Where the columns are others, the signed bytes alone are what they were.
	if err := os.WriteFile(filepath.Join(dir, fileJSON), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name := range after {
		if strings.HasPrefix(name, "rows-") {
			text := append([]byte(nil), after[name]...)
			if err := os.WriteFile(filepath.Join(dir, name), append(text, ' '), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	readmit(t, dir)
	for _, name := range write(t, w, dir).Written {
		if strings.HasSuffix(name, ".jsonl.gz") {
			t.Errorf("%s was made again", name)
		}
	}
	if diff := cmp.Diff(after[year], files(t, dir)[year]); diff != "" {
		t.Errorf("with other columns before, %s was kept", year)
	}
	// Another record in the same folder leaves nothing of the first.
	other := testWriter(t)
	sealed(t, other, 1, each(walked("x.example", record.VerdictReady)))
	write(t, other, dir)
	clean = t.TempDir()
	write(t, other, clean)
	if diff := cmp.Diff(files(t, clean), files(t, dir)); diff != "" {
		t.Error("something of another record is left")
	}
}

// TestKeptFilesAreNotMadeAgain: bytes of other libraries stay as long as the record does.
func TestKeptFilesAreNotMadeAgain(t *testing.T) {
	w, dir := smallRecord(t), t.TempDir()
	r := write(t, w, dir)
	// A week as another compressor would have written it.
	name := partName(r.Week, ".jsonl.gz")
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
	z.Write(unzip(t, read(t, dir, name)))
	z.Close()
	if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	readmit(t, dir)
	if r := write(t, w, dir); len(r.Written) != 0 {
		t.Errorf("made again: %v", r.Written)
	}
	sealed(t, w, 4, each(walked("e.example", record.VerdictReady)))
	if r := write(t, w, dir); slices.Contains(r.Written, name) {
		t.Errorf("the week that stood was made again: %v", r.Written)
	}
}

// readmit makes digests.json say what the files of a folder are.
func readmit(t testing.TB, dir string) {
	t.Helper()
	d := readDigests(dir)
	for i, f := range d.Files {
		now, err := entry(filepath.Join(dir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		d.Files[i].SHA256, d.Files[i].Bytes = now.SHA256, now.Bytes
	}
	raw, err := attest.Canonical(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fileDigests), append(raw, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
