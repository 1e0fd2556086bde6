package rejudge

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
)

// RowFrom makes of a report, and of the judgement it was reached from, everything that a row says
// of what was observed. Host, Listed, Source and Catalog, and where the row stands, are for the
// caller. The URL is the one that may be published. A row that is read again from its kept
// judgement gives the same. Whatever a door answers, the row is within its bounds; what cannot be
// kept as evidence gives no verdict (ReasonNotJudged).
func RowFrom(report probe.Report, judgement probe.Judgement) record.Row {
	row := record.Row{
		URL: judgement.URL, Battery: report.Version, Verdict: string(report.Verdict), Fault: string(report.Fault),
		Failed: []string{}, Advisories: []string{}, Protocols: []string{},
	}
	if record.TextBytes(row.URL) > record.MaxRowURL {
		row.NotJudged()
		return row
	}
	switch report.Verdict {
	case probe.MethodUnresolved:
		row.Verdict, row.Reason = record.VerdictNotProbed, record.ReasonMethodUnresolved
		return row
	case probe.NotProbed:
		row.Reason = cmp.Or(report.Reason, record.ReasonControlFailed)
		return row
	case probe.Unreachable:
		row.Reason = judgement.Evidence[0].Error.Stage
	}
	if !record.IsSecond(report.Evidence.ObservedAt) {
		row.Verdict, row.Reason, row.Fault = record.VerdictNotProbed, record.ReasonNotRecorded, record.FaultInstrument
		return row
	}
	raw, err := judgement.Encode()
	if err != nil || len(raw) > probe.MaxJudgement {
		row.NotJudged()
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
		if other.Verdict == probe.NotProbed {
			continue // it says nothing
		}
		row.AlsoUnder = append(row.AlsoUnder, record.AlsoUnder{Version: other.Version, Verdict: string(other.Verdict),
			Difference: other.Difference})
	}
	row.ProbeMethod = &record.ProbeMethod{Used: report.ProbeMethod.Used,
		Attempted: slices.Clone(report.ProbeMethod.Attempted), DeclaredBy: report.ProbeMethod.DeclaredBy}
	if c := report.Evidence.Challenge; c != nil {
		terms := slices.Values(report.Terms)
		if len(report.Terms) == probe.MaxEntries {
			terms = judgement.Terms() // there may be more
		}
		row.Offer = offerFrom(terms)
		if len(report.Terms) == 0 && c.From != exchange.FromHeader {
			row.Offer.NotCapturedReason = record.NotCapturedElsewhere
		}
	}
	return row
}

// RefreshFrom makes an observation of a report and of the judgement that it was reached from, dated
// when the door was looked at. What cannot stand in a row with a verdict is an error.
func RefreshFrom(host string, report probe.Report, judgement probe.Judgement) (record.Observation, error) {
	row := RowFrom(report, judgement)
	if row.EvidenceDigest == "" {
		return record.Observation{}, fmt.Errorf("making a refresh of %s: it was not judged: %s", host, row.Reason)
	}
	raw, err := judgement.Encode()
	return record.Observation{At: row.ObservedAt, Kind: record.ObservationPaidRefresh, Judgement: string(raw),
		Refresh: &record.Refresh{Host: host, URL: row.URL,
			Verdict: row.Verdict, ReachedLevel: row.ReachedLevel, Failed: row.Failed, Battery: row.Battery,
			Fault: row.Fault, EvidenceDigest: row.EvidenceDigest}}, err
}

// networkWord is a network as an offer lists it: also the short names of x402 version 1 are known.
func networkWord(network string) string {
	if _, ok := networks.FindV1(network); ok {
		return network
	}
	return networks.CAIP2Name(network)
}

// schemeWord is a scheme as an offer lists it.
func schemeWord(scheme string) string {
	if slices.Contains(probe.Schemes(), scheme) {
		return scheme
	}
	return record.OtherWord
}

// offerFrom sums up the ways of paying. Prices are those in USDC on networks where it has a worth.
func offerFrom(terms iter.Seq[probe.Requirement]) *record.RowOffer {
	o := &record.RowOffer{Networks: []string{}, Schemes: []string{}, PayTo: []record.PayTo{}}
	named, addresses := map[string]bool{}, map[record.PayTo]bool{}
	any, least, most := false, "", "" // atomic units without leading zeros
	for r := range terms {
		any = true
		if n := networkWord(r.Network); r.Network != "" && !named[n] {
			if named[n] = true; len(o.Networks) < record.MaxNetworks {
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
			p := record.PayTo{Network: networks.CAIP2Name(r.Network), Digest: r.PayToDigest}
			if r.Network == "" || !record.IsDigest(p.Digest) || addresses[p] {
				continue
			}
			if addresses[p] = true; len(o.PayTo) < record.MaxPayTo {
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
		o.NotCapturedReason = record.NotCapturedUnreadable
	case len(o.PayTo) == 0:
		o.NotCapturedReason = record.NotCapturedNoAddress
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

// The most of each that is kept of what a list says of a door.
const (
	maxListedNetworks  = 16
	maxListedSchemes   = 8
	maxListedAddresses = 8
)

// OfferOf sums up ways to pay as a row does, nil for none. It is bounded, whatever they hold; whole
// says that nothing was left out.
func OfferOf(terms []probe.Requirement) (offer *record.RowOffer, whole bool) {
	if len(terms) == 0 {
		return nil, true
	}
	o := offerFrom(slices.Values(terms))
	whole = len(o.Networks) <= maxListedNetworks && len(o.Schemes) <= maxListedSchemes &&
		len(o.PayTo) <= maxListedAddresses &&
		o.NetworksLeftOut == 0 && o.PayToLeftOut == 0
	o.Networks = slices.Clip(o.Networks[:min(len(o.Networks), maxListedNetworks)])
	o.Schemes = slices.Clip(o.Schemes[:min(len(o.Schemes), maxListedSchemes)])
	o.PayTo = slices.Clip(o.PayTo[:min(len(o.PayTo), maxListedAddresses)])
	return o, whole
}
