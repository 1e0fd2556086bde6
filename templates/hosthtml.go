package templates

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/derive"
)

// A page is made for each host of the record, up to a hundred thousand of them, and so its middle
// alone is written here and not by a template. For a host with twelve weeks, HTML took 18 µs
// written and 323 µs by html/template, Markdown 5 and 145 µs. A build of 10,000 hosts, 30,000
// files, took 2 to 3.5 s of user time with both written and 5 to 7 s by templates; the row
// hosts-write of the bench, on a machine busy with other work, was 1.7 times its peer (1.4 to 2.1)
// and 2.0 (1.2 to 2.3), with the library's JSON as well 2.4 (1.2 to 3.1).

// literal is markup that stands in this program: a constant becomes one by itself, and a string
// that was made or came from elsewhere does not compile where one is wanted. A test finds
// conversions.
type literal string

// htmlWriter appends HTML. What is no literal can only be written escaped, or as Markup, which
// templates made.
type htmlWriter struct{ b []byte }

// markup appends markup.
func (w *htmlWriter) markup(m literal) *htmlWriter {
	w.b = append(w.b, m...)
	return w
}

// text appends markup and a text behind it, escaped as html/template does between tags and in
// quoted attributes. No text may be an address: those are templates' business.
func (w *htmlWriter) text(m literal, s string) *htmlWriter {
	w.b = append(w.b, m...)
	from := 0
	for i := range len(s) {
		if n := escapeOf[s[i]]; n != 0 {
			w.b = append(append(w.b, s[from:i]...), escaped[n]...)
			from = i + 1
		}
	}
	w.b = append(w.b, s[from:]...)
	return w
}

// escaped are what html/template writes for some bytes, and escapeOf is which of them it is for a
// byte: the first for the byte itself.
var (
	escaped  = [...]string{"", "\uFFFD", "&#34;", "&amp;", "&#39;", "&#43;", "&lt;", "&gt;"}
	escapeOf = [256]uint8{0: 1, '"': 2, '&': 3, '\'': 4, '+': 5, '<': 6, '>': 7}
)

// number appends markup and a number behind it.
func (w *htmlWriter) number(m literal, n int64) *htmlWriter {
	w.b = strconv.AppendInt(append(w.b, m...), n, 10)
	return w
}

// narrow appends a text as the template of that name does.
func (w *htmlWriter) narrow(s string) *htmlWriter {
	shown, cut := narrow(s)
	if !cut {
		return w.text("", s)
	}
	return w.text(`<span title="`, s).text(`">`, shown).markup("</span>")
}

// facts appends a list of facts as the template of that name does.
func (w *htmlWriter) facts(list []Fact) *htmlWriter {
	w.markup("<dl class=\"facts\">\n")
	for i := range list {
		f := &list[i]
		open := literal("</dt><dd>")
		if f.Mono {
			open = `</dt><dd class="mono">`
		}
		w.text("<dt>", f.Name).text(open, f.Value).markup("</dd>\n")
	}
	return w.markup("</dl>\n")
}

// RenderHost returns the page in HTML.
func RenderHost(v HostView) ([]byte, error) { return AppendHost(nil, &v) }

// AppendHost appends the page in HTML to dst. On an error it returns dst as it was.
func AppendHost(dst []byte, v *HostView) ([]byte, error) {
	b := bytes.NewBuffer(slices.Grow(dst, hostSize(v)))
	err := htmlPages.ExecuteTemplate(b, "top", v)
	if err == nil {
		w := htmlWriter{b.Bytes()}
		w.host(v)
		b = bytes.NewBuffer(w.b)
		err = htmlPages.ExecuteTemplate(b, "bottom", v)
	}
	if err != nil {
		return dst, fmt.Errorf("rendering the page of %s: %w", v.Page.Title, err)
	}
	return b.Bytes(), nil
}

// hostSize is about how long the page is. Too little costs a copy, too much some memory.
func hostSize(v *HostView) int {
	c := &v.Citation
	size := 7<<10 + len(v.Chrome.Header) + len(v.Chrome.Footer) + len(v.Cite) + len(c.Inclusion) + len(c.Row)*5/4
	for i := range v.Timeline {
		size += 420 + len(v.Timeline[i].Failed)
	}
	return size + 384*len(v.PaidWalks) + 256*len(v.Refreshes)
}

