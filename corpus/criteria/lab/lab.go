// Package lab holds the table of the laboratory: what the stock client did at every kind of door
// there is, and what the battery said. The test that asks both writes it, and nothing else does.
package lab

import (
	_ "embed"
	"encoding/json/v2"
	"sync"
)

// Table is the body of /criteria/laboratory.
type Table struct {
	Format   string       `json:"format"`   // Format
	Battery  string       `json:"battery"`  // that said it
	Client   string       `json:"client"`   // that did it, as its registry names it
	Networks string       `json:"networks"` // the table of chains and tokens
	Doors    int64        `json:"doors"`
	Paid     int64        `json:"paid"`  // of Doors: what the client signed settled
	Alike    int64        `json:"alike"` // of Doors: ready where it settled, and not ready where not
	Differ   []Difference `json:"differences"`
	Table    []Door       `json:"table"` // by name
}

// Format names the format of a Table.
const Format = "store-laboratory/v1"

// Difference is why a verdict and the client may differ at a door. The doors that are neither alike
// nor of a difference are none: the test fails at one.
type Difference struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Doors  int64  `json:"doors"`
}

// Door is one kind of door.
type Door struct {
	Door    string   `json:"door"`
	Does    string   `json:"does"` // what is wrong or right with it
	Verdict string   `json:"verdict"`
	Reason  string   `json:"reason,omitzero"` // of not_probed
	Fault   string   `json:"fault"`
	Failed  []string `json:"failed"`
	// What the stock client did: with its own limits, and without them.
	SignsLimited bool `json:"signs_with_limits"`
	Signs        bool `json:"signs"`
	// Settles says that the stock facilitator settled what was signed without limits.
	Settles    bool   `json:"settles"`
	Difference string `json:"difference,omitzero"` // of Differ
}

//go:embed laboratory.json
var file []byte

// Current is the table of the newest run.
var Current = sync.OnceValues(func() (t Table, err error) {
	err = json.Unmarshal(file, &t, json.RejectUnknownMembers(true))
	return t, err
})
