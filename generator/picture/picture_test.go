package picture

import (
	"bytes"
	"image"
	"image/color"
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
	"host": {Sign: "The General Store", Title: "paper.dock.street",
		Says: "Ready now, as of 2026-11-20; established, 7 ready of 8, 2026-W33 to 2026-W40",
		Counts: []Count{{"ready", Good, 7}, {"not ready", Bad, 3}, {"unreachable", Unknown, 1},
			{"not observed", Unobserved, 1}}, Steps: []Mark{3, 0, 0, 1, 1, 0, 0, 2, 0, 0, 0, 1},
		Foot: "store.example/corpus"},
	"host of a year and a long name": {Sign: "The General Store", Title: strings.Repeat("a-long-label.", 18) + "street",
		Says:   "Not observed of late; " + strings.Repeat("broken, 0 ready of 60 ", 9),
		Counts: []Count{{"ready", Good, 26}, {"not ready", Bad, 26}}, Steps: []Mark(strings.Repeat("\x00\x01", 40)),
		Foot: "store.example/corpus"},
	"signed": {Sign: "The General Store", Title: "Certificate of patronage", Tag: "0.005 USDC", Stamp: "reversed",
		Says: "Certificate of patron 20481, signed on 2026-11-20.",
		Foot: "store.example/api/verify/cert_aaaaaaaaaaaaaaaaaaaa"},
	"signed for nothing": {Sign: "The General Store", Title: "Letter", Stamp: "invalid", Says: "Signed by this store.",
		Foot: "store.example/api/verify/letter_aaaaaaaaaaaaaaaaaaaa"},
	"hostile host": {Title: "\u202e\u2066" + strings.Repeat("א", 40) + strings.Repeat("Ж", 300) + "\x00end"},
	"empty":        {Counts: []Count{{}, {}}},
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

// TestPixels: each pixel is of the colour in the palette that is nearest to what was drawn, of all
// colours that a picture can have.
func TestPixels(t *testing.T) {
	s, err := newSheet(Width, Height)
	if err != nil {
		t.Fatal(err)
	}
	s.tag("0.005 USDC")
	for i, c := range append([]color.RGBA{ink, faint}, marks[:]...) {
		s.line(margin, 100+80*i, "Rosy as ever, 0123456789", bold, 60, c, Width)
	}
	drawn, few := bytes.Clone(s.Pix), s.palette()
	file, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(file))
	if err != nil || len(picture.(*image.Paletted).Palette) != 16 {
		t.Fatal(err)
	}
	for i := range Width * Height {
		p := drawn[4*i:]
		want := few.Convert(color.RGBA{p[0], p[1], p[2], p[3]})
		if got := picture.At(i%Width, i/Width); got != want {
			t.Fatalf("pixel %d: %v, want %v", i, got, want)
		}
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

// TestMiddle: a name that has no room keeps its beginning and its end, and one that has is whole.
func TestMiddle(t *testing.T) {
	s, err := newSheet(Width, Height)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a.example", strings.Repeat("W", 400), strings.Repeat("i", 400),
		"first." + strings.Repeat("a-label.", 30) + "last"} {
		got := s.middle(name, bold, 40, 600)
		if w := s.measure(got, bold, 40); w > 600 || w < 560 && got != name {
			t.Errorf("%.20s: %q is %d wide", name, got, w)
		}
		if begin, end, cut := strings.Cut(got, "…"); cut && (!strings.HasPrefix(name, begin) ||
			!strings.HasSuffix(name, end) || len(begin)-len(end) > 1 || len(end) > len(begin)) {
			t.Errorf("%.20s: %q", name, got)
		}
	}
	if s.fit("a.example", bold, 76, 40, 1000) != 76 || s.fit(strings.Repeat("W", 99), bold, 76, 40, 1000) != 40 {
		t.Error("a size is not the largest with room")
	}
}

// BenchmarkDraw draws the picture of a good, of which a build makes one each.
func BenchmarkDraw(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Draw(pictures["good"]); err != nil {
			b.Fatal(err)
		}
	}
}
