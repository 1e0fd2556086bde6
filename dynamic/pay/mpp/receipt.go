package mpp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/dynamic/pay"
)

// receipt is what a payment was settled by. It holds nothing that the chain does not show to
// everybody.
type receipt struct {
	ChallengeID string `json:"challengeId"`          // of the credential that is answered
	ChainID     uint64 `json:"chainId,omitempty"`    // of method evm
	ExternalID  string `json:"externalId,omitempty"` // of method usdc, as are network and type
	Method      string `json:"method"`
	Network     string `json:"network,omitempty"`
	Reference   string `json:"reference"` // of the transaction
	Status      string `json:"status"`    // success
	Timestamp   string `json:"timestamp"` // RFC 3339, of the block
	Type        string `json:"type,omitempty"`
}

// Answer implements pay.Protocol. Only success has a receipt: what else there is to say stands in
// the body, and a challenge would be paid once more.
func (protocol) Answer(to pay.Carrier, p *pay.Presented, o pay.Outcome) error {
	if !o.Success {
		return nil
	}
	c, ok := p.Data.(*credential)
	if !ok {
		return errors.New("mpp: this payment is of another protocol")
	}
	r := receipt{ChallengeID: c.ID, Method: c.Method, Reference: o.Transaction, Status: "success",
		Timestamp: o.At.UTC().Format(time.RFC3339)}
	if c.way.kind != "" {
		r.ExternalID, r.Network, r.Type = c.asks.ExternalID, o.Network, c.way.kind
	} else {
		_, chain, _ := strings.Cut(o.Network, ":")
		var err error
		if r.ChainID, err = strconv.ParseUint(chain, 10, 64); err != nil {
			return err
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if to.Header != nil {
		to.Header.Set(headerReceipt, base64.RawURLEncoding.EncodeToString(b))
	}
	if to.Meta != nil {
		to.Meta[metaReceipt] = b
	}
	return nil
}
