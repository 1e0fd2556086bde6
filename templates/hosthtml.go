package templates

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentstore/corpus/derive"
)

// RenderHost returns the page in HTML.
func RenderHost(v HostView) ([]byte, error) { return AppendHost(nil, &v) }

// AppendHost appends the page in HTML to dst. On an error it returns dst as it was.
func AppendHost(dst []byte, v *HostView) ([]byte, error) {
	b, err := appendTop(slices.Grow(dst, hostSize(v)), &v.Page, v.Chrome)
	if err != nil {
		return dst, fmt.Errorf("rendering the page of %s: %w", v.Page.Title, err)
	}
	b = weave(b, `<p class="mark"><span class="stamp `, v.Stamp, `">`, v.Tier.Tier, "</span></p>\n")
	b = appendTitle(b, &v.Page)
	b = hostWeeks(b, v)
	b = hostTier(b, v)
	b = hostGaps(b, v)
	b = hostTimeline(b, v)
	b = hostAddress(b, v)
	b = hostCite(b, v)
	b = hostWalks(b, v)
	b = hostRefreshes(b, v)
	b = hostDeclaration(b, v)
	b = hostNote(b, v)
	b = hostUnseen(b, v)
	if b, err = appendBottom(b, &v.Page, v.Chrome); err != nil {
		return dst, fmt.Errorf("rendering the page of %s: %w", v.Page.Title, err)
	}
	return b, nil
}

// hostSize is about how long the page is. Too little costs a copy, too much some memory.
func hostSize(v *HostView) int {
	c := &v.Citation
	size := 6<<10 + len(v.Chrome.Header) + len(v.Chrome.Footer) + len(v.Cite) + len(c.Inclusion) + len(c.Row)*5/4
	for i := range v.Timeline {
		size += 420 + len(v.Timeline[i].Failed)
	}
	return size + 384*len(v.PaidWalks) + 256*len(v.Refreshes)
}

func hostWeeks(b []byte, v *HostView) []byte {
	if len(v.Weeks) == 0 {
		return b
	}
	b = appendWeeks(append(b, "<figure>"...), v.Host.Host, v.Weeks, v.Legend)
	return weave(b, "\n<figcaption class=\"small faint\">", v.Legend, ". The newest stands last.</figcaption></figure>\n")
}

func hostTier(b []byte, v *HostView) []byte {
	b = append(b, "<h2 id=\"tier\">Tier and coverage</h2>\n"...)
	b = appendFacts(b, v.Standing)
	return append(b, `
<p class="small faint">The rules stand at <a href="/criteria">Criteria</a>. A missed week is a fact about the store and not about the door.</p>
`...)
}

func hostGaps(b []byte, v *HostView) []byte {
	b = append(b, "<h2 id=\"gaps\">Gaps by reason</h2>\n"...)
	if len(v.Reasons) > 0 {
		return appendFacts(b, v.Reasons)
	}
	return append(b, "<p>None: every round of the record observed this host.</p>\n"...)
}

func hostTimeline(b []byte, v *HostView) []byte {
	b = append(b, `<h2 id="timeline">Timeline</h2>
`+Wide+`<table class="dense">
<caption>`...)
	b = append(hostRounds(b, v), `, newest first</caption>
<thead><tr><th scope="col">Week</th><th scope="col">Listed</th><th scope="col">Probed</th><th scope="col">x402 verdict</th><th scope="col">Protocols observed</th><th scope="col">Failed checks</th><th scope="col">Entry</th></tr></thead>
<tbody>
`...)
	return add(appendTimeline(b, v.Timeline), "</tbody>\n</table></div>\n<p class=\"small faint\">", timelineMarkup, "</p>\n")
}

// hostRounds says how many rounds the table shows. It is the same in both forms.
func hostRounds(b []byte, v *HostView) []byte {
	if v.Shown == v.All {
		return append(strconv.AppendInt(append(b, "All "...), int64(v.All), 10), " rounds"...)
	}
	b = strconv.AppendInt(append(b, "The last "...), int64(v.Shown), 10)
	return append(strconv.AppendInt(append(b, " of "...), int64(v.All), 10), " rounds; the JSON has all of them"...)
}

func hostAddress(b []byte, v *HostView) []byte {
	b = append(b, "<h2 id=\"address\">Payment address</h2>\n"...)
	if len(v.Address) == 0 {
		return append(b, "<p>No round has observed this host, so there is none to show.</p>\n"...)
	}
	b = appendFacts(b, v.Address)
	return weave(b, "\n<p class=\"small faint\">", v.Payment.Caveat,
		" Addresses are published as digests only: SHA-256 of <code>store-pay-to/v1|network|address</code>. Whoever holds an address can try it.</p>\n")
}

