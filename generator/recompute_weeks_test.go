package generator

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// checkTrajectory counts every round again.
func (s *stranger) checkTrajectory() {
	type week struct {
		Week        string
		Sequence    int
		Digest      string
		Known       int `json:"hosts_known"`
		Listed      int `json:"hosts_listed"`
		Due         int `json:"hosts_due"`
		Probed      int `json:"hosts_probed"`
		Ready       int
		NotReady    int `json:"not_ready"`
		Unreachable int
		NotProbed   int `json:"not_probed"`
		Degraded    int `json:"observer_degraded"`
		Offers      int `json:"offers_seen"`
		Networks    map[string]int
		Failed      map[string]int `json:"failure_classes"`
		Gaps        map[string]int `json:"gaps_by_reason"`
		Catalogs    map[string]int
		Suspect     bool `json:"coverage_suspect"`
	}
	var doc struct{ Weeks []week }
	s.read("corpus/trajectory.json", &doc)
	for i, r := range s.rounds {
		w := week{Week: r.Round.Week, Sequence: r.Round.Sequence, Digest: r.Round.Digest, Known: r.Round.Roster.Listed,
			Due: len(r.Rows), Suspect: r.Round.Coverage.Suspect,
			Networks: map[string]int{}, Failed: map[string]int{}, Gaps: map[string]int{}, Catalogs: map[string]int{}}
		for _, row := range r.Rows {
			if row.Listed {
				w.Listed++
			}
			if row.Catalog != "" {
				w.Catalogs[row.Catalog]++
			}
			if g := s.gap(i, row.Host); g != "" {
				w.Gaps[g]++
			}
			switch s.saw(i, row.Host) {
			case "ready":
				w.Ready++
			case "not_ready":
				w.NotReady++
			case "unreachable":
				w.Unreachable++
			default:
				if row.Verdict == "not_probed" {
					w.NotProbed++
				} else {
					w.Degraded++
				}
				continue
			}
			for name := range setOf(row.Failed) {
				w.Failed[name]++
			}
			if row.Offer != nil {
				w.Offers++
				for n := range setOf(row.Offer.Networks) {
					w.Networks[n]++
				}
			}
		}
		w.Probed = w.Ready + w.NotReady + w.Unreachable + w.Degraded
		if diff := cmp.Diff(w, doc.Weeks[i]); diff != "" {
			s.t.Errorf("%s (-recomputed +published):\n%s", w.Week, diff)
		}
	}
}

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return set
}

type strangerDiff struct {
	From, To              struct{ Week string }
	Appeared, Disappeared []string
	Transitions           []struct{ Host, From, To string }
	Drift                 []struct{ Host, Field, From, To string }
	InFrom                int `json:"hosts_in_from"`
	InTo                  int `json:"hosts_in_to"`
	InBoth                int `json:"hosts_in_both"`
}

func (s *stranger) diff(i, j int) (d strangerDiff) {
	d.From.Week, d.To.Week = s.rounds[i].Round.Week, s.rounds[j].Round.Week
	d.Appeared, d.Disappeared = []string{}, []string{}
	counted := func(i int, host string) *strangerRow {
		r := s.row(i, host)
		if r == nil || r.Source == "revisit" || r.Verdict == "unreachable" && r.Fault == "instrument" {
			return nil
		}
		return r
	}
	list := func(names []string) string {
		sorted := slices.Sorted(maps.Keys(setOf(names)))
		return strings.Join(sorted, ",")
	}
	for _, host := range s.hosts() {
		x, y := counted(i, host), counted(j, host)
		if x != nil {
			d.InFrom++
		}
		if y != nil {
			d.InTo++
		}
		switch {
		case x == nil && y == nil:
			continue
		case x == nil:
			d.Appeared = append(d.Appeared, host)
			continue
		case y == nil:
			d.Disappeared = append(d.Disappeared, host)
			continue
		}
		d.InBoth++
		if x.Verdict == "not_probed" || y.Verdict == "not_probed" {
			continue
		}
		if x.Verdict != y.Verdict {
			d.Transitions = append(d.Transitions, struct{ Host, From, To string }{host, x.Verdict, y.Verdict})
		}
		if x.Offer == nil || y.Offer == nil {
			continue
		}
		pay := func(r *strangerRow) string {
			var all []string
			for _, p := range r.Offer.PayTo {
				all = append(all, p.Network+" "+p.Digest)
			}
			return list(all)
		}
		for _, f := range [][3]string{{"min_usdc", x.Offer.MinUSDC, y.Offer.MinUSDC},
			{"max_usdc", x.Offer.MaxUSDC, y.Offer.MaxUSDC},
			{"networks", list(x.Offer.Networks), list(y.Offer.Networks)},
			{"schemes", list(x.Offer.Schemes), list(y.Offer.Schemes)}, {"pay_to", pay(x), pay(y)}} {
			if f[1] != f[2] && f[1] != "" && f[2] != "" {
				d.Drift = append(d.Drift, struct{ Host, Field, From, To string }{host, f[0], f[1], f[2]})
			}
		}
	}
	return d
}

