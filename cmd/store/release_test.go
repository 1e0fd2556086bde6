package main

import (
	"os"
	"strings"
	"testing"
)

// TestAKeeperTellsOfARelease puts a release on the record while the store runs, once, and asks the
// record for it.
func TestAKeeperTellsOfARelease(t *testing.T) {
	s := newSoldHere(t)
	t.Chdir(s.dir)
	d, other := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("SHA256SUMS", d+"  b.zip\n"+d+"  a.tar.gz\n")
	put("changed", other+"  b.zip\n"+d+"  a.tar.gz\n")
	put("cut", d+"  b.zip")
	s.build()
	s.serve()
	for _, c := range []struct {
		file string
		dry  bool
		code int
		says string
	}{
		{"cut", false, 1, "its last line has no end"},
		{"SHA256SUMS", true, 0, `"observation":0,"already_told":false,"dry_run":true`},
		{"SHA256SUMS", false, 0, `"files":2,"observation":`},
		{"SHA256SUMS", false, 0, `"already_told":true`},
		{"changed", false, 1, "this version was released already"},
		{"changed", true, 1, "this version was released already"},
	} {
		args := []string{"keeper", "release", "v1.0.0", "-json", "-commit", strings.Repeat("c", 40), "-file", c.file}
		if c.dry {
			args = append(args, "-dry-run")
		}
		if code, said := s.store(args...); code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%+v: exit code %d: %s", c, code, said)
		}
	}
	s.build()
	if code, said := s.store("verify", "-release", "SHA256SUMS", "corpus"); code != 0 ||
		!strings.Contains(said, "a.tar.gz: released as v1.0.0 of commit cccc") {
		t.Errorf("store verify: exit code %d: %s", code, said)
	}
}
