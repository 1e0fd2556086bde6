package evm

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"store.example/agentstore/dynamic/rail"
)

// viaPrefix marks the Account of a settlement that a third party sends.
const viaPrefix = "via:"

// maxClaimed bounds the memory of what third parties claim to have sent.
const maxClaimed = 1 << 16

// handover is a payment for a third party: the request body that settles it.
type handover struct {
	account string
	body    []byte
	cost    int64
}

// Sign implements rail.Draft. The third party numbers and signs its own transaction, so there is no
// sequence number and no ID.
func (h *handover) Sign(rail.Sequencer) (rail.Signed, error) {
	return rail.Signed{Raw: h.body, Account: h.account, At: time.Now().UTC()}, nil
}

// Price implements rail.Draft: what the third party takes, whatever becomes of its transaction.
func (h *handover) Price() rail.Price { return rail.Price{Cost: h.cost, Most: h.cost} }

// handed is the body of POST /settle (x402 1.6).
type handed struct {
	Version      int              `json:"x402Version"`
	Payload      handedPayload    `json:"paymentPayload"`
	Requirements rail.Requirement `json:"paymentRequirements"`
}

type handedPayload struct {
	Version  int              `json:"x402Version"`
	Payload  wirePayload      `json:"payload"`
	Accepted rail.Requirement `json:"accepted"`
}

// handOver prepares a payment for the third party, once the chain says that it would go through.
func (r *Rail) handOver(ctx context.Context, p *rail.Payment) (rail.Draft, error) {
	head, err := r.newest(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.rpc.one(ctx, nil, "eth_call", r.simulation(p, time.Now(), head.Time)...); err != nil {
		if e, ok := errors.AsType[*rail.NodeError](err); ok {
			if why, is := reverted(e); is {
				return nil, refuseRevert(why)
			}
		}
		return nil, fmt.Errorf("simulating a payment: %w", err)
	}
	if !p.Amount.IsInt64() {
		return nil, refuse(reasonValue, "the amount is out of range")
	}
	want := r.Requirement(p.Amount.Int64())
	value, sig := p.Amount.String(), hexutil.Encode(p.Signature)
	after, before := strconv.FormatInt(p.ValidAfter, 10), strconv.FormatInt(p.ValidBefore, 10)
	body, err := json.Marshal(handed{
		Version: 2,
		Payload: handedPayload{
			Version: 2,
			Payload: wirePayload{
				Authorization: &wireAuthorization{
					From: &p.Payer, To: &p.PayTo, Value: &value, ValidAfter: &after, ValidBefore: &before,
					Nonce: &p.Nonce,
				},
				Signature: &sig,
			},
			Accepted: want,
		},
		Requirements: want,
	}, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encoding a payment for the settler: %w", err)
	}
	return &handover{account: viaPrefix + r.cfg.Settler.Host(), body: body, cost: r.cfg.SettleCost}, nil
}

// sendOver hands a payment over. What the third party claims to have sent is remembered for its
// sender's sake only: so that a payment it settled is not called another's.
func (r *Rail) sendOver(ctx context.Context, s rail.Signed) error {
	if r.cfg.Settler == nil || s.Account != viaPrefix+r.cfg.Settler.Host() {
		return fmt.Errorf("%s is not the configured settler", strings.TrimPrefix(s.Account, viaPrefix))
	}
	tx, err := r.cfg.Settler.Settle(ctx, s.Raw)
	if isHash(tx) {
		r.mu.Lock()
		if len(r.claimed) >= maxClaimed {
			clear(r.claimed)
		}
		r.claimed[string(s.Raw)] = common.HexToHash(tx)
		r.mu.Unlock()
	}
	select {
	case r.nudge <- struct{}{}:
	default:
	}
	if err != nil {
		return fmt.Errorf("handing a payment over: %w", err)
	}
	return nil
}

// ours reports whether tx is a settlement that we signed.
func ours(signed []rail.Signed, tx common.Hash) bool {
	for _, s := range signed {
		if s.ID != "" && common.HexToHash(s.ID) == tx {
			return true
		}
	}
	return false
}

// handedOver reports whether the third party says that it sent tx for one of ours. It decides
// nothing but ByOther.
func (r *Rail) handedOver(signed []rail.Signed, tx common.Hash) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range signed {
		if s.ID == "" && r.claimed[string(s.Raw)] == tx {
			return true
		}
	}
	return false
}
