package onchaintest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/clients"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/facilitator"
	"store.example/agentstore/dynamic/settle"
)

// holdSeller is a seller of the scheme auth-capture with a key of its own, who sells one thing for
// 900,000.
type holdSeller struct {
	*service
	t          *testing.T
	authorizer chaintest.Key
	until      uint64 // captureDeadline
	door       string
	sold       []fields // payloads that the facilitator settled at the door
}

const holdPrice = 900_000

func newHoldSeller(t *testing.T) *holdSeller {
	s := openService(t)
	if err := s.rail.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := &holdSeller{service: s, t: t, authorizer: chaintest.NewKey(t), until: s.HeadTime() + 7200}
	srv := httptest.NewServer(http.HandlerFunc(h.sell))
	t.Cleanup(srv.Close)
	h.door = srv.URL + "/order"
	return h
}

// terms are what the seller asks, after a change of their extra.
func (h *holdSeller) terms(change fields) fields {
	extra := fields{"name": "USD Coin", "version": "2", "authCaptureEscrow": token.CaptureAddress.Hex(),
		"captureAuthorizer": h.Relayer.Address.Hex(), "operatorType": "delegated",
		"receiverAuthorizer": h.authorizer.Address.Hex(), "paymentFlow": "escrow", "captureMode": "deferred",
		"captureDeadline": h.until, "refundDeadline": h.until + 7200, "minFeeBps": 0, "maxFeeBps": 0,
		"feeRecipient": common.Address{}.Hex(), "assetTransferMethod": "eip3009"}
	for name, v := range change {
		if extra[name] = v; v == nil {
			delete(extra, name)
		}
	}
	return fields{"scheme": rail.SchemeCapture, "network": h.ID(), "amount": fmt.Sprint(holdPrice),
		"asset": h.Asset.Hex(), "payTo": h.PayTo.Hex(), "maxTimeoutSeconds": 300, "extra": extra}
}

// sell is the seller's door.
func (h *holdSeller) sell(w http.ResponseWriter, r *http.Request) {
	put := func(name string, v any) {
		b, _ := json.Marshal(v)
		w.Header().Set(name, base64.StdEncoding.EncodeToString(b))
	}
	paid, err := base64.StdEncoding.DecodeString(r.Header.Get("PAYMENT-SIGNATURE"))
	if len(paid) == 0 || err != nil {
		put("PAYMENT-REQUIRED", fields{"x402Version": 2, "error": "Payment required",
			"resource": fields{"url": h.door, "description": "", "mimeType": ""}, "accepts": []fields{h.terms(nil)}})
		w.WriteHeader(http.StatusPaymentRequired)
		return
	}
	var p struct{ Payload fields }
	if err := json.Unmarshal(paid, &p); err != nil {
		h.t.Error(err)
	}
	a := h.ask("/settle", p.Payload, nil)
	put("PAYMENT-RESPONSE", a)
	if h.sold = append(h.sold, p.Payload); !a.Success {
		w.WriteHeader(http.StatusPaymentRequired)
	}
}

// ask sends a payload under the seller's terms, after a change of their extra. What /verify says
// comes in the same fields.
func (h *holdSeller) ask(path string, payload, change fields) (a facilitator.Settled) {
	h.t.Helper()
	want := h.terms(change)
	b, err := json.Marshal(fields{"x402Version": 2, "paymentRequirements": want,
		"paymentPayload": fields{"x402Version": 2, "accepted": want, "payload": payload}})
	if err != nil {
		h.t.Fatal(err)
	}
	if path == "/settle" {
		if status := h.post(h.t, path, b, &a); status != 200 {
			h.t.Errorf("%s: status %d, %+v", path, status, a)
		}
		return a
	}
	var v facilitator.Verified
	if status := h.post(h.t, path, b, &v); status != 200 {
		h.t.Errorf("%s: status %d, %+v", path, status, v)
	}
	return facilitator.Settled{Success: v.Valid, Reason: v.Reason, Payer: v.Payer}
}

