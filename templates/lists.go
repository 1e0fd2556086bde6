package templates

import (
	"fmt"
	"slices"
	"strings"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/networks"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/tier"
)

// FreshSheet is /fresh-set.
func FreshSheet(v SheetView, f derive.FreshView) SheetView {
	if f.Week == nil {
		v.Empty = nothingYet()
		return v
	}
	const most = 100
	rows := f.Rows[:min(most, len(f.Rows))]
	caption := fmt.Sprintf("%d ready hosts of %s, by name", len(rows), *f.Week)
	if int64(len(rows)) < f.Aggregates.Ready {
		caption = fmt.Sprintf("The first %d of %d ready hosts of %s, by name; the JSON has more", len(rows),
			f.Aggregates.Ready, *f.Week)
	}
	table := &Table{Caption: caption, Dense: true, Head: heads("Host", "Rails", "Schemes", "#Cheapest ask, USDC")}
	for _, r := range rows {
		table.Rows = append(table.Rows, []Cell{{Text: r.Host, Href: derive.HostPath(r.Host), Mono: true},
			mono(rails(r.Rails)), words(strings.Join(r.Schemes, ", ")), dash(r.MinUSDC)})
	}
	v.Sections = []Section{
		{ID: "coverage", Title: "Of how many", Facts: []Fact{
			{Name: "Observed", Value: f.ObservedAt, Mono: true},
			{Name: "Ready", Value: fmt.Sprintf("%d of %d hosts probed", f.Aggregates.Ready, f.Coverage.Probed)},
			{Name: "Probed", Value: fmt.Sprintf("%d of %d due, of %d known by name", f.Coverage.Probed, f.Coverage.Due,
				f.Coverage.Known)},
			{Name: "Coverage", Value: caution(f.Coverage.Suspect)},
			{Name: "Evidence", Value: f.Evidence, Mono: true},
		}},
		{ID: "doors", Title: "Doors", Table: table},
	}
	return v
}

// rails names networks as people do, as far as they have a name.
func rails(list []string) string {
	names := make([]string, len(list))
	for i, n := range list {
		names[i] = n
		if chain, ok := networks.Find(n); ok {
			names[i] = chain.Name
		}
	}
	return strings.Join(names, ", ")
}

// tierMark is the class of a tier.
func tierMark(name string) string {
	switch name {
	case tier.TierStanding, tier.TierEstablished:
		return "good"
	case tier.TierBroken:
		return "bad"
	}
	return "unknown"
}

// minute is a time of the record as a table shows it, 2026-11-10 06:01.
func minute(at string) string {
	return strings.Replace(at[:min(len(at), len("2006-01-02T15:04"))], "T", " ", 1)
}

// TiersSheet is one page of /corpus/tiers.
func TiersSheet(v SheetView, t derive.TiersView) SheetView {
	table := &Table{Caption: fmt.Sprintf("Page %d of %d: %d of %d hosts, by name", t.Page, t.Pages, len(t.Hosts),
		t.TotalHosts), Dense: true, Lines: true, Head: heads("Host", "Tier", "Rounds ready", "Newest verdict",
		"Observed, UTC")}
	for _, h := range t.Hosts {
		_, counted, _ := strings.Cut(h.Label, " — ")
		verdict, at := "none in the window", ""
		if l := h.Latest; l != nil {
			verdict, at = l.Verdict, minute(l.ObservedAt)
		}
		table.Rows = append(table.Rows, []Cell{{Text: h.Host, Href: derive.HostPath(h.Host), Mono: true},
			{Text: h.Tier, Mark: tierMark(h.Tier)}, dash(counted), words(verdict), dash(at)})
	}
	var links []Pointer
	if t.Page > 1 {
		links = append(links, Pointer{Text: "The page before", Href: fmt.Sprintf("/corpus/tiers/%d", t.Page-1)})
	}
	if t.HasMore {
		links = append(links, Pointer{Text: "The next page", Href: fmt.Sprintf("/corpus/tiers/%d", t.Page+1)})
	}
	links = append(links, Pointer{Text: "The record", Href: "/corpus"})
	v.Sections = []Section{{Table: table, Links: links}}
	return v
}

