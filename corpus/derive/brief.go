package derive

import "store.example/agentstore/corpus/record"

// BriefLimit is the most hosts that one list of the brief names; the changes of the week have all
// of them.
const BriefLimit = 20

// BriefView is /corpus/brief.json: what the newest round saw and what it changed.
type BriefView struct {
	Format      string        `json:"format"`
	Week        *string       `json:"week"` // null while there is no round
	Explanation string        `json:"explanation"`
	Figures     *Week         `json:"figures,omitzero"`
	Before      *Week         `json:"figures_of_the_round_before,omitzero"`
	Changes     *BriefChanges `json:"changes,omitzero"`
	Notes       []NoteHeld    `json:"standing_notes"` // since the round before
	Walks       int64         `json:"paid_walks"`     // since the round before
	Purchases   Purchases     `json:"own_purchases"`  // the same, by the store's own wallet, paid or not
	Control     *Control      `json:"control,omitzero"`
	Sources     []SourceRead  `json:"sources"`
	From        Source        `json:"derived_from"`
}

// Control is how the walks to the store's own control door went.
type Control struct {
	Walks  int64 `json:"walks"`
	Failed int64 `json:"failed"`
}

// SourceRead is one feed of host names.
type SourceRead = record.RosterSource

// BriefChanges counts what changed since the round before, and names the first of each.
type BriefChanges struct {
	From        Cited  `json:"from"`
	Appeared    int64  `json:"appeared"`
	Disappeared int64  `json:"disappeared"`
	Transitions int64  `json:"transitions"`
	Drift       int64  `json:"drift"`
	OfBoth      int64  `json:"hosts_in_both"`
	Names       Diff   `json:"names"` // at most BriefLimit of each
	All         string `json:"all"`
}

// Brief is the digest of the newest week.
func (b *Book) Brief() BriefView {
	v := BriefView{Format: "store-brief/v1", Explanation: NoRounds, Notes: []NoteHeld{}, Sources: []SourceRead{},
		From: b.source()}
	n := len(b.Rounds)
	if n == 0 {
		return v
	}
	w := b.OfWeek(n - 1)
	v.Week, v.Figures, v.Before, v.Changes, v.Control, v.Sources = &w.Week, w.Figures, w.Before, w.Changes, w.Control,
		w.Sources
	v.Explanation = "The newest round beside the one before it. " + weekExplained + " The rest is in the changes and " +
		"the feed."
	since := ""
	if n > 1 {
		since = b.Rounds[n-2].TakenAt
	}
	var bought PurchaseWeek
	for _, o := range b.Feed {
		if o.At < since {
			continue
		}
		if p, ok := purchaseOf(o); ok {
			bought.add(p)
		}
		switch {
		case o.Walk != nil:
			v.Walks++
		case o.Note != nil && o.Note.Statement.Text != "" && len(v.Notes) < BriefLimit:
			v.Notes = append(v.Notes, NoteHeld{Observation: o.Number, Statement: o.Note.Statement.Text,
				Lane: o.Note.Lane, By: o.Note.Host, At: o.Note.SignedAt})
		}
	}
	v.Purchases = bought.Own
	return v
}

const weekExplained = "The figures are those of /corpus/trajectory.json, which says of what each is a part; changes " +
	"are of hosts_in_both, but for appeared, of hosts_in_to, and disappeared, of hosts_in_from. A list holds at most " +
	"20 entries, the first by name or time."

// WeekView is /corpus/week/{week}.json: what one round saw, who named its hosts, and what it
// changed of the round before it. It stays as it is.
type WeekView struct {
	Format      string        `json:"format"`
	Week        string        `json:"week"`
	Explanation string        `json:"explanation"`
	Figures     *Week         `json:"figures"`
	Before      *Week         `json:"figures_of_the_round_before,omitzero"`
	Changes     *BriefChanges `json:"changes,omitzero"`
	Control     *Control      `json:"control"`
	Sources     []SourceRead  `json:"sources"`
	Evidence    string        `json:"evidence"` // the round
	License     string        `json:"license"`
	Index       string        `json:"index"`
}

// OfWeek is what the i-th round saw and changed.
func (b *Book) OfWeek(i int) WeekView {
	r := b.Rounds[i]
	v := WeekView{Format: "store-week/v1", Week: r.Week, Figures: &b.Figures[i].Week,
		Control: &Control{r.Control.Walks, r.Control.Failed}, Sources: r.Roster.Sources,
		Explanation: "One round beside the one before it. " + weekExplained + " sources are the feeds of host names " +
			"as they were read for the round, and catalogs of the figures the rows that each of them listed first.",
		Evidence: b.BaseURL + RoundPath(r.Sequence), License: License, Index: b.BaseURL + "/corpus.json"}
	if i == 0 {
		return v
	}
	d := b.Roll.Weekly(i - 1)
	c := BriefChanges{From: d.From, Appeared: int64(len(d.Appeared)), Disappeared: int64(len(d.Disappeared)),
		Transitions: int64(len(d.Transitions)), Drift: int64(len(d.Drift)),
		OfBoth: d.HostsInBoth, All: b.BaseURL + ChangesPath(r.Week)}
	d.Appeared, d.Disappeared = d.Appeared[:min(BriefLimit, len(d.Appeared))],
		d.Disappeared[:min(BriefLimit, len(d.Disappeared))]
	d.Transitions, d.Drift = d.Transitions[:min(BriefLimit, len(d.Transitions))],
		d.Drift[:min(BriefLimit, len(d.Drift))]
	c.Names = d
	v.Before, v.Changes = &b.Figures[i-1].Week, &c
	return v
}

// WeekPath is the address of a week's page, below the base URL.
func WeekPath(week string) string { return "/corpus/week/" + week }

// ChangesPath is the address of what a week changed, below the base URL.
func ChangesPath(week string) string { return "/corpus/changes/" + week + ".json" }
