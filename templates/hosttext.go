package templates

import (
	"slices"
	"strconv"

	"store.example/agentstore/corpus/derive"
)

// RenderHostMarkdown returns the twin of the page.
func RenderHostMarkdown(v HostView) ([]byte, error) { return AppendHostMarkdown(nil, &v) }

// AppendHostMarkdown appends the twin of the page to dst. Its error is always nil, as a writer of
// any form has one.
func AppendHostMarkdown(dst []byte, v *HostView) ([]byte, error) {
	b := slices.Grow(dst, hostTextSize(v))
	b = add(b, "# ", v.Page.Title, "\n\n", v.Page.Summary, "\n\n")
	b = hostTextWeeks(b, v)
	b = hostTextTier(b, v)
	b = hostTextGaps(b, v)
	b = hostTextTimeline(b, v)
	b = hostTextCorrections(b, v)
	b = hostTextAddress(b, v)
	b = hostTextCite(b, v)
	b = hostTextWalks(b, v)
	b = hostTextRefreshes(b, v)
	b = hostTextDeclaration(b, v)
	b = hostTextNote(b, v)
	b = hostTextUnseen(b, v)
	return append(b[:len(dst)], tidy(b[len(dst):])...), nil
}

// hostTextSize is about how long the twin is.
func hostTextSize(v *HostView) int {
	c := &v.Citation
	size := 3<<10 + len(v.Cite) + len(c.Inclusion) + len(c.Row)
	for i := range v.Timeline {
		size += 128 + len(v.Timeline[i].Failed)
	}
	return size + 256*len(v.PaidWalks) + 128*len(v.Refreshes)
}

func hostTextWeeks(b []byte, v *HostView) []byte {
	if v.Marks == "" {
		return b
	}
	return add(b, "`", v.Marks, "`\n\n", v.Legend, ". The newest stands last.\n")
}

func hostTextTier(b []byte, v *HostView) []byte {
	b = append(b, "\n## Tier and coverage\n\n"...)
	b = appendFactsText(b, v.Standing)
	return append(b, "\nThe rules stand at [Criteria](/criteria.md). A missed week is a fact about the store and not "+
		"about the door.\n"...)
}

func hostTextGaps(b []byte, v *HostView) []byte {
	b = append(b, "\n## Gaps by reason\n\n"...)
	for i := range v.Reasons {
		b = add(b, "- `", v.Reasons[i].Name, "`: ", v.Reasons[i].Value, "\n")
	}
	if len(v.Reasons) == 0 {
		b = append(b, "None: every round of the record observed this host.\n"...)
	}
	return b
}

func hostTextTimeline(b []byte, v *HostView) []byte {
	b = appendLines(append(b, "\n## Timeline\n\n"...), v.rounds(), v.Timeline, v.Less.Counted)
	for i := range v.Less.Brief {
		l := &v.Less.Brief[i]
		sep := ", "
		if i == 0 {
			sep = "\nThe rounds before those of the table: "
		}
		b = add(b, sep, "[", l.Week, "](", derive.RoundPath(l.Sequence), ") ", l.short())
	}
	if len(v.Less.Brief) > 0 {
		b = append(b, '\n')
	}
	for i, year := range v.Older {
		sep := ", "
		if i == 0 {
			sep = "\nEarlier rounds, by year: "
		}
		b = add(b, sep, "[", year, "](", derive.HostYearPath(year, v.Host.Host), "/index.md)")
	}
	if len(v.Older) > 0 {
		b = append(b, '\n')
	}
	if v.Page.Feed != "" {
		b = add(b, "\nChanges as an Atom feed: ", code(v.Chrome.BaseURL+v.Page.Feed), "\n")
	}
	return b
}

// appendLines is the table of a timeline, and what its words mean.
func appendLines(b []byte, caption string, lines []TimelineLine, counted string) []byte {
	b = add(b, caption, `, newest first.

| Week | Listed | Probed | x402 verdict | Protocols observed | Failed checks | Entry |
| --- | --- | --- | --- | --- | --- | --- |
`)
	b = append(appendTimelineText(b, lines), '\n')
	if counted != "" {
		b = add(b, counted, " ")
	}
	return add(b, timelineWords, "\n")
}

func hostTextCorrections(b []byte, v *HostView) []byte {
	if len(v.Corrections) == 0 {
		return b
	}
	b = add(b, "\n## Corrections\n\n", correctionsSay, "\n\n")
	return appendFactsText(b, v.Corrections)
}

func hostTextAddress(b []byte, v *HostView) []byte {
	b = append(b, "\n## Payment address\n\n"...)
	if len(v.Address) == 0 {
		return append(b, "No round has observed this host, so there is none to show.\n"...)
	}
	b = appendFactsText(b, v.Address)
	return add(b, "\n", v.Payment.Caveat,
		" Addresses are published as digests only: SHA-256 of `store-pay-to/v1|network|address`. Whoever holds an "+
			"address can try it.\n")
}

func hostTextCite(b []byte, v *HostView) []byte {
	b = add(b, "\n## To cite this\n\n```\n", v.Cite, "\n```\n\n")
	if v.Citation.Inclusion != "" {
		b = add(b, "Proof that the row stands in the log:\n\n```\n", v.Citation.Inclusion, "```\n\n")
	}
	if v.Less.Row != "" {
		return add(b, v.Less.Row, "\n")
	}
	return add(b, "The row, exactly as it was signed:\n\n```\n", v.Citation.Row, "\n```\n")
}

