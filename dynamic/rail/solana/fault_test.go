package solana_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	sol "github.com/gagliardetto/solana-go"

	"store.example/agentstore/dynamic/rail"
)

// sale is a payment on its way.
type sale struct {
	*harness
	p      *rail.Payment
	seen   rail.Verified
	signed []rail.Signed
}

// sell claims a payment and signs its settlement. Nothing is sent.
func (h *harness) sell(p pay) *sale {
	h.t.Helper()
	s := &sale{harness: h}
	var err error
	if s.p, err = h.rail.Parse(payload(p.wire(h.t)), h.rail.Requirement(price)); err != nil {
		h.t.Fatal(err)
	}
	if s.seen, err = h.rail.Verify(h.t.Context(), s.p, h.rail.Requirement(price), time.Now()); err != nil {
		h.t.Fatal(err)
	}
	d, err := h.rail.Draft(h.t.Context(), []*rail.Payment{s.p})
	if err != nil {
		h.t.Fatal(err)
	}
	signed, err := d.Sign(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	s.signed = []rail.Signed{signed}
	return s
}

func (s *sale) send() {
	s.t.Helper()
	if err := s.rail.Send(s.t.Context(), s.signed...); err != nil {
		s.t.Fatal(err)
	}
}

// look looks when some time has passed by our own clock.
func (s *sale) status(later time.Duration) (rail.Finding, error) {
	return s.rail.Status(s.t.Context(), s.p, s.signed, s.seen, time.Now().Add(later))
}

// is demands what a look says.
func (s *sale) is(later time.Duration, want rail.State, final bool) rail.Finding {
	s.t.Helper()
	f, err := s.status(later)
	if err != nil || f.State != want || f.Final != final {
		s.t.Fatalf("Status = %+v, %v; want %s, final %v", f, err, want, final)
	}
	return f
}

// unread demands that a look believes nothing.
func (s *sale) unread(later time.Duration) {
	s.t.Helper()
	if f, err := s.status(later); err == nil {
		s.t.Errorf("Status = %+v of answers that contradict each other", f)
	}
}

// lying changes the answers of one method.
func (h *harness) lying(method string, lie func(honest any) any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lie = func(m string, _ []json.RawMessage, honest any) (any, *fault) {
		if m == method {
			return lie(honest), nil
		}
		return honest, nil
	}
}

func (h *harness) honest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lie = nil
}

// A status is no payment: a node that calls a dropped transaction final pays for nothing.
func TestFinalizedButDropped(t *testing.T) {
	h := open(t)
	s := h.sell(h.pay(price))
	s.send()
	h.Drop()
	h.Seal()
	h.lying("getSignatureStatuses", func(any) any {
		return value(h.head().slot,
			[]any{map[string]any{"slot": h.head().slot, "err": nil, "confirmationStatus": "finalized"}})
	})
	s.unread(0)
	h.honest()
	s.is(0, rail.Waiting, false)
	if h.Balance() != 0 {
		t.Error("something was paid")
	}
}

