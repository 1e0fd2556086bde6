package criteria

import (
	"os"
	"strings"
	"testing"

	"store.example/agentstore/corpus/probe"
)

// TestDefects: every field filled, every unpaid defect bound to rows that exist, every row's
// failure named by a defect.
func TestDefects(t *testing.T) {
	all, rows := probe.Batteries(), map[string]bool{}
	newest := all[len(all)-1]
	for _, c := range newest.Checks {
		rows[c.Name] = true
	}
	for _, a := range probe.Advisories() {
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
	for _, c := range newest.Checks {
		if c.Name != "reachable" && c.Name != "signed-offers" && !bound[c.Name] {
			t.Errorf("a failure of %s has no defect", c.Name)
		}
	}
	if len(Defects()) != 12+6+12 {
		t.Errorf("%d defects", len(Defects()))
	}
}

// TestDefectsAreForEver holds their ids, order and what detects them.
func TestDefectsAreForEver(t *testing.T) {
	var b strings.Builder
	for _, d := range Defects() {
		b.WriteString("defect " + d.ID + " " + d.Detectable + "\n")
	}
	want, err := os.ReadFile("testdata/names.golden")
	if err != nil || b.String() != string(want) {
		t.Errorf("names.golden is not as it was (%v):\n%s", err, &b)
	}
}
