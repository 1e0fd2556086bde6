// Package roster keeps the censuses of the weeks in the ledger: which hosts are known by name and
// why each is walked or not, which of them a process is about to walk, and what came of it, until
// the round is sealed. It implements census.Store, so that any number of processes on one ledger
// walk one roster, and answers GET /api/why/{host}.
//
// Whoever holds a lease writes under it: each transaction checks the lease, so that a process which
// slept through its end writes nothing more. A host is moved from entry to intent before it is
// walked and from intent to row after it, in transactions; so it is in one of the three at any
// moment, and an intent that its process left behind is what tells that a walk was interrupted.
//
//	store := roster.New(db)
//	report, err := census.Run(ctx, census.Config{Store: store, …})
package roster

import (
	"context"
	"fmt"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/census"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/dynamic/ledger"
)

// Store is the census in a ledger. It may be used by many goroutines at once.
type Store struct {
	db ledger.DB
}

var _ census.Store = (*Store)(nil)

// New returns the store in a ledger.
func New(db ledger.DB) *Store { return &Store{db} }

// patience bounds one transaction: conflicts are retried as long as it goes on.
const patience = 30 * time.Second

// chunk is how many hosts one transaction of a long work writes.
const chunk = 256

// The keys, below census/.
//
//	week/<week>                   weekRecord
//	closed/<week>/<host>          closedRecord: on the closed roster, until its order is dealt
//	shard/<week>/<shard>          shardRecord
//	entry/<week>/<shard>/<host>   entryRecord: to be walked
//	intent/<week>/<shard>/<host>  entryRecord: about to be walked, or interrupted
//	row/<week>/<host>             the row as JSON
//	judged/<week>/<host>          the encoded judgement input, compressed
//	control/<week>/<digest>       what a walk to the control door was judged by, compressed
//	address/<week>/<network>/<address>   nothing
//	named/<host>                  namedRecord: what the last roster said of the host
//	last/<host>                   lastRecord: its last row in the record
func weekKey(week string) []byte { return ledger.CensusKey("week", week) }

func shardKey(week string, n int) []byte {
	return ledger.CensusKey("shard", week, ledger.Number(uint64(n)))
}

func closedKey(week string, host ...string) []byte {
	return ledger.CensusKey(append([]string{"closed", week}, host...)...)
}

func entryKey(week string, n int, host ...string) []byte {
	return ledger.CensusKey(append([]string{"entry", week, ledger.Number(uint64(n))}, host...)...)
}

func intentKey(week string, n int, host ...string) []byte {
	return ledger.CensusKey(append([]string{"intent", week, ledger.Number(uint64(n))}, host...)...)
}

func rowKey(week string, host ...string) []byte {
	return ledger.CensusKey(append([]string{"row", week}, host...)...)
}

func judgedKey(week, host string) []byte { return ledger.CensusKey("judged", week, host) }

func controlKey(week string, digest ...string) []byte {
	return ledger.CensusKey(append([]string{"control", week}, digest...)...)
}

func addressKey(week string, rest ...string) []byte {
	return ledger.CensusKey(append([]string{"address", week}, rest...)...)
}

func namedKey(host string) []byte { return ledger.CensusKey("named", host) }

func lastKey(host string) []byte { return ledger.CensusKey("last", host) }

// weekRecord is a week's round. Counts of hosts stand in its shards.
type weekRecord struct {
	Phase    string                `json:"phase"`
	OpenedAt time.Time             `json:"opened_at"`
	Listed   int64                 `json:"listed"`
	Capped   bool                  `json:"capped"`
	Sources  []record.RosterSource `json:"sources"`
	Shards   int                   `json:"shards"`
	Settled  int64                 `json:"settled"` // hosts whose row needed no walk
	Late     int64                 `json:"late,omitzero"`
	Closed   record.ClosedRoster   `json:"closed"`
	Own      attest.Hex            `json:"own,omitzero"`
	Most     int                   `json:"most"`
	Lot      *record.Lot           `json:"lot,omitzero"`
	Sequence int64                 `json:"sequence"`
}

// phaseWriting is a week whose roster is not written to its end: for everybody else it is not
// begun.
const phaseWriting = "writing"

// phaseDropping is a week whose roster is not dropped to its end: for everybody else it is.
const phaseDropping = "dropping"

// shardRecord counts one shard.
type shardRecord struct {
	Hosts  int64 `json:"hosts"`
	Done   int64 `json:"done"`
	Walks  int64 `json:"control_walks,omitzero"`
	Failed int64 `json:"control_failed,omitzero"`
}

// entryRecord is a host's place on the roster.
type entryRecord struct {
	URL     string `json:"url"`
	Source  string `json:"source"`
	Catalog string `json:"catalog"`
	Listed  bool   `json:"listed"`
	Method  string `json:"method"`
	By      string `json:"by"`
	Self    bool   `json:"self_declared,omitzero"`
	Late    bool   `json:"late,omitzero"`
}

func recordOf(e census.Entry) entryRecord {
	return entryRecord{URL: e.URL, Source: e.Source, Catalog: e.Catalog, Listed: e.Listed, Method: e.Declared.Method,
		By: e.Declared.By, Self: e.SelfDeclared, Late: e.Late}
}

func (r entryRecord) entry(host string) census.Entry {
	return census.Entry{Host: host, URL: r.URL, Source: r.Source, Catalog: r.Catalog, Listed: r.Listed,
		Declared: probe.Declaration{Method: r.Method, By: r.By}, SelfDeclared: r.Self, Late: r.Late}
}

// closedRecord is a host of a closed roster.
type closedRecord struct {
	Entry entryRecord    `json:"entry"`
	Named []namingRecord `json:"named"`
}

// namedRecord is what a week's roster says of a host.
type namedRecord struct {
	Week   string         `json:"week"`
	Shard  int            `json:"shard"` // -1 for a host without a place, or one whose row needed no walk
	Reason string         `json:"reason"`
	Named  []namingRecord `json:"named"`
}

type namingRecord struct {
	Name string    `json:"name"`
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`
	URL  string    `json:"url"`
	// What a list says of each door.
	Doors        []census.ListedDoor `json:"doors,omitzero"`
	DoorsLeftOut int64               `json:"doors_left_out,omitzero"`
}

func named(week string, shard int, k census.Known) namedRecord {
	r := namedRecord{Week: week, Shard: shard, Reason: k.Reason, Named: []namingRecord{}}
	for _, n := range k.Named {
		r.Named = append(r.Named, namingRecord(n))
	}
	return r
}

// lastRecord is a host's last row in the record.
type lastRecord struct {
	Sequence int64  `json:"sequence"`
	Week     string `json:"week"`
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason,omitzero"`
}

func (s *Store) update(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.db.Update(ctx, f)
}

// updating does transactions of a long work that is under no lease.
func (s *Store) updating(ctx context.Context) func(func(ledger.Tx) error) error {
	return func(f func(ledger.Tx) error) error { return s.update(ctx, f) }
}

func (s *Store) view(ctx context.Context, f func(ledger.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.db.View(ctx, f)
}

// hostOf is the last part of an entry's key, and its value.
func hostOf[T any](e ledger.Entry) (host string, v T, err error) {
	parts, err := ledger.Parts(e.Key)
	if err != nil || len(parts) < 2 {
		return "", v, fmt.Errorf("roster: %s names no host", ledger.KeyText(e.Key))
	}
	v, err = ledger.DecodeJSON[T](e)
	return parts[len(parts)-1], v, err
}
