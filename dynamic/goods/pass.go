package goods

import (
	"context"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// PassTerm is what one payment adds to a pass.
const PassTerm = 30 * 24 * time.Hour

// passed is a paid period of a pass.
type passed struct {
	Starts string `json:"starts,omitzero"`
	Ends   string `json:"ends,omitzero"`
	HowTo  string `json:"how_to_extend,omitzero"`
}

// pass is thirty days of patronage, which another payment prolongs by as much. Each payment is a
// period of its own, fixed when it settles: it begins when the last one ends, or at once where that
// has passed. Two that settle together follow each other, because both read what is there:
//
//	goods/pass/<pass_id>/<id>   the period that a purchase paid for
//
// A period counts from its delivery on, when it is signed, and not after the chain took its payment
// back.
var pass = Kind{
	Name:     content.KindPass,
	Delivers: passed{},
	Available: func(_ Maker, tx ledger.Tx, _ content.Good, inputs map[string]string) error {
		return passKnown(tx, inputs["pass_id"])
	},
	Reserve: func(_ Maker, tx ledger.Tx, o *Order) error { return passKnown(tx, o.Inputs["pass_id"]) },
	Make: func(_ context.Context, _ Maker, o *Order) (*Made, error) {
		message := "Thank you. The pass is yours for thirty days, and lapses quietly unless you think of it again."
		if o.Inputs["pass_id"] != "" {
			message = "Thank you again. The pass has thirty days more."
		}
		return MadeOf(o, passed{HowTo: "Buy again with pass_id: thirty days more, for one more payment. Nothing " +
			"renews by itself."}, message, ""), nil
	},
	Settle: Settled(func(tx ledger.Tx, o *Order, d *passed) error {
		from := o.Settled.UTC().Truncate(time.Second)
		for other, err := range ledger.Values[passed](tx.Scan(ledger.Prefix(passKey(o.Artifact)))) {
			if err != nil {
				return err
			}
			ends, err := time.Parse(time.RFC3339, other.Ends)
			if err != nil {
				return err
			}
			if ends.After(from) {
				from = ends
			}
		}
		d.Starts, d.Ends = moment(from), moment(from.Add(PassTerm))
		return ledger.SetJSON(tx, passKey(o.Artifact, o.ID), passed{Starts: d.Starts, Ends: d.Ends})
	}),
	Undo: func(_ Maker, tx ledger.Tx, o *Order) error { return tx.Delete(passKey(o.Artifact, o.ID)) },
	Artifact: &Artifact{
		Class: attest.ClassPass, Prefix: "pass_", Path: "/api/patronage/",
		Continues: func(o *Order) string { return o.Inputs["pass_id"] },
		Payload: func(o *Order, g *Made, f Facts) (any, error) {
			d, err := Delivered[passed](g)
			return attest.Pass{PassID: f.ID, Class: attest.ClassPass, PatronNumber: f.PatronNumber, Date: f.Date,
				Name: o.Inputs["agent_name"], Starts: d.Starts, Ends: d.Ends, FromTheStore: f.Store}, err
		},
	},
}

// passKnown refuses to extend a pass that there is not. "" is a new one.
func passKnown(tx ledger.Tx, id string) error {
	if id == "" {
		return nil
	}
	for _, err := range tx.Scan(ledger.Prefix(passKey(id))) {
		return err
	}
	return &BadInput{Field: "pass_id", Problem: "is of no pass: send the pass_id of your purchase, or leave it out " +
		"for a new pass"}
}

func passKey(id string, rest ...string) []byte {
	return ledger.GoodsKey("pass", append([]string{id}, rest...)...)
}
