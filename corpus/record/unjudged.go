package record

import (
	"strings"
	"unicode/utf8"

	"store.example/agentstore/corpus/networks"
)

// Why a row that was walked is not probed.
const (
	ReasonMethodUnresolved = "method_unresolved" // it refused GET and named no method that may be used
	ReasonInputs           = "inputs_lacking"    // it refused the empty object that it was sent
	// a bot wall answered in its place
	ReasonChallenged = "challenged"
	// it did not answer, and neither did the control door of the same batch
	ReasonControlFailed = "control_failed"
	ReasonNotRecorded   = "not_recorded" // what was recorded of it has no time
	// what it answered could not be judged, or not be kept, which is our fault
	ReasonNotJudged = "not_judged"
	// the host's own file asked not to be walked: the one row without a verdict that has evidence
	ReasonOptedOut = "opted_out"
)

// NotExercised reports whether a row was walked and asked in another way than the door wants to be
// asked: that is no verdict, and no gap of the observer.
func (r *Row) NotExercised() bool {
	return r.Verdict == VerdictNotProbed && (r.Reason == ReasonMethodUnresolved || r.Reason == ReasonInputs)
}

// Why an offer shows no address.
const (
	NotCapturedUnreadable = "terms_unreadable" // PAYMENT-REQUIRED was sent, and no way to pay could be read from it
	// terms stand elsewhere, such as in a body or a WWW-Authenticate header
	NotCapturedElsewhere = "no_payment_required"
	NotCapturedNoAddress = "no_address" // ways to pay, and none with an address
)

// OtherWord stands in an offer for what a door wrote and nobody knows.
const OtherWord = networks.OtherNetwork

// NotJudged makes a row one that was not probed, because what was seen cannot be judged or not be
// kept.
func (r *Row) NotJudged() {
	*r = Row{Host: r.Host, URL: r.URL, Listed: r.Listed, Source: r.Source, Catalog: r.Catalog, Late: r.Late,
		Battery: r.Battery, Verdict: VerdictNotProbed,
		Reason: ReasonNotJudged, Fault: FaultInstrument, Failed: []string{}, Advisories: []string{},
		Protocols: []string{}, Origin: r.Origin, Sequence: r.Sequence, Week: r.Week, PreviousLeaf: r.PreviousLeaf}
	if TextBytes(r.URL) > MaxRowURL || !utf8.ValidString(r.URL) || !isDoorOf(r.URL, r.Host) {
		// No roster has such a door. Its host's own page is no door, and says whose row it is.
		r.URL = "https://" + r.Host + "/"
	}
}

// isDoorOf accepts an address of a host over https.
func isDoorOf(url, host string) bool {
	rest, ok := strings.CutPrefix(url, "https://"+host)
	return ok && (rest == "" || strings.IndexByte("/?#:", rest[0]) >= 0)
}
