package till

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/settle"
)

// Money that no purchase credits (M13). A payment can arrive that the ledger knows nothing of: its
// claim went with a restore, or its authorization came with a repeat and somebody else submitted
// it. So the store reads for good what arrives at payTo, in blocks that are final. A transfer by an
// authorization that no purchase credits is owed to its payer: a purchase in the state uncredited,
// which the payer finds among the claims and the keeper in a list. What is less than the cheapest
// good is a total of the day only. A plain transfer is a gift. What a rail shows no nonce of
// (Permit2, for one) cannot be told from one.
//
//	budget/uncredited/swept/<network>/<pay_to>        the block up to which it was read (Swept)
//	budget/uncredited/owed/<network>/<block>/<tx>/<log>     purchase id
//	budget/uncredited/unsure/<network>/<block>/<tx>/<log>   a transfer whose purchase has not ended
//	budget/uncredited/small/<network>/<day>           what was too little, together

const (
	// sweepPieces is how many pieces one reading takes; the rest is read in the next ones, without
	// a pause.
	sweepPieces = 5
	// sweepBatch is how many transfers that were unsure are judged in one transaction.
	sweepBatch = 200
)

func uncreditedKey(kind string, parts ...string) []byte {
	return ledger.BudgetKey("uncredited", append([]string{kind}, parts...)...)
}

func transferKey(kind string, tr *rail.Transfer) []byte {
	return uncreditedKey(kind, tr.Network, ledger.Number(tr.Block), tr.Tx, ledger.Number(tr.LogIndex))
}

// Small is what arrived on a day in transfers that are each less than the cheapest good.
type Small struct {
	Transfers int   `json:"transfers"`
	Amount    int64 `json:"amount"` // atomic units
}

// PaymentOf is the authorization that a transfer was made by, as far as its event tells.
func PaymentOf(info rail.Info, tr rail.Transfer) rail.Payment {
	return rail.Payment{Network: info.Network, Asset: info.Asset, Method: tr.Method, Payer: tr.Payer, Nonce: tr.Nonce,
		PayTo: info.PayTo, Amount: new(big.Int).Set(tr.Amount)}
}

