package record

import (
	"fmt"
	"time"

	"store.example/agentstore/corpus/rule"
)

// The times of a record are tied to each other and to what others say of it, so that no line of it
// can be dated as it pleases: the newest look at a door is what counts, and one that is dated far
// ahead would count for ever.
const (
	// Grace is how much later than it should be something may be dated: a census ends a little
	// after its week, and an observation waits to be written while a round is sealed.
	Grace = 24 * time.Hour
	// MaxLate is how long after its week a round may be taken: one that was not sealed in its week
	// may be sealed later, as long as no later one is.
	MaxLate = 13 * 7 * 24 * time.Hour
	// Skew is how much the clocks of two machines of one store may differ.
	Skew = time.Minute
)

// moment reads a time that IsSecond accepts; the zero time for any other.
func moment(s string) time.Time {
	at, err := time.Parse(SecondLayout, s)
	if err != nil {
		return time.Time{}
	}
	return at
}

// weekBegins is the first moment of an ISO week, written as 2026-W47, and whether its year has it.
func weekBegins(week string) (time.Time, bool) {
	// The fourth of January is in the first week.
	fourth, err := time.Parse(time.DateOnly, week[:4]+"-01-04")
	monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7+7*(10*int(week[6]-'0')+int(week[7]-'0')-1))
	return monday, err == nil && ISOWeek(monday) == week
}

// inWeek reports whether a walk that began then is of a week: it may end a little after that does.
func inWeek(began, week string) bool {
	begin, _ := weekBegins(week)
	at := moment(began)
	return !at.Before(begin.Add(-Skew)) && at.Before(begin.AddDate(0, 0, 7).Add(Grace))
}

// dated demands that a round was taken in its week, or not long after it.
func (r Round) dated() error {
	begin, _ := weekBegins(r.Week)
	if at := moment(r.TakenAt); at.Before(begin) || !at.Before(begin.AddDate(0, 0, 7).Add(MaxLate)) {
		return rule.RoundWeek.Errorf("checking round %d: it was taken at %s, and is of %s", r.Sequence, r.TakenAt,
			r.Week)
	}
	return nil
}

// Dates reports whether a row's walk lies in the week of its round, and before that was taken.
func (r *Round) Dates(row *Row) error {
	if row.ObservedAt == "" {
		return nil
	}
	if !inWeek(row.ObservedAt, r.Week) || moment(row.ObservedAt).After(moment(r.TakenAt).Add(Skew)) {
		return rule.RowDate.Errorf("checking row of %s: it was observed at %s, and round %d of %s was taken at %s",
			row.Host, row.ObservedAt, r.Sequence, r.Week, r.TakenAt)
	}
	return nil
}

// Dates demands of an observation, which stands in the log behind one round and before another,
// that it is dated so; nil for none.
func (o Observation) Dates(before, behind *Round) error {
	fail := func(r *Round, stands string) error {
		return rule.ObservationDate.Errorf("checking observation %d: it is dated %s, and stands in the log %s "+
			"round %d, "+
			"which was taken at %s", o.Number, o.At, stands, r.Sequence, r.TakenAt)
	}
	at := moment(o.At)
	switch {
	case before != nil && at.Before(moment(before.TakenAt).Add(-Grace)):
		return fail(before, "behind")
	case behind != nil && at.After(moment(behind.TakenAt).Add(Grace)):
		return fail(behind, "before")
	}
	return nil
}

// Ahead demands that something is not dated more than a day later than a time at which it was
// there already, which others say: who cosigned a head over it, the block that holds its proof, the
// clock of whoever reads it.
func Ahead(broken rule.Rule, what, dated string, there time.Time, by string) error {
	if moment(dated).After(there.Add(Grace)) {
		return broken.Errorf("%s is dated %s, and was there at %s, by %s", what, dated,
			there.UTC().Format(SecondLayout), by)
	}
	return nil
}

// Ahead is Ahead of when the round was taken.
func (r *Round) Ahead(there time.Time, by string) error {
	return Ahead(rule.RoundWeek, fmt.Sprintf("round %d", r.Sequence), r.TakenAt, there, by)
}

// Ahead is Ahead of when the observation was made.
func (o *Observation) Ahead(there time.Time, by string) error {
	return Ahead(rule.ObservationDate, fmt.Sprintf("observation %d", o.Number), o.At, there, by)
}

// Walked demands that a lot was drawn before the first host of its roster was walked, which was
// closed before. walked says when that was, "" for never.
func (l *Lot) Walked(closed time.Time, walked string) error {
	if walked == "" {
		return nil
	}
	first := moment(walked)
	if closed.After(first.Add(Skew)) {
		return rule.LotWalk.Errorf("its roster was closed at %s, and a host of it was walked at %s",
			closed.UTC().Format(SecondLayout), first.UTC().Format(SecondLayout))
	}
	if block := l.blockTime(); block.After(first.Add(LotFresh)) {
		return rule.LotWalk.Errorf("its block says that it was made at %s, and a host was walked at %s",
			block.Format(SecondLayout), first.UTC().Format(SecondLayout))
	}
	return nil
}
