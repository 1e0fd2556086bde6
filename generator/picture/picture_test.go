package picture

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var pictures = map[string]Preview{
	"store": {Sign: "The General Store", Title: "The General Store",
		Says: "Sundries for agents, with a signed receipt for everything.", Foot: "store.example"},
	"good": {Sign: "The General Store", Title: "Certificate of patronage",
		Says: "What a stock client would do at a door, before it does it: which entry it would sign, or the stage at " +
			"which it would refuse, signed.", Tag: "0.005 USDC", Foot: "store.example/menu/certificate_of_patronage"},
	"week": {Sign: "The General Store", Title: "The week 2026-W47", Says: "213 of 240 hosts were probed.",
		Counts: []Count{{"ready", Good, 120}, {"not ready", Bad, 61}, {"unreachable", Unknown, 0},
			{"not observed", Unobserved, 32}}, Foot: "store.example/corpus"},
	"hostile": {Sign: strings.Repeat("W", 400), Title: strings.Repeat("W", 400) + " " + strings.Repeat("x ", 900),
		Says: "漢字\x00\u202e" + strings.Repeat("漢", 900), Tag: strings.Repeat("9", 90) + " USDC", Foot: "\n\t"},
	"empty": {Counts: []Count{{}, {}}},
}

// TestPictures: whatever a picture is to show, it has its size, stays small, and is the same bytes
// when it is drawn again. With STORE_PICTURES naming a folder they are left there to be looked at.
func TestPictures(t *testing.T) {
	for name, p := range pictures {
		file, err := Draw(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := Draw(p)
		if err != nil || !bytes.Equal(file, again) {
			t.Errorf("%s: drawn again it is other bytes (%v)", name, err)
		}
		if len(file) > 20_000 {
			t.Errorf("%s: %d bytes, want at most 20,000", name, len(file))
		}
		picture, err := png.Decode(bytes.NewReader(file))
		if err != nil || picture.Bounds().Dx() != Width || picture.Bounds().Dy() != Height {
			t.Errorf("%s: %v, %v", name, picture.Bounds(), err)
		}
		if dir := os.Getenv("STORE_PICTURES"); dir != "" {
			os.WriteFile(filepath.Join(dir, name+".png"), file, 0o644)
		}
	}
	icon, err := Icon()
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("STORE_PICTURES"); dir != "" {
		os.WriteFile(filepath.Join(dir, "icon.png"), icon, 0o644)
	}
}

// TestWrap: words go on as many lines as there are, and what is left over shows.
func TestWrap(t *testing.T) {
	fits := func(line string) bool { return len(line) <= 10 }
	for text, want := range map[string]string{
		"":                         "",
		"one two":                  "one two",
		"one two three":            "one two|three",
		"one two three four fives": "one two|three f…",
		"abcdefghijklmnop":         "abcdefg…",
		"one two three.":           "one two|three.",
	} {
		if got := strings.Join(wrap(strings.Fields(text), 2, fits), "|"); got != want {
			t.Errorf("wrap(%q) = %q, want %q", text, got, want)
		}
	}
}
