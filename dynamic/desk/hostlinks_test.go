package desk_test

import (
	"encoding/xml"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic"
	"store.example/agentstore/templates"
)

var hrefs = regexp.MustCompile(`href="([^"]+)"`)

// TestAHostsPageLeadsToItsBadgesAndFeed follows, from the page of each kind of host, what a seller
// takes away to watch it by: each badge says what the page says, and the feed names the page.
func TestAHostsPageLeadsToItsBadgesAndFeed(t *testing.T) {
	r, _ := sealed(t)
	o := street(t, door(nil))
	o.record, o.archive = r, r.Archive
	h := openTest(t, o)
	chrome, err := templates.NewChrome(templates.Chrome{Title: "Store", BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	pages := dynamic.HostPages{Archive: r.Archive, Chrome: func() *templates.Chrome { return chrome }, BaseURL: base,
		Spell: strings.ToLower}
	follow := func(to string) (string, string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, base+strings.TrimPrefix(to, base), nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", to, w.Code, w.Body)
		}
		return w.Header().Get("Content-Type"), w.Body.String()
	}
	for host, doorSays := range map[string]string{"standing.example": "ready (v2)", "broken.example": "not ready (v2)",
		"gone.example": "unreachable (v2)", "xn--bcher-kva.example": "not ready (v2)", "never-seen.example": ""} {
		page, err := pages.Render(t.Context(), host, api.HTML)
		if err != nil {
			t.Fatal(err)
		}
		twin, err := pages.Render(t.Context(), host, api.Markdown)
		if err != nil {
			t.Fatal(err)
		}
		held, err := r.Host(t.Context(), host)
		if err != nil {
			t.Fatal(err)
		}
		links := map[string]int{}
		for _, m := range hrefs.FindAllStringSubmatch(string(page), -1) {
			links[html.UnescapeString(m[1])]++
		}
		feed, tier := "/corpus/host/"+host+"/feed.xml", base+"/badge/host.svg?host="+host
		reading := fmt.Sprintf("%s/badge/check.svg?url=https%%3A%%2F%%2F%s%%2Fpaid", base, host)
		if links[feed] != 2 || links[tier] != 1 || doorSays != "" && links[reading] != 1 {
			t.Errorf("%s: %d links to the feed, %d and %d to the badges", host, links[feed], links[tier],
				links[reading])
			continue
		}
		for _, to := range []string{base + feed, tier} {
			if !strings.Contains(string(twin), "`"+to+"`") {
				t.Errorf("%s: the Markdown lacks %s", host, to)
			}
		}
		if form, svg := follow(tier); form != api.SVG || !strings.Contains(svg, held.Tier.Line) ||
			!strings.Contains(string(page), held.Tier.Line) {
			t.Errorf("%s: the badge is %s %s, and the tier %s", host, form, svg, held.Tier.Line)
		}
		if doorSays != "" {
			if form, svg := follow(reading); form != api.SVG || !strings.Contains(svg, doorSays) {
				t.Errorf("%s: the badge of its door is %s %s", host, form, svg)
			}
		}
		var f struct {
			Links []struct {
				Rel  string `xml:"rel,attr"`
				Href string `xml:"href,attr"`
			} `xml:"link"`
		}
		form, body := follow(feed)
		err = xml.Unmarshal([]byte(body), &f)
		to := map[string]string{}
		for _, l := range f.Links {
			to[l.Rel] = l.Href
		}
		if err != nil || !strings.HasPrefix(form, templates.AtomType) || to["self"] != base+feed ||
			to["alternate"] != base+"/corpus/host/"+host {
			t.Errorf("%s: %s, %v, links %v", host, form, err, to)
		}
	}
}
