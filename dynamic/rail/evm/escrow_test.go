package evm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
)

// channelsOn is a rail that takes vouchers.
type channelsOn struct {
	*harness
	key  chaintest.Key // of the authorizer
	seq  rail.Sequencer
	want rail.Requirement // for a purchase of 1,000
}

func openChannels(t testing.TB, change func(*evm.Config)) *channelsOn {
	h := &channelsOn{harness: openOn(t, 8453), key: chaintest.NewKey(t), seq: railtest.NewSequence()}
	h.cfg.Authorizer = h.key.Private
	if change != nil {
		change(&h.cfg)
	}
	h.rail = newRail(t, h.cfg)
	if err := h.rail.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.want = h.rail.VoucherRequirement(1000, 0)
	return h
}

// channel is a channel of a buyer by the terms.
func (h *channelsOn) channel(k chaintest.Key, salt byte) token.Channel {
	return token.Channel{Payer: k.Address, PayerAuthorizer: k.Address, Receiver: h.PayTo,
		ReceiverAuthorizer: h.key.Address, Token: h.Asset, Delay: 1_209_600, Salt: common.Hash{31: salt}}
}

func (h *channelsOn) escrow() token.Escrow { return token.Escrow{ChainID: h.Node.ChainID} }

// voucherPayload is the scheme's wire form, with a voucher that k signs.
func (h *channelsOn) voucherPayload(c token.Channel, k chaintest.Key, max int64) map[string]any {
	id := h.escrow().ID(c)
	sig := h.SignDigest(k, h.escrow().Voucher(id, big.NewInt(max)))
	return map[string]any{"type": "voucher", "channelConfig": map[string]any{
		"payer": c.Payer.Hex(), "payerAuthorizer": c.PayerAuthorizer.Hex(), "receiver": c.Receiver.Hex(),
		"receiverAuthorizer": c.ReceiverAuthorizer.Hex(), "token": c.Token.Hex(), "withdrawDelay": c.Delay,
		"salt": c.Salt.Hex()}, "voucher": map[string]any{"channelId": id.Hex(),
		"maxClaimableAmount": strconv.FormatInt(max, 10), "signature": hexutil.Encode(sig)}}
}

// depositPayload is voucherPayload with a deposit.
func (h *channelsOn) depositPayload(c token.Channel, k chaintest.Key, max, deposit int64) map[string]any {
	w := h.voucherPayload(c, k, max)
	id, salt := h.escrow().ID(c), common.Hash{0: 1, 31: c.Salt[31]}
	a := h.Authorize(c.Payer, token.DepositAddress, deposit)
	a.Nonce = token.DepositNonce(id, salt)
	sig := h.SignDigest(k, a.Digest(token.ReceiveKind, h.DomainSeparator()))
	w["type"], w["deposit"] = "deposit", map[string]any{"amount": strconv.FormatInt(deposit, 10),
		"authorization": map[string]any{"erc3009Authorization": map[string]any{"validAfter": "0",
			"validBefore": strconv.FormatUint(a.ValidBefore, 10), "salt": salt.Hex(),
			"signature": hexutil.Encode(sig)}}}
	return w
}

func (h *channelsOn) permitPayload(c token.Channel, k chaintest.Key, max, deposit int64) map[string]any {
	w := h.depositPayload(c, k, max, deposit)
	deadline, nonce := h.HeadTime()+200, big.NewInt(77)
	sig := h.SignDigest(k, h.escrow().DepositPermitDigest(c, big.NewInt(deposit), nonce, deadline))
	w["deposit"].(map[string]any)["authorization"] = map[string]any{"permit2Authorization": map[string]any{
		"from": c.Payer.Hex(), "permitted": map[string]any{"token": c.Token.Hex(),
			"amount": strconv.FormatInt(deposit, 10)}, "spender": token.DepositPermit2Address.Hex(),
		"nonce":    nonce.String(),
		"deadline": strconv.FormatUint(deadline, 10), "witness": map[string]any{"channelId": h.escrow().ID(c).Hex()},
		"signature": hexutil.Encode(sig)}}
	return w
}

