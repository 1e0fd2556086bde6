package evm

import (
	"bytes"
	"encoding/json/v2"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"store.example/agentstore/dynamic/rail"
)

// wireChannelPayload is the scheme's payload in its three forms. Members beside these are not ours
// to judge; inside what was signed there are none.
type wireChannelPayload struct {
	Type    string       `json:"type"`
	Config  *wireChannel `json:"channelConfig"`
	Voucher *wireVoucher `json:"voucher"`
	Deposit *wireDeposit `json:"deposit,omitzero"`
	Amount  *string      `json:"amount,omitzero"` // of a refund
}

// wireChannel is a channel's configuration.
type wireChannel struct {
	Payer              *string        `json:"payer"`
	PayerAuthorizer    *string        `json:"payerAuthorizer"`
	Receiver           *string        `json:"receiver"`
	ReceiverAuthorizer *string        `json:"receiverAuthorizer"`
	Token              *string        `json:"token"`
	WithdrawDelay      *uint64        `json:"withdrawDelay"`
	Salt               *string        `json:"salt"`
	Unknown            map[string]any `json:",embed"`
}

type wireVoucher struct {
	ChannelID *string        `json:"channelId"`
	Max       *string        `json:"maxClaimableAmount"`
	Signature *string        `json:"signature"`
	Unknown   map[string]any `json:",embed"`
}

type wireDeposit struct {
	Amount        *string `json:"amount"`
	Authorization *struct {
		ERC3009 *wireDepositAuthorization `json:"erc3009Authorization,omitzero"`
		Permit2 *wireDepositPermit        `json:"permit2Authorization,omitzero"`
	} `json:"authorization"`
}

type wireDepositAuthorization struct {
	ValidAfter  *string        `json:"validAfter"`
	ValidBefore *string        `json:"validBefore"`
	Salt        *string        `json:"salt"`
	Signature   *string        `json:"signature"`
	Unknown     map[string]any `json:",embed"`
}

type wireDepositPermit struct {
	From      *string        `json:"from"`
	Permitted *wirePermitted `json:"permitted"`
	Spender   *string        `json:"spender"`
	Nonce     *string        `json:"nonce"`
	Deadline  *string        `json:"deadline"`
	Witness   *struct {
		ChannelID *string        `json:"channelId"`
		Unknown   map[string]any `json:",embed"`
	} `json:"witness"`
	Signature *string        `json:"signature"`
	Unknown   map[string]any `json:",embed"`
}

// batch is a refusal with a reason of the scheme's.
func batch(reason, format string, args ...any) *rail.Refusal {
	return refuse(reasonsOfBatch+reason, format, args...)
}

// ParseChannel implements rail.Channels. Addresses are accepted in any case and kept in the EIP-55
// spelling, hashes in lower case, and signatures in the form that contracts want.
func (r *Rail) ParseChannel(payload []byte, accepted rail.Requirement) (*rail.ChannelPayment, error) {
	switch {
	case r.cfg.Authorizer == nil:
		return nil, batch("authorizer_not_configured", "no vouchers are taken on %s", r.cfg.Name)
	}
	return r.parseChannel(payload, accepted)
}

