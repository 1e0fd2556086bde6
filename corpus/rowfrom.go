package corpus

import (
	"slices"
	"strings"
	"time"

	"agentstore/corpus/exchange"
	"agentstore/corpus/probe"
)

// Why a row that was walked is not probed.
const (
	ReasonMethodUnresolved = "method_unresolved" // it refused GET and named no method that may be used
	ReasonControlFailed    = "control_failed"    // it did not answer, and neither did the control door of the same batch
	ReasonNotRecorded      = "not_recorded"      // what was recorded of it has no time
)

// Why an offer shows no address.
const (
	NotCapturedUnreadable = "terms_unreadable"    // PAYMENT-REQUIRED was sent, and no way to pay could be read from it
	NotCapturedElsewhere  = "no_payment_required" // terms stand elsewhere, such as in a body or a WWW-Authenticate header
	NotCapturedNoAddress  = "no_address"          // ways to pay, and none with an address
)

// maxOfferWord bounds what is repeated of a door's own words in an offer.
const maxOfferWord = 64

// RowFrom makes of a report, and of the judgement it was reached from, everything that a row says of what was observed.
// Host, Listed, Source and Catalog, and where the row stands, are for the caller. The URL is the one that may be
// published. A row that is read again from its kept judgement gives the same.
func RowFrom(report probe.Report, judgement probe.Judgement) Row {
	row := Row{
		URL: judgement.URL, Battery: report.Version, Verdict: string(report.Verdict), Fault: string(report.Fault),
		Failed: []string{}, Advisories: []string{}, Protocols: []string{},
	}
	switch report.Verdict {
	case probe.MethodUnresolved:
		row.Verdict, row.Reason = VerdictNotProbed, ReasonMethodUnresolved
		return row
	case probe.NotProbed:
		row.Reason = ReasonControlFailed
		return row
	case probe.Unreachable:
		row.Reason = judgement.Evidence[0].Error.Stage
	}
	if !isSecond(report.Evidence.ObservedAt) {
		row.Verdict, row.Reason, row.Fault = VerdictNotProbed, ReasonNotRecorded, FaultInstrument
		return row
	}
	row.ReachedLevel, row.ObservedAt, row.EvidenceDigest = report.ReachedLevel, report.Evidence.ObservedAt, judgement.Digest()
	for _, c := range report.Checks {
		if !c.OK {
			row.Failed = append(row.Failed, c.Name)
		}
	}
	for _, a := range report.Advisories {
		// One that was thought of later is no part of an older row, whenever that is judged again.
		if a.InForce(row.ObservedAt[:len(time.DateOnly)]) {
			row.Advisories = append(row.Advisories, a.Name)
		}
	}
	row.Protocols = append(row.Protocols, report.ProtocolsSpoken...)
	row.AlsoUnder = &AlsoUnder{Version: report.AlsoUnder.Version, Verdict: string(report.AlsoUnder.Verdict), Difference: report.AlsoUnder.Difference}
	row.ProbeMethod = &ProbeMethod{Used: report.ProbeMethod.Used, Attempted: slices.Clone(report.ProbeMethod.Attempted), DeclaredBy: report.ProbeMethod.DeclaredBy}
	if c := report.Evidence.Challenge; c != nil {
		row.Offer = offerFrom(report.Terms)
		if len(report.Terms) == 0 && c.From != exchange.FromHeader {
			row.Offer.NotCapturedReason = NotCapturedElsewhere
		}
	}
	return row
}

// offerFrom sums up the ways of paying. Prices are those in USDC on networks where it has a worth.
func offerFrom(terms []probe.Requirement) *RowOffer {
	o := &RowOffer{Networks: []string{}, Schemes: []string{}, PayTo: []PayTo{}}
	add := func(list []string, word string) []string {
		if word == "" || len(word) > maxOfferWord || slices.Contains(list, word) {
			return list
		}
		return append(list, word)
	}
	var least, most string // atomic units without leading zeros
	for _, r := range terms {
		o.Networks, o.Schemes = add(o.Networks, r.Network), add(o.Schemes, r.Scheme)
		if atomic, ok := r.USDC(); ok {
			if least == "" || lessDecimal(atomic, least) {
				least = atomic
			}
			if most == "" || lessDecimal(most, atomic) {
				most = atomic
			}
		}
		switch r.PayToForm {
		case exchange.FormEVM, exchange.FormEVMBadChecksum, exchange.FormSolana, exchange.FormName:
			p := PayTo{Network: r.Network, Digest: r.PayToDigest}
			if p.Network != "" && len(p.Network) <= maxOfferWord && isDigest(p.Digest) && !slices.Contains(o.PayTo, p) {
				o.PayTo = append(o.PayTo, p)
			}
		}
	}
	slices.Sort(o.Networks)
	slices.Sort(o.Schemes)
	o.MinUSDC, o.MaxUSDC = usdc(least), usdc(most)
	switch {
	case len(terms) == 0:
		o.NotCapturedReason = NotCapturedUnreadable
	case len(o.PayTo) == 0:
		o.NotCapturedReason = NotCapturedNoAddress
	}
	return o
}

// lessDecimal compares digits without leading zeros.
func lessDecimal(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// usdc writes atomic units of six decimals as a plain decimal.
func usdc(atomic string) string {
	if atomic == "" {
		return ""
	}
	if len(atomic) < 7 {
		atomic = strings.Repeat("0", 7-len(atomic)) + atomic
	}
	whole, rest := atomic[:len(atomic)-6], strings.TrimRight(atomic[len(atomic)-6:], "0")
	if rest == "" {
		return whole
	}
	return whole + "." + rest
}
