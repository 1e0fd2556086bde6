package onchaintest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// payment is a signed payment and the object that goes into the header; a test may change the
// object.
type payment struct {
	chaintest.Payment
	wire map[string]any
}

// sign signs accepts[i] of a challenge. change may alter the authorization before it is signed.
func (s *shop) sign(ch map[string]any, i int, from chaintest.Key, change func(*token.Authorization)) payment {
	s.t.Helper()
	return s.signAs(ch, i, from, from.Address, change)
}

// signAs is sign for a payer whose key signs for it: a contract wallet.
func (s *shop) signAs(ch map[string]any, i int, key chaintest.Key, payer common.Address,
	change func(*token.Authorization)) payment {
	s.t.Helper()
	accepted := ch["accepts"].([]any)[i].(map[string]any)
	var chainID uint64
	fmt.Sscanf(accepted["network"].(string), "eip155:%d", &chainID)
	amount, _ := new(big.Int).SetString(accepted["amount"].(string), 10)
	c := s.net.On(chainID)
	a := c.Authorize(payer, common.HexToAddress(accepted["payTo"].(string)), amount.Int64())
	if asked := accepted["maxTimeoutSeconds"].(float64); asked < 300 {
		a.ValidBefore = uint64(time.Now().Unix()) + uint64(asked)
	}
	if change != nil {
		change(&a)
	}
	return wired(ch, accepted, c.Sign(key, a))
}

// undeployed is a payment by a wallet that it has a token.Deployer create, which is given the
// money.
func (s *shop) undeployed(ch map[string]any, deployer common.Address, creation []byte) payment {
	s.t.Helper()
	wallet := crypto.CreateAddress2(deployer, [32]byte{}, crypto.Keccak256(creation))
	p := s.signAs(ch, 0, s.net.Buyers[0], wallet, nil)
	s.net.Send(s.net.Minter, s.net.Asset, s.net.SignTransfer(s.net.Buyers[0], wallet, p.Value.Int64()).Call())
	s.net.Seal()
	p.Signature = token.Wrap6492(deployer, creation, p.Signature)
	return wired(ch, ch["accepts"].([]any)[0].(map[string]any), p.Payment)
}

// wired is the x402 object of a payment with everything that the challenge asks to have echoed but
// the suggested key: a buyer who wants each payment to buy. echoed is one who echoes it all.
func wired(ch, accepted map[string]any, p chaintest.Payment) payment {
	return payment{p, map[string]any{
		"x402Version": 2,
		"payload": map[string]any{
			"authorization": map[string]any{
				"from": p.From.Hex(), "to": p.To.Hex(), "value": fmt.Sprint(p.Value),
				"validAfter": fmt.Sprint(p.ValidAfter), "validBefore": fmt.Sprint(p.ValidBefore),
				"nonce": common.Hash(p.Nonce).Hex(),
			},
			"signature": "0x" + common.Bytes2Hex(p.Signature),
		},
		"extensions": tilltest.Unsuggested(ch), "resource": ch["resource"], "accepted": accepted,
	}}
}

