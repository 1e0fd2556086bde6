package corpus

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentstore/corpus/attest"
	"agentstore/corpus/exchange"
	"agentstore/corpus/probe"
)

// look walks a door that answers every request in one way, or with a failure.
func look(t testing.TB, url string, answer probe.Answer, failure exchange.Error, at time.Time) (probe.Report, probe.Judgement) {
	t.Helper()
	p, err := probe.NewPreflight(probe.V2, url, probe.Declaration{})
	if err != nil {
		t.Fatal(err)
	}
	var recorded []exchange.Exchange
	for {
		report, next, err := p.Step(recorded)
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			j, err := p.Judgement(recorded)
			if err != nil {
				t.Fatal(err)
			}
			return report, j
		}
		x := exchange.Exchange{Request: next.Request, StartedAt: at, Error: failure}
		if failure.Stage == "" {
			x.Response = exchange.Response{Status: answer.Status, Proto: "HTTP/2.0", Header: answer.Header, Body: answer.Body}
		}
		recorded = append(recorded, x)
	}
}

var lookedAt = time.Date(2026, 9, 13, 4, 5, 6, 0, time.UTC)

// placed is a row as Seal places it.
func placed(row Row, host string) Row {
	row.Origin, row.Sequence, row.Week, row.Host, row.Source = "store.example/corpus", 1, "2026-W37", host, SourceDiscovery
	return row
}

// TestRowFromPractice makes a row of each practice door: it can be signed, repeats the report, and its judgement gives
// it again.
func TestRowFromPractice(t *testing.T) {
	key := attest.SpecimenKey()
	offers := 0
	for _, p := range probe.Practices() {
		url := "https://door.example/" + p.ID
		report, judgement := look(t, url, p.Answer(url), exchange.Error{}, lookedAt)
		row := RowFrom(report, judgement)
		if _, err := SignRow(placed(row, "door.example"), key); err != nil {
			t.Errorf("%s: %v", p.ID, err)
		}
		if row.Verdict == VerdictNotProbed {
			t.Errorf("%s: not probed: %s", p.ID, row.Reason)
			continue
		}
		if row.Verdict != string(p.Verdict) || !slices.Equal(row.Failed, p.Failed) && len(row.Failed)+len(p.Failed) > 0 || row.ObservedAt != "2026-09-13T04:05:06Z" || row.EvidenceDigest != judgement.Digest() {
			t.Errorf("%s: %+v", p.ID, row)
		}
		raw, err := judgement.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := probe.DecodeJudgement(raw)
		if err != nil {
			t.Fatal(err)
		}
		second, err := again.Judge()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row, RowFrom(second, again)); diff != "" {
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
		return probe.Requirement{Scheme: "exact", Network: "eip155:8453", Asset: usdc, Amount: "10000", PayToForm: exchange.FormEVM, PayToDigest: digest}
	}
	first, second := exchange.PayToDigest("eip155:8453", "a"), exchange.PayToDigest("eip155:8453", "b")
	with := func(r probe.Requirement, change func(*probe.Requirement)) probe.Requirement { change(&r); return r }
	for _, c := range []struct {
		name  string
		terms []probe.Requirement
		want  RowOffer
	}{
		{"no way to pay", nil, RowOffer{Networks: []string{}, Schemes: []string{}, PayTo: []PayTo{}, NotCapturedReason: NotCapturedUnreadable}},
		{"one, twice", []probe.Requirement{address(first), address(first)},
			RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact"}, MinUSDC: "0.01", MaxUSDC: "0.01", PayTo: []PayTo{{"eip155:8453", first}}}},
		{"two prices", []probe.Requirement{with(address(first), func(r *probe.Requirement) { r.Amount = "0020000000" }), with(address(second), func(r *probe.Requirement) { r.Amount = "9999999"; r.Scheme = "upto" })},
			RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact", "upto"}, MinUSDC: "9.999999", MaxUSDC: "20", PayTo: []PayTo{{"eip155:8453", first}, {"eip155:8453", second}}}},
		{"another token, a test network, no number and nothing", []probe.Requirement{
			with(address(first), func(r *probe.Requirement) { r.Asset = other }),
			with(address(first), func(r *probe.Requirement) {
				r.Network, r.Asset = "eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
			}),
			with(address(first), func(r *probe.Requirement) { r.Amount = "0.5" }),
			with(address(""), func(r *probe.Requirement) { r.PayToForm = exchange.FormNotAString; r.Amount = "0" })},
			RowOffer{Networks: []string{"eip155:8453", "eip155:84532"}, Schemes: []string{"exact"}, MinUSDC: "0", MaxUSDC: "0", PayTo: []PayTo{{"eip155:8453", first}, {"eip155:84532", first}}}},
		{"no address", []probe.Requirement{with(address(first), func(r *probe.Requirement) { r.PayToForm = exchange.FormEVMZero })},
			RowOffer{Networks: []string{"eip155:8453"}, Schemes: []string{"exact"}, MinUSDC: "0.01", MaxUSDC: "0.01", PayTo: []PayTo{}, NotCapturedReason: NotCapturedNoAddress}},
	} {
		if diff := cmp.Diff(c.want, *offerFrom(slices.Values(c.terms))); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

func TestRowFromWhatWasNotJudged(t *testing.T) {
	url := "https://door.example/"
	key := attest.SpecimenKey()
	refused := probe.Answer{Status: http.StatusMethodNotAllowed, Header: http.Header{}}
	report, judgement := look(t, url, refused, exchange.Error{}, lookedAt)
	unresolved := RowFrom(report, judgement)
	if unresolved.Verdict != VerdictNotProbed || unresolved.Reason != ReasonMethodUnresolved || unresolved.Fault != FaultInstrument {
		t.Errorf("a door that refused GET: %+v", unresolved)
	}
	report, judgement = look(t, url, probe.Answer{}, exchange.Error{Stage: exchange.StageResolve, Text: "no such host"}, lookedAt)
	silent := RowFrom(report, judgement)
	if silent.Verdict != VerdictUnreachable || silent.Reason != exchange.StageResolve || silent.Fault != FaultPath || silent.Offer != nil {
		t.Errorf("a door that does not resolve: %+v", silent)
	}
	doubted := RowFrom(report.ControlFailed(), judgement)
	if doubted.Verdict != VerdictNotProbed || doubted.Reason != ReasonControlFailed || doubted.Fault != FaultInstrument {
		t.Errorf("with a failing control door: %+v", doubted)
	}
	for _, row := range []Row{unresolved, silent, doubted} {
		if _, err := SignRow(placed(row, "door.example"), key); err != nil {
			t.Errorf("%s: %v", row.Verdict, err)
		}
	}
}

// TestSourcesOfARow holds how a host came onto the roster against the words that are published: one that declared itself
// rides under its own file, and a row that says otherwise is not signed.
func TestSourcesOfARow(t *testing.T) {
	for source, good := range map[string]bool{"discovery": true, "well-known": true, "list": true, "revisit": true,
		"declared": false, "": false} {
		row := placed(walked("door.example", VerdictReady), "door.example")
		row.Source = source
		if _, err := SignRow(row, attest.SpecimenKey()); (err == nil) != good {
			t.Errorf("source %q: %v", source, err)
		}
	}
}
