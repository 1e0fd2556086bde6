package hostindex

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortsLikeMemory compares with a stable sort in memory, from no run to many.
func TestSortsLikeMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	for _, memory := range []int{1, 200, 5000, 1 << 20} {
		s := newSorter(memory)
		type pair struct{ key, value string }
		var want []pair
		for round := range 3 {
			for i := range 400 {
				p := pair{fmt.Sprintf("%0*x", 1+rng.IntN(4), rng.IntN(300)), fmt.Sprintf("%d.%d", round, i)}
				if i%50 == 0 {
					p.key = ""
				}
				want = append(want, p)
				if err := s.Add([]byte(p.key), []byte(p.value)); err != nil {
					t.Fatal(err)
				}
			}
			slices.SortStableFunc(want, func(a, b pair) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
			var got []pair
			for r, err := range s.Sorted() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, pair{string(r.Key), string(r.Value)})
			}
			if !slices.Equal(got, want) {
				t.Fatalf("memory of %d, round %d: %d runs do not give the order of a sort in memory", memory, round,
					len(s.runs))
			}
		}
		if s.Len() != 1200 || (memory < 1<<20) != (len(s.runs) > 0) {
			t.Errorf("memory of %d: %d records, %d runs", memory, s.Len(), len(s.runs))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range s.Sorted() {
			t.Fatal("a closed sorter holds a record")
		}
	}
}

// TestReadingMayStop leaves off in the middle and reads again.
func TestReadingMayStop(t *testing.T) {
	s := newSorter(64)
	defer s.Close()
	for i := range 100 {
		if err := s.Add(fmt.Appendf(nil, "%03d", 99-i), nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		n := 0
		for r, err := range s.Sorted() {
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("%03d", n); string(r.Key) != want {
				t.Fatalf("%q where %q belongs", r.Key, want)
			}
			if n++; n == 60 {
				break
			}
		}
	}
}

// TestLongRecords sorts records of which few fit into the buffer, and some by themselves alone.
func TestLongRecords(t *testing.T) {
	s := newSorter(3 << 20)
	defer s.Close()
	for i := range 200 {
		if err := s.Add(fmt.Appendf(nil, "%03d", 199-i), bytes.Repeat([]byte{byte(i)}, i%7*(300<<10))); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for r, err := range s.Sorted() {
		i := 199 - n
		if err != nil || string(r.Key) != fmt.Sprintf("%03d", n) ||
			!bytes.Equal(r.Value, bytes.Repeat([]byte{byte(i)}, i%7*(300<<10))) {
			t.Fatalf("record %d is %q with %d bytes, %v", n, r.Key, len(r.Value), err)
		}
		n++
	}
	if n != 200 || len(s.runs) < 50 {
		t.Errorf("%d records in %d runs", n, len(s.runs))
	}
}

// TestACutFileIsAnError shortens the file of the runs.
func TestACutFileIsAnError(t *testing.T) {
	s := newSorter(64)
	defer s.Close()
	for i := range 100 {
		if err := s.Add(fmt.Appendf(nil, "%03d", i), []byte("value")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.file.Truncate(s.end / 2); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Sorted() {
		if err != nil {
			return
		}
	}
	t.Error("half of the records were taken for all")
}