// host appends what stands between the top and the bottom of the page.
func (w *htmlWriter) host(v *HostView) {
	w.text(`<p class="mark"><span class="stamp `, v.Stamp).text(`">`, v.Tier.Tier).markup("</span></p>\n")
	w.markup("<h1>").narrow(v.Page.Title).markup("</h1>\n")
	if _, cut := narrow(v.Page.Title); cut {
		w.text(`<p class="mono whole">`, v.Page.Title).markup("</p>\n")
	}
	if v.Page.Summary != "" {
		w.text(`<p class="lede">`, v.Page.Summary).markup("</p>\n")
	}
	if len(v.Weeks) > 0 {
		w.weeks(v.Host.Host, v.Weeks, v.Legend)
	}
	w.markup("<h2 id=\"tier\">Tier and coverage</h2>\n").facts(v.Standing)
	w.markup(`
<p class="small faint">The rules stand at <a href="/criteria">Criteria</a>. A missed week is a fact about the store and not about the door.</p>
<h2 id="gaps">Gaps by reason</h2>
`)
	if len(v.Reasons) > 0 {
		w.facts(v.Reasons)
	} else {
		w.markup("<p>None: every round of the record observed this host.</p>\n")
	}
	w.timeline(v)
	if len(v.Corrections) > 0 {
		w.markup("<h2 id=\"corrections\">Corrections</h2>\n").text("<p>", correctionsSay).markup("</p>\n")
		w.facts(v.Corrections)
	}
	w.address(v)
	w.cite(v)
	w.walks(v)
	w.refreshes(v)
	w.declaration(v)
	w.note(v)
	w.unseen(v)
}

func (w *htmlWriter) timeline(v *HostView) {
	w.markup("<h2 id=\"timeline\">Timeline</h2>\n").lines(v.rounds(), v.Timeline, v.Less.Counted)
	for i := range v.Less.Brief {
		l := &v.Less.Brief[i]
		sep := literal(", ")
		if i == 0 {
			sep = `<p class="small">The rounds before those of the table: `
		}
		w.markup(sep).text(`<a href="`, derive.RoundPath(l.Sequence)).text(`">`, l.Week).text("</a> ", l.short())
	}
	if len(v.Less.Brief) > 0 {
		w.markup("</p>\n")
	}
	if len(v.Older) == 0 {
		return
	}
	w.markup("<p>Earlier rounds, by year:")
	for i, year := range v.Older {
		if i > 0 {
			w.markup(",")
		}
		w.text(` <a href="`, derive.HostYearPath(year, v.Host.Host)).text(`">`, year).markup("</a>")
	}
	w.markup("</p>\n")
}

// lines is the table of a timeline, and what its words mean.
func (w *htmlWriter) lines(caption string, lines []TimelineLine, counted string) {
	// What each cell would say of itself, the class of the table says in the style sheet.
	w.text(Wide+`<table class="dense rounds">
<caption>`, caption).markup(`, newest first</caption>
<thead><tr><th scope="col">Week</th><th scope="col">Listed</th><th scope="col">Probed</th><th scope="col">x402 verdict</th><th scope="col">Protocols observed</th><th scope="col">Failed checks</th><th scope="col">Entry</th></tr></thead>
<tbody>
`)
	for i := range lines {
		l := &lines[i]
		w.text(`<tr><th scope="row">`, l.Week).text("</th><td>", l.Listed).text("</td><td>", l.Probed)
		if l.Gap != "" {
			w.text(`<br><span class="faint">`, l.Gap).markup("</span>")
		}
		w.text(`</td><td class="`, l.Mark).text(`">`, l.Verdict).text("</td><td>", l.Protocols).text("</td><td>", l.Failed)
		w.text(`</td><td><a href="`, derive.RoundPath(l.Sequence)).number(`">`,
			l.Sequence).markup("</a></td></tr>\n")
	}
	w.markup("</tbody>\n</table></div>\n<p class=\"small faint\">")
	if counted != "" {
		w.text("", counted).markup(" ")
	}
	for i, part := range strings.Split(timelineWords, "`") { // every other one is a word of the JSON
		if i%2 == 0 {
			w.text("", part)
		} else {
			w.text("<code>", part).markup("</code>")
		}
	}
	w.markup("</p>\n")
}

// rounds says how many rounds the table shows.
func (v *HostView) rounds() string {
	if len(v.Less.Brief) > 0 {
		return "The newest " + strconv.Itoa(len(v.Timeline)) + " of " + strconv.Itoa(v.All) +
			" rounds; the JSON has all of them"
	}
	if v.Shown == v.All {
		return "All " + strconv.Itoa(v.All) + " rounds"
	}
	return "The last " + strconv.Itoa(v.Shown) + " of " + strconv.Itoa(v.All) + " rounds; the JSON has all of them"
}

func (w *htmlWriter) address(v *HostView) {
	w.markup("<h2 id=\"address\">Payment address</h2>\n")
	if len(v.Address) == 0 {
		w.markup("<p>No round has observed this host, so there is none to show.</p>\n")
		return
	}
	w.facts(v.Address).text("\n<p class=\"small faint\">", v.Payment.Caveat).markup(
		" Addresses are published as digests only: SHA-256 of <code>store-pay-to/v1|network|address</code>. Whoever " +
			"holds an address can try it.</p>\n")
}

