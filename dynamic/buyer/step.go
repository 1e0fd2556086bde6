package buyer

import (
	"context"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
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

// This file keeps the two counts of a channel, ours and the door's, in step (x402 scheme
// batch-settlement). Ours follows from what was signed and what a door says it charged, never from
// the door's own figures.

// corrections are the reasons by which a door says that its count of a channel is another.
var corrections = []string{rail.ReasonMismatch, "cumulative_below_claimed", rail.ReasonExceeds}

// corrects is the reason for which an answer says that a voucher is out of step, empty where it
// does not.
func (a *answer) corrects() string {
	if a.Status != http.StatusPaymentRequired {
		return ""
	}
	for _, reason := range corrections {
		if strings.Contains(a.reasons(), reason) {
			return reason
		}
	}
	return ""
}

// inStep answers a door's correction, once for a purchase: where the door proves its count, the
// purchase is signed anew by that count and presented. What is not proved is refused, and a stays
// the answer.
func (b *Buyer) inStep(ctx context.Context, h hold, p *purchase, a *answer) (*answer, error) {
	reason := a.corrects()
	if reason == "" || p.Voucher.Corrected || p.channel.c == nil {
		return a, nil
	}
	if err := b.correct(ctx, p, a, reason); err != nil {
		p.trouble = append(p.trouble, "The door's count of the channel was not taken: "+printable(err.Error(), 400)+".")
		return a, nil
	}
	if err := errors.Join(p.channel.save(ctx, b.cfg.Now()), h.update(ctx, p)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	b.log.Info("voucher signed anew by the door's count", "purchase", p.ID, "base", p.Voucher.Base)
	return b.present(ctx, h, p)
}

// claims is what a correction says of a channel.
type claims struct {
	Channel *x402.ChannelState `json:"channelState"`
	Voucher *x402.VoucherState `json:"voucherState"`
}

// correct makes a purchase anew by a door's count, where the count is proved.
func (b *Buyer) correct(ctx context.Context, p *purchase, a *answer, reason string) error {
	said, err := correction(a, p)
	if err != nil {
		return err
	}
	c := p.channel.c
	had := c.Charged
	now, err := b.lookAt(ctx, c)
	if err != nil {
		return err
	}
	base, err := proved(c, said)
	if err != nil {
		c.Charged = had
		return err
	}
	if said.Channel == nil && reason == rail.ReasonExceeds {
		base = max(p.Voucher.Base, c.Claimed) // it says nothing of the count
	}
	value, err := base64.StdEncoding.DecodeString(p.Request.Header.Get(headerSignature))
	var sent struct {
		wirePayment
		Payload jsontext.Value `json:"payload"`
	}
	if err != nil || json.Unmarshal(value, &sent) != nil {
		return errors.New("the payment that was presented cannot be read")
	}
	e := readEntry(sent.Accepted)
	if e.Refused != "" || e.Atomic != p.Amount {
		return errors.New("the terms that were agreed to cannot be read")
	}
	was := *p.Voucher
	c.Charged = base
	p.Voucher.Base, p.Voucher.Corrected = base, true
	if err = b.fund(p, e, now); err == nil && p.Voucher.Max == was.Max && p.Voucher.Deposit == was.Deposit {
		err = errors.New("it asks for what was presented")
	}
	var payload any
	if err == nil {
		payload, err = voucherSign(b, p, e)
	}
	if err != nil {
		*p.Voucher, c.Charged = was, had
		return err
	}
	again := sent.wirePayment
	again.Payload = payload
	header, err := encodeHeader(again)
	if err != nil {
		return err
	}
	p.Request.Header = p.Request.Header.Clone()
	p.Request.Header.Set(headerSignature, header)
	return nil
}

// correction finds what a 402 says of a purchase's channel, in the first entry of its terms.
func correction(a *answer, p *purchase) (said claims, err error) {
	var w wireRequired
	if err := decodeHeader(a.Header, headerRequired, &w); err != nil {
		return said, err
	}
	c := p.channel.c
	for _, raw := range w.Accepts[:min(len(w.Accepts), maxAccepts)] {
		e := readEntry(raw)
		if e.Scheme != rail.SchemeVouchers || e.Network != c.Network {
			continue
		}
		o := c.Channel
		if e.Refused != "" || e.payTo != o.Receiver || !networks.SameAddress(c.Network, e.Asset, o.Token) ||
			e.voucher.Authorizer != o.Authorizer || e.voucher.Delay != o.Delay {
			return said, errors.New("it is of another channel")
		}
		if json.Unmarshal(e.extra, &said) != nil {
			return said, errors.New("it cannot be read")
		}
		if said.Channel != nil && !strings.EqualFold(said.Channel.ChannelID, o.ID) {
			return said, errors.New("it is of another channel")
		}
		return said, nil
	}
	return said, errors.New("it has no terms of the channel")
}

// proved is what was spent of a channel by a door's word, where our own signature shows that it may
// have been; what the chain has claimed where the door says nothing.
func proved(c *channel, said claims) (int64, error) {
	claimed := c.Claimed
	if said.Channel == nil || said.Voucher == nil {
		return claimed, nil
	}
	charged, ok := atomic(said.Channel.ChargedCumulativeAmount)
	signed, is := atomic(said.Voucher.SignedMaxClaimable)
	sig, err := wallet.ParseSignature(said.Voucher.Signature, wallet.SignatureSize)
	chain, bad := chainOf(c.Network)
	if err := errors.Join(err, bad); !ok || !is || err != nil {
		return 0, errors.New("its amounts or its signature cannot be read")
	}
	signer, err := wallet.Recover(wallet.VoucherDigest(chain, bytes32(c.Channel.ID), uint64(signed)),
		wallet.NormalizeV(sig))
	switch {
	case err != nil || signer.String() != c.Channel.Signer:
		return 0, fmt.Errorf("the voucher for %s USDC that it shows is not signed by this wallet", USDC(signed))
	case charged > signed:
		return 0, fmt.Errorf("it says that %s USDC were spent, and shows a voucher for %s", USDC(charged), USDC(signed))
	case charged < claimed:
		return 0, fmt.Errorf("it says that %s USDC were spent, and has claimed %s", USDC(charged), USDC(claimed))
	}
	return charged, nil
}

// count notes in the channel what a purchase came to. It does so once, whoever asks again: a
// channel that has gone on is left as it is.
func (p *purchase) count() {
	use := p.Voucher
	s, err := p.Answer.settlement()
	sold := p.State == Delivered || err == nil && s.Success
	warn := func(format string, args ...any) { p.trouble = append(p.trouble, fmt.Sprintf(format, args...)) }
	why := ""
	switch {
	case !sold: // nothing was charged, and the same voucher buys another time
	case err != nil || s.Extra == nil || s.Extra.ChargedAmount == "":
		use.Charged = p.Amount
		warn("The door does not say what it charged: the whole price is counted.")
	default:
		use.Charged = p.Amount
		if why = p.charges(s.Extra); why != "" {
			warn("No more is bought by channel %s: %s.", use.Channel, why)
		}
	}
	c := p.channel.c
	if c == nil || c.Open != p.ID || c.Max != use.Max {
		return
	}
	if c.Open = ""; !sold {
		return
	}
	c.Charged, c.Refused = use.Base+use.Charged, why
	if err != nil {
		return
	}
	if use.Deposit != nil && s.Success && bytes32(s.Transaction) != [32]byte{} {
		c.Balance, c.Deposit, c.DepositTx = c.Balance+use.Deposit.Amount, nil, strings.ToLower(s.Transaction)
	}
	if s.Extra != nil && c.Deposit == nil {
		if n, ok := atomic(s.Extra.ChannelState.Balance); ok && n < c.Balance {
			warn("The door says that the channel holds %s USDC; by this journal it is %s USDC.", USDC(n),
				USDC(c.Balance))
		}
	}
}

// charges reads what a door charged, and says what is false about it, empty for nothing.
func (p *purchase) charges(x *x402.ChannelExtra) string {
	use := p.Voucher
	n, ok := atomic(x.ChargedAmount)
	if !ok || n > p.Amount {
		return fmt.Sprintf("it charged %s for a price of %d atomic units", quoted(x.ChargedAmount), p.Amount)
	}
	use.Charged = n
	sum, ok := atomic(x.ChannelState.ChargedCumulativeAmount)
	switch {
	case !strings.EqualFold(x.ChannelState.ChannelID, use.Channel):
		return "its answer is of another channel"
	case !ok || sum > use.Base+n:
		return fmt.Sprintf("it counts %s as spent, where %d were signed for",
			quoted(x.ChannelState.ChargedCumulativeAmount), use.Base+n)
	}
	return ""
}

// deposited is the amount that the settlement of a purchase has to name.
func (p *purchase) deposited() string {
	if p.Voucher == nil {
		return strconv.FormatInt(p.Amount, 10)
	}
	if p.Voucher.Deposit == nil {
		return ""
	}
	return strconv.FormatInt(p.Voucher.Deposit.Amount, 10)
}

// chainTime is a time of a chain, in Unix seconds, as people read it.
func chainTime(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }
