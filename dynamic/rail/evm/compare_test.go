package evm_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/facilitator"
	"store.example/agentstore/dynamic/settle"
)

// both are two facilitators on one chain: the stock one and ours.
type both struct {
	*estate
	permits     *permits
	stock, ours string // their addresses
}

func openBoth(t *testing.T) *both {
	n := chaintest.New(t, chaintest.Options{Permit2: true, Code: [][]byte{token.Deployer}})
	h := &harness{Net: n, t: t, cfg: config(t, n), seal: func() { n.MustSeal() }}
	h.cfg.Factories = []string{chain.Factory.Hex()}
	h.rail = newRail(t, h.cfg)
	b := &both{estate: &estate{h, n.Coded[0].Address}, permits: &permits{h}}
	rails := []rail.Rail{h.rail}
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
		PayTo: []string{h.PayTo.Hex()}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(f)
	t.Cleanup(func() { srv.Close(); f.Close() })
	b.ours, b.stock = srv.URL, startStock(t, h)
	return b
}

// startStock starts the unmodified stock facilitator, with the minter's account.
func startStock(t *testing.T, h *harness) string {
	t.Helper()
	node := npmtest.Node(t)
	cmd := exec.CommandContext(t.Context(), node, "testdata/stock/facilitator.cjs", h.URL, h.Minter.Hex(), h.ID(),
		chain.Factory.Hex())
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

// said is what matters of a facilitator's answer.
type said struct {
	Valid, Success                           bool
	Reason, Payer, Network, Tx, Amount, Body string
}

// ask posts a question and reads the answer; one that is no answer has the reason "throws".
func ask(t *testing.T, url, path string, q question) said {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"x402Version": 2, "paymentRequirements": q.want,
		"paymentPayload": map[string]any{"x402Version": 2, "payload": json.RawMessage(q.payload),
			"accepted": q.accept, "resource": map[string]any{"url": "https://shop.example/x"}},
	})
	if err != nil {
		t.Fatalf("%s: %v", q.name, err)
	}
	resp, err := http.Post(url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		IsValid, Success            bool
		InvalidReason, ErrorReason  string
		Payer, Network, Transaction string
		Amount                      string
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(raw, &a) != nil {
		return said{Reason: "throws", Body: string(raw)}
	}
	return said{a.IsValid, a.Success, a.InvalidReason + a.ErrorReason, a.Payer, a.Network, a.Transaction, a.Amount,
		string(raw)}
}

// word is the verdict: "" for a payment that is taken.
func (s said) word() string {
	if s.Valid || s.Success {
		return ""
	}
	// Where viem cannot decode an error the stock reason goes on with its text.
	reason, _, _ := strings.Cut(s.Reason, ":")
	return reason
}

