package solana_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sol "github.com/gagliardetto/solana-go"

	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/solana"
)

// patience turns a hang into a failure.
const patience = 5 * time.Minute

// poll lets the rail read a blockhash.
func (h *harness) poll() {
	h.t.Helper()
	seen := h.rail.Changed()
	ctx := h.t.Context()
	go h.rail.Run(ctx)
	select {
	case <-seen:
	case <-time.After(patience):
		h.t.Fatal("the rail saw nothing")
	}
}

// The fee payer spends lamports and no more of them than it may: an empty one takes the network
// out.
func TestFeePayerRunsDry(t *testing.T) {
	h := open(t)
	const least = 890_880 + 15_000 // what stays in the account, and the dearest payment that is taken
	st, err := h.rail.Standing(t.Context())
	if err != nil || st.Out != "" || st.Need.Int64() != 15_000 || st.Balance.Int64() != 1e9-890_880 ||
		st.Cost != 1501 || !st.Priced {
		t.Fatalf("Standing = %+v, %v", st, err)
	}
	p, err := h.rail.Parse(payload(h.pay(price).wire(t)), h.rail.Requirement(price))
	if err != nil {
		t.Fatal(err)
	}
	h.setLamports(person("feepayer").PublicKey(), least-1)
	if st, err := h.rail.Standing(t.Context()); err != nil || st.Out == "" {
		t.Errorf("Standing = %+v, %v; want it out", st, err)
	}
	if n, low, err := h.rail.Fuel(t.Context()); err != nil || !low || n.Int64() != least-1 {
		t.Errorf("Fuel = %s, %v, %v; want it low", n, low, err)
	}
	h.setLamports(person("feepayer").PublicKey(), 890_880+10_000)
	if _, err := h.rail.Draft(t.Context(), []*rail.Payment{p}); !errors.Is(err, rail.ErrNoGas) {
		t.Errorf("Draft = %v, want %v", err, rail.ErrNoGas)
	}
	h.setLamports(person("feepayer").PublicKey(), 0)
	if _, err := h.rail.Draft(t.Context(), []*rail.Payment{p}); !errors.Is(err, rail.ErrNoGas) {
		t.Errorf("Draft = %v, want %v", err, rail.ErrNoGas)
	}
	h.setLamports(person("feepayer").PublicKey(), 1e9)
	if _, err := h.rail.Verify(t.Context(), p, h.rail.Requirement(price), time.Now()); err != nil {
		t.Fatal(err)
	}
	h.setLamports(person("feepayer").PublicKey(), 890_880+10_000) // after the simulation
	if _, err := h.rail.Draft(t.Context(), []*rail.Payment{p}); !errors.Is(err, rail.ErrNoGas) {
		t.Errorf("Draft = %v, want %v", err, rail.ErrNoGas)
	}
	cfg := h.cfg
	cfg.GasAlarm = big.NewInt(2e9)
	h.setLamports(person("feepayer").PublicKey(), 1e9)
	if _, low, err := newRail(t, cfg).Fuel(t.Context()); err != nil || !low {
		t.Errorf("Fuel below the alarm: %v, %v", low, err)
	}
	cfg.CoinPrice = 0
	if st, err := newRail(t, cfg).Standing(t.Context()); err != nil || st.Priced {
		t.Errorf("Standing without a price = %+v, %v", st, err)
	}
}

