package buyer

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/corpus/networks"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
)

// VoucherPaid is what a purchase by voucher came to. Amounts are atomic units.
type VoucherPaid struct {
	Channel string `json:"channel"`           // id
	Charged int64  `json:"charged"`           // of this purchase, once there is an answer
	Max     int64  `json:"max"`               // what the voucher lets the seller claim in all
	Deposit int64  `json:"deposit,omitempty"` // that was signed beside it
}

func (u *voucherUse) paid() *VoucherPaid {
	v := &VoucherPaid{Channel: u.Channel, Charged: u.Charged, Max: u.Max}
	if u.Deposit != nil {
		v.Deposit = u.Deposit.Amount
	}
	return v
}

// ChannelView is a channel as its journal knows it, or as its chain has it where that was asked.
// Amounts are atomic units.
type ChannelView struct {
	Network string       `json:"network"`
	Channel rail.Channel `json:"channel"`
	Door    string       `json:"door,omitempty"` // at which it was used last
	Charged int64        `json:"charged"`        // in all
	Balance int64        `json:"balance"`        // put in and not given back
	Left    int64        `json:"left"`           // what can still be spent
	Claimed int64        `json:"claimed"`        // of what was charged, as the chain had it last
	Max     int64        `json:"max"`            // the most that was signed for
	// Open is the purchase whose answer is not known.
	Open string `json:"open,omitempty"`
	// Refused is why no more is bought by it.
	Refused string `json:"refused,omitempty"`
	// Withdrawing is what is being withdrawn, from Finalize on.
	Withdrawing int64     `json:"withdrawing,omitempty"`
	Finalize    time.Time `json:"finalize_from,omitzero"`
	// Transaction is what was done just now.
	Transaction string `json:"transaction,omitempty"`
}

func (c *channel) view() *ChannelView {
	return &ChannelView{Network: c.Network, Channel: c.Channel, Door: c.Door, Charged: c.Charged, Balance: c.Balance,
		Left: c.left(), Claimed: c.Claimed, Max: c.Max, Open: c.Open, Refused: c.Refused}
}

// ErrEarly is returned for what can be done later only; the view beside it says when.
var ErrEarly = errors.New("it is too early")

// ErrNothing is returned where nothing is left to be had back.
var ErrNothing = errors.New("nothing is left to be had back")

// withdrawn is why no more is bought by a channel that is being emptied.
const withdrawn = "its money is being withdrawn"

// Channels are those of the journal, as it knows them; no chain is asked.
func (b *Buyer) Channels(ctx context.Context) (list []*ChannelView, err error) {
	if b.cfg.Journal == nil {
		return nil, errNoJournal
	}
	all, err := b.cfg.Journal.channels(ctx)
	list = []*ChannelView{}
	for _, c := range all {
		list = append(list, c.view())
	}
	return list, err
}

// openChannel takes a channel by its id, or that of the wallet at a door by the door's URL. One
// that the journal lost is found on the chain by what the door's terms say.
func (b *Buyer) openChannel(ctx context.Context, target string) (*heldChannel, error) {
	if isHash(target) {
		h, err := b.takeChannel(ctx, strings.ToLower(target))
		if err == nil && h.c == nil {
			err = errors.Join(fmt.Errorf("the journal has no channel %s: name the door's URL instead", target),
				h.release())
		}
		return h, err
	}
	t, err := b.Terms(ctx, target, Options{Choice: Choice{Scheme: rail.SchemeVouchers}})
	if err != nil {
		return nil, err
	}
	if b.cfg.Wallet == nil {
		return nil, errors.New("the wallet of the channel is needed")
	}
	for _, e := range t.Entries {
		if e.Scheme != rail.SchemeVouchers || e.voucher.Authorizer == "" || e.payTo == "" {
			continue
		}
		config, err := channelFor(e, evmPayer(&b.cfg))
		if err != nil {
			return nil, err
		}
		h, err := b.takeChannel(ctx, config.ID)
		if err != nil || h.c != nil {
			return h, err
		}
		u, err := parseURL(t.URL)
		if err != nil {
			return nil, errors.Join(err, h.release())
		}
		h.c = &channel{Format: channelFormat, Network: e.Network, Channel: config, Door: place(u)}
		return h, nil
	}
	return nil, errors.New("the door takes no vouchers now: name the channel by its id")
}

func isHash(s string) bool {
	return len(s) == 66 && strings.HasPrefix(s, "0x") && strings.Trim(s[2:], "0123456789abcdefABCDEF") == ""
}

// Refund asks a channel's door for what is left, or for amount of it where that is not 0. What
// came back is what the chain says. target is the id of a channel, or a door's URL. The error is a
// *DoorError where the door gives nothing; then Withdraw does without it.
func (b *Buyer) Refund(ctx context.Context, target string, amount int64) (_ *ChannelView, err error) {
	h, err := b.openChannel(ctx, target)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.release()) }()
	c := h.c
	n, err := b.node(ctx, c.Network)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	before, err := n.channel(ctx, bytes32(c.Channel.ID))
	if err != nil {
		return nil, err
	}
	c.Balance, c.Claimed, c.Charged = before.Balance, before.Claimed, max(c.Charged, before.Claimed)
	if c.left() == 0 {
		return c.view(), ErrNothing
	}
	p := &purchase{channel: h, Voucher: &voucherUse{Channel: c.Channel.ID, Base: c.Charged}}
	a, err := b.refund(ctx, c, amount)
	if err == nil && a.corrects() != "" {
		var said claims
		if said, err = correction(a, p); err == nil {
			if c.Charged, err = proved(c, said); err == nil {
				a, err = b.refund(ctx, c, amount)
			}
		}
	}
	if err != nil {
		return c.view(), err
	}
	s, bad := a.settlement()
	if a.Status != http.StatusOK || bad != nil || !s.Success {
		e := a.doorError()
		e.Detail = strings.TrimPrefix(e.Detail+"; "+printable(a.reasons(), 200), "; ")
		return c.view(), errors.Join(fmt.Errorf("asking for a refund: %w", e), h.save(ctx, b.cfg.Now()))
	}
	if isHash(s.Transaction) {
		if err := n.await(ctx, s.Transaction); err != nil {
			return c.view(), fmt.Errorf("transaction %s of the refund: %w", s.Transaction, err)
		}
	}
	after, err := n.channel(ctx, bytes32(c.Channel.ID))
	if err != nil {
		return nil, err
	}
	c.Balance, c.Claimed, c.Charged = after.Balance, after.Claimed, max(c.Charged, after.Claimed)
	v := c.view()
	if v.Transaction = s.Transaction; after.Balance >= before.Balance {
		err = errors.New("the door says that it refunded, and the chain shows nothing of it")
	}
	return v, errors.Join(err, h.save(context.WithoutCancel(ctx), b.cfg.Now()))
}

