package bounty

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
)

// Posting is what the keeper offers.
type Posting struct {
	URL    string
	Reward int64  // atomic units
	Note   string // for whoever reads the board
}

// Post reads a door and puts a reward on the board for buying there once. The door is asked for its
// terms now, and they are what a settlement is compared with. dry writes nothing.
func (d *Service) Post(ctx context.Context, p Posting, dry bool) (Bounty, error) {
	if p.Reward <= 0 || p.Reward > MaxReward {
		return Bounty{}, fmt.Errorf("a reward is more than nothing and at most %s USDC",
			content.FormatUSDC(MaxReward))
	}
	if !utf8.ValidString(p.Note) || utf8.RuneCountInString(p.Note) > MaxNote {
		return Bounty{}, fmt.Errorf("a note is text of at most %d characters", MaxNote)
	}
	door, err := d.cfg.Read(ctx, p.URL)
	if err != nil {
		return Bounty{}, fmt.Errorf("reading the door: %w", err)
	}
	b := Bounty{Door: door, ID: attest.NewID(attest.PrefixBounty), Domain: census.Registrable(door.Host),
		Reward: p.Reward, Note: p.Note}
	if err := d.checkDoor(ctx, &b); err != nil {
		return b, err
	}
	return b, d.cfg.DB.Update(ctx, func(tx ledger.Tx) error { return keep(tx, &b, dry) })
}

// checkDoor demands that a claim on a bounty can be judged, paid and recorded.
func (d *Service) checkDoor(ctx context.Context, b *Bounty) error {
	r := d.nets[b.Network]
	if r == nil {
		return fmt.Errorf("the door is paid on %s, which this store does not know: no purchase there could be judged",
			b.Network)
	}
	if _, ok := r.(rail.Settlements); !ok || !strings.EqualFold(r.Info().Asset, b.Asset) || b.Amount <= 0 {
		return fmt.Errorf("the door asks for %d of %s on %s: a purchase can be judged in %s alone", b.Amount, b.Asset,
			b.Network, r.Info().Symbol)
	}
	walk := record.Observation{Format: record.ObservationFormat, Number: 1, At: "2026-01-01T00:00:00Z",
		Kind: record.ObservationPaidWalk, Walk: walkOf(b, "0x0", nil)}
	if err := walk.Check(); err != nil {
		return fmt.Errorf("a walk through this door could not stand in the record: %w", err)
	}
	if err := d.cfg.Ready(ctx, b.Network); err != nil {
		return err
	}
	head, err := r.Head(ctx)
	if err != nil {
		return fmt.Errorf("reading the head of %s: %w", b.Network, err)
	}
	if b.PayoutNetwork, err = d.paysOn(b.Network); err != nil {
		return err
	}
	final, err := d.nets[b.PayoutNetwork].Final(ctx)
	if err != nil {
		return fmt.Errorf("reading the final block of %s: %w", b.PayoutNetwork, err)
	}
	b.OpenedBlock, b.PayoutBlock = head.Block, final.Block
	return nil
}

// paysOn is the network on which the reward of a purchase on a network is paid: the same one where
// its token knows authorizations, else the first that is configured.
func (d *Service) paysOn(network string) (string, error) {
	if d.cfg.Account == nil {
		return "", errors.New("no rewards are paid: name the account that pays with bounties.key")
	}
	order := slices.Clone(d.cfg.Rails)
	slices.SortStableFunc(order, func(a, b rail.Rail) int {
		first := func(r rail.Rail) int {
			if r.Info().Network == network {
				return 0
			}
			return 1
		}
		return first(a) - first(b)
	})
	for _, r := range order {
		pays, ok := r.(rail.Payouts)
		if !ok {
			continue
		}
		p := &rail.Payment{Network: r.Info().Network, Asset: r.Info().Asset, Method: "eip3009",
			Payer: d.cfg.Account.Address(), PayTo: r.Info().PayTo, Amount: big.NewInt(1), Nonce: "0x0",
			ValidBefore: 1}
		if d.cfg.Account.Sign(p) == nil && pays.CheckPayout(p) == nil {
			return p.Network, nil
		}
	}
	return "", errors.New("no configured network has a token that knows authorizations (EIP-3009), by which rewards " +
		"are paid")
}

// keep stores a new bounty, where its domain has none that is open.
func keep(tx ledger.Tx, b *Bounty, dry bool) error {
	b.Opened = tx.Now().UTC().Truncate(time.Second)
	b.Expires = b.Opened.Add(OpenFor)
	all, err := since(tx, b.Opened.Add(-OpenFor))
	if err != nil {
		return err
	}
	open := 0
	for _, o := range all {
		if o.Status(b.Opened) != StatusOpen {
			continue
		}
		if open++; o.Domain == b.Domain {
			return fmt.Errorf("%s is open for %s already, of which one is paid a week", o.ID, b.Domain)
		}
	}
	if open >= MaxOpen {
		return fmt.Errorf("%d bounties are open, which is as many as may be", MaxOpen)
	}
	if dry {
		return nil
	}
	return errors.Join(ledger.SetJSON(tx, postedKey(b.ID), b), tx.Set(openedKey(b), nil))
}

// since lists the bounties that were posted at a time or later, the newest first.
func since(tx ledger.Tx, at time.Time) ([]Bounty, error) {
	_, end := ledger.Prefix(ledger.BountyKey("opened"))
	return ofKeys(tx, tx.ScanDown(ledger.BountyKey("opened", ledger.Number(uint64(max(0, at.Unix())))), end))
}

// held lists those whose payout is not known to be redeemed.
func held(tx ledger.Tx) ([]Bounty, error) {
	return ofKeys(tx, tx.Scan(ledger.Prefix(ledger.BountyKey("held"))))
}

// ofKeys reads the bounties that keys end with.
func ofKeys(tx ledger.Tx, entries iter.Seq2[ledger.Entry, error]) (all []Bounty, err error) {
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		b, err := named(tx, e.Key)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// named reads the bounty that a key ends with.
func named(tx ledger.Tx, key []byte) (Bounty, error) {
	parts, err := ledger.Parts(key)
	if err != nil {
		return Bounty{}, err
	}
	return bountyOf(tx, parts[len(parts)-1])
}

// All lists the bounties of the last weeks, the newest first, for the keeper.
func (d *Service) All(ctx context.Context) (all []Bounty, now time.Time, err error) {
	err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
		now = tx.Now().UTC()
		all, err = since(tx, now.Add(-Shown))
		return err
	})
	return all, now, err
}