func hostTextWalks(b []byte, v *HostView) []byte {
	b = append(b, "\n## Paid walks\n\n"...)
	if len(v.PaidWalks) == 0 {
		return append(b, "None is on the record.\n"...)
	}
	b = add(b, "In each, a wallet paid the door and the settlement was verified. What the door answered is the "+
		"walker's claim.\n\n", v.Less.of(walks(len(v.PaidWalks)), v.Less.Walks), `, oldest first.

| When | Network | USDC | Transaction | The walker's claim |
| --- | --- | ---: | --- | --- |
`)
	for i := range v.PaidWalks {
		w := &v.PaidWalks[i]
		b = add(b, "| ", w.At, " | ", said(w.Network), " | ", w.USDC, " | ", cell(code(w.Transaction)), " | ")
		b = add(b, claim(w), " |\n")
	}
	return b
}

func hostTextRefreshes(b []byte, v *HostView) []byte {
	if len(v.Refreshes) == 0 {
		return b
	}
	b = add(b, "\n## Paid refreshes\n\n", v.Less.of("Walks between rounds that a buyer paid for", v.Less.Refreshes),
		`, oldest first.

| When | Verdict | Failed checks | Observation |
| --- | --- | --- | ---: |
`)
	for i := range v.Refreshes {
		r := &v.Refreshes[i]
		b = add(b, "| ", r.At, " | ", r.Verdict, " | ", cell(listed(r.Failed)), " | ")
		b = append(strconv.AppendInt(b, r.Observation, 10), " |\n"...)
	}
	return b
}

func hostTextDeclaration(b []byte, v *HostView) []byte {
	b = append(b, "\n## The seller's declaration\n\n"...)
	if len(v.Declared) == 0 {
		return add(b, "`", v.Declaration.Value, "`: the host has not declared its doors.\n")
	}
	return appendFactsText(b, v.Declared)
}

func hostTextNote(b []byte, v *HostView) []byte {
	b = append(b, "\n## Standing note\n\n"...)
	n := v.Note
	switch {
	case n == nil && len(v.Earlier) == 0 && v.LeftOut == 0:
		return append(b, "The host has left none.\n"...)
	case n == nil:
		b = append(b, "None stands.\n"...)
	default:
		b = add(b, "> ", quoted(n.Statement), "\n\nThe host's own words, ", n.At, ", shown by control of the ", n.Lane,
			" `", n.By, "`. Observation ")
		b = append(strconv.AppendInt(b, n.Observation, 10),
			". They stand beside the observations and change none.\n"...)
	}
	return hostTextEarlier(b, v)
}

// hostTextEarlier are the notes that stood before.
func hostTextEarlier(b []byte, v *HostView) []byte {
	if len(v.Earlier) == 0 && v.LeftOut == 0 {
		return b
	}
	b = append(b, "\n### Earlier notes\n\n"...)
	for i := range v.Earlier {
		n := &v.Earlier[i]
		b = add(b, "- ", n.At, ", observation ")
		b = strconv.AppendInt(b, n.Observation, 10)
		if n.Statement == "" {
			b = append(b, ": the text was withdrawn.\n"...)
			continue
		}
		b = add(b, ": ", quoted(n.Statement), "\n")
	}
	if v.LeftOut > 0 {
		b = append(strconv.AppendInt(append(b, "\nOlder ones, in the record: "...), v.LeftOut, 10), ".\n"...)
	}
	return b
}

func hostTextUnseen(b []byte, v *HostView) []byte {
	b = append(b, "\n## What the record cannot see\n\n"...)
	for _, s := range v.Cannot {
		b = add(b, "- ", s, "\n")
	}
	b = add(b, "\n", v.Signed, " A badge with the tier and its age: `", v.Badge, "`")
	if v.DoorBadge != "" {
		b = add(b, "; one with the last reading of the door and its age: `", v.DoorBadge, "`")
	}
	return append(b, '\n')
}

// appendTimelineText is the rows of the table, each on a line.
func appendTimelineText(b []byte, lines []TimelineLine) []byte {
	for i := range lines {
		l := &lines[i]
		b = add(b, "| ", l.Week, " | ", l.Listed, " | ", l.Probed, " ")
		if l.Gap != "" {
			b = add(b, "(", l.Gap, ") ")
		}
		b = add(b, "| ", l.Verdict, " | ", cell(l.Protocols), " | ", cell(l.Failed), " | [")
		b = append(strconv.AppendInt(b, l.Sequence, 10), "]("...)
		b = append(derive.AppendRoundPath(b, l.Sequence), ") |\n"...)
	}
	return b
}

// appendFactsText is a list of facts in Markdown, each on a line.
func appendFactsText(b []byte, list []Fact) []byte {
	for i := range list {
		f := &list[i]
		b = append(append(append(b, "- "...), said(f.Name)...), ": "...)
		if f.Mono {
			b = appendCode(b, f.Value)
		} else {
			b = append(b, said(f.Value)...)
		}
		b = append(b, '\n')
	}
	return b
}
