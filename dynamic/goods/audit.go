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

// The kinds that read what is somebody else's and sign what they found. They differ in the battery
// alone, which has their name.
var (
	spot      = reads(content.KindSpot, attest.ClassServiceAudit)
	audit     = reads(content.KindAudit, attest.ClassServiceAudit)
	onpage    = reads(content.KindOnpage, attest.ClassOnpageAudit)
	buyer     = reads(content.KindBuyer, attest.ClassServiceAudit)
	directory = reads(content.KindCard, attest.ClassServiceAudit)
	repair    = reads(content.KindRepair, attest.ClassServiceAudit)
	refresh   = reads(content.KindRefresh, attest.ClassServiceAudit)
)

// auditPaths are where reports are read, by class.
var auditPaths = map[string]string{
	attest.ClassServiceAudit: "/api/service-audit/",
	attest.ClassOnpageAudit:  "/api/onpage-audit/",
}

// reads is a kind of one reading. It holds the host that is read, so it counts as held: the payment
// is valid for two minutes, and a payer has one reading that is not paid for (package till, M16).
func reads(battery, class string) Kind {
	return Kind{
		Name: battery, Delivers: audited{}, Counted: true, Unit: "a reading",
		Able: Maker.canRead,
		Available: func(m Maker, tx ledger.Tx, good content.Good, inputs map[string]string) error {
			if m.Readings == nil || inputs == nil { // what is to be had at all
				return m.canRead(good)
			}
			_, _, _, err := m.free(tx, battery, inputs)
			return err
		},
		Reserve: reserveReading(battery),
		Release: releaseReading(battery),
		Make: func(ctx context.Context, m Maker, o *Order) (*Made, error) {
			r, err := m.read(ctx, battery, o)
			if err != nil {
				return nil, err
			}
			a, err := r.Audit(class, o.Good.ID)
			if err != nil {
				return nil, err
			}
			g := made(o, audited{Target: a.Target, ReadAt: a.ReadAt, Verdict: a.Verdict, Evidence: a.EvidenceSHA256,
				HowTo: "artifact.url has the report, free and for ever: as JSON, as a page, and as Markdown where " +
					"you ask for text/markdown."}, r.Says, "")
			g.Audit, g.Saw, g.Attests = &a, r.Host, a.EvidenceSHA256
			if a.PublishedSHA256 != "" {
				g.Attests = a.PublishedSHA256
			}
			return g, nil
		},
		Complete: func(m Maker, tx ledger.Tx, o *Order, g *Made) error {
			h, err := heldOf(tx, g.Saw, o)
			if err != nil || h == nil {
				return err
			}
			if h.Reading != nil && h.Reading.Observation != nil {
				if err := m.Observe(tx, *h.Reading.Observation); err != nil {
					return err
				}
			}
			return tx.Delete(readingKey(g.Saw))
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

func (m Maker) canRead(good content.Good) error {
	if m.Readings == nil {
		return &Away{Item: good.ID}
	}
	return nil
}
