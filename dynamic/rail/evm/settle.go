package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"store.example/agentstore/dynamic/rail"
)

// draft is a transaction of ours with everything known but its nonce.
type draft struct {
	r        *Rail
	to       common.Address
	data     []byte
	gas      uint64
	fees     fees
	accounts []rail.Account // ours that can pay for it
	old      *rail.Signed   // what it replaces, nil for none
	only     string         // the one account that may send it; empty where any may
	fill     bool
	deploys  bool // the payer's wallet, before it pays
	price    rail.Price
}

// Price implements rail.Draft.
func (d *draft) Price() rail.Price { return d.price }

// fees are the two fee fields of a type-2 transaction, in wei per gas.
type fees struct{ cap, tip *big.Int }

// Draft implements rail.Rail. A settlement that would revert is refused here; a relayer that cannot
// pay for it, or a network dearer than MaxFee, is an error.
func (r *Rail) Draft(ctx context.Context, ps []*rail.Payment) (rail.Draft, error) {
	if len(ps) != 1 {
		return r.draftTogether(ctx, ps)
	}
	p := ps[0]
	if r.cfg.Settler != nil {
		return r.handOver(ctx, p)
	}
	d := &draft{r: r}
	if err := d.aim(ctx, p); err != nil {
		return nil, err
	}
	return r.prepare(ctx, p, d, nil)
}

// Replace implements rail.Rail. Both fee fields are at least 10 % above the old ones, without which
// nodes refuse.
func (r *Rail) Replace(ctx context.Context, ps []*rail.Payment, old rail.Signed, fill bool) (rail.Draft, error) {
	if len(ps) == 0 {
		return nil, rail.ErrTogether
	}
	p := ps[0]
	if r.cfg.Settler != nil {
		return nil, errors.New("a settlement by a third party cannot be replaced")
	}
	if !r.mine(old) {
		return nil, fmt.Errorf("a settlement by %s cannot be replaced: its key is not configured", old.Account)
	}
	var tx types.Transaction
	if err := tx.UnmarshalBinary(old.Raw); err != nil {
		return nil, fmt.Errorf("reading the transaction to replace: %w", err)
	}
	least := &fees{cap: raised(tx.GasFeeCap()), tip: raised(tx.GasTipCap())}
	d := &draft{r: r, old: &old, fill: fill}
	switch {
	case fill:
		d.to = common.HexToAddress(old.Account)
	case len(ps) > 1:
		return r.renew(ctx, ps, d, &tx, least)
	default:
		if err := d.aim(ctx, p); err != nil {
			return nil, err
		}
	}
	return r.prepare(ctx, p, d, least)
}

// raised is n with an eighth on top, rounded up.
func raised(n *big.Int) *big.Int {
	up := new(big.Int).Add(n, big.NewInt(7))
	return up.Rsh(up, 3).Add(up, n)
}

