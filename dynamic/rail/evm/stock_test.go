package evm_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// question is a payment against a requirement, for both facilitators.
type question struct {
	name    string
	payload []byte
	accept  rail.Requirement // what the buyer says he accepted
	want    rail.Requirement
}

// differences are the questions on which we answer otherwise than the stock facilitator, on
// purpose; the value is the stock answer, "" being valid.
var differences = map[string]string{
	// Decisions §4 M4 bounds validBefore; the stock facilitator does not.
	"valid for a day": "",
	// Normalised to 27 or 28 before the token sees it.
	"v as 0 or 1": "invalid_exact_evm_transaction_simulation_failed",
	// One spelling of everything: a payment that is not written as the scheme says is
	// invalid_payload, whether the stock facilitator reads it kindly, finds its signature wrong or
	// falls over it.
	"tampered: value with sign":         "",
	"tampered: value with leading zero": "",
	"tampered: value a number":          "",
	"tampered: value in hex":            "",
	"tampered: value twice":             "",
	"tampered: unknown member":          "",
	"tampered: value negative":          "invalid_exact_evm_signature",
	"tampered: value beyond 256 bits":   "invalid_exact_evm_signature",
	"tampered: value empty":             "invalid_exact_evm_signature",
	"tampered: nonce short":             "invalid_exact_evm_signature",
	"tampered: nonce without 0x":        "invalid_exact_evm_signature",
	"tampered: address short":           "invalid_exact_evm_signature",
	"tampered: signature not hex":       "invalid_exact_evm_signature",
	"tampered: signature huge":          "invalid_exact_evm_signature",
	"tampered: value with exponent":     "throws",
	"tampered: value null":              "throws",
	"tampered: signature missing":       "throws",
	"tampered: authorization missing":   "throws",
	"tampered: text":                    "throws",
	"tampered: bad UTF-8":               "throws",
	"tampered: null":                    "throws",
	"tampered: array":                   "throws",
}

// stock asks the unmodified stock facilitator.
func stock(t *testing.T, h *harness, qs []question) []string {
	t.Helper()
	node := npmtest.Node(t)
	modules := npmtest.Packages(t)
	var in bytes.Buffer
	for _, q := range qs {
		b, err := json.Marshal(map[string]any{
			"payload": map[string]any{"x402Version": 2, "payload": json.RawMessage(q.payload),
				"accepted": q.accept},
			"requirements": q.want,
		})
		if err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		in.Write(append(b, '\n'))
	}
	cmd := exec.CommandContext(t.Context(), node, "testdata/stock/verify.cjs", h.URL, h.Minter.Hex())
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stdin, cmd.Stderr = &in, t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var a struct {
			Valid  bool
			Reason string
		}
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		if a.Valid {
			a.Reason = ""
		}
		answers = append(answers, a.Reason)
	}
	if len(answers) != len(qs) {
		t.Fatalf("%d answers to %d questions", len(answers), len(qs))
	}
	return answers
}

func TestReasonsAreTheStockFacilitators(t *testing.T) {
	h := openOn(t, 8453)
	want := h.rail.Requirement(500_000)
	qs := questions(h, want)
	theirs := stock(t, h, qs)
	for i, q := range qs {
		ours := verdict(t, h.rail, q)
		expected := theirs[i]
		stockSays, differs := differences[q.name]
		if differs && theirs[i] != stockSays {
			t.Errorf("%s: the stock facilitator says %q, noted is %q", q.name, theirs[i], stockSays)
		}
		if differs == (ours == expected) {
			t.Errorf("%s: %q here, %q there; noted as different: %v", q.name, ours, theirs[i], differs)
		}
	}
	t.Logf("%d questions, %d answered otherwise on purpose", len(qs), len(differences))
}

// verdict is our reason, "" for a valid payment.
func verdict(t *testing.T, r *evm.Rail, q question) string {
	t.Helper()
	if q.accept.Network != q.want.Network {
		return "invalid_exact_evm_network_mismatch" // the protocol's matching of accepted entries stands before a rail
	}
	p, err := r.Parse(q.payload, q.want)
	if err == nil {
		_, err = r.Verify(t.Context(), p, q.want, time.Now())
	}
	if err == nil {
		return ""
	}
	ref, ok := errors.AsType[*rail.Refusal](err)
	if !ok {
		t.Fatalf("%s: %v", q.name, err)
	}
	return ref.Reason
}

