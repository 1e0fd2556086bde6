package goods

import (
	"context"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// Looks visit addresses at a time that was bought.
type Looks interface {
	// Target is an address in its one spelling, and its host. One that is never visited is a
	// *BadInput. It sends nothing and asks no name service.
	Target(url string) (spelled, host string, err error)
	// Want has an address visited once, at a time.
	Want(tx ledger.Tx, l Look) error
}

// Look is a visit that was bought.
type Look struct {
	ID       string // of its artifact
	Purchase string
	URL      string // as Target spells it
	At       time.Time
}

// LookAfter is how long after its payment an address is visited.
const LookAfter = 6 * time.Hour

// maxAimed is how many looks may wait for one host, so that nobody has a stranger visited by the
// thousand.
const maxAimed = 24

type promisedLook struct {
	URL   string `json:"url,omitzero"`
	DueAt string `json:"due_at,omitzero"`
	HowTo string `json:"how_to_read,omitzero"`
}

// phantom looks at an address some hours after it was paid for. The certificate and the promise are
// signed at once; what was seen is signed by itself (package look).
//
//	goods/aimed/<host>/<id>   a look that waits
var phantom = Kind{
	Name:     content.KindPhantom,
	Delivers: promisedLook{},
	Able:     Maker.canLook,
	Available: func(m Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error {
		if m.Looks == nil || inputs == nil {
			return m.canLook(good)
		}
		_, host, err := m.Looks.Target(inputs["url"])
		if err != nil {
			return err
		}
		return freeAim(tx, host)
	},
	Reserve: func(m Maker, tx ledger.Tx, o *Order) error {
		if err := m.canLook(o.Good); err != nil {
			return err
		}
		_, host, err := m.Looks.Target(o.Inputs["url"])
		if err != nil {
			return err
		}
		if err := freeAim(tx, host); err != nil {
			return err
		}
		return tx.Set(AimedKey(host, o.ID), nil)
	},
	Release: func(m Maker, tx ledger.Tx, o *Order) error { return m.unaim(tx, o) },
	Make: func(_ context.Context, m Maker, o *Order) (*Made, error) {
		url, host, err := m.Looks.Target(o.Inputs["url"])
		if err != nil {
			return nil, err
		}
		g := made(o, promisedLook{URL: url, HowTo: "GET artifact.url says how it stands: scheduled, then what was " +
			"seen, signed, or that it was missed and why."},
			"Noted. Somebody will look in when nobody expects him.", "")
		g.Saw = host
		return g, nil
	},
	Settle: func(_ Maker, _ ledger.Tx, o *Order, g *Made) error {
		d, err := delivered[promisedLook](g)
		if err != nil {
			return err
		}
		d.DueAt = moment(o.Settled.Add(LookAfter))
		g.Deliver(o.Good.Kind, d)
		return nil
	},
	Complete: func(m Maker, tx ledger.Tx, o *Order, g *Made) error {
		d, err := delivered[promisedLook](g)
		if err != nil {
			return err
		}
		return m.Looks.Want(tx, Look{ID: o.Artifact, Purchase: o.ID, URL: d.URL, At: o.Settled.Add(LookAfter)})
	},
	Undo: func(m Maker, tx ledger.Tx, o *Order) error { return m.unaim(tx, o) },
	Artifact: &Artifact{
		Class: attest.ClassCheck, Prefix: "check_", Path: "/api/phantom/",
		Payload: func(o *Order, g *Made, f Facts) (any, error) {
			d, err := delivered[promisedLook](g)
			return attest.Look{CheckID: f.ID, Class: attest.ClassCheck, PatronNumber: f.PatronNumber, Date: f.Date,
				Status: attest.CheckScheduled, URL: d.URL, DueAt: d.DueAt, Name: o.Inputs["agent_name"],
				FromTheStore: f.Store}, err
		},
	},
}

func (m Maker) canLook(good content.Good) error {
	if m.Looks == nil {
		return &Away{Item: good.ID}
	}
	return nil
}

// unaim gives the place of a look back.
func (m Maker) unaim(tx ledger.Tx, o *Order) error {
	if m.Looks == nil {
		return nil
	}
	_, host, err := m.Looks.Target(o.Inputs["url"])
	if err != nil { // it was none when it was ordered either
		return nil
	}
	return tx.Delete(AimedKey(host, o.ID))
}

// freeAim refuses a look at a host for which too many wait.
func freeAim(tx ledger.Tx, host string) error {
	n := 0
	for _, err := range tx.Scan(ledger.Prefix(AimedKey(host))) {
		if err != nil {
			return err
		}
		n++
	}
	if n >= maxAimed {
		return &Unread{Code: CodeTargetHeld, Detail: "As many looks as one host gets wait for this one already; come " +
			"back in some hours."}
	}
	return nil
}

// AimedKey is the place of a purchase among the looks that wait for a host.
func AimedKey(host string, rest ...string) []byte {
	return ledger.GoodsKey("aimed", append([]string{host}, rest...)...)
}
