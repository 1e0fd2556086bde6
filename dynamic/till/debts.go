package till

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
)

// What is owed (M9). A debt is of one final Transfer: what it brought is owed to who paid it, with
// the tip, on the same network. It is named, and its payout numbered, by that Transfer and nothing
// else, so that the debts of a store that was restored, where the same money may be owed for
// another reason and under another purchase, are the same debts, and none is paid twice.
//
//	debt/<debt id>   debtRecord: of a refund since it is final, of others since a payout is signed

// Why something is owed.
const (
	DebtRefund = "refund" // the money bought nothing
	DebtWindow = "window" // the order was not completed within its window
)

// How a debt stands.
const (
	DebtOwed    = "owed"    // nothing is signed for it
	DebtSigned  = "signed"  // a payout is signed that its creditor may redeem
	DebtExpired = "expired" // the signed payout can be redeemed no more; it may be signed anew
	DebtPaid    = "paid"    // in a block that is final
)

// debtRecord is what the ledger keeps of a debt beside its purchase.
type debtRecord struct {
	Purchase string      `json:"purchase"`
	Payouts  []Payout    `json:"payouts,omitzero"` // oldest first
	Trouble  string      `json:"trouble,omitzero"` // why the newest could not be redeemed when it was tried last
	Paid     *rail.Proof `json:"paid,omitzero"`
	Checked  time.Time   `json:"checked,omitzero"` // when the chain was asked last
}

// Payout is a signed authorization that pays a debt: EIP-3009, of the payout account.
type Payout struct {
	From        string    `json:"from"`
	ValidBefore int64     `json:"valid_before"` // Unix seconds
	Signature   []byte    `json:"signature"`
	At          time.Time `json:"at"`
}

// Debt is something that is owed, and how it stands.
type Debt struct {
	ID       string
	Kind     string
	Status   string
	Purchase *Purchase
	OrderID  string    // of a window debt
	Since    time.Time // when it came to be owed
	Reason   string
	Nonce    string // of every payout of it
	Payouts  []Payout
	Trouble  string
	Paid     *rail.Proof
}

// Payment is the authorization that pays the debt from an account, valid until a time.
func (d *Debt) Payment(from string, validBefore int64) *rail.Payment {
	p := d.Purchase.Payment
	return &rail.Payment{Network: p.Network, Asset: p.Asset, Method: "eip3009", Payer: from, Nonce: d.Nonce,
		PayTo: p.Payer, Amount: big.NewInt(d.Purchase.Amount), ValidBefore: validBefore}
}

// debtOf names the debt of a transfer, and the nonce of its payout.
func (t *Till) debtOf(network string, proof *rail.Proof) (id, nonce string) {
	transfer := strings.Join([]string{t.cfg.BaseURL, "debt", network, proof.Tx, fmt.Sprint(proof.LogIndex)}, "\x00")
	m := derive(t.cfg.Secret, "store-debt/v1\x00"+transfer)
	n := wallet.Keccak256([]byte("store-payout/v1\x00" + transfer))
	return attest.PrefixDebt + attest.Base32.EncodeToString(m)[:20], fmt.Sprintf("0x%x", n)
}

// DebtID names what is owed for a purchase that was paid for.
func (t *Till) DebtID(p *Purchase) string {
	id, _ := t.debtOf(p.Payment.Network, p.Proof)
	return id
}

// keepDebt notes that what a final purchase brought is owed.
func (t *Till) keepDebt(tx ledger.Tx, p *Purchase) error {
	if !p.Owed() || !p.Final || p.Proof == nil {
		return nil
	}
	id, _ := t.debtOf(p.Payment.Network, p.Proof)
	if _, err := tx.Get(ledger.DebtKey(id)); !errors.Is(err, errNotFound) {
		return err
	}
	return ledger.SetJSON(tx, ledger.DebtKey(id), debtRecord{Purchase: p.ID})
}

