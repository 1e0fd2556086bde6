package goods

import (
	"context"
	"encoding/json"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/ledger"
)

// Addresses look up receiving addresses in the public record. Nothing outside is asked.
type Addresses interface {
	// Spelled is the one spelling of an address, ok is false for a text that is none.
	Spelled(address string) (spelled string, ok bool)
	// Address is what the record holds about an address, as a JSON object that may be signed, and
	// what that cannot tell.
	Address(ctx context.Context, address string) (reading json.RawMessage, cannot []string, err error)
}

// looked is what a buyer of provenance is told at once; the reading is in the paper beside it.
type looked struct {
	ReadAt string `json:"read_at,omitzero"`
	HowTo  string `json:"how_to_read,omitzero"`
}

// provenance reads the record about one address. The buyer gets it, whoever has its id can read it,
// and nothing of it is published: the certificate does not name the address.
func provenance(in Addresses) Kind {
	able := func(_ Maker, good content.Good) error {
		if in == nil {
			return &Away{Item: good.ID}
		}
		return nil
	}
	available := func(m Maker, _ ledger.Tx, good content.Good, inputs map[string]string) error {
		if err := able(m, good); err != nil {
			return err
		}
		if _, ok := in.Spelled(inputs["address"]); !ok {
			return &BadInput{Field: "address", Problem: "is neither 0x and 40 hex digits nor base58 of 32 bytes"}
		}
		return nil
	}
	return Kind{Name: content.KindProvenance, Delivers: looked{}, Able: able, Available: available,
		Reserve: func(m Maker, tx ledger.Tx, o *Order) error { return available(m, tx, o.Good, o.Inputs) },
		Make: func(ctx context.Context, _ Maker, o *Order) (*Made, error) {
			address, _ := in.Spelled(o.Inputs["address"])
			raw, cannot, err := in.Address(ctx, address)
			if err != nil {
				return nil, err
			}
			at := moment(time.Now())
			p := attest.Provenance{Class: attest.ClassProvenance, Item: o.Good.ID, Address: address, ReadAt: at,
				Reading: []byte(raw), CannotTell: cannot}
			if b, err := attest.Canonical(p); err != nil || len(b) > attest.MaxAudit-reserved {
				if err == nil {
					err = attest.ErrAuditTooLarge
				}
				return nil, err
			}
			g := MadeOf(o, looked{ReadAt: at, HowTo: "artifact.record has the reading, and artifact.verify_url gives " +
				"it " +
				"again to whoever has its id. Nothing of it is published."},
				"Looked up, on every network that the record names.", "")
			g.Provenance = &p
			return g, nil
		},
		Artifact: &Artifact{
			Class: attest.ClassProvenance, Prefix: "prov_", Path: "/api/verify/",
			Payload: func(_ *Order, g *Made, f Facts) (any, error) {
				p := *g.Provenance
				p.ProvID, p.PatronNumber, p.Date, p.FromTheStore = f.ID, f.PatronNumber, f.Date, f.Store
				return p, nil
			},
		},
	}
}
