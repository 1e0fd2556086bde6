package buyer

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// channelFormat is the first member of every record of a channel.
const channelFormat = "store-channel/v1"

// channel is what a journal knows of a channel of ours (x402 scheme batch-settlement). It is
// replaced before anything that was signed for the channel is sent, and when an answer is there.
// Amounts are atomic units.
type channel struct {
	Format  string       `json:"format"`
	Network string       `json:"network"`
	Channel rail.Channel `json:"channel"`
	Door    string       `json:"door"` // at which it was used last, without the query
	// Charged is what was spent of it in all, and Balance what was put in and not given back.
	Charged int64 `json:"charged"`
	Balance int64 `json:"balance"`
	Claimed int64 `json:"claimed"` // of what was spent, as the chain had it last
	// Max is the most that was signed for, in the voucher that was signed last.
	Max       int64  `json:"max"`
	Signature string `json:"signature,omitempty"`
	// Open is the purchase that the last voucher was signed for, until its answer is there.
	Open string `json:"open,omitempty"`
	// Deposit was signed, and is not known to be in the channel.
	Deposit *deposit `json:"deposit,omitempty"`
	// DepositTx is the transaction of the last deposit that was made, by the door's word.
	DepositTx string `json:"deposit_tx,omitempty"`
	// Refused is why no more is bought by it.
	Refused   string    `json:"refused,omitempty"`
	UpdatedAt time.Time `json:"updated_at"`
}

// deposit is an authorization that puts money into a channel. Whoever has it can use it once,
// before ValidBefore.
type deposit struct {
	Amount      int64  `json:"amount"`
	Salt        string `json:"salt"`
	ValidBefore int64  `json:"valid_before"` // Unix seconds
}

// voucherUse is what a purchase by voucher signs.
type voucherUse struct {
	Channel string   `json:"channel"` // id
	Base    int64    `json:"base"`    // what was spent before it
	Max     int64    `json:"max"`     // Base and the price
	Deposit *deposit `json:"deposit,omitempty"`
	// Corrected is set once the door has shown that Base was another.
	Corrected bool `json:"corrected,omitempty"`
	// Charged is what the purchase cost, once there is an answer.
	Charged int64 `json:"charged,omitempty"`
}

// left is what can be spent of a channel.
func (c *channel) left() int64 { return max(0, c.Balance-c.Charged) }

// config is the configuration as it is hashed. The addresses were read before.
func (c *channel) config() wallet.Channel { return channelConfig(c.Channel) }

func channelConfig(c rail.Channel) wallet.Channel {
	a := func(s string) wallet.Address { a, _ := wallet.ParseAddress(s); return a }
	return wallet.Channel{Payer: a(c.Payer), Signer: a(c.Signer), Receiver: a(c.Receiver), Authorizer: a(c.Authorizer),
		Token: a(c.Token), Delay: uint64(c.Delay), Salt: bytes32(c.Salt)}
}

// bytes32 reads 0x and 64 hex digits; what is none is zero.
func bytes32(s string) (out [32]byte) {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "0x"))
	if err == nil && len(b) == len(out) {
		copy(out[:], b)
	}
	return out
}

// heldChannel is a channel that nobody else buys by meanwhile. c is nil where the journal does not
// have it.
type heldChannel struct {
	hold
	c *channel
}

// takeChannel takes a channel for a purchase, ErrBusy while another purchase has it.
func (b *Buyer) takeChannel(ctx context.Context, id string) (*heldChannel, error) {
	if b.cfg.Journal == nil {
		return nil, errNoJournal
	}
	h, err := b.cfg.Journal.hold(ctx, hashed("channel "+id), b.holding(b.cfg.Timeout))
	if err != nil {
		return nil, fmt.Errorf("taking channel %s: %w", id, err)
	}
	c, err := b.cfg.Journal.channel(ctx, id)
	if err != nil {
		return nil, errors.Join(err, h.release())
	}
	return &heldChannel{h, c}, nil
}

// save stores the channel; it returns when it is durable.
func (h *heldChannel) save(ctx context.Context, now time.Time) error {
	h.c.UpdatedAt = now.UTC().Truncate(time.Second)
	return h.putChannel(ctx, h.c)
}

func encodeChannel(c *channel) ([]byte, error) {
	b, err := json.Marshal(c, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(b, '\n'), err
}

// decodeChannel reads a record that is kept under an id. Its configuration has to hash to it.
func decodeChannel(b []byte, id string) (*channel, error) {
	var c channel
	if err := json.Unmarshal(bytes.TrimSpace(b), &c, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("reading channel %s: %w", id, err)
	}
	chain, err := chainOf(c.Network)
	if err != nil || c.Format != channelFormat || c.Channel.ID != id || nonceText(c.config().ID(chain)) != id {
		return nil, fmt.Errorf("reading channel %s: it is not a channel of that name", id)
	}
	return &c, nil
}
