package buyer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// The bounds of the scheme batch-settlement for how long a payer's withdrawal takes, in seconds.
const (
	minDelay = 15 * 60
	maxDelay = 30 * 24 * 3600
	// usualDeposit is how many times the price is put into a channel where a door names no least
	// deposit, as stock clients do.
	usualDeposit = 5
)

// ErrChannel is returned where a channel cannot be bought by as it stands. Nothing was signed.
var ErrChannel = errors.New("the channel cannot be paid from")

// voucherTerms is what extra says of a door's channels.
type voucherTerms struct {
	Authorizer string `json:"receiverAuthorizer"`
	Delay      int64  `json:"withdrawDelay"`
	MinDeposit string `json:"minDeposit"`
}

// wireVouchers is the scheme's payload in its three forms.
type wireVouchers struct {
	Type    string       `json:"type"`
	Config  wireChannel  `json:"channelConfig"`
	Voucher wireVoucher  `json:"voucher"`
	Deposit *wireDeposit `json:"deposit,omitempty"`
	Amount  string       `json:"amount,omitempty"` // of a refund
}

type wireChannel struct {
	Payer      string `json:"payer"`
	Signer     string `json:"payerAuthorizer"`
	Receiver   string `json:"receiver"`
	Authorizer string `json:"receiverAuthorizer"`
	Token      string `json:"token"`
	Delay      int64  `json:"withdrawDelay"`
	Salt       string `json:"salt"`
}

type wireVoucher struct {
	Channel   string `json:"channelId"`
	Max       string `json:"maxClaimableAmount"`
	Signature string `json:"signature"`
}

type wireDeposit struct {
	Amount        string `json:"amount"`
	Authorization struct {
		ERC3009 struct {
			ValidAfter  string `json:"validAfter"`
			ValidBefore string `json:"validBefore"`
			Salt        string `json:"salt"`
			Signature   string `json:"signature"`
		} `json:"erc3009Authorization"`
	} `json:"authorization"`
}

// voucherJudge reads what a door's channels have to be.
func voucherJudge(e *Entry, x wireExtra) string {
	if why := evmJudge(e, x); why != "" {
		return why
	}
	var v voucherTerms
	if json.Unmarshal(e.extra, &v) != nil {
		return "extra cannot be read (withdrawDelay is a number)"
	}
	authorizer, err := evmAddress(v.Authorizer)
	least, ok := int64(0), true
	if v.MinDeposit != "" {
		least, ok = atomic(v.MinDeposit)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("its receiverAuthorizer %s is no address", quoted(v.Authorizer))
	case v.Delay < minDelay || v.Delay > maxDelay:
		return fmt.Sprintf("its withdrawDelay of %d s is not %d to %d", v.Delay, minDelay, maxDelay)
	case !ok:
		return fmt.Sprintf("its minDeposit %s is not a plain whole number of atomic units", quoted(v.MinDeposit))
	}
	v.Authorizer = authorizer
	e.voucher, e.MinDeposit = v, least
	return ""
}

func voucherAble(c *Config, e *Entry) string {
	if c.Nodes[e.Network] == "" {
		return fmt.Sprintf("no node of %s is configured, from which the channel would be read", e.Chain)
	}
	return ""
}

// channelFor is the channel of a payer by an entry's terms: one for each of a door's terms.
func channelFor(e Entry, payer string) (rail.Channel, error) {
	c := rail.Channel{Payer: payer, Signer: payer, Receiver: e.payTo, Authorizer: e.voucher.Authorizer,
		Token: e.asset.Address, Delay: e.voucher.Delay, Salt: nonceText([32]byte{})}
	chain, err := chainOf(e.Network)
	if err != nil {
		return c, err
	}
	c.ID = nonceText(channelConfig(c).ID(chain))
	return c, nil
}

