package templates

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// chart is numbers over weeks. Its axis begins at zero, its weeks are those of the calendar, and a
// week without a round is a hole and not a zero.
type chart struct {
	title, desc string
	weeks       []string // of the rounds, rising, 2026-W47
	layers      []layer  // stacked bars
	spans       []span   // a value with a low and a high, one a round
	points      []layer  // values joined where the weeks follow each other
	most        float64  // the end of the axis, 0 to take it from the numbers
	keys        []key
}

// key says what a mark of a drawing means. line is the height of one that is drawn as a line, of a
// row's; 0 is a filled mark.
type key struct {
	class, word string
	line        float64
	dash        string
}

// stroke draws lines in rows of a height.
func (k key) stroke(b *strings.Builder, row float64, d string) {
	fmt.Fprintf(b, `<path class="%s" stroke-width="%s"`, k.class, coord(k.line*row))
	if k.dash != "" {
		fmt.Fprintf(b, ` stroke-dasharray="%s"`, k.dash)
	}
	fmt.Fprintf(b, ` d="%s"/>`, d)
}

// drawKeys draws the marks with their words, in one line.
func drawKeys(b *strings.Builder, keys []key, y float64) {
	x := 2.0
	for _, k := range keys {
		if k.line > 0 {
			k.stroke(b, 8, fmt.Sprintf("M%s %sh10", coord(x), coord(y-3.5)))
		} else {
			fmt.Fprintf(b, `<rect class="%s" x="%s" y="%s" width="8" height="8"/>`, k.class, coord(x), coord(y-8))
		}
		fmt.Fprintf(b, `<text x="%s" y="%s">%s</text>`, coord(x+13), coord(y), k.word)
		x += 13 + 6.1*float64(len(k.word)) + 12
	}
}

// layer is one number a round.
type layer struct {
	name, class string
	values      []float64
}

// span is three numbers of a round; one without a sample has none.
type span struct {
	low, mid, high float64
	there          bool
}

const (
	chartWidth, chartHeight          = 360.0, 190.0
	plotLeft, plotRight              = 34.0, 356.0
	plotTop, plotBottom              = 16.0, 166.0
	keysHeight                       = 14.0
	chartWeeks                       = 104 // the newest that a chart shows
	weekNamesAtMost, countsOnBarUpTo = 8, 16
)

// draw draws the chart as SVG, 360 wide, so that its writing can be read on a phone.
func (c chart) draw() Markup {
	slots := calendar(c.weeks)
	at := make(map[string]int, len(slots))
	for i, w := range slots {
		at[w] = i
	}
	most := c.most
	if most == 0 {
		most = niceEnd(c.largest(at))
	}
	y := func(v float64) float64 { return plotBottom - v/most*(plotBottom-plotTop) }
	step := (plotRight - plotLeft) / float64(max(1, len(slots)))
	x := func(i int) float64 { return plotLeft + step*(float64(i)+.5) }

	var b strings.Builder
	height := chartHeight
	if len(c.keys) > 0 {
		height += keysHeight
	}
	fmt.Fprintf(&b, `<svg class="chart" role="img" viewBox="0 0 %s %s"><title>%s</title><desc>%s</desc>`,
		coord(chartWidth), coord(height),
		template.HTMLEscapeString(c.title), template.HTMLEscapeString(c.desc))
	for _, v := range []float64{0, most / 2, most} {
		fmt.Fprintf(&b, `<path class="axis" d="M%s %sH%s"/><text class="end" x="%s" y="%s">%s</text>`, coord(plotLeft),
			coord(y(v)), coord(plotRight), coord(plotLeft-4), coord(y(v)+3.5), number(v))
	}
	every := (len(slots) + weekNamesAtMost - 1) / max(1, weekNamesAtMost)
	for i, w := range slots {
		if i%max(1, every) == 0 {
			fmt.Fprintf(&b, `<text class="mid" x="%s" y="%s">%s</text>`, coord(x(i)), coord(plotBottom+14),
				w[len("2026-"):])
		}
	}
	wide := math.Max(1, math.Min(18, step*.72))
	for r, week := range c.weeks {
		i, shown := at[week]
		if !shown {
			continue
		}
		low, total := 0.0, 0.0
		for _, l := range c.layers {
			v := l.values[r]
			if v > 0 {
				fmt.Fprintf(&b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, l.class, coord(x(i)-wide/2),
					coord(y(low+v)), coord(wide), coord(y(low)-y(low+v)))
			}
			low, total = low+v, total+v
		}
		if len(c.layers) > 0 && len(slots) <= countsOnBarUpTo {
			fmt.Fprintf(&b, `<text class="mid" x="%s" y="%s">%s</text>`, coord(x(i)), coord(y(total)-4), number(total))
		}
		if len(c.spans) > r && c.spans[r].there {
			s := c.spans[r]
			fmt.Fprintf(&b, `<path class="line" d="M%s %sV%s"/><circle class="full" cx="%[1]s" cy="%[4]s" r="3"/>`,
				coord(x(i)), coord(y(s.low)), coord(y(s.high)), coord(y(s.mid)))
		}
	}
	for i, l := range c.points {
		c.join(&b, l, at, x, y)
		c.label(&b, l, i > 0, scale{step, x(len(slots) - 1), y})
	}
	drawKeys(&b, c.keys, chartHeight+8)
	b.WriteString("</svg>")
	return Markup(b.String())
}

