package onchain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/devnet/token"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/till"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// indebted is a shop that owes a buyer what no purchase credits.
func indebted(t *testing.T) (*shop, till.Debt) {
	t.Helper()
	s := newShop(t, shopOptions{buyers: 3, config: func(c *till.Config) { c.Sweep = 20 * time.Millisecond }})
	const path = "/api/buy/hello"
	p := s.sign(s.challenge(path), 0, s.net.Buyers[0], nil)
	s.land(p)
	s.finalize()
	var all []till.Debt
	until(t, "the debt", func() (is bool) {
		var err error
		all, err = s.till.Debts(t.Context(), false)
		return err == nil && len(all) == 1
	})
	return s, all[0]
}

// signed is a payout of a debt as store keeper pay signs it.
func (s *shop) signed(d till.Debt, by chaintest.Key, until time.Time) till.Payout {
	s.t.Helper()
	key, err := wallet.ParseKey(by.Hex())
	if err != nil {
		s.t.Fatal(err)
	}
	cfg, _ := evm.Preset(d.Purchase.Payment.Network)
	p := d.Payment(key.Address().String(), until.Unix())
	evm.SignPayout(cfg, p, key)
	return till.Payout{From: p.Payer, ValidBefore: p.ValidBefore, Signature: p.Signature}
}

