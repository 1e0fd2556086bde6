package record_test

import (
	"fmt"
	"strings"
	"testing"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
)

func TestSums(t *testing.T) {
	d := strings.Repeat("ab", 32)
	files, err := record.ParseSums([]byte(d + "  b.zip\n" + d + "  a.tar.gz\n"))
	if err != nil || len(files) != 2 || files[0] != (record.ReleaseFile{Name: "a.tar.gz", SHA256: d}) {
		t.Fatalf("%v %v", files, err)
	}
	for bad, says := range map[string]string{
		"":                                      "was cut",
		d + "  a":                               "was cut",
		"\n":                                    "line 1",
		d + "  a\n\n":                           "line 2",
		d + " *a\n":                             "two spaces",
		strings.ToUpper(d) + "  a\n":            "a SHA-256",
		d + "  ../a\n":                          "a file named",
		d + "  a\r\n":                           "a file named",
		d + "  a\n" + d + "  a\n":               "twice of one name",
		strings.Repeat(d+"  a\n", 65):           "65 files",
		strings.Repeat(d+"  aaaaaaa\n", 64*167): "more than",
	} {
		if _, err := record.ParseSums([]byte(bad)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.90q: %v, want %q", bad, err, says)
		}
	}
}

// TestTheLargestReleaseFits: a release with every member at its bound is an observation.
func TestTheLargestReleaseFits(t *testing.T) {
	r := &record.Release{Version: strings.Repeat("v", 64), Commit: strings.Repeat("a", 64)}
	for i := range 64 {
		r.Files = append(r.Files, record.ReleaseFile{Name: fmt.Sprintf("%02d%s", i, strings.Repeat("x", 98)),
			SHA256: recordtest.Digest("x")})
	}
	o := record.Observation{Number: 999_999_999, At: "2026-11-20T00:00:00Z", Kind: record.ObservationRelease,
		Release: r}
	raw, err := record.SignObservation(o, recordtest.Key(t, 1))
	if err != nil || len(raw) > record.MaxObservation-512 {
		t.Errorf("%d bytes: %v", len(raw), err)
	}
}
