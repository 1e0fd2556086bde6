package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/buyer"
)

// escrowWord is what store buy does with money of the wallet's that lies in an escrow. run gives
// what it shows.
type escrowWord struct {
	word
	run func(ctx context.Context, b *buyer.Buyer, f *buyFlags, of string) (any, error)
}

var escrows = []escrowWord{
	{word{name: "channels", short: "list the channels of the journal, which pay for purchases by voucher"},
		func(ctx context.Context, b *buyer.Buyer, _ *buyFlags, _ string) (any, error) { return b.Channels(ctx) }},
	{word{name: "refund", about: "URL | CHANNEL", short: "ask the door for what is left of a channel"},
		func(ctx context.Context, b *buyer.Buyer, f *buyFlags, of string) (any, error) {
			amount := int64(0)
			if f.amount != "" {
				var err error
				if amount, err = content.ParseUSDC(f.amount); err != nil {
					return nil, because(errUsage, "-amount: %w", err)
				}
			}
			return b.Refund(ctx, of, amount)
		}},
	{word{name: "withdraw", about: "URL | CHANNEL",
		short: "take it back without the door: once to begin, once more after the channel's delay"},
		func(ctx context.Context, b *buyer.Buyer, _ *buyFlags, of string) (any, error) {
			return b.Withdraw(ctx, of)
		}},
	{word{name: "holds", short: "list the payments of the journal that an escrow holds or held"},
		func(ctx context.Context, b *buyer.Buyer, _ *buyFlags, _ string) (any, error) { return b.Holds(ctx) }},
	{word{name: "reclaim", about: "PURCHASE", short: "take a payment back that is still held after its deadline"},
		func(ctx context.Context, b *buyer.Buyer, _ *buyFlags, of string) (any, error) {
			return b.Reclaim(ctx, of)
		}},
}

// escrowWords is the table of the help.
func escrowWords() (words []word) {
	for _, e := range escrows {
		words = append(words, e.word)
	}
	return words
}

// escrow runs a word after store buy; ok is false where there is none.
func (c *call) escrow(ctx context.Context, f *buyFlags) (ok bool, err error) {
	i := slices.IndexFunc(escrows, func(e escrowWord) bool { return e.name == c.flags.Arg(0) })
	if i < 0 {
		return false, nil
	}
	e := escrows[i]
	if want := 1 + min(1, len(e.about)); c.flags.NArg() != want {
		return true, because(errUsage, "called as: store buy %s", strings.TrimSpace(e.name+" "+e.about))
	}
	cfg, _, err := f.buyer()
	if err != nil {
		return true, err
	}
	cfg.Log = c.logger
	b, err := buyer.New(cfg)
	if err != nil {
		return true, err
	}
	shown, err := e.run(ctx, b, f, c.flags.Arg(1))
	if serr := c.showEscrow(shown, f.json); serr != nil {
		return true, errors.Join(err, serr)
	}
	_, refused := errors.AsType[*buyer.DoorError](err)
	if refused || errors.Is(err, buyer.ErrEarly) || errors.Is(err, buyer.ErrNothing) {
		err = because(errNo, "%w", err)
	}
	return true, err
}

// showEscrow prints channels and holds.
func (c *call) showEscrow(v any, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(c.stdout).Encode(v)
	}
	switch v := v.(type) {
	case []*buyer.ChannelView:
		if len(v) == 0 {
			fmt.Fprintln(c.stdout, "no channel is in the journal: -journal names its folder")
		}
		for _, one := range v {
			c.showChannel(one)
		}
	case *buyer.ChannelView:
		if v != nil {
			c.showChannel(v)
		}
	case []*buyer.HoldView:
		if len(v) == 0 {
			fmt.Fprintln(c.stdout, "no payment of the journal is held: -journal names its folder")
		}
		for _, one := range v {
			c.showHold(one)
		}
	case *buyer.HoldView:
		if v != nil {
			c.showHold(v)
		}
	}
	return nil
}

// line prints a name with its value, nothing where that is empty.
func (c *call) line(name, value string) {
	if value != "" {
		fmt.Fprintf(c.stdout, "%-12s%s\n", name, value)
	}
}

func (c *call) showChannel(v *buyer.ChannelView) {
	usdc := func(n int64) string { return content.FormatUSDC(n) + " USDC" }
	c.line("Channel", v.Channel.ID)
	c.line("Network", v.Network)
	c.line("Door", v.Door)
	c.line("Receiver", v.Channel.Receiver)
	c.line("Left", fmt.Sprintf("%s of %s", usdc(v.Left), usdc(v.Balance)))
	c.line("Refused", v.Refused)
	c.line("Open", v.Open)
	if v.Withdrawing > 0 {
		c.line("Withdrawing", fmt.Sprintf("%s, which store buy withdraw ends from %s on", usdc(v.Withdrawing),
			v.Finalize.Format(time.RFC3339)))
	}
	c.line("Transaction", v.Transaction)
}

func (c *call) showHold(v *buyer.HoldView) {
	c.line("Purchase", v.Purchase)
	c.line("Network", v.Network)
	c.line("Door", v.Door)
	c.line("Held", content.FormatUSDC(v.Amount)+" USDC")
	c.line("State", v.State)
	c.line("Reclaim", "from "+v.Reclaim.Format(time.RFC3339)+" on")
	c.line("Transaction", v.Transaction)
}