func (h *channelsOn) parse(w map[string]any) (*rail.ChannelPayment, error) {
	b, err := json.Marshal(w)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.rail.ParseChannel(b, h.want)
}

// settle has a payment of ours land, and says what became of it.
func (h *channelsOn) settle(p *rail.Payment) (rail.Finding, error) {
	h.t.Helper()
	ctx := h.t.Context()
	head, err := h.rail.Head(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	d, err := h.rail.Draft(ctx, []*rail.Payment{p})
	if err != nil {
		return rail.Finding{}, err
	}
	s, err := d.Sign(h.seq)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.rail.Send(ctx, s); err != nil {
		h.t.Fatal(err)
	}
	h.seal()
	return h.rail.Status(ctx, p, []rail.Signed{s}, rail.Verified{Head: head}, time.Now())
}

func (h *channelsOn) must(p *rail.Payment, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	if f, err := h.settle(p); err != nil || f.State != rail.Paid {
		h.t.Fatalf("%s: %s %s, %v", p.Method, f.State, f.Reason, err)
	}
}

func (h *channelsOn) states(ids ...string) []rail.ChannelState {
	h.t.Helper()
	out, err := h.rail.ReadChannels(h.t.Context(), ids, false)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// What the stock client and seller of x402 2.27 signed is read and signed here to the byte.
func TestStockVouchers(t *testing.T) {
	var v struct {
		Keys         map[string]string
		Addresses    map[string]string
		Deposit      map[string]any
		ERC3009Nonce string
		Refund       struct{ Payload map[string]any }
	}
	b, err := os.ReadFile("testdata/batch.json")
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	h := openChannels(t, func(c *evm.Config) {
		key, err := crypto.HexToECDSA(strings.TrimPrefix(v.Keys["receiverAuthorizer"], "0x"))
		if err != nil {
			t.Fatal(err)
		}
		c.Authorizer, c.PayTo, c.Delay = key, v.Addresses["receiver"], 900*time.Second
	})
	p, err := h.parse(v.Deposit)
	if err != nil {
		t.Fatal(err)
	}
	if p.Deposit.Nonce != v.ERC3009Nonce || p.Deposit.Amount.Int64() != 5000 || p.Voucher.Max != 1000 {
		t.Errorf("the deposit was read as %+v", p)
	}
	if _, err := h.rail.VerifyVoucher(t.Context(), p, h.want, time.Now()); err != nil {
		t.Errorf("the voucher: %v", err)
	}
	refund, err := h.parse(v.Refund.Payload)
	if err != nil || refund.Refund != 500 || refund.Form != rail.FormRefund {
		t.Fatalf("the refund was read as %+v, %v", refund, err)
	}
	row := rail.VoucherClaim{Channel: refund.Channel, Voucher: refund.Voucher, Total: 10300}
	call, err := h.rail.Refund(row, 500, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"refundAuthorizerSignature", "claimAuthorizerSignature"} {
		if sig := common.FromHex(v.Refund.Payload[name].(string)); !bytes.Contains(call.Wire, sig) {
			t.Errorf("the refund has not the stock seller's %s", name)
		}
	}
}

// A channel lives: it is funded, claimed with another, swept, refunded, funded again by Permit2,
// and its payer withdraws.
func TestChannel(t *testing.T) {
	h := openChannels(t, nil)
	ctx := t.Context()
	var ids []string
	var rows []rail.VoucherClaim
	for i := range 2 {
		k := h.Buyers[i]
		p, err := h.parse(h.depositPayload(h.channel(k, 0), k, 1000, 2_000_000))
		if err != nil {
			t.Fatal(err)
		}
		_, state, err := h.rail.VerifyDeposit(ctx, p, h.want, time.Now())
		if err != nil || state.Balance != 0 || state.ID != p.Channel.ID {
			t.Fatalf("verifying a deposit: %+v, %v", state, err)
		}
		h.must(p.Deposit, nil)
		if _, _, err := h.rail.VerifyDeposit(ctx, p, h.want, time.Now()); !errors.Is(err, rail.ErrUsed) {
			t.Errorf("the same deposit again: %v", err)
		}
		ids = append(ids, p.Channel.ID)
		rows = append(rows, rail.VoucherClaim{Channel: p.Channel, Voucher: p.Voucher, Total: 1000})
	}
	if s := h.states(ids...); s[0].Balance != 2_000_000 || s[1].ID != ids[1] || s[1].Balance != 2_000_000 {
		t.Fatalf("the channels are %+v", s)
	}
	above := rows[1]
	above.Total++
	failing, err := h.rail.Simulate(ctx, []rail.VoucherClaim{rows[0], above})
	if err != nil || failing[0] != nil || failing[1] == nil {
		t.Errorf("claims that go through and do not: %v, %v", failing, err)
	}
	h.must(h.rail.Claims(rows, 2000))
	if all, moved, err := h.rail.Claimed(ctx); err != nil || all-moved != 2000 {
		t.Errorf("%d are claimed and %d moved, %v", all, moved, err)
	}
	h.must(h.rail.Sweep("1", 2000), nil)
	if all, moved, err := h.rail.Claimed(ctx); err != nil || all != moved || h.Node.Balance(h.PayTo) != 2000 {
		t.Errorf("%d are claimed, %d moved and %d were paid, %v", all, moved, h.Node.Balance(h.PayTo), err)
	}
	p, err := h.parse(h.voucherPayload(h.channel(h.Buyers[0], 0), h.Buyers[0], 3000))
	if err != nil {
		t.Fatal(err)
	}
	row := rail.VoucherClaim{Channel: p.Channel, Voucher: p.Voucher, Total: 3000}
	h.must(h.rail.Refund(row, 500_000, 0))
	s := h.states(ids[0])[0]
	if s.Balance != 1_500_000 || s.Claimed != 3000 || s.RefundNonce != 1 {
		t.Errorf("after a refund the channel is %+v", s)
	}
	again, err := h.rail.Refund(row, 500_000, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.settle(again); err == nil {
		t.Error("the same refund went through twice")
	}

	c := h.channel(h.Buyers[0], 0)
	h.Send(h.Buyers[0], token.EscrowAddress, token.WithdrawCall(c, big.NewInt(400_000)))
	h.seal()
	seen := map[rail.EventKind][]rail.ChannelEvent{}
	for piece, err := range h.rail.ChannelEvents(ctx, rail.Span{}, rail.ChannelFunded, rail.ChannelClaimed,
		rail.ChannelWithdrawn) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range piece.Events {
			seen[e.Kind] = append(seen[e.Kind], e)
		}
	}
	funded, claimed, withdrawn := seen[rail.ChannelFunded], seen[rail.ChannelClaimed], seen[rail.ChannelWithdrawn]
	if s := h.states(ids[0])[0]; len(withdrawn) != 1 || withdrawn[0].ID != ids[0] || s.Withdrawing != 400_000 ||
		s.Asked.IsZero() {
		t.Errorf("%+v began to withdraw: %+v", withdrawn, s)
	}
	if len(funded) != 2 || funded[0].Channel != rows[0].Channel || funded[1].Channel != rows[1].Channel {
		t.Errorf("funded were %+v, want %+v", funded, rows)
	}
	if len(claimed) != 3 || claimed[2].ID != ids[0] || claimed[2].Total != 3000 || claimed[2].Tx == "" {
		t.Errorf("claimed were %+v", claimed)
	}
	h.Send(h.Buyers[0], h.Asset, token.ApproveCall(token.Permit2Address, big.NewInt(1e12)))
	h.seal()
	p, err = h.parse(h.permitPayload(c, h.Buyers[0], 4000, 1_000_000))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.rail.VerifyDeposit(ctx, p, h.want, time.Now()); err != nil {
		t.Fatalf("a deposit by Permit2: %v", err)
	}
	h.must(p.Deposit, nil)
	if s := h.states(ids[0])[0]; s.Balance != 2_500_000 {
		t.Errorf("after a deposit by Permit2 the channel is %+v", s)
	}
}

// Deposits of several payers land in one transaction, and one that cannot any more is named. None
// shares it with a payment.
func TestDepositsTogether(t *testing.T) {
	h := openChannels(t, nil)
	var ps []*rail.Payment
	var ids []string
	for i := range 3 {
		c, err := h.parse(h.depositPayload(h.channel(h.Buyers[i], 0), h.Buyers[i], 1000, 2_000_000))
		if err != nil {
			t.Fatal(err)
		}
		ps, ids = append(ps, c.Deposit), append(ids, c.Channel.ID)
	}
	apart := func(what string, which int, list ...*rail.Payment) {
		t.Helper()
		_, err := h.rail.Draft(t.Context(), list)
		if a, ok := errors.AsType[*rail.Apart](err); !ok || len(a.Which) != 1 || a.Which[0] != which {
			t.Errorf("%s: %v", what, err)
		}
	}
	u := terms(500_000)
	u.Buyer = 2
	exact, err := h.rail.Parse(h.Sign(u), h.rail.Requirement(500_000))
	if err != nil {
		t.Fatal(err)
	}
	apart("a payment among deposits", 1, ps[0], exact)
	h.must(ps[0], nil)
	apart("one that landed", 0, ps...)
	head, err := h.rail.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.rail.Draft(t.Context(), ps[1:])
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Sign(h.seq)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.rail.Send(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	h.seal()
	for _, p := range ps[1:] {
		f, err := h.rail.Status(t.Context(), p, []rail.Signed{s}, rail.Verified{Head: head}, time.Now())
		if err != nil || f.State != rail.Paid {
			t.Errorf("together: %s %s, %v", f.State, f.Reason, err)
		}
	}
	for _, c := range h.states(ids...) {
		if c.Balance != 2_000_000 {
			t.Errorf("the channel is %+v", c)
		}
	}
}

// A payer who cancels its deposit under way burns what railtest says, and is told by it.
func TestDepositIsCancelled(t *testing.T) {
	h := openChannels(t, nil)
	row, k := railtest.HostileNamed("cancels its deposit"), h.Buyers[0]
	c, err := h.parse(h.depositPayload(h.channel(k, 0), k, 1000, 2_000_000))
	if err != nil {
		t.Fatal(err)
	}
	head, err := h.rail.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.rail.Draft(t.Context(), []*rail.Payment{c.Deposit})
	if err != nil {
		t.Fatal(err)
	}
	if most := row.Gas / uint64(row.Reverts); d.Price().Gas > most {
		t.Errorf("a deposit may take %d gas, stated are %d", d.Price().Gas, most)
	}
	s, err := d.Sign(h.seq)
	if err != nil {
		t.Fatal(err)
	}
	nonce := common.HexToHash(c.Deposit.Nonce)
	sig := h.SignDigest(k, token.CancelDigest(k.Address, nonce, h.DomainSeparator()))
	h.Send(h.Minter, h.Asset, token.CancelCall(k.Address, nonce, sig))
	h.seal()
	if err := h.rail.Send(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	h.seal()
	f, err := h.rail.Status(t.Context(), c.Deposit, []rail.Signed{s}, rail.Verified{Head: head}, time.Now())
	if err != nil || f.State == rail.Paid || len(f.Reverts) != 1 {
		t.Fatalf("it is %+v, %v", f, err)
	}
	if burnt := f.Reverts[0].Gas; burnt > row.Measured/uint64(row.Reverts) {
		t.Errorf("it burns %d gas, measured were %d", burnt, row.Measured/uint64(row.Reverts))
	}
	if _, err := h.rail.Draft(t.Context(), []*rail.Payment{c.Deposit}); err == nil {
		t.Error("it is drafted again")
	}
}

// Each payload is refused for its own reason, in the words of the stock facilitator.
func TestChannelRefusals(t *testing.T) {
	h := openChannels(t, nil)
	k, other := h.Buyers[0], h.Buyers[1]
	good := h.channel(k, 9)
	with := func(change func(*token.Channel)) map[string]any {
		c := good
		change(&c)
		return h.depositPayload(c, k, 1000, 2_000_000)
	}
	// in changes a member of a good payload.
	in := func(path string, value any) map[string]any {
		w := maps.Clone(h.depositPayload(good, k, 1000, 2_000_000))
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
	auth := "deposit.authorization.erc3009Authorization."
	signed := h.depositPayload(good, other, 1000, 2_000_000)
	voucher := h.voucherPayload(good, other, 1000)
	poor := h.channel(h.Poor, 9)
	highS := h.voucherPayload(good, k, 1000)
	sig := common.FromHex(highS["voucher"].(map[string]any)["signature"].(string))
	new(big.Int).Sub(crypto.S256().Params().N, new(big.Int).SetBytes(sig[32:64])).FillBytes(sig[32:64])
	sig[64] = 27 + 28 - sig[64]
	highS["voucher"].(map[string]any)["signature"] = hexutil.Encode(sig)
	delegate := with(func(c *token.Channel) { c.PayerAuthorizer = other.Address })
	for _, tt := range []struct {
		name, want string
		payload    map[string]any
	}{
		{"good", "", in("type", "deposit")},
		{"another type", "payload_type", in("type", "withdrawal")},
		{"a deposit in a voucher", "invalid_payload", in("type", "voucher")},
		{"no configuration", "invalid_payload", in("channelConfig", nil)},
		{"a member more", "invalid_payload", in("voucher.more", 1)},
		{"a delay as text", "invalid_payload", in("channelConfig.withdrawDelay", "900")},
		{"no address", "invalid_payload", in("channelConfig.payer", "0x12")},
		{"no id", "channel_id_invalid", in("voucher.channelId", "12")},
		{"another id", "channel_id_mismatch", in("voucher.channelId", common.Hash{1}.Hex())},
		{"more than is counted", "invalid_payload", in("voucher.maxClaimableAmount", strings.Repeat("9", 20))},
		{"a long signature", "invalid_payload", in("voucher.signature", "0x"+strings.Repeat("00", 5000))},
		{"no deposit at all", "invalid_payload", in("deposit", nil)},
		{"no authorization", "erc3009_authorization_required", in(auth[:len(auth)-1], nil)},
		{"another receiver", "receiver_mismatch", with(func(c *token.Channel) { c.Receiver = k.Address })},
		{"another authorizer", "receiver_authorizer_mismatch",
			with(func(c *token.Channel) { c.ReceiverAuthorizer = k.Address })},
		{"another token", "token_mismatch", with(func(c *token.Channel) { c.Token = k.Address })},
		{"another delay", "withdraw_delay_mismatch", with(func(c *token.Channel) { c.Delay = 900 })},
		{"a small deposit", "deposit_below_min_deposit", h.depositPayload(good, k, 1000, 999_999)},
		{"expired", "payload_authorization_valid_before", in(auth+"validBefore", "1000")},
		{"for ever", "payload_authorization_valid_before", in(auth+"validBefore", "99999999999")},
		{"not yet", "payload_authorization_valid_after", in(auth+"validAfter", "9999999999")},
		{"another's deposit", "receive_authorization_signature", signed},
		{"another's voucher", "voucher_signature", delegate},
		{"a voucher by another", "voucher_signature", voucher},
		{"a malleable voucher", "voucher_signature", highS},
		{"no money", "insufficient_balance", h.depositPayload(poor, h.Poor, 1000, 2_000_000)},
		{"no allowance", "permit2_allowance_required", h.permitPayload(good, k, 1000, 2_000_000)},
	} {
		p, err := h.parse(tt.payload)
		if err == nil && p.Form == rail.FormVoucher {
			_, err = h.rail.VerifyVoucher(t.Context(), p, h.want, time.Now())
		} else if err == nil {
			_, _, err = h.rail.VerifyDeposit(t.Context(), p, h.want, time.Now())
		}
		got := ""
		if ref, ok := errors.AsType[*rail.Refusal](err); ok {
			got = strings.TrimPrefix(ref.Reason, "invalid_batch_settlement_evm_")
		} else if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.name, got, err, tt.want)
		}
	}
}

// A contract is asked about its vouchers, with bounded gas, and what it says counts as a risk.
func TestContractVouchers(t *testing.T) {
	h := openChannels(t, nil)
	verify := func(c token.Channel, k chaintest.Key) (bool, error) {
		c.PayerAuthorizer = common.Address{}
		p, err := h.parse(h.voucherPayload(c, k, 1000))
		if err != nil {
			t.Fatal(err)
		}
		return h.rail.VerifyVoucher(t.Context(), p, h.want, time.Now())
	}
	c := h.channel(h.Buyers[0], 0)
	c.Payer = h.Wallet.Address
	if coded, err := verify(c, h.Wallet.Owner); err != nil || !coded {
		t.Errorf("the wallet's own: %v, %v", coded, err)
	}
	if _, err := verify(c, h.Buyers[0]); err == nil {
		t.Error("a wallet's voucher was signed by somebody else")
	}
	if coded, err := verify(h.channel(h.Buyers[0], 0), h.Buyers[0]); err != nil || !coded {
		t.Errorf("a plain account, which may have code later: %v, %v", coded, err)
	}
	for _, coded := range h.Coded {
		if bytes.Equal(coded.Code, token.Burner) || bytes.Equal(coded.Code, []byte{0xfe}) {
			c.Payer = coded.Address
			began := time.Now()
			if _, err := verify(c, h.Buyers[0]); err == nil {
				t.Logf("code %x accepts", coded.Code[:1])
			} else if _, refused := errors.AsType[*rail.Refusal](err); !refused {
				t.Errorf("code that burns: %v after %s", err, time.Since(began))
			}
		}
	}
}

// A network without the escrow, or a store without a key for it, asks for no vouchers.
func TestNoEscrow(t *testing.T) {
	h := openOn(t, 8453)
	if _, ok := h.rail.ChannelTerms(); ok {
		t.Error("vouchers are taken without a key")
	}
	c := openChannels(t, nil)
	if terms, ok := c.rail.ChannelTerms(); !ok || terms.MinDeposit != 1_000_000 || terms.Delay != 14*24*time.Hour {
		t.Errorf("the terms are %+v, %v", terms, ok)
	}
	got := fmt.Sprintf("%v %v", c.want.Extra["withdrawDelay"], c.want.Extra["minDeposit"])
	if got != "1209600 1000000" {
		t.Errorf("the entry says %s", got)
	}
	cfg := c.cfg
	cfg.Delay = time.Minute
	if _, err := evm.New(cfg); err == nil {
		t.Error("a delay of a minute is taken")
	}
}

// A node that tells of money in a channel is believed only as far as a second one tells of it.
func TestChannelsNeedTwoNodes(t *testing.T) {
	h := openChannels(t, nil)
	p, err := h.parse(h.depositPayload(h.channel(h.Buyers[0], 0), h.Buyers[0], 1000, 2_000_000))
	if err != nil {
		t.Fatal(err)
	}
	empty := chaintest.New(t, chaintest.Options{Networks: []uint64{8453}, Manual: true})
	empty.MustSeal()
	h.must(p.Deposit, nil)
	cfg := h.cfg
	cfg.RPC, cfg.GenesisHash = []string{h.URL, empty.URL}, ""
	s, err := newRail(t, cfg).ReadChannels(t.Context(), []string{p.Channel.ID}, false)
	if err != nil || s[0].Balance != 0 {
		t.Errorf("with one of two nodes the channel is %+v, %v", s, err)
	}
	cfg.RPC[1] = "http://127.0.0.1:1/v2/secret"
	if s, err := newRail(t, cfg).ReadChannels(t.Context(), []string{p.Channel.ID}, false); err == nil {
		t.Errorf("beside a silent node the channel is %+v", s)
	}
}
