package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/rule"
)

// ErrOrder is returned for rows that are not sorted by the bytes of their hosts, or name a host
// twice.
var ErrOrder = errors.New("rows are not in order")

// The order in which hosts are walked, and which of them a cap leaves out, is drawn by lot, by
// something that nobody can know while names can still be put on the roster: the hash of a Bitcoin
// block that is not made yet.
//
//  1. The roster is closed. Its digest, and the height of a block two beyond the newest, go into
//     the log as an observation (ClosedRoster), before any of its hosts is walked.
//  2. When that block is there, a host's turn is SHA-256(seed ‖ host), where the seed is the
//     block's hash, its 32 bytes in the order in which explorers show them. Turns are taken in the
//     order of their bytes.
//  3. The round says by which block (Lot), so that whoever has the record draws the same lot.
//
// Where no such block can be had in time, the seed is a random value of the census's own, whose
// SHA-256 stands in the closed roster, so that it cannot be drawn again until it pleases. That it
// was not chosen to please beforehand is the keeper's word alone: a round whose lot is its own,
// after a round of which the same is true, is suspect.

// RosterFormat is the first line of what a roster's digest is taken over.
const RosterFormat = "store-roster/v1"

// LotFresh is how much older than the closing of its roster a block may say that it is. Times of
// blocks may be off by two hours; one that is older was known when the roster was closed.
const LotFresh = 2 * time.Hour

// LeastWork lets every header pass that meets the difficulty it states.
const LeastWork = 1e-12

// ClosedRoster says which hosts are walked in a week, before the first is, and by which block their
// order is drawn.
type ClosedRoster struct {
	Week   string        `json:"week"`
	Hosts  int64         `json:"hosts"`
	Digest attest.Digest `json:"digest"`          // RosterDigest
	Height int64         `json:"height,omitzero"` // of the block; 0 where no block could be fixed
	// SHA-256 of the value that the lot is drawn by where the block cannot be had
	Own attest.Digest `json:"own"`
}

func (c *ClosedRoster) check() error {
	if !IsWeek(c.Week) || c.Hosts < 0 || c.Height < 0 || c.Hosts > attest.MaxInteger || c.Height > attest.MaxInteger {
		return fmt.Errorf("a roster of week %q with %d hosts and block %d", c.Week, c.Hosts, c.Height)
	}
	return nil
}

// Lot is what a round's order was drawn by: a block header, or a value of the census's own.
type Lot struct {
	RosterDigest attest.Digest `json:"roster_digest"`
	Height       int64         `json:"height,omitzero"` // that the closed roster fixed
	Header       attest.Hex    `json:"header,omitzero"` // the 80 bytes of the block's header
	Own          attest.Hex    `json:"own,omitzero"`    // 32 bytes, in place of a header
}

// IsOwn reports whether no block decided.
func (l *Lot) IsOwn() bool { return l != nil && l.Header == nil }

// Seed is what each host's turn is drawn with.
func (l *Lot) Seed() (seed [32]byte) {
	if l.IsOwn() {
		copy(seed[:], l.Own)
		return seed
	}
	sum := sha256.Sum256(l.Header)
	seed = sha256.Sum256(sum[:])
	for i := range len(seed) / 2 {
		seed[i], seed[31-i] = seed[31-i], seed[i]
	}
	return seed
}

// blockTime is what the block says of its time, zero where none decided.
func (l *Lot) blockTime() time.Time {
	if l.IsOwn() {
		return time.Time{}
	}
	return ots.Header(l.Header).Time()
}

// Turn is a host's place in the order of a seed.
func Turn(seed [32]byte, host string) [32]byte {
	return sha256.Sum256(append(seed[:], host...))
}

func (l *Lot) check() error {
	switch {
	case l.Height < 0 || l.Height > attest.MaxInteger:
		return fmt.Errorf("block %d", l.Height)
	case l.Header == nil && len(l.Own) == sha256.Size:
		return nil
	case l.Own != nil || len(l.Header) != ots.HeaderSize || l.Height == 0:
		return errors.New("neither a block with its height and header, nor a value of 32 bytes")
	}
	return nil
}

// Closing is the closed roster of an observation.
type Closing struct {
	ClosedRoster
	Number int64     // of the observation
	At     time.Time // when it was made
}

// Closings are those of some observations, by the weeks of the rosters.
type Closings map[string]Closing

// Add takes down the roster that an observation closes, if it does, which none before it closed.
func (c Closings) Add(o Observation) error {
	if o.Roster == nil {
		return nil
	}
	if before, twice := c[o.Roster.Week]; twice {
		return rule.LotTwice.Errorf("it closes the roster of %s, which observation %d closed: a lot is drawn once",
			o.Roster.Week, before.Number)
	}
	c[o.Roster.Week] = Closing{*o.Roster, o.Number, moment(o.At)}
	return nil
}

// Of demands that a lot was drawn as its closed roster, which was observed at a time, said it would
// be. least is the difficulty that a block must at least have been made with, see ots.Header.Work.
func (l *Lot) Of(closed ClosedRoster, at time.Time, least float64) error {
	if err := l.check(); err != nil {
		return err
	}
	switch {
	case l.RosterDigest != closed.Digest:
		return rule.LotRoster.Errorf("it is of a roster %s, and the one that was closed is %s", l.RosterDigest,
			closed.Digest)
	case l.Height != closed.Height:
		return rule.LotHeight.Errorf("it is by block %d, and block %d was fixed", l.Height, closed.Height)
	case l.IsOwn() && sha256.Sum256(l.Own) != closed.Own:
		return rule.LotOwn.Errorf("its own value is not the one that was fixed when the roster was closed")
	case l.IsOwn():
		return nil
	}
	h := ots.Header(l.Header)
	if h.Time().Before(at.Add(-LotFresh)) {
		return rule.LotDate.Errorf("its block says that it was made at %s, long before the roster was closed "+
			"at %s: it was "+
			"known by then", h.Time().Format(time.RFC3339), at.UTC().Format(time.RFC3339))
	}
	return rule.LotWork.By(h.Work(least))
}

// RosterHash takes the digest of a roster: SHA-256 over RosterFormat, the week and the hosts, each
// with a newline behind it, the hosts sorted by their bytes. Doors' URLs are not in it: a row may
// show its door's with marks in place of addresses, and the digest is recomputed from rows.
type RosterHash struct {
	sum   hash.Hash
	last  string
	hosts int64
}

// NewRosterHash begins the digest of a week's roster.
func NewRosterHash(week string) *RosterHash {
	h := &RosterHash{sum: sha256.New()}
	fmt.Fprintf(h.sum, "%s\n%s\n", RosterFormat, week)
	return h
}

// Add adds the next host; ErrOrder if it does not sort after the one before.
func (h *RosterHash) Add(host string) error {
	if host <= h.last {
		return fmt.Errorf("%w: %q after %q", ErrOrder, host, h.last)
	}
	h.last = host
	h.hosts++
	h.sum.Write([]byte(host + "\n"))
	return nil
}

// Sum is how many hosts were added and the digest over them.
func (h *RosterHash) Sum() (hosts int64, digest attest.Digest) {
	return h.hosts, attest.Digest(h.sum.Sum(nil))
}

// ReasonBeyondCap is the reason of rows whose turn a week's cap left out.
const ReasonBeyondCap = "beyond_cap"

// Block is the hash of the lot's block as explorers show it, "" where no block decided.
func (l *Lot) Block() string {
	if l == nil || l.IsOwn() {
		return ""
	}
	seed := l.Seed()
	return hex.EncodeToString(seed[:])
}
