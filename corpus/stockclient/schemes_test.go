package stockclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"store.example/agentstore/cmd/devnet/oracles"
)

const (
	batchEntry = `{"scheme":"batch-settlement","network":"eip155:8453","amount":"1000",` +
		`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",` +
		`"maxTimeoutSeconds":300,"extra":{"name":"USD Coin","version":"2","minDeposit":"1000000",` +
		`"receiverAuthorizer":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","withdrawDelay":1209600}}`
	captureEntry = `{"scheme":"auth-capture","network":"eip155:8453","amount":"250000",` +
		`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",` +
		`"maxTimeoutSeconds":300,"extra":{"name":"USD Coin","version":"2",` +
		`"authCaptureEscrow":"0xf96815976523E00e65Be8f34cA5e64b4f41EB19c",` +
		`"captureAuthorizer":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","paymentFlow":"escrow",` +
		`"captureDeadline":1796541840,"refundDeadline":1797139440,"minFeeBps":0,"maxFeeBps":100,` +
		`"feeRecipient":"0x0000000000000000000000000000000000000000","assetTransferMethod":"eip3009"}}`
)

// spoilt changes members of an entry at random, seldom more than two.
func spoilt(r *rand.Rand, entry string) string {
	var e, extra map[string]any
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(json.Unmarshal([]byte(entry), &e))
	extra, _ = e["extra"].(map[string]any)
	address := func() any {
		return pick[any](r, "0x0000000000000000000000000000000000000000", "", nil, 7, "0x1234", "vitalik.eth",
			"0x70997970c51812dc3a010c7d01b50e0d17dc79c8", "0x70997970C51812DC3A010C7D01B50E0D17DC79C8",
			"0x70997970c51812dc3A010C7d01b50e0d17dc79C8", EscrowV10, strings.ToLower(EscrowV11),
			"0x13ac0000000000000000000000000000000029cb")
	}
	for range pick(r, 0, 1, 1, 2) {
		number := func() any {
			return pick[any](r, 0, 1, 900, 900.5, -1, "900", nil, 1e13, 1e16, 65536, 300, 2_592_000, true)
		}
		changes := []func(){
			func() {
				e["amount"] = pick[any](r, "0", "1000000", "1000001", "7000000", "0.5", "-5", 1000,
					strings.Repeat("9", 40))
			},
			func() { e["payTo"] = address() },
			func() { e["maxTimeoutSeconds"] = pick[any](r, 60, 60.5, "60", nil, true, -1e16, 1e15) },
			func() {
				e["asset"] = pick[any](r, strings.ToLower(assets[0].Address), strings.ToUpper(assets[0].Address),
					"0x1111111111111111111111111111111111111111")
			},
			func() { e["network"] = pick[any](r, "eip155:10", "eip155:x", "eip155:84532", "base") },
			func() { e["extra"] = pick[any](r, nil, "text", map[string]any{}) },
			func() {
				delete(extra, pick(r, "name", "version", "captureAuthorizer", "feeRecipient", "receiverAuthorizer",
					"captureDeadline", "refundDeadline", "minFeeBps", "maxFeeBps", "withdrawDelay", "minDeposit",
					"authCaptureEscrow", "paymentFlow"))
			},
			func() {
				extra[pick(r, "receiverAuthorizer", "captureAuthorizer", "feeRecipient", "authCaptureEscrow")] =
					address()
			},
			func() {
				extra[pick(r, "captureDeadline", "refundDeadline", "minFeeBps", "maxFeeBps", "withdrawDelay")] =
					number()
			},
			func() {
				extra["minDeposit"] = pick[any](r, "1", "999", "1001", "5000000", "5000001", "90000000", 5000, "x", nil)
			},
			func() { extra["assetTransferMethod"] = pick[any](r, "permit2", "eip3009", "iou", nil, "") },
			func() { extra["paymentFlow"] = pick[any](r, "escrow", "authorization", "later", nil) },
		}
		changes[r.IntN(len(changes))]()
	}
	b, err := json.Marshal(e)
	must(err)
	return string(b)
}

// TestSchemesAgreeWithTheStockClient: with batch-settlement and auth-capture registered, the replay
// picks what the stock client picks, throws where it throws and in its words, and moves as much.
func TestSchemesAgreeWithTheStockClient(t *testing.T) {
	type ask struct {
		Schemes   []string        `json:"schemes"`
		Controls  json.RawMessage `json:"controls"`
		Challenge string          `json:"challenge"`
	}
	const cases, seed = 1200, 2027
	r := rand.New(rand.NewPCG(seed, seed))
	asks := make([]ask, cases)
	for i := range asks {
		var entries []string
		for range pick(r, 1, 1, 2, 3) {
			entries = append(entries, spoilt(r, pick(r, payable, batchEntry, captureEntry, batchEntry, captureEntry)))
		}
		asks[i] = ask{Schemes: pick(r, []string{Batch, Capture}, []string{Batch}, []string{Capture}, []string{}),
			Controls: json.RawMessage(pick(r, "null", "null", "false", `{"maxAmountPerPayment":0.0005}`,
				`{"maxAmountPerPayment":20}`)),
			Challenge: `{"x402Version":2,"resource":{"url":"https://x.example/"},"accepts":[` +
				strings.Join(entries, ",") + `]}`}
	}
	var answers []struct {
		Picked        int
		Throws, Moves string
	}
	oracles.Ask(t, "schemes.mjs", asks, &answers)
	signed, threw, exact := map[string]int{}, 0, 0
	for i, q := range asks {
		want := answers[i]
		c := Config{Client: clients[1]}
		c.Client.Schemes = q.Schemes
		if q.Controls[0] != 'n' {
			c.Controls = stockControls(t, string(q.Controls))
		}
		v, err := parse([]byte(q.Challenge))
		if err != nil {
			t.Fatal(err)
		}
		run := run{config: c}
		e, err := run.choose(v)
		picked, moves := -1, ""
		if err == nil {
			picked = e.index
			if err = run.create(e, judged); err == nil {
				moves = text(e.get("amount"))
				if s := run.stake(e); s != nil {
					moves = s.Atomic
				}
				signed[e.scheme]++
			}
		}
		said := ""
		if err != nil {
			threw++
			said = err.Error()
			if _, ok := errors.AsType[thrown](err); ok {
				exact++
			} else {
				said = want.Throws // its words are ours
			}
		}
		timed := strings.HasPrefix(said, "Cannot convert 1") || strings.HasPrefix(said, "The number 1") ||
			strings.HasPrefix(said, `Number "`) && strings.HasPrefix(want.Throws, `Number "`)
		if picked != want.Picked || (err == nil) != (want.Throws == "") || moves != want.Moves ||
			said != want.Throws && !timed {
			t.Errorf("case %d: picked %d, threw %q, moves %s; the stock client %+v\n%s\n%s", i, picked, said, moves,
				want,
				q.Challenge, fmt.Sprint(q.Schemes, string(q.Controls)))
		}
	}
	t.Logf("signed %v, threw %d times, %d in the client's words", signed, threw, exact)
	if signed[Batch] < 100 || signed[Capture] < 80 || signed[schemeExact] < 50 || exact < 300 {
		t.Error("the cases have become too alike")
	}
}
