package onchaintest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/rail/facilitator"
	"store.example/agentstore/dynamic/settle"
)

// service is a facilitator of ours on a chain that seals by itself.
type service struct {
	*chaintest.Net
	rail    rail.Rail
	more    []rail.Rail // networks beside it
	db      ledger.DB
	reverts int64
	url     string
	stop    func()

	mu       sync.Mutex // guards outcomes
	outcomes map[string]int
}

func openService(t *testing.T) *service { return serviceWith(t, chaintest.Options{}, 0) }

// serviceWith is openService on a chain of the test's own, with what reverts may cost a day.
func serviceWith(t *testing.T, o chaintest.Options, reverts int64) *service {
	n := chaintest.New(t, o)
	cfg, _ := evm.Preset(n.ID())
	cfg.RPC, cfg.PayTo, cfg.Relayer = []string{n.URL}, n.PayTo.Hex(), n.Relayer.Private
	cfg.CoinPrice, cfg.GenesisHash = 1_000_000, n.GenesisHash().Hex()
	r, err := evm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	s := &service{Net: n, rail: r, db: ledger.NewMem(ledger.MemOptions{}), reverts: reverts}
	s.start(t)
	return s
}

// otherSeller is another account that is settled for.
const otherSeller = "0x5E11000000000000000000000000000000000002"

