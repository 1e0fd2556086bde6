package buyer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

// HoldLimits bound the payments that an escrow holds before the seller has them (x402 scheme
// auth-capture). The zero value makes none.
type HoldLimits struct {
	// Longest is how long a payment may be held: from its deadline on the buyer takes it back,
	// alone.
	Longest time.Duration
	// FeeBps is the most of it that may go to somebody else than the seller, in hundredths of a
	// percent.
	FeeBps int64
}

// holdTerms is what extra says of a payment that is held.
type holdTerms struct {
	Escrow     string `json:"authCaptureEscrow"`
	Operator   string `json:"captureAuthorizer"`
	Kind       string `json:"operatorType"`
	Authorizer string `json:"receiverAuthorizer"`
	Policy     string `json:"policy"`
	Capture    *int64 `json:"captureDeadline"` // Unix seconds
	Refund     *int64 `json:"refundDeadline"`  // Unix seconds
	MinFee     *int64 `json:"minFeeBps"`
	MaxFee     *int64 `json:"maxFeeBps"`
	FeeTo      string `json:"feeRecipient"`
}

// heldMoney is what a purchase has an escrow hold. With Info its payer reclaims it, alone.
type heldMoney struct {
	Hash string           `json:"hash"` // by which the escrow names it
	Info rail.PaymentInfo `json:"payment_info"`
	// SaltNonce is sent where the terms name who signs for the receiver.
	SaltNonce string `json:"salt_nonce,omitempty"`
}

// wireHold is the scheme's payload.
type wireHold struct {
	Authorization wireAuthorization `json:"authorization"`
	Signature     string            `json:"signature"`
	Salt          string            `json:"salt"`
	SaltNonce     string            `json:"saltNonce,omitempty"`
}

// holdJudge reads how a payment would be held.
func holdJudge(e *Entry, x wireExtra) string {
	if why := evmJudge(e, x); why != "" {
		return why
	}
	var h holdTerms
	if json.Unmarshal(e.extra, &h) != nil {
		return "extra cannot be read (deadlines and fees are numbers)"
	}
	for _, a := range []*string{&h.Operator, &h.FeeTo, &h.Authorizer, &h.Policy} {
		if *a == "" && a != &h.Operator && a != &h.FeeTo {
			continue
		}
		address, err := wallet.ParseAddress(*a)
		if err != nil || address.IsZero() && a == &h.Operator {
			return fmt.Sprintf("%s is not an address that extra may have", quoted(*a))
		}
		*a = address.String()
		if address.IsZero() && a != &h.FeeTo {
			*a = ""
		}
	}
	switch {
	case h.Escrow != "" && h.Escrow != wallet.CaptureEscrow.String():
		return fmt.Sprintf("its escrow %s is not the one that is known, %s", quoted(h.Escrow), wallet.CaptureEscrow)
	case h.Kind != "" && h.Kind != "delegated":
		return fmt.Sprintf("its operatorType %s is not delegated", quoted(h.Kind))
	case h.Policy != "":
		return "it names a policy, which is not known"
	case h.Capture == nil || h.Refund == nil || h.MinFee == nil || h.MaxFee == nil:
		return "captureDeadline, refundDeadline, minFeeBps or maxFeeBps is missing"
	case *h.Capture <= 0 || *h.Capture >= 1<<48 || *h.Refund < *h.Capture || *h.Refund >= 1<<48:
		return "its refund would end before the payment does, or its deadlines are no times"
	case *h.MinFee < 0 || *h.MaxFee < *h.MinFee || *h.MaxFee > 10_000:
		return "its fees are none"
	}
	e.hold = h
	return ""
}

