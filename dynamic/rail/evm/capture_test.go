package evm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/cmd/devnet/chain"
	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/npmtest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// holdsOn is a rail that holds payments, of 250,000 by these terms.
type holdsOn struct {
	*channelsOn
	until rail.Deadlines
}

const held = 250_000

func openHolds(t testing.TB, change func(*evm.Config)) *holdsOn {
	h := &holdsOn{channelsOn: &channelsOn{harness: openOn(t, 8453), seq: railtest.NewSequence()}}
	if change != nil {
		change(&h.cfg)
	}
	h.cfg.Factories = append(h.cfg.Factories, chain.Factory.Hex())
	h.rail = newRail(t, h.cfg)
	if err := h.rail.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.restart(time.Hour)
	return h
}

// restart makes terms by which a hold is over after d.
func (h *holdsOn) restart(d time.Duration) {
	now := time.Unix(int64(h.HeadTime()), 0)
	h.until = rail.Deadlines{Capture: now.Add(d), Refund: now.Add(d + time.Hour)}
	h.want = h.rail.HoldRequirement(held, h.until)
}

// info is what a payer agrees to by the terms.
func (h *holdsOn) info(payer common.Address, salt byte) token.PaymentInfo {
	return token.PaymentInfo{Operator: h.Relayer.Address, Payer: payer, Receiver: h.PayTo, Token: h.Asset,
		MaxAmount: big.NewInt(held), PreApproval: h.HeadTime() + 250, Capture: uint64(h.until.Capture.Unix()),
		Refund: uint64(h.until.Refund.Unix()), Salt: big.NewInt(int64(salt) + 1)}
}

// holdPayload is the scheme's wire form, signed by k.
func (h *holdsOn) holdPayload(p token.PaymentInfo, k chaintest.Key) map[string]any {
	a := token.Authorization{From: p.Payer, To: token.CapturePayAddress, Value: p.MaxAmount, ValidBefore: p.PreApproval,
		Nonce: p.Nonce(h.Node.ChainID)}
	sig := h.SignDigest(k, a.Digest(token.ReceiveKind, h.DomainSeparator()))
	return map[string]any{"authorization": map[string]any{"from": p.Payer.Hex(), "to": a.To.Hex(),
		"value": p.MaxAmount.String(), "validAfter": "0", "validBefore": strconv.FormatUint(p.PreApproval, 10),
		"nonce": a.Nonce.Hex()}, "signature": hexutil.Encode(sig), "salt": common.BigToHash(p.Salt).Hex()}
}

// permitHold is holdPayload by Permit2.
func (h *holdsOn) permitHold(p token.PaymentInfo, k chaintest.Key) map[string]any {
	return map[string]any{"permit2Authorization": map[string]any{"from": p.Payer.Hex(), "permitted": map[string]any{
		"token": p.Token.Hex(), "amount": p.MaxAmount.String()}, "spender": token.CapturePermit2Address.Hex(),
		"nonce": p.Nonce(h.Node.ChainID).Big().String(), "deadline": strconv.FormatUint(p.PreApproval, 10)},
		"signature": hexutil.Encode(h.SignDigest(k, p.PermitDigest(h.Node.ChainID))),
		"salt":      common.BigToHash(p.Salt).Hex()}
}

// verify reads and checks a payload.
func (h *holdsOn) verify(w any) (*rail.Authorization, error) {
	h.t.Helper()
	b, err := json.Marshal(w)
	if err != nil {
		h.t.Fatal(err)
	}
	a, err := h.rail.ParseAuthorization(b, h.want)
	if err != nil {
		return nil, err
	}
	_, err = h.rail.VerifyAuthorization(h.t.Context(), a, h.want, time.Now())
	return a, err
}

// hold has a payment held.
func (h *holdsOn) hold(w any) rail.Hold {
	h.t.Helper()
	a, err := h.verify(w)
	if err != nil {
		h.t.Fatal(err)
	}
	h.must(a.Payment, nil)
	if s := h.state(a.Hold); !s.Collected || s.Capturable != held || s.Refundable != 0 {
		h.t.Fatalf("what was authorized is %+v", s)
	}
	return a.Hold
}

