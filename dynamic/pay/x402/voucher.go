package x402

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/rail"
)

// ChannelExtra is what stands in extra beside the answer to a voucher.
type ChannelExtra struct {
	ChannelState  ChannelState `json:"channelState"`
	ChargedAmount string       `json:"chargedAmount,omitempty"` // of this request; not of a refund
}

// ChannelState is a channel on the wire. The stock client stores nothing where
// ChargedCumulativeAmount is not what it comes to by itself.
type ChannelState struct {
	ChannelID               string `json:"channelId"`
	Balance                 string `json:"balance"`
	TotalClaimed            string `json:"totalClaimed"`
	WithdrawRequestedAt     int64  `json:"withdrawRequestedAt"` // Unix seconds, 0 for none
	RefundNonce             string `json:"refundNonce"`
	ChargedCumulativeAmount string `json:"chargedCumulativeAmount"`
}

// VoucherState is the newest voucher that a seller took.
type VoucherState struct {
	SignedMaxClaimable string `json:"signedMaxClaimable"`
	Signature          string `json:"signature"`
}

func stateOf(c *pay.Channel) ChannelState {
	s := ChannelState{ChannelID: c.State.ID, Balance: strconv.FormatInt(c.State.Balance, 10),
		TotalClaimed:            strconv.FormatInt(c.State.Claimed, 10),
		RefundNonce:             strconv.FormatUint(c.State.RefundNonce, 10),
		ChargedCumulativeAmount: strconv.FormatInt(c.Charged, 10)}
	if !c.State.Asked.IsZero() {
		s.WithdrawRequestedAt = c.State.Asked.Unix()
	}
	return s
}

func extraOf(c *pay.Channel) *ChannelExtra {
	e := &ChannelExtra{ChannelState: stateOf(c)}
	if c.Amount > 0 {
		e.ChargedAmount = strconv.FormatInt(c.Amount, 10)
	}
	return e
}

// correct says in a body what corrected says in the header.
func (t *terms) correct(f pay.Fill, body []byte) ([]byte, error) {
	if f.Channel == nil {
		return body, nil
	}
	said, err := json.Marshal(t.required.Accepts)
	if err != nil {
		return nil, err
	}
	now, err := json.Marshal(corrected(t.required.Accepts, f.Channel))
	if err != nil {
		return nil, err
	}
	return bytes.Replace(body, pay.NewForm(said).Fill(f), pay.NewForm(now).Fill(f), 1), nil
}

// corrected is accepts with how a channel stands in the first entry of its scheme, which is the one
// that the stock client reads. It comes back into step only with both objects: it checks that the
// voucher is its own, and reads the chain again. nil leaves accepts as they are.
func corrected(accepts []rail.Requirement, c *pay.Channel) []rail.Requirement {
	i := slices.IndexFunc(accepts, func(r rail.Requirement) bool { return r.Scheme == rail.SchemeVouchers })
	if c == nil || i < 0 {
		return accepts
	}
	accepts = slices.Clone(accepts)
	extra := maps.Clone(accepts[i].Extra)
	extra["channelState"] = stateOf(c)
	if c.Last != nil {
		extra["voucherState"] = VoucherState{strconv.FormatInt(c.Last.Max, 10),
			"0x" + hex.EncodeToString(c.Last.Signature)}
	}
	accepts[i].Extra = extra
	return accepts
}
