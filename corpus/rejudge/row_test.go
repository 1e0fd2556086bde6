package rejudge_test

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/practice"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/record/recordtest"
	"store.example/agentstore/corpus/rejudge"
)

// placed is a row as Seal places it.
func placed(row record.Row, host string) record.Row {
	row.Origin, row.Sequence, row.Week, row.Host, row.Source = "store.example/corpus", 1, "2026-W37", host,
		record.SourceDiscovery
	return row
}

// TestRowFromPractice makes a row of each practice door: it can be signed, repeats the report, and
// its judgement gives it again.
func TestRowFromPractice(t *testing.T) {
	key := attest.SpecimenKey()
	offers := 0
	for _, p := range practice.All() {
		url := "https://door.example/" + p.ID
		report, judgement := recordtest.Look(t, url, p.Answer(url), exchange.Error{}, recordtest.LookedAt)
		row := rejudge.RowFrom(report, judgement)
		if _, err := record.SignRow(placed(row, "door.example"), key); err != nil {
			t.Errorf("%s: %v", p.ID, err)
		}
		if row.Verdict == record.VerdictNotProbed {
			t.Errorf("%s: not probed: %s", p.ID, row.Reason)
			continue
		}
		if row.Verdict != string(p.Verdict) || !slices.Equal(row.Failed, p.Failed) && len(row.Failed)+
			len(p.Failed) > 0 || row.ObservedAt != "2026-09-12T04:05:06Z" {
			t.Errorf("%s: %+v", p.ID, row)
		}
		raw, err := judgement.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if sum := attest.Digest(sha256.Sum256(raw)); row.EvidenceDigest != sum.String() {
			t.Errorf("%s: evidence %s, want %s", p.ID, row.EvidenceDigest, sum)
		}
		again, err := probe.DecodeJudgement(raw)
		if err != nil {
			t.Fatal(err)
		}
		second, err := again.Judge()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row, rejudge.RowFrom(second, again)); diff != "" {
			t.Errorf("%s: another row the second time:\n%s", p.ID, diff)
		}
		if row.Offer != nil {
			offers++
		}
	}
	if offers == 0 {
		t.Error("no row has an offer")
	}
}

func TestRowFromOffer(t *testing.T) {
	const usdc, other = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x0000000000000000000000000000000000000001"
	address := func(digest string) probe.Requirement {
		return probe.Requirement{Scheme: "exact", Network: "eip155:8453", Asset: usdc, Amount: "10000",
			PayToForm: exchange.FormEVM, PayToDigest: digest}
	}
	first, second := exchange.PayToDigest("eip155:8453", "a"), exchange.PayToDigest("eip155:8453", "b")
	with := func(r probe.Requirement, change func(*probe.Requirement)) probe.Requirement { change(&r); return r }
	for _, c := range []struct {
		name  string
		terms []probe.Requirement
		want  record.RowOffer
	}{
		{"no way to pay", nil, record.RowOffer{Networks: []string{}, Schemes: []string{}, PayTo: []record.PayTo{},
			NotCapturedReason: record.NotCapturedUnreadable}},
		{"one, twice", []probe.Requirement{address(first), address(first)},
			record.RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact"}, MinUSDC: "0.01",
				MaxUSDC: "0.01", PayTo: []record.PayTo{{Network: "eip155:8453", Digest: first}}}},
		{"two prices", []probe.Requirement{with(address(first), func(r *probe.Requirement) { r.Amount = "0020000000" }),
			with(address(second), func(r *probe.Requirement) { r.Amount = "9999999"; r.Scheme = "upto" })},
			record.RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact", "upto"}, MinUSDC: "9.999999",
				MaxUSDC: "20", PayTo: []record.PayTo{{Network: "eip155:8453", Digest: first},
					{Network: "eip155:8453", Digest: second}}}},
		{"another token, a test network, no number and nothing", []probe.Requirement{
			with(address(first), func(r *probe.Requirement) { r.Asset = other }),
			with(address(first), func(r *probe.Requirement) {
				r.Network, r.Asset = "eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
			}),
			with(address(first), func(r *probe.Requirement) { r.Amount = "0.5" }),
			with(address(""), func(r *probe.Requirement) { r.PayToForm = exchange.FormNotAString; r.Amount = "0" })},
			record.RowOffer{Networks: []string{"eip155:8453", "eip155:84532"}, Schemes: []string{"exact"}, MinUSDC: "0",
				MaxUSDC: "0", PayTo: []record.PayTo{{Network: "eip155:8453", Digest: first},
					{Network: "eip155:84532", Digest: first}}}},
		{"World Chain", []probe.Requirement{with(address(first), func(r *probe.Requirement) {
			r.Network, r.Asset = "eip155:480", "0x79A02482A880bCE3F13e09Da970dC34db4CD24d1"
		})}, record.RowOffer{Networks: []string{"eip155:480"}, Schemes: []string{"exact"}, MinUSDC: "0.01",
			MaxUSDC: "0.01", PayTo: []record.PayTo{{Network: "eip155:480", Digest: first}}}},
		{"no address", []probe.Requirement{with(address(first),
			func(r *probe.Requirement) { r.PayToForm = exchange.FormEVMZero })},
			record.RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact"}, MinUSDC: "0.01",
				MaxUSDC: "0.01", PayTo: []record.PayTo{}, NotCapturedReason: record.NotCapturedNoAddress}},
	} {
		if diff := cmp.Diff(c.want, *rejudge.OfferFrom(slices.Values(c.terms))); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

func TestRowFromWhatWasNotJudged(t *testing.T) {
	url := "https://door.example/"
	key := attest.SpecimenKey()
	refused := practice.Answer{Status: http.StatusMethodNotAllowed, Header: http.Header{}}
	report, judgement := recordtest.Look(t, url, refused, exchange.Error{}, recordtest.LookedAt)
	unresolved := rejudge.RowFrom(report, judgement)
	if unresolved.Verdict != record.VerdictNotProbed || unresolved.Reason != record.ReasonMethodUnresolved ||
		unresolved.Fault != record.FaultInstrument {
		t.Errorf("a door that refused GET: %+v", unresolved)
	}
	report, judgement = recordtest.Look(t, url, practice.Answer{}, exchange.Error{Stage: exchange.StageResolve,
		Text: "no such host"}, recordtest.LookedAt)
	silent := rejudge.RowFrom(report, judgement)
	if silent.Verdict != record.VerdictUnreachable || silent.Reason != exchange.StageResolve ||
		silent.Fault != record.FaultPath || silent.Offer != nil {
		t.Errorf("a door that does not resolve: %+v", silent)
	}
	doubted := rejudge.RowFrom(report.ControlFailed(), judgement)
	if doubted.Verdict != record.VerdictNotProbed || doubted.Reason != record.ReasonControlFailed ||
		doubted.Fault != record.FaultInstrument {
		t.Errorf("with a failing control door: %+v", doubted)
	}
	for _, row := range []record.Row{unresolved, silent, doubted} {
		if _, err := record.SignRow(placed(row, "door.example"), key); err != nil {
			t.Errorf("%s: %v", row.Verdict, err)
		}
	}
}

// TestShortNamesAreThoseOfTheTable holds what a record takes for a network to the table of
// networks.
func TestShortNamesAreThoseOfTheTable(t *testing.T) {
	var names []string
	for _, c := range networks.Chains() {
		if c.V1 != "" {
			names = append(names, c.V1)
		}
	}
	if slices.Sort(names); !slices.Equal(names, record.ShortNames) {
		t.Errorf("the record knows %v, the table of networks has %v", record.ShortNames, names)
	}
}