// Debts are what is owed, the oldest first: refunds, and orders past their window. With all those
// that are paid, too.
func (t *Till) Debts(ctx context.Context, all bool) (list []Debt, err error) {
	orders, err := t.orders(ctx, func(HumanOrder) bool { return true })
	if err != nil {
		return nil, err
	}
	err = t.view(ctx, func(tx ledger.Tx) error {
		list = nil
		records, err := debtRecords(tx)
		if err != nil {
			return err
		}
		for _, o := range orders {
			if _, kept := records[o.Purchase.ID]; !kept && o.Owed() {
				records[o.Purchase.ID] = debtRecord{Purchase: o.Purchase.ID}
			}
		}
		for _, rec := range records {
			p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(rec.Purchase))
			if err != nil {
				return err
			}
			if d := t.debt(tx.Now(), rec, &p, orders); all || d.Status != DebtPaid {
				list = append(list, d)
			}
		}
		return nil
	})
	slices.SortFunc(list, func(a, b Debt) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
	})
	return list, err
}

// debtRecords are those of refunds, and of what a payout is signed for, by purchase.
func debtRecords(tx ledger.Tx) (map[string]debtRecord, error) {
	records := map[string]debtRecord{}
	for rec, err := range ledger.Values[debtRecord](tx.Scan(ledger.Debts())) {
		if err != nil {
			return nil, err
		}
		records[rec.Purchase] = rec
	}
	for e, err := range tx.Scan(ledger.Prefix(uncreditedKey("owed"))) {
		if err != nil {
			return nil, err
		}
		if _, kept := records[string(e.Value)]; !kept {
			records[string(e.Value)] = debtRecord{Purchase: string(e.Value)}
		}
	}
	return records, nil
}

// debt puts a debt together from what is kept of it and of its purchase.
func (t *Till) debt(now time.Time, rec debtRecord, p *Purchase, orders []HumanOrder) Debt {
	d := Debt{Kind: DebtRefund, Purchase: p, Since: p.Proof.BlockTime, Reason: p.Reason, Payouts: rec.Payouts,
		Trouble: rec.Trouble, Paid: rec.Paid, Status: DebtOwed}
	d.ID, d.Nonce = t.debtOf(p.Payment.Network, p.Proof)
	i := slices.IndexFunc(orders, func(o HumanOrder) bool { return o.Purchase.ID == p.ID })
	if i >= 0 && p.Held == nil { // of what was held no window is owed
		o := orders[i]
		d.Kind, d.OrderID, d.Since = DebtWindow, o.ID, o.Work.DueAt
		d.Reason = "the order was not completed within its window"
		if o.Launch != nil && o.Launch.Owed() {
			d.Since, d.Reason = o.Work.CompletedAt, "the door could not be bought at: "+o.Launch.NotWalked
		}
	}
	switch n := len(rec.Payouts); {
	case rec.Paid != nil:
		d.Status = DebtPaid
	case n > 0 && now.Unix() >= rec.Payouts[n-1].ValidBefore:
		d.Status = DebtExpired
	case n > 0:
		d.Status = DebtSigned
	}
	return d
}

// Unknown are the purchases of which it is not known whether they are paid for, those that are paid
// for and wait for an upstream, and those whose money came late and is not final yet, as many as
// are given at most, and how many there are.
func (t *Till) Unknown(ctx context.Context, most int) (list []Purchase, n int, err error) {
	err = t.view(ctx, func(tx ledger.Tx) error {
		list, n = nil, 0
		tasks, err := schedule.Tasks(tx, jobPurchase)
		if err != nil {
			return err
		}
		for _, task := range tasks {
			p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(task.ID))
			if err != nil {
				return err
			}
			if p.State != Unknown && p.State != Asking && p.State != SettledLate && p.State != RefundOwed {
				continue
			}
			if n++; len(list) < most {
				list = append(list, p)
			}
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b Purchase) int { return a.Created.Compare(b.Created) })
	return list, n, err
}