// voucherDraft takes the channel and decides on the voucher, and on a deposit where the channel
// holds too little.
func voucherDraft(ctx context.Context, b *Buyer, p *purchase, e Entry) error {
	config, err := channelFor(e, p.Payer)
	if err != nil {
		return err
	}
	if p.channel, err = b.takeChannel(ctx, config.ID); err != nil {
		return err
	}
	found := p.channel.c != nil
	if !found {
		if err := b.elsewhere(ctx, p.Network, config); err != nil {
			return err
		}
		p.channel.c = &channel{Format: channelFormat, Network: p.Network, Channel: config}
	}
	c := p.channel.c
	if err := b.usable(ctx, c, p.again); err != nil {
		return err
	}
	if u, err := url.Parse(p.Request.URL); err == nil {
		c.Door = place(u)
	}
	now := b.cfg.Now()
	if !found || c.Charged+p.Amount > c.Balance {
		if now, err = b.lookAt(ctx, c); err != nil {
			return err
		}
	}
	p.Voucher = &voucherUse{Channel: config.ID, Base: c.Charged}
	if err := b.fund(p, e, now); err != nil {
		return err
	}
	var r [8]byte
	rand.Read(r[:])
	p.Nonce = fmt.Sprintf("%s-%d-%x", config.ID, p.Voucher.Max, r) // the same voucher may buy again
	return nil
}

// elsewhere refuses to begin a second channel for one receiver while the first has money in it: a
// door that names another authorizer each time would have a deposit each time.
func (b *Buyer) elsewhere(ctx context.Context, network string, config rail.Channel) error {
	all, err := b.cfg.Journal.channels(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if o := c.Channel; c.Network == network && o.Payer == config.Payer && o.Receiver == config.Receiver &&
			networks.SameAddress(network, o.Token, config.Token) && (c.left() > 0 || c.Deposit != nil) {
			return fmt.Errorf("%w: the door's terms are of another channel now, and %s for the same receiver still "+
				"has %s USDC; withdraw them first (store buy withdraw %s)", ErrChannel, o.ID, USDC(c.left()), o.ID)
		}
	}
	return nil
}

// usable refuses a channel by which nothing is bought for now.
func (b *Buyer) usable(ctx context.Context, c *channel, again bool) error {
	if c.Refused != "" {
		return fmt.Errorf("%w: %s; what is left is %s USDC: store buy withdraw %s", ErrChannel, c.Refused,
			USDC(c.left()), c.Channel.ID)
	}
	if c.Open == "" || again {
		return nil
	}
	open, err := b.cfg.Journal.unfinished(ctx)
	for _, p := range open {
		if p.ID == c.Open && p.State == Signed {
			return fmt.Errorf("%w: of this channel, for another request: it is in %s; nothing was signed. Resume "+
				"presents that voucher again", ErrUnfinished, b.cfg.Journal.place(p.ID))
		}
	}
	return err
}

// lookAt brings what is known of a channel in line with its chain, and gives the chain's time.
func (b *Buyer) lookAt(ctx context.Context, c *channel) (time.Time, error) {
	n, err := b.node(ctx, c.Network)
	if err != nil {
		return time.Time{}, err
	}
	defer n.Close()
	if c.DepositTx != "" {
		if err := n.mined(ctx, c.DepositTx); err != nil {
			return time.Time{}, fmt.Errorf("%w: the node does not have the last deposit, %s, in a block: it is "+
				"behind, or the door was wrong: %w", ErrChannel, c.DepositTx, err)
		}
	}
	s, err := n.channel(ctx, bytes32(c.Channel.ID))
	if err != nil {
		return time.Time{}, err
	}
	if s.Withdrawing > 0 {
		return time.Time{}, fmt.Errorf("%w: its money is being withdrawn since %s: store buy withdraw %s ends that",
			ErrChannel, s.Asked.Format(time.RFC3339), c.Channel.ID)
	}
	c.Balance, c.Claimed, c.Charged = s.Balance, s.Claimed, max(c.Charged, s.Claimed)
	return n.now(ctx)
}

