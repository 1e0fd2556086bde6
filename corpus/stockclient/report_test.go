package stockclient

import (
	"encoding/base64"
	wire "encoding/json/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/corpus/exchange"
)

var judged = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func answered(challenge string) exchange.Exchange {
	return exchange.Exchange{
		Request: exchange.Request{Method: "GET", URL: "https://door.example/x"},
		Response: exchange.Response{Status: 402, Header: http.Header{
			"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(challenge))}}},
		StartedAt: judged.Add(-time.Second), Duration: time.Second,
	}
}

const payable = `{"scheme":"exact","network":"eip155:8453","amount":"990000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",` +
	`"payTo":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC","maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}`

func judge(t *testing.T, x exchange.Exchange, p Profile) Answer {
	t.Helper()
	rep, err := Read(x).Judge(p)
	if err != nil {
		t.Fatal(err)
	}
	return rep.YourClient
}

func TestWouldSign(t *testing.T) {
	dear := strings.Replace(payable, "990000", "2000000", 1)
	a := judge(t, answered(`{"x402Version":2,"accepts":[`+dear+`,`+payable+`,`+payable+`]}`), Profile{})
	if a.Outcome != WouldSign || a.Chosen == nil || a.Chosen.Index != 1 || *a.Chosen.AmountUSD != "0.99" ||
		a.Chosen.WindowSeconds != 60 {
		t.Fatalf("answered %+v", a)
	}
	if len(a.Dropped) != 2 || a.Dropped[0].Stage != StageCap || a.Dropped[1].Stage != StageSelector ||
		len(a.Hazards) != 0 {
		t.Errorf("dropped %+v, hazards %+v", a.Dropped, a.Hazards)
	}
	if a.CapApplied != (Cap{"$1", "default"}) {
		t.Errorf("cap %+v", a.CapApplied)
	}
	five := 5.0
	for name, p := range map[string]Profile{"5 USD": {MaxAmountPerPaymentUSD: &five}, "false": {NoMax: true},
		"off": {SpendControlsDisabled: true},
		"old": {Client: "x402-js/2.21.0"}} {
		if a := judge(t, answered(`{"x402Version":2,"accepts":[`+dear+`]}`), p); a.Outcome != WouldSign ||
			a.CapApplied.Source == "default" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestHeadThatNodeRefuses: at the same size as stock fetch, which was tried with heads of 16383 and
// 16384 bytes.
func TestHeadThatNodeRefuses(t *testing.T) {
	for size, warned := range map[int]bool{nodeHead - 1: false, nodeHead: true} {
		x := answered(`{"x402Version":2,"accepts":[` + payable + `]}`)
		padding := size - exchange.HeadBytes(x.Response.Header) - len("X-Padding")
		x.Response.Header.Set("X-Padding", strings.Repeat("a", padding))
		a := judge(t, x, Profile{})
		if said := len(a.Hazards) == 1 && a.Hazards[0].Name == "head-too-large"; said != warned ||
			(a.Outcome == WouldSign) == warned {
			t.Errorf("%d bytes: %s, hazards %+v", size, a.Outcome, a.Hazards)
		}
	}
}

// TestHeadsWrittenOddly: with the errors that fetch of Node 20.20.2 gave at such doors.
func TestHeadsWrittenOddly(t *testing.T) {
	for fault, want := range map[string]string{
		exchange.HeadLengthTwice:   "HPE_UNEXPECTED_CONTENT_LENGTH",
		exchange.HeadLengthChunked: "HPE_UNEXPECTED_CONTENT_LENGTH",
		exchange.HeadLineFeed:      "HPE_INVALID_HEADER_TOKEN",
		exchange.HeadContinue:      "UND_ERR_SOCKET",
		exchange.HeadVersion:       "HPE_INVALID_VERSION",
	} {
		x := answered(`{"x402Version":2,"accepts":[` + payable + `]}`)
		x.Response.HeadFault = fault
		a := judge(t, x, Profile{})
		if a.Outcome != WouldThrow || a.Stage != StageFetch || a.ThrowsWith != "fetch failed" || len(a.Hazards) != 1 ||
			a.Hazards[0].Name != "head-refused" || !strings.Contains(a.Hazards[0].Detail, want) {
			t.Errorf("%s: %+v", fault, a)
		}
	}
}

func TestWouldThrow(t *testing.T) {
	door := func(old, new string) exchange.Exchange {
		return answered(`{"x402Version":2,"accepts":[` + strings.Replace(payable, old, new, 1) + `]}`)
	}
	bare := answered("")
	bare.Response.Header = http.Header{}
	for _, c := range []struct {
		name, stage, throws string
		x                   exchange.Exchange
		exact               bool
	}{
		{"domain", StageCreation, "EIP-712 domain parameters (name, version)", door(`"name":"USD Coin",`, ""), true},
		{"name for payTo", StageCreation, `Address "vitalik.eth" is invalid.`,
			door("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", "vitalik.eth"), true},
		{"cap", StageCap, "($1, including USDC)", door("990000", "1000001"), true},
		{"asset", StageAssets, "only default assets", door("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
			"0x1111111111111111111111111111111111111111"), true},
		{"negative", StageCreation, `Number "-5n" is not in safe`, door("990000", "-5"), true},
		{"version", StageChallenge, "No client registered for x402 version: 1", answered(`{"x402Version":1}`), true},
		{"no header", StageChallenge, "Invalid payment required response", bare, true},
		{"no JSON", StageChallenge, "no JSON", answered(`{"x402Version":2`), false},
	} {
		a := judge(t, c.x, Profile{})
		if a.Outcome != WouldThrow || a.Stage != c.stage || !strings.Contains(a.ThrowsWith, c.throws) ||
			a.Exact != c.exact {
			t.Errorf("%s: %+v", c.name, a)
		}
	}
}

func TestCannotSimulate(t *testing.T) {
	fine := answered(`{}`)
	fine.Response.Status = 200
	for name, x := range map[string]exchange.Exchange{"200": fine,
		"surrogate": answered(`{"x402Version":2,"accepts":"\ud800"}`), "bytes": answered("{\"a\":\"\xff\"}"),
		"nothing": {Request: exchange.Request{URL: "https://door.example/x"}, StartedAt: judged}} {
		if a := judge(t, x, Profile{}); a.Outcome != CannotSimulate || len(a.Hazards) != 1 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Clients() {
		if seen[c.Name] || c.Name == "" || c.Package == "" || len(c.Families) == 0 || c.Viem == "" {
			t.Errorf("client %+v", c)
		}
		seen[c.Name] = true
	}
}

func FuzzJudge(f *testing.F) {
	f.Add(`{"x402Version":2,"accepts":[` + payable + `]}`)
	f.Add(`{"x402Version":2,"accepts":[{"network":["eip155:8453"],"scheme":"exact","amount":{}}]}`)
	f.Add("[1e400,-0]")
	f.Fuzz(func(t *testing.T, challenge string) {
		rep, err := Read(answered(challenge)).Judge(Profile{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := wire.Marshal(rep); err != nil {
			t.Error(err)
		}
		a := rep.YourClient
		if (a.Outcome == WouldSign) != (a.Stage == "") || a.Outcome == WouldSign && a.Chosen == nil ||
			a.Outcome == WouldThrow && a.ThrowsWith == "" {
			t.Errorf("answered %+v", a)
		}
	})
}