// aHold is a payment as a buyer agreed to it.
type aHold struct {
	token.PaymentInfo
	nonce   common.Hash // of its salt
	payload fields      // the buyer's
}

// buys is what a buyer signs by the seller's terms.
func (h *holdSeller) buys(k chaintest.Key, salt byte) aHold {
	nonce := common.Hash{salt}
	x := aHold{nonce: nonce, Operator: h.Relayer.Address, Payer: k.Address,
		Receiver: h.PayTo, Token: h.Asset, MaxAmount: big.NewInt(holdPrice), PreApproval: h.HeadTime() + 250,
		Capture: h.until, Refund: h.until + 7200, Salt: token.BoundSalt(h.authorizer.Address, nonce)}
	a := token.Authorization{From: k.Address, To: token.CapturePayAddress, Value: x.MaxAmount,
		ValidBefore: x.PreApproval, Nonce: x.Nonce(h.Node.ChainID)}
	x.payload = fields{"authorization": fields{"from": k.Address.Hex(), "to": a.To.Hex(), "value": a.Value.String(),
		"validAfter": "0", "validBefore": fmt.Sprint(a.ValidBefore), "nonce": a.Nonce.Hex()},
		"signature": hexutil.Encode(h.Node.SignDigest(k, a.Digest(token.ReceiveKind, h.Node.DomainSeparator()))),
		"salt":      common.BigToHash(x.Salt).Hex(), "saltNonce": nonce.Hex()}
	return x
}

// byPermit is what a buyer signs of a hold by Permit2, which it has allowed to move its money.
func (h *holdSeller) byPermit(k chaintest.Key, x aHold) fields {
	h.Await(h.Send(k, h.Asset, token.ApproveCall(token.Permit2Address, big.NewInt(1e12))).Hash())
	return fields{"permit2Authorization": fields{"from": k.Address.Hex(), "permitted": fields{"token": x.Token.Hex(),
		"amount": x.MaxAmount.String()}, "spender": token.CapturePermit2Address.Hex(),
		"nonce": x.Nonce(h.Node.ChainID).Big().String(), "deadline": fmt.Sprint(x.PreApproval)},
		"signature": hexutil.Encode(h.Node.SignDigest(k, x.PermitDigest(h.Node.ChainID))),
		"salt":      common.BigToHash(x.Salt).Hex(), "saltNonce": x.nonce.Hex()}
}

// bought is the hold that a payload of the stock client is for.
func (h *holdSeller) bought(k chaintest.Key, payload fields) aHold {
	h.t.Helper()
	a := payload["authorization"].(fields)
	before, err := strconv.ParseUint(a["validBefore"].(string), 10, 64)
	if err != nil {
		h.t.Fatal(err)
	}
	x := h.buys(k, 0)
	x.PreApproval, x.nonce, x.payload = before, common.HexToHash(payload["saltNonce"].(string)), payload
	x.Salt = token.BoundSalt(h.authorizer.Address, x.nonce)
	return x
}

// order is a seller's payload of a kind.
func (h *holdSeller) order(kind string, x aHold) fields {
	return fields{"type": kind, "saltNonce": x.nonce.Hex(), "paymentInfo": fields{"operator": x.Operator.Hex(),
		"payer": x.Payer.Hex(), "receiver": x.Receiver.Hex(), "token": x.Token.Hex(), "maxAmount": x.MaxAmount.String(),
		"preApprovalExpiry": x.PreApproval, "authorizationExpiry": x.Capture, "refundExpiry": x.Refund,
		"minFeeBps": x.MinFeeBps, "maxFeeBps": x.MaxFeeBps, "feeReceiver": x.FeeReceiver.Hex(),
		"salt": common.BigToHash(x.Salt).Hex()}}
}

