package x402_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

// channel is one after a purchase of 1,000, as in a session of the stock packages.
var channel = pay.Channel{Charged: 2000, Amount: 1000, State: rail.ChannelState{ID: "0x13", Balance: 5000, Claimed: 300,
	RefundNonce: 1}}

const told = `"channelState":{"channelId":"0x13","balance":"5000","totalClaimed":"300","withdrawRequestedAt":0,` +
	`"refundNonce":"1","chargedCumulativeAmount":"2000"}`

// The answer to a voucher says how its channel stands, and moves nothing.
func TestAnswerToAVoucher(t *testing.T) {
	refund := channel
	refund.Amount = 0
	for _, c := range []struct {
		outcome    pay.Outcome
		says, hide string
	}{
		{pay.Outcome{Channel: &channel}, `"extra":{` + told + `,"chargedAmount":"1000"}`, `"amount"`},
		{pay.Outcome{Channel: &channel, Amount: 5000, Transaction: "0x1"}, `"transaction":"0x1"`, `"amount":""`},
		{pay.Outcome{Channel: &refund, Amount: 500, Transaction: "0x1"}, `"amount":"500","extra":{` + told + `}`,
			"chargedAmount"},
		{pay.Outcome{Amount: 7, Transaction: "0x1"}, `"amount":"7"`, "extra"},
	} {
		to := pay.Carrier{Meta: pay.Meta{}}
		c.outcome.Success, c.outcome.Network, c.outcome.Receipt = true, "eip155:8453", "jws"
		if err := x402.Row.New(pay.Store{}).Answer(to, nil, c.outcome); err != nil {
			t.Fatal(err)
		}
		said := string(to.Meta[x402.MetaResponse])
		if !strings.Contains(said, c.says) || strings.Contains(said, c.hide) {
			t.Errorf("%s\nwant %s, and no %s", said, c.says, c.hide)
		}
	}
}

// A voucher that is out of step is answered with both objects in the entry of its scheme, and in no
// other; the terms that are kept stay as they were.
func TestCorrectiveTerms(t *testing.T) {
	entry := func(scheme string) rail.Requirement {
		return rail.Requirement{Scheme: scheme, Network: "eip155:8453", Amount: "1000", Asset: "0x1", PayTo: "0x2",
			MaxTimeoutSeconds: 300, Extra: map[string]any{"name": "USD Coin"}}
	}
	q := &pay.Quote{URL: "https://store.example/porch/line", Method: http.MethodGet, Until: time.Now(),
		Accepts: []rail.Requirement{entry("exact"), entry(rail.SchemeVouchers)}}
	terms, err := x402.Row.New(pay.Store{SignOffer: func(rail.Requirement, string, time.Time) (string, error) {
		return "jws", nil
	}}).Terms(q)
	if err != nil {
		t.Fatal(err)
	}
	behind := channel
	behind.Last = &rail.Voucher{Max: 2000, Signature: []byte{0xab, 0xcd}}
	for _, c := range []struct {
		channel *pay.Channel
		want    string
	}{
		{nil, `{"name":"USD Coin"}`},
		{&channel, `{` + told + `,"name":"USD Coin"}`}, // no voucher was taken
		{&behind, `{` + told + `,"name":"USD Coin","voucherState":{"signedMaxClaimable":"2000","signature":"0xabcd"}}`},
		{nil, `{"name":"USD Coin"}`},
	} {
		h := http.Header{}
		fill := pay.Fill{Channel: c.channel}
		if _, err := terms.Say(pay.Carrier{Header: h}, fill, "out of step", []byte("{")); err != nil {
			t.Fatal(err)
		}
		raw, err := base64.StdEncoding.DecodeString(h.Get(x402.HeaderRequired))
		var said struct {
			Error   string
			Accepts []struct{ Extra json.RawMessage }
		}
		if err == nil {
			err = json.Unmarshal(raw, &said)
		}
		if err != nil || said.Error != "out of step" || len(said.Accepts) != 2 ||
			string(said.Accepts[0].Extra) != `{"name":"USD Coin"}` || string(said.Accepts[1].Extra) != c.want {
			t.Errorf("%s: %v, want %s", raw, err, c.want)
		}
	}
}
