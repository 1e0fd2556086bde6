package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInit: what is wrong with flags is told all at once, with the flag that said it, and nothing
// is made; a shop that others reach needs an address to be paid at.
func TestInit(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string // in what is said; the last begins with ! where nothing may be made
	}{
		"empty": {nil, []string{"is a site"}},
		"faults": {[]string{"-contact", "joe@shop.example", "-base-url", "https://shop.example/x", "-networks", "mars"},
			[]string{"-contact: ", "-base-url: ", "-networks: ", "polygon, base", "!"}},
		"nobody's": {[]string{"-base-url", "https://shop.example"},
			[]string{"-pay-to: ", "https://shop.example", "!"}},
		"prices": {[]string{"-coin-price", "1,2"},
			[]string{"-coin-price: ", "2 prices of coins for 1 networks", "!"}},
		"no demo":    {[]string{"-demo", "nowhere"}, []string{"store demo -dir nowhere", "!"}},
		"priced":     {[]string{"-coin-price", "3000"}, []string{"is a site"}},
		"a specimen": {[]string{"-specimen"}, []string{"is a site"}},
	} {
		dir := filepath.Join(t.TempDir(), "shop")
		var out bytes.Buffer
		code := run(t.Context(), append(append([]string{"init"}, c.args...), dir), &out, &out)
		made := true
		for _, want := range c.want {
			if made = want != "!"; made && !strings.Contains(out.String(), want) {
				t.Errorf("%s: nothing says %q in %s", name, want, &out)
			}
		}
		_, err := os.Stat(dir)
		if (code == 0) != made || (err == nil) != made {
			t.Errorf("%s: exit status %d, %v", name, code, err)
		}
		_, err = os.Stat(filepath.Join(dir, "content", "shelf", "hello.md"))
		if made && (err == nil) != (name == "a specimen") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCensusOfNobody: a round of no rows stands for ever, and is sealed by who says so.
func TestCensusOfNobody(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	t.Chdir(t.TempDir())
	call := func(want int, says string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if code := run(t.Context(), args, &out, &out); code != want || !strings.Contains(out.String(), says) {
			t.Errorf("%v: exit status %d, and nothing says %q in %s", args, code, says, &out)
		}
	}
	call(0, "is a site", "init", "-rpc", "http://127.0.0.1:1", dir)
	t.Chdir(dir)
	call(0, "keys made", "key", "init")
	if err := os.WriteFile("var/doors.txt", []byte("http://127.0.0.1:4020/api/buy/example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile("store.toml")
	if err == nil {
		err = os.WriteFile("store.toml", append(config, "\n[census]\nlist = \"var/doors.txt\"\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	call(0, "127.0.0.1\t", "census", "-dry-run")
	call(1, "127.0.0.1: ", "census")
	call(2, "goes with", "census", "-dry-run", "-seal-empty")
	call(0, "sealed: 0 rows", "census", "-seal-empty")
}
