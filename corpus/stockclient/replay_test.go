package stockclient

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/oracles"
	"store.example/agentstore/corpus/exchange"
)

// stockControls reads spend controls as a client is configured with them.
func stockControls(t *testing.T, raw string) Controls {
	t.Helper()
	if raw == "" {
		return Controls{}
	}
	if raw == "false" {
		return Controls{Off: true}
	}
	var c struct {
		MaxAmountPerPayment json.RawMessage
		AllowedAssets       json.RawMessage
	}
	if err := json.Unmarshal([]byte(raw), &c); err != nil {
		t.Fatal(err)
	}
	var out Controls
	switch m := string(c.MaxAmountPerPayment); {
	case m == "":
	case m == "false":
		out.Max.Off = true
	case m[0] == '"':
		if err := json.Unmarshal(c.MaxAmountPerPayment, &out.Max.Text); err != nil {
			t.Fatal(err)
		}
	default:
		out.Max.IsNumber = true
		if err := json.Unmarshal(c.MaxAmountPerPayment, &out.Max.Number); err != nil {
			t.Fatal(err)
		}
	}
	switch a := string(c.AllowedAssets); {
	case a == "":
	case a == "true":
		out.AnyAsset = true
	default:
		var list []struct{ Network, Asset, MaxAmountPerPayment string }
		if err := json.Unmarshal(c.AllowedAssets, &list); err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			out.Allowed = append(out.Allowed, Allowed{l.Network, l.Asset, l.MaxAmountPerPayment})
		}
	}
	return out
}

