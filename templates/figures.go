package templates

import (
	"fmt"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/tier"
)

// tableWeeks is how many weeks a table of a page has; the JSON beside it has all.
const tableWeeks = 26

// text, num and mono make cells.
func words(s string) Cell { return Cell{Text: s} }
func mono(s string) Cell  { return Cell{Text: s, Mono: true} }
func num(n int64) Cell    { return Cell{Text: strconv.FormatInt(n, 10)} }
func share(part, whole int64) Cell {
	return Cell{Text: fmt.Sprintf("%d of %d", part, whole), Mono: true}
}

// roundCell leads to a round.
func roundCell(week string, sequence int64) Cell {
	return Cell{Text: week, Href: derive.RoundPath(sequence), Mono: true}
}

func heads(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, n := range names {
		columns[i] = Column{Name: strings.TrimPrefix(n, "#"), Number: strings.HasPrefix(n, "#")}
	}
	return columns
}

// newest gives the last weeks of a list, newest first, and says of how many.
func newest[T any](all []T) (shown []T, caption string) {
	shown = append(shown, all[max(0, len(all)-tableWeeks):]...)
	for i, j := 0, len(shown)-1; i < j; i, j = i+1, j-1 {
		shown[i], shown[j] = shown[j], shown[i]
	}
	if len(shown) == len(all) {
		return shown, fmt.Sprintf("All %d rounds, newest first", len(all))
	}
	return shown, fmt.Sprintf("The last %d of %d rounds, newest first; the JSON has all of them", len(shown), len(all))
}

func nothingYet() *Emptiness {
	return &Emptiness{Says: "Nothing is here yet.", Why: derive.NoRounds}
}

// caution says that a round must not be compared without a thought.
func caution(suspect bool) string {
	if suspect {
		return "suspect"
	}
	return "whole"
}

// verdictBars draws the verdicts of the rounds as stacked bars.
func verdictBars(weeks []derive.Week) *Figure {
	c := chart{title: "Verdicts by week", desc: "Stacked bars, one a round: ready below, then not ready, unreachable " +
		"and without a verdict. The number on a bar is of the hosts that were due."}
	layers := []layer{{name: "ready", class: "ready"}, {name: "not ready", class: "notready"},
		{name: "unreachable", class: "away"}, {name: "no verdict", class: "missed"}}
	for _, w := range weeks {
		c.weeks = append(c.weeks, w.Week)
		for i, v := range []int64{w.Ready, w.NotReady, w.Unreachable, w.NotProbed + w.Degraded} {
			layers[i].values = append(layers[i].values, float64(v))
		}
	}
	c.layers = layers
	c.keys = barKeys[:]
	return &Figure{SVG: c.draw(),
		Legend: "The number on a bar is of the hosts that were due in the round. A week without a round has no bar."}
}

// TrajectorySheet is /corpus/trajectory.
func TrajectorySheet(v SheetView, t derive.TrajectoryView) SheetView {
	if len(t.Weeks) == 0 {
		v.Empty = nothingYet()
		return v
	}
	last := t.Weeks[len(t.Weeks)-1]
	shown, caption := newest(t.Weeks)
	verdicts := &Table{Caption: caption, Dense: true, Head: heads("Week", "#Known", "#Due", "#Probed", "#Ready",
		"#Not ready", "#Unreachable", "#Not exercised", "#Our fault")}
	later := &Table{Caption: caption, Dense: true, Head: heads("Week", "Battery", "Coverage", "#Corrected since")}
	for _, w := range shown {
		verdicts.Rows = append(verdicts.Rows, []Cell{roundCell(w.Week, w.Sequence), num(w.HostsKnown), num(w.HostsDue),
			num(w.HostsProbed), num(w.Ready), num(w.NotReady),
			num(w.Unreachable), num(w.NotExercised), num(w.Degraded)})
		later.Rows = append(later.Rows, []Cell{roundCell(w.Week, w.Sequence), mono(w.Battery),
			words(caution(w.CoverageSuspect)), share(w.Errors.Corrected, w.Errors.Verdicts)})
	}
	coverage := chart{title: "Hosts probed by week",
		desc: "One point a round: hosts probed, and hosts due above it. Points of weeks that follow each other are " +
			"joined."}
	due, probed := layer{class: "unknown", name: "due"}, layer{class: "ink", name: "probed"}
	for _, w := range t.Weeks {
		coverage.weeks = append(coverage.weeks, w.Week)
		due.values, probed.values = append(due.values, float64(w.HostsDue)),
			append(probed.values, float64(w.HostsProbed))
	}
	coverage.points = []layer{due, probed}
	v.Sections = []Section{
		{ID: "verdicts", Title: "Verdicts", Figure: verdictBars(t.Weeks), Table: verdicts},
		{ID: "later", Title: "What they were reached by, and taken back since", Table: later,
			Links: []Pointer{{Text: "Our errors, by check and by cause", Href: "/corpus/errors"},
				{Text: "What came of purchases, by week", Href: "/corpus/purchases"}}},
		{ID: "coverage", Title: "What we reached",
			Says: []string{"A host that was due and not probed is counted against the store, and by the reason."},
			Figure: &Figure{SVG: coverage.draw(),
				Legend: fmt.Sprintf("Hosts probed of hosts due; in %s, %d of %d.", last.Week, last.HostsProbed,
					last.HostsDue)},
			Facts: counts(last.Gaps, last.HostsDue, "rows of "+last.Week)},
		{ID: "failed", Title: "What failed",
			Says: []string{fmt.Sprintf("Checks that doors failed in %s, of the %d hosts that were observed. A door "+
				"may fail several.", last.Week, last.Ready+last.NotReady+last.Unreachable)},
			Facts: counts(last.FailureClasses, last.Ready+last.NotReady+last.Unreachable, "hosts")},
		{ID: "networks", Title: "Networks offered",
			Says: []string{fmt.Sprintf("Of the %d offers seen in %s; an offer may name several.", last.OffersSeen,
				last.Week)},
			Facts: counts(last.Networks, last.OffersSeen, "offers")},
	}
	return v
}

