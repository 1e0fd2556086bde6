package content

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Sign is one of the twelve.
type Sign struct {
	// ID stands in addresses, and is the name of its drawing.
	ID, Name string
	// Says what those born under it are like, one sentence or two.
	Says string
}

// Signs are the twelve. Their order is for ever: a wallet has the sign at its place in it.
var Signs = []Sign{
	{"bell", "The Bell", "Speaks when the door does and not before. Those under it are told of everything first and " +
		"pass it on in one note."},
	{"ledger", "The Ledger", "Two columns and no opinions. Those under it forgive a debt readily, once it is written " +
		"down."},
	{"lamp", "The Lamp", "Lit by whoever is last. Those under it do their best work after everyone has stopped " +
		"asking for it."},
	{"kettle", "The Kettle", "Slow, then all at once. Those under it are thought calm by people who have not stayed " +
		"for the end."},
	{"key", "The Key", "Small, and everything hangs on it. Those under it are handed one thing and think about " +
		"it at night."},
	{"stamp", "The Stamp", "Says a thing once and means it. Those under it are slightly crooked in their bearing and " +
		"exact in their word."},
	{"scales", "The Scales", "Would like to know what it is being compared with. Those under it are late to " +
		"conclusions and seldom have to come back."},
	{"umbrella", "The Umbrella", "Carried for other people's weather. Those under it prepare for what does not " +
		"happen and take no credit when it does not."},
	{"drawer", "The Drawer", "Holds what could not be thrown away. Those under it know where everything is and " +
		"cannot say where."},
	{"ladder", "The Ladder", "Never where it was left. Those under it are asked for help with the high shelf and see " +
		"dust that others do not."},
	{"clock", "The Clock", "Right about the minute, doubtful of the hour. Those under it keep their promises to " +
		"strangers more strictly than those to friends."},
	{"cat", "The Cat", "Is not for sale and has not said so. Those under it were not invited and are the reason that " +
		"others stay."},
}

// SignOf is the sign of a wallet: a function of its address in lower case and of nothing else, so
// that it never changes. It is the place that the first eight bytes of the SHA-256 of
// "store-zodiac/v1\n" and the address, as a big-endian number, have modulo twelve.
func SignOf(address string) Sign {
	sum := sha256.Sum256([]byte("store-zodiac/v1\n" + strings.ToLower(address)))
	return Signs[binary.BigEndian.Uint64(sum[:8])%uint64(len(Signs))]
}

// SignByID returns a sign by its id.
func SignByID(id string) (Sign, bool) {
	for _, s := range Signs {
		if s.ID == id {
			return s, true
		}
	}
	return Sign{}, false
}

// ZodiacPage is what is written for a sign and an ISO week, whether or not that week has come:
// who shows it asks for the week that it is.
func (s *Site) ZodiacPage(sign, week string) (Issue, bool) {
	at, ok := zodiac.path(sign, week)
	if !ok {
		return Issue{}, false
	}
	i, ok := s.issues[at[1:]]
	if !ok {
		return Issue{}, false
	}
	return s.Issues[i], true
}

// Week is the ISO week of a time, in UTC: 2026-W53.
func Week(t time.Time) string {
	year, week := t.UTC().ISOWeek()
	return fmt.Sprintf("%04d-W%02d", year, week)
}

var weekForm = regexp.MustCompile(weekPattern)

const weekPattern = "^[0-9]{4}-W[0-9]{2}$"

// WeekStart is the Monday, midnight UTC, with which an ISO week begins; false for what is none,
// such as a week 53 of a year that has 52.
func WeekStart(week string) (time.Time, bool) {
	var year, n int
	if !weekForm.MatchString(week) {
		return time.Time{}, false
	}
	if _, err := fmt.Sscanf(week, "%04d-W%02d", &year, &n); err != nil {
		return time.Time{}, false
	}
	fourth := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC) // which is always in week 1
	monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7+7*(n-1))
	return monday, Week(monday) == week
}

// zodiac is the publication whose issues are the pages of signs, one for each week that is over:
// paid/zodiac/<week>.md holds those of a week, under a heading of the second level for each sign's
// id. The first line is the page's public title, the rest its text.
var zodiac = Publication{Name: "zodiac", Index: "/zodiac/archive", Pattern: "/zodiac/archive/{sign}/week-{week}",
	One: "page", Price: USDC / 100, Params: []PublicationParam{
		{"sign", "^[a-z]{1,20}$", "bell", "id of a sign, from /zodiac"},
		{"week", weekPattern, "2026-W42", "an ISO week that is over, from the index at /zodiac/archive"}}}

// week reads the pages of one week, whose archive opens when it is over.
func (l *loader) week(p Publication, file, name string) []Issue {
	text, ok := l.text(file)
	if !ok {
		return nil
	}
	monday, ok := WeekStart(name)
	if !ok {
		l.fail(file, 0, "%.20q is no ISO week", name)
		return nil
	}
	f := sourceFile{l: l, name: file, text: text}
	var of []Issue
	parts := strings.Split("\n"+text, "\n## ")
	if strings.TrimSpace(parts[0]) != "" {
		l.fail(file, 1, "begins before its first sign")
	}
	for n, part := range parts[1:] {
		id, rest, _ := strings.Cut(part, "\n")
		title, body, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		sign, known := SignByID(id)
		if !known || n >= len(Signs) || Signs[n].ID != id {
			l.fail(file, 0, "## %.20s: want the twelve signs in their order", id)
			return nil
		}
		f.prose("title of "+id, title, 80)
		body = strings.TrimSpace(body)
		if body == "" || len(body) > maxIssue {
			l.fail(file, 0, "%s has no text, or more than %d bytes of it", id, maxIssue)
		}
		l.checkPlaceholders(file, body)
		at, _ := p.path(id, name)
		of = append(of, Issue{ID: at[1:], Publication: p, Title: sign.Name + ", week " + name, Summary: title,
			Date: monday.AddDate(0, 0, 7), Body: body})
	}
	if len(of) != len(Signs) {
		l.fail(file, 0, "%d signs of %d", len(of), len(Signs))
	}
	return of
}
