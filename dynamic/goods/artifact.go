package goods

import "time"

// Artifact is what a kind has signed beside the certificate, which names it by the digest of its
// signed bytes (cross_ref).
type Artifact struct {
	Class  string // one of package attest
	Prefix string // of its ids
	Path   string // of the route that gives it by id, with a slash at its end
	// Continues is the id of the artifact that an order goes on with, "" for a new one. nil: all
	// are new.
	Continues func(o *Order) string
	// Payload is what is signed, a struct of package attest. It says the same whenever it is asked
	// for the same facts.
	Payload func(o *Order, made *Made, f Facts) (any, error)
}

// Facts are what the till knows of a settled order and goods do not.
type Facts struct {
	ID           string // of the artifact
	PatronNumber int64
	Date         string // RFC 3339
	PaidUSDC     string
	Keeper       string
	Store        string // base URL
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }
