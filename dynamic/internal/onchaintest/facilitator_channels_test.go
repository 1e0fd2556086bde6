package onchaintest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/facilitator"
)

// channelSeller is a seller of the scheme batch-settlement with keys of its own, and a buyer's
// channel with it.
type channelSeller struct {
	*service
	t          *testing.T
	authorizer chaintest.Key
	buyer      chaintest.Key
	channel    token.Channel
	escrow     token.Escrow
}

func newChannelSeller(t *testing.T) *channelSeller {
	s := openService(t)
	if err := s.rail.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := &channelSeller{service: s, t: t, authorizer: chaintest.NewKey(t), buyer: s.Buyers[0],
		escrow: token.Escrow{ChainID: 8453}}
	c.channel = token.Channel{Payer: c.buyer.Address, PayerAuthorizer: c.buyer.Address, Receiver: s.PayTo,
		ReceiverAuthorizer: c.authorizer.Address, Token: s.Asset, Delay: 900}
	return c
}

type fields = map[string]any

func configOf(c token.Channel) fields {
	return fields{"payer": c.Payer.Hex(), "payerAuthorizer": c.PayerAuthorizer.Hex(), "receiver": c.Receiver.Hex(),
		"receiverAuthorizer": c.ReceiverAuthorizer.Hex(), "token": c.Token.Hex(), "withdrawDelay": c.Delay,
		"salt": c.Salt.Hex()}
}

func (c *channelSeller) sign(k chaintest.Key, digest common.Hash) string {
	return hexutil.Encode(c.Node.SignDigest(k, digest))
}

// payload is a buyer's, for max in all.
func (c *channelSeller) payload(kind string, max int64) fields {
	id := c.escrow.ID(c.channel)
	return fields{"type": kind, "channelConfig": configOf(c.channel), "voucher": fields{"channelId": id.Hex(),
		"maxClaimableAmount": fmt.Sprint(max), "signature": c.sign(c.buyer, c.escrow.Voucher(id, big.NewInt(max)))}}
}

// deposit is a payload that puts an amount into the channel, by a collector.
func (c *channelSeller) deposit(max, amount int64, collector common.Address) fields {
	id, salt := c.escrow.ID(c.channel), common.BigToHash(big.NewInt(max))
	a := c.Node.Authorize(c.channel.Payer, collector, amount)
	a.Nonce = token.DepositNonce(id, salt)
	p := c.payload("deposit", max)
	p["deposit"] = fields{"amount": fmt.Sprint(amount), "authorization": fields{"erc3009Authorization": fields{
		"validAfter": "0", "validBefore": fmt.Sprint(a.ValidBefore), "salt": salt.Hex(),
		"signature": c.sign(c.buyer, a.Digest(token.ReceiveKind, c.Node.DomainSeparator()))}}}
	return p
}

// row is a row of a claim, of max with total claimed.
func (c *channelSeller) row(max, total int64) (token.Claim, fields) {
	sig := c.Node.SignDigest(c.buyer, c.escrow.Voucher(c.escrow.ID(c.channel), big.NewInt(max)))
	return token.Claim{Channel: c.channel, Max: big.NewInt(max), Total: big.NewInt(total), Signature: sig},
		fields{"voucher": fields{"channel": configOf(c.channel), "maxClaimableAmount": fmt.Sprint(max)},
			"signature": hexutil.Encode(sig), "totalClaimed": fmt.Sprint(total)}
}

// claim is a claim of one row, signed by k.
func (c *channelSeller) claim(k chaintest.Key, max, total int64) fields {
	r, wire := c.row(max, total)
	return fields{"type": "claim", "claims": []fields{wire},
		"claimAuthorizerSignature": c.sign(k, c.escrow.Claims([]token.Claim{r}))}
}

