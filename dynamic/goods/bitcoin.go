package goods

import (
	"context"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// Timestamps have digests timestamped by Bitcoin.
type Timestamps interface {
	// Ready reports whether there are calendars to hand digests in at.
	Ready() bool
	// Known reports whether a digest was asked for before.
	Known(tx ledger.Tx, digest string) (bool, error)
	// Want asks for one.
	Want(tx ledger.Tx, digest string) error
}

type stamped struct {
	Digest   string `json:"digest,omitzero"`
	Label    string `json:"label,omitzero"`
	Before   bool   `json:"proof_existed_before,omitzero"` // another asked for the same digest already
	HowToGet string `json:"how_to_get_the_proof,omitzero"`
}

// bitcoin has a digest that the buyer computed timestamped. Nothing leaves the store before it is
// paid for: the digest goes to the calendars from the worker.
var bitcoin = Kind{
	Name:     content.KindBitcoin,
	Delivers: stamped{},
	Able:     Maker.canStamp,
	Available: func(m Maker, _ ledger.Tx, good content.Good, _ map[string]string) error {
		return m.canStamp(good)
	},
	Reserve: func(m Maker, _ ledger.Tx, o *Order) error { return m.canStamp(o.Good) },
	Make: func(_ context.Context, _ Maker, o *Order) (*Made, error) {
		g := made(o, stamped{Digest: o.Inputs["digest"], Label: o.Inputs["label"],
			HowToGet: "GET artifact.url says how it stands, and has the address of proof.ots: pending within the " +
				"hour, in a block typically within a few hours. The file becomes more by itself; fetch it again then."},
			"Written down. The calendars hear of it next, and then the chain.", "")
		g.Attests = "sha256:" + o.Inputs["digest"]
		return g, nil
	},
	Settle: func(m Maker, tx ledger.Tx, o *Order, g *Made) error {
		d, err := delivered[stamped](g)
		if err != nil {
			return err
		}
		if d.Before, err = m.Timestamps.Known(tx, d.Digest); err == nil {
			g.Deliver(o.Good.Kind, d)
		}
		return err
	},
	Complete: func(m Maker, tx ledger.Tx, o *Order, _ *Made) error {
		return m.Timestamps.Want(tx, o.Inputs["digest"])
	},
	Artifact: &Artifact{
		Class: attest.ClassBitcoinAnchor, Prefix: "anchor_", Path: "/api/bitcoin-anchor/",
		Payload: func(o *Order, _ *Made, f Facts) (any, error) {
			return attest.BitcoinAnchor{AnchorID: f.ID, Class: attest.ClassBitcoinAnchor, PatronNumber: f.PatronNumber,
				Date: f.Date, Digest: o.Inputs["digest"], Label: o.Inputs["label"], Name: o.Inputs["agent_name"],
				FromTheStore: f.Store}, nil
		},
	},
}

func (m Maker) canStamp(good content.Good) error {
	if m.Timestamps == nil || !m.Timestamps.Ready() {
		return &Away{Item: good.ID, Lacks: "an OpenTimestamps calendar"}
	}
	return nil
}

// Away refuses an order for what this store cannot make as it is configured now.
type Away struct {
	Item  string
	Lacks string // what it is made with; "" where that has no name of its own
}

// Error implements error.
func (e *Away) Error() string { return e.Item + " cannot be made here at the moment" }
