package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"

	"agentstore/corpus/attest"
	"agentstore/corpus/ots"
)

// The order in which hosts are walked, and which of them a cap leaves out, is drawn by lot, by something that nobody can
// know while names can still be put on the roster: the hash of a Bitcoin block that is not made yet.
//
//  1. The roster is closed. Its digest, and the height of a block two beyond the newest, go into the log as an
//     observation (ClosedRoster), before any of its hosts is walked.
//  2. When that block is there, a host's turn is SHA-256(seed ‖ host), where the seed is the block's hash, its 32 bytes in
//     the order in which explorers show them. Turns are taken in the order of their bytes.
//  3. The round says by which block (Lot), so that whoever has the record draws the same lot.
//
// Where no such block can be had in time, the seed is a random value of the census's own, whose SHA-256 stands in the
// closed roster, so that it cannot be drawn again until it pleases. That it was not chosen to please beforehand is the
// keeper's word alone: a round whose lot is its own, after a round of which the same is true, is suspect.

// RosterFormat is the first line of what a roster's digest is taken over.
const RosterFormat = "store-roster/v1"

// LotFresh is how much older than the closing of its roster a block may say that it is. Times of blocks may be off by two
// hours; one that is older was known when the roster was closed.
const LotFresh = 2 * time.Hour

// ClosedRoster says which hosts are walked in a week, before the first is, and by which block their order is drawn.
type ClosedRoster struct {
	Week   string        `json:"week"`
	Hosts  int64         `json:"hosts"`
	Digest attest.Digest `json:"digest"`          // RosterDigest
	Height int64         `json:"height,omitzero"` // of the block; 0 where no block could be fixed
	Own    attest.Digest `json:"own"`             // SHA-256 of the value that the lot is drawn by where the block cannot be had
}