func (w *htmlWriter) cite(v *HostView) {
	w.text("<h2 id=\"cite\">To cite this</h2>\n<pre class=\"signed\" tabindex=\"0\">", v.Cite).markup("</pre>\n")
	if v.Citation.Inclusion != "" {
		w.text(`<details><summary>Proof that the row stands in the log</summary>
<pre class="signed" tabindex="0">`, v.Citation.Inclusion).markup("</pre>\n</details>\n")
	}
	if v.Less.Row != "" {
		w.text("<p>", v.Less.Row).markup("</p>\n")
		return
	}
	w.text(`<details><summary>The row, exactly as it was signed</summary>
<pre class="signed" tabindex="0">`, v.Citation.Row).markup("</pre>\n</details>\n")
}

func (w *htmlWriter) walks(v *HostView) {
	w.markup("<h2 id=\"walks\">Paid walks</h2>\n")
	if len(v.PaidWalks) == 0 {
		w.markup("<p>None is on the record.</p>\n")
		return
	}
	w.text(`<p>In each, a wallet paid the door and the settlement was verified. What the door answered is the walker's claim.</p>
`+Wide+`<table>
<caption>`, v.Less.of(walks(len(v.PaidWalks)), v.Less.Walks)).markup(`, oldest first</caption>
<thead><tr><th scope="col">When</th><th scope="col">Network</th><th scope="col" class="num">USDC</th><th scope="col">Transaction</th><th scope="col">The walker's claim</th></tr></thead>
<tbody>
`)
	for i := range v.PaidWalks {
		p := &v.PaidWalks[i]
		w.text(`<tr><th scope="row" class="n">`, p.At).markup(`</th><td class="n">`).narrow(p.Network)
		w.text(`</td><td class="num">`, p.USDC).text(`</td><td><code class="digest" title="`, p.Transaction).text(`">`,
			Short(p.Transaction))
		w.text("</code></td><td>", claim(p)).markup("</td></tr>\n")
	}
	w.markup("</tbody>\n</table></div>\n")
}

func walks(n int) string {
	if n == 1 {
		return "1 walk"
	}
	return strconv.Itoa(n) + " walks"
}

// claim says what the walker said of the answer.
func claim(p *derive.Walked) string {
	c := p.Claim
	if c == nil {
		return "none"
	}
	return "status " + decimal(c.Status) + ", " + decimal(c.Bytes) + " bytes, " + decimal(c.LatencyMS) + " ms"
}

func (w *htmlWriter) refreshes(v *HostView) {
	if len(v.Refreshes) == 0 {
		return
	}
	w.text(`<h2 id="refreshes">Paid refreshes</h2>
`+Wide+`<table>
<caption>`, v.Less.of("Walks between rounds that a buyer paid for", v.Less.Refreshes)).markup(`, oldest first</caption>
<thead><tr><th scope="col">When</th><th scope="col">Verdict</th><th scope="col">Failed checks</th><th scope="col" class="num">Observation</th></tr></thead>
<tbody>
`)
	for i := range v.Refreshes {
		r := &v.Refreshes[i]
		w.text(`<tr><th scope="row" class="n">`, r.At).text(`</th><td class="n">`,
			r.Verdict).text(`</td><td class="mono">`, listed(r.Failed))
		w.number(`</td><td class="num">`, r.Observation).markup("</td></tr>\n")
	}
	w.markup("</tbody>\n</table></div>\n")
}

// listed is a list of names, or a dash for none.
func listed(names []string) string {
	if all := strings.Join(names, ", "); all != "" {
		return all
	}
	return "–"
}

func (w *htmlWriter) declaration(v *HostView) {
	w.markup("<h2 id=\"declaration\">The seller's declaration</h2>\n")
	if len(v.Declared) > 0 {
		w.facts(v.Declared).markup("\n")
		return
	}
	w.text("<p><code>", v.Declaration.Value).markup("</code>: the host has not declared its doors.</p>\n")
}

func (w *htmlWriter) note(v *HostView) {
	w.markup("<h2 id=\"note\">Standing note</h2>\n")
	n := v.Note
	switch {
	case n == nil && len(v.Earlier) == 0 && v.LeftOut == 0:
		w.markup("<p>The host has left none.</p>\n")
		return
	case n == nil:
		w.markup("<p>None stands.</p>\n")
	default:
		w.text("<blockquote><p>", n.Statement)
		w.text("</p></blockquote>\n<p class=\"small faint\">The host's own words, ",
			n.At).text(", shown by control of the ", n.Lane)
		w.text(` <span class="mono whole">`, n.By).number(`</span>. Observation `,
			n.Observation).markup(". They stand beside the observations and change none.</p>\n")
	}
	w.earlier(v)
}

