package onchaintest_test

import (
	"encoding/json"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/facilitator"
)

// A store and a facilitator of one keeper have one operator. A buyer of the store's may have bound
// the salt of his hold to a key of his own: by that he has nothing voided that the store sold.
func TestFacilitatorVoidsNothingThatTheStoreSold(t *testing.T) {
	t.Parallel()
	h := newHoldSeller(t)
	buyer := h.Buyers[0]
	h.authorizer = buyer
	x := h.buys(buyer, 1)
	store := h.rail.(rail.Captures)
	want := store.HoldRequirement(holdPrice, rail.Deadlines{Capture: time.Unix(int64(x.Capture), 0),
		Refund: time.Unix(int64(x.Refund), 0)})
	paid := maps.Clone(x.payload)
	delete(paid, "saltNonce") // the store asks for none
	payload, err := json.Marshal(paid)
	if err != nil {
		t.Fatal(err)
	}
	a, err := store.ParseAuthorization(payload, want)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := store.VerifyAuthorization(t.Context(), a, want, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	p := a.Payment
	if err := h.db.Update(t.Context(), func(tx ledger.Tx) error { // as package till claims it
		key := ledger.AuthKey(p.Network, p.Asset, p.Method, p.Payer, p.Nonce)
		return ledger.SetJSON(tx, key, fields{"purchase": "p"})
	}); err != nil {
		t.Fatal(err)
	}
	signed := h.begun(t, p, seen)
	if err := h.rail.Send(t.Context(), signed.Signed(signed.ID)...); err != nil {
		t.Fatal(err)
	}
	h.Await(common.HexToHash(signed.Tx(signed.ID)))
	for name, order := range map[string]fields{"a void": h.void(buyer, x),
		"a capture of a little, and a void": with(h.capture(buyer, x, 1000, holdPrice, 0), "voidAuthorizerSignature",
			h.void(buyer, x)["authorizerSignature"])} {
		if a := h.ask("/settle", order, nil); a.Success ||
			a.Reason != "invalid_auth_capture_evm_lifecycle_not_relayed" {
			t.Errorf("%s that the buyer orders: %+v", name, a)
		}
	}
	if s, err := store.ReadHold(t.Context(), a.Hold.Hash, false); err != nil || s.Capturable != holdPrice {
		t.Errorf("the hold is %+v, %v", s, err)
	}
}

// A receiverAuthorizer may be a contract, which says by EIP-1271 whose word is its own.
func TestContractOrdersCapture(t *testing.T) {
	t.Parallel()
	h := newHoldSeller(t)
	owner := h.Wallet.Owner
	h.authorizer = chaintest.Key{Address: h.Wallet.Address, Private: owner.Private}
	x := h.buys(h.Buyers[0], 1)
	if a := h.ask("/settle", x.payload, nil); !a.Success {
		t.Fatalf("authorized: %+v", a)
	}
	if a := h.ask("/settle", h.capture(h.Buyers[1], x, 300_000, holdPrice, 0), nil); a.Success ||
		a.Reason != "invalid_auth_capture_evm_authorizer_signature" {
		t.Errorf("a capture that another signed: %+v", a)
	}
	if a := h.ask("/settle", h.capture(owner, x, 300_000, holdPrice, 0), nil); !a.Success || a.Amount != "300000" {
		t.Errorf("a capture: %+v", a)
	}
	if a := h.ask("/settle", h.void(owner, x), nil); !a.Success || a.Amount != "600000" {
		t.Errorf("a void: %+v", a)
	}
}

// Two processes over one ledger send an order once, and of a capture and a void that come to them
// at one time the second only after the first.
func TestFacilitatorsShareAHold(t *testing.T) {
	t.Parallel()
	h := newHoldSeller(t)
	both := []*service{{url: h.url}}
	h.start(t)
	both = append(both, &service{url: h.url})
	x := h.buys(h.Buyers[0], 1)
	if a := h.ask("/settle", x.payload, nil); !a.Success {
		t.Fatalf("authorized: %+v", a)
	}
	capture, void := h.capture(h.authorizer, x, 300_000, holdPrice, 0), h.void(h.authorizer, x)
	ask := func(s *service, order fields) (a facilitator.Settled) {
		want := h.terms(nil)
		b, err := json.Marshal(fields{"x402Version": 2, "paymentRequirements": want,
			"paymentPayload": fields{"x402Version": 2, "accepted": want, "payload": order}})
		if err != nil {
			t.Error(err)
		}
		// What another has in hand is asked for again.
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
			a = facilitator.Settled{}
			if status := s.post(t, "/settle", b, &a); status == 200 && a.Reason != "invalid_transaction_state" &&
				a.Reason != facilitator.Pending {
				return a
			}
		}
		return a
	}
	var wg sync.WaitGroup
	answers := make([]facilitator.Settled, 8)
	for i := range answers {
		wg.Go(func() {
			answers[i] = ask(both[i%2], []fields{capture, void}[i/4])
			if !answers[i].Success { // it names a block, or what the chain said a moment later
				answers[i].Reason, answers[i].Message = "", ""
			}
		})
	}
	wg.Wait()
	captured, voided := answers[0], answers[4]
	for i, a := range answers {
		if a != []facilitator.Settled{captured, voided}[i/4] {
			t.Errorf("%d is answered %+v", i, a)
		}
	}
	got := h.Node.Balance(h.PayTo)
	switch {
	case captured.Success && voided.Success && captured.Amount == "300000" && voided.Amount == "600000" &&
		got == 300_000:
	case !captured.Success && voided.Success && voided.Amount == "900000" && got == 0:
	default:
		t.Errorf("captured %+v, voided %+v, and the seller has %d", captured, voided, got)
	}
	want := int64(2)
	if captured.Success {
		want = 3
	}
	if n := h.relayed(t); int64(n) != want {
		t.Errorf("%d transactions were sent, want %d", n, want)
	}
}
