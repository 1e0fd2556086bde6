package shop

import (
	"testing"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/record"
)

// The weather is that of the last week before the hour's own, whatever was sealed or counted since.
func TestWeatherIsOfTheLastSealedWeek(t *testing.T) {
	rounds := []record.Round{
		{Week: "2026-W51", Coverage: record.Coverage{Probed: 10, PreviousProbed: 10}},
		{Week: "2026-W52", Coverage: record.Coverage{Probed: 9, PreviousProbed: 10}},
		{Week: "2026-W53", Coverage: record.Coverage{Probed: 12, PreviousProbed: 9}},
		{Week: "2027-W01", Coverage: record.Coverage{Probed: 30, PreviousProbed: 12, Suspect: true}},
	}
	feed := []record.Observation{
		{At: "2026-12-20T23:00:00Z", Issued: &record.Issued{Total: 5}},
		{At: "2026-12-22T12:00:00Z"},
		{At: "2026-12-27T23:00:00Z", Issued: &record.Issued{Total: 8}},
		{At: "2027-01-04T00:00:00Z", Issued: &record.Issued{Total: 9}}, // on the stroke: the week after
	}
	for at, want := range map[string]content.Weather{
		"2026-12-14T00:00:00Z": {Word: "fog"},
		"2026-12-21T00:00:00Z": {Word: "fair", Week: "2026-W51"},
		"2026-12-27T23:00:00Z": {Word: "fair", Week: "2026-W51"},
		"2026-12-28T00:00:00Z": {Word: "showers", Week: "2026-W52"},
		"2027-01-03T23:00:00Z": {Word: "showers", Week: "2026-W52"},
		"2027-01-04T00:00:00Z": {Word: "still", Week: "2026-W53"},
		"2027-01-11T00:00:00Z": {Word: "showers", Week: "2027-W01"},
	} {
		hour, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := weatherOf(rounds, feed, hour); got != want {
			t.Errorf("%s: %+v, want %+v", at, got, want)
		}
		if got := weatherOf(rounds[:len(rounds)-1], feed, hour); want.Week != "2027-W01" && got != want {
			t.Errorf("%s, before the next round is sealed: %+v, want %+v", at, got, want)
		}
	}
	if got := new(Shop).weather(time.Now()); got != (content.Weather{Word: "fog"}) {
		t.Errorf("without a record: %+v", got)
	}
}
