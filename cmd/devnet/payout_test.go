package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"store.example/agentstore/cmd/devnet/chaintest"
	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// The keeper lists what is owed, tries a payout, signs it, and signs it again; the key is read by
// the command alone, and not where others may read it.
func TestTheKeeperPays(t *testing.T) {
	t.Parallel()
	n := chaintest.New(t, chaintest.Options{Buyers: 1})
	cfg := closedOn(t, n)
	cfg.Payouts.Key = filepath.Join(t.TempDir(), "payout.key")
	creditor := chaintest.NewKey(t).Address.Hex()
	inLedger(t, cfg, func(tx ledger.Tx) error {
		p := till.Purchase{ID: "pur_abcdefghij2345672345", Version: 1, State: till.RefundOwed, Final: true,
			Amount: 700_000, Reason: "no_longer_sold", Created: time.Now(),
			Payment: rail.Payment{Network: cfg.Networks[0].ID, Asset: n.Asset.Hex(), Method: "eip3009", Payer: creditor,
				Nonce: "0x1", Amount: big.NewInt(700_000)},
			Proof: &rail.Proof{Tx: "0x2", Block: 1, LogIndex: 1, BlockTime: time.Now()}}
		if err := ledger.SetJSON(tx, ledger.PurchaseKey(p.ID), p); err != nil {
			return err
		}
		// As an uncredited one is listed: of this purchase there was no step that could have kept
		// it.
		return tx.Set(ledger.BudgetKey("uncredited", "owed", p.Payment.Network, ledger.Number(1), "0x2",
			ledger.Number(1)),
			[]byte(p.ID))
	})
	out, err := keep(t, cfg, "debts")
	if err != nil {
		t.Fatal(err)
	}
	var debt shop.KeeperDebt
	if err := json.Unmarshal([]byte(out), &debt); err != nil || debt.Status != "owed" || debt.OwedUSDC != "0.7" ||
		debt.To != creditor {
		t.Fatal(out, err)
	}
	pay := func(dry bool) (shop.KeeperDebt, error) {
		var d shop.KeeperDebt
		out, err := keep(t, cfg, "pay", debt.DebtID, fmt.Sprintf("-dry-run=%v", dry))
		if err == nil {
			err = json.Unmarshal([]byte(out), &d)
		}
		if strings.Contains(out, n.Buyers[0].Hex()[2:]) {
			t.Error("the key is told")
		}
		return d, err
	}
	if _, err := pay(false); err == nil || !strings.Contains(err.Error(), "payouts.key") {
		t.Errorf("without a key: %v", err)
	}
	for mode, want := range map[os.FileMode]string{0o644: "chmod 600", 0o600: ""} {
		if err := os.WriteFile(cfg.Payouts.Key, []byte(n.Buyers[0].Hex()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(cfg.Payouts.Key, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := pay(true); err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with a key of mode %o: %v", mode, err)
		}
	}
	if err := os.Chmod(cfg.Payouts.Key, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"owed", "signed", "signed"} {
		if d, err := pay(i == 0); err != nil || d.Status != want {
			t.Errorf("time %d: %+v, %v", i, d, err)
		}
	}
	if _, err := keep(t, cfg, "pay", "debt_aaaaaaaaaaaaaaaaaaaa", "-dry-run"); err == nil {
		t.Error("a debt that is none is paid")
	}
}
