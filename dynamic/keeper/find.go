package keeper

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/screen"
	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/ledger"
	"store.example/agentstore/dynamic/till"
)

// Bought is a purchase as the keeper reads it: what the ledger knows of the money, and not what was
// asked for, which is the buyer's.
type Bought struct {
	PurchaseID  string    `json:"purchase_id" doc:"The purchase."`
	ItemID      string    `json:"item_id" doc:"The good."`
	State       string    `json:"state" doc:"How it stands."`
	Billed      string    `json:"billed" doc:"Whether it was billed."`
	Final       bool      `json:"final" doc:"Whether its block is final."`
	Created     time.Time `json:"created_at" doc:"When it began, UTC."`
	Updated     time.Time `json:"updated_at"`
	PaidUSDC    string    `json:"paid_usdc" doc:"What was paid, tip and all."`
	TipUSDC     string    `json:"tip_usdc" doc:"The tip."`
	Payer       string    `json:"payer" doc:"Who paid."`
	Network     string    `json:"network" doc:"The network."`
	Protocol    string    `json:"protocol,omitzero"`
	Tx          string    `json:"tx,omitzero" doc:"The transaction."`
	Block       uint64    `json:"block,omitzero"`
	CertID      string    `json:"cert_id,omitzero" doc:"The certificate."`
	Number      int64     `json:"patron_number,omitzero" doc:"The patron number."`
	Artifact    string    `json:"artifact,omitzero" doc:"What was signed beside it."`
	Reason      string    `json:"reason,omitzero" wide:"true" doc:"Why it stands so."`
	DeliveredAt time.Time `json:"delivered_at,omitzero"`
}

func boughtOf(p *till.Purchase) Bought {
	b := Bought{PurchaseID: p.ID, ItemID: p.Item, State: string(p.State), Billed: p.Billed(), Final: p.Final,
		Created: p.Created.UTC(), Updated: p.Updated.UTC(), PaidUSDC: content.FormatUSDC(p.Amount),
		TipUSDC: content.FormatUSDC(p.Tip), Payer: screen.Text(p.Payment.Payer), Network: p.Payment.Network,
		Protocol: p.Protocol, CertID: p.CertID, Number: p.Number, Artifact: p.Artifact,
		Reason: screen.Text(p.Reason), DeliveredAt: p.DeliveredAt}
	if p.Proof != nil {
		b.Tx, b.Block = p.Proof.Tx, p.Proof.Block
	}
	return b
}

// Found is what a search found.
type Found struct {
	Purchases []Bought `json:"purchases"`
	More      bool     `json:"more"` // there are older ones of this wallet
}

// a finder is one thing that purchases are found by: a row.
type finder struct {
	form *regexp.Regexp
	find func(tx ledger.Tx, q string) (ids []string, more bool, err error)
}

var finders = []finder{
	// a purchase id
	{regexp.MustCompile(`^pur_[a-z2-7]{20}$`), func(_ ledger.Tx, q string) ([]string, bool, error) {
		return []string{q}, false, nil
	}},
	// a certificate's id
	{regexp.MustCompile(`^cert_[a-zA-Z0-9_-]{1,60}$`), pointing(ledger.CertKey)},
	// an order's id
	{regexp.MustCompile(`^order_[a-z2-7]{20}$`), pointing(ledger.OrderKey)},
	// a debt's id
	{regexp.MustCompile(`^debt_[a-z2-7]{20}$`), pointing(ledger.DebtKey)},
	// a patron number
	{regexp.MustCompile(`^[1-9][0-9]{0,17}$`), byNumber},
	// a transaction
	{regexp.MustCompile(`^(0x[0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{80,90})$`), nil},
	// a wallet
	{regexp.MustCompile(`^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$`), byWallet},
}

// pointing finds the purchase that the record of an id names.
func pointing(key func(id string) []byte) func(ledger.Tx, string) ([]string, bool, error) {
	return func(tx ledger.Tx, q string) ([]string, bool, error) { return pointedAt(tx, key(q)) }
}

// pointedAt reads the purchase that a record names.
func pointedAt(tx ledger.Tx, key []byte) ([]string, bool, error) {
	raw, err := tx.Get(key)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	m := purchaseOf.FindSubmatch(raw)
	if m == nil {
		return nil, false, fmt.Errorf("%s names no purchase", ledger.KeyText(key))
	}
	return []string{string(m[1])}, false, nil
}

var purchaseOf = regexp.MustCompile(`"purchase":"(pur_[a-z2-7]{20})"`)

func byNumber(tx ledger.Tx, q string) ([]string, bool, error) {
	n, err := strconv.ParseInt(q, 10, 64)
	if err != nil {
		return nil, false, err
	}
	id, err := tx.Get(ledger.PatronKey(n))
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return pointedAt(tx, ledger.CertKey(string(id)))
}

func byWallet(tx ledger.Tx, q string) (ids []string, more bool, err error) {
	if strings.HasPrefix(q, "0x") { // the ledger has EVM addresses with their checksum
		a, err := wallet.ParseAddressAnyCase(q)
		if err != nil {
			return nil, false, err
		}
		q = a.String()
	}
	for e, err := range tx.ScanDown(ledger.PayerPurchases(q)) {
		if err != nil {
			return nil, false, err
		}
		if len(ids) == shown {
			return ids, true, nil
		}
		parts, err := ledger.Parts(e.Key)
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, parts[len(parts)-1])
	}
	return ids, false, nil
}

// byTx finds what a transaction settled, on any network.
func (d *Inbox) byTx(tx ledger.Tx, q string) (ids []string, more bool, err error) {
	if strings.HasPrefix(q, "0x") {
		q = strings.ToLower(q)
	}
	for _, r := range d.cfg.Rails {
		for e, err := range tx.Scan(ledger.Credits(r.Info().Network, q)) {
			if err != nil {
				return nil, false, err
			}
			of, _, err := pointedAt(tx, e.Key)
			if err != nil {
				return nil, false, err
			}
			ids = append(ids, of...)
		}
	}
	return ids, false, nil
}

// ErrQuery says that nothing is searched by such a text.
var ErrQuery = errors.New("search by a purchase's, certificate's, order's or debt's id, a patron number, a " +
	"transaction, or a wallet's address")

// Find finds purchases by what a keeper may have of them.
func (d *Inbox) Find(ctx context.Context, q string) (f Found, err error) {
	for _, by := range finders {
		if !by.form.MatchString(q) {
			continue
		}
		find := by.find
		if find == nil {
			find = d.byTx
		}
		err = d.cfg.DB.View(ctx, func(tx ledger.Tx) error {
			f = Found{Purchases: []Bought{}}
			ids, more, err := find(tx, q)
			f.More = more
			for _, id := range ids {
				p, e := ledger.GetJSON[till.Purchase](tx, ledger.PurchaseKey(id))
				if e == nil {
					f.Purchases = append(f.Purchases, boughtOf(&p))
				} else if !errors.Is(e, ledger.ErrNotFound) {
					err = errors.Join(err, e)
				}
			}
			return err
		})
		return f, err
	}
	return Found{}, ErrQuery
}
