package templates

import (
	"fmt"
	"html"
	"iter"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// WeekMark is one week of a timeline: the word first, then its mark, then its colour.
type WeekMark struct {
	Week  string // 2026-W47
	Word  string // in words a reader knows
	Mark  string // one character
	Class string // good, bad, unknown or faint
}

// The marks of a timeline, in the order of their legend.
var weekMarks = []WeekMark{
	{Word: "ready", Mark: "■", Class: "good"},
	{Word: "not ready", Mark: "×", Class: "bad"},
	{Word: "unreachable", Mark: "–", Class: "bad"},
	{Word: "not observed", Mark: "○", Class: "unknown"},
	{Word: "before the first sighting", Mark: "·", Class: "faint"},
}

// markWeek gives a week of a host its mark.
func markWeek(w *derive.HostWeek) WeekMark {
	i := 3
	switch {
	case w.Probed == tier.BeforeFirst:
		i = 4
	case w.Verdict == record.VerdictReady:
		i = 0
	case w.Verdict == record.VerdictNotReady:
		i = 1
	case w.Verdict == record.VerdictUnreachable:
		i = 2
	}
	m := weekMarks[i]
	m.Week = w.Week
	return m
}

// counted yields the kinds of marks that are there, in the order of their legend, and how many.
func counted(marks []WeekMark) iter.Seq2[WeekMark, int64] {
	return func(yield func(WeekMark, int64) bool) {
		for _, kind := range weekMarks {
			n := int64(0)
			for i := range marks {
				if marks[i].Word == kind.Word {
					n++
				}
			}
			if n > 0 && !yield(kind, n) {
				return
			}
		}
	}
}

// legend counts the marks: "■ ready: 7, ○ not observed: 1".
func legend(marks []WeekMark) string {
	b := make([]byte, 0, 128)
	for kind, n := range counted(marks) {
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(add(b, kind.Mark, " ", kind.Word, ": "), n, 10)
	}
	return string(b)
}

// A row of the drawing of weeks holds a quarter of a year.
const (
	weeksARow = 13
	weekSide  = 22
	weekStep  = 27
)

// drawWeeks draws one square a week, oldest first. Every square says its week and word; the shapes
// differ as the colours do. The legend counts the marks, each as it is drawn.
func drawWeeks(host string, marks []WeekMark, legend string) Markup {
	var b strings.Builder
	height := (len(marks)+weeksARow-1)/weeksARow*(weekSide+18) + 2
	fmt.Fprintf(&b, `<figure><svg class="chart weeks" role="img" viewBox="0 0 352 %d" width="352" height="%[1]d">`+
		"<title>%s, %s to %s, one square a week: %s</title>", height, html.EscapeString(host), marks[0].Week,
		marks[len(marks)-1].Week, html.EscapeString(legend))
	for i, m := range marks {
		x, y := 1+i%weeksARow*weekStep, 1+i/weeksARow*(weekSide+18)
		fmt.Fprintf(&b, `<g class="%s"><title>%s: %s</title>%s</g>`, m.Class, m.Week, m.Word, drawWeek(m.Mark, x, y))
		if i%weeksARow == 0 || i == len(marks)-1 && i%weeksARow > 1 {
			fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, x, y+weekSide+12, m.Week[len("2026-"):])
		}
	}
	b.WriteString("</svg>\n<figcaption class=\"small faint\">")
	next := ""
	for kind, n := range counted(marks) {
		fmt.Fprintf(&b, `%s<svg class="chart" viewBox="0 0 24 24" aria-hidden="true"><g class="%s">%s</g></svg> %s: %d`,
			next, kind.Class, drawWeek(kind.Mark, 1, 1), kind.Word, n)
		next = ", "
	}
	b.WriteString(". The newest stands last.</figcaption></figure>\n")
	return Markup(b.String())
}

// drawWeek draws a mark as a square whose upper left corner is at x and y, or as a dot in its
// middle.
func drawWeek(mark string, x, y int) string {
	cx, cy := x+weekSide/2, y+weekSide/2
	const square = "M%d %dh22v22h-22z"
	switch mark {
	case "■":
		return fmt.Sprintf(`<path class="full" d="`+square+`"/><path class="cut" d="M%d %dl4 4 7-8"/>`, x, y, cx-5, cy+1)
	case "×":
		return fmt.Sprintf(`<path class="line" d="`+square+`M%d %dl8 8m0-8l-8 8"/>`, x, y, cx-4, cy-4)
	case "–":
		return fmt.Sprintf(`<path class="line" d="`+square+`M%d %dh10"/>`, x, y, cx-5, cy)
	case "○":
		return fmt.Sprintf(`<path class="dash" d="`+square+`"/>`, x, y)
	}
	return fmt.Sprintf(`<circle class="full" cx="%d" cy="%d" r="1.5"/>`, cx, cy)
}
