package census

import (
	"context"
	"errors"
	"iter"
	"time"

	"store.example/agentstore/corpus/probe"
	"store.example/agentstore/corpus/record"
)

// Errors of a Store that the census branches on.
var (
	// ErrHeld is returned when another process has what was to be taken.
	ErrHeld = errors.New("another process has it")
	// ErrLost is returned when a lease ran out or was taken by another: what was to be written was
	// not.
	ErrLost = errors.New("the lease is lost")
	// ErrDone is returned when no shard of the week has a host left that is not finished.
	ErrDone = errors.New("every host of the week is finished")
	// ErrUnfinished is returned when a week is to be closed that still has hosts which are not
	// finished.
	ErrUnfinished = errors.New("hosts of the week are not finished")
	// ErrNotOpen is returned when hosts are to be added to a week whose round is not begun, or is
	// being sealed.
	ErrNotOpen = errors.New("the week's round is not open")
)

// The phases of a week's round, in their order.
const (
	PhaseNone   = ""       // no roster stands yet
	PhaseListed = "listed" // the roster is closed, and its order is not drawn or not dealt yet
	PhaseOpen   = "open"   // the order stands and hosts are walked
	PhaseClosed = "closed" // every host is finished and no more are taken
	PhaseSealed = "sealed" // the round stands in the record
	// PhaseDropped is a week that was begun and not sealed in time: its roster and rows are gone.
	PhaseDropped = "dropped"
)

// The jobs of a week that one process does at a time.
const (
	JobRoster = "roster" // reading the sources, writing the roster, adding to it
	JobSeal   = "seal"   // sealing the round
)

// KeepWeeks is for how many weeks a round that was begun and never closed for walkers may still be
// gone on with, as long as no later one is sealed: as many as raw recordings are kept by default.
const KeepWeeks = 13

// Week is the state of one week's round.
type Week struct {
	Week     string
	Phase    string // Phase…
	OpenedAt time.Time
	Listed   int64 // hosts known by name
	Capped   bool
	Sources  []record.RosterSource
	Due      int64 // hosts on the roster once it is dealt, those beyond the cap included
	Late     int64 // of them those that declared themselves after it was read
	Done     int64 // of them those that are finished
	Control  record.Control
	Sequence int64 // of the round, once it is sealed
	// Closed is what closed the roster, Own the value that stands in for the block that it fixes,
	// and Most how many of its hosts are walked, all if that is negative. Lot is what its order was
	// drawn by, nil as long as it was not.
	Closed record.ClosedRoster
	Own    []byte
	Most   int
	Lot    *record.Lot
}

// Entry is one host on the roster of a week: the door that is walked and how it came there.
type Entry struct {
	Host     string
	URL      string            // in the form in which it is requested
	Source   string            // record.Source…
	Catalog  string            // the discovery source that listed it, "" for none
	Listed   bool              // a discovery source lists it
	Declared probe.Declaration // the method, where a source says it
	// SelfDeclared is a host that would not be on the roster had it not declared itself.
	SelfDeclared bool
	Late         bool // it came onto the roster after that was closed
}

// Naming is one source's word about a host.
type Naming struct {
	Name string // of the source
	Kind string // record.Source…
	At   time.Time
	URL  string // the door it named first, "" for none
	// Doors are all that a discovery list names of the host, with what it says of each, up to
	// MaxListedDoors; DoorsLeftOut counts the others.
	Doors        []ListedDoor
	DoorsLeftOut int64
}

// MaxListedDoors bounds the doors of one host that are kept of one list.
const MaxListedDoors = 8

// ListedDoor is what a discovery list says of a door.
type ListedDoor struct {
	URL    string           `json:"url"`
	Method string           `json:"method,omitzero"` // upper case, "" where it does not say
	Offer  *record.RowOffer `json:"offer,omitzero"`  // the terms it states, nil for none
	Cut    bool             `json:"cut,omitzero"`    // it states more than Offer has room for
}

// Known is what the roster of a week says about a host.
type Known struct {
	Host  string
	Named []Naming // in the order of the sources
	// Entry is the host's place on the roster; nil when it has none, and then Reason says why.
	Entry  *Entry
	Reason string
	// Row is the host's row where that is settled without a walk: beyond the cap.
	Row *record.Row
}

// Lease is the right to do a job of a week until it expires.
type Lease struct {
	Week, Job, Owner string
	Fence            int64
}

// Shard is a part of a roster that one process walks under a lease.
type Shard struct {
	Lease
	Number int
	Todo   []Entry // not begun, in the order in which they are walked
	Stale  []Entry // begun by a process whose lease ran out, and not finished
}

// Result is one finished host.
type Result struct {
	Row      record.Row // without what Seal sets
	Evidence []byte     // the encoded judgement input, nil for none
	// Addresses are those that the door wants to be paid at, by network: kept until the round is
	// sealed.
	Addresses map[string][]string
}

// ControlWalk is one walk to the control door.
type ControlWalk struct {
	Failed    bool
	Judgement []byte // encoded; nil where it cannot be kept
}

// Commit is what a process writes about one shard at once.
type Commit struct {
	Claims   []Entry // about to be walked
	Returned []Entry // claimed before, and not begun: to be walked after all
	Results  []Result
	Control  []ControlWalk // to be added
}