// earlier are the notes that stood before.
func (w *htmlWriter) earlier(v *HostView) {
	if len(v.Earlier) == 0 && v.LeftOut == 0 {
		return
	}
	w.markup("<details><summary>Earlier notes</summary>\n<ul>\n")
	for i := range v.Earlier {
		n := &v.Earlier[i]
		w.text("<li>", n.At).number(", observation ", n.Observation)
		if n.Statement == "" {
			w.markup(": the text was withdrawn.</li>\n")
			continue
		}
		w.text(": <q>", n.Statement).markup("</q></li>\n")
	}
	w.markup("</ul>\n")
	if v.LeftOut > 0 {
		w.number("<p>Older ones, in the record: ", v.LeftOut).markup(".</p>\n")
	}
	w.markup("</details>\n")
}

func (w *htmlWriter) unseen(v *HostView) {
	w.markup("<h2 id=\"unseen\">What the record cannot see</h2>\n<ul>\n")
	for _, s := range v.Cannot {
		w.text("<li>", s).markup("</li>\n")
	}
	w.text("</ul>\n<p class=\"small faint\">", v.Signed).markup(" A badge with the tier and its age: ").ours(v.Badge)
	if v.DoorBadge != "" {
		w.markup("; one with the last reading of the door and its age: ").ours(v.DoorBadge)
	}
	w.markup("</p>\n")
}

// ours writes an address that begins with the store's own, and that is copied as much as followed.
func (w *htmlWriter) ours(to string) {
	w.text(`<a class="mono whole" href="`, to).text(`">`, to).markup("</a>")
}

// A row of the drawing of weeks holds a quarter of a year.
const (
	weeksARow = 13
	weekSide  = 22
	weekStep  = 27
)

// weeks draws one square a week, oldest first. Every square says its week and word; the shapes
// differ as the colours do. The legend counts the marks, each as it is drawn.
func (w *htmlWriter) weeks(host string, marks []WeekMark, legend string) {
	rows := (len(marks) + weeksARow - 1) / weeksARow
	height := int64(rows*(weekSide+18) + 2)
	w.markup("<figure>").number(`<svg class="chart weeks" role="img" viewBox="0 0 352 `, height).number(`" width="352" height="`, height)
	w.text(`"><title>`, host).text(", ", marks[0].Week).text(" to ",
		marks[len(marks)-1].Week).text(", one square a week: ", legend).markup("</title>")
	for i, m := range marks {
		x, y := int64(1+i%weeksARow*weekStep), int64(1+i/weeksARow*(weekSide+18))
		w.text(`<g class="`, m.Class).markup(`">`)
		if m.Word != "" {
			w.text(`<title>`, m.Week).text(": ", m.Word).markup("</title>")
		}
		w.week(m.Mark, x, y)
		w.markup("</g>")
		if i%weeksARow == 0 || i == len(marks)-1 && i%weeksARow > 1 {
			w.number(`<text x="`, x).number(`" y="`, y+weekSide+12).text(`">`, m.Week[len("2026-"):]).markup("</text>")
		}
	}
	w.markup("</svg>\n<figcaption class=\"small faint\">")
	next := literal("")
	for kind, n := range counted(marks) {
		w.markup(next).text(`<svg class="chart" viewBox="0 0 24 24" aria-hidden="true"><g class="`,
			kind.Class).markup(`">`)
		w.week(kind.Mark, 1, 1)
		w.text("</g></svg> ", kind.Word).number(": ", n)
		next = ", "
	}
	w.markup(". The newest stands last.</figcaption></figure>\n")
}

// week draws a mark as a square whose upper left corner is at x and y, or as a dot in its middle.
func (w *htmlWriter) week(mark string, x, y int64) {
	cx, cy := x+weekSide/2, y+weekSide/2
	stroke := func(open literal, x, y int64, path literal) { w.number(open, x).number(" ", y).markup(path) }
	const side = `h22v22h-22z"/>`
	switch mark {
	case "■":
		stroke(`<path class="full" d="M`, x, y, side)
		stroke(`<path class="cut" d="M`, cx-5, cy+1, `l4 4 7-8"/>`)
	case "×":
		stroke(`<path class="line" d="M`, x, y, `h22v22h-22z`)
		stroke(`M`, cx-4, cy-4, `l8 8m0-8l-8 8"/>`)
	case "–":
		stroke(`<path class="line" d="M`, x, y, `h22v22h-22z`)
		stroke(`M`, cx-5, cy, `h10"/>`)
	case "○":
		stroke(`<path class="dash" d="M`, x, y, side)
	default:
		w.number(`<circle class="full" cx="`, cx).number(`" cy="`, cy).markup(`" r="1.5"/>`)
	}
}