// join draws the points of a layer, with a line between those of weeks that follow each other.
func (c chart) join(b *strings.Builder, l layer, at map[string]int, x func(int) float64, y func(float64) float64) {
	var path, dots strings.Builder
	last := -2
	for r, week := range c.weeks {
		i, shown := at[week]
		if !shown {
			continue
		}
		verb := "L"
		if i != last+1 {
			verb = "M"
		}
		last = i
		fmt.Fprintf(&path, "%s%s %s", verb, coord(x(i)), coord(y(l.values[r])))
		fmt.Fprintf(&dots, `<circle class="full" cx="%s" cy="%s" r="2.5"/>`, coord(x(i)), coord(y(l.values[r])))
	}
	fmt.Fprintf(b, `<g class="%s"><path class="line" d="%s"/>%s</g>`, l.class, path.String(), dots.String())
}

// scale is where a layer's newest point stands.
type scale struct {
	step float64
	x    float64
	y    func(float64) float64
}

// label names a layer at its newest point, with its number, above or below all points that it is as
// wide as.
func (c chart) label(b *strings.Builder, l layer, below bool, s scale) {
	if l.name == "" || len(l.values) == 0 {
		return
	}
	text := number(l.values[len(l.values)-1]) + " " + l.name
	const character = 6.0
	near := l.values[max(0, len(l.values)-1-int(math.Ceil(float64(len(text))*character/s.step))):]
	at := s.y(slices.Max(near)) - 6
	if below {
		at = s.y(slices.Min(near)) + 14
	}
	fmt.Fprintf(b, `<text class="end full" x="%s" y="%s">%s</text>`, coord(s.x+4), coord(math.Max(9, at)), text)
}

// largest is the largest number that the chart shows.
func (c chart) largest(at map[string]int) (most float64) {
	for r, week := range c.weeks {
		if _, shown := at[week]; !shown {
			continue
		}
		total := 0.0
		for _, l := range c.layers {
			total += l.values[r]
		}
		most = math.Max(most, total)
		if len(c.spans) > r && c.spans[r].there {
			most = math.Max(most, c.spans[r].high)
		}
		for _, l := range c.points {
			most = math.Max(most, l.values[r])
		}
	}
	return most
}

// niceEnd is the first of 1, 2, 4, 5, 6 or 8 times a power of ten that is not below a number.
func niceEnd(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 4, 5, 6, 8} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

// calendar lists the ISO weeks from the first to the last, at most the newest of them that a chart
// shows.
func calendar(weeks []string) []string {
	if len(weeks) == 0 {
		return nil
	}
	day, last := monday(weeks[0]), weeks[len(weeks)-1]
	var all []string
	for {
		year, week := day.ISOWeek()
		name := fmt.Sprintf("%04d-W%02d", year, week)
		all = append(all, name)
		if name >= last {
			return all[max(0, len(all)-chartWeeks):]
		}
		day = day.AddDate(0, 0, 7)
	}
}

// monday is the first day of a week, which a signed round has spelled.
func monday(week string) time.Time {
	year, _ := strconv.Atoi(week[:4])
	n, _ := strconv.Atoi(week[len("2026-W"):])
	fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC) // always in week 1
	return fourth.AddDate(0, 0, 7*(n-1)-(int(fourth.Weekday())+6)%7)
}

// coord writes a coordinate with at most one decimal.
func coord(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(math.Round(v*10)/10, 'f', 1, 64), ".0")
}

// number writes a number on an axis: 0, 0.005, 40, 12k.
func number(v float64) string {
	switch {
	case v >= 1_000_000:
		return strconv.FormatFloat(v/1_000_000, 'g', 3, 64) + "M"
	case v >= 10_000:
		return strconv.FormatFloat(v/1000, 'g', 3, 64) + "k"
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}
