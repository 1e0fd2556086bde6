package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/rail/evm"
	"store.example/agentstore/dynamic/schedule"
	"store.example/agentstore/dynamic/till"
)

// KeeperDebt is a debt as the keeper reads it.
type KeeperDebt struct {
	DebtID     string        `json:"debt_id" doc:"The debt, as store keeper pay takes it."`
	Kind       string        `json:"kind" doc:"Of what kind it is."`
	Status     string        `json:"status" doc:"How it stands."`
	Reason     string        `json:"reason" wide:"true" doc:"Why it is owed."`
	Since      time.Time     `json:"since" doc:"When it came to be owed, UTC."`
	OwedUSDC   string        `json:"owed_usdc" doc:"What is owed."`
	Atomic     int64         `json:"owed_atomic"`
	Network    string        `json:"network" doc:"The network that it was paid on."`
	Asset      string        `json:"asset"`
	To         string        `json:"to" doc:"Who is paid."`
	Nonce      string        `json:"nonce"`
	Tx         string        `json:"tx"` // that made it
	Final      bool          `json:"final"`
	PurchaseID string        `json:"purchase_id"`
	OrderID    string        `json:"order_id,omitzero"`
	Payouts    []till.Payout `json:"payouts,omitzero"`
	Trouble    string        `json:"trouble,omitzero" wide:"true" doc:"Why the payout would fail."`
	PaidTx     string        `json:"paid_tx,omitzero" doc:"The transaction that paid it."`
	PaidAt     time.Time     `json:"paid_at,omitzero"`
	URL        string        `json:"url,omitzero" doc:"What the creditor reads."`
}

func (s *Shop) keeperDebt(d till.Debt) KeeperDebt {
	p := d.Purchase
	v := KeeperDebt{DebtID: d.ID, Kind: d.Kind, Status: d.Status, Reason: screen.Text(d.Reason), Since: d.Since.UTC(),
		OwedUSDC: content.FormatUSDC(p.Amount), Atomic: p.Amount, Network: p.Payment.Network, Asset: p.Payment.Asset,
		To: p.Payment.Payer, Nonce: d.Nonce, Tx: p.Proof.Tx, Final: p.Final, PurchaseID: p.ID, OrderID: d.OrderID,
		Payouts: d.Payouts, Trouble: screen.Text(d.Trouble)}
	if d.Paid != nil {
		v.PaidTx, v.PaidAt = d.Paid.Tx, d.Paid.BlockTime.UTC()
	}
	if len(d.Payouts) > 0 {
		v.URL = s.Config.BaseURL + "/api/verify/" + d.ID
	}
	return v
}

func (s *Shop) debts(ctx context.Context, in listIn) ([]KeeperDebt, error) {
	list, err := s.Till.Debts(ctx, in.All)
	out := make([]KeeperDebt, len(list))
	for i, d := range list {
		out[i] = s.keeperDebt(d)
	}
	return out, err
}

type payIn struct {
	Debt   string `arg:"DEBT" form:"^debt_[a-z2-7]{20}$" doc:"the debt, debt_ and twenty characters: store keeper debts lists them"`
	Payout till.Payout
}

// signPayment signs a payout of a debt with the payout key, which no process that serves reads.
func signPayment(ctx context.Context, c *Config, in any, log *slog.Logger) error {
	pay := in.(*payIn)
	key, err := payoutKey(c)
	if err != nil {
		return err
	}
	debts, _ := VerbNamed("debts")
	call := debts.Call()
	call.in, call.JSON = &listIn{All: true}, true
	var list bytes.Buffer
	if err := call.Do(ctx, c, log, &list); err != nil {
		return err
	}
	debt, err := findDebt(&list, pay.Debt)
	if err != nil {
		return err
	}
	pay.Payout, err = signPayout(c, debt, key, time.Now().Add(till.PayoutFor))
	return err
}

func payoutKey(c *Config) (*wallet.Key, error) {
	if c.Payouts.Key == "" {
		return nil,
			errors.New("payouts.key names no file in the configuration: make a key of its own, as for a relayer")
	}
	raw, err := ReadSecret(c.Payouts.Key)
	if err != nil {
		return nil, missingKey("payouts.key", err)
	}
	key, err := wallet.ParseKey(strings.TrimSpace(string(raw)))
	if err != nil {
		return nil, errors.New("payouts.key is not the hex of a key") // its error may say what stands there
	}
	return key, nil
}

func findDebt(list io.Reader, id string) (KeeperDebt, error) {
	for in := json.NewDecoder(list); ; {
		var d KeeperDebt
		switch err := in.Decode(&d); {
		case errors.Is(err, io.EOF):
			return d, till.ErrNoDebt
		case err != nil:
			return d, err
		case d.DebtID == id:
			return d, nil
		}
	}
}

// signPayout signs what pays a debt. It reads no chain and no ledger.
func signPayout(c *Config, d KeeperDebt, key *wallet.Key, until time.Time) (till.Payout, error) {
	for _, n := range c.Networks {
		if n.ID != d.Network {
			continue
		}
		cfg, known := evm.Preset(n.ID)
		if !known {
			return till.Payout{}, till.ErrByHand
		}
		owed := till.Debt{Nonce: d.Nonce, Purchase: &till.Purchase{Amount: d.Atomic,
			Payment: rail.Payment{Network: d.Network, Asset: d.Asset, Payer: d.To}}}
		p := owed.Payment(key.Address().String(), until.Unix())
		evm.SignPayout(cfg, p, key)
		return till.Payout{From: p.Payer, ValidBefore: p.ValidBefore, Signature: p.Signature}, nil
	}
	return till.Payout{}, fmt.Errorf("network %s is not configured", d.Network)
}

// pay takes a payout in, and gives the debt as it stands then. Where dry is set the payout is
// judged, and forgotten.
func (s *Shop) pay(ctx context.Context, in payIn, dry bool) (*KeeperDebt, error) {
	d, err := s.Till.PayOut(ctx, in.Debt, in.Payout, dry)
	if err != nil && !errors.Is(err, till.ErrPaid) {
		return nil, err
	}
	v := s.keeperDebt(d)
	return &v, err
}

type paidIn struct {
	Debt string `arg:"DEBT" form:"^debt_[a-z2-7]{20}$" doc:"the debt, debt_ and twenty characters: store keeper debts lists them"`
	Tx   string `flag:"tx" doc:"the transaction that paid" need:"say by which transaction with -tx"`
}

// paid notes that the keeper paid a debt by hand, and gives it as it stands then.
func (s *Shop) paid(ctx context.Context, in paidIn, dry bool) (KeeperDebt, error) {
	d, err := s.Till.PaidByHand(ctx, in.Debt, in.Tx, dry)
	if err != nil {
		return KeeperDebt{}, err
	}
	return s.keeperDebt(d), nil
}

// payoutsEvery is how often the chains are asked what became of payouts.
const payoutsEvery = 10 * time.Minute

// watchPayouts asks the chains what became of payouts, until ctx ends. Any number of processes may:
// what is found is noted once.
func (s *Shop) watchPayouts(ctx context.Context) error {
	return schedule.Every(ctx, payoutsEvery, func(ctx context.Context) {
		changed, err := s.Till.LookAtPayouts(ctx)
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("what became of payouts is not known", "err", err)
		}
		for _, d := range changed {
			s.Log.Info("a payout", "debt", d.ID, "status", d.Status, "trouble", d.Trouble, "usdc",
				content.FormatUSDC(d.Purchase.Amount))
		}
	})
}