func TestGoldenCases(t *testing.T) {
	raw, err := os.ReadFile("testdata/select-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name            string
		PaymentRequired json.RawMessage
		Client          struct {
			EVM, SVM      bool
			SpendControls json.RawMessage
		}
		Result struct {
			Picked *int
			Error  string
		}
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 20 {
		t.Fatalf("%d cases, want 20", len(cases))
	}
	for _, c := range cases {
		config := Config{Client: clients[0], Controls: stockControls(t, string(c.Client.SpendControls))}
		config.Client.Families = nil
		if c.Client.EVM {
			config.Client.Families = append(config.Client.Families, "eip155")
		}
		if c.Client.SVM {
			config.Client.Families = append(config.Client.Families, "solana")
		}
		want := -1
		if c.Result.Picked != nil {
			want = *c.Result.Picked
		}
		got, throws, _, err := Select(c.PaymentRequired, config)
		if err != nil || got != want || throws != c.Result.Error {
			t.Errorf("%s: picked %d, threw %q (%v), want %d, %q", c.Name, got, throws, err, want, c.Result.Error)
		}
	}
}

// A question to the stock client, and the same for ours.
type question struct {
	Core      string          `json:"core"`
	EVM       bool            `json:"evm"`
	SVM       bool            `json:"svm"`
	Controls  json.RawMessage `json:"controls"`
	Challenge string          `json:"challenge"`
}

type stockAnswer struct {
	Picked  int     `json:"picked"`
	Throws  string  `json:"throws"`
	Creates *string `json:"creates"`
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// anything is an odd JSON value, seldom a usual one.
func anything(r *rand.Rand) string {
	return pick(r, "null", "true", "false", "0", "-0", "1000", "1.5", "1e21", "1e-7", "1e400", `""`, `" "`, `"0x10"`,
		`"é\u0001\u2028\"/"`,
		"[]", `["5"]`, `[null,["eip155:8453"]]`, `{}`, `{"2":1,"b":2,"1":3,"b":4,"01":5}`, `["eip155:8453"]`,
		`"eip155:8453\n"`, `[0.5]`)
}

func field(r *rand.Rand, name string, usual ...string) string {
	switch r.IntN(70) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%q:%s,", name, anything(r))
	}
	return fmt.Sprintf("%q:%s,", name, pick(r, usual...))
}

func randomEntry(r *rand.Rand) string {
	if r.IntN(120) == 0 {
		return anything(r)
	}
	a := pick(r, assets...)
	if r.IntN(2) == 0 {
		a = assets[0]
	}
	asset := pick(r, a.Address, a.Address, a.Address, strings.ToLower(a.Address), strings.ToUpper(a.Address),
		pick(r, assets...).Address,
		"0x1111111111111111111111111111111111111111")
	unit := strings.Repeat("0", a.Decimals)
	amount := pick(r, "1"+unit, "1"+unit[:len(unit)-1]+"1", "5"+unit, "1000", "1", "0", "000"+"1"+unit, "4999999",
		"999999", "0.5",
		pick(r, "1.5", "-5", "5.", "-0.5", "abc", "1e3", strings.Repeat("9", 90), " 5 ", "+5"))
	network := pick(r, a.Network, a.Network, a.Network, a.Network, a.Network, "eip155:10", "base",
		pick(r, "solana:mainnet", a.Network, a.Network), "eip155:99999999999999999999", "eip155:x",
		"fake:1")
	extra := "{" + field(r, "name", `"USD Coin"`, `"USDC"`) + field(r, "version", `"2"`) + field(r, "feePayer", `"x"`)
	if r.IntN(3) == 0 {
		extra += field(r, "paymentFlow", `"authorization"`, `"upfront"`, `"escrow"`, `"later"`, "null")
	}
	if r.IntN(6) == 0 {
		extra += field(r, "assetTransferMethod", `"permit2"`, `"eip3009"`)
	}
	extra = strings.TrimSuffix(extra, ",") + "}"
	fields := field(r, "scheme", `"exact"`, `"exact"`, `"exact"`, `"exact"`, `"exact"`, `"upto"`) +
		field(r, "network", fmt.Sprintf("%q", network)) +
		field(r, "asset", fmt.Sprintf("%q", asset)) + field(r, "amount", fmt.Sprintf("%q", amount)) +
		field(r, "payTo", `"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"`,
			`"0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc"`, `"vitalik.eth"`) +
		field(r, "maxTimeoutSeconds", "60", `"60"`, "300") + field(r, "extra", extra)
	return "{" + strings.TrimSuffix(fields, ",") + "}"
}

func randomQuestion(r *rand.Rand) question {
	q := question{Core: pick(r, "2.27.0", "2.27.0", "2.27.0", "2.27.0", "2.21.0"), EVM: r.IntN(8) > 0,
		SVM: r.IntN(2) == 0,
		Controls: json.RawMessage(pick(r, "null", "null", "null", "false", "{}", `{"maxAmountPerPayment":false}`,
			`{"maxAmountPerPayment":5}`,
			`{"maxAmountPerPayment":"$0.5"}`, `{"maxAmountPerPayment":1e-7}`, `{"maxAmountPerPayment":-1}`,
			`{"maxAmountPerPayment":"2 USDC"}`, `{"maxAmountPerPayment":"x"}`, `{"allowedAssets":true}`,
			`{"allowedAssets":[{"network":"eip155:*","asset":"usdc","maxAmountPerPayment":"999999"}]}`,
			`{"allowedAssets":[{"network":"eip155:8453","asset":"USDC","maxAmountPerPayment":"$1"}]}`,
			`{"allowedAssets":[{"network":"*","asset":"0x1111111111111111111111111111111111111111"}],"maxAmountPerPayment":2}`))}
	if !q.EVM {
		q.SVM = true
	}
	var entries []string
	for range pick(r, 1, 2, 2, 3, 4, pick(r, 1, 0)) {
		entries = append(entries, randomEntry(r))
	}
	accepts := "[" + strings.Join(entries, ",") + "]"
	if r.IntN(100) == 0 {
		accepts = anything(r)
	}
	q.Challenge = fmt.Sprintf(`{"x402Version":%s,"resource":{"url":"https://x.example/y"},"accepts":%s}`,
		pick(r, "2", "2", "2", "2.0", pick(r, "2", "2", "2", "2", "2", "1", `"2"`, "null")), accepts)
	return q
}

func (q question) config(t *testing.T) Config {
	c := Config{Client: clients[0]}
	if q.Core == "2.21.0" {
		c.Client, _ = ClientByName("x402-js/2.21.0")
	}
	c.Client.Families = nil
	if q.EVM {
		c.Client.Families = append(c.Client.Families, "eip155")
	}
	if q.SVM {
		c.Client.Families = append(c.Client.Families, "solana")
	}
	if controls := string(q.Controls); controls != "null" {
		c.Controls = stockControls(t, controls)
	}
	return c
}

func TestAgreesWithTheStockClient(t *testing.T) {
	const cases, seed = 2000, 402
	r := rand.New(rand.NewPCG(seed, seed))
	questions := make([]question, cases)
	for i := range questions {
		questions[i] = randomQuestion(r)
	}
	for _, q := range questions {
		q.Challenge = published(t, q.Challenge)
		questions = append(questions, q)
	}
	var answers []stockAnswer
	oracles.Ask(t, "select.mjs", questions, &answers)
	picked, threw, created, wrong := 0, map[string]int{}, 0, 0
	for i, q := range questions[:cases] {
		if p, w := answers[cases+i], answers[i]; p.Picked != w.Picked || succeeds(p) != succeeds(w) {
			t.Errorf("case %d: the stock client answers what is published with %+v, the door with %+v\n%s", i, p, w,
				questions[cases+i].Challenge)
		}
		got, throws, dropped, err := Select([]byte(q.Challenge), q.config(t))
		want := answers[i]
		if err != nil || got != want.Picked || throws != want.Throws {
			t.Errorf("seed %d, case %d: picked %d, threw %q (%v), the stock client %d, %q\n%s\n%+v", seed, i, got,
				throws, err, want.Picked, want.Throws, q.Challenge, q)
			if wrong++; wrong > 10 {
				t.FailNow()
			}
			continue
		}
		if got < 0 {
			threw[throws[:min(len(throws), 40)]]++
			continue
		}
		picked++
		seen := map[int]bool{got: true}
		for _, d := range dropped {
			if seen[d.Index] || d.Why == "" {
				t.Errorf("case %d: entry %d dropped twice, or without a reason: %+v", i, d.Index, dropped)
			}
			seen[d.Index] = true
		}
		if want.Creates == nil {
			continue
		}
		a := replayCreation(t, q)
		switch {
		case a == nil && *want.Creates == "", a != nil && a.Error() == *want.Creates:
			created++
		// holds the time
		case a != nil && strings.HasPrefix(a.Error(), "Cannot convert 1") &&
			strings.HasPrefix(*want.Creates, "Cannot convert 1"):
		default:
			t.Errorf("case %d: making the payload threw %v, in the stock client %q\n%s", i, a, *want.Creates,
				q.Challenge)
		}
	}
	t.Logf("%d picked (%d payloads alike), threw %v", picked, created, threw)
	if picked < cases/4 || len(threw) < 12 {
		t.Errorf("%d of %d picked and %d kinds of errors: the cases have become too alike", picked, cases, len(threw))
	}
}

// published is what a record shows of terms, or these where they are no strict JSON and not shown:
// the stock client does with it what it does with them.
func published(t *testing.T, terms string) string {
	r, err := exchange.Exchange{Response: exchange.Response{Status: 402, Body: []byte(terms)}}.Redact()
	if err == nil && len(r.Challenges) == 0 && strings.Contains(terms, `"b":2,"1":3,"b":4`) {
		return terms
	}
	if err != nil || len(r.Challenges) != 1 || strings.Contains(terms, `"payTo":"0x3`) && len(r.StandIns) == 0 {
		t.Fatalf("%s is published as %+v, %v", terms, r, err)
	}
	return string(r.Challenges[0].Value)
}

func succeeds(a stockAnswer) bool { return a.Throws == "" && (a.Creates == nil || *a.Creates == "") }

func replayCreation(t *testing.T, q question) error {
	t.Helper()
	v, err := parse([]byte(q.Challenge))
	if err != nil {
		t.Fatal(err)
	}
	r := run{config: q.config(t)}
	e, err := r.choose(v)
	if err != nil {
		t.Fatal(err)
	}
	r.config.Controls.Off = true // the oracle looks the asset up, but has no ceiling at hand
	return r.create(e, judged)
}