func questions(h *harness, want rail.Requirement) []question {
	var qs []question
	add := func(name string, payload []byte, change func(*rail.Requirement)) {
		w := h.rail.Requirement(500_000)
		if change != nil {
			change(&w)
		}
		qs = append(qs, question{name, payload, w, w})
	}
	sign := func(change func(*railtest.Terms)) []byte {
		t := terms(500_000)
		if change != nil {
			change(&t)
		}
		return h.Sign(t)
	}
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }
	add("good", sign(nil), nil)
	add("poor", sign(func(t *railtest.Terms) { t.Payer = railtest.Poor }), nil)
	add("contract wallet", sign(func(t *railtest.Terms) { t.Payer = railtest.Contract }), nil)
	add("delegated", sign(func(t *railtest.Terms) { t.Payer = railtest.Delegated }), nil)
	add("refusing", sign(func(t *railtest.Terms) { t.Payer = railtest.Refusing }), nil)
	add("expired", sign(func(t *railtest.Terms) { t.Before = in(-time.Minute) }), nil)
	add("valid for a day", sign(func(t *railtest.Terms) { t.Before = in(24 * time.Hour) }), nil)
	add("not yet valid", sign(func(t *railtest.Terms) { t.After = in(time.Minute) }), nil)
	add("to another", sign(func(t *railtest.Terms) { t.To = h.Minter.Address.Hex() }), nil)
	used := sign(nil)
	h.Submit(used)
	h.Seal()
	add("used", used, nil)
	cancelled := sign(nil)
	h.Cancel(cancelled)
	h.Seal()
	add("cancelled", cancelled, nil)
	add("no domain", sign(nil), func(w *rail.Requirement) { w.Extra = map[string]any{} })
	add("no version", sign(nil), func(w *rail.Requirement) { w.Extra = map[string]any{"name": "USD Coin"} })
	add("wrong name offered", sign(nil), func(w *rail.Requirement) { w.Extra["name"] = "USDC" })
	add("wrong version offered", sign(nil), func(w *rail.Requirement) { w.Extra["version"] = "1" })
	add("another scheme", sign(nil), func(w *rail.Requirement) { w.Scheme = "upto" })
	add("another amount wanted", sign(nil), func(w *rail.Requirement) { w.Amount = "500001" })
	add("another payTo wanted", sign(nil), func(w *rail.Requirement) { w.PayTo = h.Minter.Address.Hex() })
	other := want
	other.Network = "eip155:137"
	qs = append(qs, question{"accepted on another network", sign(nil), other, want})
	// Signed under the name that was offered, which is not the token's.
	a, k := h.authorization(terms(500_000))
	wrong := chaintest.Payment{Authorization: a,
		Signature: h.SignDigest(k, a.Digest(token.TransferKind, token.Domain("USDC", "2", 8453, h.Asset)))}
	add("wrong name offered and signed", payload(wrong), func(w *rail.Requirement) { w.Extra["name"] = "USDC" })
	wrong.Signature = h.SignDigest(k, a.Digest(token.TransferKind, token.Domain("USD Coin", "1", 8453, h.Asset)))
	add("wrong version offered and signed", payload(wrong), func(w *rail.Requirement) { w.Extra["version"] = "1" })
	low := h.Node.Sign(k, a)
	low.Signature[64] -= 27
	add("v as 0 or 1", payload(low), nil)
	wa, wk := h.authorization(railtest.Terms{Payer: railtest.Contract, Amount: 500_000, Before: in(5 * time.Minute)})
	wrapped := h.Node.Sign(wk, wa)
	wrapped.Signature = wrap(chain.Factory, []byte{1}, wrapped.Signature)
	add("deployed wallet, wrapped", payload(wrapped), nil)
	long := h.Node.Sign(wk, wa)
	long.Signature = append(h.Wallet.Owner.Address.Bytes(), long.Signature...)
	add("contract wallet, 85 bytes", payload(long), nil)
	wild := h.Node.Sign(wk, wa)
	wild.Signature = common.FromHex("0x00")
	add("contract wallet, one byte", payload(wild), nil)
	for _, c := range h.Tampers(terms(500_000)) {
		if json.Valid(c.Payload) {
			add("tampered: "+c.Name, c.Payload, nil)
		}
	}
	return qs
}