// BriefSheet is /corpus/brief.
func BriefSheet(v SheetView, b derive.BriefView) SheetView {
	if b.Week == nil {
		v.Empty = nothingYet()
		return v
	}
	v.Sections = weekSections(derive.WeekView{Week: *b.Week, Figures: b.Figures, Before: b.Before, Changes: b.Changes,
		Control: b.Control, Sources: b.Sources})
	notes := Section{ID: "notes", Title: "Said by hosts",
		Says: []string{fmt.Sprintf("%d paid walks and %d standing notes came in since the round before.",
			b.Walks, len(b.Notes)), fmt.Sprintf("Of %d purchases of our own, %d were answered with the good and %d "+
			"were charged.", b.Purchases.Tried, b.Purchases.Delivered, b.Purchases.Charged)},
		Links: []Pointer{{Text: "Purchases at doors", Href: "/corpus/purchases"}}}
	for _, n := range b.Notes {
		notes.Links = append(notes.Links, Pointer{Text: n.By, Href: derive.HostPath(n.By),
			Note: fmt.Sprintf("a note, %s", n.At)})
	}
	v.Sections = append(v.Sections, notes)
	return v
}

// WeekSheet is /corpus/week/{week}.
func WeekSheet(v SheetView, w derive.WeekView) SheetView {
	v.Sections = weekSections(w)
	links := []Pointer{{Text: "The round with its rows, as signed", Href: derive.RoundPath(w.Figures.Sequence)},
		{Text: "The newest week", Href: "/corpus/brief"}, {Text: "The record", Href: "/corpus"}}
	if w.Changes != nil {
		links = append([]Pointer{{Text: "The week before", Href: derive.WeekPath(w.Changes.From.Week)}}, links...)
	}
	v.Sections = append(v.Sections, Section{ID: "beside", Title: "Beside this", Links: links})
	return v
}

// weekSections are a round's figures and what it changed.
func weekSections(b derive.WeekView) []Section {
	now := b.Figures
	line := func(name string, count func(*derive.Week) int64, of func(*derive.Week) int64) Fact {
		value := fmt.Sprintf("%d of %d", count(now), of(now))
		if b.Before != nil {
			value += fmt.Sprintf("; the round before, %d of %d", count(b.Before), of(b.Before))
		}
		return Fact{Name: name, Value: value}
	}
	probed := func(w *derive.Week) int64 { return w.HostsProbed }
	due := func(w *derive.Week) int64 { return w.HostsDue }
	facts := []Fact{
		{Name: "Round", Value: fmt.Sprintf("%d, %s, taken at %s", now.Sequence, now.Week, now.TakenAt)},
		{Name: "Digest", Value: now.Digest.String(), Mono: true},
		line("Probed", probed, due),
		line("Ready", func(w *derive.Week) int64 { return w.Ready }, probed),
		line("Not ready", func(w *derive.Week) int64 { return w.NotReady }, probed),
		line("Unreachable", func(w *derive.Week) int64 { return w.Unreachable }, probed),
		line("Our instrument's fault", func(w *derive.Week) int64 { return w.Degraded }, probed),
		line("Missed by us", (*derive.Week).Missed, due),
		line("Turned away at the door", func(w *derive.Week) int64 { return w.Gap(record.ReasonChallenged) }, due),
		line("Asked not to be checked", func(w *derive.Week) int64 { return w.Gap(record.ReasonOptedOut) }, due),
		line("Not exercised", func(w *derive.Week) int64 { return w.NotExercised }, due),
		line("Verdicts corrected since", func(w *derive.Week) int64 { return w.Errors.Corrected },
			func(w *derive.Week) int64 { return w.Errors.Verdicts }),
		{Name: "Our own test endpoint",
			Value: fmt.Sprintf("%d of %d checks failed", b.Control.Failed, b.Control.Walks)},
		{Name: "Coverage", Value: caution(now.CoverageSuspect)},
	}
	for _, s := range b.Sources {
		read := "read to its end"
		if !s.Complete {
			read = "not read to its end: " + s.Problem
		}
		facts = append(facts, Fact{Name: "Source " + s.Name, Value: screen.Count(s.Hosts, "host") + ", " + read})
	}
	out := []Section{{ID: "week", Title: "The week", Facts: facts}}
	if c := b.Changes; c != nil {
		out = append(out, Section{ID: "changes", Title: "What changed",
			Says: []string{fmt.Sprintf("Against %s, of %d hosts seen in both. At most %d of each are named.",
				c.From.Week, c.OfBoth, derive.BriefLimit)},
			Facts: []Fact{
				{Name: "Appeared", Value: named(c.Appeared, c.Names.Appeared)},
				{Name: "Disappeared", Value: named(c.Disappeared, c.Names.Disappeared)},
			},
			Links: []Pointer{{Text: "All changes of the week", Href: derive.ChangesPath(b.Week)}}})
		transitions := &Table{Caption: fmt.Sprintf("%d of %d changes of verdict", len(c.Names.Transitions),
			c.Transitions), Head: heads("Host", "From", "To", "Battery")}
		for _, t := range c.Names.Transitions {
			battery := "the same"
			if t.Battery {
				battery = "changed"
			}
			transitions.Rows = append(transitions.Rows,
				[]Cell{{Text: t.Host, Href: derive.HostPath(t.Host), Mono: true}, mono(t.From), mono(t.To),
					words(battery)})
		}
		drift := &Table{Caption: fmt.Sprintf("%d of %d terms that drifted", len(c.Names.Drift), c.Drift),
			Head: heads("Host", "Term", "From", "To")}
		for _, d := range c.Names.Drift {
			drift.Rows = append(drift.Rows, []Cell{{Text: d.Host, Href: derive.HostPath(d.Host), Mono: true},
				mono(d.Field), mono(term(d.From)), mono(term(d.To))})
		}
		out = append(out, verdictsOf("transitions", "Changes of verdict", transitions, "No verdict changed."),
			verdictsOf("drift", "Drift in declared terms", drift, "No declared term drifted."))
	}
	return out
}