// Store is what many processes share to walk one roster: the jobs of a week, its roster, what is
// walked, and finished rows until their round is sealed. A lease alone excludes nobody; whatever is
// written under one is refused once it was taken by another. Its methods may be called by many
// goroutines at once.
type Store interface {
	// Take takes a job for ttl, or fails with ErrHeld.
	Take(ctx context.Context, week, job, owner string, ttl time.Duration) (Lease, error)
	// Renew makes a lease last for ttl from now, or fails with ErrLost.
	Renew(ctx context.Context, l Lease, ttl time.Duration) error
	// Release gives a lease back. One that is lost is no error.
	Release(ctx context.Context, l Lease) error

	// Week returns the state of a week; its phase is PhaseNone for one that was not begun.
	Week(ctx context.Context, week string) (Week, error)
	// List writes the roster of a week, in place of what an unfinished List left, and closes it:
	// from then on nothing of it or of w changes. The lease is of JobRoster and is renewed for ttl
	// as long as it goes on. Weeks that were begun more than KeepWeeks before and were not even
	// closed for walkers since are dropped.
	List(ctx context.Context, l Lease, w Week, roster iter.Seq[Known], ttl time.Duration) error
	// Closed yields the hosts of a closed roster that have an entry, sorted by host bytes, until
	// the week is opened.
	Closed(ctx context.Context, week string) iter.Seq2[Known, error]
	// Draw keeps the lot of a closed roster and returns the one that stands: the first that was
	// kept.
	Draw(ctx context.Context, l Lease, lot record.Lot) (record.Lot, error)
	// Deal puts the hosts of a closed roster, whose lot is drawn, in shards of so many, in the
	// order given, in place of what an unfinished Deal left, and opens the week. The lease is as
	// for List.
	Deal(ctx context.Context, l Lease, roster iter.Seq[Known], shard int, ttl time.Duration) error
	// Append adds those hosts that have no place on the roster yet and returns how many there were;
	// of those without an entry it keeps the reason. w's Sources are counted into those of the
	// week. ErrNotOpen if the week takes none.
	Append(ctx context.Context, l Lease, w Week, roster []Known, shard int) (int, error)
	// Why answers for one host in a week; Known is false for one that no source ever named.
	Why(ctx context.Context, week, host string) (Why, error)

	// TakeShard takes a shard with hosts that are not finished: ErrHeld if others have them all,
	// ErrDone if there is none.
	TakeShard(ctx context.Context, week, owner string, ttl time.Duration) (Shard, error)
	// Commit writes one shard's part in one transaction and makes its lease last for ttl from now.
	// What it wrote is durable on return. ErrLost if the lease is another's: then nothing was
	// written.
	Commit(ctx context.Context, s Shard, c Commit, ttl time.Duration) error

	// Close ends a week for walkers: ErrUnfinished while hosts are not finished. The lease is of
	// JobSeal.
	Close(ctx context.Context, l Lease) error
	// Rows yields the rows of a week, sorted by host bytes.
	Rows(ctx context.Context, week string) iter.Seq2[record.Row, error]
	// Evidence returns the encoded judgement input of a host, nil for none.
	Evidence(ctx context.Context, week, host string) ([]byte, error)
	// ControlWalks yields the encoded judgements of a week's walks to the control door, sorted by
	// their digests.
	ControlWalks(ctx context.Context, week string) iter.Seq2[[]byte, error]
	// Addresses returns the distinct addresses that were advertised in a week, by network, sorted.
	Addresses(ctx context.Context, week string) (map[string][]string, error)
	// Sealed notes that the round of a week stands in the record, remembers each row for Why, and
	// drops what is not needed any more, addresses first: of this week, and of those before it all
	// that was not sealed, which no longer can be. It may be called again after a crash.
	Sealed(ctx context.Context, round record.Round) error
}

// Inflows counts transfers of USDC to addresses in a span of time, [from, to). A network that could
// not be read is in the result with Read false and the reason; an error is for all of them.
type Inflows interface {
	Count(ctx context.Context, from, to time.Time, addresses map[string][]string) ([]record.NetworkInflow, error)
}

// The states of a host in a week.
const (
	StateDue         = "due"           // on the roster, not walked yet
	StateWalking     = "being_walked"  // begun, not finished
	StateWalked      = "walked"        // a row with a verdict
	StateNotWalked   = "not_walked"    // a row that says why not
	StateNotOnRoster = "not_on_roster" // known by name, and this week's roster has no place for it
	StateOverQuota   = "over_quota"    // it declared itself, and the week's quota for such hosts is used up
	// it declared itself since the roster was read, and comes onto it within the hour
	StateDeclared    = "declared"
	StateNoRosterYet = "no_roster_yet" // the week's sources were not read yet
	StateNeverNamed  = "never_named"   // no source ever named it
)

// ThisWeek says what becomes of a host in a week.
type ThisWeek struct {
	State    string
	Reason   string // in words or as a row's reason, "" for none
	WalkedAt string // RFC 3339
}

// LastRow is a host's last row in the record.
type LastRow struct {
	Sequence int64
	Week     string
	Verdict  string
	Reason   string // why it was not probed or not reached, "" for none
}

// Why says why a host is walked in a week, or why not.
type Why struct {
	Host    string
	Week    string
	Known   bool
	Sources []Naming
	// Listed is the week of the roster that Sources are from, "" for none.
	Listed   string
	ThisWeek ThisWeek
	LastRow  *LastRow
}