// start starts a process of the facilitator; what the one before knew is gone, but for the ledger.
func (s *service) start(t *testing.T) {
	t.Helper()
	rails := append([]rail.Rail{s.rail}, s.more...)
	g, err := settle.NewGasGuard(settle.GasConfig{DB: s.db, Rails: rails, Subsidy: -1, Reverts: s.reverts})
	if err != nil {
		t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: s.db, Rails: rails, Gas: g, Pause: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s.outcomes = map[string]int{}
	h, err := facilitator.NewHandler(facilitator.HandlerConfig{Rails: rails, Gas: g, Settles: d,
		PayTo: []string{s.PayTo.Hex(), otherSeller},
		Outcome: func(_, outcome string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.outcomes[outcome]++
		}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	s.url, s.stop = srv.URL, func() { srv.Close(); h.Close() }
	t.Cleanup(s.stop)
}

// request is a facilitator request for a payment, after a change.
func (s *service) request(t *testing.T, p chaintest.Payment, change func(map[string]any)) []byte {
	t.Helper()
	want := func() map[string]any {
		b, err := json.Marshal(s.rail.Requirement(500_000))
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := map[string]any{
		"x402Version": 2,
		"paymentPayload": map[string]any{
			"x402Version": 2, "accepted": want(), "resource": map[string]any{"url": "https://shop.example/x"},
			"payload": map[string]any{
				"authorization": map[string]any{
					"from": p.From.Hex(), "to": p.To.Hex(), "value": p.Value.String(), "nonce": p.Nonce.Hex(),
					"validAfter": strconv.FormatUint(p.ValidAfter, 10), "validBefore": strconv.FormatUint(p.ValidBefore,
						10),
				},
				"signature": hexutil.Encode(p.Signature),
			},
		},
		"paymentRequirements": want(),
	}
	if change != nil {
		change(m)
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (s *service) post(t *testing.T, path string, body []byte, out any) int {
	t.Helper()
	resp, err := http.Post(s.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return resp.StatusCode
}

func TestFacilitatorSettlesAndRemembers(t *testing.T) {
	s := openService(t)
	body := s.request(t, s.SignTransfer(s.Buyers[0], s.PayTo, 500_000), nil)
	var v facilitator.Verified
	if status := s.post(t, "/verify", body, &v); status != 200 || !v.Valid || v.Payer != s.Buyers[0].Address.Hex() {
		t.Fatalf("verify = %d %+v", status, v)
	}
	answers := make([]facilitator.Settled, 8)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { s.post(t, "/settle", body, &answers[i]) })
	}
	wg.Wait()
	for _, a := range answers {
		if a != answers[0] || !a.Success || a.Transaction == "" || a.Network != s.ID() || a.Amount != "500000" {
			t.Errorf("settle = %+v, want the success of %s", a, answers[0].Transaction)
		}
	}
	if got := s.Balance(s.PayTo); got != 500_000 {
		t.Errorf("payTo has %d, want one payment", got)
	}
	if status := s.post(t, "/verify", body, &v); status != 200 || v.Valid ||
		v.Reason != "invalid_exact_evm_nonce_already_used" {
		t.Errorf("verify of a used payment = %d %+v", status, v)
	}
}

func TestAFacilitatorRefuses(t *testing.T) {
	s := openService(t)
	pay := s.SignTransfer(s.Buyers[0], s.PayTo, 500_000)
	in := func(m map[string]any, names ...string) map[string]any {
		for _, n := range names {
			m = m[n].(map[string]any)
		}
		return m
	}
	for name, c := range map[string]struct {
		change func(map[string]any)
		reason string
	}{
		"version": {func(m map[string]any) { m["x402Version"] = 1 }, "invalid_x402_version"},
		"payload version": {func(m map[string]any) { in(m, "paymentPayload")["x402Version"] = 1 },
			"invalid_x402_version"},
		"network": {func(m map[string]any) { in(m, "paymentRequirements")["network"] = "eip155:1" },
			"invalid_network"},
		"accepted network": {func(m map[string]any) {
			in(m, "paymentPayload", "accepted")["network"] = "eip155:1"
		}, "invalid_exact_evm_network_mismatch"},
		"scheme": {func(m map[string]any) { in(m, "paymentRequirements")["scheme"] = "upto" },
			"invalid_exact_evm_scheme"},
		"accepted scheme": {func(m map[string]any) {
			in(m, "paymentPayload", "accepted")["scheme"] = "upto"
		}, "invalid_exact_evm_scheme"},
		"payTo not served": {func(m map[string]any) {
			in(m, "paymentRequirements")["payTo"] = s.Minter.Address.Hex()
		}, "invalid_payment_requirements"},
		"asset": {func(m map[string]any) {
			in(m, "paymentRequirements")["asset"] = s.Minter.Address.Hex()
		}, "invalid_payment_requirements"},
		"malformed": {func(m map[string]any) { in(m, "paymentPayload")["payload"] = map[string]any{} },
			"invalid_payload"},
		"amount": {func(m map[string]any) {
			in(m, "paymentRequirements")["amount"] = "500001"
		}, "invalid_exact_evm_payload_authorization_value_mismatch"},
	} {
		body := s.request(t, pay, c.change)
		var v facilitator.Verified
		if status := s.post(t, "/verify", body, &v); status != 200 || v.Valid || v.Reason != c.reason {
			t.Errorf("%s: verify = %d %+v, want %s", name, status, v, c.reason)
		}
		var a facilitator.Settled
		if status := s.post(t, "/settle", body, &a); status != 200 || a.Success || a.Reason != c.reason ||
			a.Transaction != "" {
			t.Errorf("%s: settle = %d %+v, want %s", name, status, a, c.reason)
		}
		payer := s.Buyers[0].Address.Hex()
		if c.reason == "invalid_x402_version" || c.reason == "invalid_network" || c.reason == "invalid_payload" ||
			name == "asset" {
			payer = "" // nothing by which it could be read
		}
		if v.Payer != payer || a.Payer != payer {
			t.Errorf("%s: payer %q and %q, want %q", name, v.Payer, a.Payer, payer)
		}
	}
	for name, body := range map[string]string{
		"nothing": "", "array": "[]", "twice": `{"x402Version":2,"x402Version":2}`, "long": `{"x":"` +
			strings.Repeat("x", facilitator.MaxRequest) + `"}`,
	} {
		for _, path := range []string{"/verify", "/settle"} {
			var e struct{ Error string }
			if status := s.post(t, path, []byte(body), &e); status != 400 || e.Error == "" {
				t.Errorf("%s: %s = %d %+v, want 400", name, path, status, e)
			}
		}
	}
	if got := s.Balance(s.PayTo); got != 0 {
		t.Errorf("payTo has %d", got)
	}
	// What was refused settles when it is asked for properly.
	var a facilitator.Settled
	if s.post(t, "/settle", s.request(t, pay, nil), &a); !a.Success {
		t.Errorf("settle = %+v", a)
	}
}

// Another signature over a settled authorization learns nothing of the settlement.
func TestFacilitatorAnotherSignature(t *testing.T) {
	s := openService(t)
	pay := s.SignTransfer(s.Buyers[0], s.PayTo, 500_000)
	var a facilitator.Settled
	if s.post(t, "/settle", s.request(t, pay, nil), &a); !a.Success {
		t.Fatalf("settle = %+v", a)
	}
	pay.Signature = bytes.Clone(pay.Signature)
	pay.Signature[5] ^= 1
	var b facilitator.Settled
	if s.post(t, "/settle", s.request(t, pay, nil), &b); b.Success || b.Transaction != "" ||
		b.Reason != "duplicate_settlement" {
		t.Errorf("settle = %+v, want duplicate_settlement", b)
	}
}

// held checks one payment only when it is let go.
type held struct {
	rail.Rail
	signature   []byte
	came, letGo chan struct{}
}

func (h *held) Verify(ctx context.Context, p *rail.Payment, want rail.Requirement, now time.Time) (rail.Verified,
	error) {
	if bytes.Equal(p.Signature, h.signature) {
		close(h.came)
		<-h.letGo
	}
	return h.Rail.Verify(ctx, p, want, now)
}

// Whoever is quicker with a wrong signature does not make a duplicate of the right one.
func TestAWrongSignatureFirst(t *testing.T) {
	s := openService(t)
	pay := s.SignTransfer(s.Buyers[0], s.PayTo, 500_000)
	wrong := pay
	wrong.Signature = bytes.Clone(pay.Signature)
	wrong.Signature[5] ^= 1
	s.stop()
	h := &held{s.rail, wrong.Signature, make(chan struct{}), make(chan struct{})}
	s.rail = h
	s.start(t)
	var a, b facilitator.Settled
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.post(t, "/settle", s.request(t, wrong, nil), &a)
	}()
	<-h.came
	go func() { close(h.letGo) }()
	s.post(t, "/settle", s.request(t, pay, nil), &b)
	<-done
	if a.Success || a.Reason != "invalid_exact_evm_signature" || !b.Success {
		t.Errorf("the wrong one = %+v, the right one = %+v", a, b)
	}
}

// A payment that is presented again to another process is answered with its settlement, to who has
// its signature only.
func TestFacilitatorAfterARestart(t *testing.T) {
	s := openService(t)
	pay := s.SignTransfer(s.Buyers[0], s.PayTo, 500_000)
	var a, again, forged facilitator.Settled
	if s.post(t, "/settle", s.request(t, pay, nil), &a); !a.Success {
		t.Fatalf("settle = %+v", a)
	}
	s.stop()
	s.start(t)
	other := pay
	other.Signature = bytes.Clone(pay.Signature)
	other.Signature[5] ^= 1
	if s.post(t, "/settle", s.request(t, other, nil), &forged); forged.Success || forged.Transaction != "" ||
		forged.Reason != "duplicate_settlement" {
		t.Errorf("settle = %+v, want duplicate_settlement", forged)
	}
	// What paid one seller is no payment to another, and none of another sum.
	for member, value := range map[string]string{"payTo": otherSeller, "amount": "499999"} {
		var taken facilitator.Settled
		body := s.request(t, pay, func(m map[string]any) {
			m["paymentRequirements"].(map[string]any)[member] = value
			m["paymentPayload"].(map[string]any)["accepted"].(map[string]any)[member] = value
		})
		if s.post(t, "/settle", body, &taken); taken.Success || taken.Reason != "duplicate_settlement" ||
			!strings.Contains(taken.Message, "not signed for these terms") {
			t.Errorf("settle for another %s = %+v", member, taken)
		}
	}
	if s.post(t, "/settle", s.request(t, pay, nil), &again); again != a {
		t.Errorf("settle after a restart = %+v, want %+v", again, a)
	}
	if n := s.relayed(t); n != 1 {
		t.Errorf("%d transactions, want 1", n)
	}
	if s.outcomes["settled"] != 1 {
		t.Errorf("outcomes of the second process: %v", s.outcomes)
	}

	// What is settled is told whatever settling costs now; what is new is not taken.
	s.stop()
	s.rail = costly{s.rail, 1_000_000}
	s.start(t)
	again = facilitator.Settled{}
	if s.post(t, "/settle", s.request(t, pay, nil), &again); again != a {
		t.Errorf("settle while gas is costly = %+v, want %+v", again, a)
	}
	var costly facilitator.Settled
	if s.post(t, "/settle", s.request(t, s.SignTransfer(s.Buyers[1], s.PayTo, 500_000), nil),
		&costly); costly.Success || costly.Reason != "invalid_payment_requirements" {
		t.Errorf("settle of less than it costs = %+v", costly)
	}
}

func TestFacilitatorSupported(t *testing.T) {
	s := openService(t)
	c, err := facilitator.New(facilitator.Config{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Supported(t.Context())
	if err != nil || len(got.Kinds) != 1 || got.Kinds[0].Network != s.ID() || got.Kinds[0].Scheme != "exact" ||
		got.Kinds[0].Version != 2 {
		t.Errorf("Supported = %+v, %v", got, err)
	}
	if of := got.Signers["eip155:*"]; len(of) != 1 || of[0] != s.Relayer.Address.Hex() {
		t.Errorf("signers = %v", got.Signers)
	}
	v, err := c.Verify(t.Context(), s.request(t, s.SignTransfer(s.Poor, s.PayTo, 500_000), nil))
	if err != nil || v.Valid || v.Reason != "invalid_exact_evm_insufficient_balance" {
		t.Errorf("Verify = %+v, %v", v, err)
	}
	for _, path := range []string{"/verify", "/settle"} {
		resp, err := http.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("GET %s = %d", path, resp.StatusCode)
		}
	}
}

// A facilitator without one of the things that it stands on is refused where it is made: it would
// settle for everybody, spend any amount of gas, or fall at the first payment.
func TestHandlerNeedsAllItStandsOn(t *testing.T) {
	s := openService(t)
	g, err := settle.NewGasGuard(settle.GasConfig{DB: s.db, Rails: []rail.Rail{s.rail}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: s.db, Rails: []rail.Rail{s.rail}, Gas: g})
	if err != nil {
		t.Fatal(err)
	}
	for name, lack := range map[string]func(*facilitator.HandlerConfig){
		"nothing":  func(*facilitator.HandlerConfig) {},
		"networks": func(c *facilitator.HandlerConfig) { c.Rails = nil },
		"accounts": func(c *facilitator.HandlerConfig) { c.PayTo = nil },
		"a limit":  func(c *facilitator.HandlerConfig) { c.Gas = nil },
		"a driver": func(c *facilitator.HandlerConfig) { c.Settles = nil },
	} {
		cfg := facilitator.HandlerConfig{Rails: []rail.Rail{s.rail}, PayTo: []string{"0x1"}, Gas: g, Settles: d}
		lack(&cfg)
		h, err := facilitator.NewHandler(cfg)
		if (err == nil) != (name == "nothing") {
			t.Errorf("without %s: %v", name, err)
		}
		if h != nil {
			h.Close()
		}
	}
}
