package probe

import (
	"slices"
	"strconv"
)

// Advisories returns every observation that changes no verdict, in the order in which reports list
// them.
func Advisories() []Advisory { return slices.Clone(advisories) }

var advisories = slices.Concat(termAdvisories, extensionAdvisories, mppAdvisories, buyerAdvisories, mppFieldAdvisories,
	schemeAdvisories)

// advisoriesSince is when the list was first published; later rows bear their own date.
const advisoriesSince = "2026-08-23"

// InForce reports whether a row of a day, written 2006-01-02, names the advisory: it was on the
// list then, and is of none of the schemes of which rows tell nothing.
func (n Note) InForce(day string) bool {
	return slices.ContainsFunc(advisories, func(a Advisory) bool {
		return a.Name == n.Name && a.Scheme == "" && a.Since <= day && (a.Retired == "" || day < a.Retired)
	})
}

// perEntry makes an observation of the first entry of accepts that find speaks about.
func perEntry(find func(*View, Requirement) string) func(*View) string {
	return func(v *View) string {
		for _, r := range v.entries() {
			if said := find(v, r); said != "" {
				return "accepts[" + strconv.Itoa(r.Index) + "]: " + said
			}
		}
		return ""
	}
}
