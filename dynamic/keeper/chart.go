package keeper

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"store.example/agentstore/content"
)

// bar is one bar of a chart, with what stands above it.
type bar struct {
	name, label string
	value, of   float64 // of is drawn behind it as an outline, where it is more
}

const chartWidth, chartHeight, chartTop, chartFoot = 360.0, 150.0, 16.0, 20.0

// bars draws bars from zero, with their names below and their labels above. The numbers stand in a
// table below each chart.
func bars(title, desc string, list []bar) template.HTML {
	most := 0.0
	for _, b := range list {
		most = max(most, b.value, b.of)
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<svg class="chart" role="img" viewBox="0 0 %g %g"><title>%s</title><desc>%s</desc>`, chartWidth,
		chartHeight, template.HTMLEscapeString(title), template.HTMLEscapeString(desc))
	bottom := chartHeight - chartFoot
	fmt.Fprintf(&s, `<path class="axis" d="M0 %gH%g"/>`, bottom, chartWidth)
	step := chartWidth / float64(max(1, len(list)))
	height := func(v float64) float64 {
		if most == 0 {
			return 0
		}
		return v / most * (bottom - chartTop)
	}
	for i, b := range list {
		x, wide := step*float64(i)+step*.14, step*.72
		if h := height(b.of); b.of > b.value {
			fmt.Fprintf(&s, `<rect class="three" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x, bottom-h, wide, h)
		}
		if h := height(b.value); h > 0 {
			fmt.Fprintf(&s, `<rect class="one" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x, bottom-h, wide, h)
		}
		if b.label != "" {
			fmt.Fprintf(&s, `<text class="mid" x="%.1f" y="%.1f">%s</text>`, x+wide/2,
				bottom-height(max(b.value, b.of))-4, template.HTMLEscapeString(b.label))
		}
		if i%2 == len(list)%2^1 {
			fmt.Fprintf(&s, `<text class="mid" x="%.1f" y="%g">%s</text>`, x+wide/2, chartHeight-6,
				template.HTMLEscapeString(b.name))
		}
	}
	s.WriteString("</svg>")
	return template.HTML(s.String()) // of numbers and escaped text
}

// weekName is an ISO week without its year.
func weekName(week string) string {
	_, w, _ := strings.Cut(week, "-")
	return w
}

func moneyChart(s Sales) template.HTML {
	var list []bar
	for _, w := range s.Weeks {
		b := bar{name: weekName(w.Week), value: float64(w.Atomic)}
		if w.Atomic > 0 {
			if b.label = w.USDC; w.Atomic >= 100_000_000 {
				b.label = strconv.FormatInt((w.Atomic+500_000)/1_000_000, 10)
			}
		}
		list = append(list, b)
	}
	return bars("USDC a week", "What was sold in each of the last weeks, in USDC; "+
		content.FormatUSDC(s.Total.Atomic)+" in all.", list)
}

func conversionChart(s Sales) template.HTML {
	var list []bar
	for _, w := range s.Weeks {
		b := bar{name: weekName(w.Week), value: float64(w.Purchases), of: float64(w.Quoted)}
		switch {
		case w.Quoted > 0:
			b.label = fmt.Sprintf("%d/%d", w.Purchases, w.Quoted)
		case w.Purchases > 0: // by terms that were asked for in a week before
			b.label = fmt.Sprint(w.Purchases)
		}
		list = append(list, b)
	}
	return bars("Paid of asked", "How many purchases were paid for (full) of how many times terms were asked for "+
		"(outline), by week.", list)
}
