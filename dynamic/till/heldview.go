package till

import (
	"fmt"
	"time"

	"store.example/agentstore/dynamic/rail"
)

// HeldView says of an order where its money is, who can move it, and how its payer takes it back.
type HeldView struct {
	USDC         string           `json:"usdc"` // of the money, wherever it is
	State        string           `json:"state"`
	Where        string           `json:"where"` // in one sentence
	Network      string           `json:"network"`
	Escrow       string           `json:"escrow"`
	Hash         string           `json:"payment_info_hash"`
	ReclaimAfter string           `json:"reclaim_after"` // RFC 3339: from then on its payer can call reclaim
	Reclaim      *ReclaimCall     `json:"reclaim,omitempty"`
	PaymentInfo  rail.PaymentInfo `json:"payment_info"`
	Tx           string           `json:"tx,omitempty"` // that ended it
}

// ReclaimCall is the call by which a payer takes back what is held, from his own account.
type ReclaimCall struct {
	To       string `json:"to"`
	Function string `json:"function"`
	Data     string `json:"data"` // 0x hex
	Page     string `json:"page"` // where a person does it, by a wallet of the browser
}

// HeldView is that of an order that is paid for by a hold, nil for any other.
func (t *Till) HeldView(p *Purchase) (*HeldView, error) {
	h := p.Held
	if h == nil {
		return nil, nil
	}
	v := &HeldView{USDC: usdc(p.Amount), State: string(Held), Where: h.Words(usdc(p.Amount)),
		Network: p.Payment.Network, Hash: h.Hash, PaymentInfo: h.Info,
		ReclaimAfter: h.Deadline().Format(time.RFC3339)}
	if p.State != Settled {
		v.State = string(p.State)
	}
	if h.Ended != "" {
		v.State = h.Ended
	}
	if h.Last != nil {
		v.Tx = h.Last.Tx
	}
	r, ok := t.byNet[p.Payment.Network].(holdRail)
	if !ok {
		return nil, fmt.Errorf("till: network %s is no longer configured, but order %s is held there: configure it "+
			"until it is over", p.Payment.Network, p.Artifact)
	}
	to, data := r.Reclaim(h.Hold)
	if v.Escrow = to; h.Ended == "" {
		v.Reclaim = &ReclaimCall{To: to, Function: "reclaim(PaymentInfo)", Data: fmt.Sprintf("0x%x", data),
			Page: t.cfg.BaseURL + "/holds"}
	}
	return v, nil
}
