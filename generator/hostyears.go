package generator

import (
	"iter"
	"slices"
	"strings"

	"store.example/agentstore/content/api"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/derive"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/templates"
)

// hostYear is what the record holds of a host, and a year of which its page shows no longer all
// rounds.
type hostYear struct {
	raw  record.RawHistory
	year string
	made attest.Digest // over the rounds up to the end of the year
}

// hostYears streams the years of hosts as long as hosts have files. A year depends on its rounds
// and those before it, so that one that is over is rendered once. While no round is older than
// those that a host's page shows the record is not read for it.
func hostYears(s *source) iter.Seq2[unit, error] {
	return func(yield func(unit, error) bool) {
		if len(s.rounds) <= derive.TimelineWeeks {
			return
		}
		if ok, err := s.hostFiles(); !ok || err != nil {
			if err != nil {
				yield(unit{}, err)
			}
			return
		}
		made := s.digestYears()
		for raw, err := range s.record.RawHistories() {
			if err != nil {
				yield(unit{}, err)
				return
			}
			for _, year := range slices.Backward(derive.OlderYears(s.rounds, raw.First())) {
				h := &hostYear{raw, year, made[year]}
				u := unit{key: raw.Host + yearMark + year, value: h, made: func(d *digester) {
					d.digest(h.made)
					s.corrections(d, h.raw)
				}}
				if !yield(u, nil) {
					return
				}
			}
		}
	}
}

// yearMark stands between a host and a year in keys. It is less than all that names consist of, so
// that the keys are in the order of the hosts.
const yearMark = "\x00"

// digestYears is over all rounds up to the end of each year.
func (s *source) digestYears() map[string]attest.Digest {
	years := make(map[string]attest.Digest)
	for i, r := range s.rounds {
		year := derive.YearOf(r.Week)
		if i+1 < len(s.rounds) && derive.YearOf(s.rounds[i+1].Week) == year {
			continue
		}
		d := newDigester()
		for _, r := range s.rounds[:i+1] {
			d.round(r)
		}
		years[year] = d.sum()
	}
	return years
}

// placeHostYear is what stands for the key of a host's year in paths.
func placeHostYear(key string) string {
	host, year, _ := strings.Cut(key, yearMark)
	return derive.HostYearName(year, host)
}

func renderHostYear(s *source, u unit, mediaType string, _ attest.Digest) ([]byte, error) {
	h := u.value.(*hostYear)
	rows, err := h.raw.ParseIn(&u.scratch.rows)
	if err != nil {
		return nil, err
	}
	s.errata.Correct(rows.Rows)
	v := templates.NewHostYear(s.chrome, h.raw.Host, h.year,
		derive.WeeksOf(s.base, h.year, u.scratch.host.History(s.rounds, rows, nil)))
	v.Page.Reload = s.reload
	switch mediaType {
	case api.HTML:
		return templates.RenderHostYear(v)
	case api.Markdown:
		return templates.RenderHostYearMarkdown(v), nil
	}
	return unknown(mediaType)
}
