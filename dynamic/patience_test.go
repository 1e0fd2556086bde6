package dynamic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"math/big"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// slowRail takes a payment and never settles it.
type slowRail struct{ closedRail }

func (slowRail) Parse(_ []byte, want rail.Requirement) (*rail.Payment, error) {
	return &rail.Payment{Network: want.Network, Asset: want.Asset, Method: "eip3009",
		Payer: "0x00000000000000000000000000000000000000aa",
		Nonce: "0x01", PayTo: want.PayTo, Amount: big.NewInt(500000),
		ValidBefore: time.Now().Add(5 * time.Minute).Unix()}, nil
}

func (slowRail) Verify(context.Context, *rail.Payment, rail.Requirement, time.Time) (rail.Verified, error) {
	return rail.Verified{}, nil
}

func (slowRail) Signed(*rail.Payment) bool { return false }
func (slowRail) Draft(ctx context.Context, _ []*rail.Payment) (rail.Draft, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A purchase waits for the chain as long as the store says, also where that is more than other
// answers may take.
func TestPurchasesWaitAsLongAsTheStoreSays(t *testing.T) {
	site, err := content.Load(content.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for _, wait := range []time.Duration{0, 10 * time.Second, 59 * time.Second, 3 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			shop, err := till.New(till.Config{
				BaseURL: base, Site: site, DB: ledger.NewMem(ledger.MemOptions{}), Rails: []rail.Rail{slowRail{}},
				Keys: []*attest.Key{attest.SpecimenKey()}, Ring: attest.SpecimenRing(), Secret: make([]byte, 32),
				Log: slog.New(slog.DiscardHandler), SettleWait: wait,
			})
			if err != nil {
				t.Fatal(err)
			}
			sells, err := counter.New(counter.Config{Till: shop})
			if err != nil {
				t.Fatal(err)
			}
			s := newServer(t, Config{Rows: sells.Rows()[:1]})
			asked := ask(t, s, "GET", "/api/buy/hello")
			raw, err := base64.StdEncoding.DecodeString(asked.Header.Get(x402.HeaderRequired))
			if err != nil || asked.StatusCode != http.StatusPaymentRequired {
				t.Fatalf("%d %v: %s", asked.StatusCode, err, body(t, asked))
			}
			var terms struct {
				Resource, Extensions json.RawMessage
				Accepts              []json.RawMessage
			}
			if err := json.Unmarshal(raw, &terms); err != nil {
				t.Fatal(err)
			}
			payment, err := x402.Encode(map[string]any{"x402Version": 2, "resource": terms.Resource,
				"accepted": terms.Accepts[0], "payload": map[string]any{}, "extensions": terms.Extensions})
			if err != nil {
				t.Fatal(err)
			}
			want := wait
			if want == 0 {
				want = 45 * time.Second
			}
			start := time.Now()
			res := ask(t, s, "GET", "/api/buy/hello", x402.HeaderSignature, payment)
			if took := time.Since(start); res.StatusCode != http.StatusServiceUnavailable || took != want {
				t.Errorf("settle_wait %v: status %d after %v: %s", wait, res.StatusCode, took, body(t, res))
			}
			if err := shop.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