func hostCite(b []byte, v *HostView) []byte {
	b = weave(b, "<h2 id=\"cite\">To cite this</h2>\n<pre class=\"signed\" tabindex=\"0\">", v.Cite, "</pre>\n")
	if v.Citation.Inclusion != "" {
		b = weave(b, `<details><summary>Proof that the row stands in the log</summary>
<pre class="signed" tabindex="0">`, v.Citation.Inclusion, "</pre>\n</details>\n")
	}
	return weave(b, `<details><summary>The row, exactly as it was signed</summary>
<pre class="signed" tabindex="0">`, v.Citation.Row, "</pre>\n</details>\n")
}

func hostWalks(b []byte, v *HostView) []byte {
	b = append(b, "<h2 id=\"walks\">Paid walks by strangers</h2>\n"...)
	if len(v.PaidWalks) == 0 {
		return append(b, "<p>None is on the record.</p>\n"...)
	}
	b = add(b, `<p>In each, a wallet paid the door and the settlement was verified. What the door answered is the walker's claim.</p>
`+Wide+`<table>
<caption>`, walks(len(v.PaidWalks)), `, oldest first</caption>
<thead><tr><th scope="col">When</th><th scope="col">Network</th><th scope="col" class="num">USDC</th><th scope="col">Transaction</th><th scope="col">The walker's claim</th></tr></thead>
<tbody>
`)
	for i := range v.PaidWalks {
		w := &v.PaidWalks[i]
		b = appendNarrow(weave(b, `<tr><th scope="row" class="n">`, w.At, `</th><td class="n">`), w.Network)
		b = weave(b, `</td><td class="num">`, w.USDC, `</td><td><code class="digest" title="`, w.Transaction, `">`, Short(w.Transaction), `</code></td><td>`)
		b = append(appendClaim(b, w), "</td></tr>\n"...)
	}
	return append(b, "</tbody>\n</table></div>\n"...)
}

func walks(n int) string {
	if n == 1 {
		return "1 walk"
	}
	return strconv.Itoa(n) + " walks"
}

// appendClaim says what the walker said of the answer. It is the same in both forms.
func appendClaim(b []byte, w *derive.Walked) []byte {
	c := w.Claim
	if c == nil {
		return append(b, "none"...)
	}
	b = strconv.AppendInt(append(b, "status "...), c.Status, 10)
	b = strconv.AppendInt(append(b, ", "...), c.Bytes, 10)
	b = strconv.AppendInt(append(b, " bytes, "...), c.LatencyMS, 10)
	return append(b, " ms"...)
}

func hostRefreshes(b []byte, v *HostView) []byte {
	if len(v.Refreshes) == 0 {
		return b
	}
	b = append(b, `<h2 id="refreshes">Paid refreshes</h2>
`+Wide+`<table>
<caption>Walks between rounds that a buyer paid for, oldest first</caption>
<thead><tr><th scope="col">When</th><th scope="col">Verdict</th><th scope="col">Failed checks</th><th scope="col" class="num">Observation</th></tr></thead>
<tbody>
`...)
	for i := range v.Refreshes {
		r := &v.Refreshes[i]
		b = weave(b, `<tr><th scope="row" class="n">`, r.At, `</th><td class="n">`, r.Verdict, `</td><td class="mono">`, listed(r.Failed), `</td><td class="num">`)
		b = append(strconv.AppendInt(b, r.Observation, 10), "</td></tr>\n"...)
	}
	return append(b, "</tbody>\n</table></div>\n"...)
}

// listed is a list of names, or a dash for none.
func listed(names []string) string {
	if all := strings.Join(names, ", "); all != "" {
		return all
	}
	return "–"
}

func hostDeclaration(b []byte, v *HostView) []byte {
	b = append(b, "<h2 id=\"declaration\">The seller's declaration</h2>\n"...)
	if len(v.Declared) > 0 {
		return append(appendFacts(b, v.Declared), '\n')
	}
	return weave(b, "<p><code>", v.Declaration.Value, "</code>: the host has not declared its doors.</p>\n")
}

func hostNote(b []byte, v *HostView) []byte {
	b = append(b, "<h2 id=\"note\">Standing note</h2>\n"...)
	n := v.Note
	if n == nil {
		return append(b, "<p>The host has left none.</p>\n"...)
	}
	b = weave(b, "<blockquote><p>", n.Statement, "</p></blockquote>\n<p class=\"small faint\">The host's own words, ", n.At, ", shown by control of the ", n.Lane,
		` <span class="mono whole">`, n.By, `</span>. Observation `)
	return append(strconv.AppendInt(b, n.Observation, 10), ". They stand beside the observations and change none.</p>\n"...)
}

func hostUnseen(b []byte, v *HostView) []byte {
	b = append(b, "<h2 id=\"unseen\">What the record cannot see</h2>\n<ul>\n"...)
	for _, s := range v.Cannot {
		b = weave(b, "<li>", s, "</li>\n")
	}
	b = weave(b, "</ul>\n<p class=\"small faint\">", v.Signed, ` A badge with the tier and its age: <span class="mono whole">`, v.Badge, "</span>")
	if v.DoorBadge != "" {
		b = weave(b, `; one with the last reading of the door and its age: <span class="mono whole">`, v.DoorBadge, "</span>")
	}
	return append(b, "</p>\n"...)
}
