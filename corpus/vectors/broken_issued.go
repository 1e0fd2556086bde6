package vectors

import (
	"strings"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// certified is a record of two counts of certificates, with the trees of what was delivered.
func certified(f *forge) {
	f.begin(attest.SpecimenKey(), attest.SpecimenKeyFor(attest.PurposeLog))
	count := func(at string, total, size int64, through string) record.Observation {
		return record.Observation{At: at, Kind: record.ObservationArtifactsIssued, Issued: &record.Issued{Total: total,
			Classes:      []record.IssuedClass{{Class: "certificate", Total: total}},
			Certificates: &record.IssuedTree{Through: through, Size: size, Root: strings.Repeat("ab", 32)}}}
	}
	// The last moment of a week is of the week, and the next one is not.
	f.observe(count("2026-08-24T00:00:00Z", 3, 2, "2026-W34"), count("2027-01-04T00:00:00Z", 4, 1, "2026-W53"))
}

// brokenCounts are of the record of two trees of certificates.
func brokenCounts() []bad {
	form := formOf("issued-", "certified")
	const first = "observation 1"
	return []bad{
		form("week", "certificates of a week that is not over", member(first, "through", `"2026-W35"`)),
		form("week-form", "certificates through a week that is none", member(first, "through", `"2026-W00"`)),
		form("week-none", "certificates through a week that the year does not have", member(first, "through",
			`"2025-W53"`)),
		form("size", "a tree of no certificates", member(first, "size", "0")),
		form("root", "a root in upper case", swap(first, `"root":"ab`, `"root":"AB`)),
		{rule: rule.IssuedWeek, why: "a second tree of the same weeks", base: "certified",
			edits: []edit{member("observation 2", "through", `"2026-W34"`)}},
	}
}

// formOf makes bad observations of a base, none of its form.
func formOf(prefix, base string) func(name, why string, e edit) bad {
	return func(name, why string, e edit) bad {
		return bad{rule: rule.ObservationForm, name: prefix + name, why: why, base: base, edits: []edit{e}}
	}
}