func (c *ClosedRoster) check() error {
	if !isWeek(c.Week) || c.Hosts < 0 || c.Height < 0 || c.Hosts > attest.MaxInteger || c.Height > attest.MaxInteger {
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

// Of demands that a lot was drawn as its closed roster, which was observed at a time, said it would be. least is the
// difficulty that a block must at least have been made with, see ots.Header.Work.
func (l *Lot) Of(closed ClosedRoster, at time.Time, least float64) error {
	if err := l.check(); err != nil {
		return err
	}
	switch {
	case l.RosterDigest != closed.Digest:
		return fmt.Errorf("it is of a roster %s, and the one that was closed is %s", l.RosterDigest, closed.Digest)
	case l.Height != closed.Height:
		return fmt.Errorf("it is by block %d, and block %d was fixed", l.Height, closed.Height)
	case l.IsOwn() && sha256.Sum256(l.Own) != closed.Own:
		return errors.New("its own value is not the one that was fixed when the roster was closed")
	case l.IsOwn():
		return nil
	}
	h := ots.Header(l.Header)
	if h.Time().Before(at.Add(-LotFresh)) {
		return fmt.Errorf("its block says that it was made at %s, long before the roster was closed at %s: it was known by then", h.Time().Format(time.RFC3339), at.UTC().Format(time.RFC3339))
	}
	return h.Work(least)
}

// RosterHash takes the digest of a roster: SHA-256 over RosterFormat, the week and the hosts, each with a newline behind
// it, the hosts sorted by their bytes. Doors' URLs are not in it: a row may show its door's with marks in place of
// addresses, and the digest is recomputed from rows.
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

// LotReport counts by what the orders of a record's rounds were drawn.
type LotReport struct {
	Block int64 `json:"block"` // a block that was not made yet when the roster was closed
	Weak  int64 `json:"weak"`  // of them those whose header is of less work than the main chain's, so made at home
	Own   int64 `json:"own"`   // a value of the census's own
	None  int64 `json:"none"`  // rounds that say nothing of it
}

// lotCheck recomputes one round's lot from its rows.
type lotCheck struct {
	roster *RosterHash
	inside turns // of hosts within the cap
	beyond turns // of hosts beyond it
}

// add adds a host's turn.
func (l *lotCheck) add(seed [32]byte, row Row) {
	at := Turn(seed, row.Host)
	if row.Verdict == VerdictNotProbed && row.Reason == ReasonBeyondCap {
		l.beyond.add(at)
		return
	}
	l.inside.add(at)
}

// join adds the turns of a part.
func (l *lotCheck) join(part lotCheck) {
	for _, j := range []struct{ to, from *turns }{{&l.inside, &part.inside}, {&l.beyond, &part.beyond}} {
		if j.from.any {
			j.to.add(j.from.first)
			j.to.add(j.from.last)
		}
	}
}

// turns are the first and the last of some turns.
type turns struct {
	first, last [32]byte
	any         bool
}

func (t *turns) add(at [32]byte) {
	if !t.any || bytes.Compare(at[:], t.first[:]) < 0 {
		t.first = at
	}
	if !t.any || bytes.Compare(at[:], t.last[:]) > 0 {
		t.last = at
	}
	t.any = true
}

// closedIn finds the closed rosters of the observations, by week, with their times; a week has one.
func (c *checker) closedIn(observed [][]byte) error {
	for i, raw := range observed {
		if !bytes.Contains(raw, []byte(`"kind":"`+ObservationRoster+`"`)) {
			continue
		}
		var o Observation
		if err := attest.ParseCanonical(raw, &o); err != nil {
			return err
		}
		if o.Roster == nil {
			continue
		}
		if held, twice := c.closed[o.Roster.Week]; twice {
			c.problem("observations/"+o.File(), attest.ProblemAdded, fmt.Sprintf("it closes the roster of %s, which observation %d closed: a lot is drawn once", o.Roster.Week, held.number))
			continue
		}
		at, err := time.Parse(secondLayout, o.At)
		if err != nil {
			return err
		}
		c.closed[o.Roster.Week] = closedRoster{*o.Roster, o.Number, at, i}
	}
	return nil
}

// closedRoster is one as it stands in the record.
type closedRoster struct {
	ClosedRoster
	number int64
	at     time.Time
	nth    int // among the observations
}

// lot checks how a round's order was drawn. before is how many observations the log has before its rows.
func (c *checker) lot(r Round, before int, got *lotCheck) {
	fail := func(format string, args ...any) {
		c.problem(headerPath(r.Sequence), attest.ProblemChanged, "its lot: "+fmt.Sprintf(format, args...))
	}
	if r.Lot == nil {
		c.out.Lots.None++
		return
	}
	closed, ok := c.closed[r.Week]
	hosts, digest := got.roster.Sum()
	switch {
	case !ok:
		fail("no observation closes the roster of %s", r.Week)
		return
	case closed.nth >= before:
		fail("observation %d, which closes its roster, stands in the log behind its rows", closed.number)
		return
	case digest != r.Lot.RosterDigest || hosts != closed.Hosts:
		fail("its rows give a roster %s of %d hosts, and it is of %s, closed with %d", digest, hosts, r.Lot.RosterDigest, closed.Hosts)
		return
	case got.inside.any && got.beyond.any && bytes.Compare(got.inside.last[:], got.beyond.first[:]) > 0:
		fail("a host is %s whose turn came before that of one that has its place", ReasonBeyondCap)
		return
	}
	if err := r.Lot.Of(closed.ClosedRoster, closed.at, leastWork); err != nil {
		fail("%v", err)
		return
	}
	if r.Lot.IsOwn() {
		c.out.Lots.Own++
		return
	}
	c.out.Lots.Block++
	if ots.Header(r.Lot.Header).Work(c.o.Difficulty) != nil {
		c.out.Lots.Weak++
	}
}

// leastWork lets every header pass that meets the difficulty it states.
const leastWork = 1e-12

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
