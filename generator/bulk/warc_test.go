package bulk

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nlnwa/gowarc/v3"
)

// archived is a record of a WARC file as gowarc reads it, which is not what wrote it.
type archived struct {
	gowarc.WarcRecord
	offset int64
	block  []byte
}

func (a archived) field(name string) string { return a.WarcHeader().Get(name) }

// warcRecords reads a WARC file with every check that gowarc has.
func warcRecords(t testing.TB, name string) (out []archived) {
	t.Helper()
	r, err := gowarc.NewWarcFileReader(name, 0, gowarc.WithStrictValidation(),
		gowarc.WithBlockErrorPolicy(gowarc.ErrFail))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		next, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil || len(next.Validation) > 0 {
			t.Fatalf("%s, record %d: %v, %v", name, len(out), err, next.Validation)
		}
		out = append(out, archived{next.WarcRecord, next.Offset, block(t, next.WarcRecord)})
	}
}

// block reads the block of a record, whose digest must be the one that the record tells.
func block(t testing.TB, r gowarc.WarcRecord) []byte {
	t.Helper()
	if faults, err := r.ValidateDigest(); err != nil || len(faults) > 0 || !r.WarcHeader().Has("WARC-Block-Digest") {
		t.Fatalf("record %s: %v, %v", r.RecordId(), err, faults)
	}
	raw, err := r.Block().RawBytes()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(raw)
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return b
}

// cdxjLine is a line of an index.
type cdxjLine struct {
	key, at        string
	fields         map[string]string
	offset, length int64
}

// cdxjLines reads an index, which is sorted.
func cdxjLines(t testing.TB, raw []byte) (out []cdxjLine) {
	t.Helper()
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		t.Fatal("the last line of the index has no end")
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if !slices.IsSorted(lines) {
		t.Error("the index is not sorted")
	}
	for _, text := range lines {
		var l cdxjLine
		var fields string
		l.key, fields, _ = strings.Cut(text, " ")
		l.at, fields, _ = strings.Cut(fields, " ")
		_, err := strconv.ParseInt(l.at, 10, 64)
		if err = errors.Join(err, json.Unmarshal([]byte(fields), &l.fields)); err != nil || len(l.at) != 14 {
			t.Fatalf("line %q: %v", text, err)
		}
		l.offset, err = strconv.ParseInt(l.fields["offset"], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if l.length, err = strconv.ParseInt(l.fields["length"], 10, 64); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// checkIndex demands that each line of an index leads to one whole gzip member that is the record
// it tells of, and that each record with a target has a line. It returns the number of lines.
func checkIndex(t testing.TB, dir, week string) int {
	t.Helper()
	name := evidenceName(week, endingWARC)
	file := read(t, dir, name)
	want := make(map[int64]archived)
	for _, r := range warcRecords(t, filepath.Join(dir, name)) {
		if r.WarcHeader().Has("WARC-Target-URI") {
			want[r.offset] = r
		}
	}
	lines := cdxjLines(t, read(t, dir, evidenceName(week, endingCDXJ)))
	for _, l := range lines {
		if l.offset < 0 || l.offset+l.length > int64(len(file)) {
			t.Fatalf("%s leads to %d bytes at %d", l.fields["url"], l.length, l.offset)
		}
		member := bytes.NewReader(file[l.offset : l.offset+l.length])
		z, err := gzip.NewReader(member)
		if err != nil {
			t.Fatalf("%s at %d: %v", l.fields["url"], l.offset, err)
		}
		z.Multistream(false)
		plain, err := io.ReadAll(z)
		if err != nil || member.Len() > 0 || !z.ModTime.IsZero() || z.Name != "" {
			t.Fatalf("%s at %d is no whole member, or has a time or a name: %v", l.fields["url"], l.offset, err)
		}
		r, _, _, err := gowarc.NewUnmarshaler(gowarc.WithStrictValidation()).Unmarshal(bufio.NewReader(
			bytes.NewReader(plain)))
		if err != nil {
			t.Fatal(err)
		}
		h := r.WarcHeader()
		date := strings.NewReplacer("-", "", "T", "", ":", "", "Z", "").Replace(h.Get("WARC-Date"))
		if h.Get("WARC-Target-URI") != l.fields["url"] || date != l.at || h.Get("Content-Type") != l.fields["mime"] ||
			h.Get("WARC-Block-Digest") != l.fields["digest"] || l.fields["filename"] != name ||
			surt(l.fields["url"]) != l.key {
			t.Errorf("line %+v leads to %s", l, h)
		}
		var told struct{ Status int }
		if err := json.Unmarshal(block(t, r), &told); err != nil {
			t.Fatal(err)
		}
		status, _ := strconv.Atoi(l.fields["status"])
		if _, there := want[l.offset]; !there || status != told.Status {
			t.Errorf("line %+v stands twice, or its block has status %d", l, told.Status)
		}
		delete(want, l.offset)
	}
	for _, r := range want {
		t.Errorf("no line leads to %s", r.WarcHeader())
	}
	return len(lines)
}

func TestFieldsCannotBeInjected(t *testing.T) {
	w := writer{work: t.TempDir()}
	out, err := w.create("x.warc.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer out.close()
	f := newWARC(out)
	for _, value := range []string{"a\r\nWARC-Type: response", "a\nb", "a\rb", "a\x00", "a\tb", "\x7f"} {
		_, _, err := f.put(&warcRecord{kind: warcMetadata, id: recordID("x"), date: "2026-11-16T06:00:20Z",
			media: mediaJSON, fields: []warcField{{"WARC-Target-URI", value}}})
		if !errors.Is(err, errField) || out.n != 0 {
			t.Errorf("%q: %v, %d bytes", value, err, out.n)
		}
	}
}
