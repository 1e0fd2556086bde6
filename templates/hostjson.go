package templates

import (
	"encoding/hex"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"agentstore/corpus/attest"
	"agentstore/corpus/derive"
	"agentstore/corpus/record"
)

// hostDocument is document of a host, written member by member: for one with twelve weeks the library takes about five times
// as long, 0.14 ms where nothing else runs. What the writer does not know how to spell, it leaves to the library, and so
// are the library's errors.
func hostDocument(room *HostRoom, h *derive.Host) ([]byte, error) {
	w := jsonWriter{b: slices.Grow(room.json[:0], hostDocumentSize(h))}
	w.host(h)
	room.json = w.b
	if w.odd {
		return document(*h) // a copy, so that h itself need not be on the heap
	}
	return w.b, nil
}

// hostDocumentSize is about how long the document is.
func hostDocumentSize(h *derive.Host) int {
	size := 4<<10 + len(h.Citation.Inclusion) + len(h.Citation.Row)*5/4
	for i := range h.Timeline {
		if size += 512; h.Timeline[i].URL != "" {
			size += 768
		}
	}
	return size + 512*len(h.PaidWalks) + 384*len(h.Refreshes)
}

func (w *jsonWriter) host(h *derive.Host) {
	w.open('{')
	w.text("format", h.Format)
	w.text("host", h.Host)
	w.text("url", h.URL)
	w.text("signed", h.Signed)
	w.text("listing", h.Listing)
	w.number("rounds_in_chain", h.RoundsInChain)
	w.number("rounds_since_first_sighting", h.Rounds)
	w.number("rounds_probed", h.RoundsProbed)
	w.number("rounds_gapped", h.RoundsMissed)
	w.number("observation_coverage_pct", h.Coverage)
	w.someText("first_observed", h.FirstObserved)
	w.someText("last_observed", h.LastObserved)
	w.counts("gaps_by_reason", h.Gaps)
	w.tier("tier", &h.Tier)
	w.list("verdict_changes")
	for i := range h.Changes {
		w.change(&h.Changes[i])
	}
	w.close(']')
	w.list("timeline")
	for i := range h.Timeline {
		w.week(&h.Timeline[i])
	}
	w.close(']')
	w.payment("payment_address", h.Payment)
	w.citation("citation", &h.Citation)
	w.list("paid_walks")
	for i := range h.PaidWalks {
		w.walk(&h.PaidWalks[i])
	}
	w.close(']')
	w.list("paid_refreshes")
	for i := range h.Refreshes {
		w.refresh(&h.Refreshes[i])
	}
	w.close(']')
	w.declared("declaration", &h.Declaration)
	w.note("standing_note", h.Note)
	w.texts("what_this_cannot_see", h.Cannot)
	w.close('}')
	w.b = append(w.b, '\n')
}

// counts is an object whose members are sorted. Names that stand twice are an error, and the library's.
func (w *jsonWriter) counts(name string, counts derive.Counts) {
	w.object(name)
	for i, c := range counts {
		if i > 0 && counts[i-1].Name >= c.Name {
			w.odd = true
		}
		w.line()
		w.quoted(c.Name)
		w.b = strconv.AppendInt(append(w.b, ": "...), c.Count, 10)
	}
	w.close('}')
}

func (w *jsonWriter) tier(name string, t *derive.HostTier) {
	w.object(name)
	w.text("tier", t.Tier)
	w.text("line", t.Line)
	w.object("fraction")
	w.number("ready", t.Fraction.Ready)
	w.number("rounds", t.Fraction.Rounds)
	w.someText("first_week", t.Fraction.FirstWeek)
	w.someText("last_week", t.Fraction.LastWeek)
	w.close('}')
	w.text("rule", t.Rule)
	if l := t.Latest; l == nil {
		w.null("latest")
	} else {
		w.latest("latest", l)
	}
	w.truth("coverage_suspect", t.CoverageSuspect)
	w.object("window")
	w.number("rounds", t.Window.Rounds)
	w.number("established_needs", t.Window.EstablishedNeeds)
	w.number("standing_needs", t.Window.StandingNeeds)
	w.close('}')
	w.text("criteria_url", t.CriteriaURL)
	w.close('}')
}

func (w *jsonWriter) latest(name string, l *derive.Latest) {
	w.object(name)
	w.text("verdict", l.Verdict)
	w.text("observed_at", l.ObservedAt)
	w.text("source", l.Source)
	w.someNumber("sequence", l.Sequence)
	w.someNumber("observation", l.Number)
	w.close('}')
}

