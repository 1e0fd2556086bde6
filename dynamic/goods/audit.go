package goods

import (
	"context"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// audited is what a buyer of a reading is told at once; the report itself is beside it.
type audited struct {
	Target   string `json:"target,omitzero"`
	ReadAt   string `json:"read_at,omitzero"`
	Verdict  string `json:"verdict,omitzero"`
	Evidence string `json:"evidence_sha256,omitzero"`
	HowTo    string `json:"how_to_read,omitzero"`
}

// kinds are those that read what is somebody else's and sign what they found. They differ in the
// battery alone, which has their name.
func (rd Reader) kinds() (list []Kind) {
	for _, battery := range []string{content.KindSpot, content.KindAudit, content.KindBuyer, content.KindCard,
		content.KindRepair, content.KindRefresh} {
		list = append(list, rd.kind(battery, attest.ClassServiceAudit))
	}
	return append(list, rd.kind(content.KindOnpage, attest.ClassOnpageAudit))
}

// auditPaths are where reports are read, by class.
var auditPaths = map[string]string{
	attest.ClassServiceAudit: "/api/service-audit/",
	attest.ClassOnpageAudit:  "/api/onpage-audit/",
}

// kind is a kind of one reading. It holds the host that is read, so it counts as held: the payment
// is valid for two minutes, and a payer has one reading that is not paid for (package till, M16).
func (rd Reader) kind(battery, class string) Kind {
	return Kind{
		Name: battery, Delivers: audited{}, Counted: true, Unit: "a reading",
		Able: func(_ Maker, good content.Good) error { return rd.Able(good) },
		Available: func(_ Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error {
			if err := rd.Able(good); err != nil || inputs == nil { // what is to be had at all
				return err
			}
			_, _, _, err := rd.Free(tx, battery, inputs)
			return err
		},
		Reserve: func(_ Maker, tx ledger.Tx, o *Order) error { return rd.Reserve(tx, battery, o) },
		Release: func(_ Maker, tx ledger.Tx, o *Order) error { return rd.Release(tx, battery, o) },
		Make: func(ctx context.Context, _ Maker, o *Order) (*Made, error) {
			r, err := rd.Read(ctx, battery, o)
			if err != nil {
				return nil, err
			}
			a, err := r.Audit(class, o.Good.ID)
			if err != nil {
				return nil, err
			}
			g := MadeOf(o, audited{Target: a.Target, ReadAt: a.ReadAt, Verdict: a.Verdict, Evidence: a.EvidenceSHA256,
				HowTo: "artifact.url has the report, free and for ever: as JSON, as a page, and as Markdown where " +
					"you ask for text/markdown."}, r.Says, "")
			g.Audit, g.Saw, g.Attests = &a, r.Host, a.EvidenceSHA256
			if a.PublishedSHA256 != "" {
				g.Attests = a.PublishedSHA256
			}
			return g, nil
		},
		Complete: func(m Maker, tx ledger.Tx, o *Order, g *Made) error {
			r, err := rd.Take(tx, g.Saw, o)
			if err != nil || r == nil || r.Observation == nil {
				return err
			}
			return m.Observe(tx, *r.Observation)
		},
		Artifact: &Artifact{
			Class: class, Prefix: "audit_", Path: auditPaths[class],
			Payload: func(_ *Order, g *Made, f Facts) (any, error) {
				a := *g.Audit
				a.AuditID, a.PatronNumber, a.Date, a.FromTheStore = f.ID, f.PatronNumber, f.Date, f.Store
				return a, nil
			},
		},
	}
}

// Able refuses a good where nothing is read.
func (rd Reader) Able(good content.Good) error {
	if rd.Readings == nil {
		return &Away{Item: good.ID}
	}
	return nil
}