func (h *holdsOn) state(of rail.Hold) rail.HoldState {
	h.t.Helper()
	s, err := h.rail.ReadHold(h.t.Context(), of.Hash, false)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// ended is what a look without anything signed says of a hold.
func (h *holdsOn) ended(of rail.Hold) rail.Finding {
	h.t.Helper()
	f, err := h.rail.Status(h.t.Context(), h.rail.Capture(of), nil, rail.Verified{}, time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	return f
}

// The stock client signs our terms as they stand, by either method, and what it signed is held.
func TestStockHolds(t *testing.T) {
	for name, change := range map[string]func(*evm.Config){
		"eip3009": nil, "permit2": func(c *evm.Config) { c.Transfer = "permit2" }} {
		t.Run(name, func(t *testing.T) {
			h := openHolds(t, change)
			h.Send(h.Buyers[0], h.Asset, token.ApproveCall(token.Permit2Address, big.NewInt(1e12)))
			h.seal()
			in, err := json.Marshal(map[string]any{"requirements": h.want,
				"key": hexutil.Encode(crypto.FromECDSA(h.Buyers[0].Private))})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), npmtest.Node(t), "testdata/stock/hold.cjs")
			cmd.Env = append(os.Environ(), "NODE_PATH="+npmtest.Packages(t))
			cmd.Stdin, cmd.Stderr = bytes.NewReader(append(in, '\n')), t.Output()
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			of := h.hold(json.RawMessage(out))
			h.must(h.rail.Capture(of), nil)
			if h.Node.Balance(h.PayTo) != held || h.state(of).Capturable != 0 || h.state(of).Refundable != held {
				t.Errorf("after the capture payTo has %d, and the hold is %+v", h.Node.Balance(h.PayTo), h.state(of))
			}
		})
	}
}

// A hold ends once: captured, voided, or by its payer when it is over; and whatever ended it is
// seen by its event, whoever looks.
func TestHoldEndsOnce(t *testing.T) {
	h := openHolds(t, nil)
	k := h.Buyers[0]
	before := h.Node.Balance(k.Address)
	first := h.hold(h.holdPayload(h.info(k.Address, 1), k))
	if f := h.ended(first); f.State != rail.Waiting {
		t.Errorf("what nothing became of is %s %s", f.State, f.Reason)
	}
	capture := h.rail.Capture(first)
	h.must(capture, nil)
	if f := h.ended(first); f.State != rail.Paid || f.Proof == nil {
		t.Errorf("what was captured is %s %s", f.State, f.Reason)
	} else if logs := h.Receipt(common.HexToHash(f.Proof.Tx)).Logs; !slices.ContainsFunc(logs, func(l *types.Log) bool {
		return uint64(l.Index) == f.Proof.LogIndex && l.Address == h.Asset &&
			l.Topics[2] == common.BytesToHash(h.PayTo[:])
	}) {
		t.Errorf("the proof is not the transfer to payTo: %+v", f.Proof)
	}
	for _, p := range []*rail.Payment{capture, h.rail.Void(first)} {
		if _, err := h.settle(p); err == nil {
			t.Errorf("%s went through after the capture", p.Method)
		}
	}

	second := h.hold(h.holdPayload(h.info(k.Address, 2), k))
	h.must(h.rail.Void(second), nil)
	if f := h.ended(second); f.State != rail.Dead || f.Reason != rail.EndVoided {
		t.Errorf("what was voided is %s %s", f.State, f.Reason)
	}
	if _, err := h.settle(h.rail.Capture(second)); !errors.Is(err, rail.ErrUsed) && refused(err) == "" {
		t.Errorf("what was voided was captured: %v", err)
	}
	if has := h.Node.Balance(k.Address); has != before-held {
		t.Errorf("the payer has %d, want %d", has, before-held)
	}

	of := h.hold(h.holdPayload(h.info(k.Address, 3), k))
	h.Pass(time.Hour - rail.LastCapture)
	h.MustSealTxs()
	if _, err := h.settle(h.rail.Capture(of)); refused(err) != "capture_deadline_expired" {
		t.Errorf("captured in the last minutes: %v", err)
	}
	h.Pass(rail.LastCapture)
	h.MustSealTxs()
	if f := h.ended(of); f.State != rail.Dead || f.Reason != "expired" {
		t.Errorf("what is over is %s %s", f.State, f.Reason)
	}
	if _, err := h.settle(h.rail.Capture(of)); refused(err) != "capture_deadline_expired" {
		t.Errorf("captured too late: %v", err)
	}
	to, call := h.rail.Reclaim(of)
	h.Send(k, common.HexToAddress(to), call)
	h.seal()
	if f := h.ended(of); f.State != rail.Dead || f.Reason != rail.EndReclaimed {
		t.Errorf("what was reclaimed is %s %s", f.State, f.Reason)
	}
	if f, err := h.rail.Status(t.Context(), h.rail.Void(of), nil, rail.Verified{}, time.Now()); err != nil ||
		f.Reason != rail.EndReclaimed {
		t.Errorf("a void of what was reclaimed is %+v, %v", f, err)
	}
}