// refund asks once, by the voucher for what was spent. The request is a GET, as of stock clients.
func (b *Buyer) refund(ctx context.Context, c *channel, amount int64) (*answer, error) {
	u, err := parseURL(c.Door)
	if err != nil {
		return nil, err
	}
	r, err := Options{}.request(u)
	if err != nil {
		return nil, err
	}
	t, err := b.terms(ctx, u, r, Choice{Scheme: rail.SchemeVouchers})
	if err != nil {
		return nil, err
	}
	var raw jsontext.Value
	for _, e := range t.Entries {
		if e.Scheme == rail.SchemeVouchers && e.Network == c.Network && e.payTo == c.Channel.Receiver &&
			e.voucher.Authorizer == c.Channel.Authorizer && e.voucher.Delay == c.Channel.Delay &&
			networks.SameAddress(c.Network, e.Asset, c.Channel.Token) {
			raw = e.raw
			break
		}
	}
	if raw == nil {
		return nil, fmt.Errorf("the door %s does not take vouchers of this channel now", printable(c.Door, 200))
	}
	w, err := b.signVoucher(c, c.Charged)
	if err != nil {
		return nil, err
	}
	w.Type = rail.FormRefund
	if amount > 0 {
		w.Amount = strconv.FormatInt(amount, 10)
	}
	header, err := encodeHeader(wirePayment{X402Version: x402.Version, Payload: w, Extensions: t.extensions,
		Resource: t.resource, Accepted: raw})
	if err != nil {
		return nil, err
	}
	r.Header.Set(headerSignature, header)
	return b.exchange(ctx, r, MaxBody)
}

// Withdraw takes the next step by which the money of a channel comes back without its seller, with
// a transaction of the wallet's own: it begins the withdrawal, or ends it once the channel's delay
// is over. Before that the error is ErrEarly, and the view says when. Until it is ended the seller
// can claim what was signed for.
func (b *Buyer) Withdraw(ctx context.Context, target string) (_ *ChannelView, err error) {
	h, err := b.openChannel(ctx, target)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.release()) }()
	c := h.c
	if b.cfg.Wallet == nil || b.cfg.Wallet.Address().String() != c.Channel.Payer {
		return nil, fmt.Errorf("the wallet of the channel, %s, is needed", c.Channel.Payer)
	}
	n, err := b.node(ctx, c.Network)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	id, words := bytes32(c.Channel.ID), c.config().Words()
	s, err := n.channel(ctx, id)
	if err != nil {
		return nil, err
	}
	now, err := n.now(ctx)
	if err != nil {
		return nil, err
	}
	var data []byte
	end := s.Asked.Add(time.Duration(c.Channel.Delay) * time.Second)
	c.Balance, c.Claimed, c.Charged = s.Balance, s.Claimed, max(c.Charged, s.Claimed)
	switch free := c.left(); { // what was spent and not claimed yet is the seller's
	case s.Withdrawing > 0 && now.Before(end):
		v := c.view()
		v.Withdrawing, v.Finalize = s.Withdrawing, end
		return v, fmt.Errorf("%w: the withdrawal of %s USDC can be ended from %s on", ErrEarly, USDC(s.Withdrawing),
			end.Format(time.RFC3339))
	case s.Withdrawing > 0:
		data, c.Refused = calldata("finalizeWithdraw("+channelTuple+")", words...), ""
	case free <= 0:
		return c.view(), ErrNothing
	default:
		words = append(words, wallet.NewUint256(uint64(free)))
		data, c.Refused = calldata("initiateWithdraw("+channelTuple+",uint128)", words...), withdrawn
	}
	if err := h.save(ctx, b.cfg.Now()); err != nil {
		return nil, err
	}
	hash, err := n.send(ctx, b.cfg.Wallet, wallet.BatchEscrow, data)
	if err == nil {
		s, err = n.channel(ctx, id)
	}
	if err != nil {
		return c.view(), fmt.Errorf("withdrawing: %w", err)
	}
	c.Balance, c.Claimed, c.Charged = s.Balance, s.Claimed, max(c.Charged, s.Claimed)
	v := c.view()
	v.Transaction, v.Withdrawing = hash, s.Withdrawing
	if s.Withdrawing > 0 {
		v.Finalize = s.Asked.Add(time.Duration(c.Channel.Delay) * time.Second)
	}
	return v, h.save(context.WithoutCancel(ctx), b.cfg.Now())
}

// channelTuple is the type of a channel's configuration in the escrow's methods.
const channelTuple = "(address,address,address,address,address,uint40,bytes32)"
