// Package counter is where the till is spoken to: its faces, and every word that a buyer reads. It
// keeps no state.
//
// A request for an offer goes the same way whatever carries it:
//
//	HTTP route, tool call ─► Buy ─► a pay.Protocol reads the payment ─► till.Buy
//	                                                                       │ a sale, or a till.Error
//	answer in the form of its carrier ◄─ fields, members and texts ◄───────┘
//
// [Counter.Buy] is that way in process: it takes a [Request], which holds what a protocol may read,
// and gives an [Answer], which holds a status, a body and what stands beside it. The HTTP routes of
// [Counter.Rows] write it out. The order of the gates is the till's.
//
// What goes wrong comes from the till as a code with data. The table of problems.go has a row for
// each code: which problem of package problem that is, its text, and what a buyer should do next.
// Protocols are the rows of [Protocols]; all of them stand in one 402.
package counter

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"store.example/agentstore/content"
	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/dynamic/pay"
	"store.example/agentstore/dynamic/pay/mpp"
	"store.example/agentstore/dynamic/pay/x402"
	"store.example/agentstore/dynamic/rail"
	"store.example/agentstore/dynamic/till"
)

// Protocols are the protocols that are spoken, in the order in which their terms are said.
var Protocols = []pay.Row{x402.Row, mpp.Row}

// Paying reports whether a request carries a payment, readable or not.
func Paying(f pay.Fields) bool {
	return slices.ContainsFunc(Protocols, func(p pay.Row) bool { return p.Presented(f) })
}

// Config is what a counter stands on.
type Config struct {
	Till *till.Till
	// Protocols, nil means those of the table.
	Protocols []pay.Row
	// Recorded finds what the signed record holds of an artifact, nil for nothing; nil: there is no
	// record.
	Recorded func(Recorded) (*Inclusion, error)
	// Issued finds the tree that a certificate stands in, nil while there is none; nil: there is no
	// record.
	Issued func(context.Context, till.CertRecord) (*IssuedIn, error)
	// Later completes orders later, and sends word of them; nil: no callback_url is taken.
	Later Later
	// Weather is that of an hour on the porch, and Stamp what the free stamp of this week says:
	// they stand in the window. nil: there is none.
	Weather func(hour time.Time) content.Weather
	Stamp   func(context.Context) (week, line string, err error)
	// Door renders a paid door for a browser; nil answers JSON to everybody.
	Door func(Door) ([]byte, error)
	// Classes are the artifacts that are verified; nil means what is issued. The page of the first
	// also says that an id is of no artifact.
	Classes []Class
}

// Counter answers for a till. All methods are safe for concurrent use.
type Counter struct {
	till.Config // of the till

	cfg        Config
	till       *till.Till
	nonces     *pay.Nonces
	rows       []pay.Row
	protocols  []pay.Protocol // of rows
	fields     [][]string     // of rows: those of a 402, as http.Header spells them
	challenges sync.Map       // challengeKey → *cachedTerms
}

// New makes the counter of a till.
func New(cfg Config) (*Counter, error) {
	if cfg.Till == nil {
		return nil, errors.New("counter: a till is required")
	}
	if cfg.Protocols == nil {
		cfg.Protocols = Protocols
	}
	if cfg.Classes == nil {
		cfg.Classes = Issued
	}
	c := &Counter{Config: cfg.Till.Config(), cfg: cfg, till: cfg.Till, rows: cfg.Protocols}
	c.nonces = pay.NewNonces(c.Secret)
	store := pay.Store{Secret: c.Secret, Realm: c.till.Host(), SignOffer: c.signOffer}
	for _, row := range c.rows {
		c.protocols = append(c.protocols, row.New(store))
		var fields []string
		for _, name := range row.Terms {
			fields = append(fields, http.CanonicalHeaderKey(name))
		}
		c.fields = append(c.fields, fields)
	}
	return c, nil
}

// signOffer signs an offer with the key in force.
func (c *Counter) signOffer(a rail.Requirement, resource string, until time.Time) (string, error) {
	key := c.Keys[0]
	return attest.SignOffer(key, c.till.KeyURL(key), attest.Offer{
		Version: 1, ResourceURL: resource, Scheme: a.Scheme, Network: a.Network, Asset: a.Asset, PayTo: a.PayTo,
		Amount: a.Amount, ValidUntil: until.Unix(),
	})
}
