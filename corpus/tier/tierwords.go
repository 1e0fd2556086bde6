package tier

import (
	"slices"
)

// TierWords is a tier with its rule.
type TierWords struct {
	Tier string `json:"tier"`
	Rule string `json:"rule"`
}

// tierRules are in the order in which they are tested.
var tierRules = []TierWords{
	{TierBroken, "The newest signed observation, by a round or a paid refresh, is not_ready or unreachable."},
	{TierIndeterminate, "Fewer than 4 of the last 8 rounds observed the host, or one of the last 4 was suspect " +
		"and did not, or the last 2 were both turned away."},
	{TierStanding, "Ready in all of the last 8 rounds."},
	{TierEstablished, "Ready in all of the last 4 rounds."},
	{TierObserved, "Observed in at least 4 of the last 8 rounds, and none of the other rules holds."},
}

// Rules says in words when a host has each tier, in the order in which the rules are tested.
func Rules() []TierWords { return slices.Clone(tierRules) }

// TierRule says it of one.
func TierRule(tier string) string {
	return tierRules[slices.IndexFunc(tierRules, func(t TierWords) bool { return t.Tier == tier })].Rule
}
