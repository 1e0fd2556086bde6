package onchaintest_test

import (
	"encoding/base64"
	"encoding/json"
	"math/big"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/dynamic/internal/railtest"
	"store.example/agentstore/dynamic/internal/tilltest"
	"store.example/agentstore/dynamic/till"
)

// Who has its authorization revert on the way into a hold costs one settlement and what is stated,
// and gives its place of the week back at once.
func TestHostileHolds(t *testing.T) {
	t.Parallel()
	for name, code := range map[string][]byte{"cancels a hold": nil, "burns a hold": token.Burner} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := railtest.HostileNamed(name)
			s := newHoldShop(t, shopOptions{manual: true, chain: chaintest.Options{Code: [][]byte{code}}})
			k := s.net.Buyers[0]
			if code != nil {
				k.Address = s.net.Coded[0].Address
			}
			header := s.signed(heldJudgment, k, 1)
			left := func() any { return s.do("GET", "/api/window/v1", nil).Body["stock"] }
			free := left()
			answered := make(chan tilltest.Reply)
			go func() {
				r, _ := s.try("GET", heldJudgment, header)
				answered <- r
			}()
			s.pooled("the authorization", 1)
			if code == nil {
				var w struct {
					Payload struct{ Authorization struct{ Nonce common.Hash } }
				}
				raw, err := base64.StdEncoding.DecodeString(header["PAYMENT-SIGNATURE"])
				if err == nil {
					err = json.Unmarshal(raw, &w)
				}
				if err != nil {
					t.Fatal(err)
				}
				nonce := w.Payload.Authorization.Nonce
				sig := s.net.SignDigest(k, token.CancelDigest(k.Address, nonce, s.net.DomainSeparator()))
				s.net.MustSealTxs(s.foreign(s.net.Minter, s.net.Asset, 0, token.CancelCall(k.Address, nonce, sig)))
			}
			s.net.MustSeal()
			if r := <-answered; r.Status != 402 || r.Str("billed") != "no" {
				t.Errorf("answered %d %s", r.Status, r.Raw)
			}
			n, gas := s.reverted()
			t.Logf("%d settlements reverted, %d gas", n, gas)
			// What is cancelled was seen, once and under load, to cost nothing at all.
			if n > row.Reverts || code != nil && n != row.Reverts || gas > row.Measured {
				t.Errorf("%d settlements reverted and burnt %d gas, want %d and %d at most", n, gas, row.Reverts,
					row.Measured)
			}
			if now := left(); !reflect.DeepEqual(now, free) {
				t.Errorf("the window says %v, and before %v", now, free)
			}
		})
	}
}

// A capture that a restored store does not remember is found when the order is to go back, and what
// it took is owed.
func TestForgottenCaptureIsOwed(t *testing.T) {
	t.Parallel()
	s := newHoldShop(t, shopOptions{buyers: 1})
	r := s.ordered(s.net.Buyers[0], 1)
	i := s.purchase(r.Purchase()).Held.Info
	amount, _ := new(big.Int).SetString(i.MaxAmount, 10)
	s.net.Send(s.net.Relayer, token.CaptureAddress, token.CaptureCall(token.PaymentInfo{
		Operator: common.HexToAddress(i.Operator), Payer: common.HexToAddress(i.Payer),
		Receiver: common.HexToAddress(i.Receiver), Token: common.HexToAddress(i.Token), MaxAmount: amount,
		PreApproval: uint64(i.PreApprovalExpiry), Capture: uint64(i.AuthorizationExpiry),
		Refund: uint64(i.RefundExpiry), Salt: common.HexToHash(i.Salt).Big()}, amount, token.Fee{Amount: new(big.Int)}))
	until(t, "the capture", func() bool { return s.net.Node.Balance(s.net.PayTo) == price })
	if _, err := s.till.DeclineOrder(t.Context(), r.Str("order_id"), false); err != nil {
		t.Fatal(err)
	}
	s.state(r.Purchase(), till.RefundOwed)
	s.finalize()
	until(t, "it to be final", func() bool { return s.purchase(r.Purchase()).Final })
	owed, err := s.till.Debts(t.Context(), false)
	if p := s.purchase(r.Purchase()); err != nil || len(owed) != 1 || owed[0].Kind != till.DebtRefund ||
		p.State != till.RefundOwed || p.Held.Ended != "captured" {
		t.Errorf("owed %v, %v; the purchase is %s", owed, err, p.State)
	}
}

// What a reorganisation drops on the way into a hold or out of it is sent again, and ends as it was
// decided.
func TestHeldOrdersSurviveReorganisations(t *testing.T) {
	t.Parallel()
	s := newHoldShop(t, shopOptions{manual: true, buyers: 2})
	sent := uint64(0)
	// twice seals what is in the pool, drops it again, and waits for it to come back.
	twice := func(what string, mined func() bool) {
		t.Helper()
		sent++
		s.pooled(what, sent)
		s.net.MustSeal()
		until(t, what, mined)
		if err := s.net.Reorg(s.net.Head().Number.Uint64() - 1); err != nil {
			t.Fatal(err)
		}
		s.net.Drop()
		s.pooled(what+" to be sent again", sent)
		s.net.MustSeal()
		s.finalize()
	}
	for i, captured := range []bool{true, false} {
		k := s.net.Buyers[i]
		header := s.signed(heldJudgment, k, byte(i+1))
		came := make(chan tilltest.Reply, 1)
		go func() { r, _ := s.try("GET", heldJudgment, header); came <- r }()
		var r tilltest.Reply
		twice("the authorization", func() bool {
			select {
			case r = <-came:
			default:
			}
			return r.Status == 202
		})
		until(t, "it to be final", func() bool { return s.purchase(r.Purchase()).Final })
		want, err := till.Delivered, error(nil)
		if captured {
			_, err = s.till.AnswerOrder(t.Context(), r.Str("order_id"), till.Answer{Text: "No."}, false)
		} else {
			want = till.Released
			_, err = s.till.DeclineOrder(t.Context(), r.Str("order_id"), false)
		}
		if err != nil {
			t.Fatal(err)
		}
		twice("the end", func() bool { return s.purchase(r.Purchase()).State == want })
		until(t, "the end to be final", func() bool {
			p := s.purchase(r.Purchase())
			return p.Final && p.State == want
		})
		if got := s.net.Balance(s.net.PayTo); got != price {
			t.Errorf("payTo has %d, want %d", got, price)
		}
	}
}