func holdAble(c *Config, e *Entry) string {
	h := e.hold
	now := c.Now()
	end := time.Unix(*h.Capture, 0)
	switch {
	case c.Hold.Longest <= 0:
		return "no payments are held for this buyer"
	case !end.After(now):
		return "its captureDeadline is over"
	case end.After(now.Add(c.Hold.Longest)):
		return fmt.Sprintf("it would be held until %s, which is longer than %s", chainTime(*h.Capture), c.Hold.Longest)
	case *h.MaxFee > c.Hold.FeeBps:
		return fmt.Sprintf("up to %d hundredths of a percent of it would be a fee, which is more than %d", *h.MaxFee,
			c.Hold.FeeBps)
	}
	return ""
}

// holdDraft makes the information of the payment. Its hash without the payer is the nonce that is
// signed: whoever changes anything of it has another.
func holdDraft(_ context.Context, _ *Buyer, p *purchase, e Entry) error {
	h := e.hold
	if p.ValidBefore > *h.Capture {
		return errors.New("the hold ends before the payment could be made: ask for new terms")
	}
	var salt [32]byte
	rand.Read(salt[:])
	held := &heldMoney{}
	if h.Authorizer != "" {
		authorizer, err := wallet.ParseAddress(h.Authorizer)
		if err != nil {
			return err
		}
		held.SaltNonce = nonceText(salt)
		salt = wallet.BoundSalt(authorizer, wallet.Address{}, salt)
	}
	held.Info = rail.PaymentInfo{Operator: h.Operator, Payer: p.Payer, Receiver: p.PayTo, Token: p.Asset,
		MaxAmount: strconv.FormatInt(p.Amount, 10), PreApprovalExpiry: p.ValidBefore, AuthorizationExpiry: *h.Capture,
		RefundExpiry: *h.Refund, MinFeeBps: int(*h.MinFee), MaxFeeBps: int(*h.MaxFee), FeeReceiver: h.FeeTo,
		Salt: nonceText(salt)}
	chain, err := chainOf(p.Network)
	if err != nil {
		return err
	}
	w, err := holdOf(held.Info)
	if err != nil {
		return err
	}
	held.Hash, p.Nonce, p.Hold = nonceText(w.Hash(chain)), nonceText(w.Nonce(chain)), held
	return nil
}

// holdOf is a payment's information as it is hashed and called with.
func holdOf(i rail.PaymentInfo) (h wallet.Hold, err error) {
	for _, a := range []struct {
		text string
		into *wallet.Address
	}{{i.Operator, &h.Operator}, {i.Payer, &h.Payer}, {i.Receiver, &h.Receiver}, {i.Token, &h.Token},
		{i.FeeReceiver, &h.FeeReceiver}} {
		if *a.into, err = wallet.ParseAddress(a.text); err != nil {
			return h, err
		}
	}
	amount, ok := atomic(i.MaxAmount)
	if !ok {
		return h, errors.New("the amount of a hold cannot be read")
	}
	h.Amount, h.PreApproval = uint64(amount), uint64(i.PreApprovalExpiry)
	h.Capture, h.Refund = uint64(i.AuthorizationExpiry), uint64(i.RefundExpiry)
	h.MinFeeBps, h.MaxFeeBps, h.Salt = uint64(i.MinFeeBps), uint64(i.MaxFeeBps), bytes32(i.Salt)
	return h, nil
}

func holdSign(b *Buyer, p *purchase, e Entry) (any, error) {
	domain, err := e.asset.domain()
	if err != nil {
		return nil, err
	}
	key := b.cfg.Wallet
	a := wallet.Authorization{From: key.Address(), To: wallet.CaptureCollector,
		Value: wallet.NewUint256(uint64(p.Amount)), ValidBefore: wallet.NewUint256(uint64(p.ValidBefore)),
		Nonce: bytes32(p.Nonce)}
	return wireHold{Authorization: wireAuthorization{From: a.From.String(), To: a.To.String(), Value: a.Value.String(),
		ValidAfter: "0", ValidBefore: a.ValidBefore.String(), Nonce: p.Nonce},
		Signature: "0x" + hex.EncodeToString(key.Sign(a.ReceiveDigest(domain.Separator()))),
		Salt:      p.Hold.Info.Salt, SaltNonce: p.Hold.SaltNonce}, nil
}
