package attest

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestJCSVectors(t *testing.T) {
	files := must[[]string](t)(filepath.Glob("testdata/jcs/input/*.json"))
	if len(files) != 6 {
		t.Fatalf("%d vectors", len(files))
	}
	for _, file := range files {
		name := filepath.Base(file)
		in := must[[]byte](t)(os.ReadFile(file))
		want := must[[]byte](t)(os.ReadFile("testdata/jcs/output/" + name))
		got, err := JCSBytes(in)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s = %s, %v, want %s", name, got, err, want)
		}
		hexText := must[[]byte](t)(os.ReadFile("testdata/jcs/outhex/" + strings.TrimSuffix(name, ".json") + ".txt"))
		if inHex := must[[]byte](t)(hex.DecodeString(strings.Join(strings.Fields(string(hexText)), ""))); !bytes.Equal(
			got, inHex) {
			t.Errorf("%s = %x, want %x", name, got, inHex)
		}
		if again, err := JCSBytes(got); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s changes when it is canonicalised again: %s, %v", name, again, err)
		}
	}
}

func TestJCSRefuses(t *testing.T) {
	for _, in := range []string{
		``, ` `, `{`, `{}{}`, `[] 1`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `1e400`, `"\ud800"`, "\"\xff\"",
		"\ufeff{}", `01`, `nul`, `9007199254740993`, `{"a":[9007199254740992]}`, `-9007199254740992`, `1e20`,
		`123456789012345678901234567890`, strings.Repeat("[", 20000) + strings.Repeat("]", 20000),
	} {
		if out, err := JCSBytes([]byte(in)); err == nil || out != nil {
			t.Errorf("JCSBytes(%.40q) = %.40s, %v", in, out, err)
		}
	}
	for in, want := range map[string]string{
		`9007199254740991`: `9007199254740991`, `-9007199254740991`: `-9007199254740991`,
		`"9007199254740993"`: `"9007199254740993"`, ` 1 `: `1`, `"\\\"9007199254740993"`: `"\\\"9007199254740993"`,
		`-0`: `0`, `1.0`: `1`,
	} {
		if out, err := JCSBytes([]byte(in)); err != nil || string(out) != want {
			t.Errorf("JCSBytes(%s) = %s, %v, want %s", in, out, err, want)
		}
	}
}

func TestCanonicalKeepsDeclaredOrder(t *testing.T) {
	type inner struct {
		Z string `json:"z"`
		A int64  `json:"a,omitzero"`
	}
	v := struct {
		Text   string         `json:"text"`
		Absent string         `json:"absent,omitzero"`
		Inner  inner          `json:"inner"`
		Map    map[string]int `json:"map"`
		Least  int64          `json:"least"`
	}{"<&>\u2028é\n\x01\"\\", "", inner{Z: "z"}, map[string]int{"b": 1, "a": 2}, -MaxInteger}
	want := `{"text":"<&>` + "\u2028" +
		`é\n\u0001\"\\","inner":{"z":"z"},"map":{"a":2,"b":1},"least":-9007199254740991}`
	if got, err := Canonical(v); err != nil || string(got) != want {
		t.Errorf("Canonical = %s, %v, want %s", got, err, want)
	}
	for _, bad := range []any{MaxInteger + 1, int64(math.MinInt64), uint64(math.MaxUint64), 0.5, 1e300,
		[]any{map[string]any{"a": -MaxInteger - 1}}} {
		if b, err := Canonical(bad); !errors.Is(err, ErrNumber) {
			t.Errorf("Canonical(%v) = %s, %v", bad, b, err)
		}
	}
	if b, err := Canonical("bad \xff"); err == nil {
		t.Errorf("bad UTF-8 is written %q", b)
	}
}

func FuzzJCS(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[true,null,"x\"\\\né "]}`, `{"n":1e+21,"m":0.1,"z":0,"k":1e-7}`,
		`"\u20ac$\u000f\nA'B\"\\\""`, `1E30`, `[4.50,2e-3]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := JCSBytes(raw)
		if err != nil {
			return
		}
		if twice, err := JCSBytes(once); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q becomes %q becomes %q, %v", raw, once, twice, err)
		}
	})
}
