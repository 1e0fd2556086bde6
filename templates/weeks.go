package templates

import (
	"html/template"
	"slices"
	"strconv"

	"agentstore/corpus/derive"
	"agentstore/corpus/record"
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
	case w.Probed == derive.BeforeFirst:
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

// A row of the drawing holds a quarter of a year.
const (
	weeksARow = 13
	weekSide  = 22
	weekStep  = 27
)

// appendWeeks draws one square a week, oldest first. Every square says its week and word; the shapes differ as the colours
// do. The legend counts the marks.
func appendWeeks(b []byte, host string, marks []WeekMark, legend string) []byte {
	rows := (len(marks) + weeksARow - 1) / weeksARow
	height := strconv.Itoa(rows*(weekSide+18) + 2)
	b = add(b, `<svg class="chart weeks" role="img" viewBox="0 0 352 `, height, `" width="352" height="`, height, `"><title>`, template.HTMLEscapeString(host), ", ",
		marks[0].Week, " to ", marks[len(marks)-1].Week, ", one square a week: ", legend, "</title>")
	for i, m := range marks {
		x, y := weekAt(i)
		b = add(b, `<g class="`, m.Class, `"><title>`, m.Week, ": ", m.Word, "</title>")
		if kind := slices.IndexFunc(weekMarks, func(k WeekMark) bool { return k.Mark == m.Mark }); kind >= 0 && i < len(drawnWeeks) {
			b = append(b, drawnWeeks[i][kind]...)
		} else {
			b = appendWeek(b, m.Mark, x, y)
		}
		b = append(b, "</g>"...)
		if i%weeksARow == 0 || i == len(marks)-1 && i%weeksARow > 1 {
			b = add(appendAt(append(b, "<text"...), "x", x, "y", y+weekSide+12), ">", m.Week[len("2026-"):], "</text>")
		}
	}
	return append(b, "</svg>"...)
}

// weekAt is the upper left corner of the i-th square.
func weekAt(i int) (x, y int) { return 1 + i%weeksARow*weekStep, 1 + i/weeksARow*(weekSide+18) }

// drawnWeeks are the drawings of the weeks that a host's page shows at most, each with every mark.
var drawnWeeks = func() (drawn [timelineWeeks][]string) {
	for i := range drawn {
		x, y := weekAt(i)
		for _, kind := range weekMarks {
			drawn[i] = append(drawn[i], string(appendWeek(nil, kind.Mark, x, y)))
		}
	}
	return drawn
}()

// appendWeek draws a mark as a square whose upper left corner is at x and y, or as a dot in its middle.
func appendWeek(b []byte, mark string, x, y int) []byte {
	cx, cy := x+weekSide/2, y+weekSide/2
	square := func(class string) []byte {
		b = appendAt(add(b, `<rect class="`, class, `"`), "x", x, "y", y)
		return append(appendAt(b, "width", weekSide, "height", weekSide), "/>"...)
	}
	stroke := func(class string, x, y int, path string) []byte {
		b = strconv.AppendInt(add(b, `<path class="`, class, `" d="M`), int64(x), 10)
		return add(strconv.AppendInt(append(b, ' '), int64(y), 10), path, `"/>`)
	}
	switch mark {
	case "■":
		b = square("full")
		return stroke("cut", cx-5, cy+1, "l4 4 7-8")
	case "×":
		b = square("line")
		return stroke("line", cx-4, cy-4, "l8 8m0-8l-8 8")
	case "–":
		b = square("line")
		return stroke("line", cx-5, cy, "h10")
	case "○":
		return square("dash")
	default:
		return append(appendAt(append(b, `<circle class="full"`...), "cx", cx, "cy", cy), ` r="1.5"/>`...)
	}
}

// appendAt appends two attributes that are numbers.
func appendAt(b []byte, name string, n int, other string, m int) []byte {
	b = strconv.AppendInt(add(b, " ", name, `="`), int64(n), 10)
	b = strconv.AppendInt(add(b, `" `, other, `="`), int64(m), 10)
	return append(b, '"')
}

// legend counts the marks that are there: "■ ready: 7, ○ not observed: 1".
func legend(marks []WeekMark) string {
	b := make([]byte, 0, 128)
	for _, kind := range weekMarks {
		n := 0
		for i := range marks {
			if marks[i].Word == kind.Word {
				n++
			}
		}
		if n == 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(add(b, kind.Mark, " ", kind.Word, ": "), int64(n), 10)
	}
	return string(b)
}