// refused is the reason of a refusal, without what stands before it.
func refused(err error) string {
	if ref, ok := errors.AsType[*rail.Refusal](err); ok {
		return strings.TrimPrefix(ref.Reason, "invalid_auth_capture_evm_")
	}
	return ""
}

// Each payload is refused for its own reason, in the words of the scheme.
func TestHoldRefusals(t *testing.T) {
	h := openHolds(t, nil)
	k := h.Buyers[0]
	good := h.info(k.Address, 9)
	with := func(change func(*token.PaymentInfo)) map[string]any {
		p := good
		change(&p)
		return h.holdPayload(p, k)
	}
	// in changes a member of a good payload.
	in := func(path string, value any) map[string]any {
		w := maps.Clone(h.holdPayload(good, k))
		at := w
		parts := strings.Split(path, ".")
		for _, name := range parts[:len(parts)-1] {
			at = at[name].(map[string]any)
		}
		if at[parts[len(parts)-1]] = value; value == nil {
			delete(at, parts[len(parts)-1])
		}
		return w
	}
	const auth = "authorization."
	other := h.Buyers[1]
	turned := common.FromHex(h.holdPayload(good, k)["signature"].(string))
	new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(turned[32:64])).FillBytes(turned[32:64])
	turned[64] = 27 + 28 - turned[64]
	longer := h.info(h.Wallet.Address, 9)
	wrapped := token.Wrap6492(h.Minter.Address, nil, make([]byte, 65))
	for _, tt := range []struct {
		name, want string
		payload    map[string]any
	}{
		{"good", "", in("more", 1)},
		{"no authorization", "payload_format", in("authorization", nil)},
		{"both methods", "payload_format", in("permit2Authorization", map[string]any{})},
		{"the other method", "payload_method_mismatch", h.permitHold(good, k)},
		{"a call of a seller's", "lifecycle_not_relayed", in("type", "capture")},
		{"a member more", "payload_format", in(auth+"more", 1)},
		{"no salt", "payload_format", in("salt", nil)},
		{"a short salt", "payload_format", in("salt", "0x01")},
		{"a salt of other terms", "payload_format", in("saltNonce", common.Hash{1}.Hex())},
		{"another salt", "nonce_mismatch", in("salt", common.Hash{1}.Hex())},
		{"no signature", "payload_format", in("signature", nil)},
		{"a long signature", "payload_format", in("signature", "0x"+strings.Repeat("00", 5000))},
		{"a wrapper of nothing", "payload_format", in("signature", "0x"+strings.Repeat("6492", 16))},
		{"another collector", "token_collector_mismatch", in(auth+"to", h.PayTo.Hex())},
		{"another payer", "signature", in(auth+"from", other.Address.Hex())},
		{"signed by another", "signature", h.holdPayload(good, other)},
		{"another nonce", "signature", in(auth+"nonce", common.Hash{1}.Hex())},
		{"a number as such", "payload_format", in(auth+"value", held)},
		{"a malleable signature", "signature", in("signature", hexutil.Encode(turned))},
		{"expired", "authorization_expired", with(func(p *token.PaymentInfo) { p.PreApproval = h.HeadTime() })},
		{"for long", "authorization_expired", with(func(p *token.PaymentInfo) { p.PreApproval += 3000 })},
		{"longer than the hold", "deadline_ordering",
			with(func(p *token.PaymentInfo) { p.PreApproval = p.Capture + 1 })},
		{"not yet", "authorization_not_yet_valid", in(auth+"validAfter", "9999999999")},
		{"valid since", "payload_format", in(auth+"validAfter", "1")},
		{"less", "amount_mismatch", with(func(p *token.PaymentInfo) { p.MaxAmount = big.NewInt(held - 1) })},
		{"another operator", "nonce_mismatch", with(func(p *token.PaymentInfo) { p.Operator = k.Address })},
		{"another receiver", "nonce_mismatch", with(func(p *token.PaymentInfo) { p.Receiver = k.Address })},
		{"another token", "nonce_mismatch", with(func(p *token.PaymentInfo) { p.Token = k.Address })},
		{"a deadline earlier", "nonce_mismatch", with(func(p *token.PaymentInfo) { p.Capture-- })},
		{"another refund", "nonce_mismatch", with(func(p *token.PaymentInfo) { p.Refund++ })},
		{"a fee at least", "nonce_mismatch", with(func(p *token.PaymentInfo) { p.MinFeeBps = 1 })},
		{"a fee at most", "nonce_mismatch", with(func(p *token.PaymentInfo) { p.MaxFeeBps = 1 })},
		{"who takes it", "nonce_mismatch", with(func(p *token.PaymentInfo) { p.FeeReceiver = k.Address })},
		{"no money", "insufficient_balance", h.holdPayload(h.info(h.Poor.Address, 9), h.Poor)},
		{"a wallet's, by another", "signature", h.holdPayload(longer, k)},
		{"a strange factory", "erc6492_factory_not_allowed", func() map[string]any {
			p := h.info(common.Address{0xee}, 9)
			w := h.holdPayload(p, k)
			w["signature"] = hexutil.Encode(wrapped)
			return w
		}()},
	} {
		if _, err := h.verify(tt.payload); refused(err) != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}

	want := h.want
	h.want = h.rail.Requirement(held)
	if _, err := h.verify(in("more", 1)); refused(err) != "scheme" {
		t.Errorf("terms of another scheme: %v", err)
	}
	h.want = want
	h.want.Extra = maps.Clone(want.Extra)
	h.want.Extra["captureAuthorizer"] = k.Address.Hex()
	if _, err := h.verify(in("more", 1)); refused(err) != "operator_not_admitted" {
		t.Errorf("terms of another operator: %v", err)
	}
	h.want = want
	h.hold(in("more", 1))
	if _, err := h.verify(in("more", 1)); refused(err) != "payment_already_collected" || !errors.Is(err, rail.ErrUsed) {
		t.Errorf("the same again: %v", err)
	}
	h.restart(10 * time.Second)
	if _, err := h.verify(h.holdPayload(h.info(k.Address, 1), k)); refused(err) != "deadline_ordering" {
		t.Errorf("terms that are over: %v", err)
	}
}

