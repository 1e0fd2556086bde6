package goods

import "store.example/agentstore/dynamic/ledger"

// Notice is word of an order.
type Notice struct {
	Order    string // its public id
	Purchase string
	URL      string // as the buyer gave it
	Type     string // such as order.completed
	Data     any    // what is told
}

// Told is what the receiver of a callback reads of an order.
type Told struct {
	OrderID     string `json:"order_id"`
	ItemID      string `json:"item_id"`
	Status      string `json:"status"`
	Deliverable any    `json:"deliverable"`
}

// SendWord has the buyer of an order told, where an address came with it.
func (m Maker) SendWord(tx ledger.Tx, o *Order, kind, status string, deliverable any) error {
	url := o.Inputs["callback_url"]
	if url == "" || m.Tell == nil {
		return nil
	}
	return m.Tell(tx, Notice{Order: o.Artifact, Purchase: o.ID, URL: url, Type: kind,
		Data: Told{o.Artifact, o.Good.ID, status, deliverable}})
}