func counts(c tier.Counts, of int64, what string) []Fact {
	var facts []Fact
	for _, n := range c {
		facts = append(facts, Fact{Name: Beside(n.Name), Value: fmt.Sprintf("%d of %d %s", n.Count, of, what)})
	}
	if facts == nil {
		facts = []Fact{{Name: "None", Value: fmt.Sprintf("0 of %d %s", of, what)}}
	}
	return facts
}

// RegistrySheet is /registry.
func RegistrySheet(v SheetView, r derive.RegistryView) SheetView {
	if len(r.Weeks) == 0 {
		v.Empty = nothingYet()
		return v
	}
	last := r.Weeks[len(r.Weeks)-1]
	ready := chart{title: "Ready doors by the rails they take",
		desc: "Stacked bars, one a round: offers that take Base and Solana, Base alone, Solana alone, and other " +
			"networks."}
	layers := []layer{{class: "one"}, {class: "two"}, {class: "three"}, {class: "missed"}}
	ready.keys = []key{{class: "one", word: "Base and Solana"}, {class: "two", word: "Base"},
		{class: "three", word: "Solana"}, {class: "missed", word: "others"}}
	price := chart{title: "Cheapest ask in USDC",
		desc: "One mark a round: the median of the cheapest asks of ready doors, with a line from the first to the " +
			"third quartile."}
	signed := chart{title: "Ready doors that sign their offers",
		desc: "One point a round, in percent of the ready doors.", most: 100}
	points := layer{class: "ink"}
	for _, m := range r.Weeks {
		ready.weeks = append(ready.weeks, m.Week)
		for i, n := range []int64{m.Rails.Both, m.Rails.BaseOnly, m.Rails.SolanaOnly, m.Rails.Other} {
			layers[i].values = append(layers[i].values, float64(n))
		}
		price.spans = append(price.spans, spanOf(m.Price))
		if m.SignedOffers.Of > 0 {
			signed.weeks = append(signed.weeks, m.Week)
			points.values = append(points.values, 100*float64(m.SignedOffers.Serving)/float64(m.SignedOffers.Of))
		}
	}
	ready.layers, price.weeks, signed.points = layers, ready.weeks, []layer{points}
	shown, caption := newest(r.Weeks)
	rails := &Table{Caption: caption, Dense: true, Head: heads("Week", "#Ready of probed", "#Both", "#Base only",
		"#Solana only", "#Other", "#Offers", "#Testnet named")}
	asks := &Table{Caption: caption, Dense: true, Head: heads("Week", "#Median", "#First quartile", "#Third quartile",
		"#Sample", "#Signing of ready", "#Unreachable of probed")}
	wallets := &Table{Caption: caption, Dense: true, Head: heads("Week", "#Addresses", "#Top five named", "Schemes")}
	for _, m := range shown {
		at := roundCell(m.Week, m.Sequence)
		rails.Rows = append(rails.Rows, []Cell{at, share(m.Ready, m.Probed), num(m.Rails.Both), num(m.Rails.BaseOnly),
			num(m.Rails.SolanaOnly), num(m.Rails.Other), num(m.Rails.Of), num(m.Rails.TestnetFlagged)})
		asks.Rows = append(asks.Rows, []Cell{at, dash(m.Price.Median), dash(m.Price.P25), dash(m.Price.P75),
			num(m.Price.Sample), share(m.SignedOffers.Serving, m.SignedOffers.Of), share(m.Rot.Dead, m.Rot.Of)})
		var schemes []string
		for _, s := range m.Schemes {
			schemes = append(schemes, fmt.Sprintf("%s %d", s.Name, s.Count))
		}
		wallets.Rows = append(wallets.Rows, []Cell{at, num(m.Addresses), share(m.Top.Named, m.Top.Of),
			words(strings.Join(schemes, ", "))})
	}
	v.Sections = []Section{
		{ID: "rails", Title: "Rails",
			Figure: &Figure{SVG: ready.draw(),
				Legend: fmt.Sprintf("The number on a bar is of offers of ready doors. In %s, %d offers of %d ready "+
					"doors.", last.Week, last.Rails.Of, last.Ready)}, Table: rails},
		{ID: "prices", Title: "Prices",
			Says: []string{"The cheapest ask of each ready door, in USDC. What a door charges for more is in its " +
				"offer and not here."},
			Figure: &Figure{SVG: price.draw(),
				Legend: fmt.Sprintf("Dot: median. Line: first to third quartile. In %s, of %d doors.", last.Week,
					last.Price.Sample)}, Table: asks},
		{ID: "signed", Title: "Signed offers", Says: []string{"A door that signs its offer can be held to it."},
			Figure: &Figure{SVG: signed.draw(),
				Legend: fmt.Sprintf("Percent of ready doors that sign what they offer. In %s, %d of %d.", last.Week,
					last.SignedOffers.Serving, last.SignedOffers.Of)}},
		{ID: "addresses", Title: "Addresses", Says: []string{derive.SharedWalletCaveat}, Table: wallets},
	}
	return v
}