// A simulation does not speak for a payment whose payer has another on its way since.
func TestMoneyThatIsGoneSinceTheSimulation(t *testing.T) {
	h := open(t)
	h.Fund(price)
	var ps []*rail.Payment
	for range 2 {
		pay := h.pay(price)
		pay.buyer = person("poor")
		p, err := h.rail.Parse(payload(pay.wire(t)), h.rail.Requirement(price))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.rail.Verify(t.Context(), p, h.rail.Requirement(price), time.Now()); err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	if err := h.rail.Send(t.Context(), h.settled(ps[0])); err != nil {
		t.Fatal(err)
	}
	h.Seal()
	_, err := h.rail.Draft(t.Context(), ps[1:])
	if ref, ok := errors.AsType[*rail.Refusal](err); !ok || !ref.Payer {
		t.Errorf("Draft = %v, want a refusal that is the payer's doing", err)
	}
}

// The dearest payment that is taken costs one and a half times the cheapest.
func TestWhatAPaymentCosts(t *testing.T) {
	h := open(t)
	dear := h.pay(price)
	dear.change = func(list []sol.Instruction) []sol.Instruction {
		list[0], list[1] = sol.NewInstruction(budget, nil, limitData(100_000)),
			sol.NewInstruction(budget, nil, priceData(50_000))
		return list
	}
	for name, c := range map[string]struct {
		pay      pay
		lamports int64
	}{"stock": {h.pay(price), 10_001}, "dear": {dear, 15_000}} {
		p, err := h.rail.Parse(payload(c.pay.wire(t)), h.rail.Requirement(price))
		if err != nil {
			t.Fatal(err)
		}
		d, err := h.rail.Draft(t.Context(), []*rail.Payment{p})
		if err != nil {
			t.Fatal(err)
		}
		want := (c.lamports*150 + 999) / 1000
		if got := d.Price(); got.Cost != want || got.Most != want || got.Gas > railtest.MostGas {
			t.Errorf("%s: price %+v, want %d", name, got, want)
		}
	}
}

// payTo's account is looked at again and again: closed, frozen or another's, it takes the network
// out, and the payer of what fails then is not blamed.
func TestStoresAccountIsWatched(t *testing.T) {
	h := open(t)
	account := ata(t, person("payto").PublicKey(), usdc)
	good := tokens{usdc, person("payto").PublicKey(), 0, false}
	for name, bad := range map[string]tokens{
		"closed": {}, "frozen": {good.mint, good.owner, 0, true},
		"another's": {good.mint, person("stranger").PublicKey(), 0, false}, "of another mint": {otherUSD, good.owner, 0,
			false},
	} {
		h.set(account, func(t *tokens) { *t = bad })
		if st, err := h.rail.Standing(t.Context()); err != nil || st.Out == "" {
			t.Errorf("%s: Standing = %+v, %v; want it out", name, st, err)
		}
		p, err := h.rail.Parse(payload(h.pay(price).wire(t)), h.rail.Requirement(price))
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.rail.Verify(t.Context(), p, h.rail.Requirement(price), time.Now())
		if ref, ok := errors.AsType[*rail.Refusal](err); name != "another's" && (!ok || ref.Payer) {
			t.Errorf("%s: Verify = %v, want a refusal that is not the payer's doing", name, err)
		}
		h.set(account, func(t *tokens) { *t = good })
		if st, err := h.rail.Standing(t.Context()); err != nil || st.Out != "" {
			t.Errorf("after it was %s: Standing = %+v, %v", name, st, err)
		}
	}
}

func TestCheck(t *testing.T) {
	h := open(t)
	account := ata(t, person("payto").PublicKey(), usdc)
	h.set(account, func(t *tokens) { *t = tokens{} })
	err := h.rail.Check(t.Context())
	if err == nil || errors.Is(err, rail.ErrWrongChain) || !strings.Contains(err.Error(), "spl-token create-account "+
		usdc.String()+" --owner "+person("payto").PublicKey().String()) {
		t.Errorf("Check without payTo's account = %v, want how to make it", err)
	}
	h.set(account, func(t *tokens) { *t = tokens{usdc, person("payto").PublicKey(), 0, false} })
	if err := h.rail.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*solana.Config){
		"the mint's account is none of the token program": func(
			c *solana.Config) {
			c.Asset = person("payto").PublicKey().String()
		},
		"other decimals":           func(c *solana.Config) { c.Decimals = 9 },
		"another cluster":          func(c *solana.Config) { c.Network = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" },
		"a token account as payTo": func(c *solana.Config) { c.PayTo = account.String() },
	} {
		cfg := h.cfg
		change(&cfg)
		err := newRail(t, cfg).Check(t.Context())
		if err == nil || cfg.PayTo == account.String() &&
			!strings.Contains(err.Error(), "give the address that owns it") {
			t.Errorf("%s: Check = %v", name, err)
		}
	}
	cfg := h.cfg
	cfg.AnyGenesis = true
	h.lying("getGenesisHash", func(any) any { return "4sGjMW1sUnHzSxGspuhpqLDx6wiyjNtZAMdL4VZHirAn" })
	if err := newRail(t, cfg).Check(t.Context()); err != nil {
		t.Errorf("any cluster: %v", err)
	}
	if err := h.rail.Check(t.Context()); !errors.Is(err, rail.ErrWrongChain) {
		t.Errorf("another cluster: %v", err)
	}
}

func TestConfig(t *testing.T) {
	good := config(t, "http://127.0.0.1:1")
	for name, change := range map[string]func(*solana.Config){
		"an EVM network":     func(c *solana.Config) { c.Network = "eip155:8453" },
		"no such cluster":    func(c *solana.Config) { c.Network = "solana:mainnet" },
		"no payTo":           func(c *solana.Config) { c.PayTo = "" },
		"an EVM payTo":       func(c *solana.Config) { c.PayTo = "0x0000000000000000000000000000000000000001" },
		"the system program": func(c *solana.Config) { c.PayTo = sol.SystemProgramID.String() },
		"no mint":            func(c *solana.Config) { c.Asset = "USDC" },
		"no fee payer":       func(c *solana.Config) { c.FeePayer = nil },
		"payTo pays":         func(c *solana.Config) { c.PayTo = person("feepayer").PublicKey().String() },
		"a negative price":   func(c *solana.Config) { c.CoinPrice = -1 },
		"no RPC":             func(c *solana.Config) { c.RPC = nil },
		"no address":         func(c *solana.Config) { c.RPC = []string{"ws://127.0.0.1"} },
	} {
		cfg := good
		change(&cfg)
		if _, err := solana.New(cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, ok := solana.Preset("solana:unknown"); ok {
		t.Error("an unknown cluster has a preset")
	}
}

// What others send to the account is listed without a nonce; what came from it, what failed, and
// what is of a form that is not known yet is passed over.
func TestIncomingOfOthers(t *testing.T) {
	h := open(t)
	account := ata(t, person("payto").PublicKey(), usdc)
	s := h.sell(h.pay(price))
	s.send()
	h.Seal()
	h.deposit(account, 7)
	poor := h.pay(price)
	failing := h.sell(poor)
	h.set(ata(t, person("buyer-0").PublicKey(), usdc), func(t *tokens) { t.amount = 0 })
	failing.send()
	h.Seal()
	h.deposit(account, 0)
	theirs := h.pay(9) // in the very form of ours, but its fee is another's
	theirs.feePayer = person("stranger")
	h.setLamports(theirs.feePayer.PublicKey(), 1e9)
	h.set(ata(t, theirs.buyer.PublicKey(), usdc), func(t *tokens) { t.amount = 9 })
	theirs.blockhash = h.head().hash
	wire, _ := theirs.transaction(t, theirs.feePayer).MarshalBinary()
	h.mu.Lock()
	h.pool = append(h.pool, wire)
	h.mu.Unlock()
	h.Seal()
	var got []rail.Transfer
	for tr, err := range rail.Transfers(h.rail.Incoming(t.Context(), rail.Span{})) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tr)
	}
	slices.Reverse(got)
	if len(got) != 3 || got[2].Amount.Int64() != 9 || got[2].Nonce != "" || got[0].Nonce != s.p.Nonce ||
		got[0].Method != "spl" || got[1].Nonce != "" || got[1].Method != "" || got[1].Amount.Int64() != 7 ||
		got[1].Payer != person("stranger").PublicKey().String() {
		t.Errorf("Incoming lists %+v", got)
	}
	h.lying("getTransaction", func(any) any { return &fault{-32015, "Transaction version (1) is not supported"} })
	for tr, err := range rail.Transfers(h.rail.Incoming(t.Context(), rail.Span{})) {
		t.Errorf("Incoming of what cannot be read lists %+v, %v", tr, err)
	}
	h.lying("getTransaction", func(v any) any {
		wire, _ := base64.StdEncoding.DecodeString(v.(map[string]any)["transaction"].([]string)[0])
		v.(map[string]any)["transaction"] = []string{base64.StdEncoding.EncodeToString(append(wire, 0)), "base64"}
		return v
	})
	for tr, err := range rail.Transfers(h.rail.Incoming(t.Context(), rail.Span{})) {
		t.Errorf("Incoming of a form that is not known lists %+v, %v", tr, err)
	}
	h.lying("getTransaction", func(any) any { return nil })
	failed := false
	for _, err := range rail.Transfers(h.rail.Incoming(t.Context(), rail.Span{})) {
		failed = failed || err != nil
	}
	if !failed {
		t.Error("Incoming passes over what a node does not know")
	}
}

// A text that a node would take for a transaction's is not signed for anything else.
func TestTransactionsAreNoTexts(t *testing.T) {
	h := open(t)
	pay := h.pay(price)
	wire := pay.wire(t)
	if err := h.rail.ProveSigner(t.Context(), pay.buyer.PublicKey().String(), wire[129:], wire[65:129]); err == nil {
		t.Error("a transaction's message proves its signer")
	}
}

// Bounds and errors of the client. An address may hold a key, which no error shows.
func TestBrokenNodes(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"id":1,"result":"%s"}`, strings.Repeat("x", 9<<20))
		},
		"another id": func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":99,"result":"x"}`)
		},
		"no JSON":       func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<html>`) },
		"members twice": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id":1,"id":1,"result":"x"}`) },
		"HTTP 500":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"another form": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id":1,"result":{"a":1}}`) },
		"lost":         func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	h := open(t)
	for name, f := range answers {
		srv := httptest.NewServer(f)
		cfg := h.cfg
		cfg.RPC = []string{srv.URL + "/?key=secret"}
		if err := newRail(t, cfg).Check(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: Check = %v", name, err)
		}
		cfg.RPC = append(cfg.RPC, h.srv.URL) // the next one answers
		if err := newRail(t, cfg).Check(t.Context()); err != nil {
			t.Errorf("%s, with another node: %v", name, err)
		}
		srv.Close()
	}
}

