package bounty

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
)

// The payout of a bounty is numbered by the bounty and nothing else (M9): to sign it again, or to
// redeem it twice, is harmless, also by a ledger that was restored and has forgotten it.

// payoutSkew is how long past its end a payout is held to be good still, and how long before it is
// signed anew.
const payoutSkew = time.Hour

// payment is the authorization that pays a reward from an account, valid until a time.
func (d *Service) payment(b *Bounty, from string, validBefore int64) (*rail.Payment, error) {
	r := d.nets[b.PayoutNetwork]
	if r == nil {
		return nil, fmt.Errorf("network %s, on which %s is paid, is not configured", b.PayoutNetwork, b.ID)
	}
	name := strings.Join([]string{d.cfg.BaseURL, "bounty", b.ID}, "\x00")
	return &rail.Payment{Network: b.PayoutNetwork, Asset: r.Info().Asset, Method: "eip3009", Payer: from,
		Nonce: fmt.Sprintf("0x%x", wallet.Keccak256([]byte("store-payout/v1\x00"+name))), PayTo: b.Claim.PayoutTo,
		Amount: big.NewInt(b.Reward), ValidBefore: validBefore}, nil
}

// sign signs a payout of a claimed bounty, and the same as the store for whoever verifies it.
func (d *Service) sign(b *Bounty, now time.Time) error {
	o := Payout{From: d.cfg.Account.Address(), ValidBefore: now.Add(PayoutFor).Unix(), At: now}
	p, err := d.payment(b, o.From, o.ValidBefore)
	if err != nil {
		return err
	}
	if err := d.cfg.Account.Sign(p); err != nil {
		return err
	}
	o.Signature = p.Signature
	proof, err := attest.SignPayload(d.cfg.Key, attest.Bounty{BountyID: b.ID, Class: attest.ClassBounty,
		Date: now.Format(time.RFC3339), TargetURL: b.URL, RewardUSDC: content.FormatUSDC(b.Reward),
		Value: strconv.FormatInt(b.Reward, 10), Network: p.Network, Asset: p.Asset, From: o.From, To: p.PayTo,
		ValidAfter: "0", ValidBefore: strconv.FormatInt(o.ValidBefore, 10), Nonce: p.Nonce,
		Signature: fmt.Sprintf("0x%x", o.Signature), SettlementNetwork: b.Network, SettlementTx: b.Claim.Tx,
		FromTheStore: d.cfg.BaseURL})
	if err == nil {
		_, err = attest.ParseArtifact([]byte(proof.SignedPayload))
	}
	if err != nil {
		return fmt.Errorf("signing the payout of %s: %w", b.ID, err)
	}
	b.Claim.Payouts, b.Claim.Proof, b.Claim.Trouble = append(b.Claim.Payouts, o), proof, ""
	return nil
}

// Signed finds the payout of a bounty as the store signed it; ok is false where none is.
func (d *Service) Signed(ctx context.Context, id string) (proof attest.Proof, ok bool, err error) {
	b, _, err := d.Bounty(ctx, id)
	if errors.Is(err, ErrNone) || err == nil && b.Claim == nil {
		return proof, false, nil
	}
	if err != nil {
		return proof, false, err
	}
	return b.Claim.Proof, true, nil
}

// redeemed asks the chain what became of a bounty's newest payout.
func (d *Service) redeemed(ctx context.Context, b *Bounty) (rail.Redemption, error) {
	o := b.Claim.Payouts[len(b.Claim.Payouts)-1]
	p, err := d.payment(b, o.From, o.ValidBefore)
	if err != nil {
		return rail.Redemption{}, err
	}
	p.Signature = o.Signature
	pays, ok := d.nets[b.PayoutNetwork].(rail.Payouts)
	if !ok {
		return rail.Redemption{}, fmt.Errorf("on %s no payouts can be read", b.PayoutNetwork)
	}
	return pays.Redeemed(ctx, p, b.PayoutBlock)
}

// note keeps what the chain said of a payout, and reports whether that is something new.
func (d *Service) note(ctx context.Context, b *Bounty, red rail.Redemption) (news bool, err error) {
	if red.Proof == nil && red.Trouble == b.Claim.Trouble {
		return false, nil
	}
	return true, d.change(ctx, b, func(tx ledger.Tx, c *Claim) error {
		if c.Trouble = red.Trouble; red.Proof == nil || c.Paid != nil {
			return nil
		}
		c.Paid, c.Trouble = red.Proof, ""
		return tx.Delete(heldKey(b.ID))
	})
}

// change changes a bounty's claim.
func (d *Service) change(ctx context.Context, b *Bounty, f func(ledger.Tx, *Claim) error) error {
	return d.cfg.DB.Update(ctx, func(tx ledger.Tx) error {
		now, err := bountyOf(tx, b.ID)
		if err != nil {
			return err
		}
		if err := f(tx, now.Claim); err != nil {
			return err
		}
		*b = now
		return ledger.SetJSON(tx, postedKey(b.ID), now)
	})
}

