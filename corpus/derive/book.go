package derive

import (
	"fmt"

	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// Book is a record with the figures of its rounds and the roll of its hosts: what every view but
// those of single hosts is made from. It is read-only once it is filled, and may be shared.
type Book struct {
	// BaseURL is the site's address without a slash at its end.
	BaseURL string
	Rounds  []record.Round // oldest first
	Figures []Figures      // one for each round
	Roll    *Roll
	Feed    []record.Observation
	// Proofs is the state of the proof of time of each round, "" for none.
	Proofs []string
}

// Source says what a view was derived from: the newest round, and how many observations there were.
type Source struct {
	*Cited
	Rounds       int64  `json:"rounds"`
	Observations int64  `json:"observations"`
	Index        string `json:"index"`
	License      string `json:"license"`
	Signed       string `json:"signed"`
}

// source says it; Cited is null while there is no round.
func (b *Book) source() Source {
	s := Source{Rounds: int64(len(b.Rounds)), Observations: int64(len(b.Feed)),
		Index: b.BaseURL + "/corpus.json", License: License,
		Signed: "This view is not signed. It is a function of signed rows, rounds and observations, and anybody can " +
			"work it out again."}
	if r := b.newest(); r != nil {
		c := cite(*r)
		s.Cited = &c
	}
	return s
}

func (b *Book) newest() *record.Round {
	if len(b.Rounds) == 0 {
		return nil
	}
	return &b.Rounds[len(b.Rounds)-1]
}

// Weeks lists the weeks for which there are rounds, oldest first.
func (b *Book) Weeks() []string {
	weeks := []string{}
	for _, r := range b.Rounds {
		weeks = append(weeks, r.Week)
	}
	return weeks
}

// NoRounds says why a view of an empty record is empty.
const NoRounds = "No round has been sealed yet, so there is nothing to derive this from. That is a fact about the " +
	"store, not about any door."

// TrajectoryView is /corpus/trajectory.json.
type TrajectoryView struct {
	Format      string `json:"format"`
	Explanation string `json:"explanation"`
	Weeks       []Week `json:"weeks"`
	From        Source `json:"derived_from"`
}

// Trajectory is one point a round.
func (b *Book) Trajectory() TrajectoryView {
	v := TrajectoryView{Format: "store-trajectory/v1", Weeks: []Week{}, From: b.source(),
		Explanation: "One point a round, counts only. hosts_listed, hosts_probed and not_probed are of hosts_due, " +
			"which are the rows of the round, and hosts_due of hosts_known by name. ready, not_ready, unreachable " +
			"and observer_degraded add up to hosts_probed; observer_degraded were not reached through the store's " +
			"own fault and are no observations. not_exercised, of not_probed, were walked and not asked as they " +
			"want to be asked, which is no verdict and no gap of the store. offers_seen, of hosts_probed, sent a " +
			"challenge, whether its terms could be read or not; networks are of offers_seen, failure_classes of " +
			"hosts_probed, gaps_by_reason of hosts_due, catalogs of hosts_listed. errors are of the verdicts as " +
			"they were signed, with the corrections known so far: /corpus/errors.json says how they are counted. A " +
			"week without a round is absent."}
	for _, f := range b.Figures {
		v.Weeks = append(v.Weeks, f.Week)
	}
	if len(v.Weeks) == 0 {
		v.Explanation = NoRounds
	}
	return v
}

// WalletView is /corpus/wallet-facts.json.
type WalletView struct {
	Format string  `json:"format"`
	Week   *string `json:"week"` // null while there is no round
	*Wallets
	Explanation string `json:"explanation"`
	From        Source `json:"derived_from"`
}

// WalletsNow are the facts about addresses of the newest round.
func (b *Book) WalletsNow() WalletView {
	v := WalletView{Format: "store-wallet-facts/v1", Explanation: NoRounds, From: b.source()}
	if n := len(b.Figures); n > 0 {
		f := b.Figures[n-1].Wallets
		v.Week, v.Wallets = &f.Week, &f
		v.Explanation = "Counts of the newest round: hosts_with_pay_to, whose challenge named an address that could " +
			"be read, of hosts_with_offer, which sent a challenge, of hosts_probed. addresses_at_multiple_doors is " +
			"of distinct_addresses; largest_cluster_doors is how many of hosts_with_pay_to name the address that " +
			"most do. An address is a pair of network and digest; no names and no addresses are published here."
	}
	return v
}

// DiffView is one file of /corpus/diff and /corpus/changes.
type DiffView struct {
	Format string `json:"format"`
	Diff
	Explanation string   `json:"explanation"`
	KnownWeeks  []string `json:"known_weeks"`
	License     string   `json:"license"`
	Index       string   `json:"index"`
}

const diffExplained = "Hosts by name, in order. Rows of revisits, and of doors that were walked and not reached " +
	"through the store's own fault, are left out on both sides. A host that was not probed, for whatever reason, " +
	"counts among the hosts and has no verdict and no terms to compare; what a row leaves out is not compared " +
	"either. battery_changed says that the instrument moved, and perhaps not the door."

// Since is the difference from the i-th round to the newest; from the newest itself nothing
// changed.
func (b *Book) Since(i int) DiffView {
	return DiffView{Format: "store-diff/v1", Diff: b.Roll.Since(i), Explanation: diffExplained, KnownWeeks: b.Weeks(),
		License: License,
		Index:   b.BaseURL + "/corpus.json"}
}

// Weekly is what the i-th round changed of the one before it; the first has nothing to be compared
// with. It stays as it is, so that it names no weeks that come later.
func (b *Book) Weekly(i int) DiffView {
	return DiffView{Format: "store-changes/v1", Diff: b.Roll.Weekly(i - 1), Explanation: diffExplained,
		KnownWeeks: b.Weeks()[:i+1], License: License, Index: b.BaseURL + "/corpus.json"}
}

// FreshView is /fresh-set.json.
type FreshView struct {
	Format      string         `json:"format"`
	Week        *string        `json:"week"`
	ObservedAt  string         `json:"observed_at,omitzero"`
	Rows        []Fresh        `json:"rows"`
	Truncated   bool           `json:"truncated"`
	Aggregates  FreshAggregate `json:"aggregates"`
	Coverage    FreshCoverage  `json:"coverage"`
	Evidence    string         `json:"evidence,omitzero"` // the round
	Explanation string         `json:"explanation"`
	From        Source         `json:"derived_from"`
}

// FreshAggregate sums the rows up, those that were left out included.
type FreshAggregate struct {
	Ready   int64       `json:"ready"`
	Rails   Rails       `json:"rails"`
	Schemes tier.Counts `json:"schemes"`
	Price   Price       `json:"price_usdc"`
}

// FreshCoverage says of what the ready hosts are a part.
type FreshCoverage struct {
	Probed  int64 `json:"hosts_probed"`
	Due     int64 `json:"hosts_due"`
	Known   int64 `json:"hosts_known"`
	Suspect bool  `json:"coverage_suspect"`
}

// Fresh is the newest round's doors with a conformant challenge.
func (b *Book) Fresh() FreshView {
	v := FreshView{Format: "store-fresh-set/v1", Rows: []Fresh{}, Explanation: NoRounds, From: b.source()}
	v.Aggregates.Schemes = tier.Counts{}
	n := len(b.Figures)
	if n == 0 {
		return v
	}
	f, r := b.Figures[n-1], b.Rounds[n-1]
	v.Week, v.ObservedAt, v.Evidence = &r.Week, r.TakenAt, b.BaseURL+RoundPath(r.Sequence)
	v.Rows, v.Truncated = f.Fresh, f.FreshReady > int64(len(f.Fresh))
	v.Aggregates = FreshAggregate{Ready: f.FreshReady, Rails: f.Market.Rails, Schemes: f.Market.Schemes,
		Price: f.Market.Price}
	v.Coverage = FreshCoverage{Probed: f.Week.HostsProbed, Due: f.Week.HostsDue, Known: f.Week.HostsKnown,
		Suspect: f.Week.CoverageSuspect}
	v.Explanation = "Hosts whose door was ready in the newest round, with its rails and its cheapest ask. The " +
		"aggregates are of ready hosts, but for testnet_flagged, which is of hosts_probed. Only ready hosts are " +
		"named; a host that is not here was not ready, or not seen."
	return v
}

// RegistryView is /registry.json.
type RegistryView struct {
	Format      string   `json:"format"`
	Explanation string   `json:"explanation"`
	Weeks       []Market `json:"weeks"` // oldest first
	From        Source   `json:"derived_from"`
}

// RegistryWeeks is how many weeks the registry keeps.
const RegistryWeeks = 104

// Registry is what the doors asked for, week by week.
func (b *Book) Registry() RegistryView {
	v := RegistryView{Format: "store-registry/v1", Weeks: []Market{}, From: b.source(), Explanation: NoRounds}
	for _, f := range b.Figures[max(0, len(b.Figures)-RegistryWeeks):] {
		v.Weeks = append(v.Weeks, f.Market)
	}
	if len(v.Weeks) > 0 {
		v.Explanation = fmt.Sprintf("At most the newest %d rounds. ready and dead_doors are of probed, which leaves "+
			"out doors that were not reached through the store's own fault. rails, schemes and price_usdc are of "+
			"ready doors, but for testnet_flagged, which is of probed; a price is a door's cheapest ask, and sample "+
			"says of how many doors. distinct_addresses are those that probed doors named; top5 says how often the "+
			"five named most were named, of all times that a door named one. Percentages are whole and rounded down. "+
			"How many operators there are is not known: addresses are counted, and an address is not an operator.",
			RegistryWeeks)
	}
	return v
}

// InflowsView is /inflows.json.
type InflowsView struct {
	Format      string       `json:"format"`
	Explanation string       `json:"explanation"`
	Weeks       []InflowWeek `json:"weeks"` // oldest first
	From        Source       `json:"derived_from"`
}

// InflowWeek is the inflows block of one round, as it was signed.
type InflowWeek struct {
	Cited
	record.Inflows
}

// Inflows repeats what the headers of the rounds say of USDC arriving at advertised addresses.
func (b *Book) Inflows() InflowsView {
	v := InflowsView{Format: "store-inflows/v1", Weeks: []InflowWeek{}, From: b.source(), Explanation: NoRounds}
	for _, r := range b.Rounds {
		v.Weeks = append(v.Weeks, InflowWeek{cite(r), r.Inflows})
	}
	if len(v.Weeks) > 0 {
		v.Explanation = "USDC transfers seen arriving at addresses that doors advertised, as each round's signed " +
			"header has them: counts only, no names and no addresses. A transfer to such an address need not be a " +
			"purchase. A network that could not be read says why."
	}
	return v
}

// Others is at how many hosts besides one a round saw an address, given that it saw it at that one.
func (b *Book) Others(sequence int64, address record.PayTo) int64 {
	for i, r := range b.Rounds {
		if r.Sequence == sequence {
			return b.Figures[i].Sharing.Others(address)
		}
	}
	return 0
}
