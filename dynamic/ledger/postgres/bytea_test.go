package postgres

import (
	"bytes"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// Lists are encoded as pgx encodes them, behind whatever stands in the memory already, which does
// not grow value by value: once, and twice under the race detector.
func TestByteas(t *testing.T) {
	theirs, ours := pgtype.NewMap(), pgtype.NewMap()
	addByteas(ours)
	for _, list := range [][][]byte{
		{},
		{{}},
		{[]byte("a"), {}, {0, 1, 255}},
		{bytes.Repeat([]byte("x"), 5000), bytes.Repeat([]byte{0}, 70_000), []byte("key")},
		slices.Repeat([][]byte{[]byte("one of many values")}, 1000),
	} {
		for _, before := range [][]byte{nil, []byte("before")} {
			want, err := theirs.Encode(pgtype.ByteaArrayOID, pgtype.BinaryFormatCode, list, bytes.Clone(before))
			if err != nil {
				t.Fatal(err)
			}
			got, err := ours.Encode(pgtype.ByteaArrayOID, pgtype.BinaryFormatCode, list, bytes.Clone(before))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d values behind %q: %.60q, want %.60q", len(list), before, got, want)
			}
			grown := testing.AllocsPerRun(10, func() { _, _ = byteas{}.Encode(list, before) })
			if grown > 2 {
				t.Errorf("%d values take memory %v times", len(list), grown)
			}
		}
	}
	text, err := ours.Encode(pgtype.ByteaArrayOID, pgtype.TextFormatCode, [][]byte{[]byte("a")}, nil)
	if err != nil || string(text) != `{"\\x61"}` {
		t.Errorf("as text: %q, %v", text, err)
	}
}