func (w *jsonWriter) change(c *derive.Change) {
	w.element('{')
	w.number("sequence", c.Sequence)
	w.text("week", c.Week)
	w.text("from", c.From)
	w.text("to", c.To)
	if c.Battery {
		w.truth("battery_changed", true)
	}
	w.close('}')
}

func (w *jsonWriter) week(h *derive.HostWeek) {
	w.element('{')
	w.number("sequence", h.Sequence)
	w.text("week", h.Week)
	w.text("taken_at", h.TakenAt)
	w.digest("digest", h.Digest)
	w.text("entry_url", h.EntryURL)
	w.truth("listed", h.Listed)
	w.text("probed", h.Probed)
	w.someText("gap", h.Gap)
	w.truth("coverage_suspect", h.Suspect)
	w.someText("url", h.URL)
	w.someText("verdict", h.Verdict)
	w.someText("reached_level", h.Level)
	w.texts("failed", h.Failed)
	w.texts("advisories", h.Advisories)
	if h.Protocols != nil {
		w.texts("protocols", h.Protocols)
	}
	if h.Offer != nil {
		w.offer("offer", h.Offer)
	}
	w.someText("source", h.Source)
	w.someText("catalog", h.Catalog)
	w.someText("battery", h.Battery)
	w.someText("fault", h.Fault)
	w.someText("observed_at", h.ObservedAt)
	w.someText("evidence_digest", h.Evidence)
	if h.Leaf != nil {
		w.number("leaf", *h.Leaf)
	}
	if h.RowSHA256 != (attest.Digest{}) {
		w.digest("row_sha256", h.RowSHA256)
	}
	w.close('}')
}

func (w *jsonWriter) offer(name string, o *record.RowOffer) {
	w.object(name)
	w.texts("networks", o.Networks)
	w.someNumber("networks_left_out", o.NetworksLeftOut)
	w.texts("schemes", o.Schemes)
	w.someText("min_usdc", o.MinUSDC)
	w.someText("max_usdc", o.MaxUSDC)
	w.list("pay_to")
	for _, p := range o.PayTo {
		w.element('{')
		w.text("network", p.Network)
		w.text("digest", p.Digest)
		w.close('}')
	}
	w.close(']')
	w.someNumber("pay_to_left_out", o.PayToLeftOut)
	w.someText("not_captured_reason", o.NotCapturedReason)
	w.close('}')
}

func (w *jsonWriter) payment(name string, p *derive.Payment) {
	if p == nil {
		w.null(name)
		return
	}
	w.object(name)
	w.text("week", p.Week)
	w.number("sequence", p.Sequence)
	w.someText("digest", p.Digest)
	w.truth("captured", p.Captured)
	w.someText("not_captured_reason", p.WhyNot)
	if p.Others != nil {
		w.number("also_receives_at_other_doors", *p.Others)
	}
	w.list("addresses")
	for _, a := range p.Addresses {
		w.element('{')
		w.text("network", a.Network)
		w.text("digest", a.Digest)
		w.number("also_receives_at_other_doors", a.Others)
		w.close('}')
	}
	w.close(']')
	w.someNumber("addresses_left_out", p.LeftOut)
	w.text("shared_wallet_caveat", p.Caveat)
	w.close('}')
}

func (w *jsonWriter) citation(name string, c *derive.Citation) {
	w.object(name)
	w.text("cites", c.Cites)
	w.text("host", c.Host)
	w.text("week", c.Week)
	w.number("sequence", c.Sequence)
	w.someText("observed_at", c.ObservedAt)
	w.digest("digest", c.Digest)
	w.digest("row_sha256", c.RowSHA256)
	w.number("leaf", c.Leaf)
	w.text("rows", c.Rows)
	w.text("index", c.Index)
	w.text("license", c.License)
	w.text("how", c.How)
	w.someText("inclusion_proof", c.Inclusion)
	w.text("row", c.Row)
	w.close('}')
}

func (w *jsonWriter) walk(p *derive.Walked) {
	w.element('{')
	w.number("observation", p.Observation)
	w.text("at", p.At)
	w.text("host", p.Host)
	w.text("url", p.URL)
	w.text("network", p.Network)
	w.text("transaction", p.Transaction)
	w.text("usdc", p.USDC)
	if c := p.Claim; c != nil {
		w.object("claim")
		w.number("status", c.Status)
		w.text("body_sha256", c.BodySHA256)
		w.number("bytes", c.Bytes)
		w.number("latency_ms", c.LatencyMS)
		w.text("content_type", c.ContentType)
		w.close('}')
	}
	w.close('}')
}

