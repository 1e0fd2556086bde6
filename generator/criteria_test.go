package generator

import (
	"io/fs"
	"strings"
	"testing"

	"store.example/agentstore/templates"

	"store.example/agentstore/corpus/derive"
)

// TestCriteriaHoldTheRulesOfTiers looks where every host page and the specification send their
// readers for the rules.
func TestCriteriaHoldTheRulesOfTiers(t *testing.T) {
	_, tree := specimenSite.get(t)
	read := func(name string) []byte {
		t.Helper()
		b, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var criteria struct {
		Standfirst string       `json:"standfirst"`
		Limit      string       `json:"limit"`
		Tiers      derive.Rules `json:"tiers"`
	}
	readJSON(t, tree, "criteria.json", &criteria)
	if criteria.Standfirst == "" || criteria.Limit == "" || len(criteria.Tiers.Tiers) != 5 {
		t.Errorf("criteria.json: %+v", criteria)
	}
	meanings := map[string]bool{}
	for _, g := range criteria.Tiers.Gaps {
		meanings[g.Reason] = true
	}
	hosts, err := fs.Glob(tree, "corpus/host/*.json")
	if err != nil || len(hosts) < 50 {
		t.Fatalf("%d hosts, %v", len(hosts), err)
	}
	for _, name := range hosts {
		var host struct {
			Gaps map[string]int64 `json:"gaps_by_reason"`
		}
		readJSON(t, tree, name, &host)
		for reason := range host.Gaps {
			if !meanings[reason] {
				t.Errorf("%s: the criteria do not say what %s means", name, reason)
			}
		}
	}
	page, twin := string(read("criteria/index.html")), string(read("criteria.md"))
	for _, tier := range criteria.Tiers.Tiers {
		rule := templates.Plainly(tier.Rule)
		if !strings.Contains(page, rule) || !strings.Contains(twin, rule) {
			t.Errorf("the page or its twin lacks the rule of %s", tier.Tier)
		}
	}
	if !strings.Contains(page, `id="tiers"`) || !strings.Contains(page, "60 %") {
		t.Error("the page lacks what tiers are counted by")
	}
}

// TestRecordSaysHowToAskAboutAHost looks for the two questions that an owner has whose host is not
// listed.
func TestRecordSaysHowToAskAboutAHost(t *testing.T) {
	_, tree := specimenSite.get(t)
	for _, name := range []string{"corpus/index.html", "corpus.md"} {
		b, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, route := range []string{"/api/why/", "/api/declare-door"} {
			if !strings.Contains(string(b), route) {
				t.Errorf("%s does not name %s", name, route)
			}
		}
	}
}
