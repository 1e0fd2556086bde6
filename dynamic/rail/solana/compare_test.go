package solana_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/facilitator"
	"store.example/agentstore/dynamic/settle"
)

// both are two facilitators with one fee payer on one cluster: the stock one and ours.
type both struct {
	*harness
	stock, ours string // their addresses
}

func openBoth(t *testing.T) *both {
	b := &both{harness: open(t)}
	rails := []rail.Rail{b.rail}
	db := ledger.NewMem(ledger.MemOptions{})
	g, err := settle.NewGasGuard(settle.GasConfig{DB: db, Rails: rails, Subsidy: -1})
	if err != nil {
		t.Fatal(err)
	}
	d, err := settle.New(settle.Config{DB: db, Rails: rails, Gas: g, Pause: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	f, err := facilitator.NewHandler(facilitator.HandlerConfig{Rails: rails, Gas: g, Settles: d,
		PayTo: []string{b.cfg.PayTo}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(f)
	t.Cleanup(func() { srv.Close(); f.Close() })
	b.ours, b.stock = srv.URL, startStock(t, b.srv.URL)
	return b
}

// startStock starts the unmodified stock facilitator.
func startStock(t *testing.T, url string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), npmtest.Node(t), "testdata/stock/facilitator.cjs", url,
		hex.EncodeToString(person("feepayer")), networks.Solana)
	cmd.Env = append(os.Environ(), "NODE_PATH="+npmtest.Packages(t))
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the stock facilitator does not start: %v", err)
	}
	return strings.TrimSpace(line)
}

// reply is what matters of a facilitator's answer.
type reply struct {
	IsValid, Success            bool
	InvalidReason, ErrorReason  string
	Payer, Network, Transaction string
}

// word is the verdict: "" for a payment that is taken. One that is no answer has the word "throws".
func (s reply) word() string { return s.InvalidReason + s.ErrorReason }

// ask posts a question and reads the answer.
func ask(t *testing.T, url, path string, q question) (a reply) {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"x402Version": 2, "paymentRequirements": q.want, "paymentPayload": map[string]any{
			"x402Version": 2, "payload": json.RawMessage(q.payload), "accepted": q.want},
	})
	if err != nil {
		t.Fatalf("%s: %v", q.name, err)
	}
	resp, err := http.Post(url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if json.NewDecoder(resp.Body).Decode(&a) != nil || resp.StatusCode != http.StatusOK {
		return reply{InvalidReason: "throws"}
	}
	return a
}

// stricter are the questions that our facilitator answers over HTTP otherwise than its rail does,
// and what it says. Each settlement costs a fee, so that only the token and the accounts on a list
// are settled for (decisions §4 M10), before anything else is looked at.
var stricter = map[string]string{
	"another payTo asked": "invalid_payment_requirements",
	"another mint asked":  "invalid_payment_requirements",
	// No amount that is settled has more than 63 bits.
	"2^64 more": "invalid_payload",
}

// unnamed are the questions that both refuse in the same words, of a payer that only one of them
// names: the stock facilitator reads none before it looks at the terms, and takes an account for
// one where there is no transfer, or where the fee payer's money would move.
var unnamed = []string{"terms without a fee payer", "terms with another's fee payer", "transfer without check",
	"an approval in the transfer's place", "a short transfer", "the fee payer's own money"}

// kinder is what is taken here and not by the stock facilitator: what wallets sign today.
var kinder = []string{"guards as Phantom puts them", "eight guards"}

// The stock facilitator and ours, asked the same over HTTP, say the same of the same payer, but for
// what the tables name.
func TestVerifyIsTheStockFacilitators(t *testing.T) {
	b := openBoth(t)
	qs := questions(t, b.harness)
	left, differ := maps.Clone(stricter), 0
	for _, q := range qs {
		want := q.stock
		if want == same {
			want = q.reason
		}
		if q.want.Scheme != "exact" { // it has no scheme of that name
			want = "throws"
		}
		reason := q.reason
		if s, ok := left[q.name]; ok {
			reason = s
			delete(left, q.name)
		}
		ours, theirs := ask(t, b.ours, "/verify", q), ask(t, b.stock, "/verify", q)
		if ours.word() != reason || ours.IsValid != (reason == "") {
			t.Errorf("%s: %q, want %q", q.name, ours.word(), reason)
		}
		if theirs.word() != want || theirs.IsValid != (want == "") {
			t.Errorf("%s: the stock facilitator says %q, noted is %q", q.name, theirs.word(), want)
		}
		if reason != want {
			differ++
			if reason == "" && !slices.Contains(kinder, q.name) {
				t.Errorf("%s: what the stock facilitator refuses is taken", q.name)
			}
		} else if (ours.Payer != theirs.Payer) != slices.Contains(unnamed, q.name) {
			t.Errorf("%s: payer %q here, %q there", q.name, ours.Payer, theirs.Payer)
		}
	}
	for name := range left {
		t.Errorf("%s is noted and was not asked", name)
	}
	t.Logf("%d questions, %d answered otherwise on purpose", len(qs), differ)
	if len(qs) < 50 {
		t.Errorf("%d questions, want 50 or more", len(qs))
	}
}

