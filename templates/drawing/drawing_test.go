package drawing

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/content"
)

const maxSVG = 8000

var tuesday = time.Date(1953, 10, 20, 0, 0, 0, 0, time.UTC)

// all draws one of everything with the given text and seed.
func all(text string, seed []byte) map[string]string {
	svgs := map[string]string{
		"rock":     Rock(seed, text),
		"portrait": Portrait(text),
		"unknown":  AnimalCard(text, text, seed),
		"badge":    Badge(Patron{Number: 7, Name: text, Item: text, Date: tuesday}),
		"nicer":    Badge(Patron{Number: 1 << 40, Name: text, Date: tuesday, Nicer: true}),
		"reversed": Badge(Patron{Number: 7, Item: text, Date: tuesday, Reversed: true}),
		"jar":      TuesdayJar(tuesday.AddDate(0, 0, 7*len(text)), int64(len(text))),
	}
	return svgs
}

var (
	longNumber = regexp.MustCompile(`[0-9]\.[0-9]{2,}`)
	reference  = regexp.MustCompile(
		`(?:href|src)="[^#]|url\([^#]|<(?:script|image|foreignObject|iframe|a)\b|\bon[a-z]+=|@import`)
	styleBlock = regexp.MustCompile(`<style>.*?</style>|<title>.*?</title>|<desc>.*?</desc>|<text[^>]*>.*?</text>`)
)

// checkSVG demands what holds for every drawing.
func checkSVG(t *testing.T, name, svg string) {
	t.Helper()
	if len(svg) > maxSVG {
		t.Errorf("%s: %d bytes, at most %d", name, len(svg), maxSVG)
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	var path []string
	text := map[string]string{}
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s: not well-formed: %v\n%s", name, err, svg)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			path = append(path, tok.Name.Local)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			text[strings.Join(path, "/")] += string(tok)
		}
	}
	if text["svg/title"] == "" || text["svg/desc"] == "" {
		t.Errorf("%s: has no title or no description", name)
	}
	if text["svg/style"] != Style {
		t.Errorf("%s: style is not the shared one", name)
	}
	geometry := styleBlock.ReplaceAllString(svg, "")
	if m := longNumber.FindString(geometry); m != "" {
		t.Errorf("%s: coordinate %s has more than one decimal", name, m)
	}
	if m := reference.FindString(geometry); m != "" {
		t.Errorf("%s: refers outside or runs something: %q", name, m)
	}
	if strings.Contains(geometry, "NaN") || strings.Contains(geometry, "Inf") {
		t.Errorf("%s: has a number that is none", name)
	}
}

func TestEveryDrawingIsWellFormed(t *testing.T) {
	for i := range 300 {
		seed := fmt.Appendf(nil, "seed %d", i)
		for name, svg := range all(fmt.Sprintf("0x%040x", i*7919), seed) {
			checkSVG(t, fmt.Sprintf("%s %d", name, i), svg)
		}
	}
	for _, d := range desks {
		checkSVG(t, d.name, Publication(d.name))
	}
	for _, m := range marks {
		if piece("sign", m.id) == "" {
			t.Errorf("no drawing of the sign %s", m.id)
		}
	}
	for _, animal := range slices.Sorted(maps.Keys(bestiary)) {
		if piece("animal", animal) == "" {
			t.Errorf("no drawing of the %s", animal)
		}
		for i := range 12 {
			checkSVG(t, animal, AnimalCard(animal, "still proving itself", []byte{byte(i)}))
		}
	}
}

func FuzzAnyTextIsWellFormed(f *testing.F) {
	f.Add("Gerald", []byte{1})
	f.Add(`</text><script>alert("x")</script>&amp;`, []byte{})
	f.Add("]]> \x00 \ufffe \ufdd0 \u202e\u2066 ﷽ 👩‍👩‍👧", []byte("seed"))
	f.Add("\xff\xfe\n\r\t", []byte(nil))
	f.Add(strings.Repeat("W", 500), []byte{0})
	f.Fuzz(func(t *testing.T, text string, seed []byte) {
		for name, svg := range all(text, seed) {
			checkSVG(t, name, svg)
		}
	})
}

// The stamp of every week is well formed, and says what it is and no more.
func TestEveryStampIsWellFormed(t *testing.T) {
	for week := range 53 {
		s := Stamped{Week: "2026-W" + fmt.Sprintf("%02d", week+1), Line: strings.Repeat("<Here> & ", 9),
			Date:     "2026-11-23",
			Identity: "did:web:" + strings.Repeat("a", 60)}
		checkSVG(t, s.Week, Stamp(s))
	}
	checkSVG(t, "sticker", Stamp(Stamped{Line: "Signed.", Date: "2026-11-23"}))
}