// A wallet that is a contract pays into a hold, and one that the payment deploys, where its factory
// may be called.
func TestWalletsHold(t *testing.T) {
	h := openHolds(t, nil)
	h.hold(h.holdPayload(h.info(h.Wallet.Address, 1), h.Wallet.Owner))

	owner := h.Buyers[1]
	home := h.CounterfactualWallet(owner.Address, common.Hash{7})
	h.Send(h.Buyers[0], h.Asset, token.PayCall(home, big.NewInt(2*held)))
	h.seal()
	unbuilt := func(k chaintest.Key) map[string]any {
		w := h.holdPayload(h.info(home, 2), k)
		w["signature"] = hexutil.Encode(token.Wrap6492(chain.Factory, token.DeployCall(owner.Address, common.Hash{7}),
			common.FromHex(w["signature"].(string))))
		return w
	}
	if _, err := h.verify(unbuilt(h.Buyers[0])); refused(err) == "" {
		t.Errorf("a stranger's signature for a wallet that is not deployed: %v", err)
	}
	of := h.hold(unbuilt(owner))
	h.must(h.rail.Void(of), nil)
	if has := h.Node.Balance(home); has != 2*held {
		t.Errorf("the wallet has %d after the void", has)
	}
}

// A node that tells of money in a hold, or of a hold's end, is believed only as far as a second one
// tells of it.
func TestHoldsNeedTwoNodes(t *testing.T) {
	h := openHolds(t, nil)
	k := h.Buyers[0]
	of := h.hold(h.holdPayload(h.info(k.Address, 1), k))
	h.must(h.rail.Void(of), nil)
	other := chaintest.New(t, chaintest.Options{Networks: []uint64{8453}, Manual: true})
	for range 3 {
		other.MustSealTxs()
	}
	cfg := h.cfg
	cfg.RPC, cfg.GenesisHash = []string{h.URL, other.URL}, ""
	two := newRail(t, cfg)
	if f, err := two.Status(t.Context(), two.Capture(of), nil, rail.Verified{}, time.Now()); err != nil ||
		f.State != rail.Waiting {
		t.Errorf("an end of which one of two nodes tells: %s %s, %v", f.State, f.Reason, err)
	}
	again := h.hold(h.holdPayload(h.info(k.Address, 2), k))
	for range 4 {
		other.MustSealTxs()
	}
	if s, err := two.ReadHold(t.Context(), again.Hash, false); err != nil || s.Collected || s.Capturable != 0 {
		t.Errorf("a hold of which one of two nodes tells: %+v, %v", s, err)
	}
	cfg.RPC[1] = "http://127.0.0.1:1/v2/secret"
	if s, err := newRail(t, cfg).ReadHold(t.Context(), again.Hash, false); err == nil {
		t.Errorf("beside a silent node the hold is %+v", s)
	}
}