// What a node says of a transaction must be of that transaction, have moved the amount, and be in
// the block of its status.
func TestLiesAboutALandedTransaction(t *testing.T) {
	h := open(t)
	other := h.sell(h.pay(price))
	other.send()
	h.Seal()
	s := h.sell(h.pay(price))
	s.send()
	h.Seal()
	member := func(v any, path ...string) map[string]any {
		m := v.(map[string]any)
		for _, p := range path {
			m = m[p].(map[string]any)
		}
		return m
	}
	for name, lie := range map[string]struct {
		method string
		lie    func(any) any
	}{
		"another transaction": {"getTransaction", func(any) any {
			height, r := h.place(other.signed[0].ID)
			return r.described(h.blocks[height].time)
		}},
		"another slot": {"getTransaction", func(v any) any { member(v)["slot"] = 1001; return v }},
		"failed, although it has not": {"getTransaction",
			func(v any) any { member(v, "meta")["err"] = "AccountInUse"; return v }},
		"moved nothing": {"getTransaction",
			func(v any) any { member(v, "meta")["postTokenBalances"] = []any{}; return v }},
		"without its balances":   {"getTransaction", func(v any) any { delete(member(v), "meta"); return v }},
		"no transaction":         {"getTransaction", func(any) any { return nil }},
		"no block":               {"getBlock", func(any) any { return nil }},
		"a block without a time": {"getBlock", func(v any) any { delete(member(v), "blockTime"); return v }},
		"a status of another slot": {"getSignatureStatuses", func(any) any {
			return value(2000, []any{map[string]any{"slot": 1003, "confirmationStatus": "confirmed"}})
		}},
		"a failure that is none": {"getSignatureStatuses",
			func(v any) any { member(member(v)["value"].([]any)[0])["err"] = "AccountInUse"; return v }},
		"more answers than questions": {"getSignatureStatuses", func(any) any { return value(2000, []any{nil, nil}) }},
		"finalized sooner than it can": {"getSignatureStatuses",
			func(v any) any { member(member(v)["value"].([]any)[0])["confirmationStatus"] = "finalized"; return v }},
	} {
		h.lying(lie.method, lie.lie)
		if f, err := s.status(0); err == nil {
			t.Errorf("%s: Status = %+v", name, f)
		}
	}
	h.honest()
	s.is(0, rail.Paid, false)
}

// A height alone ends nothing.
func TestLiesAboutTheHeight(t *testing.T) {
	h := open(t)
	s := h.sell(h.pay(price))
	s.send()
	ahead := func(by uint64) {
		h.lying("getEpochInfo", func(v any) any {
			m := v.(map[string]any)
			m["blockHeight"], m["absoluteSlot"] = uint64(m["blockHeight"].(int))+by, m["absoluteSlot"].(uint64)+by
			return m
		})
	}
	ahead(1000)
	s.unread(0)                // sooner than blocks can be made, and ahead of what the statuses speak of
	s.unread(10 * time.Minute) // that later
	ahead(1 << 40)
	s.unread(10 * time.Minute)
	for name, c := range map[string][2]uint64{"more blocks than slots": {5, 1 << 20},
		"final before it is confirmed": {1 << 20, 1 << 19}} {
		h.mu.Lock()
		h.lie = func(method string, params []json.RawMessage, honest any) (any, *fault) {
			switch {
			case method == "getSignatureStatuses":
				return value(1<<30, []any{nil}), nil
			case method == "getEpochInfo" && options(params, 0).Commitment == "finalized":
				return map[string]any{"absoluteSlot": c[0], "blockHeight": c[1]}, nil
			case method == "getEpochInfo":
				return map[string]any{"absoluteSlot": 100_000, "blockHeight": 90_000}, nil
			}
			return honest, nil
		}
		h.mu.Unlock()
		if f, err := s.status(10 * time.Minute); err == nil {
			t.Errorf("%s: Status = %+v", name, f)
		}
	}
	// Even where all of its answers agree, no blocks are made as fast as that.
	h.mu.Lock()
	h.lie = func(method string, _ []json.RawMessage, honest any) (any, *fault) {
		switch method {
		case "getEpochInfo":
			return map[string]any{"absoluteSlot": 100_000, "blockHeight": 90_000}, nil
		case "getSignatureStatuses":
			return value(100_000, []any{nil}), nil
		}
		return honest, nil
	}
	h.mu.Unlock()
	s.unread(19 * time.Second)
	// One that lags behind waits longer, and that is all.
	h.honest()
	h.Pass(70 * time.Second)
	h.lying("getEpochInfo", func(any) any { return map[string]any{"absoluteSlot": 1100, "blockHeight": 41} })
	s.is(70*time.Second, rail.Waiting, false)
	// Its statuses lag behind its height.
	h.honest()
	h.lying("getSignatureStatuses", func(any) any { return value(1100, []any{nil}) })
	s.unread(70 * time.Second)
	h.honest()
	s.is(70*time.Second, rail.Dead, false)
	h.Finalize()
	s.is(90*time.Second, rail.Dead, true)
}

