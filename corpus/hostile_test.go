package corpus

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"agentstore/corpus/attest"
	"agentstore/corpus/exchange"
	"agentstore/corpus/probe"
)

// asking is a 402 with these entries of accepts.
func asking(t testing.TB, entries ...map[string]any) probe.Answer {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"x402Version": 2, "resource": map[string]any{"url": "https://door.example/"}, "accepts": entries})
	if err != nil {
		t.Fatal(err)
	}
	return probe.Answer{Status: http.StatusPaymentRequired, Header: http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString(raw)}}}
}

// TestOneHostileDoorSeals is a 402 of 64 entries whose networks and schemes are control characters, at a long path: its
// row is sealed beside that of an honest door, is bounded, and repeats none of the door's words.
func TestOneHostileDoorSeals(t *testing.T) {
	var entries []map[string]any
	for i := range 64 {
		// Each is another one, and six bytes for each character as JSON writes it.
		unlike := string([]rune{rune(1 + i%7), rune(1 + i/7%7), rune(1 + i/49)})
		entries = append(entries, map[string]any{"scheme": unlike + strings.Repeat("\x01", 39), "network": unlike + strings.Repeat("\x02", 55),
			"payTo": fmt.Sprintf("0x%040x", i+1)})
	}
	url := "https://door.example/" + strings.Repeat("p", 600)
	report, judgement := look(t, url, asking(t, entries...), exchange.Error{}, lookedAt)
	row := RowFrom(report, judgement)
	raw, err := SignRow(placed(row, "door.example"), attest.SpecimenKey())
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 16<<10 || strings.Contains(string(raw), `\u0001`) {
		t.Errorf("%d bytes: %.300s", len(raw), raw)
	}
	w := testWriter(t)
	honest, judged := look(t, "https://honest.example/paid", probe.Practices()[0].Answer("https://honest.example/paid"), exchange.Error{}, lookedAt)
	other := RowFrom(honest, judged)
	row.Host, other.Host = "door.example", "honest.example"
	row.Source, other.Source = SourceDiscovery, SourceDiscovery
	d := draft(1)
	d.Rows = each(row, other)
	d.Evidence = nil
	if _, err := w.Seal(t.Context(), d); err != nil {
		t.Errorf("the week was not sealed: %v", err)
	}
}