// permitQuestions are the Permit2 cases.
func (b *both) permitQuestions() (qs []question) {
	want := func() rail.Requirement {
		w := b.rail.Requirement(500_000)
		w.Extra["assetTransferMethod"] = "permit2"
		return w
	}
	add := func(name string, payload []byte, change func(*rail.Requirement)) {
		w := want()
		if change != nil {
			change(&w)
		}
		qs = append(qs, question{"permit2: " + name, payload, w, w})
	}
	good := terms(500_000)
	by := func(who railtest.Payer) []byte {
		t := good
		t.Payer = who
		return b.permits.Sign(t)
	}
	at := func(after, before time.Duration) []byte {
		t := good
		t.Before = time.Now().Add(before)
		if after != 0 {
			t.After = time.Now().Add(after)
		}
		return b.permits.Sign(t)
	}
	add("good", by(railtest.Plain), nil)
	add("contract wallet", by(railtest.Contract), nil)
	add("delegated", by(railtest.Delegated), nil)
	add("refusing", by(railtest.Refusing), nil)
	add("poor", by(railtest.Poor), nil)
	add("expired", at(0, -time.Minute), nil)
	add("valid for a day", at(0, 24*time.Hour), nil)
	add("not yet valid", at(time.Minute, 5*time.Minute), nil)
	used := by(railtest.Plain)
	b.permits.Submit(used)
	b.Seal()
	add("used", used, nil)
	cancelled := by(railtest.Plain)
	b.permits.Cancel(cancelled)
	b.Seal()
	add("cancelled", cancelled, nil)
	stranger := chaintest.NewKey(b.t)
	b.endow(stranger.Address, 500_000)
	p, _ := b.permits.permit(good)
	p.Owner = stranger.Address
	add("without allowance", b.permits.sign(stranger, p).payload(), nil)
	add("another scheme", by(railtest.Plain), func(w *rail.Requirement) { w.Scheme = "upto" })
	add("another amount wanted", by(railtest.Plain), func(w *rail.Requirement) { w.Amount = "500001" })
	add("another payTo wanted", by(railtest.Plain), func(w *rail.Requirement) { w.PayTo = b.Minter.Address.Hex() })
	add("no domain", by(railtest.Plain), func(w *rail.Requirement) { w.Extra = map[string]any{} })
	add("where EIP-3009 is asked for", by(railtest.Plain), func(w *rail.Requirement) {
		delete(w.Extra, "assetTransferMethod")
	})
	other := want()
	other.Network = "eip155:137"
	qs = append(qs, question{"permit2: accepted on another network", by(railtest.Plain), other, want()})
	for _, c := range b.permits.Tampers(good) {
		add("tampered: "+c.Name, c.Payload, nil)
	}
	return qs
}

// walletQuestions are the cases of wallets that are not deployed.
func (b *both) walletQuestions() (qs []question) {
	const amount = 500_000
	add := func(name string, p chaintest.Payment) {
		w := b.rail.Requirement(amount)
		qs = append(qs, question{"undeployed: " + name, payload(p), w, w})
	}
	w := b.house(1, amount)
	change := func(f func(*house)) chaintest.Payment {
		other := w
		f(&other)
		return b.pays(other, amount)
	}
	add("good", b.pays(w, amount))
	add("poor", b.pays(b.house(2, 0), amount))
	add("another factory", change(func(w *house) { w.factory = b.deployer }))
	add("a call that deploys nothing", change(func(w *house) { w.call = []byte{1, 2, 3, 4} }))
	add("another wallet", change(func(w *house) { w.call = token.DeployCall(w.owner.Address, common.Hash{9}) }))
	add("another's key", change(func(w *house) { w.owner = b.Buyers[2] }))
	account := house{b.Buyers[1].Address, chain.Factory, token.DeployCall(b.Buyers[2].Address, common.Hash{3}),
		b.Buyers[1]}
	add("an ordinary account's, in a wrapper", b.pays(account, amount))
	p := b.Node.Sign(w.owner, b.Authorize(w.address, b.PayTo, amount))
	inner := p.Signature
	p.Signature = token.Wrap6492(w.factory, w.call, token.Wrap6492(w.factory, w.call, inner))
	add("wrapped twice", p)
	p.Signature = token.Wrap6492(w.factory, w.call, inner)
	p.Signature[0] = 1
	add("a bit above the factory's address", p)
	deployed := b.house(5, amount)
	b.Send(b.Minter, deployed.factory, deployed.call)
	b.Seal()
	add("deployed since", b.pays(deployed, amount))
	return qs
}

