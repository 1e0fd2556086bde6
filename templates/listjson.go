package templates

import (
	"maps"
	"slices"

	"agentstore/corpus/derive"
)

// The lists of hosts as JSON: they name every host of the record, some of them several times.

// TiersJSON is a page of the list of hosts, or its head, as the library writes it.
func TiersJSON(v *derive.TiersView) ([]byte, error) {
	return documentBy((*jsonWriter).tiers, v, 2<<10+640*len(v.Hosts))
}

// documentBy is document of a value that a writer can spell, of about some size.
func documentBy[T any](write func(*jsonWriter, T), v T, size int) ([]byte, error) {
	w := jsonWriter{b: make([]byte, 0, size)}
	if write(&w, v); w.odd {
		return document(v)
	}
	return w.b, nil
}

func (w *jsonWriter) tiers(v *derive.TiersView) {
	w.open('{')
	w.text("format", v.Format)
	w.someNumber("page", int64(v.Page))
	w.number("pages", int64(v.Pages))
	w.object("by_tier")
	for _, tier := range slices.Sorted(maps.Keys(v.ByTier)) {
		w.odd = w.odd || !isPlainJSON(tier)
		w.number(tier, v.ByTier[tier])
	}
	w.close('}')
	w.number("total_hosts", v.TotalHosts)
	w.number("weeks_read", v.WeeksRead)
	w.someText("latest_week", v.LatestWeek)
	if v.Rules != nil {
		w.list("rules")
		for _, r := range v.Rules {
			w.element('{')
			w.text("tier", r.Tier)
			w.text("rule", r.Rule)
			w.close('}')
		}
		w.close(']')
	}
	w.text("order", v.Order)
	if v.Hosts != nil {
		w.list("hosts")
		for i := range v.Hosts {
			w.tierLine(&v.Hosts[i])
		}
		w.close(']')
	}
	w.truth("has_more", v.HasMore)
	w.someText("next", v.Next)
	w.source("derived_from", &v.From)
	w.close('}')
	w.b = append(w.b, '\n')
}

func (w *jsonWriter) tierLine(h *derive.TierLine) {
	w.element('{')
	w.text("host", h.Host)
	w.text("tier", h.Tier)
	w.text("label", h.Label)
	w.number("ready", h.Ready)
	w.number("rounds", h.Rounds)
	w.someText("first_week", h.From)
	w.someText("last_week", h.To)
	if h.Latest != nil {
		w.latest("latest", h.Latest)
	}
	w.truth("coverage_suspect", h.CoverageSuspect)
	w.text("rows_url", h.RowsURL)
	w.text("passport_url", h.PageURL)
	w.close('}')
}

func (w *jsonWriter) latest(name string, l *derive.Latest) {
	w.object(name)
	w.text("verdict", l.Verdict)
	w.text("observed_at", l.ObservedAt)
	w.text("source", l.Source)
	w.someNumber("sequence", l.Sequence)
	w.someNumber("observation", l.Number)
	w.close('}')
}

// source says what a view was derived from.
func (w *jsonWriter) source(name string, s *derive.Source) {
	w.object(name)
	if c := s.Cited; c != nil {
		w.text("week", c.Week)
		w.number("sequence", c.Sequence)
		w.digest("digest", c.Digest)
	}
	w.number("rounds", s.Rounds)
	w.number("observations", s.Observations)
	if s.Private {
		w.truth("private", true)
	}
	w.text("index", s.Index)
	w.text("license", s.License)
	w.text("signed", s.Signed)
	w.close('}')
}

// ShardJSON is a shard of the search index, as the library writes it.
func ShardJSON(v *derive.Shard) ([]byte, error) {
	return documentBy((*jsonWriter).shard, v, 256+192*len(v.Hits))
}

func (w *jsonWriter) shard(v *derive.Shard) {
	w.open('{')
	w.text("format", v.Format)
	w.text("shard", v.Shard)
	w.text("prefix", v.Prefix)
	w.list("hosts")
	for i := range v.Hits {
		h := &v.Hits[i]
		w.element('{')
		w.text("host", h.Host)
		w.number("at", int64(h.At))
		w.text("path", h.Path)
		w.text("line", h.Line)
		w.close('}')
	}
	w.close(']')
	w.someNumber("more", v.More)
	w.close('}')
	w.b = append(w.b, '\n')
}