// TestRowAtItsBounds fills every member of a row up to its bound: the whole is no longer than a row may be, and one more
// of anything is refused.
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
	full := func() Row {
		r := Row{Origin: strings.Repeat("o", maxOrigin), Sequence: attest.MaxInteger, Week: "2026-W47", Host: strings.Repeat("h", maxHost),
			URL: strings.Repeat(`"`, MaxRowURL/2), Source: SourceWellKnown, Catalog: word, Verdict: VerdictUnreachable, Reason: word, ReachedLevel: "L0",
			Failed: many(maxFailed, check), Advisories: many(maxAdvisories, check), Protocols: many(maxProtocols, word), Battery: word, Fault: FaultInstrument,
			AlsoUnder:   &AlsoUnder{Version: word, Verdict: word, Difference: strings.Repeat("\n", maxDifference/2)},
			ProbeMethod: &ProbeMethod{Used: word, Attempted: many(maxAttempted, word), DeclaredBy: word},
			Offer: &RowOffer{Networks: many(MaxNetworks, word[:maxNetwork/2]+"x"), NetworksLeftOut: attest.MaxInteger, Schemes: many(maxSchemes, word),
				MinUSDC: strings.Repeat("9", maxAmount), MaxUSDC: strings.Repeat("9", maxAmount), PayToLeftOut: attest.MaxInteger, NotCapturedReason: word},
			ObservedAt: "2026-11-20T10:11:12Z", EvidenceDigest: digest("x"), PreviousLeaf: &leaf}
		for range MaxPayTo {
			r.Offer.PayTo = append(r.Offer.PayTo, PayTo{Network: "abcdefgh:" + strings.Repeat("x", 32), Digest: digest("y")})
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
		"origin": func(r *Row) { r.Origin += "o" }, "host": func(r *Row) { r.Host += "h" }, "url": func(r *Row) { r.URL += "u" },
		"catalog": func(r *Row) { r.Catalog += "c" }, "reason": func(r *Row) { r.Reason += "r" }, "battery": func(r *Row) { r.Battery += "b" },
		"failed": func(r *Row) { r.Failed = append(r.Failed, "x") }, "a failed check": func(r *Row) { r.Failed[3] += "x" },
		"advisories": func(r *Row) { r.Advisories = append(r.Advisories, "x") }, "protocols": func(r *Row) { r.Protocols = append(r.Protocols, "x") },
		"a protocol": func(r *Row) { r.Protocols[0] += "\x01" }, "difference": func(r *Row) { r.AlsoUnder.Difference += "d" },
		"attempted": func(r *Row) { r.ProbeMethod.Attempted = append(r.ProbeMethod.Attempted, "x") }, "declared by": func(r *Row) { r.ProbeMethod.DeclaredBy += "x" },
		"networks": func(r *Row) { r.Offer.Networks = append(r.Offer.Networks, "x") }, "schemes": func(r *Row) { r.Offer.Schemes = append(r.Offer.Schemes, "x") },
		"amount": func(r *Row) { r.Offer.MinUSDC += "9" }, "addresses": func(r *Row) { r.Offer.PayTo = append(r.Offer.PayTo, r.Offer.PayTo[0]) },
		"network of an address": func(r *Row) { r.Offer.PayTo[0].Network = "base" }, "left out without need": func(r *Row) { r.Offer.PayTo = r.Offer.PayTo[1:] },
		"negative": func(r *Row) { r.Offer.NetworksLeftOut = -1 },
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
		advisories = append(advisories, a.Name)
	}
	for _, b := range probe.Batteries() {
		var checks []string
		for _, c := range b.Checks {
			checks = append(checks, c.Name)
		}
		row := Row{Failed: checks, Advisories: advisories, Battery: b.Version, Offer: &RowOffer{Schemes: append(probe.Schemes(), OtherWord)}}
		if err := row.checkBounds(); err != nil {
			t.Errorf("%s: %v", b.Version, err)
		}
	}
}

// TestLargestEvidenceGivesWay fills a pack with what one door answered: the small judgements beside it are kept, and its
// own row holds no verdict, since nobody could judge it again.
func TestLargestEvidenceGivesWay(t *testing.T) {
	var entries []map[string]any
	for i := range 300 {
		entries = append(entries, map[string]any{"scheme": "exact", "network": "eip155:8453", "payTo": fmt.Sprintf("0x%040x", uint64(i)*0x9e3779b97f4a7c15)})
	}
	kept := map[string][]byte{}
	var rows []Row
	for i := range 9 {
		host := fmt.Sprintf("h%d.example", i)
		url := "https://" + host + "/paid"
		answer := probe.Practices()[0].Answer(url)
		if i == 4 {
			answer = asking(t, entries...)
		}
		report, judgement := look(t, url, answer, exchange.Error{}, lookedAt)
		row := RowFrom(report, judgement)
		row.Host, row.Source = host, SourceDiscovery
		rows = append(rows, row)
		raw, err := judgement.Encode()
		if err != nil {
			t.Fatal(err)
		}
		kept[host] = raw
	}
	w := testWriter(t)
	w.pack = 12_000
	d := draft(1)
	d.Rows, d.Evidence = each(rows...), func(host, _ string) ([]byte, error) { return kept[host], nil }
	seal(t, w, d)
	report := check(t, w)
	if v := report.Verdicts; len(report.Problems) > 0 || v.Again != 8 || v.Without != 1 || v.NotKept != 0 {
		t.Errorf("%+v %v", report.Verdicts, report.Problems)
	}
	r := open(t, w)
	for row, err := range r.Rows(1) {
		if err != nil {
			t.Fatal(err)
		}
		if unjudged := row.Reason == ReasonNotJudged && row.Verdict == VerdictNotProbed && row.EvidenceDigest == ""; unjudged != (row.Host == "h4.example") {
			t.Errorf("%+v", row.Row)
		}
	}
	if c := r.Rounds()[0].Coverage; c.Probed != 8 || c.NotProbed != 1 {
		t.Errorf("coverage %+v", c)
	}
}
