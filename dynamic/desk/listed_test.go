package desk_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rejudge"
	"store.example/agentstore/dynamic/desk"
)

// lists is a roster and a record that know what lists said.
type lists struct {
	desk.Rounds
	phase    string
	listed   string // the week that namings are from
	sources  []record.RosterSource
	named    []census.Naming
	recorded string // the week of the newest round
	inRound  []record.RosterSource
	row      *desk.Cited
}

func (l lists) Week(_ context.Context, week string) (census.Week, error) {
	return census.Week{Week: week, Phase: l.phase, Sources: l.sources}, nil
}

func (l lists) Why(_ context.Context, week, host string) (census.Why, error) {
	return census.Why{Host: host, Week: week, Sources: l.named, Listed: l.listed}, nil
}

func (l lists) Lists(context.Context) (string, []record.RosterSource, error) {
	return l.recorded, l.inRound, nil
}

func (l lists) Row(context.Context, string, string) (*desk.Cited, []string, error) {
	return l.row, []string{}, nil
}

// itemOf is a catalogue's item with the terms of the door that these tests look at.
func itemOf(t *testing.T, url string, changes ...string) census.ListedDoor {
	t.Helper()
	for _, p := range practice.All() {
		if p.ID != "dust-correct" {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(p.Answer(url).Header.Get("Payment-Required"))
		if err != nil {
			t.Fatal(err)
		}
		var challenge struct {
			Accepts json.RawMessage `json:"accepts"`
		}
		if err := json.Unmarshal(raw, &challenge); err != nil {
			t.Fatal(err)
		}
		item := fmt.Sprintf(`{"resource":%q,"accepts":%s}`, url, challenge.Accepts)
		offer, whole := rejudge.OfferOf(probe.ListedTerms([]byte(strings.NewReplacer(changes...).Replace(item))))
		if offer == nil || !whole {
			t.Fatalf("no terms in %s", item)
		}
		return census.ListedDoor{URL: url, Method: "GET", Offer: offer}
	}
	t.Fatal("the door is gone")
	return census.ListedDoor{}
}

// TestWhatListsSayOfADoor sets what lists said beside what a door asks now.
func TestWhatListsSayOfADoor(t *testing.T) {
	const here, other = "https://a.example.com/paid", "https://a.example.com/other"
	this := record.ISOWeek(time.Now().UTC())
	right := itemOf(t, here)
	named := func(name string, left int64, doors ...census.ListedDoor) census.Naming {
		return census.Naming{Name: name, Kind: record.SourceDiscovery,
			At: time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC), URL: doors[0].URL, Doors: doors, DoorsLeftOut: left}
	}
	source := func(name, kind string) record.RosterSource {
		return record.RosterSource{Name: name, Kind: kind, Complete: true}
	}
	bare := census.ListedDoor{URL: here}
	cut := itemOf(t, here, "eip155:8453", "eip155:137")
	cut.Cut = true
	priceless := itemOf(t, here, `"amount":`, `"was":`)
	posts := right
	posts.Method = "POST"
	o := street(t, door(nil))
	ask := func(t *testing.T, l lists, url string) (desk.CatalogAgreement, http.Handler) {
		t.Helper()
		o := o
		o.record, o.roster = l, l
		h := openTest(t, o)
		code, _, doc := post(t, h, "/api/look/v1", asked{url})
		raw, err := json.Marshal(doc["catalog_agreement"])
		if err != nil || code != 200 {
			t.Fatalf("%d %v %v", code, doc, err)
		}
		var got desk.CatalogAgreement
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		return got, h
	}
	words := func(a desk.CatalogAgreement) string {
		var all []string
		for _, l := range a.Lists {
			var terms []string
			for _, d := range l.Differences {
				terms = append(terms, d.Term)
			}
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", l.List, l.Agreement, strings.Join(terms, ","))))
			if l.Detail == "" || (l.Agreement == "not_listed") != (l.Says == nil) || l.Says != nil &&
				l.Says.URL != here {
				t.Errorf("%+v", l)
			}
		}
		return strings.Join(all, "; ")
	}
	many := []record.RosterSource{source("declared", record.SourceDeclared)}
	for i := range 40 {
		many = append(many, source(fmt.Sprintf("l%02d", i), record.SourceDiscovery))
	}
	for name, c := range map[string]struct {
		l    lists
		want string
		week string
	}{
		"each word": {lists{phase: census.PhaseOpen, listed: this,
			sources: []record.RosterSource{source("one", record.SourceDiscovery), source("own", record.SourceDeclared),
				source("two", record.SourceDiscovery), source("three", record.SourceDiscovery),
				source("four", record.SourceDiscovery)},
			named: []census.Naming{named("one", 0, itemOf(t, other), right),
				named("two", 0, itemOf(t, here, `"amount":"1"`, `"amount":"2"`)), named("four", 3, itemOf(t, other))}},
			"one agrees; two differs min_usdc,max_usdc; three not_listed; four not_listed", this},
		"another address": {lists{phase: census.PhaseOpen, listed: this,
			sources: []record.RosterSource{source("one", record.SourceDiscovery)},
			named:   []census.Naming{named("one", 0, itemOf(t, here, "dEaD", "bEEf"))}}, "one differs pay_to", this},
		"the method": {lists{phase: census.PhaseOpen, listed: this,
			sources: []record.RosterSource{source("one", record.SourceDiscovery)},
			named:   []census.Naming{named("one", 0, posts)}}, "one differs method", this},
		"no terms": {lists{phase: census.PhaseOpen, listed: this,
			sources: []record.RosterSource{source("one", record.SourceDiscovery)},
			named:   []census.Naming{named("one", 0, bare)}}, "one agrees", this},
		"no price in USDC": {lists{phase: census.PhaseOpen, listed: this,
			sources: []record.RosterSource{source("one", record.SourceDiscovery)},
			named:   []census.Naming{named("one", 0, priceless)}}, "one agrees", this},
		"what was cut": {lists{phase: census.PhaseOpen, listed: this,
			sources: []record.RosterSource{source("one", record.SourceDiscovery)},
			named:   []census.Naming{named("one", 0, cut)}}, "one agrees", this},
		"named in another week": {lists{phase: census.PhaseOpen, listed: "2026-W01",
			sources: []record.RosterSource{source("one", record.SourceDiscovery)},
			named:   []census.Naming{named("one", 0, right)}},
			"one not_listed", this},
		"the last round": {lists{listed: "2026-W40", recorded: "2026-W40",
			inRound: []record.RosterSource{source("one", record.SourceDiscovery)},
			named:   []census.Naming{named("one", 0, right)}}, "one agrees", "2026-W40"},
		"the row alone": {lists{recorded: "2026-W40",
			inRound: []record.RosterSource{source("one", record.SourceDiscovery),
				source("two", record.SourceDiscovery)}, row: &desk.Cited{Week: "2026-W40", URL: here, Catalog: "two"}},
			"two agrees", "2026-W40"},
		"nothing yet": {lists{}, "", ""},
	} {
		got, _ := ask(t, c.l, here)
		if words(got) != c.want || got.Week != c.week || got.Note == "" {
			t.Errorf("%s: %q of %q, want %q of %q: %+v", name, words(got), got.Week, c.want, c.week, got)
		}
	}
	if got, _ := ask(t, lists{phase: census.PhaseOpen, listed: this, sources: many}, here); len(got.Lists) != 32 {
		t.Errorf("%d lists in one answer", len(got.Lists))
	}
	// A door that asks for nothing now is not what a list says of it.
	l := lists{phase: census.PhaseOpen, listed: this,
		sources: []record.RosterSource{source("one", record.SourceDiscovery)},
		named:   []census.Naming{named("one", 0, itemOf(t, "https://nowhere.example.com/paid"))}}
	got, _ := ask(t, l, "https://nowhere.example.com/paid")
	if len(got.Lists) != 1 || got.Lists[0].Agreement != desk.ListDiffers ||
		!slices.ContainsFunc(got.Lists[0].Differences, func(d desk.ListDifference) bool {
			return d.Term == "terms" &&
				strings.Contains(d.Now, "unreachable")
		}) {
		t.Errorf("a door that is away: %+v", got)
	}
}
