package dynamic

import "testing"

func TestChooseCoding(t *testing.T) {
	all := [codings]bool{true, true, true}
	noBrotli := [codings]bool{true, false, true}
	none := [codings]bool{true}
	for _, c := range []struct {
		field string
		have  [codings]bool
		want  coding
	}{
		{"", all, identity},
		{"gzip, deflate, br, zstd", all, brotlied},
		{"gzip, deflate, br, zstd", noBrotli, gzipped},
		{"gzip, deflate, br, zstd", none, identity},
		{"gzip", all, gzipped},
		{"br;q=0.5, gzip;q=0.8", all, gzipped},
		{"br;q=0, gzip", all, gzipped},
		{"br;q=0, gzip;q=0", all, identity},
		{"*", all, brotlied},
		{"*;q=0", all, identity},
		{"gzip;q=0, *", all, brotlied},
		{"identity;q=1, br;q=0.5", all, identity},
		{"identity;q=0.5, gzip", all, gzipped},
		{"identity", all, identity},
		{"identity;q=0, br", none, identity},
		{"zstd", all, identity},
		{"GZIP", all, gzipped},
	} {
		if got := chooseCoding(c.field, c.have); got != c.want {
			t.Errorf("chooseCoding(%q, %v) = %s, want %s", c.field, c.have, codingNames[got], codingNames[c.want])
		}
	}
}