// A node whose ledger begins after the claim knows nothing of what was before.
func TestPrunedLedger(t *testing.T) {
	h := open(t)
	s := h.sell(h.pay(price))
	s.send()
	h.Pass(2 * time.Minute)
	h.mu.Lock()
	h.first = s.seen.Block + 1
	h.mu.Unlock()
	s.unread(2 * time.Minute)
	for _, err := range rail.Transfers(h.rail.Incoming(t.Context(), rail.Span{From: s.seen.Block})) {
		if err == nil || !strings.Contains(err.Error(), "ledger begins") {
			t.Errorf("Incoming = %v", err)
		}
	}
	h.mu.Lock()
	h.first = s.seen.Block
	h.mu.Unlock()
	s.is(2*time.Minute, rail.Dead, true)
}

// A transaction that landed long ago is found, also when no status remembers it.
func TestFoundAfterALongOutage(t *testing.T) {
	h := open(t)
	s := h.sell(h.pay(price))
	s.send()
	h.Seal()
	h.Pass(time.Hour)
	f := s.is(time.Hour, rail.Paid, true)
	if f.Proof.Tx != s.signed[0].ID || f.Proof.LogIndex != 2 || f.Proof.BlockHash == "" {
		t.Errorf("proof %+v", f.Proof)
	}
}

// Whether it is lost on the way out or on the way back, what is sent is sent again, and pays once.
func TestLostAnswers(t *testing.T) {
	h := open(t)
	for name, lose := range map[string]func(*fault) any{
		"the answer is lost": func(f *fault) any { return f },
		"the node is behind": func(*fault) any { return &fault{-32005, "Node is behind by 42 slots"} },
		"rate limited":       func(*fault) any { return &fault{429, "Too many requests"} },
	} {
		s := h.sell(h.pay(price))
		had := h.Balance()
		h.lying("sendTransaction", func(any) any { return lose(&fault{}) })
		if err := h.rail.Send(t.Context(), s.signed...); err == nil {
			t.Errorf("%s: Send says nothing", name)
		}
		h.honest()
		if f := s.is(3*time.Second, rail.Waiting, false); f.Advice != rail.Resend {
			t.Errorf("%s: advice %s", name, f.Advice)
		}
		s.send()
		h.Seal()
		s.is(0, rail.Paid, false)
		s.send() // which the chain has
		h.Seal()
		if got := h.Balance() - had; got != price {
			t.Errorf("%s: paid %d", name, got)
		}
	}
	s := h.sell(h.pay(price))
	h.lying("sendTransaction", func(any) any { return sol.Signature{1}.String() })
	if err := h.rail.Send(t.Context(), s.signed...); err == nil {
		t.Error("Send takes another transaction's name")
	}
	h.lying("sendTransaction", func(any) any {
		return &fault{-32002, "Transaction simulation failed: This transaction has already been processed"}
	})
	if err := h.rail.Send(t.Context(), s.signed...); err != nil {
		t.Errorf("Send of what is on the chain: %v", err)
	}
}