// sealing makes a block whenever something was sent, until the test ends.
func (h *harness) sealing(t *testing.T) {
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			h.mu.Lock()
			waits := len(h.pool) > 0
			h.mu.Unlock()
			if waits {
				h.Seal()
			}
		}
	})
	t.Cleanup(func() { close(ended); wg.Wait() })
}

// What both settle, they settle alike; what either refuses moves nothing; and what fails in its
// block has the stock word.
func TestSettleIsTheStockFacilitators(t *testing.T) {
	b := openBoth(t)
	b.sealing(t)
	const fails = code + "transaction_simulation_failed"
	with := func(change func(*pay)) func() []byte {
		return func() []byte {
			p := b.pay(price)
			if change != nil {
				change(&p)
			}
			return p.wire(t)
		}
	}
	for _, c := range []struct {
		name    string
		payment func() []byte // a fresh one each time
		word    string
	}{
		{"as a stock buyer makes it", with(nil), ""},
		{"legacy", with(func(p *pay) { p.legacy = true }), ""},
		{"with a guard", with(func(p *pay) { p.guards = []string{"x"} }), ""},
		{"without a memo", with(func(p *pay) { p.memo = "" }), ""},
		{"more than the buyer has", with(func(p *pay) { p.buyer = person("poor") }), fails},
		{"another chain's blockhash", with(func(p *pay) { p.blockhash[0]++ }), fails},
		{"less", with(func(p *pay) { p.amount-- }), code + "payload_amount_mismatch"},
		{"another fee payer", with(func(p *pay) { p.feePayer = person("stranger") }), code + "fee_payer_mismatch"},
		{"a guard that refuses in the block", with(func(p *pay) { p.guards = []string{"T"} }), code +
			"transaction_failed"},
		{"one that is on the chain", func() []byte {
			wire := with(nil)()
			b.land(wire)
			return wire
		}, fails},
	} {
		settled := func(url string) (reply, int64) {
			wire := c.payment()
			before := b.Balance()
			a := ask(t, url, "/settle", question{name: c.name, payload: payload(wire), want: b.rail.Requirement(price)})
			return a, b.Balance() - before
		}
		theirs, gave := settled(b.stock)
		ours, got := settled(b.ours)
		if ours.word() != c.word || theirs.word() != c.word || ours.Success != (c.word == "") {
			t.Errorf("%s: %q here, %q there, want %q", c.name, ours.word(), theirs.word(), c.word)
		}
		if got != gave || ours.Payer != theirs.Payer || ours.Network != theirs.Network ||
			(ours.Transaction == "") != (theirs.Transaction == "") {
			t.Errorf("%s: %d moved and %+v here, %d and %+v there", c.name, got, ours, gave, theirs)
		}
		if want := map[bool]int64{true: price}[ours.Success]; got != want {
			t.Errorf("%s: success %v and %d moved", c.name, ours.Success, got)
		}
	}
}

// Both support the same kind, with the fee payer that a seller has to name in its terms.
func TestSupportedIsTheStockFacilitators(t *testing.T) {
	b := openBoth(t)
	get := func(url string) (s facilitator.Supported) {
		resp, err := http.Get(url + "/supported")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	ours, theirs := get(b.ours), get(b.stock)
	if v, ok := ours.Kinds[0].Extra["transactionVersions"].([]any); !ok || len(v) != 1 || v[0] != 0.0 {
		t.Errorf("extra = %v, want the versions that are taken", ours.Kinds[0].Extra)
	}
	delete(ours.Kinds[0].Extra, "transactionVersions") // the stock one does not say
	if len(ours.Kinds) != 1 || !reflect.DeepEqual(ours.Kinds, theirs.Kinds) ||
		ours.Kinds[0].Extra["feePayer"] != person("feepayer").PublicKey().String() ||
		!slices.Equal(ours.Extensions, theirs.Extensions) || !reflect.DeepEqual(ours.Signers, theirs.Signers) {
		t.Errorf("ours: %+v; the stock one's: %+v", ours, theirs)
	}
}