func (s *stranger) checkDiffs() {
	last := len(s.rounds) - 1
	check := func(name string, want strangerDiff) {
		got := strangerDiff{}
		s.read(name, &got)
		if len(got.Transitions) == 0 {
			got.Transitions = nil
		}
		if len(got.Drift) == 0 {
			got.Drift = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			s.t.Errorf("%s (-recomputed +published):\n%s", name, diff)
		}
	}
	moved := 0
	for i, r := range s.rounds {
		check("corpus/diff/"+r.Round.Week+".json", s.diff(i, last))
		if i > 0 {
			want := s.diff(i-1, i)
			moved += len(want.Transitions)
			check("corpus/changes/"+r.Round.Week+".json", want)
		}
	}
	if moved == 0 {
		s.t.Error("nothing changes in the specimen, so that nothing was compared")
	}
	entries, err := fs.ReadDir(s.tree, "corpus/diff")
	if err != nil || len(entries) != len(s.rounds) {
		s.t.Errorf("%d differences for %d known weeks: %v", len(entries), len(s.rounds), err)
	}
	for _, e := range entries {
		if week := strings.TrimSuffix(e.Name(), path.Ext(e.Name())); !slices.ContainsFunc(s.rounds,
			func(r strangerRound) bool { return r.Round.Week == week }) {
			s.t.Errorf("a difference from %s, for which there is no round", week)
		}
	}
}

func (s *stranger) checkAddresses() {
	var got struct {
		Week     string
		Probed   int `json:"hosts_probed"`
		Offers   int `json:"hosts_with_offer"`
		PayTo    int `json:"hosts_with_pay_to"`
		Distinct int `json:"distinct_addresses"`
		Shared   int `json:"addresses_at_multiple_doors"`
		Largest  int `json:"largest_cluster_doors"`
	}
	want := got
	s.read("corpus/wallet-facts.json", &got)
	newest := s.rounds[len(s.rounds)-1]
	want.Week = newest.Round.Week
	doors := map[string]map[string]bool{}
	for _, r := range newest.Rows {
		probed := r.Verdict != "not_probed" // an erratum says so of some that made an offer
		if probed {
			want.Probed++
		}
		if r.Offer == nil {
			continue
		}
		if probed {
			want.Offers++
		}
		if probed && len(r.Offer.PayTo) > 0 {
			want.PayTo++
		}
		for _, p := range r.Offer.PayTo {
			key := p.Network + " " + p.Digest
			if doors[key] == nil {
				doors[key] = map[string]bool{}
			}
			doors[key][r.Host] = true
		}
	}
	want.Distinct = len(doors)
	var sizes []int
	for _, at := range doors {
		sizes = append(sizes, len(at))
	}
	sort.Ints(sizes)
	for _, n := range sizes {
		if n > 1 {
			want.Shared++
		}
		want.Largest = max(want.Largest, n)
	}
	if got != want {
		s.t.Errorf("facts about addresses %+v, recomputed %+v", got, want)
	}
	if want.Shared == 0 {
		s.t.Error("no address of the specimen is shared, so that nothing was compared")
	}
}
