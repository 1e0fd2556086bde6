package templates

import (
	"encoding/hex"
	"slices"
	"strconv"

	"agentstore/corpus/attest"
	"agentstore/corpus/derive"
	"agentstore/corpus/record"
)

// hostDocument is document of a host, written member by member: reflection took most of the time of a page. What the
// writer does not know how to spell, it leaves to the library, and so are the library's errors.
func hostDocument(room *HostRoom, h *derive.Host) ([]byte, error) {
	w := jsonWriter{b: slices.Grow(room.json[:0], hostDocumentSize(h))}
	w.host(room, h)
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

func (w *jsonWriter) host(room *HostRoom, h *derive.Host) {
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
	var before seenWeek
	for i := range h.Timeline {
		w.week(room.head(i), &h.Timeline[i], &before)
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

// weekHead is how a week's object begins. What stands there is of the round, and the same for all hosts.
type weekHead struct {
	sequence             int64
	week, takenAt, entry string
	digest               attest.Digest
	text                 []byte // of these, empty for none
}

// head is the one that a week at a place in the timeline had last.
func (m *HostRoom) head(i int) *weekHead {
	if i >= len(m.heads) {
		m.heads = append(m.heads, make([]weekHead, i+1-len(m.heads))...)
	}
	return &m.heads[i]
}

func (w *jsonWriter) weekHead(last *weekHead, h *derive.HostWeek) {
	if len(last.text) > 0 && last.sequence == h.Sequence && last.week == h.Week && last.takenAt == h.TakenAt && last.entry == h.EntryURL && last.digest == h.Digest {
		w.b = append(w.b, last.text...)
		return
	}
	from := len(w.b)
	w.number("sequence", h.Sequence)
	w.text("week", h.Week)
	w.text("taken_at", h.TakenAt)
	w.digest("digest", h.Digest)
	w.text("entry_url", h.EntryURL)
	*last = weekHead{h.Sequence, h.Week, h.TakenAt, h.EntryURL, h.Digest, append(last.text[:0], w.b[from:]...)}
	if w.odd {
		last.text = last.text[:0]
	}
}

// What stands before a member of a week or its offer, but for the first one: a host has more of these than of all others,
// so that they are not put together from their depth.
const (
	inWeek  = ",\n      \""
	inOffer = ",\n        \""
)

// seenWeek is the week that was written before, and where what was seen in it stands in the text.
type seenWeek struct {
	week     *derive.HostWeek
	from, to int
}

// alike reports whether two weeks of a host say the same but for their ends. Lists and offers are told apart by where they
// stand: rows that are alike share them.
func alike(a, b *derive.HostWeek) bool {
	return a.Listed == b.Listed && a.Probed == b.Probed && a.Gap == b.Gap && a.Suspect == b.Suspect && a.URL == b.URL && a.Verdict == b.Verdict && a.Level == b.Level &&
		sameList(a.Failed, b.Failed) && sameList(a.Advisories, b.Advisories) && sameList(a.Protocols, b.Protocols) && a.Offer == b.Offer &&
		a.Source == b.Source && a.Catalog == b.Catalog && a.Battery == b.Battery && a.Fault == b.Fault
}

func sameList(a, b []string) bool {
	return len(a) == len(b) && (a == nil) == (b == nil) && (len(a) == 0 || &a[0] == &b[0])
}

func (w *jsonWriter) week(last *weekHead, h *derive.HostWeek, before *seenWeek) {
	w.element('{')
	w.weekHead(last, h)
	from := len(w.b)
	if before.week != nil && alike(before.week, h) {
		w.b = append(w.b, w.b[before.from:before.to]...)
	} else {
		w.seen(h)
	}
	*before = seenWeek{h, from, len(w.b)}
	w.someTextBehind(inWeek+`observed_at": `, h.ObservedAt)
	w.someTextBehind(inWeek+`evidence_digest": `, h.Evidence)
	if h.Leaf != nil {
		w.b = strconv.AppendInt(append(w.b, inWeek+`leaf": `...), *h.Leaf, 10)
	}
	if h.RowSHA256 != (attest.Digest{}) {
		w.b = append(hex.AppendEncode(append(w.b, inWeek+`row_sha256": "`...), h.RowSHA256[:]), '"')
	}
	w.close('}')
}

// seen writes what was seen in a week.
func (w *jsonWriter) seen(h *derive.HostWeek) {
	w.b = strconv.AppendBool(append(w.b, inWeek+`listed": `...), h.Listed)
	w.textBehind(inWeek+`probed": `, h.Probed)
	w.someTextBehind(inWeek+`gap": `, h.Gap)
	w.b = strconv.AppendBool(append(w.b, inWeek+`coverage_suspect": `...), h.Suspect)
	w.someTextBehind(inWeek+`url": `, h.URL)
	w.someTextBehind(inWeek+`verdict": `, h.Verdict)
	w.someTextBehind(inWeek+`reached_level": `, h.Level)
	w.textsBehind(inWeek+`failed": `, h.Failed)
	w.textsBehind(inWeek+`advisories": `, h.Advisories)
	if h.Protocols != nil {
		w.textsBehind(inWeek+`protocols": `, h.Protocols)
	}
	if h.Offer != nil {
		w.offer(h.Offer)
	}
	w.someTextBehind(inWeek+`source": `, h.Source)
	w.someTextBehind(inWeek+`catalog": `, h.Catalog)
	w.someTextBehind(inWeek+`battery": `, h.Battery)
	w.someTextBehind(inWeek+`fault": `, h.Fault)
}

// offer is a member of a week.
func (w *jsonWriter) offer(o *record.RowOffer) {
	w.b = append(w.b, inWeek+`offer": {`...)
	w.depth++
	w.textsBehind(inOffer[1:]+`networks": `, o.Networks)
	w.someNumberBehind(inOffer+`networks_left_out": `, o.NetworksLeftOut)
	w.textsBehind(inOffer+`schemes": `, o.Schemes)
	w.someTextBehind(inOffer+`min_usdc": `, o.MinUSDC)
	w.someTextBehind(inOffer+`max_usdc": `, o.MaxUSDC)
	w.b = append(w.b, inOffer+`pay_to": [`...)
	w.depth++
	for _, p := range o.PayTo {
		w.element('{')
		w.text("network", p.Network)
		w.text("digest", p.Digest)
		w.close('}')
	}
	w.close(']')
	w.someNumberBehind(inOffer+`pay_to_left_out": `, o.PayToLeftOut)
	w.someTextBehind(inOffer+`not_captured_reason": `, o.NotCapturedReason)
	w.close('}')
}

// textBehind is a text behind a name that is written out, with what stands before it.
func (w *jsonWriter) textBehind(name, s string) {
	w.b = append(w.b, name...)
	w.quoted(s)
}

func (w *jsonWriter) someTextBehind(name, s string) {
	if s != "" {
		w.textBehind(name, s)
	}
}

func (w *jsonWriter) someNumberBehind(name string, n int64) {
	if n != 0 {
		w.b = strconv.AppendInt(append(w.b, name...), n, 10)
	}
}

func (w *jsonWriter) textsBehind(name string, list []string) {
	w.b = append(append(w.b, name...), '[')
	w.depth++
	for _, s := range list {
		w.line()
		w.quoted(s)
	}
	w.close(']')
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