// capture is an order signed by k: an amount, and what is expected to be capturable and refundable.
func (h *holdSeller) capture(k chaintest.Key, x aHold, n ...int64) fields {
	amount, capturable, refundable := big.NewInt(n[0]), big.NewInt(n[1]), big.NewInt(n[2])
	p := h.order("capture", x)
	maps.Copy(p, fields{"amount": amount.String(), "feeAmount": "0", "feeReceiver": common.Address{}.Hex(),
		"expectedCapturableAmount": capturable.String(), "expectedRefundableAmount": refundable.String(),
		"authorizerSignature": hexutil.Encode(h.Node.SignDigest(k, x.CaptureDigest(h.Node.ChainID, amount, capturable,
			refundable)))})
	return p
}

// void is an order signed by k.
func (h *holdSeller) void(k chaintest.Key, x aHold) fields {
	p := h.order("void", x)
	p["authorizerSignature"] = hexutil.Encode(h.Node.SignDigest(k, x.VoidDigest(h.Node.ChainID)))
	return p
}

// with is a payload with one member more, or another one.
func with(p fields, name string, value any) fields {
	p = maps.Clone(p)
	p[name] = value
	return p
}

// A seller with a key of its own sells to the stock client by holds through our facilitator: each
// order is one transaction, is answered by what the escrow's events say, and the same again is
// answered alike. What no seller of ours signed, and what the hold does not have, is not sent.
func TestOurFacilitatorServesHolds(t *testing.T) {
	t.Parallel()
	h := newHoldSeller(t)
	client, err := facilitator.New(facilitator.Config{URL: h.url})
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := client.Supported(t.Context())
	if err != nil || len(kinds.Kinds) != 3 || kinds.Kinds[2].Scheme != rail.SchemeCapture ||
		kinds.Kinds[2].Extra["captureAuthorizer"] != h.Relayer.Address.Hex() ||
		kinds.Kinds[2].Extra["operatorType"] != "delegated" ||
		fmt.Sprint(kinds.Kinds[2].Extra["lifecycle"]) != "[capture void]" {
		t.Fatalf("supported: %+v, %v", kinds, err)
	}
	k, stranger, self := h.Buyers[0], chaintest.NewKey(t), h.authorizer
	had := h.Node.Balance(k.Address)
	r := clients.Buy(t, clients.Options{Key: k.Hex(), Hold: true}, h.door)[0]
	if r.Status != 200 || !r.Settled || len(h.sold) != 1 {
		t.Fatalf("the stock client's purchase: %+v", r)
	}
	first := h.bought(k, h.sold[0])
	second, third, fourth, none := h.buys(h.Buyers[1], 2), h.buys(h.Buyers[2], 3), h.buys(h.Buyers[3], 4),
		h.buys(h.Buyers[4], 5)
	agreed := func(until uint64) fields { // to another deadline
		was := h.until
		defer func() { h.until = was }()
		h.until = until
		return h.buys(h.Buyers[4], 5).payload
	}
	years, soon := h.until+40*86400, none.PreApproval+500
	otherInfo := first
	otherInfo.MaxAmount = big.NewInt(holdPrice + 1)
	unbound := none
	unbound.Salt = big.NewInt(7)
	signed := func(x aHold) string { return h.void(self, x)["authorizerSignature"].(string) }
	const prefix = "invalid_auth_capture_evm_"
	remembered := map[string]facilitator.Settled{}
	for _, step := range []struct {
		name    string
		payload fields
		terms   fields
		reason  string // of a refusal, without its prefix
		amount  string
		as      string // the step whose answer comes again
	}{
		{name: "no authorizer", payload: none.payload, terms: fields{"receiverAuthorizer": nil},
			reason: "missing_receiver_authorizer"},
		{name: "nobody authorizes", payload: none.payload, terms: fields{"receiverAuthorizer": common.Address{}.Hex()},
			reason: "missing_receiver_authorizer"},
		{name: "a salt of nobody's", payload: with(none.payload, "salt", common.Hash{7}.Hex()),
			reason: "salt_binding_mismatch"},
		{name: "another authorizer", payload: none.payload, terms: fields{"receiverAuthorizer": stranger.Address.Hex()},
			reason: "salt_binding_mismatch"},
		{name: "a salt that is not opened", payload: with(none.payload, "saltNonce", nil), reason: "payload_format"},
		{name: "another escrow", payload: none.payload, terms: fields{"authCaptureEscrow": h.Asset.Hex()},
			reason: "extra"},
		{name: "another operator", payload: none.payload,
			terms: fields{"captureAuthorizer": stranger.Address.Hex()}, reason: "operator_not_admitted"},
		{name: "a contract operates", payload: none.payload, terms: fields{"operatorType": "custom"},
			reason: "unsupported_operator_type"},
		{name: "a policy", payload: none.payload, terms: fields{"policy": h.Asset.Hex()}, reason: "policy"},
		{name: "charged at once", payload: none.payload, terms: fields{"paymentFlow": "authorization"},
			reason: "unsupported_payment_flow"},
		{name: "by another method", payload: none.payload, terms: fields{"assetTransferMethod": "permit2"},
			reason: "payload_method_mismatch"},
		{name: "a fee", payload: none.payload, terms: fields{"maxFeeBps": 1}, reason: "extra"},
		{name: "for years", payload: agreed(years), terms: fields{"captureDeadline": years,
			"refundDeadline": years + 7200}, reason: "extra"},
		{name: "no time to capture", payload: agreed(soon), terms: fields{"captureDeadline": soon,
			"refundDeadline": soon + 7200}, reason: "deadline_ordering"},
		{name: "another deadline", payload: none.payload, terms: fields{"captureDeadline": h.until - 1},
			reason: "nonce_mismatch"},
		{name: "of what is not held", payload: h.capture(self, none, 300_000, holdPrice, 0),
			reason: "unexpected_payment_state"},
		{name: "void of what is not held", payload: h.void(self, none), reason: "zero_authorization"},
		{name: "authorize again", payload: first.payload, amount: "900000"},
		{name: "authorized by other terms", payload: first.payload, terms: fields{"refundDeadline": h.until + 7201},
			reason: "nonce_mismatch"},

		{name: "a stranger captures", payload: h.capture(stranger, first, 300_000, holdPrice, 0),
			reason: "authorizer_signature"},
		{name: "nobody captures", payload: with(h.capture(self, first, 300_000, holdPrice, 0), "authorizerSignature",
			nil), reason: "unauthenticated_authorizer_request"},
		{name: "another state", payload: h.capture(self, first, 300_000, holdPrice, 1),
			reason: "unexpected_payment_state"},
		{name: "more than is held", payload: h.capture(self, first, holdPrice+1, holdPrice, 0),
			reason: "insufficient_authorization"},
		{name: "another amount than was signed", payload: with(h.capture(self, first, 300_000, holdPrice, 0), "amount",
			"300001"), reason: "authorizer_signature"},
		{name: "for another hold", payload: with(h.capture(self, first, 300_000, holdPrice, 0), "paymentInfo",
			h.order("", second)["paymentInfo"]), reason: "salt_binding_mismatch"},
		{name: "terms of another amount", payload: h.capture(self, otherInfo, 300_000, holdPrice, 0), reason: "extra"},
		{name: "an unbound hold", payload: h.capture(self, unbound, 300_000, holdPrice, 0),
			reason: "salt_binding_mismatch"},
		{name: "without an authorizer", payload: h.capture(self, first, 300_000, holdPrice, 0),
			terms: fields{"receiverAuthorizer": nil}, reason: "lifecycle_not_relayed"},
		{name: "with a fee", payload: with(h.capture(self, first, 300_000, holdPrice, 0), "feeAmount", "1"),
			reason: "fee_bps_out_of_range"},
		{name: "dust", payload: h.capture(self, first, 1, holdPrice, 0), reason: "!invalid_payment_requirements"},
		{name: "charge", payload: h.order("charge", first), reason: "payload_type"},
		{name: "refund", payload: h.order("refund", first), reason: "refund_funding_unavailable"},
		{name: "capture", payload: h.capture(self, first, 300_000, holdPrice, 0), amount: "300000"},
		{name: "capture again", payload: h.capture(self, first, 300_000, holdPrice, 0), as: "capture"},
		{name: "another of the same state", payload: h.capture(self, first, 400_000, holdPrice, 0),
			reason: "!duplicate_settlement"},
		{name: "as much again", payload: h.capture(self, first, 300_000, 600_000, 300_000), amount: "300000"},
		{name: "the first once more", payload: h.capture(self, first, 300_000, holdPrice, 0), as: "capture"},
		{name: "the rest with a void", payload: with(h.capture(self, first, 300_000, 300_000, 600_000),
			"voidAuthorizerSignature", signed(first)), reason: "void_remainder_full_capture"},
		{name: "the rest", payload: h.capture(self, first, 300_000, 300_000, 600_000), amount: "300000"},
		{name: "void of nothing", payload: h.void(self, first), reason: "zero_authorization"},

		{name: "authorize", payload: second.payload, amount: "900000"},
		{name: "a stranger voids", payload: h.void(stranger, second), reason: "authorizer_signature"},
		{name: "another's void", payload: with(h.void(self, second), "authorizerSignature", signed(third)),
			reason: "authorizer_signature"},
		{name: "void", payload: h.void(self, second), amount: "900000"},
		{name: "void again", payload: h.void(self, second), as: "void"},
		{name: "captured after the void", payload: h.capture(self, second, 300_000, holdPrice, 0),
			reason: "unexpected_payment_state"},
		{name: "authorized after the void", payload: second.payload, as: "authorize"},

		{name: "authorize a third", payload: third.payload, amount: "900000"},
		{name: "a stranger's void behind", payload: with(h.capture(self, third, 200_000, holdPrice, 0),
			"voidAuthorizerSignature", signed(second)), reason: "void_authorizer_signature"},
		{name: "capture and void", payload: with(h.capture(self, third, 200_000, holdPrice, 0),
			"voidAuthorizerSignature", signed(third)), amount: "200000"},
		{name: "both again", payload: with(h.capture(self, third, 200_000, holdPrice, 0),
			"voidAuthorizerSignature", signed(third)), as: "capture and void"},

		{name: "authorize a fourth", payload: h.byPermit(h.Buyers[3], fourth),
			terms: fields{"assetTransferMethod": "permit2"}, amount: "900000"},
	} {
		want := prefix + step.reason
		if after, ok := strings.CutPrefix(step.reason, "!"); ok {
			want = after
		}
		sent := h.relayed(t)
		if v := h.ask("/verify", step.payload, step.terms); step.reason != "" &&
			step.reason != "!duplicate_settlement" && (v.Success || v.Reason != want) {
			t.Errorf("%s: verified %+v, want %s", step.name, v, want)
		}
		got := h.ask("/settle", step.payload, step.terms)
		switch old, again := remembered[step.as]; {
		case again && got != old:
			t.Errorf("%s: %+v, want %+v", step.name, got, old)
		case step.reason != "" && (got.Success || got.Reason != want || got.Transaction != ""):
			t.Errorf("%s: %+v, want %s", step.name, got, want)
		case step.amount != "" && (!got.Success || got.Amount != step.amount || got.Transaction == "" ||
			got.Message != ""):
			t.Errorf("%s: %+v, want %s", step.name, got, step.amount)
		}
		if n := h.relayed(t) - sent; n > 0 && step.amount == "" {
			t.Errorf("%s: %d transactions were sent", step.name, n)
		}
		remembered[step.name] = got
	}
	if paid := h.Node.Balance(h.PayTo); paid != 1_100_000 {
		t.Errorf("the seller has %d", paid)
	}
	for i, spent := range []int64{holdPrice, 0, 200_000, holdPrice, 0} {
		if got := had - h.Node.Balance(h.Buyers[i].Address); got != spent {
			t.Errorf("buyer %d spent %d, want %d", i, got, spent)
		}
	}

	// What it did is in its ledger: a new process answers alike.
	h.stop()
	h.start(t)
	for name, p := range map[string]fields{"capture": h.capture(self, first, 300_000, holdPrice, 0),
		"void": h.void(self, second), "authorize": second.payload} {
		if got := h.ask("/settle", p, nil); got != remembered[name] {
			t.Errorf("%s after a restart: %+v, want %+v", name, got, remembered[name])
		}
	}
	if n := h.relayed(t); n != 10 {
		t.Errorf("%d transactions were sent for ten orders", n)
	}

	// Too late: the buyer takes it back alone.
	h.Pass(time.Until(time.Unix(int64(h.until), 0)) - rail.LastCapture + time.Second)
	late := h.capture(self, fourth, 300_000, holdPrice, 0)
	for _, path := range []string{"/verify", "/settle"} {
		if got := h.ask(path, late, nil); got.Reason != prefix+"capture_deadline_expired" {
			t.Errorf("%s of a capture in the last minutes: %+v", path, got)
		}
	}
	h.Pass(rail.LastCapture)
	tx := h.Send(h.Buyers[3], token.CaptureAddress, token.ReclaimCall(fourth.PaymentInfo))
	h.Await(tx.Hash())
	if spent := had - h.Node.Balance(h.Buyers[3].Address); spent != 0 {
		t.Errorf("after the reclaim the buyer lacks %d", spent)
	}
	if got := h.ask("/settle", late, nil); got.Success {
		t.Errorf("captured after the reclaim: %+v", got)
	}
}