// The same message is the same payment, whatever is done to its signatures, and is known before
// anything is asked.
func TestOneMessageIsOnePayment(t *testing.T) {
	h := open(t)
	pay := h.pay(price)
	wire := pay.wire(t)
	want := h.rail.Requirement(price)
	parse := func(w []byte) *rail.Payment {
		p, err := h.rail.Parse(payload(w), want)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	one := parse(wire)
	slot := append([]byte{}, wire...)
	for i := range 64 {
		slot[1+i] = byte(i)
	}
	again := append([]byte{}, wire...)
	copy(again[65:], otherSignature(pay.buyer, wire[129:]))
	for name, w := range map[string][]byte{"the fee payer's slot": slot,
		"another valid signature of the payer": again} {
		two := parse(w)
		if two.ClaimKey() != one.ClaimKey() || two.Nonce != one.Nonce ||
			bytes.Equal(two.Signature, one.Signature) != bytes.Equal(two.Wire, one.Wire) {
			t.Errorf("%s makes another payment of it", name)
		}
		a, b := h.settled(one), h.settled(two)
		if a.ID != b.ID {
			t.Errorf("%s makes another transaction of it", name)
		}
	}
	if n := h.seen["simulateTransaction"]; n != 4 {
		t.Errorf("%d simulations, want 4", n)
	}
	h.mu.Lock()
	clear(h.seen)
	h.mu.Unlock()
	parse(wire)
	if len(h.seen) != 0 {
		t.Errorf("Parse asked a node: %v", h.seen)
	}
	if one.Method != "spl" || one.PayTo != want.PayTo || one.Payer != pay.buyer.PublicKey().String() ||
		len(one.Nonce) != 64 {
		t.Errorf("payment %+v", one)
	}
}

// settled is a payment's settlement, as Draft makes it without Verify.
func (h *harness) settled(p *rail.Payment) rail.Signed {
	d, err := h.rail.Draft(h.t.Context(), []*rail.Payment{p})
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := d.Sign(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// Nobody sees our signature before the ledger has it.
func TestSimulationsAreUnsigned(t *testing.T) {
	h := open(t)
	shown := 0
	h.mu.Lock()
	h.lie = func(method string, params []json.RawMessage, honest any) (any, *fault) {
		if method == "simulateTransaction" {
			var text string
			json.Unmarshal(params[0], &text)
			tx, err := sol.TransactionFromBase64(text)
			if err != nil || !tx.Signatures[0].IsZero() {
				t.Errorf("simulated with the signature %s, %v", tx.Signatures[0], err)
			}
			shown++
		}
		return honest, nil
	}
	h.mu.Unlock()
	s := h.sell(h.pay(price))
	h.settled(s.p)
	if shown != 2 {
		t.Errorf("%d simulations, want one for the first draft and its verification, and one for the second", shown)
	}
}

// A settlement by an earlier fee payer is still looked after; one that is not of its payment is an
// error.
func TestEarlierFeePayer(t *testing.T) {
	h := open(t)
	s := h.sell(h.pay(price))
	s.send()
	h.Seal()
	cfg := h.cfg
	cfg.FeePayer = ed25519.PrivateKey(person("another"))
	h.rail = newRail(t, cfg)
	if f := s.is(0, rail.Paid, false); f.Proof.Tx != s.signed[0].ID {
		t.Errorf("proof %+v", f.Proof)
	}
	h.rail = newRail(t, h.cfg)
	other := h.sell(h.pay(price))
	s.signed = other.signed
	s.unread(0)
}

// A node that does not know a blockhash of ours is behind: that is not the payer's fault.
func TestNodeBehindOurHint(t *testing.T) {
	h := open(t)
	h.poll()
	p, err := h.rail.Parse(payload(h.pay(price).wire(t)), h.rail.Requirement(price))
	if err != nil {
		t.Fatal(err)
	}
	h.lying("simulateTransaction", func(any) any { return value(2000, map[string]any{"err": "BlockhashNotFound"}) })
	_, err = h.rail.Verify(t.Context(), p, h.rail.Requirement(price), time.Now())
	if _, refused := errors.AsType[*rail.Refusal](err); err == nil || refused {
		t.Errorf("Verify = %v, want an error that is no refusal", err)
	}
	h.lying("simulateTransaction",
		func(any) any { return value(2000, map[string]any{"err": "InsufficientFundsForFee"}) })
	if _, err = h.rail.Verify(t.Context(), p, h.rail.Requirement(price), time.Now()); !errors.Is(err, rail.ErrNoGas) {
		t.Errorf("Verify = %v, want %v", err, rail.ErrNoGas)
	}
}