// parseChannel is ParseChannel of a channel that anybody takes.
func (r *Rail) parseChannel(payload []byte, accepted rail.Requirement) (*rail.ChannelPayment, error) {
	switch {
	case accepted.Network != r.cfg.Network || !strings.EqualFold(accepted.Asset, r.cfg.Asset):
		return nil, malformed("the accepted entry is not of this network and asset")
	case len(payload) > maxPayload:
		return nil, malformed("the payload is too long")
	}
	var w wireChannelPayload
	if err := json.Unmarshal(payload, &w); err != nil {
		return nil, malformed("the payload is not the JSON object that the scheme asks for")
	}
	p := &rail.ChannelPayment{Form: w.Type}
	switch {
	case w.Type != rail.FormDeposit && w.Type != rail.FormVoucher && w.Type != rail.FormRefund:
		return nil, batch("payload_type", "type is none of deposit, voucher and refund")
	case w.Config == nil || w.Voucher == nil:
		return nil, malformed("channelConfig or voucher is missing")
	case (w.Deposit != nil) != (w.Type == rail.FormDeposit):
		return nil, malformed("a deposit is in the payload of that type, and in no other")
	case len(w.Config.Unknown)+len(w.Voucher.Unknown) > 0:
		return nil, malformed("channelConfig or voucher has a member that it cannot have")
	}
	if err := r.parseConfig(w.Config, &p.Channel); err != nil {
		return nil, err
	}
	id := r.channelID(&p.Channel)
	p.Channel.ID = id.Hex()
	if ref := parseVoucher(w.Voucher, p); ref != nil {
		return nil, ref
	}
	if w.Amount != nil && w.Type == rail.FormRefund {
		amount, ok := uint256(w.Amount)
		if !ok || amount.Sign() == 0 || !amount.IsInt64() {
			return nil, batch("refund_amount_invalid", "amount is not a decimal number above 0")
		}
		p.Refund = amount.Int64()
	}
	if w.Deposit != nil {
		var err error
		if p.Deposit, err = r.parseDeposit(w.Deposit, &p.Channel); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// parseConfig reads a channel's configuration, but for its id.
func (r *Rail) parseConfig(w *wireChannel, c *rail.Channel) error {
	for _, a := range []struct {
		name string
		text *string
		into *string
	}{{"payer", w.Payer, &c.Payer}, {"payerAuthorizer", w.PayerAuthorizer, &c.Signer},
		{"receiver", w.Receiver, &c.Receiver}, {"receiverAuthorizer", w.ReceiverAuthorizer, &c.Authorizer},
		{"token", w.Token, &c.Token}} {
		var ok bool
		if *a.into, ok = address(a.text); !ok {
			return malformed(a.name + " is not an address")
		}
	}
	if common.HexToAddress(c.Signer) == (common.Address{}) {
		c.Signer = ""
	}
	switch {
	case common.HexToAddress(c.Payer) == (common.Address{}):
		return malformed("payer is nobody")
	case w.WithdrawDelay == nil || *w.WithdrawDelay >= 1<<40:
		return malformed("withdrawDelay is not a number of seconds")
	case w.Salt == nil || !isHash(*w.Salt):
		return malformed("salt is not 32 bytes in hex")
	}
	c.Delay, c.Salt = int64(*w.WithdrawDelay), strings.ToLower(*w.Salt)
	return nil
}

// parseVoucher reads a voucher, which has to be for the channel of the payload.
func parseVoucher(w *wireVoucher, p *rail.ChannelPayment) *rail.Refusal {
	if w.ChannelID == nil || !isHash(*w.ChannelID) {
		return batch("channel_id_invalid", "channelId is not 32 bytes in hex")
	}
	if strings.ToLower(*w.ChannelID) != p.Channel.ID {
		return batch("channel_id_mismatch", "channelId is not the hash of the configuration, %s", p.Channel.ID)
	}
	max, ok := uint256(w.Max)
	if !ok || !max.IsInt64() {
		return malformed("maxClaimableAmount is not a decimal number below 2^63")
	}
	p.Voucher.Max = max.Int64()
	sig, ref := parseSignature(w.Signature)
	if ref != nil {
		return ref
	}
	p.Voucher.Signature = sig
	return nil
}

// parseSignature reads a signature: 65 bytes with v made 27 or 28, or whatever a contract asks for.
// A wallet that is not deployed yet has no channels.
func parseSignature(s *string) ([]byte, *rail.Refusal) {
	if s == nil {
		return nil, malformed("signature is missing")
	}
	sig, ok := unhex(*s, maxSignature)
	if !ok {
		return nil, malformed("signature is not hex of a sensible length")
	}
	if bytes.HasSuffix(sig, wrapped) {
		return nil, batch("eip6492_factory_not_allowed", "deploy the wallet first")
	}
	if vrs, ok := normal(sig); ok {
		sig = vrs
	}
	return sig, nil
}

// parseDeposit reads a deposit as the payment that it is, with the call that settles it.
func (r *Rail) parseDeposit(w *wireDeposit, c *rail.Channel) (*rail.Payment, error) {
	amount, ok := uint256(w.Amount)
	if !ok || amount.Sign() == 0 || !amount.IsInt64() {
		return nil, malformed("deposit.amount is not a decimal number above 0 and below 2^63")
	}
	p := &rail.Payment{Network: r.cfg.Network, Asset: r.cfg.Asset, Payer: c.Payer, Amount: amount}
	switch a := w.Authorization; {
	case a == nil || a.ERC3009 == nil && a.Permit2 == nil:
		return nil, batch("erc3009_authorization_required", "the deposit has no authorization")
	case a.ERC3009 != nil && a.Permit2 != nil:
		return nil, malformed("the deposit is by EIP-3009 and by Permit2")
	case a.Permit2 != nil:
		return p, r.parseDepositPermit(a.Permit2, c, p)
	default:
		return p, r.parseDepositAuthorization(a.ERC3009, c, p)
	}
}

func (r *Rail) parseDepositAuthorization(w *wireDepositAuthorization, c *rail.Channel, p *rail.Payment) error {
	after, isAfter := uint256(w.ValidAfter)
	before, isBefore := uint256(w.ValidBefore)
	switch {
	case len(w.Unknown) > 0:
		return malformed("the authorization has a member that it cannot have")
	case !isAfter || !isBefore:
		return malformed("validAfter or validBefore is not a decimal number")
	case w.Salt == nil || !isHash(*w.Salt):
		return malformed("salt of the deposit is not 32 bytes in hex")
	}
	sig, ref := parseSignature(w.Signature)
	if ref != nil {
		return ref
	}
	id, salt := common.HexToHash(c.ID), common.HexToHash(*w.Salt)
	p.Method, p.PayTo = rail.MethodDeposit, depositAddress.Hex()
	p.Nonce = crypto.Keccak256Hash(id[:], salt[:]).Hex()
	p.ValidAfter, p.ValidBefore, p.Signature = clamp(after), clamp(before), sig
	p.Wire = depositCall(c, p.Amount, depositAddress,
		bytes.Join([][]byte{word(after), word(before), salt[:], tail(4, sig)}, nil))
	return nil
}

func (r *Rail) parseDepositPermit(w *wireDepositPermit, c *rail.Channel, p *rail.Payment) error {
	if w.Permitted == nil || w.Witness == nil {
		return malformed("permitted or witness is missing")
	}
	from, isFrom := address(w.From)
	spender, isSpender := address(w.Spender)
	token, isToken := address(w.Permitted.Token)
	amount, isAmount := uint256(w.Permitted.Amount)
	nonce, isNonce := uint256(w.Nonce)
	deadline, isDeadline := uint256(w.Deadline)
	switch {
	case len(w.Unknown)+len(w.Permitted.Unknown)+len(w.Witness.Unknown) > 0:
		return malformed("the permit has a member that it cannot have")
	case !isFrom || !isSpender || !isToken || !isAmount || !isNonce || !isDeadline:
		return malformed("a member of the permit is not an address or a decimal number")
	case from != c.Payer:
		return malformed("the permit is not of the channel's payer")
	case common.HexToAddress(spender) != depositPermitAddress:
		return batch("permit2_invalid_spender", "the spender is not %s", depositPermitAddress)
	case !sameAddress(token, c.Token):
		return batch("token_mismatch", "the permit is for another token")
	case amount.Cmp(p.Amount) != 0:
		return batch("permit2_amount_mismatch", "the permit is for another amount than the deposit")
	case w.Witness.ChannelID == nil || !strings.EqualFold(*w.Witness.ChannelID, c.ID):
		return batch("channel_id_mismatch", "the permit is for another channel")
	}
	sig, ref := parseSignature(w.Signature)
	if ref != nil {
		return ref
	}
	p.Method, p.PayTo, p.Nonce, p.Signature = rail.MethodDepositPermit, escrowAddress.Hex(), nonce.String(), sig
	p.ValidBefore = clamp(new(big.Int).Add(deadline, common.Big1))
	first := bytesTail(sig)
	p.Wire = depositCall(c, p.Amount, depositPermitAddress, bytes.Join([][]byte{word(nonce), word(deadline),
		word(big.NewInt(4 * 32)), word(big.NewInt(int64(4*32 + len(first)))), first, bytesTail(nil)}, nil))
	return nil
}
