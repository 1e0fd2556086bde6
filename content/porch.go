package content

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const porchFile = "porch.toml"

// Porch is porch.toml: the lines that are said on the porch, one an hour.
//
// Of the six hours of each part of the day three have a line of the part, one a line of the season,
// one of the weather and one of the weekday. Each list is gone through in its own order, without
// end, and is so long that no line comes twice within a week (168 hours), also where the weather
// changes.
type Porch struct {
	// Parts are night, morning, afternoon and evening, six hours each from midnight UTC.
	Parts map[string][]string `toml:"parts"`
	// Seasons are those of the north, by the month.
	Seasons map[string][]string `toml:"seasons"`
	// Weathers are by the Word of Weather.
	Weathers map[string][]string `toml:"weathers"`
	Weekdays map[string][]string `toml:"weekdays"`
}

// Weather is that of the shop: what the last sealed week of the record, and what was sold in it,
// look like. Everybody can work it out from the record.
type Weather struct {
	Word string // one of Weathers
	Week string // the sealed week that it is of, "" for none
}

// WeatherWord is one of the four weathers.
type WeatherWord struct{ Word, Says string }

// Weathers are the four, by whether the census could see as much as the week before and whether
// anything was sold.
var Weathers = []WeatherWord{
	{"fair", "The last sealed week could see at least as many doors as the one before it, and something was sold."},
	{"still", "The last sealed week could see at least as many doors as the one before it, and nothing was sold."},
	{"showers", "The last sealed week could see fewer doors than the one before it, or doubts what it saw. Something " +
		"was sold."},
	{"fog", "No week is sealed, or the last one could see fewer doors than the one before it, or doubts what it saw. " +
		"Nothing was sold."},
}

// WeatherOf is the word for a week that saw clearly or not, and in which something was sold or not.
func WeatherOf(clear, sold bool) string {
	at := 0
	if !clear {
		at = 2
	}
	if !sold {
		at++
	}
	return Weathers[at].Word
}

// Says is what a weather means.
func (w Weather) Says() string {
	i := slices.IndexFunc(Weathers, func(of WeatherWord) bool { return of.Word == w.Word })
	if i < 0 {
		return ""
	}
	return Weathers[i].Says
}

var (
	dayParts = []string{"night", "morning", "afternoon", "evening"}
	seasons  = []string{"winter", "spring", "summer", "autumn"}
	weekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
)

// DayPart is the part of the day of a time in UTC.
func DayPart(at time.Time) string { return dayParts[at.UTC().Hour()/6] }

// Season is that of the north, by the month in UTC.
func Season(at time.Time) string { return seasons[int(at.UTC().Month())%12/3] }

// Seats is how many seats are out on the porch in an hour: two at night, four in the morning, six
// in the afternoon, eight in the evening, and half of them where it is not dry.
func Seats(at time.Time, w Weather) int {
	seats := 2 + at.UTC().Hour()/6*2
	if w.Word == "showers" || w.Word == "fog" {
		seats /= 2
	}
	return seats
}

// Open reports whether there is a porch.
func (p Porch) Open() bool { return len(p.Parts) > 0 }

// Line is what is said in the hour of a time, "" where there is no porch.
func (p Porch) Line(at time.Time, w Weather) string {
	at = at.UTC()
	day, hour := int(at.Unix()/86400), at.Hour()
	part := hour / 6
	from, n := p.Parts[dayParts[part]], day*3+hour%6/2
	switch hour % 6 {
	case 0:
		// By the day, which is of a weekday once in seven.
		from, n = p.Weekdays[weekdays[at.Weekday()]], day/7*4+part
	case 2:
		from, n = p.Weathers[w.Word], day*4+part
	case 4:
		from, n = p.Seasons[Season(at)], day*4+part
	}
	if len(from) == 0 {
		return ""
	}
	return from[n%len(from)]
}

const maxPorchLine = 160

// porch reads the lines, of which a store may have none.
func (l *loader) porch() Porch {
	var p Porch
	text, ok := l.text(porchFile)
	if !ok || !l.decode(porchFile, text, &p) {
		return Porch{}
	}
	f := sourceFile{l: l, name: porchFile, text: text}
	words := make([]string, len(Weathers))
	for i, w := range Weathers {
		words[i] = w.Word
	}
	seen := make(map[string]bool)
	for _, list := range []struct {
		name  string
		of    map[string][]string
		keys  []string
		least int // lines that a week takes
	}{
		{"parts", p.Parts, dayParts, 21}, {"seasons", p.Seasons, seasons, 28}, {"weathers", p.Weathers, words, 28},
		{"weekdays", p.Weekdays, weekdays, 4},
	} {
		for _, key := range slices.Sorted(maps.Keys(list.of)) {
			if !slices.Contains(list.keys, key) {
				f.fail(list.name, "unknown: %s", key)
			}
		}
		for _, key := range list.keys {
			if n := len(list.of[key]); n < list.least {
				f.fail(key, "%d lines, at least %d so that none comes twice in a week", n, list.least)
			}
			for i, line := range list.of[key] {
				f.prose(fmt.Sprintf("%s, line %d", key, i+1), line, maxPorchLine)
				if as := strings.ToLower(line); seen[as] {
					f.fail(key, "%.40q stands twice", line)
				} else {
					seen[as] = true
				}
			}
		}
	}
	return p
}
