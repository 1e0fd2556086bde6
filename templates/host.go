package templates

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"

	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/tier"
)

// HostView is the page of one host's history, /corpus/host/{host}.
type HostView struct {
	Chrome *Chrome
	Page   Page
	derive.Host
	// Stamp is the tier's class: good, bad or unknown.
	Stamp string
	// Weeks are the marks of the weeks that the table shows, oldest first, Drawing draws them,
	// Marks is the same in text, Legend counts them.
	Weeks         []WeekMark
	Drawing       Markup
	Marks, Legend string
	Standing      []Fact
	Reasons       []Fact
	Corrections   []Fact         // the newest first
	Timeline      []TimelineLine // newest first
	Folded        []FoldedYear   // the rounds before those of the table, newest first
	All           int            // rounds that there are
	Address       []Fact
	Cite          string // plain text, to be copied
	Declared      []Fact
	Badge         string // address of the badge of the host
	NotPaid       string // in words: the purchases of the store's in which no money moved, "" for none
	DoorBadge     string // and of the badge of the door that was walked last, empty for none
	// Left says what of the host's lists and of its row stands in the JSON alone.
	Left struct{ Rounds, Walks, Refreshes, Notes, Row int }

	json []byte
	sum  attest.Digest // of json
}

// FoldedYear are rounds of one year, a word each.
type FoldedYear struct {
	Year   string
	Rounds string // W36 ready, W35 not_ready
}

// What the page of a host has of lists that strangers or time make long. The JSON has all of them.
const (
	mostFolded      = 52   // rounds before those of the table
	mostNames       = 1    // of checks or protocols in one round
	mostListed      = 2    // paid walks, and refreshes
	mostCorrections = 1    // in words
	mostReasons     = 5    // for which rounds did not observe it
	mostDeclared    = 2    // doors, each of so many bytes
	mostDoor        = 200  // and so is an address of a badge
	mostAddresses   = 2    // payment addresses
	crowded         = 600  // bytes of a note that leave half the rows of the table
	mostReason      = 100  // characters of why a row was corrected
	mostRow         = 1000 // bytes of the row as it was signed
)

// TimelineLine is one row of the timeline, newest first.
type TimelineLine struct {
	Week, Listed, Probed, Gap, Verdict, Mark, Protocols, Failed string
	Sequence                                                    int64
}

// short is the verdict, or why there is none.
func (l *TimelineLine) short() string {
	if l.Probed == tier.Probed {
		return l.Verdict
	}
	return l.Probed
}

// NewHostView makes the page of a host. It depends on nothing but its arguments, so that a page
// made for a file and one made on request are the same bytes.
func NewHostView(chrome *Chrome, h derive.Host) (HostView, error) {
	doc, err := document(h)
	if err != nil {
		return HostView{}, fmt.Errorf("encoding the history of %s: %w", h.Host, err)
	}
	sum := sha256.Sum256(doc)
	path := derive.HostPath(h.Host)
	v := HostView{
		Chrome: chrome, Host: h, json: doc, sum: sum, All: len(h.Timeline),
		Page: Page{
			Title: h.Host, Path: path, Twin: path + "/index.md", Data: path + ".json", Made: hex.EncodeToString(sum[:]),
			Summary: NowLine(&h.Tier) + ". Observed in " + decimal(h.RoundsProbed) + " of " +
				screen.Count(h.Rounds, "round") + " since its first sighting.",
		},
	}
	if derive.HostName(h.Host) == h.Host { // a feed is asked for by the name, not by its digest
		v.Page.Feed = path + "/feed.xml"
	}
	switch h.Tier.Tier {
	case tier.TierStanding, tier.TierEstablished:
		v.Stamp = "good"
	case tier.TierBroken:
		v.Stamp = "bad"
	default:
		v.Stamp = "unknown"
	}
	v.timeline()
	v.standing()
	v.corrections()
	v.address()
	v.cite()
	v.declared()
	v.notPaid()
	v.shorten()
	v.Badge = chrome.BaseURL + "/badge/host.svg?host=" + url.QueryEscape(h.Host)
	for _, w := range slices.Backward(h.Timeline) {
		if w.URL != "" {
			if len(w.URL) <= mostDoor {
				v.DoorBadge = chrome.BaseURL + "/badge/check.svg?url=" + url.QueryEscape(w.URL)
			}
			break
		}
	}
	return v, nil
}