// Owe takes a transfer into the ledger that buys nothing: what was paid is owed to its payer. The
// transfer is credited and the authorization claimed, unless it was, so that neither ever pays for
// anything else.
func Owe(tx ledger.Tx, info rail.Info, tr rail.Transfer, state State, reason string) (*Purchase, error) {
	now := tx.Now()
	p := &Purchase{
		ID: attest.NewID(prefixPurchase), Version: 1, State: state, Created: now, Updated: now,
		Payment: PaymentOf(info, tr), Amount: tr.Amount.Int64(), Final: true, Reason: reason,
		Proof: &rail.Proof{Tx: tr.Tx, LogIndex: tr.LogIndex, Block: tr.Block, BlockTime: tr.Time},
	}
	if _, err := tx.Get(authKey(&p.Payment)); errors.Is(err, errNotFound) {
		if err := ledger.SetJSON(tx, authKey(&p.Payment), Claim{Purchase: p.ID}); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	return p, errors.Join(
		ledger.SetJSON(tx, ledger.CreditKey(info.Network, tr.Tx, tr.LogIndex), creditOf{p.ID}),
		tx.Set(ledger.PayerKey(tr.Payer, now, p.ID), nil),
		tx.Set(transferKey("owed", &tr), []byte(p.ID)),
		ledger.SetJSON(tx, ledger.PurchaseKey(p.ID), p),
	)
}

// sweep reads what arrived on a network since the last time, fills what is left open there, and
// puts the next reading.
func (t *Till) sweep(ctx context.Context, task schedule.Task) error {
	more, err := t.sweepNetwork(ctx, task, t.byNet[task.ID])
	if errors.Is(err, settle.ErrGasUnchecked) {
		return nil // of that the guard tells
	}
	if err != nil {
		return err
	}
	if err := t.fillLeft(ctx, task.ID); err != nil {
		return fmt.Errorf("filling numbers that are left open: %w", err)
	}
	pause := t.cfg.Sweep
	if more {
		pause = 0
	}
	return t.update(ctx, func(tx ledger.Tx) error {
		return errors.Join(task.Check(tx), schedule.Put(tx, task.Job, task.ID, tx.Now().Add(pause)))
	})
}

// sweepNetwork judges the transfers in the blocks that became final, and those that were unsure: of
// the former sweepPieces pieces. What it has judged it notes piece by piece, so that whoever writes
// more than is read in the time delays what is paid in those blocks, but hides nothing for ever.
// more says that there is more to read.
func (t *Till) sweepNetwork(ctx context.Context, task schedule.Task, r rail.Rail) (more bool, err error) {
	if err := t.cfg.Gas.Ready(ctx, r.Info().Network); err != nil {
		return false, err
	}
	if err := t.beginReading(ctx, r); err != nil {
		return false, nil // it has told
	}
	final, err := r.Final(ctx)
	if err != nil {
		return false, err
	}
	s, list, err := t.unsure(ctx, task, r.Info(), final)
	if err != nil {
		return false, err
	}
	if len(list) > 0 {
		if err := t.judgeTransfers(ctx, task, r, list, s); err != nil {
			return false, err
		}
	}
	if s.Rest == (rail.Span{}) {
		if final.Block <= s.Block {
			return false, nil
		}
		s.Rest, s.At = rail.Span{From: s.Block + 1, To: final.Block}, sooner(final.Time, time.Now())
	}
	pieces := 0
	for p, err := range r.Incoming(ctx, s.Rest) {
		if err != nil {
			return false, err
		}
		if s.Rest, s.Block = p.Rest, p.Rest.From-1; p.Rest.Read() {
			s.Rest = rail.Span{}
		}
		if err := t.judgeTransfers(ctx, task, r, p.Transfers, s); err != nil {
			return false, err
		}
		if pieces++; pieces == sweepPieces {
			break
		}
	}
	return s.Rest != (rail.Span{}) || s.Block < final.Block, nil
}

// unsure reads how far an address was read, which is far back where the note of it is seen to be
// untrue, and some of the transfers of which it was not sure what they are.
func (t *Till) unsure(ctx context.Context, task schedule.Task, info rail.Info, final rail.Head) (s Swept,
	list []rail.Transfer, err error) {
	err = t.view(ctx, func(tx ledger.Tx) (err error) {
		list = nil
		if s, err = sweptOf(tx, info); err != nil {
			return err
		}
		for e, err := range tx.Scan(ledger.Prefix(uncreditedKey("unsure", info.Network))) {
			if err != nil {
				return err
			}
			var tr rail.Transfer
			if err := json.Unmarshal(e.Value, &tr); err != nil {
				return fmt.Errorf("%s: %w", ledger.KeyText(e.Key), err)
			}
			if list = append(list, tr); len(list) == sweepBatch {
				break
			}
		}
		return nil
	})
	if err != nil || !s.untrue(final) {
		return s, list, err
	}
	t.cfg.Log.Error("a node named a final block that did not exist: what arrived is read again", "network",
		info.Network, "named", s.Block, "final", final.Block)
	err = t.update(ctx, func(tx ledger.Tx) (err error) {
		if err := task.Check(tx); err != nil {
			return err
		}
		s, err = readAgain(tx, info, s, final)
		return err
	})
	return s, list, err
}

// judgeTransfers decides about transfers in final blocks and notes how far was read, in one
// transaction, so that each is counted once.
func (t *Till) judgeTransfers(ctx context.Context, task schedule.Task, r rail.Rail, list []rail.Transfer,
	s Swept) error {
	info := r.Info()
	var owed []*Purchase
	err := t.update(ctx, func(tx ledger.Tx) error {
		owed = nil
		list := slices.DeleteFunc(slices.Clone(list), func(tr rail.Transfer) bool { return s.Earlier(tr) })
		creditsAhead(tx, info, list, ledger.At(ledger.TaskKey(task.Job, task.ID)))
		if err := task.Check(tx); err != nil {
			return err
		}
		for _, tr := range list {
			p, err := t.judgeTransfer(tx, info, tr)
			if err != nil {
				return err
			}
			if p != nil {
				owed = append(owed, p)
			}
		}
		return noteSwept(tx, info, s)
	})
	if err != nil {
		return err
	}
	for _, p := range owed {
		t.cfg.Log.Warn("money arrived that no purchase credits: it is owed", "purchase", p.ID, "network", info.Network,
			"payer", p.Payment.Payer,
			"usdc", usdc(p.Amount), "tx", p.Proof.Tx)
		t.tellEnd(p)
	}
	return nil
}

// creditsAhead says ahead what judging some transfers reads, besides more: the credit of each, then
// the purchases that have one, and the claims of the others.
func creditsAhead(tx ledger.Tx, info rail.Info, list []rail.Transfer, more ...ledger.Range) {
	for _, tr := range list {
		more = append(more, ledger.At(ledger.CreditKey(info.Network, tr.Tx, tr.LogIndex)))
	}
	ledger.Ahead(tx, more...)
	more = more[:0]
	for _, tr := range list {
		// Who judges reads it again, and reports what is wrong with it.
		held, err := ledger.GetJSON[creditOf](tx, ledger.CreditKey(info.Network, tr.Tx, tr.LogIndex))
		if err == nil {
			more = append(more, ledger.At(ledger.PurchaseKey(held.Purchase)))
		} else if pay := PaymentOf(info, tr); tr.Nonce != "" {
			more = append(more, ledger.At(authKey(&pay)))
		}
	}
	ledger.Ahead(tx, more...)
}

// judgeTransfer decides about one transfer in a final block. It returns the debt, if it is one.
func (t *Till) judgeTransfer(tx ledger.Tx, info rail.Info, tr rail.Transfer) (*Purchase, error) {
	if tr.Nonce == "" || !tr.Amount.IsInt64() || tr.Amount.Sign() == 0 {
		return nil, nil
	}
	sure, credited, err := t.creditedBy(tx, info, tr)
	if err != nil {
		return nil, err
	}
	if !sure {
		return nil, ledger.SetJSON(tx, transferKey("unsure", &tr), tr)
	}
	if err := tx.Delete(transferKey("unsure", &tr)); err != nil || credited {
		return nil, err
	}
	if tr.Amount.Int64() >= t.cheapest() {
		return Owe(tx, info, tr, Uncredited, "no purchase credits this payment")
	}
	key := uncreditedKey("small", info.Network, tr.Time.UTC().Format(time.DateOnly))
	s, _, err := ledger.FindJSON[Small](tx, key)
	if err != nil {
		return nil, err
	}
	s.Transfers, s.Amount = s.Transfers+1, s.Amount+tr.Amount.Int64()
	return nil, ledger.SetJSON(tx, key, s)
}

// creditedBy reports whether a purchase credits a transfer in a final block, and whether that is
// sure: a purchase that has not ended may still credit it, and one whose credit a reorganisation
// moved may still follow.
func (t *Till) creditedBy(tx ledger.Tx, info rail.Info, tr rail.Transfer) (sure, credited bool, err error) {
	held, err := ledger.GetJSON[creditOf](tx, ledger.CreditKey(info.Network, tr.Tx, tr.LogIndex))
	if err == nil {
		p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(held.Purchase))
		if err != nil {
			return false, false, err
		}
		if p.Payment.Payer == tr.Payer && p.Payment.Nonce == tr.Nonce {
			return true, true, nil
		}
		if !p.Final { // its place in the chain is not what it was
			return false, false, nil
		}
	} else if !errors.Is(err, errNotFound) {
		return false, false, err
	}
	pay := PaymentOf(info, tr)
	c, err := ledger.GetJSON[Claim](tx, authKey(&pay))
	if errors.Is(err, errNotFound) {
		return true, false, nil
	}
	if err != nil {
		return false, false, err
	}
	p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(c.Purchase))
	return err == nil && p.Final, false, err
}