// prepare finds gas, fees and the relayer's state in one round trip (two where the watcher does not
// know the fees).
func (r *Rail) prepare(ctx context.Context, p *rail.Payment, d *draft, least *fees) (rail.Draft, error) {
	head, f, err := r.offers(ctx, least)
	if err != nil {
		return nil, err
	}
	if p.Method == rail.MethodCapture && !d.fill && lasts(p) <= soon(time.Now(), head.Time) {
		return nil, captured("capture_deadline_expired", "no capture is sent so shortly before its deadline")
	}
	var gas hexutil.Uint64
	var code, data hexutil.Bytes
	// At the latest block, because some nodes estimate on top of the pool otherwise, where the
	// transaction that is to be replaced has spent the authorization already.
	from := r.senderOf(p)
	if d.old != nil {
		from = common.HexToAddress(d.old.Account)
	}
	if ofHold(p) && d.old == nil {
		if d.only = from.Hex(); r.keyOf(d.only) == nil {
			return nil, fmt.Errorf("the hold's operator is %s, whose key is not configured: configure it until the "+
				"hold is over", d.only)
		}
	}
	try := ethCall(from, d.to, d.data)
	try["gas"] = hexutil.EncodeUint64(gasCap(p, false))
	params := []any{try, "latest"}
	if now := time.Now(); !d.fill && stale(p, now, head.Time) {
		params = append(params, map[string]string{}, blockTime(now))
	}
	calls := []*call{
		{method: "eth_estimateGas", params: params, out: &gas},
		{method: "eth_getCode", params: []any{common.HexToAddress(p.Payer).Hex(), "latest"}, out: &code},
	}
	counted, pending := r.countCalls("pending")
	balances, has := r.balanceCalls()
	calls = append(append(calls, counted...), balances...)
	if fee := r.dataFeeCall(len(d.data), &data); fee != nil {
		calls = append(calls, fee)
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return nil, fmt.Errorf("preparing a settlement: %w", err)
	}
	most := gasCap(p, len(code) > 0)
	if err := calls[0].err; exhausted(err) {
		return nil, d.takesMore(most, len(code) > 0)
	} else if err != nil {
		why, is := reverted(err)
		if !is {
			return nil, fmt.Errorf("estimating gas: %w", err)
		}
		if ofHold(p) {
			return nil, refuseHold(why)
		}
		if ref := refuseRevert(why); p.Method != methodPermit2 || ref.Reason != reasonFailed {
			return nil, ref
		}
		return nil, r.diagnosePermit(ctx, p, why) // which says of no transfer why it failed
	}
	for _, k := range calls[1:] {
		if k.err != nil {
			return nil, fmt.Errorf("reading the relayer's account: %w", k.err)
		}
	}
	if uint64(gas) > most {
		return nil, d.takesMore(most, len(code) > 0)
	}
	d.gas, d.fees = min(uint64(gas)+uint64(gas)/4, most), f
	d.price = r.priced(uint64(gas), d.gas, head, f, dataFee(data))
	d.price.Code = codeOf(p, code)
	if d.deploys && least == nil {
		if ref := worthDeploying(p, d.price); ref != nil {
			return nil, ref
		}
	}
	if len(code) == 0 && !isOwn(p) && !isDeposit(p) && !isHold(p) {
		r.alone.Store(uint64(gas))
	}
	if err := r.choose(ctx, d, pending(), has()); err != nil {
		return nil, err
	}
	return d, nil
}

// choose names the accounts whose balance covers a transaction at its highest fee.
func (r *Rail) choose(ctx context.Context, d *draft, pending counts, balance map[string]*big.Int) error {
	mined, err := r.mined(ctx)
	if err != nil {
		return err
	}
	cost := new(big.Int).Mul(new(big.Int).SetUint64(d.gas), d.fees.cap)
	for _, a := range r.accounts {
		if cost.Cmp(balance[a]) <= 0 && (d.old == nil || d.old.Account == a) && (d.only == "" || d.only == a) {
			d.accounts = append(d.accounts, rail.Account{Address: a, Mined: mined[a],
				Pending: max(pending[a], mined[a])})
		}
	}
	if len(d.accounts) == 0 {
		return fmt.Errorf("relayer %s: %w", strings.Join(r.accounts, ", "), rail.ErrNoGas)
	}
	return nil
}

func larger(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

// price is the head and what a transaction should offer: room for the base fee to double, and the
// tip that the node suggests. While the watcher runs both are read once a block.
func (r *Rail) price(ctx context.Context) (block, fees, error) {
	if s, ok := r.index.state(time.Now(), r.patience()); ok && s.tip != nil {
		return s.head, offer(s.head.BaseFee, s.tip), nil
	}
	var head block
	var tip hexutil.Big
	calls := []*call{headCall(&head), {method: "eth_maxPriorityFeePerGas", out: &tip}}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return block{}, fees{}, fmt.Errorf("reading fees: %w", err)
	}
	if err := errors.Join(calls[0].err, calls[1].err); err != nil {
		return block{}, fees{}, fmt.Errorf("reading fees: %w", err)
	}
	return head, offer(head.BaseFee, (*big.Int)(&tip)), nil
}

