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
// What goes wrong comes from the till as a code with data. The table of problems.go has a row for each
// code: which problem of package problem that is, its text, and what a buyer should do next. Protocols
// are the rows of [Protocols]; all of them stand in one 402.
package counter

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"agentstore/corpus/attest"
	"agentstore/dynamic/pay"
	"agentstore/dynamic/pay/x402"
	"agentstore/dynamic/rail"
	"agentstore/dynamic/till"
)

// Protocols are the protocols that are spoken, in the order in which their terms are said.
var Protocols = []pay.Row{x402.Row}

// Paying reports whether a request carries a payment, readable or not.
func Paying(h http.Header) bool {
	return slices.ContainsFunc(Protocols, func(p pay.Row) bool { return p.Presented(h) })
}

// Config is what a counter stands on.
type Config struct {
	Till *till.Till
	// Protocols, nil means those of the table.
	Protocols []pay.Row
	// Recorded finds what the signed record holds of an artifact, nil for nothing; nil: there is no record.
	Recorded func(Recorded) (*Inclusion, error)
	// Classes are the artifacts that are verified; nil means certificates alone. The page of the first also says that an id
	// is of no artifact.
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
		cfg.Classes = []Class{Certificates}
	}
	c := &Counter{Config: cfg.Till.Config(), cfg: cfg, till: cfg.Till, rows: cfg.Protocols}
	c.nonces = pay.NewNonces(c.Secret)
	store := pay.Store{Secret: c.Secret, Realm: c.till.Host(), SignOffer: c.signOffer}
	for _, row := range c.rows {
		c.protocols = append(c.protocols, row.New(store))
	}
	return c, nil
}

// signOffer signs an offer with the key in force.
func (c *Counter) signOffer(a rail.Requirement, resource string, until time.Time) (string, error) {
	key := c.Keys[0]
	return attest.SignOffer(key, c.till.KeyURL(key), attest.Offer{
		Version: 1, ResourceURL: resource, Scheme: a.Scheme, Network: a.Network, Asset: a.Asset, PayTo: a.PayTo, Amount: a.Amount,
		ValidUntil: until.Unix(),
	})
}