func (p payment) header(t testing.TB) string {
	t.Helper()
	b, err := json.Marshal(p.wire)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// present sends a payment for a path, with further headers as name, value.
func (s *shop) present(path string, p payment, headers ...string) tilltest.Reply {
	s.t.Helper()
	h := map[string]string{"PAYMENT-SIGNATURE": p.header(s.t)}
	for i := 0; i+1 < len(headers); i += 2 {
		h[headers[i]] = headers[i+1]
	}
	return s.do("GET", path, h)
}

// unknown presents a payment whose outcome the chain does not tell, and returns the answer that
// names its settlement: a slow machine's first answer may come before there is one.
func (s *shop) unknown(what, path string, p payment, headers ...string) tilltest.Reply {
	s.t.Helper()
	r := s.present(path, p, headers...)
	s.want(what, r, 503, "payment_unknown")
	s.state(r.Purchase(), till.Unknown)
	r = s.present(path, p, headers...)
	s.want(what+", again", r, 503, "payment_unknown")
	return r
}

// bought presents a payment to a shop whose buyers wait for a moment only, which may be too short
// for a slow machine, and returns the answer with the goods.
func (s *shop) bought(what, path string, p payment, headers ...string) tilltest.Reply {
	s.t.Helper()
	r := s.present(path, p, headers...)
	if r.Status == 503 {
		s.want(what, r, 503, "payment_unknown")
		s.state(r.Purchase(), till.Delivered)
		r = s.present(path, p, headers...)
	}
	s.want(what, r, 200, "")
	return r
}

// tenMinutes makes an authorization valid for about as long as a store takes one.
func tenMinutes(a *token.Authorization) { a.ValidBefore = uint64(time.Now().Unix()) + 590 }

// want ends the test unless an answer has this status and, for problems, this code.
func (s *shop) want(what string, r tilltest.Reply, status int, code string) {
	s.t.Helper()
	if r.Status != status || code != "" && r.Code() != code {
		s.t.Fatalf("%s = %d %s, want %d %s", what, r.Status, r.Raw, status, code)
	}
}

// patience turns a hang into a failure. No machine is so slow that what comes by itself takes as
// long.
const patience = 5 * time.Minute

// until waits for a condition that comes by itself.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// rest waits until no purchase is on its way.
func (s *shop) rest() {
	s.t.Helper()
	until(s.t, "all purchases to end", func() bool {
		return !slices.ContainsFunc(tilltest.Purchases(s.t, s.db),
			func(p till.Purchase) bool { return !tilltest.Resting(p) })
	})
}

// state waits until a purchase is in a state.
func (s *shop) state(id string, want till.State) till.Purchase {
	s.t.Helper()
	var got till.Purchase
	until(s.t, fmt.Sprintf("purchase %s to be %s", id, want), func() bool {
		for _, p := range tilltest.Purchases(s.t, s.db) {
			if p.ID == id {
				got = p
				return p.State == want
			}
		}
		return false
	})
	return got
}

// audit compares ledger and chains to the atomic unit: what payTo has received on each network is
// what credited purchases paid there; patron numbers run from 1 without gaps. It returns how many
// purchases have one.
func (s *shop) audit() int {
	s.t.Helper()
	return auditLedger(s.t, s.net, s.db)
}

func auditLedger(t testing.TB, net *chaintest.Net, db ledger.DB) int {
	t.Helper()
	all := tilltest.Purchases(t, db)
	auditCredits(t, net, all)
	numbers := make(map[int64]string)
	for _, p := range all {
		if p.Number != 0 {
			if other := numbers[p.Number]; other != "" {
				t.Errorf("patron number %d is %s's and %s's", p.Number, other, p.ID)
			}
			numbers[p.Number] = p.ID
		}
	}
	for n := range int64(len(numbers)) {
		if numbers[n+1] == "" {
			t.Errorf("patron number %d is missing among %d", n+1, len(numbers))
		}
	}
	return len(numbers)
}

// auditCredits compares what payTo has received on each network with what the journal credits.
func auditCredits(t testing.TB, net *chaintest.Net, all []till.Purchase) {
	t.Helper()
	credited := make(map[string]int64)
	transfers := make(map[string]string)
	for _, p := range all {
		if p.Spent != nil {
			continue // the channels' books say what is due for it
		}
		switch p.State {
		case till.Settled, till.Promised, till.Delivered, till.SettledLate, till.RefundOwed, till.FromChain,
			till.Uncredited:
			credited[p.Payment.Network] += p.Amount
			key := fmt.Sprintf("%s/%s/%d", p.Payment.Network, p.Proof.Tx, p.Proof.LogIndex)
			if other := transfers[key]; other != "" {
				t.Errorf("transfer %s paid for %s and %s", key, other, p.ID)
			}
			transfers[key] = p.ID
		}
	}
	for _, c := range net.Chains {
		if got, want := c.Balance(net.PayTo), credited[c.Network.ID()]; got != want {
			t.Errorf("payTo received %d on %s, the ledger credits %d", got, c.Network.Name, want)
		}
	}
}

// usedLogs finds the event that says that a payment was used, and not cancelled.
func usedLogs(net *chaintest.Net, p payment) ethereum.FilterQuery {
	return ethereum.FilterQuery{FromBlock: new(big.Int), Addresses: []common.Address{net.Asset},
		Topics: [][]common.Hash{
			{crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)"))}, {common.BytesToHash(p.From[:])},
			{p.Nonce},
		}}
}

// relayed is how many transactions of the relayer stand in the first chain.
func (s *shop) relayed() uint64 {
	s.t.Helper()
	n, err := s.net.RPC.NonceAt(s.t.Context(), s.net.Relayer.Address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}