// Only the operator of a hold sends for it, and a store that has another key by now says so.
func TestHoldHasOneOperator(t *testing.T) {
	h := openHolds(t, nil)
	of := h.hold(h.holdPayload(h.info(h.Buyers[0].Address, 1), h.Buyers[0]))
	cfg := h.cfg
	cfg.Relayers = append(cfg.Relayers, cfg.Relayer)
	cfg.Relayer = h.Buyers[2].Private
	h.rail = newRail(t, cfg)
	h.must(h.rail.Void(of), nil)
	cfg.Relayers = nil
	if _, err := newRail(t, cfg).Draft(t.Context(), []*rail.Payment{h.rail.Void(of)}); err == nil ||
		refused(err) != "" {
		t.Errorf("without the operator's key: %v", err)
	}
}

// Captures that a seller orders are told apart by what they expect to find, and one that another
// transaction made is not taken for ours, be it of the same amount.
func TestOrderedCapturesAreToldApart(t *testing.T) {
	h := openHolds(t, nil)
	of := h.hold(h.holdPayload(h.info(h.Buyers[0].Address, 1), h.Buyers[0]))
	order := func(amount, capturable, refundable int64) *rail.Payment {
		p := h.rail.Capture(of)
		p.Amount, p.Nonce = big.NewInt(amount), fmt.Sprintf("%s/%d/%d", of.Hash, capturable, refundable)
		big.NewInt(amount).FillBytes(p.Wire[4+12*32 : 4+13*32])
		return p
	}
	looked := func(p *rail.Payment) string {
		f, err := h.rail.Status(t.Context(), p, nil, rail.Verified{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(f.State, f.Reason)
	}
	waits, gone := fmt.Sprint(rail.Waiting), fmt.Sprint(rail.Dead, rail.EndCaptured)
	h.must(order(100_000, held, 0), nil)
	if a, b := looked(order(100_000, held, 0)), looked(order(100_000, held-100_000, 100_000)); a != gone || b != waits {
		t.Errorf("after one capture another of its state is %s, and the next %s", a, b)
	}
	h.must(order(100_000, held-100_000, 100_000), nil)
	h.must(order(held-200_000, held-200_000, 200_000), nil)
	if s := h.state(of); s.Capturable != 0 || s.Refundable != held || h.Node.Balance(h.PayTo) != held {
		t.Errorf("the hold is %+v", s)
	}
}