// offers is price within the ceiling, and no less than what a replacement has to offer.
func (r *Rail) offers(ctx context.Context, least *fees) (block, fees, error) {
	head, f, err := r.price(ctx)
	if err != nil {
		return block{}, fees{}, err
	}
	if least != nil {
		f = fees{cap: larger(f.cap, least.cap), tip: larger(f.tip, least.tip)}
	}
	if f.cap.Cmp(r.cfg.MaxFee) > 0 {
		if least != nil || r.tooDear(head) {
			return block{}, fees{}, fmt.Errorf("a fee of %s wei per gas is above the limit of %s: %w", f.cap,
				r.cfg.MaxFee, rail.ErrFees)
		}
		f.cap = r.cfg.MaxFee
	}
	if f.tip.Cmp(f.cap) > 0 {
		f.tip = f.cap
	}
	return head, f, nil
}

func offer(base, tip *big.Int) fees {
	f := fees{cap: new(big.Int).Set(tip), tip: tip}
	if base != nil {
		f.cap.Add(f.cap, new(big.Int).Lsh(base, 1))
	}
	if f.cap.Sign() == 0 {
		f.cap.SetUint64(1)
	}
	return f
}

// Sign implements rail.Draft.
func (d *draft) Sign(seq rail.Sequencer) (rail.Signed, error) {
	var account string
	var n uint64
	if d.old != nil {
		account, n = d.old.Account, d.old.Sequence
	} else {
		var err error
		if account, n, err = seq.Next(d.accounts); err != nil {
			return rail.Signed{}, fmt.Errorf("taking a nonce: %w", err)
		}
	}
	tx, err := types.SignNewTx(d.r.keyOf(account), d.r.signer, &types.DynamicFeeTx{
		ChainID: d.r.chainID, Nonce: n, GasTipCap: d.fees.tip, GasFeeCap: d.fees.cap, Gas: d.gas, To: &d.to,
		Data: d.data,
	})
	if err != nil {
		return rail.Signed{}, fmt.Errorf("signing a settlement: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return rail.Signed{}, fmt.Errorf("encoding a settlement: %w", err)
	}
	return rail.Signed{ID: tx.Hash().Hex(), Raw: raw, Account: account, Sequence: n, Fill: d.fill,
		At: time.Now().UTC()}, nil
}

// Send implements rail.Rail, in one round trip: a node takes the calls of a batch in their order.
// One that knows a transaction, or says that its nonce is spent, is no error: what became of it is
// for Status to find out.
func (r *Rail) Send(ctx context.Context, all ...rail.Signed) error {
	var failed []error
	var calls []*call
	for _, s := range all {
		if strings.HasPrefix(s.Account, viaPrefix) {
			failed = append(failed, r.sendOver(ctx, s))
		} else {
			calls = append(calls, &call{method: "eth_sendRawTransaction", params: []any{hexutil.Encode(s.Raw)}})
		}
	}
	if len(calls) == 0 {
		return errors.Join(failed...)
	}
	if err := r.rpc.batch(ctx, calls...); err != nil {
		return fmt.Errorf("sending %s: %w", all[0].ID, err)
	}
	for i, k := range calls {
		if k.err != nil && !known(k.err) {
			failed = append(failed, fmt.Errorf("sending %s: %w", all[i].ID, k.err))
		}
	}
	select {
	case r.nudge <- struct{}{}:
	default:
	}
	return errors.Join(failed...)
}

// known reports the answers by which nodes say that a transaction is in their pool or that its
// nonce is spent.
func known(err error) bool {
	e, ok := errors.AsType[*rail.NodeError](err)
	if !ok {
		return false
	}
	m := strings.ToLower(e.Message)
	for _, s := range []string{"already known", "already imported", "known transaction", "nonce too low",
		"already exists"} {
		if strings.Contains(m, s) {
			return true
		}
	}
	return false
}

// takesMore refuses a payment whose settlement takes more gas than is spent on one.
func (d *draft) takesMore(most uint64, coded bool) *rail.Refusal {
	ref := refuse(reasonFailed, "settling this payment would take more than the %d gas that are spent on one", most)
	ref.Payer = d.deploys || coded // only code of the payer's own takes more than the token does
	return ref
}
