package probe

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"

	"github.com/google/go-cmp/cmp"
)

// TestFoldedChallenges gives doors whose challenges share a header line, as mppx reads them: what
// is said of each protocol, and of each challenge what is kept.
func TestFoldedChallenges(t *testing.T) {
	const signs = "mpp ready: mppx signs challenge "
	lines := map[string]string{
		"leading comma": `, ,Payment id="a", realm="r", method="card", intent="charge", request="eyJhIjoxfQ"`,
		"L402 second":   `Bearer realm="api", L402 macaroon="AGIA", invoice="lnbc1"`,
	}
	for name, want := range map[string][]string{
		"leading comma": {"mpp not_judged: no method of these challenges is judged", "www-authenticate card"},
		"L402 second": {"l402 not_judged: a macaroon and an invoice of Lightning, which are not judged",
			"l402 "},
		"mpp-two-payment-challenges-one-line": {signs + "1: evm, charge", "www-authenticate tempo",
			"www-authenticate evm"},
		"mpp-bearer-then-payment-one-line": {signs + "0: evm, charge", "www-authenticate evm"},
		"mpp-token68-scheme-first":         {signs + "0: evm, charge", "www-authenticate evm"},
		"mpp-blanks-around-equals":         {signs + "0: evm, charge", "www-authenticate evm"},
		"mpp-bearer-and-two-payments-quoted-scheme-word": {"mpp not_ready: challenge 1: no currency",
			"www-authenticate tempo", "www-authenticate evm"},
	} {
		x := answer(402, http.Header{"Www-Authenticate": {lines[name]}}, nil)
		if lines[name] == "" {
			x = met(t, name)
		}
		r := look(t, V2, []exchange.Exchange{x}, Declaration{})
		var got []string
		for _, p := range r.Protocols {
			got = append(got, p.Name+" "+string(p.Verdict)+": "+p.Why)
		}
		evidence, err := x.Redact()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range evidence.Challenges {
			method := ""
			for _, p := range c.Params {
				if p.Name == "method" {
					method = p.Value
				}
			}
			got = append(got, c.From+" "+method)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestHeadsAndMarks gives a payable door whose head fetch in Node refuses, and one whose terms have
// a byte order mark before them, which the stock client passes over.
func TestHeadsAndMarks(t *testing.T) {
	for name, want := range map[string]string{
		"http-head-content-length-twice-equal": "not_ready L3 door would_throw would_throw cannot_simulate: " +
			"the stock client picks no entry: fetch failed (HPE_UNEXPECTED_CONTENT_LENGTH: Response does not match " +
			"the HTTP/1.1 protocol (Duplicate Content-Length))",
		"x402-challenge-with-bom": "ready L4 none would_sign would_sign cannot_simulate: " +
			"accepts[0], which the stock client signs",
	} {
		x := met(t, name)
		if strings.HasPrefix(name, "http") {
			x.Response.HeadFault = exchange.HeadLengthTwice
		}
		r := look(t, V2, []exchange.Exchange{x}, Declaration{})
		said := ""
		for _, c := range r.ChecksVector {
			if c.Name == "transfer-method-signable" {
				said = c.Detail
			}
		}
		got := fmt.Sprint(r.Verdict, " ", r.ReachedLevel, " ", r.Fault, " ", r.Clients[0].Outcome, " ",
			r.Clients[2].Outcome, " ", r.Clients[len(r.Clients)-3].Outcome, ": ", said)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// met is an answer that was found, at its time.
func met(t *testing.T, name string) exchange.Exchange {
	t.Helper()
	raw, err := os.ReadFile(path.Join("../exchange/testdata/found", name+".http"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	x := answer(resp.StatusCode, resp.Header, body)
	x.StartedAt = time.Date(2026, 11, 29, 5, 15, 30, 0, time.UTC)
	return x
}