func verdictsOf(id, title string, t *Table, none string) Section {
	if len(t.Rows) == 0 {
		return Section{ID: id, Title: title, Says: []string{none}}
	}
	return Section{ID: id, Title: title, Table: t}
}

func named(n int64, names []string) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", n, strings.Join(names, ", "))
}

// term shortens the digests in a drifted term.
func term(s string) string {
	parts := strings.Split(s, ",")
	for i, p := range parts {
		network, digest, ok := strings.Cut(p, " ")
		if ok {
			parts[i] = network + " " + Short(digest)
		}
	}
	if s == "" {
		return "–"
	}
	return strings.Join(parts, ", ")
}

// CorpusParts is what the page of the record is made from besides the chain.
type CorpusParts struct {
	Tiers derive.TiersView
	// Week is the newest round, nil for none, and Weeks are all of them.
	Week  *derive.Week
	Weeks []derive.Week
	Map   []derive.MapTier
	// Changes are of the newest week, nil where there is none before it.
	Changes *derive.BriefChanges
	// Letters lead into the list of hosts, Views to what is derived.
	Letters, Views []Pointer
	// Clone is the address of the record as a git repository, "" for none.
	Clone string
}

// CorpusSheet is /corpus, the way into the record.
func CorpusSheet(v SheetView, d derive.DatasetView, p CorpusParts) SheetView {
	t, week := p.Tiers, p.Week
	if week == nil {
		v.Empty = nothingYet()
		v.Sections = []Section{{ID: "views", Title: "What is derived", Links: p.Views}}
		return v
	}
	v.Search = true
	shown, caption := newest(d.Index)
	chain := &Table{Caption: caption, Dense: true, Head: heads("Week", "#Hosts observed", "Digest", "Proof of time")}
	for _, l := range shown {
		proof := words(InWords(l.ProofOfTime))
		if l.ProofURL != "" {
			proof.Href = derive.ProofPath(l.Sequence)
		}
		// What is counted follows the errata, as every other figure here; the round stays as it is
		// signed.
		if i := slices.IndexFunc(p.Weeks, func(w derive.Week) bool { return w.Sequence == l.Sequence }); i >= 0 {
			l.HostsObserved = p.Weeks[i].HostsProbed
		}
		chain.Rows = append(chain.Rows, []Cell{{Text: l.Week, Href: derive.WeekPath(l.Week), Mono: true},
			num(l.HostsObserved), {Text: Short(l.Digest.String()), Href: derive.RoundPath(l.Sequence), Mono: true},
			proof})
	}
	v.First = overview(p)
	v.Sections = []Section{
		{ID: "tiers", Title: "Hosts", Table: mapTable(p.Map, t, week.Week),
			Says: []string{"A tier says what our rounds saw of a door. It says nothing about whoever keeps it."}},
		{ID: "list", Title: "By name", Links: p.Letters, Inline: true},
		{ID: "views", Title: "What is derived", Links: p.Views},
		{ID: "chain", Title: "The chain", Says: []string{"Each round names the digest of the one before it."},
			Table: chain},
	}
	if p.Clone != "" {
		v.Sections = append(v.Sections, Section{ID: "clone", Title: "To have all of it",
			Says: []string{"A clone is the signed record whole: rounds, observations, proofs, log and keys. It can " +
				"be checked without a network and without us."},
			Pre: "git clone " + p.Clone})
	}
	return v
}