func dash(s string) Cell {
	if s == "" {
		s = "–"
	}
	return words(s)
}

// spanOf reads the quartiles of a round. They were spelled by derive, so that they parse.
func spanOf(p derive.Price) (s span) {
	for _, f := range []struct {
		text string
		into *float64
	}{{p.P25, &s.low}, {p.Median, &s.mid}, {p.P75, &s.high}} {
		n, err := strconv.ParseFloat(f.text, 64)
		if err != nil {
			return span{}
		}
		*f.into = n
	}
	s.there = true
	return s
}

// InflowsSheet is /inflows.
func InflowsSheet(v SheetView, f derive.InflowsView) SheetView {
	if len(f.Weeks) == 0 {
		v.Empty = nothingYet()
		return v
	}
	shown, caption := newest(f.Weeks)
	table := &Table{Caption: caption, Dense: true, Head: heads("Week", "Network", "#Transfers",
		"#Addresses that received", "#USDC", "Read")}
	for _, w := range shown {
		if len(w.Networks) == 0 {
			table.Rows = append(table.Rows, []Cell{roundCell(w.Week, w.Sequence), words("none was configured"),
				words("–"), words("–"), words("–"), words("no")})
		}
		for _, n := range w.Networks {
			row := []Cell{roundCell(w.Week, w.Sequence), words(rails([]string{n.Network})), num(n.Transfers),
				num(n.Addresses), words(n.USDC), words("yes")}
			if n.AddressesLeftOut > 0 {
				row[5] = words(fmt.Sprintf("yes, without addresses that were flooded: %d", n.AddressesLeftOut))
			}
			if !n.Read {
				row[2], row[3], row[4], row[5] = words("–"), words("–"), words("–"), words("no: "+InWords(n.Reason))
			}
			table.Rows = append(table.Rows, row)
		}
	}
	v.Sections = []Section{{ID: "weeks", Title: "Week by week", Table: table}}
	if fig := inflowBars(f.Weeks); fig != nil {
		v.Sections[0].Figure = fig
	}
	return v
}

// inflowBars draws transfers on all networks that were read; a round that read none is a hole.
func inflowBars(weeks []derive.InflowWeek) *Figure {
	c := chart{title: "Transfers seen", desc: "One bar a round: USDC transfers to advertised addresses, on all " +
		"networks that were read."}
	var l layer
	l.class = "one"
	for _, w := range weeks {
		var sum int64
		read := false
		for _, n := range w.Networks {
			if n.Read {
				read, sum = true, sum+n.Transfers
			}
		}
		if read {
			c.weeks, l.values = append(c.weeks, w.Week), append(l.values, float64(sum))
		}
	}
	if len(c.weeks) == 0 {
		return nil
	}
	c.layers = []layer{l}
	return &Figure{SVG: c.draw(), Legend: "Transfers on all networks that were read. A round that read none has no " +
		"bar."}
}
