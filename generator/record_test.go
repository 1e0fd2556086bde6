package generator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
)

// TestRecordIsReadBack writes units of all sizes, so that some stand across the pieces in which a
// record is read, and reads the rows out of order. A row that is cut off is an error wherever that
// is.
func TestRecordIsReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	want := map[string][]recordUnit{"none": nil, "small": nil, "large": nil}
	name := filepath.Join(t.TempDir(), "record")
	w, err := createRecord(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"small", "none", "large"} {
		w.row(row)
		for i := range map[string]int{"small": 3, "large": 200}[row] {
			files := make([]recordFile, rng.IntN(5))
			for n := range files {
				files[n] = recordFile{sha(fmt.Append(nil, row, i, n)), rng.Int64N(1 << rng.IntN(50))}
			}
			u := newRecordUnit(fmt.Sprintf("%04d%s", i, strings.Repeat("k", rng.IntN(3000))), sha([]byte{byte(i)}),
				files)
			if !slices.Equal(u.Files(), files) {
				t.Fatalf("Files() = %v, want %v", u.Files(), files)
			}
			want[row] = append(want[row], u)
			w.unit(&u)
		}
		w.end()
	}
	if err := w.save(attest.Digest{7}); err != nil {
		t.Fatal(err)
	}
	r := openRecord(name)
	if r == nil {
		t.Fatal("no record")
	}
	defer r.close()
	if r.head != (attest.Digest{7}) {
		t.Errorf("head %v", r.head)
	}
	read := func(p *recordParser) (units []recordUnit, err error) {
		for u, ok := p.unit(); ok; u, ok = p.unit() {
			units = append(units, u)
		}
		return units, p.err
	}
	for row, units := range want {
		got, err := read(r.row(row))
		if err != nil || !slices.Equal(got, units) {
			t.Errorf("row %s: %d units, %v, want %d", row, len(got), err, len(units))
		}
	}
	if got, err := read(r.row("another")); len(got) > 0 || err != nil {
		t.Errorf("a row that is not there: %d units, %v", len(got), err)
	}
	at := r.rows["small"]
	for to := at.from; to < at.to; to++ {
		if got, err := read(newRecordParser(r.file, span{at.from, to})); !errors.Is(err, errBroken) ||
			len(got) > len(want["small"]) {
			t.Fatalf("cut off after %d bytes: %d units, %v", to-at.from, len(got), err)
		}
	}
}
