package templates

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWeeksAreDrawn reads drawings as XML: a mark for each week with its words, thirteen a row,
// none outside of the picture.
func TestWeeksAreDrawn(t *testing.T) {
	const host = `<b>&"'.example`
	for _, n := range []int{1, 2, 12, 13, 14, 15, 52} {
		marks := make([]WeekMark, n)
		for i := range marks {
			marks[i] = weekMarks[i%len(weekMarks)]
			marks[i].Week = fmt.Sprintf("2026-W%02d", i+1)
		}
		type picture struct {
			ViewBox string `xml:"viewBox,attr"`
			Title   string `xml:"title"`
			Weeks   []struct {
				Class string `xml:"class,attr"`
				Title string `xml:"title"`
				Dot   *struct {
					X int `xml:"cx,attr"`
					Y int `xml:"cy,attr"`
				} `xml:"circle"`
				Paths []struct {
					Class string `xml:"class,attr"`
					Path  string `xml:"d,attr"`
				} `xml:"path"`
			} `xml:"g"`
			Names []struct {
				X    int    `xml:"x,attr"`
				Y    int    `xml:"y,attr"`
				Text string `xml:",chardata"`
			} `xml:"text"`
		}
		var figure struct {
			Drawn  picture `xml:"svg"`
			Legend struct {
				Says string    `xml:",chardata"`
				Keys []picture `xml:"svg"`
			} `xml:"figcaption"`
		}
		if err := xml.Unmarshal([]byte(drawWeeks(host, marks, "L")), &figure); err != nil {
			t.Fatal(err)
		}
		drawn, legend := figure.Drawn, figure.Legend
		// The marks of the legend are those of the drawing.
		if len(legend.Keys) != min(n, 5) || !strings.HasPrefix(legend.Says, fmt.Sprintf(" ready: %d", (n+4)/5)) {
			t.Errorf("%d weeks: %d marks in the legend %q", n, len(legend.Keys), legend.Says)
		}
		for i, key := range legend.Keys {
			of := drawn.Weeks[i]
			if key.ViewBox != "0 0 24 24" || len(key.Weeks) != 1 || key.Weeks[0].Class != of.Class ||
				len(key.Weeks[0].Paths) != len(of.Paths) || (key.Weeks[0].Dot != nil) != (of.Dot != nil) {
				t.Errorf("%d weeks: the legend has %+v for %+v", n, key, of)
			}
			for j, p := range of.Paths {
				if key.Weeks[0].Paths[j].Class != p.Class {
					t.Errorf("%d weeks: the legend has %+v for %+v", n, key, of)
				}
			}
		}
		rows := (n + 12) / 13
		if want := fmt.Sprintf("0 0 352 %d", 40*rows+2); drawn.ViewBox != want {
			t.Errorf("%d weeks: the picture is %q, want %q", n, drawn.ViewBox, want)
		}
		if want := fmt.Sprintf("%s, 2026-W01 to 2026-W%02d, one square a week: L", host, n); drawn.Title != want {
			t.Errorf("%d weeks: titled %q, want %q", n, drawn.Title, want)
		}
		if len(drawn.Weeks) != n {
			t.Fatalf("%d weeks: %d are drawn", n, len(drawn.Weeks))
		}
		for i, g := range drawn.Weeks {
			x, y := 1+27*(i%13), 1+40*(i/13)
			// What the marks look like, in the order of their legend.
			square, stroke := []string{"full", "line", "line", "dash", ""}[i%5], []string{
				fmt.Sprintf("M%d %dl4 4 7-8", x+6, y+12), fmt.Sprintf("M%d %dl8 8m0-8l-8 8", x+7, y+7),
				fmt.Sprintf("M%d %dh10", x+6, y+11), "", ""}[i%5]
			if want := fmt.Sprintf("2026-W%02d: %s", i+1, weekMarks[i%5].Word); g.Title != want ||
				g.Class != weekMarks[i%5].Class {
				t.Errorf("%d weeks: %d says %q in %s, want %q in %s", n, i, g.Title, g.Class, want,
					weekMarks[i%5].Class)
			}
			var want []string
			if square != "" {
				want = append(want, square+fmt.Sprintf(" M%d %dh22v22h-22z", x, y))
			}
			if square == "line" {
				want[0] += stroke
			} else if stroke != "" {
				want = append(want, "cut "+stroke)
			}
			var got []string
			for _, p := range g.Paths {
				got = append(got, p.Class+" "+p.Path)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d weeks: %d is drawn as %q, want %q", n, i, got, want)
			}
			if d := g.Dot; (d != nil) != (square == "") || d != nil && (d.X != x+11 || d.Y != y+11) {
				t.Errorf("%d weeks: %d has the dot %+v at %d, %d", n, i, d, x, y)
			}
		}
		// The first of each row is named, and the last unless it stands beside one that is.
		names := map[int][]int{1: {0}, 2: {0}, 12: {0, 11}, 13: {0, 12}, 14: {0, 13}, 15: {0, 13},
			52: {0, 13, 26, 39, 51}}[n]
		if len(drawn.Names) != len(names) {
			t.Fatalf("%d weeks: %d are named, want %v", n, len(drawn.Names), names)
		}
		for k, i := range names {
			if got := drawn.Names[k]; got.Text != fmt.Sprintf("W%02d", i+1) || got.X != 1+27*(i%13) || got.Y != 35+
				40*(i/13) {
				t.Errorf("%d weeks: named %+v, want W%02d below its square", n, got, i+1)
			}
		}
	}
}
