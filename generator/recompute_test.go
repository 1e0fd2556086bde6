package generator

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// What follows recomputes the published figures of the specimen from its published rounds and feed
// alone. It is slow on purpose, and it shares no code with what made them: it reads the files as a
// stranger would.

type strangerRow struct {
	Host, Source, Catalog, Verdict, Reason, Battery, Fault string
	Listed                                                 bool
	Failed                                                 []string
	ObservedAt                                             string `json:"observed_at"`
	Offer                                                  *struct {
		Networks, Schemes []string
		MinUSDC           string                             `json:"min_usdc"`
		MaxUSDC           string                             `json:"max_usdc"`
		PayTo             []struct{ Network, Digest string } `json:"pay_to"`
	}
}

type strangerRound struct {
	Round struct {
		Sequence int
		Week     string
		TakenAt  string `json:"taken_at"`
		Digest   string
		Rows     int
		First    int `json:"first_leaf"`
		Roster   struct {
			Listed int
			Capped bool
		}
		Coverage struct{ Dropped, Suspect bool }
	}
	Rows []strangerRow
}

type strangerObservation struct {
	At, Kind string
	Refresh  *struct{ Host, Verdict, Fault string }
	Erratum  *struct {
		Leaf int
		Now  string `json:"verdict_now"`
	}
}

type strangerFeed struct {
	Observations []strangerObservation
	Next         string
}

type stranger struct {
	t      *testing.T
	tree   fs.FS
	rounds []strangerRound
	feed   []strangerObservation
}

func (s *stranger) read(name string, into any) {
	s.t.Helper()
	b, err := fs.ReadFile(s.tree, strings.TrimPrefix(name, "/"))
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
}

func visit(t *testing.T, dir string) *stranger {
	in := specimenInput(t, t.TempDir())
	in.Corpus = os.DirFS(dir)
	keys, err := fs.ReadFile(in.Corpus, "keys/ring.json")
	if err != nil {
		t.Fatal(err)
	}
	if in.Ring, err = attest.ParseRing(keys); err != nil {
		t.Fatal(err)
	}
	mustBuild(t, in)
	s := &stranger{t: t, tree: os.DirFS(in.OutDir)}
	for n := 1; ; n++ {
		name := fmt.Sprintf("corpus/%d.json", n)
		if _, err := fs.Stat(s.tree, name); err != nil {
			break
		}
		var r strangerRound
		s.read(name, &r)
		if len(r.Rows) != r.Round.Rows {
			t.Fatalf("%s has %d rows of %d", name, len(r.Rows), r.Round.Rows)
		}
		s.rounds = append(s.rounds, r)
	}
	for next := "corpus/feed.json"; next != ""; {
		var f strangerFeed
		s.read(next, &f)
		s.feed = append(f.Observations, s.feed...)
		next = f.Next
	}
	if len(s.rounds) != 12 {
		t.Fatalf("the specimen has %d rounds", len(s.rounds))
	}
	for _, o := range s.feed {
		if o.Erratum != nil {
			s.correct(o.Erratum.Leaf, o.Erratum.Now)
		}
	}
	return s
}

// correct has a row say what an erratum says that it should have said.
func (s *stranger) correct(leaf int, now string) {
	for i := range s.rounds {
		r := &s.rounds[i]
		if at := leaf - r.Round.First; 0 <= at && at < len(r.Rows) {
			row := &r.Rows[at]
			row.Verdict, row.Reason, row.Fault, row.Failed = now, "", "none", nil
			if now == "not_probed" {
				row.Reason = "erratum"
			}
		}
	}
}

func (s *stranger) row(i int, host string) *strangerRow {
	for j := range s.rounds[i].Rows {
		if s.rounds[i].Rows[j].Host == host {
			return &s.rounds[i].Rows[j]
		}
	}
	return nil
}

// saw is the verdict with which a round observed a host, "" if it did not.
func (s *stranger) saw(i int, host string) string {
	r := s.row(i, host)
	if r == nil || r.Verdict == "not_probed" || r.Verdict == "unreachable" && r.Fault == "instrument" {
		return ""
	}
	return r.Verdict
}

