package record

import (
	"cmp"
	"crypto/sha256"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
)

// Why a row that was walked is not probed.
const (
	ReasonMethodUnresolved = "method_unresolved" // it refused GET and named no method that may be used
	// a bot wall answered in its place
	ReasonChallenged = probe.ReasonChallenged
	// it did not answer, and neither did the control door of the same batch
	ReasonControlFailed = "control_failed"
	ReasonNotRecorded   = "not_recorded" // what was recorded of it has no time
	// what it answered could not be judged, or not be kept, which is our fault
	ReasonNotJudged = "not_judged"
	// the host's own file asked not to be walked: the one row without a verdict that has evidence
	ReasonOptedOut = "opted_out"
)

// Why an offer shows no address.
const (
	NotCapturedUnreadable = "terms_unreadable" // PAYMENT-REQUIRED was sent, and no way to pay could be read from it
	// terms stand elsewhere, such as in a body or a WWW-Authenticate header
	NotCapturedElsewhere = "no_payment_required"
	NotCapturedNoAddress = "no_address" // ways to pay, and none with an address
)

// RowFrom makes of a report, and of the judgement it was reached from, everything that a row says
// of what was observed. Host, Listed, Source and Catalog, and where the row stands, are for the
// caller. The URL is the one that may be published. A row that is read again from its kept
// judgement gives the same. Whatever a door answers, the row is within its bounds; what cannot be
// kept as evidence gives no verdict (ReasonNotJudged).
func RowFrom(report probe.Report, judgement probe.Judgement) Row {
	row := Row{
		URL: judgement.URL, Battery: report.Version, Verdict: string(report.Verdict), Fault: string(report.Fault),
		Failed: []string{}, Advisories: []string{}, Protocols: []string{},
	}
	if TextBytes(row.URL) > MaxRowURL {
		row.unjudged()
		return row
	}
	switch report.Verdict {
	case probe.MethodUnresolved:
		row.Verdict, row.Reason = VerdictNotProbed, ReasonMethodUnresolved
		return row
	case probe.NotProbed:
		row.Reason = cmp.Or(report.Reason, ReasonControlFailed)
		return row
	case probe.Unreachable:
		row.Reason = judgement.Evidence[0].Error.Stage
	}
	if !isSecond(report.Evidence.ObservedAt) {
		row.Verdict, row.Reason, row.Fault = VerdictNotProbed, ReasonNotRecorded, FaultInstrument
		return row
	}
	raw, err := judgement.Encode()
	if err != nil || len(raw) > probe.MaxJudgement {
		row.unjudged()
		return row
	}
	row.ReachedLevel, row.ObservedAt = report.ReachedLevel, report.Evidence.ObservedAt
	row.EvidenceDigest = attest.Digest(sha256.Sum256(raw)).String()
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
	for _, other := range report.Others {
		row.AlsoUnder = append(row.AlsoUnder, AlsoUnder{other.Version, string(other.Verdict), other.Difference})
	}
	row.ProbeMethod = &ProbeMethod{Used: report.ProbeMethod.Used, Attempted: slices.Clone(report.ProbeMethod.Attempted),
		DeclaredBy: report.ProbeMethod.DeclaredBy}
	if c := report.Evidence.Challenge; c != nil {
		terms := slices.Values(report.Terms)
		if len(report.Terms) == probe.MaxEntries {
			terms = judgement.Terms() // there may be more
		}
		row.Offer = offerFrom(terms)
		if len(report.Terms) == 0 && c.From != exchange.FromHeader {
			row.Offer.NotCapturedReason = NotCapturedElsewhere
		}
	}
	return row
}

// unjudged makes a row one that was not probed, because what was seen cannot be judged or not be
// kept.
func (r *Row) unjudged() {
	*r = Row{Host: r.Host, URL: r.URL, Listed: r.Listed, Source: r.Source, Catalog: r.Catalog, Late: r.Late,
		Battery: r.Battery, Verdict: VerdictNotProbed,
		Reason: ReasonNotJudged, Fault: FaultInstrument, Failed: []string{}, Advisories: []string{},
		Protocols: []string{}, Origin: r.Origin, Sequence: r.Sequence, Week: r.Week, PreviousLeaf: r.PreviousLeaf}
	if TextBytes(r.URL) > MaxRowURL || !utf8.ValidString(r.URL) {
		// No roster has such a door. Its host's own page is no door, and says whose row it is.
		r.URL = frontPage(r.URL)
	}
}

// frontPage is the first page of a URL's host, "" for what is no URL or has none that fits.
func frontPage(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || len(u.Host) > maxHost {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String()
}

// OtherWord stands in an offer for what a door wrote and nobody knows.
const OtherWord = exchange.OtherNetwork

// networkWord is a network as an offer lists it: also the short names of x402 version 1 are known.
func networkWord(network string) string {
	if _, ok := networks.FindV1(network); ok {
		return network
	}
	return exchange.NetworkName(network)
}

// schemeWord is a scheme as an offer lists it.
func schemeWord(scheme string) string {
	if slices.Contains(probe.Schemes(), scheme) {
		return scheme
	}
	return OtherWord
}

// offerFrom sums up the ways of paying. Prices are those in USDC on networks where it has a worth.
func offerFrom(terms iter.Seq[probe.Requirement]) *RowOffer {
	o := &RowOffer{Networks: []string{}, Schemes: []string{}, PayTo: []PayTo{}}
	networks, addresses := map[string]bool{}, map[PayTo]bool{}
	any, least, most := false, "", "" // atomic units without leading zeros
	for r := range terms {
		any = true
		if n := networkWord(r.Network); r.Network != "" && !networks[n] {
			if networks[n] = true; len(o.Networks) < MaxNetworks {
				o.Networks = append(o.Networks, n)
			} else {
				o.NetworksLeftOut++
			}
		}
		if s := schemeWord(r.Scheme); r.Scheme != "" && !slices.Contains(o.Schemes, s) {
			o.Schemes = append(o.Schemes, s)
		}
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
			p := PayTo{Network: exchange.NetworkName(r.Network), Digest: r.PayToDigest}
			if r.Network == "" || !isDigest(p.Digest) || addresses[p] {
				continue
			}
			if addresses[p] = true; len(o.PayTo) < MaxPayTo {
				o.PayTo = append(o.PayTo, p)
			} else {
				o.PayToLeftOut++
			}
		}
	}
	slices.Sort(o.Networks)
	slices.Sort(o.Schemes)
	o.MinUSDC, o.MaxUSDC = usdc(least), usdc(most)
	switch {
	case !any:
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