// refund is what a seller makes of a buyer's refund.
func (c *channelSeller) refund(max, amount, nonce int64) fields {
	p := c.payload("refund", max)
	r, wire := c.row(max, max)
	p["amount"], p["refundNonce"], p["claims"] = fmt.Sprint(amount), fmt.Sprint(nonce), []fields{wire}
	p["claimAuthorizerSignature"] = c.sign(c.authorizer, c.escrow.Claims([]token.Claim{r}))
	p["refundAuthorizerSignature"] = c.sign(c.authorizer, c.escrow.Refund(c.escrow.ID(c.channel), big.NewInt(nonce),
		big.NewInt(amount)))
	return p
}

// ask sends a payload under the seller's terms, after a change of these.
func (c *channelSeller) ask(path string, payload fields, terms fields, out any) {
	c.t.Helper()
	want := fields{"scheme": rail.SchemeVouchers, "network": c.ID(), "amount": "1000", "asset": c.Asset.Hex(),
		"payTo": c.PayTo.Hex(), "maxTimeoutSeconds": 300, "extra": fields{"name": "USD Coin", "version": "2",
			"receiverAuthorizer": c.authorizer.Address.Hex(), "withdrawDelay": 900}}
	maps.Copy(want, terms)
	b, err := json.Marshal(fields{"x402Version": 2, "paymentRequirements": want,
		"paymentPayload": fields{"x402Version": 2, "accepted": want, "payload": payload}})
	if err != nil {
		c.t.Fatal(err)
	}
	if status := c.post(c.t, path, b, out); status != 200 {
		c.t.Errorf("%s: status %d, %+v", path, status, out)
	}
}