func TestSameSeedSameBytes(t *testing.T) {
	first, again := all("0xAbC", []byte("a")), all("0xAbC", []byte("a"))
	for name, svg := range first {
		if again[name] != svg {
			t.Errorf("%s differs from itself", name)
		}
	}
}

func TestOtherSeedOtherDrawing(t *testing.T) {
	rocks, portraits := map[string]bool{}, map[string]bool{}
	for i := range 200 {
		seed := []byte{byte(i)}
		rocks[styleBlock.ReplaceAllString(Rock(seed, "Gerald"), "")] = true
		portraits[styleBlock.ReplaceAllString(Portrait(fmt.Sprintf("0x%040x", i)), "")] = true
	}
	if len(rocks) != 200 || len(portraits) != 200 {
		t.Errorf("of 200 seeds: %d rocks, %d portraits", len(rocks), len(portraits))
	}
}

func TestPortraitIgnoresTheCaseOfHexAddresses(t *testing.T) {
	lower, mixed := "0xabcdef0123456789abcdef0123456789abcdef01", "0xABCdef0123456789abcdef0123456789ABCDEF01"
	if Portrait(lower) != Portrait(mixed) {
		t.Error("two spellings of one EVM address give two faces")
	}
	if Portrait("So1anaAddressA") == Portrait("so1anaaddressa") {
		t.Error("two base58 addresses give one face")
	}
}

func TestEveryAnimalOfTheSpecimenIsDrawn(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, e := range site.Pools["luckies"].Entries {
		if bestiary[e.Animal] == nil {
			t.Errorf("no drawing of the %s", e.Animal)
			continue
		}
		drawn := styleBlock.ReplaceAllString(AnimalCard(e.Animal, e.Strength, nil), "")
		if other, is := seen[drawn]; is {
			t.Errorf("the %s looks like the %s", e.Animal, other)
		}
		seen[drawn] = e.Animal
	}
}

func TestUnknownAnimalLeavesTracks(t *testing.T) {
	a := styleBlock.ReplaceAllString(AnimalCard("wyvern", "solid", nil), "")
	b := styleBlock.ReplaceAllString(AnimalCard("basilisk", "solid", nil), "")
	if a != b {
		t.Error("two animals that did not sit have different cards")
	}
	if strings.Contains(a, `class="k"`) {
		t.Error("an animal that did not sit has a body")
	}
}

func TestBadgeSaysWhatItIs(t *testing.T) {
	plain := Badge(Patron{Number: 41, Name: "Ada & <Co>", Date: tuesday})
	for _, want := range []string{"No. 41", "Ada &amp; &lt;Co&gt;", "1953-10-20"} {
		if !strings.Contains(plain, want) {
			t.Errorf("badge lacks %q", want)
		}
	}
	if nicer := Badge(Patron{Number: 41, Name: "Ada & <Co>", Date: tuesday, Nicer: true}); nicer == plain {
		t.Error("the nicer badge is not nicer")
	}
	if window := Badge(Patron{Number: 1, Nicer: true}); strings.Contains(window, "0001-01-01") {
		t.Error("a badge without a date shows one")
	}
	if window := TuesdayJar(tuesday, 0); strings.Contains(window, "No. 0") || !strings.Contains(window, "on show") {
		t.Error("the jar in the window has a number")
	}
	if strings.Contains(plain, "REVERSED") {
		t.Error("a sale that stands is marked as reversed")
	}
	reversed := Badge(Patron{Number: 41, Date: tuesday, Reversed: true})
	if !strings.Contains(reversed, "REVERSED") || !strings.Contains(reversed, "does not stand") {
		t.Error("a reversed sale is not marked in picture and description")
	}
}

func TestTextThatIsLongIsSetSmallerThenCut(t *testing.T) {
	const max, size = 100.0, 20.0
	set := func(s string) string {
		p := new(pen)
		p.text("", textLine{0, 0, size, max}, s)
		return p.b.String()
	}
	if got := set("Otto"); !strings.Contains(got, `font-size="20">Otto<`) {
		t.Errorf("short text: %s", got)
	}
	if got := set("Wilhelmina II"); strings.Contains(got, `font-size="20"`) ||
		!strings.Contains(got, ">Wilhelmina II<") {
		t.Errorf("middling text: %s", got)
	}
	if got := set(strings.Repeat("mm", 40)); !strings.Contains(got, "m…<") || len(got) > 90 {
		t.Errorf("long text: %s", got)
	}
}