// notPaid says what became of the purchases in which no money moved.
func (v *HostView) notPaid() {
	if n := len(v.Unpaid); n > 0 {
		last := v.Unpaid[n-1]
		v.NotPaid = fmt.Sprintf("In %s of the store's own wallet no money moved; the newest, %s: %s.",
			screen.Count(int64(n), "purchase"), last.At, InWords(derive.Outcome(last.Claim, false)))
	}
}

// declared says what doors the host declared.
func (v *HostView) declared() {
	d := v.Declaration
	if d.Value == derive.NoDeclaration {
		return
	}
	doors := d.Doors[:min(len(d.Doors), mostDeclared)]
	doors = slices.DeleteFunc(slices.Clone(doors), func(s string) bool { return len(s) > mostDoor })
	said := strings.Join(doors, " ")
	if more := len(d.Doors) - len(doors); more > 0 {
		said = strings.TrimSpace(said + " (" + strconv.Itoa(more) + " more in the JSON)")
	}
	v.Declared = []Fact{{Name: "Declared", Value: d.At, Mono: true}, {Name: "Shape of the file", Value: d.Shape,
		Mono: true},
		{Name: "Doors", Value: said, Mono: true},
		{Name: "Doors of other hosts", Value: decimal(d.Foreign) + ", counted and not walked"},
		{Name: "Observation", Value: decimal(d.Observation), Mono: true}}
}

// shorten leaves to the JSON what a page has no room for.
func (v *HostView) shorten() {
	if n := len(v.PaidWalks) - mostListed; n > 0 {
		v.PaidWalks, v.Left.Walks = v.PaidWalks[n:], n
	}
	if n := len(v.Refreshes) - mostListed; n > 0 {
		v.Refreshes, v.Left.Refreshes = v.Refreshes[n:], n
	}
	v.Left.Notes = len(v.Earlier) + int(v.LeftOut)
	if n := len(v.Citation.Row); n > mostRow {
		v.Citation.Row, v.Left.Row = "", n
	}
}

// few are names, and how many more there are.
func few(names []string) string {
	if len(names) <= mostNames {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:mostNames], ", ") + " and " + strconv.Itoa(len(names)-mostNames) + " more"
}

// NowLine says what a reader asks first: whether the host is ready now, its tier, and of how many
// rounds that is.
func NowLine(t *derive.HostTier) string {
	f := t.Fraction
	counted := t.Tier + ", " + decimal(f.Ready) + " ready of " + decimal(f.Rounds)
	if f.FirstWeek != "" {
		counted += ", " + f.FirstWeek + " to " + f.LastWeek
	}
	l := t.Latest
	if l == nil {
		return "Not observed of late; " + counted
	}
	now := map[string]string{"ready": "Ready now", "not_ready": "Not ready now", "unreachable": "Unreachable now"}
	return now[l.Verdict] + ", as of " + l.ObservedAt[:len("2006-01-02")] + "; " + counted
}

func (v *HostView) timeline() {
	rows := derive.TimelineWeeks
	if n := v.Note; n != nil && len(html.EscapeString(n.Statement)) > crowded {
		rows /= 2
	}
	shown := v.Host.Timeline[max(0, len(v.Host.Timeline)-rows):]
	if len(shown) == 0 {
		return
	}
	for i := range shown {
		m := markWeek(&shown[i])
		v.Weeks, v.Marks = append(v.Weeks, m), v.Marks+m.Mark
		v.Timeline = append(v.Timeline, timelineLine(&shown[i], m.Class))
	}
	slices.Reverse(v.Timeline)
	v.Legend = legend(v.Weeks)
	v.Drawing = drawWeeks(v.Host.Host, v.Weeks, v.Legend)
	before := v.Host.Timeline[:len(v.Host.Timeline)-len(shown)]
	v.Left.Rounds = max(0, len(before)-mostFolded)
	for _, w := range slices.Backward(before[v.Left.Rounds:]) {
		l := timelineLine(&w, "")
		year, week, _ := strings.Cut(w.Week, "-")
		if n := len(v.Folded); n == 0 || v.Folded[n-1].Year != year {
			v.Folded = append(v.Folded, FoldedYear{Year: year, Rounds: week + " " + l.short()})
			continue
		}
		v.Folded[len(v.Folded)-1].Rounds += ", " + week + " " + l.short()
	}
}