// A seller with keys of its own keeps a channel going through our facilitator: each call is one
// transaction, is answered by what the escrow's events say, and the same again is answered alike.
func TestFacilitatorServesChannels(t *testing.T) {
	t.Parallel()
	c := newChannelSeller(t)
	var kinds facilitator.Supported
	client, err := facilitator.New(facilitator.Config{URL: c.url})
	if err == nil {
		kinds, err = client.Supported(t.Context())
	}
	if err != nil || len(kinds.Kinds) != 3 || kinds.Kinds[1].Scheme != rail.SchemeVouchers ||
		kinds.Kinds[1].Extra != nil {
		t.Fatalf("supported: %+v, %v", kinds, err)
	}
	balance := func(who common.Address) int64 { return c.Node.Balance(who) }
	had := balance(c.buyer.Address)
	managers := fields{"amount": "0", "maxTimeoutSeconds": 0, "extra": fields{}} // terms of the stock manager's calls
	sweep := fields{"type": "settle", "receiver": c.PayTo.Hex(), "token": c.Asset.Hex()}
	stranger := chaintest.NewKey(t)
	other := *c
	other.channel.Receiver = c.Minter.Address
	other.channel.Salt = common.Hash{1}
	foreign := c.claim(c.authorizer, 1000, 1000)
	foreign["claims"] = []fields{func() fields { _, w := other.row(1000, 1000); return w }()}
	unsigned := c.claim(c.authorizer, 300_000, 300_000)
	delete(unsigned, "claimAuthorizerSignature")
	twoRows := func(bad int64) fields { // the second reverts, and with it the first
		r, w := c.row(300_000, 300_000)
		b, x := other.row(bad, bad)
		b.Channel.Receiver, x["voucher"].(fields)["channel"].(fields)["receiver"] = c.PayTo, c.PayTo.Hex()
		return fields{"type": "claim", "claims": []fields{w, x},
			"claimAuthorizerSignature": c.sign(c.authorizer, c.escrow.Claims([]token.Claim{r, b}))}
	}
	const prefix = "invalid_batch_settlement_evm_"
	remembered := map[string]facilitator.Settled{}
	for _, step := range []struct {
		name    string
		path    string
		payload fields
		terms   fields
		reason  string // of a refusal, without its prefix
		amount  string
		extra   [2]string // balance and what is claimed, where the answer says
		as      string    // the step whose answer comes again
	}{
		{name: "a voucher of nothing", path: "/verify", payload: c.payload("voucher", 1000),
			reason: "channel_not_found"},
		{name: "a foreign collector", path: "/settle", payload: c.deposit(1, 2_000_000, token.CapturePayAddress),
			reason: "receive_authorization_signature"},
		{name: "another account", path: "/settle", payload: c.deposit(1000, 2_000_000, token.DepositAddress),
			terms: fields{"payTo": c.Minter.Address.Hex()}, reason: "!invalid_payment_requirements"},
		{name: "another authorizer", path: "/settle", payload: c.deposit(1000, 2_000_000, token.DepositAddress),
			terms:  fields{"extra": fields{"receiverAuthorizer": stranger.Address.Hex()}},
			reason: "receiver_authorizer_mismatch"},
		{name: "another delay", path: "/verify", payload: c.deposit(1000, 2_000_000, token.DepositAddress),
			terms:  fields{"extra": fields{"receiverAuthorizer": c.authorizer.Address.Hex(), "withdrawDelay": 901}},
			reason: "withdraw_delay_mismatch"},
		{name: "more than is deposited", path: "/settle",
			payload: c.deposit(2_000_001, 2_000_000, token.DepositAddress), reason: "cumulative_exceeds_balance"},
		{name: "a deposit is good", path: "/verify", payload: c.deposit(1000, 2_000_000, token.DepositAddress),
			extra: [2]string{"0", "0"}},
		{name: "deposit", path: "/settle", payload: c.deposit(1000, 2_000_000, token.DepositAddress),
			amount: "2000000", extra: [2]string{"2000000", "0"}},
		{name: "deposit again", path: "/settle", payload: c.deposit(1000, 2_000_000, token.DepositAddress),
			as: "deposit"},
		{name: "less than is there", path: "/settle", payload: c.deposit(2, 1_999_999, token.DepositAddress),
			reason: "deposit_below_min_deposit"},
		{name: "to and fro", path: "/settle", payload: c.refund(1, 1_999_999, 0),
			reason: "!invalid_payment_requirements"},
		{name: "a voucher is good", path: "/verify", payload: c.payload("voucher", 300_000),
			extra: [2]string{"2000000", "0"}},
		{name: "a voucher settles nothing", path: "/settle", payload: c.payload("voucher", 300_000),
			reason: "payload_type"},
		{name: "a voucher above all", path: "/verify", payload: c.payload("voucher", 2_000_001),
			reason: "cumulative_exceeds_balance"},
		{name: "nothing to settle", path: "/settle", payload: sweep, terms: managers, reason: "nothing_to_settle"},
		{name: "nobody's claim", path: "/settle", payload: unsigned, terms: managers,
			reason: "authorizer_not_configured"},
		{name: "a stranger's claim", path: "/settle", payload: c.claim(stranger, 300_000, 300_000), terms: managers,
			reason: "claim_simulation_failed"},
		{name: "a row of another receiver", path: "/settle", payload: foreign, terms: managers,
			reason: "receiver_mismatch"},
		{name: "a row that reverts", path: "/settle", payload: twoRows(9_000_000), terms: managers,
			reason: "claim_simulation_failed"},
		{name: "a row above its voucher", path: "/settle", payload: c.claim(c.authorizer, 300_000, 300_001),
			terms: managers, reason: "claim_simulation_failed"},
		{name: "dust", path: "/settle", payload: c.claim(c.authorizer, 1, 1), terms: managers,
			reason: "!invalid_payment_requirements"},
		{name: "claim", path: "/settle", payload: c.claim(c.authorizer, 300_000, 300_000), terms: managers},
		{name: "claim again", path: "/settle", payload: c.claim(c.authorizer, 300_000, 300_000), terms: managers,
			as: "claim"},
		{name: "claimed already", path: "/settle", payload: c.claim(c.authorizer, 300_001, 300_000), terms: managers,
			reason: "claim_simulation_failed"},
		{name: "settle", path: "/settle", payload: sweep, terms: managers, amount: "300000"},
		{name: "settle again", path: "/settle", payload: sweep, terms: managers, as: "settle"},
		{name: "a voucher below the claim", path: "/verify", payload: c.payload("voucher", 300_000),
			reason: "cumulative_below_claimed"},
		{name: "a buyer's refund", path: "/verify", payload: c.payload("refund", 300_000),
			extra: [2]string{"2000000", "300000"}},
		{name: "a buyer's refund alone", path: "/settle", payload: c.payload("refund", 300_000),
			reason: "payload_type"},
		{name: "refund", path: "/settle", payload: c.refund(500_000, 1_000_000, 0), amount: "1000000",
			extra: [2]string{"1000000", "500000"}},
		{name: "refund again", path: "/settle", payload: c.refund(500_000, 1_000_000, 0), as: "refund"},
		{name: "drained by one nonce", path: "/settle", payload: c.refund(500_000, 500_000, 0),
			reason: "!duplicate_settlement"},
		{name: "a nonce to come", path: "/settle", payload: c.refund(500_000, 500_000, 2),
			reason: "refund_simulation_failed"},
		{name: "what is left", path: "/settle", payload: c.refund(500_000, 9_000_000, 1), amount: "500000",
			extra: [2]string{"500000", "500000"}},
		{name: "of nothing", path: "/settle", payload: c.refund(500_000, 1, 2), reason: "refund_no_balance"},
	} {
		want := prefix + step.reason
		if after, ok := strings.CutPrefix(step.reason, "!"); ok {
			want = after
		}
		if step.path == "/verify" {
			var v facilitator.Verified
			c.ask(step.path, step.payload, step.terms, &v)
			if v.Valid != (step.reason == "") || !v.Valid && (v.Reason != want || v.Extra != nil) || v.Valid &&
				(v.Extra.Balance != step.extra[0] || v.Extra.Claimed != step.extra[1]) ||
				v.Payer != c.buyer.Address.Hex() {
				t.Errorf("%s: %+v %+v, want %s %v", step.name, v, v.Extra, want, step.extra)
			}
			continue
		}
		var got facilitator.Settled
		c.ask(step.path, step.payload, step.terms, &got)
		switch old, again := remembered[step.as]; {
		case again:
			if got.Transaction != old.Transaction || !got.Success || got.Amount != old.Amount {
				t.Errorf("%s: %+v, want %+v", step.name, got, old)
			}
		case step.reason != "":
			if got.Success || got.Reason != want || got.Transaction != "" {
				t.Errorf("%s: %+v, want %s", step.name, got, want)
			}
		case !got.Success || got.Amount != step.amount || got.Transaction == "" ||
			(got.Extra != nil) != (step.extra[0] != "") || got.Extra != nil &&
			(got.Extra.State.Balance != step.extra[0] || got.Extra.State.Claimed != step.extra[1]):
			t.Errorf("%s: %+v %+v, want %s %v", step.name, got, got.Extra, step.amount, step.extra)
		}
		remembered[step.name] = got
	}
	if paid, spent := balance(c.PayTo), had-balance(c.buyer.Address); paid != 300_000 || spent != 500_000 {
		t.Errorf("the seller has %d, the buyer spent %d", paid, spent)
	}

	// What it did is in its ledger: a new process answers alike.
	c.stop()
	c.start(t)
	for name, payload := range map[string]fields{"claim": c.claim(c.authorizer, 300_000, 300_000),
		"refund": c.refund(500_000, 1_000_000, 0)} {
		var got facilitator.Settled
		c.ask("/settle", payload, managersOf(name, managers), &got)
		if got.Transaction != remembered[name].Transaction || !got.Success {
			t.Errorf("%s after a restart: %+v, want %+v", name, got, remembered[name])
		}
	}
	if n, err := c.RPC.NonceAt(t.Context(), c.Relayer.Address, nil); err != nil || n != 5 {
		t.Errorf("%d transactions were sent for five calls, %v", n, err)
	}
}

// managersOf are the terms of a call: the stock manager's but for a refund.
func managersOf(name string, managers fields) fields {
	if name == "refund" {
		return nil
	}
	return managers
}
