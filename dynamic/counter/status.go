package counter

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/content/api"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/route"
	"store.example/agentstore/dynamic/till"
)

// PurchaseStatus is the answer of purchase-status: what became of a purchase, for its buyer alone.
type PurchaseStatus struct {
	PurchaseID string           `json:"purchase_id"`
	State      till.State       `json:"state"`
	Billed     string           `json:"billed"` // yes | no | unknown
	ItemID     string           `json:"item_id,omitempty"`
	Terms      rail.Requirement `json:"terms"` // the original ones
	CreatedAt  string           `json:"created_at"`
	Settlement settlementView   `json:"settlement"`
	Voucher    *till.Paid       `json:"voucher,omitempty"` // what it was paid by, out of a channel
	Fulfilment fulfilmentView   `json:"fulfilment"`
	Held       *till.HeldView   `json:"held,omitempty"` // where the money is that is held for an order
	OwedUSDC   string           `json:"owed_usdc,omitempty"`
	// DebtURL is where what is owed stands, with the authorization that pays it, once that is
	// signed.
	DebtURL     string `json:"debt_url,omitempty"`
	NextCheckAt string `json:"next_check_after,omitempty"`
	NextStep    string `json:"next_step"`
}

type settlementView struct {
	Network string `json:"network"`
	Tx      string `json:"tx"`
	Status  string `json:"status"` // none | pending | settled | final | held | released | not_settled | reversed
}

type fulfilmentView struct {
	Ready bool            `json:"ready"`
	Body  json.RawMessage `json:"body,omitempty"` // the original answer
}

func settlementOf(p *till.Purchase) settlementView {
	v := settlementView{Network: p.Payment.Network, Tx: p.Tx(), Status: "none"}
	switch p.State {
	case till.Settling, till.Unknown:
		v.Status = "pending"
	case till.Asking, till.Settled, till.Promised, till.Delivered, till.SettledLate, till.RefundOwed:
		v.Status = "settled"
		if p.Final {
			v.Status = "final"
		}
	case till.Held, till.Capturing, till.Voiding:
		v.Status = "held"
	case till.Released:
		v.Status = "released"
	case till.FromChain:
		v.Status = "settled"
	case till.Uncredited:
		v.Status = "final"
	case till.NotSettled:
		v.Status = "not_settled"
	case till.Reversed:
		v.Status = "reversed"
	}
	return v
}

var nextSteps = map[till.State]string{
	till.Claimed:    "Wait: the goods are being made. Read this again after next_check_after.",
	till.GoodsReady: "Wait: your payment is about to be sent. Read this again after next_check_after.",
	till.Settling:   "Wait: your payment has been sent and is waited for. Do not sign another one.",
	till.Unknown:    "Wait: the chain has not answered yet. Do not sign another one; this resolves by itself.",
	till.Asking: "Wait: your payment has settled, and the service behind the good is asked for what you bought. What " +
		"it does not give within an hour is owed to you.",
	till.Settled: "Wait: your payment has settled and the goods are being signed.",
	till.Promised: "Wait: the order is taken and paid for. What was promised is in fulfilment.body, and what is " +
		"delivered will be.",
	till.Delivered: "Nothing to do: everything you bought is in fulfilment.body.",
	till.Refused:   "Nothing was charged. Order something else.",
	till.Failed:    "Nothing was charged. Order again if you still want it.",
	till.NotSettled: "Nothing was charged. Sign a new payment if you still want it; the old authorization can be " +
		"used by its holder until it expires.",
	till.SettledLate: "Wait: your payment arrived late and the goods are being made for it.",
	till.RefundOwed: "Nothing to do: what you paid is owed to you and goes back to the wallet that paid, on the same " +
		"network.",
	till.Held: "Wait for the keeper: the money is held until the order is completed, and held says where it is and " +
		"how you take it back should nobody do anything.",
	till.Capturing: "Wait: the keeper has completed the order, and it is handed over once what was held is taken.",
	till.Voiding:   "Wait: what was held goes back to the wallet that paid. held says how you take it back yourself.",
	till.Released: "Nothing was charged: what was held went back to the wallet that paid. Order again if you still " +
		"want it.",
	till.Reversed: "The chain took the payment back. Buy again if you want the goods to stand.",
	till.FromChain: "The store was restored from a backup and knows this payment from the chain alone. The keeper " +
		"makes it good: what you paid is owed to you.",
	till.Uncredited: "Nothing to do: this payment arrived and bought nothing. What you paid is owed to you and goes " +
		"back to the wallet that paid, on the same network.",
}

// statusView is what a buyer reads of a purchase.
func (c *Counter) statusView(p till.Status) PurchaseStatus {
	v := PurchaseStatus{
		PurchaseID: p.ID, State: p.State, Billed: p.Billed(), ItemID: p.Item, Terms: p.Terms,
		CreatedAt: stamp(p.Created), Settlement: settlementOf(p.Purchase), Voucher: p.Paid, Held: p.Where,
		NextStep: nextSteps[p.State],
	}
	switch {
	case p.Open():
		v.NextCheckAt = stamp(time.Now().Add(5 * time.Second))
	case p.State == till.Promised || p.InEscrow():
		v.NextCheckAt = stamp(time.Now().Add(time.Minute))
	}
	if p.Owed() {
		v.OwedUSDC = content.FormatUSDC(p.Amount)
		if p.Proof != nil {
			v.DebtURL = c.BaseURL + "/api/verify/" + c.till.DebtID(p.Purchase)
		}
	}
	if p.Body != nil {
		v.Fulfilment = fulfilmentView{Ready: p.State != till.Promised && !p.InEscrow() && p.State != till.Released,
			Body: Replayed(p.Body, p.DeliveredAt, anotherOne)}
	}
	return v
}

// serveStatus answers GET /api/purchase-status/{purchase_id}. A wrong token and an unknown id get
// the same answer.
func (c *Counter) serveStatus(w http.ResponseWriter, r *http.Request) error {
	p, err := c.holder(r, r.PathValue("purchase_id"))
	if err != nil {
		return err
	}
	return WriteJSON(w, c.statusView(p))
}

// bearer is the token of a request, "" for none.
func bearer(r *http.Request) string {
	vs := r.Header.Values("Authorization")
	if len(vs) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(vs[0], " ")
	token = strings.TrimLeft(token, " ") // one space or more (RFC 9110, section 11.4)
	if !strings.EqualFold(scheme, "Bearer") || len(token) > 64 {
		return ""
	}
	return token
}

// WriteJSON answers 200 with what is its reader's alone and no cache keeps, unless a header says
// otherwise.
func WriteJSON(w http.ResponseWriter, v any) error {
	b, err := api.Marshal(v)
	if err != nil {
		return err
	}
	h := w.Header()
	if h.Get("Cache-Control") == "" {
		h["Cache-Control"] = privateNoStore
	}
	return route.Send(w, http.StatusOK, api.JSON, b)
}