// What the timeline says of a round in which no list named the host.
const (
	notListed    = "not listed"
	listedBefore = "known from before"
)

// notMeasured is what the timeline has in place of the names of protocols.
const notMeasured = "not measured"

// timelineWords say what the words of the timeline mean, below it. Between backticks are those that
// are words of the JSON.
const timelineWords = "Listed says whether a discovery list that was read for the round named the host, or only an " +
	"earlier round knew it. " +
	"`listed_not_walked` counts against the store: " +
	"the host was on its books, from a list of that week or from an earlier round, and the round did not observe it, " +
	"for the reason that stands under the word. " +
	"`turned_away` counts against nobody: the round walked the host, and a bot wall answered. " +
	"`not_exercised` neither: the round walked the host and refuted nothing, as the door wants to be asked by a " +
	"method that it names nowhere, or with inputs that we lack. " +
	"`before_first_sighting` counts against nobody: no source had named the host yet. " +
	"Protocols are told by the challenge that a door answers with; where there was none, or the round did not look, " +
	"they are not measured."

// gapMeanings say why a round did not observe a host, by the reason.
var gapMeanings = func() map[string]string {
	meanings := map[string]string{}
	for _, g := range derive.CurrentRules().Gaps {
		meanings[g.Reason] = g.Meaning
	}
	return meanings
}()

func timelineLine(w *derive.HostWeek, mark string) TimelineLine {
	line := TimelineLine{Week: w.Week, Listed: listedBefore, Probed: w.Probed, Verdict: "–", Mark: mark,
		Protocols: notMeasured, Failed: "–",
		Sequence: w.Sequence}
	switch w.Probed {
	case tier.BeforeFirst:
		line.Listed = notListed
	case tier.NotWalked, tier.TurnedAway, tier.NotExercised:
		line.Gap = InWords(w.Gap)
	case tier.Probed:
		line.Verdict = w.Verdict
		line.Protocols = few(w.Protocols)
		if line.Protocols == "" {
			line.Protocols = notMeasured
		}
		if len(w.Failed) > 0 {
			line.Failed = few(w.Failed)
		}
	}
	if w.Listed {
		line.Listed = "listed"
	}
	if w.Corrected != nil {
		line.Verdict += " (signed " + w.Corrected.Signed + ")"
	}
	return line
}

func (v *HostView) standing() {
	h := &v.Host
	newest := "none in the window"
	if l := h.Tier.Latest; l != nil {
		from := "round " + decimal(l.Sequence)
		if l.Number > 0 {
			from = "a paid refresh, observation " + decimal(l.Number)
		}
		newest = l.Verdict + ", " + l.ObservedAt + ", by " + from
	}
	v.Standing = []Fact{
		{Name: "Tier", Value: h.Tier.Line},
		{Name: "Rule", Value: Plainly(h.Tier.Rule)},
		{Name: "Newest observation", Value: newest},
		{Name: "Coverage", Value: decimal(h.RoundsProbed) + " of " +
			screen.Count(h.Rounds, "round") + " since the first sighting, " + decimal(h.Coverage) + " %"},
		{Name: "Missed by the store", Value: decimal(h.RoundsMissed) + " of " + screen.Count(h.Rounds, "round")},
		{Name: "Turned away at the door", Value: screen.Count(h.TurnedAway, "round") + " beside them"},
		{Name: "Not exercised", Value: screen.Count(h.NotExercised, "round") + " beside them"},
		{Name: "In the newest round", Value: strings.ReplaceAll(h.Listing, "_", " ")},
	}
	if h.FirstObserved != "" {
		v.Standing = append(v.Standing, Fact{Name: "First observed", Value: h.FirstObserved, Mono: true},
			Fact{Name: "Last observed", Value: h.LastObserved, Mono: true})
	}
	for _, g := range h.Gaps {
		f := Fact{Name: Beside(g.Name), Value: decimal(g.Count) + " of " + screen.Count(h.RoundsInChain, "round")}
		if means := gapMeanings[g.Name]; means != "" {
			f.Value += ": " + means
		}
		v.Reasons = append(v.Reasons, f)
	}
	v.Reasons = firstFacts(v.Reasons, mostReasons, "Further reasons")
}

