package till

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Paying back (M9). The payout account's key is never in a process that serves: the keeper's
// command signs, and hands the signature in here. What is signed is an authorization that whoever
// has it may redeem, and that pays its creditor alone, once: its nonce is the debt's for ever, so
// that to sign it again, or to redeem it twice, is harmless. That holds for one account. A payout
// of another account is taken only once those of the first can be redeemed no more.

// PayoutFor is how long a payout may be redeemed.
const PayoutFor = 30 * 24 * time.Hour

// payoutSkew is how far the clock of who signs may be ahead, and how long past its end a payout is
// held to be good still.
const payoutSkew = time.Hour

// Float is what the account that pays has, and what is signed for it and not redeemed.
type Float struct {
	Account  string
	Balance  *big.Int
	Promised int64 // atomic units, without the debt in hand
}

// ShortError says that the account that pays has too little.
type ShortError struct {
	Float
	Network string
	Needs   int64
}

// Error implements error.
func (e *ShortError) Error() string {
	return fmt.Sprintf("the payout account %s has %s USDC on %s, of which %s are signed for and not redeemed: it "+
		"needs %s more", e.Account, usdc(e.Balance.Int64()), e.Network, usdc(e.Promised),
		usdc(e.Promised+e.Needs-e.Balance.Int64()))
}

// Reasons why a debt is not paid now.
var (
	ErrNoDebt  = errors.New("no debt has this id")
	ErrPaid    = errors.New("the debt is paid already")
	ErrNotNow  = errors.New("the Transfer that made the debt is not final yet: try in a few minutes")
	ErrByHand  = errors.New("on this network a debt is paid by hand, and noted with store keeper paid")
	errOther   = errors.New("another account has signed a payout that can still be redeemed: wait until it has expired")
	errRedeems = errors.New("the payout is being redeemed, in a block that is not final yet")
)

// Debt finds one.
func (t *Till) Debt(ctx context.Context, id string) (Debt, error) {
	all, err := t.Debts(ctx, true)
	if err != nil {
		return Debt{}, err
	}
	i := slices.IndexFunc(all, func(d Debt) bool { return d.ID == id })
	if i < 0 {
		return Debt{}, ErrNoDebt
	}
	return all[i], nil
}

// PayOut takes a signed payout of a debt in, and signs the debt as the store for its creditor.
// Where dry is set it says what would come of it and writes nothing. One that was redeemed already,
// which a ledger that was restored may not know, is noted as paid.
func (t *Till) PayOut(ctx context.Context, id string, o Payout, dry bool) (Debt, error) {
	d, err := t.Debt(ctx, id)
	if err != nil {
		return d, err
	}
	pay := d.Payment(o.From, o.ValidBefore)
	pay.Signature = o.Signature
	r, err := t.payable(&d, pay)
	if err != nil {
		return d, err
	}
	red, err := r.(rail.Payouts).Redeemed(ctx, pay, d.Purchase.Proof.Block)
	if err != nil {
		return d, fmt.Errorf("asking the chain: %w", err)
	}
	if red.Proof != nil {
		if !dry {
			err = t.notePaid(ctx, &d, red.Proof)
		}
		return d, errors.Join(err, ErrPaid)
	}
	if red.Used && red.Trouble == "" {
		return d, errRedeems
	}
	if err := otherAccount(&d, o, red.Final); err != nil {
		return d, err
	}
	f := Float{Account: o.From, Balance: red.Balance}
	if f.Promised, err = t.promised(ctx, &d, o.From); err != nil {
		return d, err
	}
	if new(big.Int).Sub(f.Balance, big.NewInt(f.Promised)).Cmp(big.NewInt(d.Purchase.Amount)) < 0 {
		return d, &ShortError{f, r.Info().Name, d.Purchase.Amount}
	}
	if d.Trouble = red.Trouble; dry {
		return d, nil
	}
	if err := t.keepPayout(ctx, &d, o, red.Trouble); err != nil {
		return d, err
	}
	return t.Debt(ctx, id)
}

// payable demands that a debt can be paid now, by such an authorization.
func (t *Till) payable(d *Debt, pay *rail.Payment) (rail.Rail, error) {
	r := t.byNet[pay.Network]
	if r == nil {
		return nil, fmt.Errorf("network %s is not configured", pay.Network)
	}
	payer, ok := r.(rail.Payouts)
	left := time.Until(time.Unix(pay.ValidBefore, 0))
	info := r.Info()
	same := func(a string) bool { return strings.EqualFold(a, pay.Payer) }
	switch {
	case d.Status == DebtPaid:
		return nil, ErrPaid
	case !ok:
		return nil, ErrByHand
	case !d.Purchase.Final:
		return nil, ErrNotNow
	case same(info.PayTo) || slices.ContainsFunc(info.Accounts, same):
		return nil, errors.New("the payout account is one of the store's others: give it a key of its own")
	case left <= 0 || left > PayoutFor+payoutSkew:
		return nil, fmt.Errorf("a payout is valid for at most %d days from now", PayoutFor/(24*time.Hour))
	}
	return r, payer.CheckPayout(pay)
}

// otherAccount refuses a payout while one of another account may still be redeemed.
func otherAccount(d *Debt, o Payout, final time.Time) error {
	for _, old := range d.Payouts {
		if !strings.EqualFold(old.From, o.From) && final.Before(time.Unix(old.ValidBefore, 0).Add(payoutSkew)) {
			return errOther
		}
	}
	return nil
}