// renew signs the payout of a claim anew where it can be redeemed no more, or soon no more. It is
// of the same number, so that both together pay once; only of another account than the last it
// would be another payment, and then the last has to be past its end on the chain, too.
func (d *Service) renew(ctx context.Context, b *Bounty, now time.Time) error {
	last := b.Claim.Payouts[len(b.Claim.Payouts)-1]
	end := time.Unix(last.ValidBefore, 0)
	if b.Claim.Paid != nil || now.Before(end.Add(-payoutSkew)) {
		return nil
	}
	if d.cfg.Account == nil {
		return errNoPayouts
	}
	if err := d.screened(b.Claim.Payer, b.Claim.PayoutTo); err != nil {
		return err
	}
	red, err := d.redeemed(ctx, b)
	if err != nil {
		return unread(b.PayoutNetwork, err)
	}
	if _, err := d.note(ctx, b, red); err != nil || red.Proof != nil {
		return err
	}
	same := strings.EqualFold(last.From, d.cfg.Account.Address())
	if red.Used || !same && red.Final.Before(end.Add(payoutSkew)) {
		return nil // it is being redeemed, or another account's is still good
	}
	return d.change(ctx, b, func(tx ledger.Tx, c *Claim) error {
		if c.Paid != nil || c.Payouts[len(c.Payouts)-1].ValidBefore != last.ValidBefore {
			return nil // somebody was quicker
		}
		claimed := *b
		claimed.Claim = c
		return d.sign(&claimed, tx.Now().UTC().Truncate(time.Second))
	})
}

// Float is what the account that pays has on a network, and what it has signed for there.
type Float struct {
	Network  string
	Account  string
	Balance  *big.Int
	Promised int64 // atomic units, not redeemed
}

// Short reports whether what was signed for cannot all be redeemed.
func (f Float) Short() bool {
	return f.Balance != nil && f.Balance.Cmp(big.NewInt(f.Promised)) < 0
}

// String says it for people.
func (f Float) String() string {
	return fmt.Sprintf("the account %s has %s USDC on %s, and has signed for %s", f.Account,
		content.FormatUSDC(f.Balance.Int64()), f.Network, content.FormatUSDC(f.Promised))
}

// readFloat reads the account that pays on a network, and what is signed for there.
func (d *Service) readFloat(ctx context.Context, network string) (f Float, err error) {
	if d.cfg.Account == nil || d.nets[network] == nil {
		return f, errNoPayouts
	}
	f = Float{Network: network, Account: d.cfg.Account.Address()}
	funds, err := d.nets[network].Funds(ctx, f.Account, nil)
	if err != nil {
		return f, fmt.Errorf("reading what the account that pays rewards has on %s: %w", network, err)
	}
	f.Balance = funds.Balance
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		f.Promised = 0
		all, err := held(tx)
		for _, b := range all {
			if n := len(b.Claim.Payouts); b.PayoutNetwork == network &&
				strings.EqualFold(b.Claim.Payouts[n-1].From, f.Account) {
				f.Promised += b.Reward
			}
		}
		return err
	})
	if err == nil {
		d.mu.Lock()
		d.float[network] = f
		d.mu.Unlock()
	}
	return f, err
}

// Every is how often the chains are asked what became of payouts, and what is left to pay with.
const Every = 10 * time.Minute

// Refresh asks the chains what became of the payouts that are not known to be redeemed, and reads
// the float of each network on which rewards are paid.
func (d *Service) Refresh(ctx context.Context) error {
	var all []Bounty
	nets := map[string]bool{}
	err := d.cfg.DB.View(ctx, func(tx ledger.Tx) (err error) {
		if all, err = held(tx); err != nil {
			return err
		}
		open, err := since(tx, tx.Now().Add(-OpenFor))
		for _, b := range append(open, all...) {
			nets[b.PayoutNetwork] = true
		}
		return err
	})
	errs := []error{err}
	for _, b := range all {
		red, err := d.redeemed(ctx, &b)
		if err != nil {
			errs = append(errs, fmt.Errorf("payout of %s: %w", b.ID, err))
			continue
		}
		news, err := d.note(ctx, &b, red)
		if errs = append(errs, err); news {
			d.cfg.Log.Info("a bounty's payout", "bounty", b.ID, "trouble", b.Claim.Trouble, "usdc",
				content.FormatUSDC(b.Reward), "paid", b.Claim.Paid != nil)
		}
	}
	for network := range nets {
		if d.cfg.Account != nil && d.nets[network] != nil {
			_, err := d.readFloat(ctx, network)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Run looks every now and then, until ctx ends. Any number of processes may: what is found is noted
// once.
func (d *Service) Run(ctx context.Context) error {
	return schedule.Every(ctx, Every, func(ctx context.Context) {
		if err := d.Refresh(ctx); err != nil && ctx.Err() == nil {
			d.cfg.Log.Warn("what became of bounties' payouts is not known", "err", err)
		}
	})
}