// compared are the questions on which our facilitator says otherwise than the stock one over HTTP,
// on purpose, beside those of differences; the value is the stock answer, "" being valid.
var compared = map[string]string{
	// The stock facilitator has no scheme of that name and answers 500; ours refuses in its words.
	"another scheme":          "throws",
	"permit2: another scheme": "throws",
	// Each settlement costs gas, so that only accounts on a list are settled for (decisions §4 M10)
	// and no amounts below twice the cost (M15), before anything else is looked at.
	"another payTo wanted":             "invalid_exact_evm_recipient_mismatch",
	"permit2: another payTo wanted":    "invalid_permit2_recipient_mismatch",
	"tampered: value changed":          "invalid_exact_evm_signature",
	"tampered: value zero":             "invalid_exact_evm_signature",
	"tampered: honestly less":          "invalid_exact_evm_payload_authorization_value_mismatch",
	"permit2: tampered: honestly less": "permit2_amount_mismatch",
	// M4 bounds the deadline; the stock facilitator does not.
	"permit2: valid for a day":          "",
	"permit2: tampered: valid for ever": "",
	// One spelling of everything, as for EIP-3009.
	"permit2: tampered: amount with leading zero":            "",
	"permit2: tampered: amount a number":                     "",
	"permit2: tampered: unknown member":                      "",
	"permit2: tampered: unknown member of the witness":       "",
	"permit2: tampered: unknown member of what is permitted": "",
	"permit2: tampered: both ways":                           "",
	"permit2: tampered: nonce in hex":                        "invalid_permit2_signature",
	"permit2: tampered: nonce beyond 256 bits":               "invalid_permit2_signature",
	"permit2: tampered: nonce missing":                       "throws",
	"permit2: tampered: witness missing":                     "throws",
	"permit2: tampered: permitted null":                      "throws",
	"permit2: tampered: signature missing":                   "throws",
	"undeployed: a bit above the factory's address":          "",
	"undeployed: wrapped twice":                              "invalid_exact_evm_transaction_simulation_failed",
	// Who has another's wallet deployed pays for it elsewhere: the wallet that pays has to be there
	// after the factory's call.
	"tampered: undeployed wallet":                     "",
	"undeployed: an ordinary account's, in a wrapper": "",
}

// alike are the questions of differences that read over HTTP as the stock facilitator reads them:
// neither takes a body that is no JSON text.
var alike = []string{"tampered: bad UTF-8"}

// The stock facilitator and ours, asked the same over HTTP, say the same, but for what the table
// names.
func TestVerifyIsTheStockFacilitators(t *testing.T) {
	b := openBoth(t)
	qs := append(questions(b.harness, b.rail.Requirement(500_000)), b.permitQuestions()...)
	qs = append(qs, b.walletQuestions()...)
	left := maps.Clone(compared)
	maps.Copy(left, differences)
	for _, name := range alike {
		delete(left, name)
	}
	for _, q := range qs {
		ours, theirs := ask(t, b.ours, "/verify", q), ask(t, b.stock, "/verify", q)
		stock, differs := left[q.name]
		delete(left, q.name)
		if differs && theirs.word() != stock {
			t.Errorf("%s: the stock facilitator says %q (%.300s), noted is %q", q.name, theirs.word(), theirs.Body,
				stock)
		}
		if differs == (ours.word() == theirs.word()) {
			t.Errorf("%s: %q here, %q there; noted as different: %v (%.300s)", q.name, ours.word(), theirs.word(),
				differs, ours.Body)
		}
		if ours.word() == theirs.word() && !strings.EqualFold(ours.Payer, theirs.Payer) {
			t.Errorf("%s: payer %q here, %q there", q.name, ours.Payer, theirs.Payer)
		}
	}
	for name := range left {
		t.Errorf("%s is noted and was not asked", name)
	}
	t.Logf("%d questions, %d answered otherwise on purpose", len(qs), len(compared)+len(differences)-len(alike))
	if len(qs) < 60 {
		t.Errorf("%d questions, want 60 or more", len(qs))
	}
}

