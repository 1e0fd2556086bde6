package generator

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

func uncompress(t *testing.T, ext, body string) string {
	t.Helper()
	var r io.Reader = brotli.NewReader(strings.NewReader(body))
	if ext == ".gz" {
		z, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r = z
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
