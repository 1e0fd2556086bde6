package shop

import (
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/archive"
)

// weather is that of the shop in the hour that begins at a time, from what everybody can read: of
// the rounds the newest of a week before the hour's own, and of the counts of artifacts that stand
// in the record what came on in the seven days before that week's end. So it turns with the ISO
// week, and in the middle of an hour only where a week is published late.
func (s *Shop) weather(hour time.Time) content.Weather {
	if s.archive == nil {
		return weatherOf(nil, nil, hour)
	}
	now := s.archive.Now()
	if now == nil {
		return weatherOf(nil, nil, hour)
	}
	seen := s.seen.Load()
	if seen == nil || seen.state != now || !seen.hour.Equal(hour) {
		seen = &seenWeather{now, hour, weatherOf(now.Rounds, now.Feed, hour)}
		s.seen.Store(seen)
	}
	return seen.weather
}

// seenWeather is what was looked up last, which most requests ask for again.
type seenWeather struct {
	state   *archive.State
	hour    time.Time
	weather content.Weather
}

func weatherOf(rounds []record.Round, feed []record.Observation, hour time.Time) content.Weather {
	week := content.Week(hour)
	w, clear := content.Weather{}, false
	for _, r := range rounds { // oldest first
		if r.Week < week {
			w.Week, clear = r.Week, !r.Coverage.Suspect && r.Coverage.Probed >= r.Coverage.PreviousProbed
		}
	}
	sold := false
	if monday, ok := content.WeekStart(w.Week); ok {
		end := monday.AddDate(0, 0, 7)
		sold = issued(feed, end) > issued(feed, monday)
	}
	w.Word = content.WeatherOf(clear, sold)
	return w
}

// issued is how many artifacts the record counts before a time.
func issued(feed []record.Observation, before time.Time) int64 {
	total := int64(0)
	for _, o := range feed {
		if o.Issued == nil {
			continue
		}
		if at, err := time.Parse(time.RFC3339, o.At); err == nil && at.Before(before) {
			total = max(total, o.Issued.Total)
		}
	}
	return total
}
