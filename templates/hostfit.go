package templates

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
)

// Less says what the page of a host leaves to its JSON, so that it is no larger than MostPage.
type Less struct {
	Counted          string         // of which rounds the table counts names that it does not give, in words
	Brief            []TimelineLine // the rounds before those of the table, each in a word
	Row              string         // why the cited row is not there, in words
	Walks, Refreshes int            // that there are of both, where the page has the newest alone
}

// of is the caption of a list, of which there are so many; none stands for as many as are listed.
func (Less) of(caption string, all int) string {
	if all == 0 {
		return caption
	}
	return caption + ", the newest of " + strconv.Itoa(all) + "; the JSON has all of them"
}

// lessening is a step by which a page becomes smaller.
type lessening func(v *HostView)

// lessenings are the steps, in their order: what a reader misses least goes first, and every step
// says on the page what it left out. The tier, a square for each week, its verdict and the way to
// its round are left out by none.
var lessenings = []lessening{
	func(v *HostView) { v.keepEarlier(5) },
	func(v *HostView) { v.keepWalks(12) },
	func(v *HostView) { v.keepDoors(5) },
	func(v *HostView) { v.keepAddresses(4) },
	func(v *HostView) {
		v.Less.Row = fmt.Sprintf("The row as it was signed has %d bytes, and stands in the JSON.", len(v.Citation.Row))
		v.Citation.Row = ""
	},
	func(v *HostView) { v.count(26) },
	func(v *HostView) { v.keepEarlier(0) },
	func(v *HostView) { v.keepWalks(4) },
	func(v *HostView) { v.count(13) },
	func(v *HostView) { v.count(derive.WindowRounds) },
	func(v *HostView) { v.keepDoors(0) },
	func(v *HostView) { v.DoorBadge = "" }, // it names the door twice, which the JSON has
	func(v *HostView) { v.keepAddresses(1) },
	func(v *HostView) { v.count(0) },
	func(v *HostView) { v.keepReasons(4) },
	func(v *HostView) { v.keepCorrections(1) },
	func(v *HostView) { v.keepWalks(1) },
	func(v *HostView) { v.keepCorrections(0) },
	func(v *HostView) {
		if v.Citation.Inclusion != "" {
			v.Less.Row += " So does the proof that it stands in the log."
			v.Citation.Inclusion = ""
		}
	},
	func(v *HostView) { v.brief(derive.WindowRounds) },
	func(v *HostView) {
		for i := range v.Weeks {
			v.Weeks[i].Word = "" // the table has it
		}
	},
}

// fit makes the page no larger than MostPage, by one step after the other. What it leaves out is a
// function of the page alone.
func (v *HostView) fit() error {
	if v.most() <= MostPage {
		return nil
	}
	less := *v // so that only the view of such a host is on the heap
	err := less.lessen()
	*v = less
	return err
}

func (v *HostView) lessen() error {
	var page []byte
	for _, less := range lessenings {
		var err error
		if page, err = AppendHost(page[:0], v); err != nil || PageSize(page) <= MostPage {
			return err
		}
		less(v)
	}
	return nil
}

// most is at least PageSize of the page, and seldom a tenth more. It is worked out for each host,
// and the page itself, which takes ten times as long, for those alone that may be too large.
func (v *HostView) most() int {
	c := &v.Citation
	size := len(style) + 6000 + len(v.Chrome.Header) + len(v.Chrome.Footer) + len(c.Inclusion) +
		8*written(v.Page.Title) + 3*written(v.Page.Summary) + written(v.Cite) + written(c.Row) +
		written(v.Signed) + 2*written(v.DoorBadge) + (64+2*len(v.Page.Path))*len(v.Older)
	for i := range v.Timeline {
		l := &v.Timeline[i]
		size += 276 + 2*len(decimal(l.Sequence)) + written(l.Failed) + written(l.Protocols)
		if l.Verdict == record.VerdictReady {
			size += 20 // for the drawing
		}
		if l.Gap != "" {
			size += 32 + written(l.Gap)
		}
	}
	for _, list := range [][]Fact{v.Standing, v.Reasons, v.Corrections, v.Address, v.Declared} {
		for i := range list {
			size += 40 + written(list[i].Name) + written(list[i].Value)
		}
	}
	if v.Note != nil {
		size += 512 + written(v.Note.Statement)
	}
	for i := range v.Earlier {
		size += 96 + written(v.Earlier[i].Statement)
	}
	for i := range v.Refreshes {
		size += 192
		for _, name := range v.Refreshes[i].Failed {
			size += 2 + written(name)
		}
	}
	return size + 512*len(v.PaidWalks)
}

