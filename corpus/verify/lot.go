package verify

import (
	"bytes"
	"fmt"

	"store.example/agentstore/corpus/attest"
	"store.example/agentstore/corpus/ots"
	"store.example/agentstore/corpus/record"
	"store.example/agentstore/corpus/rule"
)

// LotReport counts by what the orders of a record's rounds were drawn.
type LotReport struct {
	Block int64 `json:"block"` // a block that was not made yet when the roster was closed
	Weak  int64 `json:"weak"`  // of them those whose header is of less work than the main chain's, so made at home
	Own   int64 `json:"own"`   // a value of the census's own
	None  int64 `json:"none"`  // rounds that say nothing of it
}

// lotCheck recomputes one round's lot from its rows.
type lotCheck struct {
	roster *record.RosterHash
	inside turns  // of hosts within the cap
	beyond turns  // of hosts beyond it
	first  string // when the first of them was walked, "" for never
}

// add adds a host's turn.
func (l *lotCheck) add(seed [32]byte, row record.Row) {
	at := record.Turn(seed, row.Host)
	l.walked(row.ObservedAt)
	if row.Verdict == record.VerdictNotProbed && row.Reason == record.ReasonBeyondCap {
		l.beyond.add(at)
		return
	}
	l.inside.add(at)
}

// walked takes down when a host was walked, "" for never.
func (l *lotCheck) walked(at string) {
	if at != "" && (l.first == "" || at < l.first) {
		l.first = at
	}
}

// join adds the turns of a part.
func (l *lotCheck) join(part lotCheck) {
	l.walked(part.first)
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

// lot checks how a round's order was drawn. before is how many observations the log has before its
// rows.
func (c *checker) lot(r record.Round, before int, got *lotCheck) {
	fail := func(broken rule.Rule, format string, args ...any) {
		c.problem(broken, record.HeaderPath(r.Sequence), attest.ProblemChanged, "its lot: "+fmt.Sprintf(format,
			args...))
	}
	if r.Lot == nil {
		c.out.Lots.None++
		return
	}
	closed, ok := c.closed[r.Week]
	hosts, digest := got.roster.Sum()
	switch {
	case !ok:
		fail(rule.LotClosed, "no observation closes the roster of %s", r.Week)
		return
	case closed.Number > int64(before):
		fail(rule.LotClosed, "observation %d, which closes its roster, stands in the log behind its rows",
			closed.Number)
		return
	case digest != r.Lot.RosterDigest || hosts != closed.Hosts:
		fail(rule.LotRoster, "its rows give a roster %s of %d hosts, and it is of %s, closed with %d", digest, hosts,
			r.Lot.RosterDigest, closed.Hosts)
		return
	case got.inside.any && got.beyond.any && bytes.Compare(got.inside.last[:], got.beyond.first[:]) > 0:
		fail(rule.LotTurn, "a host is %s whose turn came before that of one that has its place",
			record.ReasonBeyondCap)
		return
	}
	err := r.Lot.Of(closed.ClosedRoster, closed.At, record.LeastWork)
	if err == nil {
		err = r.Lot.Walked(closed.At, got.first)
	}
	if err != nil {
		fail(rule.Or(err, rule.RoundForm), "%v", err)
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