// fund decides on the most that a voucher says, which is no more than what was spent and the price,
// and on a deposit where the channel holds less. now is the chain's time.
func (b *Buyer) fund(p *purchase, e Entry, now time.Time) error {
	use, c := p.Voucher, p.channel.c
	use.Max, use.Deposit = use.Base+p.Amount, nil
	lacks := use.Max - c.Balance
	if lacks <= 0 {
		return nil
	}
	if d := c.Deposit; d != nil && now.Unix() < d.ValidBefore {
		// It may land yet. It can be used once, so that presenting it again costs nothing.
		if d.Amount >= lacks && now.Unix()+minValidity <= d.ValidBefore {
			use.Deposit = d
			return nil
		}
		return fmt.Errorf("%w: a deposit of %s USDC that was signed before may be made until %s; try again after that",
			ErrChannel, USDC(d.Amount), time.Unix(d.ValidBefore, 0).UTC().Format(time.RFC3339))
	}
	least := e.MinDeposit
	if least == 0 {
		least = min(usualDeposit*p.Amount, b.cfg.Ceiling)
	}
	amount := max(lacks, least)
	if amount > b.cfg.Ceiling {
		return fmt.Errorf("%w: the door's channel needs a deposit of %s USDC and the ceiling is %s USDC; nothing was "+
			"signed. Raise the ceiling to make it: what is not spent comes back", ErrCeiling, USDC(amount),
			USDC(b.cfg.Ceiling))
	}
	var salt [32]byte
	rand.Read(salt[:])
	use.Deposit = &deposit{Amount: amount, Salt: nonceText(salt), ValidBefore: p.ValidBefore}
	return nil
}

// voucherSign signs the voucher and the deposit that were decided on, and notes both in the
// channel, which is to be saved before anything is sent.
func voucherSign(b *Buyer, p *purchase, e Entry) (any, error) {
	use, c := p.Voucher, p.channel.c
	w, err := b.signVoucher(c, use.Max)
	if err != nil {
		return nil, err
	}
	if d := use.Deposit; d != nil {
		domain, err := e.asset.domain()
		if err != nil {
			return nil, err
		}
		a := wallet.Authorization{From: b.cfg.Wallet.Address(), To: wallet.BatchCollector,
			Value: wallet.NewUint256(uint64(d.Amount)), ValidBefore: wallet.NewUint256(uint64(d.ValidBefore)),
			Nonce: wallet.DepositNonce(bytes32(use.Channel), bytes32(d.Salt))}
		w.Type, w.Deposit = rail.FormDeposit, &wireDeposit{Amount: strconv.FormatInt(d.Amount, 10)}
		signed := &w.Deposit.Authorization.ERC3009
		signed.ValidAfter, signed.ValidBefore, signed.Salt = "0", a.ValidBefore.String(), d.Salt
		signed.Signature = "0x" + hex.EncodeToString(b.cfg.Wallet.Sign(a.ReceiveDigest(domain.Separator())))
		c.Deposit = d
	}
	c.Max, c.Signature, c.Open = use.Max, w.Voucher.Signature, p.ID
	return w, nil
}

// signVoucher is the payload of a voucher that says max in all.
func (b *Buyer) signVoucher(c *channel, max int64) (wireVouchers, error) {
	chain, err := chainOf(c.Network)
	if err != nil {
		return wireVouchers{}, err
	}
	if b.cfg.Wallet == nil || b.cfg.Wallet.Address().String() != c.Channel.Payer {
		return wireVouchers{}, fmt.Errorf("the wallet of the channel, %s, is needed", c.Channel.Payer)
	}
	o := c.Channel
	sig := b.cfg.Wallet.Sign(wallet.VoucherDigest(chain, bytes32(o.ID), uint64(max)))
	return wireVouchers{Type: rail.FormVoucher, Config: wireChannel{Payer: o.Payer, Signer: o.Signer,
		Receiver: o.Receiver, Authorizer: o.Authorizer, Token: o.Token, Delay: o.Delay, Salt: o.Salt},
		Voucher: wireVoucher{Channel: o.ID, Max: strconv.FormatInt(max, 10),
			Signature: "0x" + hex.EncodeToString(sig)}}, nil
}

// keep makes the holds of a purchase's request and channel last for so long from now.
func (p *purchase) keep(ctx context.Context, h hold, ttl time.Duration) error {
	if p.channel != nil {
		if err := p.channel.keep(ctx, ttl); err != nil {
			return err
		}
	}
	return h.keep(ctx, ttl)
}

// letGo ends the hold of a purchase's channel.
func (p *purchase) letGo() error {
	if p == nil || p.channel == nil {
		return nil
	}
	h := p.channel
	p.channel = nil
	return h.release()
}
