package derive

import (
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/tier"
)

// Rules says how tiers, coverage and gaps are counted, in words. It is part of /criteria.
type Rules struct {
	Order    string           `json:"order"`
	Window   Window           `json:"window"`
	Tiers    []tier.TierWords `json:"rules"` // in the order in which they are tested
	Label    string           `json:"label"`
	Suspect  string           `json:"window_suspect"`   // of a host
	Thin     string           `json:"coverage_suspect"` // of a round
	Coverage string           `json:"coverage"`
	Gaps     []GapWords       `json:"gaps"`
}

// GapWords is a reason for which a round did not observe a host.
type GapWords struct {
	Reason  string `json:"reason"`
	Meaning string `json:"meaning"`
}

// CurrentRules returns the rules in force.
func CurrentRules() Rules {
	return Rules{
		Order: "The last 8 rounds from the host's first sighting are read, those that missed it included. The " +
			"rules are tested in this order, and the first that holds gives the tier.",
		Tiers:  tier.Rules(),
		Window: window,
		Label: "tier — ready of rounds, first week–last week. The last 8 rounds count for standing, the last 4 for " +
			"every other tier; fewer for a host that was first seen later.",
		Suspect: "window_suspect is of a host: one of its last 4 rounds did not observe it, and was capped or probed " +
			"fewer than 60 % of the hosts of the round before. In a timeline it is said of the round, observed or not.",
		Thin: "coverage_suspect is of a round: it was capped, or probed fewer than 60 % of the hosts of the round " +
			"before, or a source of names was not read to its end, or it and the round before were ordered by a " +
			"value of the census's own, as no block could be had; the last two change no tier.",
		Coverage: "The rounds that observed the host, of all since its first sighting, in whole percent, rounded " +
			"down. Rounds listed_not_walked count against it; before_first_sighting, turned_away and not_exercised " +
			"do not. A missed round is a fact about the store and not about the door.",
		Gaps: []GapWords{
			{tier.BeforeFirst, "no source had named it yet"},
			{tier.GapNotListed, "no source that was read named the host"},
			{tier.GapCap, "no row, and the round was capped"},
			{tier.GapDegraded, "nothing answered, by our own fault"},
			{"beyond_cap", "the week's cap came before its turn"},
			{"week_over", "the week ended before its turn"},
			{"interrupted", "the process died in the walk, not repeated that week"},
			{"control_failed", "neither host nor control door of the batch answered"},
			{"method_unresolved", "not exercised: GET refused, no method named"},
			{record.ReasonInputs, "not exercised: wants inputs first"},
			{"challenged", "turned away: a bot wall answered"},
			{"not_judged", "it could not be judged"},
			{"opted_out", "its own file asks not to be walked, which does not lift broken"},
			{"not_recorded", "no time was recorded"},
			{"target_refused", "it leads where our client never goes: a private address, another port, no " +
				"https"},
			{"own_host_refused", "the host is the store's own"},
			{record.ReasonErratum, "an erratum says it is no observation"},
		},
	}
}