// correctionsSay is what corrections are.
const correctionsSay = "An erratum is a signed observation that says what a row should have said. The row stays as " +
	"it was signed; the tier, the timeline and every count follow the erratum."

// corrections tells what errata say of the host's rows, beside what was signed.
func (v *HostView) corrections() {
	for _, w := range slices.Backward(v.Host.Timeline) {
		if c := w.Corrected; c != nil {
			v.Corrections = append(v.Corrections, Fact{Name: w.Week, Value: "signed " + c.Signed + ", counts as " +
				c.Now + ": " + screen.Clip(c.Reason, mostReason) + " (observation " + decimal(c.Observation) + ")"})
		}
	}
	v.Corrections = firstFacts(v.Corrections, mostCorrections, "Further corrections")
}

// firstFacts are the first facts of a list, and how many more there are.
func firstFacts(list []Fact, most int, more string) []Fact {
	if len(list) <= most {
		return list
	}
	return append(list[:most:most], Fact{Name: more, Value: strconv.Itoa(len(list)-most) + ", in the JSON"})
}

func (v *HostView) address() {
	p := v.Host.Payment
	if p == nil || p.WhyNot == derive.NotCapturedUnseen {
		return
	}
	v.Address = []Fact{{Name: "Week", Value: p.Week + ", sequence " + decimal(p.Sequence), Mono: true}}
	if !p.Captured {
		v.Address = append(v.Address, Fact{Name: "Captured", Value: "no: " + InWords(p.WhyNot)})
		return
	}
	shown := p.Addresses[:min(len(p.Addresses), mostAddresses)]
	for _, a := range shown {
		v.Address = append(v.Address, Fact{Name: "Digest", Value: a.Digest, Mono: true},
			Fact{Name: "On", Value: a.Network, Mono: true},
			Fact{Name: "Also receives at", Value: doors(a.Others)})
	}
	if more := int64(len(p.Addresses)-len(shown)) + p.LeftOut; more > 0 {
		v.Address = append(v.Address, Fact{Name: "Further addresses", Value: decimal(more) +
			", of which the JSON lists " + strconv.Itoa(len(p.Addresses)-len(shown))})
	}
}

func doors(n int64) string {
	switch n {
	case 0:
		return "no other door of that round"
	case 1:
		return "1 other door of that round"
	}
	return decimal(n) + " other doors of that round"
}

func (v *HostView) cite() {
	c := v.Host.Citation
	observed := c.ObservedAt
	if observed == "" {
		observed = "not observed in this round"
	}
	v.Cite = "cites: " + c.Cites + "\nhost: " + c.Host + "\nweek: " + c.Week + "\nsequence: " + decimal(c.Sequence) +
		"\nobserved_at: " + observed +
		"\ndigest: " + c.Digest.String() + "\nrow_sha256: " + c.RowSHA256.String() + "\nleaf: " + decimal(c.Leaf) +
		"\nrows: " + c.Rows + "\nindex: " + c.Index + "\nlicense: " + c.License + "\nhow: " + c.How
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// TimelineWords say what the words of the timeline mean.
func (HostView) TimelineWords() string { return timelineWords }

// TimelineHTML is the same with its code marked.
func (HostView) TimelineHTML() Markup { return timelineHTML }

var timelineHTML = Markup(regexp.MustCompile("`([^`]+)`").ReplaceAllString(html.EscapeString(timelineWords),
	"<code>$1</code>"))

// CorrectionsSay says what corrections are.
func (HostView) CorrectionsSay() string { return correctionsSay }

// RenderHost returns the page in HTML.
func RenderHost(v HostView) ([]byte, error) { return renderHTML("host.html", &v) }

// RenderHostMarkdown returns its twin.
func RenderHostMarkdown(v HostView) ([]byte, error) { return renderText("host.md", &v) }

// Entry is the address of the round.
func (l TimelineLine) Entry() string { return derive.RoundPath(l.Sequence) }

// HostJSON returns the same as JSON.
func HostJSON(v HostView) []byte { return v.json }

// JSONSum is the SHA-256 of what HostJSON returns, which the foot of the page shows.
func (v *HostView) JSONSum() attest.Digest { return v.sum }

// document is a value as published JSON: indented, with a line feed at the end.
func document(v any) ([]byte, error) {
	b, err := jsonv2.Marshal(v, jsonv2.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, err
	}
	return append(bytes.TrimRight(b, "\n"), '\n'), nil
}
