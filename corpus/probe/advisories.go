package probe

import (
	"slices"
	"sync"
)

// Advisories returns every observation that changes no verdict, in the order in which reports list them.
func Advisories() []Advisory { return slices.Clone(advisories()) }

// advisories are the rows, made once: every look reads them.
var advisories = sync.OnceValue(func() []Advisory {
	return []Advisory{
		nonstandardScheme(), specSchemeNotExact(), settlesBeforeDelivery(), testnetNetwork(),
		paytoIsAName(), paytoWrongRail(), paytoNotAnAddress(), amountNotAtomic(),
		missingEIP712DomainExtra(), nonstandardTransferMethod(), conflictingAmounts(), aboveDefaultClientCap(),
		placementMismatch(), resourceHostMismatch(), discoveryInfoFailsSchema(), resourceDescriptionAbsent(),
		offerContradictsChallenge(), noBazaarExtension(), inputsDeclared(), noInputContract(),
		noSignedOffers(), signedOffersNotInChallenge(), retryKeyDeclared(), retryKeyNotInChallenge(), largeBody(),
		mppChallengeID(), mppChallengeRealm(), mppMethodUnregistered(), mppIntentUnregistered(), mppRequestUndecodable(),
		mppRequestNotCanonical(), mppAmountNotInteger(), mppCurrencyUnnamed(), mppRecipientMissing(),
		mppChallengeExpiredAtIssue(), mppChallengeOverHTTP(),
	}
})

// advisoriesSince is when the list was first published; later rows bear their own date.
const advisoriesSince = "2026-08-23"

// advisoryDates are the first and last day of each advisory, built once.
var advisoryDates = func() map[string][2]string {
	m := map[string][2]string{}
	for _, a := range Advisories() {
		m[a.Name] = [2]string{a.Since, a.Retired}
	}
	return m
}()

// InForce reports whether the advisory was on the list on a day, written 2006-01-02.
func (n Note) InForce(day string) bool {
	d, known := advisoryDates[n.Name]
	return known && d[0] <= day && (d[1] == "" || day < d[1])
}

// perEntry makes an observation of the first entry of accepts that find speaks about.
func perEntry(find func(*View, Requirement) string) func(*View) string {
	return func(v *View) string {
		for _, r := range v.entries(func(Requirement) bool { return true }) {
			if said := find(v, r); said != "" {
				return "accepts[" + itoa(r.Index) + "]: " + said
			}
		}
		return ""
	}
}
