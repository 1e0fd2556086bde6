package bounty

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"store.example/agentstore/dynamic/feed"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/problem"
)

// refuse is a claim that is not taken, for a reason of its own.
func refuse(code, detail, next string) *problem.Error {
	return &problem.Error{Code: code, Detail: "Nothing was taken: " + lower(detail), Next: next}
}

func lower(s string) string { return string(s[0]|0x20) + s[1:] }

// errNoPayouts answers a claim while there is no account that pays.
var errNoPayouts = &problem.Error{Code: "payouts_disabled",
	Detail: "Nothing was taken: this store pays no rewards at the moment.",
	Next:   "payouts_enabled in GET /api/bounties says when it does again. Buy at no door for a bounty before that."}

// unread answers where a chain cannot be asked.
func unread(network string, err error) *problem.Error {
	return &problem.Error{Code: "settlement_unavailable", Retry: 30 * time.Second, Err: err,
		Detail: "Nothing was taken: " + network + " cannot be read at the moment.",
		Next:   "Send the same claim again after the time in Retry-After."}
}

// down is the answer to an error of the ledger's; a refusal passes as it is.
func down(err error) error {
	if _, said := errors.AsType[*problem.Error](err); err == nil || said {
		return err
	}
	if errors.Is(err, feed.ErrShut) {
		return &problem.Error{Code: "store_closed", Detail: "Nothing was taken: the store is closed after a restore.",
			Next: "Send the same claim again later."}
	}
	detail := "Nothing was taken: the ledger cannot be reached."
	if errors.Is(err, ledger.ErrUnknown) {
		detail = "The ledger did not say whether the claim was taken."
	}
	return &problem.Error{Code: "ledger_unavailable", Retry: 5 * time.Second, Detail: detail, Err: err,
		Next: "Send the same claim again shortly: one that was taken gets the same answer."}
}

// claimed is the answer to a claim that was taken.
func (d *Service) claimed(ctx context.Context, b *Bounty, now time.Time) Claimed {
	c := b.Claim
	o := c.Payouts[len(c.Payouts)-1]
	out := Claimed{BountyID: b.ID, Status: b.Status(now), RewardUSD: usd(b.Reward),
		Reward: strconv.FormatInt(b.Reward, 10), VerifyURL: d.cfg.BaseURL + "/api/verify/" + b.ID,
		Observation: fmt.Sprintf("observation_%d", c.Observation),
		Verified: []string{
			"transaction " + c.Tx + " is in a final block of " + b.Network,
			fmt.Sprintf("in it %s paid exactly %d atomic units of %s to %s", c.Payer, b.Amount, b.Asset, b.PayTo),
			"the block is later than the one at which the bounty was posted",
		},
		NotVerified: []string{
			"what the door delivered: report is your word, and is published as that",
			"that payer and seller are different people: they are different wallets",
		},
		NextStep: "Redeem payout, or have anybody do so: it pays payout_to alone, once. When it has expired, send " +
			"the same claim again for a fresh one."}
	out.Payout = PayoutView{Method: "eip3009_transfer_with_authorization", Chain: b.PayoutNetwork,
		Signature: fmt.Sprintf("0x%x", o.Signature), Trouble: c.Trouble,
		HowToRedeem: "Call transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, signature) of " +
			"asset on chain, from any account that has gas there."}
	if p, err := d.payment(b, o.From, o.ValidBefore); err == nil {
		out.Payout.Asset, out.Payout.Authorization = p.Asset, Authorization{From: p.Payer, To: p.PayTo,
			Value: p.Amount.String(), ValidAfter: "0", ValidBefore: strconv.FormatInt(o.ValidBefore, 10),
			Nonce: p.Nonce}
	}
	if c.Paid != nil {
		out.Payout.PaidTx, out.NextStep = c.Paid.Tx, "Nothing: the reward was redeemed."
		return out
	}
	// Who comes when there is nothing to pay with is told, and so is the keeper.
	if f, err := d.readFloat(ctx, b.PayoutNetwork); err == nil && f.Short() {
		out.Payout.Trouble = f.String() + ": the keeper has been told; the authorization is good until it expires, " +
			"and can be had anew"
	}
	return out
}

// usd is an amount for people and programs that reckon in dollars.
func usd(atomic int64) float64 { return float64(atomic) / 1e6 }
