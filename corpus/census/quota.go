package census

import (
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"

	"store.example/agentstore/corpus/record"
)

// The quotas of hosts that declared themselves and that no list names: whoever has one name has as
// many as he likes below it, and each declares itself for nothing.
const (
	// DeclaredPerDomain is how many hosts of a registrable domain are walked in a week because they
	// declared themselves.
	DeclaredPerDomain = 20
	declaredICANN     = 40 // of the cap one part in so many, for a domain that ICANN's rules let register
	declaredShare     = 4  // of the cap one part in so many, for all that are on the roster from its beginning
	lateShare         = 10 // beside the cap, of it one part in so many: for all that declare themselves in the week
)

// ReasonOverQuota is why a host that declared itself has no place in a week.
const ReasonOverQuota = "over_quota"

// quota counts the hosts of a week that are walked because they declared themselves.
type quota struct {
	domains, icann map[string]int
	icannMost      int // 0 is no bound
	most           int // of those that are still to be let in; negative is no bound
}

// newQuota returns the quotas of a week with a cap, 0 for none. late is for those that declare
// themselves in the week, of whom so many were let in before.
func newQuota(limit int, late bool, before int) *quota {
	q := &quota{domains: map[string]int{}, icann: map[string]int{}, most: -1}
	if limit == 0 {
		return q
	}
	q.icannMost = max(DeclaredPerDomain, limit/declaredICANN)
	if q.most = max(1, limit/declaredShare); late {
		q.most = max(0, max(1, limit/lateShare)-before)
	}
	return q
}

// let reports whether a host has a place, and counts it.
func (q *quota) let(host string) bool {
	domain, icann := registrable(host)
	if q.most == 0 || q.domains[domain] >= DeclaredPerDomain || q.icannMost > 0 && q.icann[icann] >= q.icannMost {
		return false
	}
	q.count(host)
	if q.most > 0 {
		q.most--
	}
	return true
}

// count counts a host that has its place already.
func (q *quota) count(host string) {
	domain, icann := registrable(host)
	q.domains[domain]++
	q.icann[icann]++
}

// Registrable is the domain that a host's keeper registered, by the Public Suffix List with its
// private section.
func Registrable(host string) string {
	domain, _ := registrable(host)
	return domain
}

// registrable returns the domain that a host's keeper registered by the Public Suffix List: with
// its private section, under which the names of a platform's users are domains of their own, and by
// the rules of ICANN's section alone. An address is its own.
func registrable(host string) (domain, icann string) {
	if _, err := netip.ParseAddr(host); err == nil {
		return host, host
	}
	under := func(suffix string) string {
		rest := strings.TrimSuffix(strings.TrimSuffix(host, suffix), ".")
		return strings.TrimPrefix(rest[strings.LastIndexByte(rest, '.')+1:]+"."+suffix, ".")
	}
	suffix, managed := publicsuffix.PublicSuffix(host)
	domain = under(suffix)
	// What is no suffix by ICANN is either one of the private section, or a top-level domain that
	// no rule names.
	for !managed && strings.Contains(suffix, ".") {
		suffix, managed = publicsuffix.PublicSuffix(suffix[strings.IndexByte(suffix, '.')+1:])
	}
	return domain, under(suffix)
}

// selfDeclared reports whether a host would not be on the roster had it not declared itself, now or
// in an earlier week.
func (p *candidate) selfDeclared() bool { return selfDeclared(p.named) }

func selfDeclared(named []Naming) bool {
	declared := false
	for _, n := range named {
		switch n.Kind {
		case record.SourceDeclared:
			declared = true
		case record.SourceRevisit:
		default:
			return false
		}
	}
	return declared
}