// cheapest is the lowest price of what is sold.
func (t *Till) cheapest() int64 {
	site := t.cfg.Site.Now()
	least := int64(0)
	for _, g := range site.Goods {
		if least == 0 || g.Price < least {
			least = g.Price
		}
	}
	if o := t.offer(site, PorchLine); o != nil && (least == 0 || o.Price() < least) {
		least = o.Price()
	}
	return least
}

// Owed is one line of the keeper's list of money that no purchase credits.
type Owed struct {
	PurchaseID string `json:"purchase_id,omitempty" doc:"The purchase of the money."`
	State      State  `json:"state,omitempty" doc:"uncredited, or from_chain after a restore."`
	Network    string `json:"network" doc:"The network."`
	Payer      string `json:"payer,omitempty" doc:"Who paid."`
	USDC       string `json:"usdc" doc:"How much."`
	Tx         string `json:"tx,omitempty"`
	LogIndex   uint64 `json:"log_index,omitempty"`
	Time       string `json:"time,omitempty" doc:"When it arrived, UTC."`
	Day        string `json:"day,omitempty" doc:"The day of a total of transfers that are each less than the cheapest good."`
	Transfers  int    `json:"transfers,omitempty" doc:"Transfers in the total."`
}

// ListOwed lists what is owed for payments that no purchase credits, network by network in the
// order of the chain, and then the daily totals of what was too little.
func ListOwed(ctx context.Context, db ledger.DB) (out []Owed, err error) {
	err = db.View(ctx, func(tx ledger.Tx) error {
		out = nil
		for e, err := range tx.Scan(ledger.Prefix(uncreditedKey("owed"))) {
			if err != nil {
				return err
			}
			p, err := ledger.GetJSON[Purchase](tx, ledger.PurchaseKey(string(e.Value)))
			if err != nil {
				return err
			}
			out = append(out, Owed{PurchaseID: p.ID, State: p.State, Network: p.Payment.Network, Payer: p.Payment.Payer,
				USDC: usdc(p.Amount),
				Tx:   p.Proof.Tx, LogIndex: p.Proof.LogIndex, Time: p.Proof.BlockTime.UTC().Format(time.RFC3339)})
		}
		for e, err := range tx.Scan(ledger.Prefix(uncreditedKey("small"))) {
			if err != nil {
				return err
			}
			var s Small
			if err := json.Unmarshal(e.Value, &s); err != nil {
				return fmt.Errorf("%s: %w", ledger.KeyText(e.Key), err)
			}
			parts, err := ledger.Parts(e.Key)
			if err != nil {
				return err
			}
			out = append(out, Owed{Network: parts[3], Day: parts[4], Transfers: s.Transfers,
				USDC: content.FormatUSDC(s.Amount)})
		}
		return nil
	})
	return out, err
}
