package census

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
)

// Reasons of rows that are not probed, where no answer decided; corpus has the others.
const (
	ReasonInterrupted = "interrupted"          // begun, and the process died: not repeated in that week
	ReasonBeyondCap   = record.ReasonBeyondCap // the week's cap was reached before its turn
	ReasonWeekOver    = "week_over"            // the week ended before its turn
	ReasonNotJudged   = record.ReasonNotJudged
)

// reasonNoDoor is that of hosts without a place on the roster, where a source gave none.
const reasonNoDoor = "no door of it is known"

// maxHostName is the longest name of a host (RFC 1035, section 2.3.4).
const maxHostName = 253

// roster merges what sources name, by host.
type roster struct {
	cfg    *Config
	places map[string]*candidate
	report []record.RosterSource
}

// candidate is what is known of one host.
type candidate struct {
	host   string
	named  []Naming
	reason string // why it has no door, from the source of the greatest weight
	before string // the door of the last round
	// What follows is of the source that gave the door.
	weight     int // of the source; the least wins
	url        string
	kind       string
	method, by string
	catalog    string // the first discovery source that named it
}

// weights order the kinds of sources for the choice of a door: what a host says of itself comes
// first.
var weights = map[string]int{record.SourceDeclared: 0, record.SourceDiscovery: 1, record.SourceList: 1,
	record.SourceWellKnown: 2, record.SourceRevisit: 3}

// readSources reads every source, revisits first: a host that has several doors in a catalogue
// keeps the one that was walked before.
func (c *Config) readSources(ctx context.Context, sources []Source, rec *record.Record, week string) (*roster, error) {
	r := &roster{cfg: c, places: map[string]*candidate{}, report: make([]record.RosterSource, len(sources))}
	order := make([]int, len(sources))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(weights[sources[b].Kind]/3, weights[sources[a].Kind]/3)
	})
	on := Reading{Client: c.Lists, Record: rec, Week: week, Now: c.Now, Sleep: c.Sleep, Log: c.Log}
	for _, i := range order {
		s := sources[i]
		at := c.Now().UTC().Truncate(time.Second)
		hosts := map[string]bool{}
		reading, cancel := context.WithTimeout(ctx, c.SourceTime)
		err := s.Read(reading, on, func(n Named) {
			if host := r.name(s, i, at, n); host != "" {
				hosts[host] = true
			}
		})
		late := reading.Err() != nil
		cancel()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err != nil && late {
			err = fmt.Errorf("it was not read to its end in %s: %w", c.SourceTime, err)
		}
		r.report[i] = record.RosterSource{Name: s.Name, Kind: s.Kind, Hosts: int64(len(hosts)), Complete: err == nil}
		if err != nil {
			r.report[i].Problem = plainText(err.Error())
			c.Log.Error("source not read to its end", "source", s.Name, "hosts", len(hosts), "err", err)
		}
	}
	return r, nil
}

// plainText is a text in which what a stranger answered may stand, as a round may say it:
// printable, at most 300 bytes.
func plainText(raw string) string {
	text := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(raw, "?"))
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "")
	}
	return text
}

// name takes one word of source i and returns the host it is about, "" for none.
func (r *roster) name(s Source, i int, at time.Time, n Named) string {
	door, host, reason := n.URL, n.Host, n.Reason
	if door != "" {
		canonical, err := r.cfg.Client.Parse(door, fetch.Rule{})
		if err == nil {
			door = canonical
		}
		host = hostOf(door)
		switch {
		case err != nil:
			door, reason = "", err.Error()
		case record.TextBytes(door) > record.MaxDoorURL:
			door, reason = "", fmt.Sprintf("its URL is longer than %d bytes", record.MaxDoorURL)
		}
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !isName(host) {
		return ""
	}
	p := r.places[host]
	if p == nil {
		p = &candidate{host: host, weight: -1}
		r.places[host] = p
	}
	nth := slices.IndexFunc(p.named, func(o Naming) bool { return o.Name == s.Name })
	if nth < 0 {
		nth = len(p.named)
		p.named = append(p.named, Naming{Name: s.Name, Kind: s.Kind, At: at, URL: door})
	}
	if s.Kind == record.SourceDiscovery && door != "" {
		d := ListedDoor{URL: door, Offer: n.Offer, Cut: n.Cut}
		if method := strings.ToUpper(n.Method); slices.Contains(doorMethods, method) {
			d.Method = method
		}
		p.named[nth].list(d)
	}
	if s.Kind == record.SourceRevisit && door != "" {
		p.before = door
	}
	lists := s.Kind == record.SourceDiscovery || s.Kind == record.SourceList
	if lists && p.catalog == "" {
		p.catalog = s.Name
	}
	if door == "" {
		if p.reason == "" {
			p.reason = cmp.Or(reason, reasonNoDoor)
		}
		return host
	}
	weight := weights[s.Kind]<<16 + i
	again := weight == p.weight && lists && door == p.before && p.url != p.before
	if p.url == "" || weight < p.weight || again {
		p.weight, p.url, p.kind, p.method, p.by = weight, door, s.Kind, n.Method, n.By
	}
	return host
}

// doorMethods are the methods that a list may say a door is asked with.
var doorMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete}

