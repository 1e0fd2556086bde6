package templates

import (
	"fmt"
	"strings"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/screen"
)

// mistakesShown is how many corrections the page lists; the JSON beside it has more.
const mistakesShown = 50

// changeIn says a change of verdict, such as not_ready_to_ready, in words.
func changeIn(change string) string {
	from, to, _ := strings.Cut(change, "_to_")
	return InWords(from) + " to " + InWords(to)
}

// ErrorsSheet is /corpus/errors.
func ErrorsSheet(v SheetView, e derive.ErrorsView) SheetView {
	if len(e.Weeks) == 0 {
		v.Empty = nothingYet()
		return v
	}
	rate := chart{title: "Corrected verdicts by week", desc: "One point a round: corrected verdicts of ten thousand, " +
		"rounded down. Points of weeks that follow each other are joined."}
	points := layer{class: "ink"}
	for _, w := range e.Weeks {
		if w.Rate != nil {
			rate.weeks, points.values = append(rate.weeks, w.Week), append(points.values, float64(*w.Rate))
		}
	}
	rate.points = []layer{points}
	shown, caption := newest(e.Weeks)
	weeks := &Table{Caption: caption, Dense: true, Head: heads("Week", "#Corrected of verdicts", "#In 10,000",
		"How", "By cause")}
	for _, w := range shown {
		row := []Cell{roundCell(w.Week, w.Sequence), share(w.Corrected, w.Verdicts), words("–"), words("–"), words("–")}
		if w.Rate != nil {
			row[2] = num(*w.Rate)
		}
		if w.Corrected > 0 {
			var how, why []string
			for _, n := range w.Changes {
				how = append(how, fmt.Sprintf("%s %d", changeIn(n.Name), n.Count))
			}
			for _, n := range w.ByCause {
				why = append(why, fmt.Sprintf("%s %d", InWords(n.Name), n.Count))
			}
			row[3], row[4] = words(strings.Join(how, ", ")), words(strings.Join(why, ", "))
		}
		weeks.Rows = append(weeks.Rows, row)
	}
	checks := &Table{Caption: "All weeks, by check", Dense: true, Head: heads("Check", "#Failed falsely of failed",
		"#Missed")}
	for _, c := range e.All.ByCheck {
		checks.Rows = append(checks.Rows, []Cell{mono(c.Check), share(c.False, c.Failed), num(c.Missed)})
	}
	causes := &Table{Caption: "All weeks, by cause", Head: heads("Cause", "#Corrected", "Meaning")}
	count := map[string]int64{}
	for _, n := range e.All.ByCause {
		count[n.Name] = n.Count
	}
	for _, c := range e.Causes {
		causes.Rows = append(causes.Rows, []Cell{mono(c.Name), share(count[c.Name], e.All.Corrected), words(c.Meaning)})
	}
	causes.Rows = append(causes.Rows, []Cell{mono(derive.NotShown), share(count[derive.NotShown], e.All.Corrected),
		words("taken back, and nothing that is kept shows why")})
	v.Sections = []Section{
		{ID: "rate", Title: "How often we were wrong", Says: []string{fmt.Sprintf("Of %d verdicts so far, %d are "+
			"known to have been false.", e.All.Verdicts, e.All.Corrected)},
			Figure: &Figure{SVG: rate.draw(), Legend: "Corrected verdicts of ten thousand, by the week of the " +
				"verdict. A newer week has had less time to be found wrong."}, Table: weeks},
		{ID: "causes", Title: "Why", Table: causes},
		{ID: "failed", Title: "Which checks", Table: checks},
		{ID: "corrections", Title: "Corrections", Table: mistakesTable(e)},
	}
	return v
}

// mistakesTable lists the newest corrections.
func mistakesTable(e derive.ErrorsView) *Table {
	all := int64(len(e.Corrections)) + e.LeftOut
	shown := e.Corrections[:min(mistakesShown, len(e.Corrections))]
	if all == 0 {
		return nil
	}
	t := &Table{Caption: fmt.Sprintf("The newest %d of %s", len(shown), screen.Count(all, "correction")), Dense: true,
		Head: heads("Host", "Week", "Signed", "Now", "Cause", "Reason")}
	for _, m := range shown {
		t.Rows = append(t.Rows, []Cell{{Text: m.Host, Href: derive.HostPath(m.Host)}, mono(m.Week),
			words(InWords(m.Signed)), words(InWords(m.Now)), mono(m.Cause), words(m.Reason)})
	}
	return t
}
