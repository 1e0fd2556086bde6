// Package criteria is the body of /criteria: what is asked of a door, and what the words of the
// record are worth. It is what is said of the batteries, and judges nothing.
package criteria

import "store.example/agentstore/corpus/probe"

// Criteria is the body of /criteria: what the words of the record mean, who pays for what, and
// where it ends.
type Criteria struct {
	Standfirst           string          `json:"standfirst"`
	Dated                string          `json:"dated"`
	WhatABadgeIs         string          `json:"what_a_badge_is"`
	WhatRetiresABadge    string          `json:"what_retires_a_badge"`
	NeverAScoreOnAnActor string          `json:"never_a_score_on_an_actor"`
	WhoPaysAndWhatItBuys string          `json:"who_pays_and_what_it_buys"`
	CriteriaBattery      []Criterion     `json:"criteria_battery"`
	VerdictVocabulary    []Word          `json:"verdict_vocabulary"`
	ArtifactClasses      []ArtifactClass `json:"artifact_classes"`
	ResultClasses        []Word          `json:"result_classes"`
	// Clients are those that are replayed at a door, and what each signs.
	Clients             []probe.KnownClient `json:"clients"`
	ReproducibilityRule string              `json:"reproducibility_rule"`
	Limit               string              `json:"limit"`
}

// Criterion is one check as the criteria show it.
type Criterion struct {
	Battery  string `json:"battery"` // the first version that asks it
	Name     string `json:"name"`
	Title    string `json:"title"`
	Reason   string `json:"reason"`
	Citation string `json:"citation"`
	Fix      string `json:"fix"`
	Since    string `json:"since"`
	Retired  string `json:"retired,omitzero"`
}

// Word is a word of the record and what it means.
type Word struct {
	Word    string `json:"word"`
	Meaning string `json:"meaning"`
}

// ArtifactClass says what one kind of signed artifact is worth.
type ArtifactClass struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	TrustModel   string `json:"trust_model"`
	Signs        string `json:"signs"`
	DoesNotProve string `json:"does_not_prove"`
	VerifyURL    string `json:"verify_url"` // path, the id in braces
}

// Current derives the criteria from the rows.
func Current() Criteria {
	return Criteria{
		Standfirst: "What is asked of a door, in which words the answer is given, and what none of it " +
			"proves.",
		Dated: "2026-11-20",
		WhatABadgeIs: "A picture of the newest reading, of a signed round or of a live probe, with its age " +
			"on it. Asking for it makes no reading.",
		WhatRetiresABadge: "Nothing: it ages. A newer reading takes its place, and a signed one stays in the " +
			"record.",
		NeverAScoreOnAnActor: "Readings are of doors. No person, agent, wallet or company is scored, ranked or rated.",
		WhoPaysAndWhatItBuys: "Readings are free and so is being listed. What is sold is a look outside the weekly " +
			"round or a signed copy of one; money changes no verdict, no order and no date.",
		CriteriaBattery: criteriaBattery(),
		VerdictVocabulary: []Word{
			{string(probe.Ready), "every check that was reached passed under the named battery"},
			{string(probe.NotReady), "a check failed; the failed ones are named"},
			{string(probe.Unreachable), "nothing answered, while the control door did"},
			{string(probe.NotProbed), "not looked at, or not in a way that allows a judgement; the reason is named"},
		},
		ArtifactClasses: artifactClasses(),
		ResultClasses: []Word{
			{probe.ClassSame, "same verdict, same failed checks, same battery"},
			{probe.ClassMoved, "same battery, another verdict or other failed checks"},
			{probe.ClassInstrumentMoved, "another battery: nothing is said about the door"},
			{probe.ClassNotComparable, "one of the two is no judgement"},
			{"no_such_round", "the round that was asked for is not in the chain"},
		},
		Clients: probe.KnownClients(),
		ReproducibilityRule: "The class follows from six values alone: verdict, set of failed checks and battery, of " +
			"the reading on record and of the new one.",
		Limit: "A look pays nothing, happens once and comes from one place. It sees terms, not delivery.",
	}
}

func criteriaBattery() []Criterion {
	var out []Criterion
	seen := map[string]bool{}
	for _, b := range probe.Batteries() {
		for _, c := range b.Checks {
			if seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			out = append(out, Criterion{Battery: b.Version, Name: c.Name, Title: c.Doc.Title, Reason: c.Doc.Reason,
				Citation: c.Doc.Citation,
				Fix:      c.Fix, Since: c.Since, Retired: c.Retired})
		}
	}
	return out
}

func artifactClasses() []ArtifactClass {
	return []ArtifactClass{
		{"certificate", "Certificate of purchase", "one issuer's key, with published handovers",
			"what was bought, by whom, for how much and in which settlement",
			"that the buyer was satisfied, or that the text of the good is true", "/api/verify/{id}"},
		{"service_audit", "Signed reading", "one issuer's key; the evidence is carried by digest",
			"what a named battery saw at a stated moment",
			"anything about the door at another moment, or about its deliveries", "/api/verify/{id}"},
		{"context_anchor", "Restore point", "one issuer's key", "that these bytes were filed at that time",
			"that what they say is true", "/api/verify/{id}"},
		{"bitcoin_anchor", "Proof of time", "OpenTimestamps and the Bitcoin chain; no trust in the issuer once it is " +
			"complete", "that a digest existed before a block",
			"who made it, or that nobody had it earlier", "/api/verify/{id}"},
		{"round", "Weekly round", "one issuer's key, a chain of digests, an append-only log, proofs of time",
			"every row of a week, and their order",
			"that a host which is not in it was looked for in vain", "/corpus/{sequence}.json"},
		{"row", "One host in one week", "as the round, and by itself",
			"verdict, failed checks, terms and digest of the evidence at the recorded time",
			"who operates the host, or that it delivers", "/corpus/host/{host}.json"},
		{"conformance", "Offer or receipt of another issuer", "the key that its kid names",
			"the terms of an offer, or that a payment was acknowledged",
			"that the transfer took place: read the chain", "/api/conformance/v1"},
	}
}
