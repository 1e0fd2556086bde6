package record

import (
	"strings"
	"testing"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/probe"
)

// TestRowAtItsBounds fills every member of a row up to its bound: the whole is no longer than a row
// may be, and one more of anything is refused.
func TestRowAtItsBounds(t *testing.T) {
	many := func(n int, word string) []string {
		var out []string
		for range n {
			out = append(out, word)
		}
		return out
	}
	word, leaf := strings.Repeat(`"`, maxWord/2), int64(attest.MaxInteger)
	check := strings.Repeat(`"`, maxCheck/2)
	longURL := "https://" + strings.Repeat("h", maxHost) + "/"
	longURL += strings.Repeat(`"`, (MaxRowURL-len(longURL))/2)
	full := func() Row {
		r := Row{Origin: strings.Repeat("o", maxOrigin), Sequence: attest.MaxInteger, Week: "2026-W47",
			Host: strings.Repeat("h", maxHost),
			URL:  longURL, Source: SourceWellKnown, Catalog: word, Verdict: VerdictUnreachable,
			Reason: word, ReachedLevel: "L0", Failed: many(maxFailed, check), Advisories: many(maxAdvisories, check),
			Protocols: many(maxProtocols, word), Battery: "v1", Fault: FaultInstrument,
			ProbeMethod: &ProbeMethod{Used: word, Attempted: many(maxAttempted, word), DeclaredBy: word},
			Offer: &RowOffer{Networks: many(MaxNetworks, "abcdefgh:"+strings.Repeat("x", 32)),
				NetworksLeftOut: attest.MaxInteger,
				Schemes:         many(maxSchemes, word),
				MinUSDC:         strings.Repeat("9", maxAmount), MaxUSDC: strings.Repeat("9", maxAmount),
				PayToLeftOut: attest.MaxInteger, NotCapturedReason: word},
			ObservedAt: "2026-11-20T10:11:12Z", EvidenceDigest: strings.Repeat("0a", 32), PreviousLeaf: &leaf}
		for i := range maxAlsoUnder {
			r.AlsoUnder = append(r.AlsoUnder, AlsoUnder{Version: strings.Repeat("v", maxVersion-1) +
				string(rune('1'+i)), Verdict: "method_unresolved",
				Difference: strings.Repeat("\n", maxDifference/2)})
		}
		for i := range maxVantages {
			r.Vantages = append(r.Vantages, Vantage{ID: strings.Repeat("k", kidLength-1) + string(rune('1'+i)),
				Verdict: VerdictUnreachable, EvidenceDigest: strings.Repeat("c1", 32)})
		}
		for range MaxPayTo {
			r.Offer.PayTo = append(r.Offer.PayTo, PayTo{Network: "abcdefgh:" + strings.Repeat("x", 32),
				Digest: strings.Repeat("b1", 32)})
		}
		return r
	}
	k := attest.SpecimenKey()
	raw, err := SignRow(full(), k)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a row at its bounds has %d of %d bytes", len(raw), MaxRow)
	if _, err := VerifyRow(raw, k.Public()); err != nil {
		t.Error(err)
	}
	for name, over := range map[string]func(*Row){
		"origin": func(r *Row) { r.Origin += "o" }, "host": func(r *Row) { r.Host += "h" },
		"url": func(r *Row) { r.URL += "u" }, "catalog": func(r *Row) { r.Catalog += "c" },
		"reason": func(r *Row) { r.Reason += "r" }, "battery": func(r *Row) { r.Battery += "b" },
		"failed":                func(r *Row) { r.Failed = append(r.Failed, "x") },
		"a failed check":        func(r *Row) { r.Failed[3] += "x" },
		"advisories":            func(r *Row) { r.Advisories = append(r.Advisories, "x") },
		"protocols":             func(r *Row) { r.Protocols = append(r.Protocols, "x") },
		"a protocol":            func(r *Row) { r.Protocols[0] += "\x01" },
		"difference":            func(r *Row) { r.AlsoUnder[1].Difference += "d" },
		"attempted":             func(r *Row) { r.ProbeMethod.Attempted = append(r.ProbeMethod.Attempted, "x") },
		"declared by":           func(r *Row) { r.ProbeMethod.DeclaredBy += "x" },
		"networks":              func(r *Row) { r.Offer.Networks = append(r.Offer.Networks, "x") },
		"schemes":               func(r *Row) { r.Offer.Schemes = append(r.Offer.Schemes, "x") },
		"amount":                func(r *Row) { r.Offer.MinUSDC += "9" },
		"addresses":             func(r *Row) { r.Offer.PayTo = append(r.Offer.PayTo, r.Offer.PayTo[0]) },
		"network of an address": func(r *Row) { r.Offer.PayTo[0].Network = "base" },
		"left out without need": func(r *Row) { r.Offer.PayTo = r.Offer.PayTo[1:] }, "another battery": func(r *Row) {
			r.AlsoUnder = append(r.AlsoUnder,
				AlsoUnder{Version: "w", Verdict: VerdictReady})
		}, "version": func(r *Row) { r.AlsoUnder[3].Version += "x" },
		"order":            func(r *Row) { r.AlsoUnder[0].Version = "w" },
		"the same battery": func(r *Row) { r.AlsoUnder[2].Version = r.AlsoUnder[1].Version },
		"its own":          func(r *Row) { r.Battery = r.AlsoUnder[1].Version },
		"a verdict":        func(r *Row) { r.AlsoUnder[0].Verdict = VerdictNotProbed }, "vantages": func(r *Row) {
			r.Vantages = append(r.Vantages, Vantage{ID: strings.Repeat("l", kidLength), Verdict: VerdictUnreachable,
				EvidenceDigest: strings.Repeat("c1", 32)})
		},
		"a vantage": func(r *Row) { r.Vantages[0].ID += "k" }, "order of vantages": func(r *Row) {
			r.Vantages[0],
				r.Vantages[1] = r.Vantages[1], r.Vantages[0]
		},
		"what it saw":    func(r *Row) { r.Vantages[2].Verdict = VerdictNotProbed },
		"by what":        func(r *Row) { r.Vantages[2].EvidenceDigest = "" },
		"a disagreement": func(r *Row) { r.Vantages[2].Verdict = VerdictReady },
		"negative":       func(r *Row) { r.Offer.NetworksLeftOut = -1 },
	} {
		r := full()
		over(&r)
		if raw, err := SignRow(r, k); err == nil {
			t.Errorf("%s: a row of %d bytes is signed", name, len(raw))
		}
	}
}

// TestNamesFitARow: what this store writes into rows is within their bounds, whatever is looked at.
func TestNamesFitARow(t *testing.T) {
	var advisories []string
	for _, a := range probe.Advisories() {
		if (probe.Note{Name: a.Name}).InForce("9999-12-31") {
			advisories = append(advisories, a.Name)
		}
	}
	for _, b := range probe.Batteries() {
		var checks []string
		for _, c := range b.Checks {
			checks = append(checks, c.Name)
		}
		row := Row{Failed: checks, Advisories: advisories, Battery: b.Version,
			Offer: &RowOffer{Schemes: append(probe.Schemes(), OtherWord)}}
		if err := row.checkBounds(); err != nil {
			t.Errorf("%s: %v", b.Version, err)
		}
	}
}
