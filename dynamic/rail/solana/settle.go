package solana

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"time"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
)

const (
	// signatureFee is what a signature costs, in lamports.
	signatureFee = 5000
	// rentMinimum is what an account must hold that holds anything, in lamports (rent exemption of
	// 0 bytes): a fee that leaves less is refused.
	rentMinimum = 890_880
	// usualUnits and usualPrice are those of a stock payment.
	usualUnits, usualPrice = 20_000, 1
)

// fee is what a transaction of two signatures costs, in lamports, whatever becomes of it.
func fee(units uint32, price uint64) uint64 {
	return 2*signatureFee + (uint64(units)*price+999_999)/1_000_000
}

// worth is an amount of lamports in atomic units of the asset, rounded up.
func (r *Rail) worth(lamports uint64) int64 {
	n := new(big.Int).Mul(new(big.Int).SetUint64(lamports), big.NewInt(r.cfg.CoinPrice))
	n.Add(n, big.NewInt(1e9-1)).Div(n, big.NewInt(1e9))
	if !n.IsInt64() {
		return 1<<63 - 1
	}
	return n.Int64()
}

// draft is a payment that our signature makes a settlement.
type draft struct {
	r         *Rail
	t         *transaction
	lastValid uint64
	price     rail.Price
}

// Price implements rail.Draft. The fee is taken by what was asked for and not by what was used, so
// what is expected is also the most.
func (d *draft) Price() rail.Price { return d.price }

// Sign implements rail.Draft. No number is drawn. The signature is the same whenever it is made.
func (d *draft) Sign(rail.Sequencer) (rail.Signed, error) {
	t := *d.t
	s := d.r.signatureOf(d.t)
	t.signatures = append([][64]byte{s.bytes}, d.t.signatures[1:]...)
	return rail.Signed{
		ID: s.id, Raw: t.wire(), Account: d.r.accountNames[0],
		Sequence: d.lastValid, At: time.Now().UTC(),
	}, nil
}

// ownSignature is the fee payer's over a message, which is the same whenever it is made.
type ownSignature struct {
	bytes [64]byte
	id    string // the same in base58
}

// signatureOf is the signature by which a transaction lands, if it ever does. It is remembered by
// the message, since that is what others know a payment by.
func (r *Rail) signatureOf(t *transaction) ownSignature {
	hash := t.hash()
	r.mu.Lock()
	s, ok := r.mine[hash]
	r.mu.Unlock()
	if ok {
		return s
	}
	s.bytes = [64]byte(ed25519.Sign(r.cfg.FeePayer, t.message))
	s.id = wallet.EncodeBase58(s.bytes[:])
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mine) >= maxTried {
		clear(r.mine)
	}
	r.mine[hash] = s
	return s
}

// Draft implements rail.Rail. The simulation of Verify speaks for the first draft after it, for two
// seconds.
func (r *Rail) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if len(ps) != 1 {
		return nil, rail.ErrTogether
	}
	t, o, ref := r.taken(ps[0], false)
	if ref != nil {
		return nil, ref
	}
	last, tried := r.takeTried(ps[0])
	if !tried {
		slot, err := r.simulate(ctx, t)
		if err != nil {
			return nil, err
		}
		if last, err = r.lastValid(ctx, t.blockhash, slot); err != nil {
			return nil, fmt.Errorf("reading until when a payment is good: %w", err)
		}
	}
	v, live := r.live()
	if !live {
		var err error
		if v, err = r.readView(ctx); err != nil {
			return nil, fmt.Errorf("reading the fee payer's account: %w", err)
		}
	}
	takes := fee(o.units, o.price)
	if v.lamports < takes+rentMinimum {
		return nil, fmt.Errorf("fee payer %s: %w", r.feePayer, rail.ErrNoGas)
	}
	r.signatureOf(t)
	r.noteDraft(ps[0])
	cost := r.worth(takes)
	return &draft{r, t, last, rail.Price{Gas: uint64(o.units), Cost: cost, Most: cost, Code: o.code}}, nil
}

// Replace implements rail.Rail: nothing can stand in the place of what the payer signed.
func (r *Rail) Replace(context.Context, []*rail.Payment, rail.Signed, bool) (rail.Draft, error) {
	return nil, errors.New("a Solana transaction cannot be replaced")
}

// Send implements rail.Rail. The node tries to forward what it is given until it lands or can land
// no more.
func (r *Rail) Send(ctx context.Context, all ...rail.Signed) error {
	failed := make([]error, len(all))
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() {
			var id string
			err := r.rpc.call(ctx, &id, "sendTransaction", base64.StdEncoding.EncodeToString(s.Raw),
				map[string]any{"encoding": "base64", "skipPreflight": true})
			if err == nil && id != s.ID {
				err = errors.New("the node names another transaction")
			}
			if err != nil && !processed(err) {
				failed[i] = fmt.Errorf("sending %s: %w", s.ID, err)
			}
		})
	}
	wg.Wait()
	r.noteSent(all)
	return errors.Join(failed...)
}

// processed reports the answer by which a node says that a transaction is on the chain already.
func processed(err error) bool {
	e, ok := errors.AsType[*rail.NodeError](err)
	return ok && strings.Contains(strings.ToLower(e.Message), "already been processed")
}

// Accounts implements rail.Rail: no transaction here is numbered.
func (r *Rail) Accounts(context.Context) ([]rail.Account, error) { return nil, nil }