func (w *jsonWriter) refresh(r *derive.Refreshed) {
	w.element('{')
	w.number("observation", r.Observation)
	w.text("at", r.At)
	w.text("host", r.Host)
	w.text("url", r.URL)
	w.text("verdict", r.Verdict)
	w.text("reached_level", r.ReachedLevel)
	w.texts("failed", r.Failed)
	w.text("battery", r.Battery)
	w.text("fault", r.Fault)
	w.text("evidence_digest", r.EvidenceDigest)
	w.close('}')
}

func (w *jsonWriter) declared(name string, d *derive.Declared) {
	w.object(name)
	w.text("value", d.Value)
	w.someNumber("observation", d.Observation)
	w.someText("at", d.At)
	w.someText("shape", d.Shape)
	w.texts("doors", d.Doors)
	w.someNumber("foreign", d.Foreign)
	w.close('}')
}

func (w *jsonWriter) note(name string, n *derive.NoteHeld) {
	if n == nil {
		w.null(name)
		return
	}
	w.object(name)
	w.number("observation", n.Observation)
	w.text("statement", n.Statement)
	w.text("lane", n.Lane)
	w.text("by", n.By)
	w.text("at", n.At)
	w.close('}')
}

// jsonWriter appends JSON, one member a line, two spaces for each object or list around it. Where it appends most, it does
// so in statements of the form w.b = append(w.b, …), for which the compiler writes the pointer of w.b only when it changes.
type jsonWriter struct {
	b     []byte
	depth int
	odd   bool // something cannot be spelled here: the text is of no use
}

// open begins an object or a list, where a value may stand.
func (w *jsonWriter) open(bracket byte) {
	w.b = append(w.b, bracket)
	w.depth++
}

// close ends what was opened, on a line of its own unless it is empty.
func (w *jsonWriter) close(bracket byte) {
	w.depth--
	if !w.empty() {
		w.b = append(w.b, nextLine[1:2+2*w.depth]...)
	}
	w.b = append(w.b, bracket)
}

// empty reports whether nothing stands yet in what was opened last: no value ends in an opening bracket.
func (w *jsonWriter) empty() bool {
	last := w.b[len(w.b)-1]
	return last == '{' || last == '['
}

// line begins the line of a member or an element.
func (w *jsonWriter) line() {
	from := 0
	if w.empty() {
		from = 1
	}
	w.b = append(w.b, nextLine[from:2+2*w.depth]...)
}

// nextLine ends a line that another follows and indents that, eight levels deep, of which a host has five.
const nextLine = ",\n                "

// name begins a member, whose name needs no escape.
func (w *jsonWriter) name(name string) {
	w.line()
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, "\": "...)
}

func (w *jsonWriter) object(name string) {
	w.name(name)
	w.open('{')
}

func (w *jsonWriter) list(name string) {
	w.name(name)
	w.open('[')
}

func (w *jsonWriter) element(bracket byte) {
	w.line()
	w.open(bracket)
}

func (w *jsonWriter) null(name string) {
	w.name(name)
	w.b = append(w.b, "null"...)
}

func (w *jsonWriter) truth(name string, v bool) {
	w.name(name)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *jsonWriter) number(name string, n int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// someNumber is a number that is left out when it is zero.
func (w *jsonWriter) someNumber(name string, n int64) {
	if n != 0 {
		w.number(name, n)
	}
}

func (w *jsonWriter) digest(name string, d attest.Digest) {
	w.name(name)
	w.b = append(hex.AppendEncode(append(w.b, '"'), d[:]), '"')
}

func (w *jsonWriter) text(name, s string) {
	w.name(name)
	w.quoted(s)
}

// someText is a text that is left out when it is empty.
func (w *jsonWriter) someText(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

func (w *jsonWriter) texts(name string, list []string) {
	w.list(name)
	for _, s := range list {
		w.line()
		w.quoted(s)
	}
	w.close(']')
}

// quoted appends a text as a value.
func (w *jsonWriter) quoted(s string) {
	if !isPlainJSON(s) {
		var err error
		if w.b, err = jsontext.AppendQuote(w.b, s); err != nil {
			w.odd = true
		}
		return
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, s...)
	w.b = append(w.b, '"')
}

// isPlainJSON reports whether a text stands for itself between its quotes.
func isPlainJSON(s string) bool {
	all := byte(0)
	for i := range len(s) {
		if !plainJSON[s[i]] {
			return false
		}
		all |= s[i]
	}
	return all < utf8.RuneSelf || utf8.ValidString(s)
}

// plainJSON are the bytes that stand for themselves in a text, if that is UTF-8.
var plainJSON = func() (plain [256]bool) {
	for c := ' '; c <= 0xff; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()