// redeem hands the authorization that stands in a debt as it is published to the token, as a
// stranger would who has nothing else, and reports whether it moved money.
func (s *shop) redeem(id string) bool {
	s.t.Helper()
	r := s.do("GET", "/api/verify/"+id, nil)
	s.want("the debt", r, 200, "")
	var d attest.Debt
	if err := json.Unmarshal([]byte(r.Str("signed_payload")), &d); err != nil || r.Body["valid"] != true {
		s.t.Fatal(string(r.Raw), err)
	}
	value, _ := new(big.Int).SetString(d.Value, 10)
	before, err := strconv.ParseUint(d.ValidBefore, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	call := token.TransferCall(token.Authorization{From: common.HexToAddress(d.From), To: common.HexToAddress(d.To),
		Value: value, ValidBefore: before, Nonce: common.HexToHash(d.Nonce)}, hexutil.MustDecode(d.Signature))
	return s.net.Await(s.net.Send(s.net.Minter, s.net.Asset, call).Hash()).Status == 1
}

// A debt is paid by a payout that its creditor redeems: once, however often it is signed or
// redeemed, and also where the ledger forgot it.
func TestAPayoutPaysOnce(t *testing.T) {
	t.Parallel()
	s, d := indebted(t)
	ctx, payer, month := t.Context(), s.net.Buyers[1], time.Now().Add(till.PayoutFor)
	creditor := s.net.Buyers[0].Address
	had := s.net.Balance(creditor)
	for name, bad := range map[string]till.Payout{
		"of the relayer":   s.signed(d, s.net.Relayer, month),
		"for too long":     s.signed(d, payer, month.Add(48*time.Hour)),
		"that is over":     s.signed(d, payer, time.Now().Add(-time.Second)),
		"signed by nobody": {From: payer.Address.Hex(), ValidBefore: month.Unix(), Signature: make([]byte, 65)},
		"signed for another": {From: payer.Address.Hex(), ValidBefore: month.Unix(), Signature: s.signed(d,
			s.net.Buyers[2], month).Signature},
	} {
		if _, err := s.till.PayOut(ctx, d.ID, bad, false); err == nil {
			t.Errorf("a payout %s is taken", name)
		}
	}
	poor := chaintest.NewKey(t)
	var short *till.ShortError
	if _, err := s.till.PayOut(ctx, d.ID, s.signed(d, poor, month), false); !errors.As(err, &short) ||
		short.Balance.Sign() != 0 || !strings.Contains(err.Error(), "needs 0.5 more") {
		t.Errorf("of an account that has nothing: %v", err)
	}
	o := s.signed(d, payer, month)
	if got, err := s.till.PayOut(ctx, d.ID, o, true); err != nil || got.Status != till.DebtOwed {
		t.Errorf("tried: %+v, %v", got, err)
	}
	for range 2 {
		if got, err := s.till.PayOut(ctx, d.ID, o, false); err != nil || got.Status != till.DebtSigned ||
			got.Trouble != "" {
			t.Fatalf("signed: %+v, %v", got, err)
		}
	}
	if _, err := s.till.PayOut(ctx, d.ID, s.signed(d, s.net.Buyers[2], month), false); err == nil ||
		!strings.Contains(err.Error(), "another account") {
		t.Errorf("of a second account: %v", err)
	}
	if _, err := s.till.PaidByHand(ctx, d.ID, "0x1", false); err == nil {
		t.Error("paid by hand, too")
	}
	claims := s.claims(s.net.Buyers[0], creditor.Hex(), "").Body["purchases"].([]any)
	if got := claims[0].(map[string]any)["debt_url"]; got != s.url+"/api/verify/"+d.ID {
		t.Errorf("the creditor is told %v", got)
	}
	if !s.redeem(d.ID) || s.redeem(d.ID) || s.net.Balance(creditor)-had != d.Purchase.Amount {
		t.Errorf("redeemed twice, the creditor has %d more", s.net.Balance(creditor)-had)
	}
	s.finalize()
	s.paid(d.ID)
	if _, err := s.till.PayOut(ctx, d.ID, o, false); !errors.Is(err, till.ErrPaid) {
		t.Errorf("once more: %v", err)
	}
	if err := s.db.Update(ctx, func(tx ledger.Tx) error { return tx.Delete(ledger.DebtKey(d.ID)) }); err != nil {
		t.Fatal(err)
	}
	if got, err := s.till.PayOut(ctx, d.ID, s.signed(d, payer, month), false); !errors.Is(err, till.ErrPaid) ||
		got.Status != till.DebtPaid {
		t.Errorf("after the ledger forgot it: %+v, %v", got, err)
	}
	if got := s.net.Balance(creditor) - had; got != d.Purchase.Amount {
		t.Errorf("the creditor has %d more", got)
	}
}

// paid waits until a debt is known to be paid.
func (s *shop) paid(id string) {
	s.t.Helper()
	until(s.t, "the debt to be paid", func() bool {
		if _, err := s.till.LookAtPayouts(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		d, err := s.till.Debt(s.t.Context(), id)
		return err == nil && d.Status == till.DebtPaid && d.Paid.Tx != ""
	})
}

// A payout that nobody redeemed in time is signed anew; one that would fail says why and stays
// owed, and pays once the trouble is over.
func TestAPayoutIsSignedAnew(t *testing.T) {
	t.Parallel()
	s, d := indebted(t)
	ctx, payer := t.Context(), s.net.Buyers[1]
	if _, err := s.till.PayOut(ctx, d.ID, s.signed(d, payer, time.Now().Add(2*time.Second)), false); err != nil {
		t.Fatal(err)
	}
	until(t, "the payout to expire", func() bool {
		got, err := s.till.Debt(ctx, d.ID)
		return err == nil && got.Status == till.DebtExpired
	})
	s.net.Pass(3 * time.Second)
	if s.redeem(d.ID) {
		t.Error("redeemed after its end")
	}
	if _, err := s.till.PayOut(ctx, d.ID, s.signed(d, payer, time.Now().Add(till.PayoutFor)), false); err != nil {
		t.Fatal(err)
	}
	creditor := s.net.Buyers[0].Address
	s.net.Await(s.net.Send(s.net.Minter, s.net.Asset, token.BlacklistCall(creditor)).Hash())
	if changed, err := s.till.LookAtPayouts(ctx); err != nil || len(changed) != 1 || changed[0].Trouble == "" ||
		changed[0].Status != till.DebtSigned {
		t.Errorf("while its creditor is blocked: %+v, %v", changed, err)
	}
	if s.redeem(d.ID) {
		t.Error("redeemed by one who is blocked")
	}
	got, err := s.till.Debts(ctx, false)
	if err != nil || len(got) != 1 || got[0].Trouble == "" {
		t.Errorf("%+v, %v; want it owed, with its reason", got, err)
	}
}

// An order past its window is a debt of all that was paid, once its payment is final.
func TestAMissedWindowIsADebt(t *testing.T) {
	t.Parallel()
	s := newShop(t, shopOptions{buyers: 2})
	r, id, _ := s.ordered("quick_judgment", "Shall I?")
	s.final(r.Purchase())
	if all, err := s.till.Debts(t.Context(), false); err != nil || len(all) != 0 {
		t.Fatalf("within its window: %+v, %v", all, err)
	}
	s.overdue(id)
	all, err := s.till.Debts(t.Context(), false)
	if err != nil || len(all) != 1 || all[0].Kind != till.DebtWindow || all[0].OrderID != id ||
		all[0].Purchase.Amount != 3_000_000 {
		t.Fatalf("past it: %+v, %v", all, err)
	}
	if got, err := s.till.PayOut(t.Context(), all[0].ID, s.signed(all[0], s.net.Buyers[1],
		time.Now().Add(till.PayoutFor)), false); err != nil || got.Kind != till.DebtWindow {
		t.Fatalf("%+v, %v", got, err)
	}
	if !s.redeem(all[0].ID) {
		t.Error("not redeemed")
	}
	s.finalize()
	s.paid(all[0].ID)
}

// overdue makes an order's window end an hour ago.
func (s *shop) overdue(order string) {
	s.t.Helper()
	o, _, err := s.till.HumanOrder(s.t.Context(), order)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.db.Update(s.t.Context(), func(tx ledger.Tx) error {
		p, err := ledger.GetJSON[till.Purchase](tx, ledger.PurchaseKey(o.Purchase.ID))
		if err != nil {
			return err
		}
		p.Made.Deliverable = bytes.Replace(p.Made.Deliverable, []byte(o.Work.DueAt.Format(time.RFC3339)),
			[]byte(time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)), 1)
		return ledger.SetJSON(tx, ledger.PurchaseKey(p.ID), p)
	}); err != nil {
		s.t.Fatal(err)
	}
}
