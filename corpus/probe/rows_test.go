package probe

import (
	"slices"
	"strings"
	"testing"

	"store.example/agentstore/corpus/exchange"

	"github.com/google/go-cmp/cmp"
)

// TestPractices judges the exact bytes of every practice door.
func TestPractices(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Practices() {
		if seen[p.ID] || p.Title == "" || p.Teaches == "" || p.RightBuyer == "" ||
			!slices.Contains([]Verdict{Ready, NotReady}, p.Verdict) {
			t.Errorf("%s: a field of the row is empty, or its id is taken", p.ID)
		}
		seen[p.ID] = true
		url := "https://store.example/api/practice/" + p.ID
		a, again := p.Answer(url), p.Answer(url)
		if diff := cmp.Diff(a, again); diff != "" {
			t.Errorf("%s answers twice unlike:\n%s", p.ID, diff)
		}
		if a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached", p.ID)
		}
		// A refusal is told as RFC 9457 has it, except where the body is the fault itself.
		if body := object(a.Body); a.Status >= 400 &&
			!slices.Contains([]string{"prose-payment", "rail-switch", "price-conflict"}, p.ID) &&
			(a.Header.Get("Content-Type") != "application/problem+json" ||
				member(body, "type") != "https://store.example/problems/payment_required" ||
				member(body, "status") != 402.0 || member(body, "instance") != "/api/practice/"+p.ID ||
				member(body, "error") == nil || member(body, "title") == nil || member(body, "detail") == nil) {
			t.Errorf("%s tells its refusal as %s %s", p.ID, a.Header.Get("Content-Type"), a.Body)
		}
		x := exchange.Exchange{Request: exchange.Request{Method: "GET", URL: url}, StartedAt: door(t, "")[0].StartedAt,
			Response: exchange.Response{Status: a.Status, Proto: "HTTP/2.0", Header: a.Header, Body: a.Body}}
		r := look(t, V2, []exchange.Exchange{x}, Declaration{})
		if r.Verdict != p.Verdict || !sameNames(r.Reading().Failed, p.Failed) {
			t.Errorf("%s: %s %v, want %s %v", p.ID, r.Verdict, r.Reading().Failed, p.Verdict, p.Failed)
		}
		for _, name := range p.Advisories {
			if !slices.ContainsFunc(r.Advisories, func(n Note) bool { return n.Name == name }) {
				t.Errorf("%s does not raise %s: %v", p.ID, name, r.Advisories)
			}
		}
		for _, e := range []string{"resource-host-mismatch", "placement-mismatch", "conflicting-amounts",
			"settles-before-delivery", "testnet-network"} {
			if slices.ContainsFunc(r.Advisories, func(n Note) bool { return n.Name == e }) &&
				!slices.Contains(p.Advisories, e) {
				t.Errorf("%s raises %s, which its row does not say", p.ID, e)
			}
		}
	}
	want := []string{"malformed-header", "empty-accepts", "testnet-network", "name-payto", "wrong-rail-payto",
		"dust-correct"}
	var got []string
	for _, p := range Practices()[:6] {
		got = append(got, p.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(Practices()) != 6+16 {
		t.Errorf("%d practice doors:\n%s", len(Practices()), diff)
	}
}

// TestDefects: every field filled, every unpaid defect bound to rows that exist, every row's
// failure named by a defect.
func TestDefects(t *testing.T) {
	rows := map[string]bool{}
	for _, c := range knownBattery(V2).Checks {
		rows[c.Name] = true
	}
	for _, a := range Advisories() {
		rows[a.Name] = true
	}
	seen, bound := map[string]bool{}, map[string]bool{}
	for _, d := range Defects() {
		if seen[d.ID] {
			t.Errorf("%s stands twice", d.ID)
		}
		seen[d.ID] = true
		for _, text := range []string{d.ID, d.Title, d.Asserts, d.Costs, d.OurSignal, d.FalsifiedBy, d.RepairHint,
			d.BuyerHint} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: an empty field", d.ID)
			}
		}
		switch {
		case d.Detectable == Paid && (len(d.Signals) > 0 || d.Series), d.Detectable == Unpaid &&
			(len(d.Signals) == 0) != d.Series, d.Detectable != Paid && d.Detectable != Unpaid:
			t.Errorf("%s: detectable %s, signals %v", d.ID, d.Detectable, d.Signals)
		}
		for _, name := range d.Signals {
			if !rows[name] {
				t.Errorf("%s: no row %s", d.ID, name)
			}
			bound[name] = true
			if !strings.Contains(d.OurSignal, name) {
				t.Errorf("%s does not say its signal %s: %s", d.ID, name, d.OurSignal)
			}
		}
	}
	for _, c := range knownBattery(V2).Checks {
		if c.Name != "reachable" && c.Name != "signed-offers" && !bound[c.Name] {
			t.Errorf("a failure of %s has no defect", c.Name)
		}
	}
	if len(Defects()) != 12+6+11 {
		t.Errorf("%d defects", len(Defects()))
	}
}

func TestCriteria(t *testing.T) {
	c := CurrentCriteria()
	if len(c.CriteriaBattery) != len(knownBattery(V2).Checks) || c.CriteriaBattery[0].Battery != V1 ||
		c.CriteriaBattery[len(c.CriteriaBattery)-1].Battery != V2 {
		t.Errorf("%d criteria", len(c.CriteriaBattery))
	}
	if len(c.VerdictVocabulary) != 4 || len(c.ResultClasses) != 5 {
		t.Errorf("%d verdicts, %d classes", len(c.VerdictVocabulary), len(c.ResultClasses))
	}
	ids := map[string]bool{}
	for _, a := range c.ArtifactClasses {
		if ids[a.ID] || a.ID == "" || a.Name == "" || a.TrustModel == "" || a.Signs == "" || a.DoesNotProve == "" ||
			!strings.HasPrefix(a.VerifyURL, "/") {
			t.Errorf("artifact class %+v", a)
		}
		ids[a.ID] = true
	}
}