// list adds a door that a list names. What a list says of a door twice counts once.
func (n *Naming) list(d ListedDoor) {
	switch {
	case slices.ContainsFunc(n.Doors, func(o ListedDoor) bool { return o.URL == d.URL }):
	case len(n.Doors) == MaxListedDoors:
		n.DoorsLeftOut++
	default:
		n.Doors = append(n.Doors, d)
	}
}

// isName accepts what may be the name of a host: letters, digits, hyphens, underscores and dots in
// lower case.
func isName(host string) bool {
	return host != "" && len(host) <= maxHostName && !strings.ContainsFunc(host, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == ':')
	})
}

// entry is the host's place on the roster.
func (p *candidate) entry() Entry {
	source := p.kind
	if source == record.SourceDeclared {
		source = record.SourceWellKnown
	}
	e := Entry{Host: p.host, URL: p.url, SelfDeclared: p.selfDeclared(), Source: source, Catalog: p.catalog,
		Listed: p.catalog != ""}
	if strings.EqualFold(p.method, http.MethodPost) {
		e.Declared = probe.Declaration{Method: http.MethodPost, By: cmp.Or(p.by, "catalog")}
	}
	return e
}

// known yields the hosts of the roster, those with a door sorted by host before the others, and
// returns the names of those that have a place. Those that only declared themselves have one within
// their quota, and no row beyond it; who of them has it is drawn by salt, which nobody knows who
// chooses a name. late marks hosts that come after the roster was closed.
func (r *roster) known(salt []byte, q *quota, late bool) (_ iter.Seq[Known], placed []string) {
	var all, rest []*candidate
	for _, p := range r.places {
		if p.url == "" {
			rest = append(rest, p)
			continue
		}
		all = append(all, p)
	}
	turn := func(p *candidate) [sha256.Size]byte {
		return sha256.Sum256(append(salt[:len(salt):len(salt)], p.host...))
	}
	slices.SortFunc(all, func(a, b *candidate) int {
		x, y := turn(a), turn(b)
		return bytes.Compare(x[:], y[:])
	})
	all = slices.DeleteFunc(all, func(p *candidate) bool {
		over := p.selfDeclared() && !q.let(p.host)
		if over {
			p.reason = ReasonOverQuota
			rest = append(rest, p)
		}
		return over
	})
	byHost := func(a, b *candidate) int { return cmp.Compare(a.host, b.host) }
	slices.SortFunc(all, byHost)
	slices.SortFunc(rest, byHost)
	for _, p := range all {
		placed = append(placed, p.host)
	}
	return func(yield func(Known) bool) {
		for _, p := range all {
			e := p.entry()
			e.Late = late
			if !yield(Known{Host: p.host, Named: p.named, Entry: &e}) {
				return
			}
		}
		for _, p := range rest {
			if !yield(Known{Host: p.host, Named: p.named, Reason: p.reason}) {
				return
			}
		}
	}, placed
}

// notProbed is the row of a host that was not walked, for a reason on our side.
func notProbed(e Entry, reason string) record.Row {
	return record.Row{Host: e.Host, URL: e.URL, Listed: e.Listed, Source: e.Source, Catalog: e.Catalog, Late: e.Late,
		Verdict: record.VerdictNotProbed, Reason: reason,
		Failed: []string{}, Advisories: []string{}, Protocols: []string{}, Battery: probe.Current(),
		Fault: record.FaultInstrument}
}

// hostOf is the host of a URL in the record's spelling, "" for none.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// Monday returns the first moment of an ISO week such as 2026-W47.
func Monday(week string) (time.Time, error) {
	var y, w int
	if n, err := fmt.Sscanf(week, "%04d-W%02d", &y, &w); err != nil || n != 2 || w < 1 || w > 53 || y < 1 {
		return time.Time{}, fmt.Errorf("%q is not a week such as 2026-W47", week)
	}
	// The fourth of January is always in the first week (ISO 8601).
	fourth := time.Date(y, 1, 4, 0, 0, 0, 0, time.UTC)
	monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7+7*(w-1))
	if record.ISOWeek(monday) != week {
		return time.Time{}, fmt.Errorf("there is no week %s", week)
	}
	return monday, nil
}