// A head or a blockhash that cannot be is not believed.
func TestLiesAboutTheHead(t *testing.T) {
	h := open(t)
	h.lying("getMultipleAccounts", func(v any) any {
		v.(map[string]any)["context"] = map[string]any{"slot": 5000}
		return v
	})
	if m, err := h.rail.Head(t.Context()); err == nil {
		t.Errorf("Head = %+v of a slot that its clock does not know", m)
	}
	if st, err := h.rail.Standing(t.Context()); err == nil {
		t.Errorf("Standing = %+v of a slot that its clock does not know", st)
	}
	for name, last := range map[string]uint64{"longer than any": 1 << 40, "shorter than any": 149} {
		h.lying("getLatestBlockhash", func(any) any {
			return value(h.head().slot, map[string]any{"blockhash": h.head().hash.String(),
				"lastValidBlockHeight": last})
		})
		p, err := h.rail.Parse(payload(h.pay(price).wire(t)), h.rail.Requirement(price))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.rail.Verify(t.Context(), p, h.rail.Requirement(price), time.Now()); err == nil {
			t.Errorf("a blockhash that is good for %s is believed", name)
		}
	}
}

// The memo is what the terms with a nonce ask for, and gives nothing of the nonce away.
func TestMemo(t *testing.T) {
	a, b, c := solana.Memo("nonce one", "door"), solana.Memo("nonce two", "door"), solana.Memo("nonce one", "other")
	if raw, err := base64.RawURLEncoding.DecodeString(a); err != nil || len(raw) != 27 || len(a) != solana.MemoLen ||
		a == b || a == c || strings.Contains(a, "nonce") {
		t.Errorf("memos %q, %q and %q: %v", a, b, c, err)
	}
}
