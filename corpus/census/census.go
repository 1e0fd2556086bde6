package census

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"store.example/agentstore/corpus/fetch"
	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/seal"
)

// maxSourceName bounds the name of a source, which is the catalogue of rows.
const maxSourceName = 64

// The defaults of Config.
const (
	DefaultWorkers  = 64
	DefaultShard    = 1024
	DefaultBatch    = 128
	DefaultLease    = time.Minute
	DefaultRevisits = 8
	// DefaultSourceTime is longer than a large catalogue takes, with the pauses that it asks for.
	DefaultSourceTime = 30 * time.Minute
	// DefaultHeaderTime is longer than two blocks take but once in ten thousand times.
	DefaultHeaderTime = 2 * time.Hour
)

// Recordings keeps raw recordings in a private place. It may be called by many goroutines at once.
type Recordings interface {
	Put(week string, entry Entry, report probe.Report, recording fetch.Recording) error
}

// Control is a door of our own that is known to be good: while it cannot be read, nothing is called
// unreachable.
type Control struct {
	URL    string
	Client fetch.Asker // may reach our own host, unlike Config.Client
}

// Config is what a census is made of. Whatever the world decides (time, the network, waiting) is a
// parameter.
type Config struct {
	Week  string // "" is the week of Now
	Owner string // unique to the process among those that share the store
	Store Store
	Walks
	Recording
	Lot
	Shares

	Now      func() time.Time                                 // nil is time.Now
	Sleep    func(ctx context.Context, d time.Duration) error // waits for others and between retries; nil waits
	Progress func(done, due int64)                            // nil tells nobody
	Log      *slog.Logger                                     // nil logs nothing
}

// Walks is what is walked and by whom.
type Walks struct {
	Client  fetch.Asker // walks the doors
	Lists   fetch.Asker // reads the sources, whose pages may be longer than a door's answer; nil is Client
	Control Control     // an empty URL is no control: then every round says so by a tally of 0
	Sources []Source    // in the order of their weight for the choice of a host's door
	Inflows Inflows     // nil: no network is read

	// Nodes read the accounts without which what is signed does not settle; nil: nobody is asked.
	Nodes fetch.Nodes

	// SourceTime is how long one source is read; 0 is DefaultSourceTime. What it did not give in
	// that time is not waited for, and the round says that it was not read to its end.
	SourceTime time.Duration

	// AskFirst reads each host's own file before the host is walked, and walks none that opted out
	// there. The week's row says so, with the file's digest.
	AskFirst bool

	// Vantages are walkers at other places; nil for none.
	Vantages *Vantages
}

// Recording is where a round is put.
type Recording struct {
	// Record opens the record as it stands: for its rounds, for revisits, for what was declared.
	Record func() (*record.Record, error)
	// SealEmpty seals a round in which no host has a row.
	SealEmpty bool
	// Writer seals the round; nil is a walker, which holds no key: it walks what there is and does
	// not seal.
	Writer *seal.Writer
	Raw    Recordings // nil keeps no raw recordings

	// Publish puts the closing of a roster on the record, once for a week however often it is
	// called, and returns when it stands in the log, or where this process holds no keys, where an
	// exporter will put it there; with the time that it is dated. Another closing of the same week
	// is an error. nil: no closing is published, and rounds say nothing of their lot.
	Publish func(ctx context.Context, closed record.ClosedRoster) (time.Time, error)
	// Salt gives the salt of what was judged at a host, or "" at the control door in the n-th walk
	// to it; nil draws it from crypto/rand. A specimen, which is the same every time, has it follow
	// from these.
	Salt func(week, host string, n int) probe.Salt
}

// Lot is by what the order of a roster is drawn.
type Lot struct {
	// Headers tell of the blocks that order rosters; nil has none, and every lot is the census's
	// own.
	Headers Headers
	// HeaderTime is how long after a roster is closed the block of its lot is waited for; 0 is
	// DefaultHeaderTime.
	HeaderTime time.Duration
	// Difficulty is the least that a header must have been made with, see ots.Header.Work.
	Difficulty float64
	// Random gives the values that stand in for blocks; nil is crypto/rand.
	Random io.Reader
}

// Shares are how the work is shared out.
type Shares struct {
	Cap     int           // hosts that are walked in a week; 0 is no cap
	Workers int           // doors walked at once; 0 is DefaultWorkers
	Shard   int           // hosts in one shard; 0 is DefaultShard
	Batch   int           // hosts for each walk to the control door; 0 is DefaultBatch
	Lease   time.Duration // how long a process that died keeps what it took; 0 is DefaultLease
	// Domain says whose lane a host is walked in; nil is its registrable domain by the Public
	// Suffix List.
	Domain func(host string) string
}

// What became of a run.
const (
	OutcomeSealed  = "sealed"        // this run sealed the round
	OutcomeStood   = "stood"         // the round of the week was sealed before
	OutcomeWalked  = "walked"        // every host is finished; sealing is left to another
	OutcomeNotOpen = "no_open_round" // an hourly run came after the round was closed
)

// By what the order of a round was drawn.
const (
	LotBlock = "block" // a Bitcoin block
	LotOwn   = "own"   // a value of the census's own, because no block could be had
)

// Report says what a run did.
type Report struct {
	Week     string         `json:"week"`
	Outcome  string         `json:"outcome"`  // Outcome…
	Sequence int64          `json:"sequence"` // of the round, 0 while there is none
	Listed   int64          `json:"listed"`
	Due      int64          `json:"due"`
	Added    int            `json:"added"`  // hosts that this run put on the roster of an open round
	Walked   int64          `json:"walked"` // by this run
	Control  record.Control `json:"control"`
	Capped   bool           `json:"capped"`
	Suspect  bool           `json:"coverage_suspect"`
	Dropped  bool           `json:"coverage_drop"`
	Rows     int64          `json:"rows"`
	Lot      string         `json:"lot,omitzero"` // of the round: LotBlock or LotOwn
	Digest   string         `json:"digest,omitzero"`
	// Vantages is what came of the walkers at other places, of a round that this run sealed.
	Vantages []VantageReport `json:"vantages,omitempty"`
	// Hosts are those of a dry run.
	Hosts []Host `json:"hosts,omitempty"`
}

func (c *Config) check() error {
	switch {
	case c.Store == nil || c.Client == nil || c.Owner == "":
		return errors.New("the store, the client or the owner's name is missing")
	case c.Control.URL != "" && c.Control.Client == nil:
		return errors.New("the control door has no client")
	case c.Cap < 0 || c.Workers < 0 || c.Shard < 0 || c.Batch < 0 || c.Lease < 0 || c.SourceTime < 0 ||
		c.HeaderTime < 0:
		return errors.New("a bound is negative")
	}
	if c.Vantages != nil {
		if err := c.Vantages.check(); err != nil {
			return err
		}
	}
	names := map[string]bool{}
	for _, s := range c.Sources {
		if s.Name == "" || names[s.Name] || s.Read == nil {
			return fmt.Errorf("source %q has no reader, no name, or that of another", s.Name)
		}
		if len(s.Name) > maxSourceName ||
			strings.ContainsFunc(s.Name, func(c rune) bool { return !unicode.IsPrint(c) || c == '"' || c == '\\' }) {
			return fmt.Errorf("source %q is to be named in print, by at most %d bytes, without quotes: its name "+
				"stands in rows", s.Name, maxSourceName)
		}
		names[s.Name] = true
	}
	return nil
}