func (s *stranger) hosts() []string {
	set := map[string]bool{}
	for _, r := range s.rounds {
		for _, row := range r.Rows {
			set[row.Host] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func (s *stranger) first(host string) int {
	for i := range s.rounds {
		if s.row(i, host) != nil {
			return i
		}
	}
	return len(s.rounds)
}

func (s *stranger) gap(i int, host string) string {
	r := s.row(i, host)
	switch {
	case i < s.first(host):
		return "before_first_sighting"
	case s.saw(i, host) != "":
		return ""
	case r == nil && s.rounds[i].Round.Roster.Capped:
		return "possibly_beyond_cap"
	case r == nil:
		return "not_listed"
	case r.Verdict == "unreachable":
		return "instrument_degraded"
	}
	return r.Reason
}

// tier follows the published rules, from the newest round backwards.
func (s *stranger) tier(host string) string {
	last := len(s.rounds) - 1
	var window []int // newest first
	for i := last; i >= s.first(host) && len(window) < 8; i-- {
		window = append(window, i)
	}
	at, newest := "", ""
	observed := 0
	for _, i := range slices.Backward(window) {
		if v := s.saw(i, host); v != "" {
			observed++
			if r := s.row(i, host); r.ObservedAt >= at {
				at, newest = r.ObservedAt, v
			}
		}
	}
	began := ""
	if oldest := window[len(window)-1]; oldest > s.first(host) {
		began = s.rounds[oldest-1].Round.TakenAt
	}
	for _, o := range s.feed {
		if o.Kind == "paid_refresh" && o.Refresh.Host == host && o.At >= began && o.At >= at &&
			!(o.Refresh.Verdict == "unreachable" && o.Refresh.Fault == "instrument") {
			at, newest = o.At, o.Refresh.Verdict
		}
	}
	ready := func(n int) (count int) {
		for _, i := range window[:min(n, len(window))] {
			if s.saw(i, host) == "ready" {
				count++
			}
		}
		return count
	}
	suspect := false
	for _, i := range window[:min(4, len(window))] {
		if s.saw(i, host) == "" && (s.rounds[i].Round.Roster.Capped || s.rounds[i].Round.Coverage.Dropped) {
			suspect = true
		}
	}
	name, n := "observed", 4
	if newest == "not_ready" || newest == "unreachable" {
		name = "broken"
	} else if observed < 4 || suspect {
		name = "indeterminate"
	} else if ready(8) == 8 {
		name, n = "standing", 8
	} else if ready(4) == 4 {
		name = "established"
	}
	n = min(n, len(window))
	return fmt.Sprintf("%s — %d of %d, %s–%s", name, ready(n), n, s.rounds[window[n-1]].Round.Week[5:],
		s.rounds[last].Round.Week[5:])
}

// TestSpecimenRecomputed compares what is published of the specimen with what its rows come to.
func TestSpecimenRecomputed(t *testing.T) {
	recomputed(t, "../corpus")
}

// TestErrataRecomputed does so behind errata: of each round a few rows are said to have been not
// probed, ready or unreachable, and one of them once more.
func TestErrataRecomputed(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../corpus")); err != nil {
		t.Fatal(err)
	}
	keys, err := os.ReadFile(filepath.Join(dir, "keys/ring.json"))
	if err != nil {
		t.Fatal(err)
	}
	ring, err := attest.ParseRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := record.Open(os.DirFS(dir), ring)
	if err != nil {
		t.Fatal(err)
	}
	feed, err := rec.Observations()
	if err != nil {
		t.Fatal(err)
	}
	w := &seal.Writer{Dir: dir, Origin: rec.Rounds()[0].Origin, Identity: attest.SpecimenKey(),
		LogKey: attest.SpecimenKeyFor(attest.PurposeLog), Ring: ring}
	rng := rand.New(rand.NewPCG(20261127, 1))
	var errata []record.Observation
	for _, r := range rec.Rounds() {
		for i, now := range []string{record.VerdictNotProbed, record.VerdictReady, record.VerdictUnreachable,
			record.VerdictNotReady, record.VerdictNotProbed} {
			e := &record.Erratum{Leaf: r.FirstLeaf + rng.Int64N(r.Rows), Reason: "asked wrongly", VerdictNow: now}
			if i == 4 {
				e.Leaf = errata[len(errata)-1].Erratum.Leaf
			}
			if now != record.VerdictNotProbed {
				e.EvidenceDigest = strings.Repeat("ab", 32)
			}
			errata = append(errata, record.Observation{Kind: record.ObservationErratum, Erratum: e,
				At: max(feed[len(feed)-1].At, rec.Rounds()[len(rec.Rounds())-1].TakenAt)})
		}
	}
	if _, err := w.Observe(t.Context(), errata...); err != nil {
		t.Fatal(err)
	}
	recomputed(t, dir)
}

// recomputed compares what is published of a record with what its rows come to.
func recomputed(t *testing.T, dir string) {
	s := visit(t, dir)
	t.Run("hosts", func(t *testing.T) { s.t = t; s.checkHosts() })
	t.Run("trajectory", func(t *testing.T) { s.t = t; s.checkTrajectory() })
	t.Run("diffs", func(t *testing.T) { s.t = t; s.checkDiffs() })
	t.Run("addresses", func(t *testing.T) { s.t = t; s.checkAddresses() })
}

type strangerHost struct {
	Tier struct{ Tier, Line string }

	Rounds   int                               `json:"rounds_since_first_sighting"`
	Probed   int                               `json:"rounds_probed"`
	Gapped   int                               `json:"rounds_gapped"`
	Coverage int                               `json:"observation_coverage_pct"`
	Gaps     map[string]int                    `json:"gaps_by_reason"`
	Verdicts []struct{ Week, From, To string } `json:"verdict_changes"`
	Timeline []struct {
		Week, Probed, Gap, Verdict string
		Listed                     bool
	}
	Payment *struct {
		Sequence int
		Digest   string
		Others   *int `json:"also_receives_at_other_doors"`
	} `json:"payment_address"`
}

func (s *stranger) checkHosts() {
	listed := map[string]string{}
	byTier := map[string]int{}
	for page := "corpus/tiers/1.json"; page != ""; {
		var p struct {
			Hosts []struct{ Host, Label string }
			Next  string
		}
		s.read(page, &p)
		for _, h := range p.Hosts {
			listed[h.Host] = h.Label
		}
		page = p.Next
	}
	if got := slices.Sorted(maps.Keys(listed)); !slices.Equal(got, s.hosts()) {
		s.t.Errorf("the list has %d hosts, the rounds %d", len(got), len(s.hosts()))
	}
	for _, host := range s.hosts() {
		var got strangerHost
		name := host
		if _, err := fs.Stat(s.tree, "corpus/host/"+host+".json"); err != nil {
			continue // its file is named by a hash; the list has it
		}
		s.read("corpus/host/"+name+".json", &got)
		want := s.tier(host)
		if got.Tier.Line != want || listed[host] != want {
			s.t.Errorf("%s: %q, in the list %q, recomputed %q", host, got.Tier.Line, listed[host], want)
		}
		byTier[strings.Fields(want)[0]]++
		probed, rounds := 0, len(s.rounds)-s.first(host)
		gaps, before := map[string]int{}, ""
		var changes []struct{ Week, From, To string }
		for i, r := range s.rounds {
			v := s.saw(i, host)
			if g := s.gap(i, host); g != "" {
				gaps[g]++
				if g == "challenged" || g == "method_unresolved" || g == "inputs_lacking" {
					rounds-- // it was walked, and is no gap of the store
				}
			}
			if v != "" {
				probed++
				if before != "" && before != v {
					changes = append(changes, struct{ Week, From, To string }{r.Round.Week, before, v})
				}
				before = v
			}
			line := got.Timeline[i]
			if line.Week != r.Round.Week || line.Verdict != v || line.Gap != s.gap(i, host) {
				s.t.Errorf("%s: timeline of %s is %+v, recomputed %q, %q", host, r.Round.Week, line, v, s.gap(i, host))
			}
		}
		if got.Probed != probed || got.Rounds != rounds || got.Gapped != rounds-probed ||
			got.Coverage != 100*probed/max(rounds, 1) {
			s.t.Errorf("%s: %d of %d, %d %%; recomputed %d of %d", host, got.Probed, got.Rounds, got.Coverage, probed,
				rounds)
		}
		if diff := cmp.Diff(gaps, got.Gaps); diff != "" {
			s.t.Errorf("%s: gaps (-recomputed +published):\n%s", host, diff)
		}
		if !slices.Equal(changes, got.Verdicts) {
			s.t.Errorf("%s: changes %v, recomputed %v", host, got.Verdicts, changes)
		}
		s.checkPayment(host, got)
	}
	var head struct {
		ByTier map[string]int `json:"by_tier"`
	}
	s.read("corpus/tiers.json", &head)
	for tier, n := range byTier {
		if d := head.ByTier[tier] - n; d < 0 || d > len(s.hosts())-s.files() {
			s.t.Errorf("%d hosts are %s, recomputed %d", head.ByTier[tier], tier, n)
		}
	}
}

// files counts the hosts whose file bears their name.
func (s *stranger) files() (n int) {
	for _, host := range s.hosts() {
		if _, err := fs.Stat(s.tree, "corpus/host/"+host+".json"); err == nil {
			n++
		}
	}
	return n
}

// checkPayment counts at how many other hosts the round saw the first address.
func (s *stranger) checkPayment(host string, got strangerHost) {
	for i, v := range slices.Backward(s.rounds) {
		if s.saw(i, host) == "" {
			continue
		}
		offer := s.row(i, host).Offer
		if offer == nil || len(offer.PayTo) == 0 {
			if got.Payment.Digest != "" {
				s.t.Errorf("%s: an address where none was captured", host)
			}
			return
		}
		others := 0
		for _, r := range v.Rows {
			if r.Host != host && r.Offer != nil && slices.Contains(r.Offer.PayTo, offer.PayTo[0]) {
				others++
			}
		}
		if got.Payment.Digest != offer.PayTo[0].Digest || got.Payment.Others == nil || *got.Payment.Others != others {
			s.t.Errorf("%s: address %+v, recomputed %s at %d others", host, got.Payment, offer.PayTo[0].Digest, others)
		}
		return
	}
	if got.Payment == nil || got.Payment.Digest != "" || got.Payment.Others != nil {
		s.t.Errorf("%s: an address of a host that nobody observed", host)
	}
}
