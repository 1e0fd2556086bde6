package content

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// A sign is a function of the lower-cased address for ever: these may never change.
func TestSignsAreForEver(t *testing.T) {
	for address, want := range map[string]string{
		"0x000000000000000000000000000000000000dEaD":   "bell",
		"0X000000000000000000000000000000000000DEAD":   "bell",
		"0x0000000000000000000000000000000000000001":   "bell",
		"0x0000000000000000000000000000000000000002":   "kettle",
		"4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T": "umbrella",
	} {
		if got := SignOf(address); got.ID != want {
			t.Errorf("%s has %s, and had %s", address, got.ID, want)
		}
	}
	counts := make(map[string]int)
	for i := range 12_000 {
		counts[SignOf("0x"+strings.Repeat("0", 30)+time.Unix(int64(i), 0).UTC().Format("0102150405")).ID]++
	}
	for _, s := range Signs {
		if n := counts[s.ID]; n < 850 || n > 1150 {
			t.Errorf("%s: %d of 12,000", s.ID, n)
		}
	}
}

// Weeks are found again from their names over all edges of years, and a week 53 that a year does
// not have is none.
func TestWeeksOfYears(t *testing.T) {
	for at := time.Date(2019, 12, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2034; at = at.Add(24 * time.Hour) {
		for _, at := range []time.Time{at, at.Add(24*time.Hour - 1)} {
			start, ok := WeekStart(Week(at))
			if !ok || start.Weekday() != time.Monday || at.Before(start) || !at.Before(start.AddDate(0, 0, 7)) {
				t.Fatalf("%s is in %s, which starts %s, %v", at, Week(at), start, ok)
			}
		}
	}
	if got := Week(time.Date(2027, 1, 3, 23, 59, 59, 0, time.UTC)); got != "2026-W53" {
		t.Errorf("the first Sunday of 2027 is in %s", got)
	}
	for _, bad := range []string{"", "2026-W00", "2026-W54", "2027-W53", "2026-w41", "2026-W4", "2026-W041",
		" 2026-W41", "2026-W41\n"} {
		if at, ok := WeekStart(bad); ok {
			t.Errorf("%q is a week: %s", bad, at)
		}
	}
}

// No line comes twice within 168 hours, whatever the weather does, and every hour of two years has
// one that fits.
func TestPorchLinesDoNotRepeatWithinAWeek(t *testing.T) {
	p := load(t).Porch
	seen := make(map[string]time.Time)
	said := make(map[string]bool)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 2 * 366 * 24 {
		now := at.Add(time.Duration(i) * time.Hour)
		line := p.Line(now.Add(59*time.Minute), Weather{Word: Weathers[i*7%13%4].Word})
		if line == "" || line != p.Line(now, Weather{Word: Weathers[i*7%13%4].Word}) {
			t.Fatalf("%s: %q changes within the hour", now, line)
		}
		if last, ok := seen[line]; ok && now.Sub(last) < 168*time.Hour {
			t.Fatalf("%q at %s and at %s", line, last, now)
		}
		seen[line], said[line] = now, true
	}
	if len(said) < 366 {
		t.Errorf("%d lines in two years", len(said))
	}
	if line := (Porch{}).Line(at, Weather{Word: "fair"}); line != "" {
		t.Errorf("where there is no porch it is said %q", line)
	}
}

func TestSeatsAndSeasons(t *testing.T) {
	at := func(month time.Month, hour int) time.Time {
		return time.Date(2026, month, 28, hour, 59, 0, 0, time.UTC)
	}
	for month, want := range map[time.Month]string{12: "winter", 2: "winter", 3: "spring", 8: "summer", 9: "autumn",
		11: "autumn"} {
		if got := Season(at(month, 1)); got != want {
			t.Errorf("%s is %s", month, got)
		}
	}
	for hour, want := range map[int]int{0: 2, 5: 2, 6: 4, 12: 6, 23: 8} {
		fair, fog := Seats(at(1, hour), Weather{Word: "fair"}), Seats(at(1, hour), Weather{Word: "fog"})
		if fair != want || fog != want/2 {
			t.Errorf("at %d %d seats, %d in fog", hour, fair, fog)
		}
	}
	if WeatherOf(true, true) != "fair" || WeatherOf(true, false) != "still" || WeatherOf(false, true) != "showers" ||
		WeatherOf(false, false) != "fog" {
		t.Error("the weathers are mixed up")
	}
}

// weekFile is a week with the twelve signs.
func weekFile() string {
	var b strings.Builder
	for _, s := range Signs {
		b.WriteString("## " + s.ID + "\n\nA title of " + s.ID + "\n\nText for " + s.ID + ".\n\nAnd more.\n\n")
	}
	return b.String()
}

// The pages of a week are sold once the site's own date has passed it, and asked for by week
// before.
func TestWeeksOpenWhenTheyAreOver(t *testing.T) {
	m := specimen(t)
	for _, week := range []string{"2026-W01", "2026-W02"} {
		m["paid/zodiac/"+week+".md"] = &fstest.MapFile{Data: []byte(weekFile())}
	}
	edit(t, m, "site.toml", "2026-11-20", "2026-01-05") // the Monday after week 1
	edit(t, m, "site.toml", "2027-05-18", "2026-12-18")
	s, err := Load(Sources{Content: m})
	if err != nil {
		t.Fatal(err)
	}
	const first = "zodiac/archive/cat/week-2026-W01"
	i, ok := s.Issue(first)
	if !ok || i.Path() != "/"+first || i.Title != "The Cat, week 2026-W01" || i.Summary != "A title of cat" ||
		i.Body != "Text for cat.\n\nAnd more." || i.Date.Format(time.DateOnly) != "2026-01-05" {
		t.Errorf("%+v, %v", i, ok)
	}
	if _, ok := s.Issue("zodiac/archive/cat/week-2026-W02"); ok {
		t.Error("a week that is not over is sold")
	}
	if of := s.IssuesOf("zodiac"); len(of) != 12 {
		t.Errorf("%d pages are listed, want those of one week", len(of))
	}
	if i, ok := s.ZodiacPage("cat", "2026-W02"); !ok || i.Summary != "A title of cat" {
		t.Errorf("the page of the week that it is: %+v, %v", i, ok)
	}
	for _, none := range [][2]string{{"cat", "2026-W03"}, {"dog", "2026-W01"}, {"../cat", "2026-W01"},
		{"cat", "{week}"}} {
		if i, ok := s.ZodiacPage(none[0], none[1]); ok {
			t.Errorf("%v has %+v", none, i)
		}
	}
	for what, change := range map[string][2]string{
		"want the twelve signs in their order": {"## key", "## cat"},
		"11 signs of 12":                       {"## cat\n\nA title of cat\n\nText for cat.\n\nAnd more.\n\n", ""},
		"begins before its first sign":         {"## bell", "Well.\n## bell"},
		"key has no text":                      {"Text for key.\n\nAnd more.", ""},
		"unknown placeholder {secret}":         {"Text for key", "{secret}"},
	} {
		edited := strings.Replace(weekFile(), change[0], change[1], 1)
		m["paid/zodiac/2026-W01.md"] = &fstest.MapFile{Data: []byte(edited)}
		if _, err := Load(Sources{Content: m}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	delete(m, "paid/zodiac/2026-W01.md")
	m["paid/zodiac/2027-W53.md"] = &fstest.MapFile{Data: []byte(weekFile())}
	if _, err := Load(Sources{Content: m}); err == nil || !strings.Contains(err.Error(), "is no ISO week") {
		t.Errorf("a week that the year does not have: %v", err)
	}
}

// The porch and the directory may be missing, and are refused where they are not whole.
func TestPorchAndDirectoryAreStrict(t *testing.T) {
	m := specimen(t)
	delete(m, porchFile)
	delete(m, directoryFile)
	s, err := Load(Sources{Content: m})
	if err != nil || s.Porch.Open() || len(s.Directory) != 0 {
		t.Fatalf("without them: %v, %v, %v", s.Porch.Open(), s.Directory, err)
	}
	whole := specimen(t)
	for what, change := range map[string][3]string{
		"at least 28 so that none comes twice": {porchFile, "\nfog = [", "\nfog = []\nmist = ["},
		"unknown: mist":                        {porchFile, "\nfog = [", "\nmist = ["},
		"stands twice":                         {porchFile, "The porch is at anchor.", "One hears wheels, deciding."},
		"has spaces at an end or in a row":     {porchFile, "The porch is at anchor.", "The porch is  at anchor."},
		"unknown key":                          {directoryFile, "kind = ", "sort = "},
		`"mppx" stands twice`:                  {directoryFile, `"@x402/fetch"`, `"mppx"`},
	} {
		m := specimen(t)
		edit(t, m, change[0], change[1], change[2])
		if _, err := Load(Sources{Content: m}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s, err := Load(Sources{Content: whole}); err != nil || len(s.Directory) != 20 {
		t.Errorf("%d reviews, %v", len(s.Directory), err)
	}
}
