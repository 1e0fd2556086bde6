package templates

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"store.example/agentstore/corpus/derive"
)

// HostYear is the page of a host's rounds of one year, which its own page no longer shows.
type HostYear struct {
	Chrome        *Chrome
	Page          Page
	Host, Year    string
	Weeks         []WeekMark // oldest first
	Marks, Legend string
	Timeline      []TimelineLine // newest first
	Counted       string         // as in Less
}

// NewHostYear makes the page from the host's weeks of the year, oldest first. There is one at
// least. It depends on nothing but its arguments, as NewHostView does.
func NewHostYear(chrome *Chrome, host, year string, weeks []derive.HostWeek) HostYear {
	path := derive.HostYearPath(year, host)
	v := HostYear{Chrome: chrome, Host: host, Year: year, Page: Page{
		Title: host + " in " + year, Path: path, Twin: path + "/index.md", Made: made(weeks), NoIndex: true,
		Summary: rounds(len(weeks)) + " of one year of the record.",
	}}
	var marks []byte
	for i := range weeks {
		m := markWeek(&weeks[i])
		v.Weeks, marks = append(v.Weeks, m), append(marks, m.Mark...)
		v.Timeline = append(v.Timeline, timelineLine(&weeks[i], m.Class))
	}
	slices.Reverse(v.Timeline)
	v.Marks, v.Legend = string(marks), legend(v.Weeks)
	v.fit(weeks)
	return v
}

// made is the digest of the rows and rounds that the weeks were made from.
func made(weeks []derive.HostWeek) string {
	h := sha256.New()
	for i := range weeks {
		h.Write(weeks[i].Digest[:])
		h.Write(weeks[i].RowSHA256[:])
		if c := weeks[i].Corrected; c != nil {
			fmt.Fprintf(h, "erratum %d", c.Observation)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// rounds is a number of rounds in words.
func rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return strconv.Itoa(n) + " rounds"
}

// RenderHostYear returns the page in HTML.
func RenderHostYear(v HostYear) ([]byte, error) {
	b := new(bytes.Buffer)
	err := htmlPages.ExecuteTemplate(b, "top", v)
	if err == nil {
		w := htmlWriter{b.Bytes()}
		w.markup("<h1>").narrow(v.Page.Title).text("</h1>\n<p class=\"lede\">", v.Page.Summary)
		w.text(" <a href=\"", derive.HostPath(v.Host)).markup(
			"\">The host's page</a> has its newest rounds and its tier.</p>\n")
		w.weeks(v.Host, v.Weeks, v.Legend)
		w.lines(rounds(len(v.Timeline))+" of "+v.Year, v.Timeline, v.Counted)
		b = bytes.NewBuffer(w.b)
		err = htmlPages.ExecuteTemplate(b, "bottom", v)
	}
	if err != nil {
		return nil, fmt.Errorf("rendering the page of %s: %w", v.Page.Title, err)
	}
	return b.Bytes(), nil
}

// RenderHostYearMarkdown returns the twin of the page.
func RenderHostYearMarkdown(v HostYear) []byte {
	b := add(nil, "# ", v.Page.Title, "\n\n", v.Page.Summary, " [The host's page](", derive.HostPath(v.Host),
		"/index.md) has its newest rounds and its tier.\n\n`", v.Marks, "`\n\n", v.Legend,
		". The newest stands last.\n\n")
	return tidy(appendLines(b, rounds(len(v.Timeline))+" of "+v.Year, v.Timeline, v.Counted))
}