// promised is what an account has signed for, on the network of a debt and without it.
func (t *Till) promised(ctx context.Context, d *Debt, account string) (sum int64, err error) {
	all, err := t.Debts(ctx, false)
	for _, x := range all {
		if x.Status == DebtSigned && x.ID != d.ID && x.Purchase.Payment.Network == d.Purchase.Payment.Network &&
			strings.EqualFold(x.Payouts[len(x.Payouts)-1].From, account) {
			sum += x.Purchase.Amount
		}
	}
	return sum, err
}

// keepPayout stores a payout, and the debt as it is signed for its creditor.
func (t *Till) keepPayout(ctx context.Context, d *Debt, o Payout, trouble string) error {
	return t.changeDebt(ctx, d, func(tx ledger.Tx, rec *debtRecord) error {
		if rec.Paid != nil {
			return ErrPaid
		}
		was := Debt{Payouts: rec.Payouts}
		if err := otherAccount(&was, o, tx.Now()); err != nil {
			return err
		}
		o.At = tx.Now().UTC().Truncate(time.Second)
		rec.Payouts, rec.Trouble, rec.Checked = append(rec.Payouts, o), trouble, o.At
		p := d.Purchase
		proof, err := attest.SignPayload(t.signer(), attest.Debt{DebtID: d.ID, Class: attest.ClassDebt,
			Date: o.At.Format(time.RFC3339), Kind: d.Kind, OwedUSDC: usdc(p.Amount),
			Value: strconv.FormatInt(p.Amount, 10), Network: p.Payment.Network, Asset: p.Payment.Asset, From: o.From,
			To: p.Payment.Payer, ValidAfter: "0", ValidBefore: strconv.FormatInt(o.ValidBefore, 10), Nonce: d.Nonce,
			Signature: fmt.Sprintf("0x%x", o.Signature), SettlementTx: p.Proof.Tx, FromTheStore: t.cfg.BaseURL})
		if err != nil {
			return err
		}
		return ledger.SetJSON(tx, ledger.ArtifactKey(d.ID, p.ID), SignedArtifact{ID: d.ID, Class: attest.ClassDebt,
			Purchase: p.ID, Item: p.Item, Proof: proof})
	})
}

// changeDebt changes what is kept of a debt.
func (t *Till) changeDebt(ctx context.Context, d *Debt, f func(ledger.Tx, *debtRecord) error) error {
	return t.update(ctx, func(tx ledger.Tx) error {
		rec, err := ledger.GetJSON[debtRecord](tx, ledger.DebtKey(d.ID))
		if errors.Is(err, errNotFound) {
			rec, err = debtRecord{Purchase: d.Purchase.ID}, nil
		}
		if err != nil {
			return err
		}
		if err := f(tx, &rec); err != nil {
			return err
		}
		return ledger.SetJSON(tx, ledger.DebtKey(d.ID), rec)
	})
}

func (t *Till) notePaid(ctx context.Context, d *Debt, proof *rail.Proof) error {
	err := t.changeDebt(ctx, d, func(_ ledger.Tx, rec *debtRecord) error {
		rec.Paid, rec.Trouble = proof, ""
		return nil
	})
	if err == nil {
		d.Paid, d.Status, d.Trouble = proof, DebtPaid, ""
	}
	return err
}

// PaidByHand notes that the keeper paid a debt himself, by a transaction, where nothing can be
// signed: it is his word. It is refused while a payout may still be redeemed.
func (t *Till) PaidByHand(ctx context.Context, id, transaction string, dry bool) (Debt, error) {
	d, err := t.Debt(ctx, id)
	switch {
	case err != nil:
		return d, err
	case d.Status == DebtPaid:
		return d, ErrPaid
	case !d.Purchase.Final:
		return d, ErrNotNow
	case len(d.Payouts) > 0 &&
		time.Now().Before(time.Unix(d.Payouts[len(d.Payouts)-1].ValidBefore, 0).Add(payoutSkew)):
		return d, errors.New("a payout is signed that can still be redeemed: the debt would be paid twice")
	case dry:
		return d, nil
	}
	now := time.Now().UTC().Truncate(time.Second)
	return d, t.notePaid(ctx, &d, &rail.Proof{Tx: transaction, BlockTime: now, ByOther: true})
}

// LookAtPayouts asks the chains what became of the payouts that are not known to be redeemed: those
// that are, are paid; of one that would fail the reason is kept. It returns what changed.
func (t *Till) LookAtPayouts(ctx context.Context) (changed []Debt, err error) {
	all, err := t.Debts(ctx, false)
	var errs []error
	for _, d := range all {
		if len(d.Payouts) == 0 {
			continue
		}
		is, err := t.lookAtPayout(ctx, &d)
		if errs = append(errs, err); is {
			changed = append(changed, d)
		}
	}
	return changed, errors.Join(append(errs, err)...)
}

func (t *Till) lookAtPayout(ctx context.Context, d *Debt) (changed bool, err error) {
	r, ok := t.byNet[d.Purchase.Payment.Network].(rail.Payouts)
	if !ok {
		return false, nil
	}
	o := d.Payouts[len(d.Payouts)-1]
	pay := d.Payment(o.From, o.ValidBefore)
	pay.Signature = o.Signature
	red, err := r.Redeemed(ctx, pay, d.Purchase.Proof.Block)
	switch {
	case err != nil:
		return false, fmt.Errorf("debt %s: %w", d.ID, err)
	case red.Proof != nil:
		return true, t.notePaid(ctx, d, red.Proof)
	case red.Trouble == d.Trouble:
		return false, nil
	}
	d.Trouble = red.Trouble
	return true, t.changeDebt(ctx, d, func(tx ledger.Tx, rec *debtRecord) error {
		rec.Trouble, rec.Checked = red.Trouble, tx.Now()
		return nil
	})
}