// written is how many bytes a text has in HTML.
func written(s string) int {
	size := len(s)
	for i := range len(s) {
		if n := escapeOf[s[i]]; n != 0 {
			size += len(escaped[n]) - 1
		}
	}
	return size
}

func (v *HostView) keepEarlier(most int) {
	if n := len(v.Earlier); n > most {
		v.Earlier, v.LeftOut = v.Earlier[:most], v.LeftOut+int64(n-most)
	}
}

func (v *HostView) keepWalks(most int) {
	if n := len(v.PaidWalks); n > most {
		v.PaidWalks, v.Less.Walks = v.PaidWalks[n-most:], max(n, v.Less.Walks)
	}
	if n := len(v.Refreshes); n > most {
		v.Refreshes, v.Less.Refreshes = slices.Clone(v.Refreshes[n-most:]), max(n, v.Less.Refreshes)
		for i := range v.Refreshes {
			if failed := &v.Refreshes[i].Failed; len(*failed) > 1 {
				*failed = []string{strconv.Itoa(len(*failed)) + " checks"}
			}
		}
	}
}

func (v *HostView) keepDoors(most int) {
	doors := v.Declaration.Doors
	if len(doors) <= most {
		return
	}
	for i := range v.Declared {
		if f := &v.Declared[i]; f.Name == declaredDoors {
			f.Value = strings.TrimSpace(strings.Join(doors[:most], " ") + " (" + strconv.Itoa(len(doors)-most) +
				" more in the JSON)")
		}
	}
}

// keepAddresses keeps so many addresses, of which each is three facts, below the week.
func (v *HostView) keepAddresses(most int) {
	if p := v.Host.Payment; p != nil && len(p.Addresses) > most {
		v.Address = append(v.Address[:1+3*most:1+3*most], Fact{Name: "Further addresses",
			Value: decimal(p.LeftOut+int64(len(p.Addresses)-most)) + ", of which the JSON lists " +
				strconv.Itoa(len(p.Addresses)-most)})
	}
}

func (v *HostView) keepReasons(most int) {
	if n := len(v.Reasons); n > most {
		v.Reasons = append(v.Reasons[:most:most], Fact{Name: "Further reasons",
			Value: strconv.Itoa(n-most) + ", in the JSON"})
	}
}

// count gives of the newest rounds the names of checks and protocols, and of the others how many
// they are.
func (v *HostView) count(newest int) {
	v.Less.Counted = countNames(v.Timeline, v.Host.Timeline, newest, "the JSON of this page")
}

// brief leaves the newest rounds in the table.
func (v *HostView) brief(newest int) {
	if len(v.Timeline) > newest {
		v.Timeline, v.Less.Brief = v.Timeline[:newest], v.Timeline[newest:]
	}
}

// countNames puts numbers into the lines, newest first, of all but the newest rounds, and says so.
// The rounds are the newest last, and those of the lines their end.
func countNames(lines []TimelineLine, rounds []derive.HostWeek, newest int, names string) string {
	if newest >= len(lines) {
		return ""
	}
	for i := newest; i < len(lines); i++ {
		l, w := &lines[i], &rounds[len(rounds)-1-i]
		if n := len(w.Failed); n > 1 {
			l.Failed = strconv.Itoa(n) + " checks"
		}
		if n := len(w.Protocols); n > 1 {
			l.Protocols = strconv.Itoa(n) + " protocols"
		}
		if len(l.Gap) > maxGap {
			l.Gap = "" // it is not one of ours
		}
	}
	return "In " + lines[newest].Week + " and before, several checks or protocols stand as their number; " + names +
		" names them."
}

// maxGap is the longest reason of a gap that a round has whose names are counted.
const maxGap = 24

// fit counts names until the page of a year is no larger than MostPage.
func (v *HostYear) fit(weeks []derive.HostWeek) {
	for _, newest := range []int{26, 13, 0} {
		size := len(style) + 4<<10 + len(v.Chrome.Header) + len(v.Chrome.Footer) + 6*written(v.Page.Title)
		for i := range v.Timeline {
			l := &v.Timeline[i]
			size += 350 + written(l.Failed) + written(l.Protocols) + written(l.Gap)
		}
		if size <= MostPage {
			return
		}
		v.Counted = countNames(v.Timeline, weeks, newest, "the JSON of the host's page")
	}
}
