package trade

import (
	jsonx "encoding/json/v2"
	"errors"
	"net/http"
	"time"

	"store.example/agentstore/dynamic/account"
	"store.example/agentstore/dynamic/counter"
	"store.example/agentstore/dynamic/ledger"
)

// StatementRequest is the body of a request for a statement, signed as an order is.
type StatementRequest struct {
	Account string `json:"account" jsonschema:"the account's id, as in the path"`
	Month   string `json:"month" jsonschema:"YYYY-MM, in UTC"`
	After   string `json:"after,omitzero" jsonschema:"next of the page before"`
}

// Statement is how an account stands, with a page of its lines of one month. Amounts are US
// dollars.
type Statement struct {
	Account    string          `json:"account" doc:"Its id."`
	AsOf       string          `json:"as_of"` // RFC 3339, by the ledger's clock
	OwedUSD    USD             `json:"owed_usd" doc:"What it owes, with what is under way."`
	CeilingUSD USD             `json:"credit_ceiling_usd" doc:"What it may owe."`
	CapUSD     USD             `json:"daily_cap_usd" doc:"What it may be billed in a day."`
	TodayUSD   USD             `json:"billed_today_usd" doc:"What it was billed today."`
	ShareBPS   int             `json:"share_bps"` // of this month
	Orders     int             `json:"orders_this_month" doc:"Orders of this month."`
	Before     int             `json:"orders_last_month" doc:"Orders of the month before."`
	Month      string          `json:"month" doc:"The month."`
	Lines      []StatementLine `json:"lines"` // oldest first, at most 200
	Next       string          `json:"next,omitempty"`
}

// StatementLine is a delivery, or a payment that was received.
type StatementLine struct {
	At            string `json:"at" doc:"When, UTC."`
	Kind          string `json:"kind" doc:"delivery, received or restored."`
	OrderRef      string `json:"order_ref,omitempty" doc:"Their name of the order."`
	ItemID        string `json:"item_id,omitempty" doc:"The good."`
	CertID        string `json:"cert_id,omitempty"`
	TradePriceUSD USD    `json:"trade_price_usd,omitempty" doc:"Its price."`
	ShareBPS      int    `json:"share_bps,omitempty"`
	NetUSD        USD    `json:"net_usd" doc:"What is owed by it; negative where it was received."`
}

// USD is an amount in dollars, as catalogues have it: a number of at most six decimals.
type USD float64

// usd is an amount of millionths.
func usd(millionths int64) USD { return USD(float64(millionths) / 1e6) }

// Statement reads how an account stands.
func (d *Counter) Statement(tx ledger.Tx, a *Account, month, after string) (Statement, error) {
	b, err := account.ReadBook(tx, a.ID)
	if err != nil {
		return Statement{}, err
	}
	lines, next, err := account.Month(tx, a.ID, month, after)
	s := Statement{Account: a.ID, AsOf: tx.Now().UTC().Format(time.RFC3339), OwedUSD: usd(b.Owed),
		CeilingUSD: usd(a.Limits.Credit), CapUSD: usd(a.Limits.Daily), TodayUSD: usd(b.Today), ShareBPS: b.Share(),
		Orders: b.Orders, Before: b.Before, Month: month, Lines: []StatementLine{}, Next: next}
	for _, l := range lines {
		s.Lines = append(s.Lines, StatementLine{At: l.At.Format(time.RFC3339), Kind: l.Kind, OrderRef: l.Ref,
			ItemID: l.Item, CertID: l.CertID, TradePriceUSD: usd(l.Price), ShareBPS: l.BPS, NetUSD: usd(l.Net)})
	}
	return s, err
}

// serveStatement answers POST /api/trade/{account}/statement.
func (d *Counter) serveStatement(w http.ResponseWriter, r *http.Request) error {
	a, err := d.verified(r)
	if err != nil {
		return err
	}
	var ask StatementRequest
	if err := jsonx.Unmarshal(a.body, &ask, jsonx.RejectUnknownMembers(true)); err != nil {
		return refuse("bad_request", "The body must be an object with account, month and, for further pages, after.")
	}
	if _, err := time.Parse("2006-01", ask.Month); err != nil || ask.Account != a.id {
		return refuse("bad_request", "account must be that of the path, and month one such as 2026-11.")
	}
	if err := d.spend(r.Context(), a); err != nil {
		return err
	}
	var s Statement
	err = d.view(r.Context(), func(tx ledger.Tx) error {
		s, err = d.Statement(tx, a.account, ask.Month, ask.After)
		if errors.Is(err, account.ErrCursor) {
			return refuse("bad_request", "after must be the next of the page before, of the same month.")
		}
		return err
	})
	if err != nil {
		return err
	}
	return counter.WriteJSON(w, s)
}
