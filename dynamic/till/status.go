package till

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentstore/dynamic/ledger"
	"agentstore/dynamic/problem"
	"agentstore/dynamic/rail"
)

// PurchaseStatus is the answer of purchase-status: what became of a purchase, for its buyer alone.
type PurchaseStatus struct {
	PurchaseID  string           `json:"purchase_id"`
	State       State            `json:"state"`
	Billed      string           `json:"billed"` // yes | no | unknown
	ItemID      string           `json:"item_id,omitempty"`
	Terms       rail.Requirement `json:"terms"` // the original ones
	CreatedAt   string           `json:"created_at"`
	Settlement  settlementView   `json:"settlement"`
	Fulfilment  fulfilmentView   `json:"fulfilment"`
	OwedUSDC    string           `json:"owed_usdc,omitempty"`
	NextCheckAt string           `json:"next_check_after,omitempty"`
	NextStep    string           `json:"next_step"`
}

type settlementView struct {
	Network string `json:"network"`
	Tx      string `json:"tx"`
	Status  string `json:"status"` // none | pending | settled | final | not_settled | reversed
}

type fulfilmentView struct {
	Ready bool            `json:"ready"`
	Body  json.RawMessage `json:"body,omitempty"` // the original answer
}

// billed says what a buyer may believe of the money in a state.
func (p *Purchase) billed() string {
	switch p.State {
	case Settled, Delivered, SettledLate, RefundOwed, FromChain, Uncredited:
		return "yes"
	case Settling, Unknown, Claimed, GoodsReady:
		return "unknown"
	}
	return "no"
}

func (p *Purchase) settlement() settlementView {
	v := settlementView{Network: p.Payment.Network, Tx: p.tx(), Status: "none"}
	switch p.State {
	case Settling, Unknown:
		v.Status = "pending"
	case Settled, Delivered, SettledLate, RefundOwed:
		v.Status = "settled"
		if p.Final {
			v.Status = "final"
		}
	case FromChain:
		v.Status = "settled"
	case Uncredited:
		v.Status = "final"
	case NotSettled:
		v.Status = "not_settled"
	case Reversed:
		v.Status = "reversed"
	}
	return v
}

var nextSteps = map[State]string{
	Claimed:     "Wait: the goods are being made. Read this again after next_check_after.",
	GoodsReady:  "Wait: your payment is about to be sent. Read this again after next_check_after.",
	Settling:    "Wait: your payment has been sent and is waited for. Do not sign another one.",
	Unknown:     "Wait: the chain has not answered yet. Do not sign another one; this resolves by itself.",
	Settled:     "Wait: your payment has settled and the goods are being signed.",
	Delivered:   "Nothing to do: everything you bought is in fulfilment.body.",
	Refused:     "Nothing was charged. Order something else.",
	Failed:      "Nothing was charged. Order again if you still want it.",
	NotSettled:  "Nothing was charged. Sign a new payment if you still want it; the old authorization can be used by its holder until it expires.",
	SettledLate: "Wait: your payment arrived late and the goods are being made for it.",
	RefundOwed:  "Nothing to do: what you paid is owed to you and goes back to the wallet that paid, on the same network.",
	Reversed:    "The chain took the payment back. Buy again if you want the goods to stand.",
	FromChain:   "The store was restored from a backup and knows this payment from the chain alone. The keeper makes it good: what you paid is owed to you.",
	Uncredited:  "Nothing to do: this payment arrived and bought nothing. What you paid is owed to you and goes back to the wallet that paid, on the same network.",
}

func (t *Till) statusView(p *Purchase) (PurchaseStatus, error) {
	v := PurchaseStatus{
		PurchaseID: p.ID, State: p.State, Billed: p.billed(), ItemID: p.Item, Terms: p.Terms,
		CreatedAt: p.Created.UTC().Format(time.RFC3339), Settlement: p.settlement(), NextStep: nextSteps[p.State],
	}
	if p.open() {
		v.NextCheckAt = time.Now().UTC().Add(5 * time.Second).Format(time.RFC3339)
	}
	if p.State == RefundOwed || p.State == FromChain || p.State == Uncredited {
		v.OwedUSDC = usdc(p.Amount)
	}
	if p.State == Delivered || p.State == Reversed {
		body, err := t.body(p.ID)
		if err != nil {
			return v, err
		}
		v.Fulfilment = fulfilmentView{Ready: true, Body: replayBody(body, p.DeliveredAt)}
	}
	return v, nil
}

// status answers GET /api/purchase-status/{purchase_id}. A wrong token and an unknown id get the same answer.
func (t *Till) status(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("purchase_id")
	token, ok := bearer(r)
	if !ok || !hmac.Equal([]byte(token), []byte(t.statusToken(id))) {
		return unauthorized()
	}
	p, err := t.load(r.Context(), id)
	if errors.Is(err, errNotFound) {
		return unauthorized()
	}
	if err != nil {
		return ledgerDown(err)
	}
	v, err := t.statusView(p)
	if err != nil {
		return ledgerDown(err)
	}
	return writeJSON(w, v)
}

func unauthorized() error {
	return &problem.Error{Code: "unauthorized", Status: http.StatusUnauthorized,
		Header: http.Header{"Www-Authenticate": {`Bearer realm="purchase-status"`}},
		Detail: "Send Authorization: Bearer with the status_token that came with this purchase. Without it, prove your wallet at POST /api/claims."}
}

func bearer(r *http.Request) (string, bool) {
	vs := r.Header.Values("Authorization")
	if len(vs) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(vs[0], " ")
	return token, ok && strings.EqualFold(scheme, "Bearer") && len(token) <= 64
}

// writeJSON answers 200 with a personal answer that no cache keeps.
func writeJSON(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	if h.Get("Cache-Control") == "" {
		h["Cache-Control"] = privateNoStore
	}
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b)
	return nil
}

// view runs f on a snapshot of the ledger.
func (t *Till) view(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := ledgerContext(ctx)
	defer cancel()
	return t.cfg.DB.View(ctx, f)
}