// Whoever has payments authorized and voided by a key of his own costs as much gas as a day has for
// strangers; what is captured, and who has captured, goes on.
func TestHoldsOfStrangersCostADay(t *testing.T) {
	t.Parallel()
	h := newHoldSeller(t)
	self := h.authorizer
	payTo := strings.ToLower(h.PayTo.Hex())
	day := ledger.BudgetKey("holds-new", h.ID(), payTo, time.Now().UTC().Format(time.DateOnly))
	update := func(f func(ledger.Tx) error) {
		t.Helper()
		if err := h.db.Update(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	settled := func(what string, p fields, reason string) {
		t.Helper()
		if a := h.ask("/settle", p, nil); a.Reason != reason || a.Success != (reason == "") {
			t.Errorf("%s: %+v, want %q", what, a, reason)
		}
	}
	const over = "invalid_payment_requirements"
	first, second, third := h.buys(h.Buyers[0], 1), h.buys(h.Buyers[1], 2), h.buys(h.Buyers[2], 3)
	update(func(tx ledger.Tx) error { return ledger.SetCount(tx, day, 254) })
	settled("the last of the day", first.payload, "")
	settled("a void after it", h.void(self, first), over)
	settled("another authorization", second.payload, over)
	if n := h.relayed(t); n != 1 {
		t.Errorf("%d transactions were sent, want 1", n)
	}
	// One order of a hold is under way at a time: of two one would revert.
	hash := first.Hash(h.Node.ChainID).Hex()
	turn := settle.OpenPayment{ID: "fac_0", Network: h.ID(), Payer: hash, Nonce: hash}
	update(func(tx ledger.Tx) error { return settle.EnterOpen(tx, turn) })
	capture := h.capture(self, first, 300_000, holdPrice, 0)
	settled("beside a void that is under way", capture, "invalid_transaction_state")
	update(func(tx ledger.Tx) error { return settle.LeaveOpen(tx, turn) })
	// What it brings pays for later orders, and counts once.
	settled("a capture", capture, "")
	h.stop()
	h.start(t)
	settled("the same again", capture, "")
	key := ledger.BudgetKey("holds", h.ID(), payTo, strings.ToLower(self.Address.Hex()))
	update(func(tx ledger.Tx) error {
		if got, err := ledger.GetJSON[fields](tx, key); fmt.Sprint(got) != "map[brought:300000 taken:2]" {
			t.Errorf("after a capture of 300,000 its account is %v, %v", got, err)
		}
		return nil
	})
	settled("a void of one who captured", h.void(self, first), "")
	settled("an authorization of one who captured", second.payload, "")
	honest := h.authorizer
	h.authorizer = chaintest.NewKey(t)
	settled("a stranger's", h.buys(h.Buyers[3], 4).payload, over)
	h.authorizer = honest
	// As much as it brought, and no more.
	update(func(tx ledger.Tx) error {
		return ledger.SetJSON(tx, key, fields{"brought": 300_000, "taken": 300_000})
	})
	settled("more than was brought", third.payload, over)
	settled("a capture by who took too much", h.capture(self, second, 300_000, holdPrice, 0), "")
}

// A process dies between signing a capture and sending it, and its seller asks again: the next one
// has sent it, once. Another one dies behind a capture that lands, and its seller asks for nothing
// but the void of the rest: what was under way is over.
func TestCaptureOfADeadProcess(t *testing.T) {
	t.Parallel()
	h := newHoldSeller(t)
	x, had := h.buys(h.Buyers[0], 1), h.Node.Balance(h.Buyers[0].Address)
	if a := h.ask("/settle", x.payload, nil); !a.Success {
		t.Fatalf("authorized: %+v", a)
	}
	h.stop()
	order := with(h.capture(h.authorizer, x, 300_000, holdPrice, 0), "voidAuthorizerSignature",
		h.void(h.authorizer, x)["authorizerSignature"])
	want, err := json.Marshal(h.terms(nil))
	var terms rail.Requirement
	if err == nil {
		err = json.Unmarshal(want, &terms)
	}
	if err != nil {
		t.Fatal(err)
	}
	relayed := h.rail.(rail.RelayedHolds)
	dies := func(order fields) *settle.Settlement {
		t.Helper()
		payload, err := json.Marshal(order)
		if err != nil {
			t.Fatal(err)
		}
		o, err := relayed.ReadOrder(payload, terms)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := relayed.CheckOrder(t.Context(), o, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		turn := settle.OpenPayment{Network: h.ID(), Payer: o.Hold.Hash, Nonce: o.Settles.Nonce}
		s := h.begun(t, o.Settles, seen)
		turn.ID = s.ID
		if err := h.db.Update(t.Context(), func(tx ledger.Tx) error { return settle.EnterOpen(tx, turn) }); err != nil {
			t.Fatal(err)
		}
		return s
	}
	signed := dies(order)
	h.start(t)
	a := h.ask("/settle", order, nil)
	if again := h.ask("/settle", order, nil); !a.Success || a.Amount != "300000" || again != a ||
		a.Transaction != signed.Tx(signed.ID) {
		t.Errorf("asked again: %+v, then %+v; %s was signed", a, again, signed.Tx(signed.ID))
	}
	if n, paid, has := h.relayed(t), h.Node.Balance(h.PayTo), h.Node.Balance(x.Payer); n != 3 || paid != 300_000 ||
		has != had-300_000 {
		t.Errorf("%d transactions, the seller has %d, the buyer spent %d", n, paid, had-has)
	}

	x = h.buys(h.Buyers[1], 2)
	if a := h.ask("/settle", x.payload, nil); !a.Success {
		t.Fatalf("authorized: %+v", a)
	}
	h.stop()
	signed = dies(h.capture(h.authorizer, x, 300_000, holdPrice, 0))
	if err := h.rail.Send(t.Context(), signed.Signed(signed.ID)...); err != nil {
		t.Fatal(err)
	}
	h.Await(common.HexToHash(signed.Tx(signed.ID)))
	h.start(t)
	void := h.void(h.authorizer, x)
	a = h.ask("/settle", void, nil)
	for end := time.Now().Add(time.Minute); a.Reason == "invalid_transaction_state" && time.Now().Before(end); {
		a = h.ask("/settle", void, nil)
	}
	if !a.Success || a.Amount != "600000" {
		t.Errorf("the void behind a capture whose process died: %+v", a)
	}
}