// What both settle, they settle alike; what either refuses moves nothing.
func TestSettleIsTheStockFacilitators(t *testing.T) {
	b := openBoth(t)
	h := b.harness
	const amount = 500_000
	plain := func(who railtest.Payer) func() []byte {
		return func() []byte { x := terms(amount); x.Payer = who; return h.Sign(x) }
	}
	permit := func(who railtest.Payer) func() []byte {
		return func() []byte { x := terms(amount); x.Payer = who; return b.permits.Sign(x) }
	}
	const failed = "invalid_exact_evm_transaction_failed"
	salt := byte(10)
	spent := func(sign func() []byte, submit func(...[]byte)) func() []byte {
		return func() []byte { p := sign(); submit(p); h.Seal(); return p }
	}
	for _, c := range []struct {
		name    string
		payment func() []byte // a fresh one each time
		stock   string        // where it is another word than ours
		ours    string
	}{
		{"plain", plain(railtest.Plain), "", ""},
		{"contract wallet", plain(railtest.Contract), "", ""},
		{"delegated", plain(railtest.Delegated), "", ""},
		{"poor", plain(railtest.Poor), "", ""},
		{"refusing", plain(railtest.Refusing), "", ""},
		{"used", spent(plain(railtest.Plain), h.Submit), "", ""},
		{"cancelled", spent(plain(railtest.Plain), func(p ...[]byte) { h.Cancel(p[0]) }), "", ""},
		{"permit2", permit(railtest.Plain), "", ""},
		{"permit2, contract wallet", permit(railtest.Contract), "", ""},
		{"permit2, delegated", permit(railtest.Delegated), "", ""},
		// What is verified without a simulation fails at the broadcast there, with a text for a
		// reason; ours says what /verify says.
		{"permit2, poor", permit(railtest.Poor), failed, "permit2_insufficient_balance"},
		{"permit2, used", spent(permit(railtest.Plain), b.permits.Submit), failed, "permit2_simulation_failed"},
		{"permit2, cancelled", spent(permit(railtest.Plain), func(p ...[]byte) { b.permits.Cancel(p[0]) }), failed,
			"permit2_simulation_failed"},
		{"undeployed", func() []byte { salt++; return payload(b.pays(b.house(salt, amount), amount)) }, "", ""},
		{"undeployed, poor", func() []byte { salt++; return payload(b.pays(b.house(salt, 0), amount)) }, "", ""},
	} {
		pay := func(url string) (said, int64) {
			w := h.rail.Requirement(amount)
			data := c.payment()
			before := h.Balance()
			a := ask(t, url, "/settle", question{c.name, data, w, w})
			return a, h.Balance() - before
		}
		theirs, gave := pay(b.stock)
		ours, got := pay(b.ours)
		if c.stock == "" && c.ours == "" {
			c.stock, c.ours = theirs.word(), theirs.word()
		}
		if ours.word() != c.ours || theirs.word() != c.stock {
			t.Errorf("%s: %q here, %q there (%.300s; %.300s)", c.name, ours.word(), theirs.word(), ours.Body,
				theirs.Body)
		}
		// Undeployed wallets are other ones each time.
		payers := strings.HasPrefix(c.name, "undeployed") || strings.EqualFold(ours.Payer, theirs.Payer)
		if c.ours == c.stock && (got != gave || !payers || ours.Network != theirs.Network ||
			(ours.Tx == "") != (theirs.Tx == "")) {
			t.Errorf("%s: %d moved here, %d there (%.300s; %.300s)", c.name, got, gave, ours.Body, theirs.Body)
		}
		if want := map[bool]int64{true: amount}[ours.Success]; got != want {
			t.Errorf("%s: success %v and %d moved", c.name, ours.Success, got)
		}
	}
}

// Both support the same kinds; ours names its own accounts.
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
	one := func(k, l facilitator.Kind) bool {
		return k.Version == l.Version && k.Scheme == l.Scheme && k.Network == l.Network &&
			len(k.Extra)+len(l.Extra) == 0
	}
	if !slices.EqualFunc(ours.Kinds, theirs.Kinds, one) || len(ours.Kinds) != 1 ||
		!slices.Equal(ours.Extensions, theirs.Extensions) ||
		!slices.Equal(ours.Signers["eip155:*"], []string{b.Relayer.Address.Hex()}) ||
		!slices.Equal(theirs.Signers["eip155:*"], []string{b.Minter.Address.Hex()}) {
		t.Errorf("ours: %+v; the stock one's: %+v", ours, theirs)
	}
}
